//! A table as a form shows it, in which somebody chooses what its columns hold.

use serde::Serialize;

use super::ColumnRole;
use super::guess::{self, GuessedTable, Outline};
use super::rule::{MappedColumn, Rule};
use super::values;
use crate::bytes::source::Source;
use crate::doubts::Doubts;
use crate::error::{TraceError, shown};
use crate::options::LoadOptions;
use crate::reader::OpenedTrace;
use crate::readers::{SAMPLE_LINES, Sample, refuse_utf16, settle};

/// Columns that a form has, beside those that a mapping names.
const COLUMNS: usize = 64;
/// Lines that values are taken from, and different values of a column.
const LINES: usize = 20;
const VALUES: usize = 3;

/// A table, and the mapping that reads it as far as it is known.
#[derive(Serialize, Debug)]
pub struct TableForm {
    /// The format that its content fits; `None` if none does.
    pub format: Option<&'static str>,
    /// The mapping as `--trace-columns` takes it.
    pub mapping: String,
    /// The same in its parts.
    pub parts: Vec<FormPart>,
    /// Its columns.
    pub columns: Vec<FormColumn>,
    /// Columns that are not among them, as there are too many.
    pub more_columns: usize,
    /// What is missing, or speaks for another mapping.
    pub fault: Option<String>,
}

/// One part of a mapping: `KEY=VALUE`, where columns are `COLUMN&COLUMN`, the calculation, and `:MEANING`.
#[derive(Serialize, Debug)]
pub struct FormPart {
    /// What it tells.
    pub key: &'static str,
    /// All of it.
    pub value: String,
    /// The columns of the form that it names.
    pub columns: Vec<String>,
    /// The calculation with their numbers, such as `*512`.
    pub calculation: String,
    /// Their unit, or their words.
    pub meaning: String,
}

/// One column of a table.
#[derive(Serialize, Debug)]
pub struct FormColumn {
    /// How a mapping names it.
    pub text: String,
    /// Its number, from 1.
    pub number: usize,
    /// Its name, which may be empty.
    pub name: String,
    /// Some of its values.
    pub values: Vec<String>,
}

/// The table in the first lines of `source`, with what `options` say of it; what they do not say is guessed.
///
/// # Errors
/// It cannot be read, or is no text.
pub fn table_form(source: Source, options: &LoadOptions) -> Result<TableForm, TraceError> {
    let mut opened = OpenedTrace::open(source, options)?;
    let reading = settle(opened.format, &opened.options, &mut opened.input);
    let reading = match reading {
        Ok(reading) => Some(reading),
        // The form is there to mend these.
        Err(
            TraceError::Undetected { .. }
            | TraceError::Ambiguous { .. }
            | TraceError::Malformed { .. },
        ) => None,
        Err(error) => return Err(error),
    };
    let format = reading.as_ref().map(|reading| reading.format);
    if let Some(format) = format.filter(|format| !format.separator.is_text()) {
        let (file, format) = (opened.input.file().to_owned(), format.name);
        return Err(TraceError::Columns { file, format });
    }
    refuse_utf16(&opened.input)?;
    opened.input.sample(SAMPLE_LINES)?;
    let sample = Sample::new(opened.input.window(), opened.input.at_end());
    let unit = opened.options.time_unit;
    let mapping = reading.and_then(|reading| reading.mapping);
    let mapping = mapping.or(opened.options.columns);
    let known = mapping.clone().unwrap_or_default();
    let named = sample.named_lines(&known);
    let lines = named.as_ref().unwrap_or(&sample.lines);
    let (mapping, doubt) = match mapping {
        Some(mapping) => (mapping, None),
        None => {
            let first = values::by_values(lines, unit).into_iter().next();
            let table = first.unwrap_or_default();
            (table.mapping, table.doubts.format)
        }
    };
    let mut outline = guess::outline(&mapping, lines);
    let fault = match outline.complete(unit) {
        Ok(()) => {
            let Doubts { format, time } = std::mem::take(&mut outline.table.doubts);
            doubt.or(format).or(time)
        }
        Err(missing) => Some(missing),
    };
    Ok(TableForm::new(&outline, format.map(|f| f.name), fault))
}

impl TableForm {
    fn new(
        outline: &Outline<'_>,
        format: Option<&'static str>,
        fault: Option<String>,
    ) -> TableForm {
        let table = &outline.table;
        let used = |place: &usize| table.places.iter().any(|places| places.contains(place));
        let chosen = (0..outline.columns).filter(|place| *place < COLUMNS || used(place));
        let columns = chosen.map(|place| FormColumn::new(&table.names, place));
        let mut columns: Vec<FormColumn> = columns.collect();
        let mut fields = Vec::new();
        for line in outline.body.iter().take(LINES) {
            outline.cut.fields(line, &table.names, &mut fields);
            for column in &mut columns {
                let field = fields.get(column.number - 1).copied().flatten();
                let values = &mut column.values;
                let new = |value: &String| values.len() < VALUES && !values.contains(value);
                let value = field.map(shown).filter(new);
                values.extend(value);
            }
        }
        let parts = table.mapping.parts().into_iter();
        let parts = parts.map(|(key, value)| FormPart::new(table, key, value));
        TableForm {
            format,
            mapping: table.mapping.to_string(),
            parts: parts.collect(),
            more_columns: outline.columns - columns.len(),
            columns,
            fault,
        }
    }
}

impl FormPart {
    fn new(table: &GuessedTable, key: &'static str, value: String) -> FormPart {
        let role = ColumnRole::of_key(key).map(|(role, _)| role);
        let rule = role.and_then(|role| table.mapping.rule(role));
        let places = role.map_or(&[][..], |role| &table.places[role as usize]);
        let texts = places.iter().map(|&place| column_text(&table.names, place));
        FormPart {
            key,
            value,
            columns: texts.collect(),
            calculation: rule.map(Rule::calculation).unwrap_or_default(),
            meaning: rule.map(Rule::meaning).unwrap_or_default(),
        }
    }
}

impl FormColumn {
    fn new(names: &[String], place: usize) -> FormColumn {
        FormColumn {
            text: column_text(names, place),
            number: place + 1,
            name: names.get(place).cloned().unwrap_or_default(),
            values: Vec::new(),
        }
    }
}

/// How a mapping names the column: by its name if that leads there, else by its number.
fn column_text(names: &[String], place: usize) -> String {
    let leads_there = |name: &&String| {
        let first = names.iter().position(|known| known.trim() == name.trim());
        !name.trim().is_empty() && first == Some(place)
    };
    let column = match names.get(place).filter(leads_there) {
        Some(name) => MappedColumn::Name(name.clone()),
        None => MappedColumn::Number(place + 1),
    };
    column.to_string()
}
