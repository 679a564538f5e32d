//! What a mapping does not say: how lines are cut, which columns hold what, and in which units.

use super::cut::{self, Cut};
use super::date::{self, DateOrder};
use super::row::{Cell, Cells};
use super::rule::{ColumnUnit, MappedColumn, Rule};
use super::units::settle_units;
use super::words::meaning;
use super::{ColumnRole, Mapping};
use crate::readers::mapped::cells;
use crate::readers::opening::Opening;
use crate::readers::verdict::LoadVerdict;
use crate::text::gap::Gap;
use crate::text::spelling::Number;
use crate::time_unit::TimeUnit;

/// Lines that the cut and the names are told by.
pub(super) const LINES: usize = 100;
/// Names of JSON objects that are looked at: each is searched for in every line.
const MOST_NAMES: usize = 1_000;

/// A mapping that says all that it needs to, and where its columns are.
#[derive(Clone, Default, Debug)]
pub(crate) struct GuessedTable {
    pub mapping: Mapping,
    /// Names of the columns, where they have some.
    pub names: Vec<String>,
    pub places: [Vec<usize>; 5],
    /// Columns that nearly all lines have, if it is one number.
    pub width: Option<usize>,
    /// What speaks for another mapping.
    pub doubt: Option<String>,
    /// What its columns hold.
    pub opening: Option<Opening>,
}

impl GuessedTable {
    pub fn verdict(&self) -> LoadVerdict {
        let unit = self.mapping.time_unit().unwrap_or(TimeUnit::Nanoseconds);
        let opening = self.opening.as_ref();
        opening.map_or(LoadVerdict::Absurd, |opening| opening.verdict(unit))
    }

    /// Does nothing speak against what its columns hold?
    pub fn is_even(&self) -> bool {
        let odd = self.opening.as_ref().and_then(Opening::oddity);
        odd.is_none() && self.verdict() != LoadVerdict::Absurd
    }
}

/// Is `part` most of `all`? Some lines of any file are odd.
pub(crate) fn most(part: usize, all: usize) -> bool {
    all > 0 && 10 * part >= 9 * all
}

/// The usual of some numbers, and how many have it.
fn usual(numbers: &[usize]) -> (usize, usize) {
    let usual = numbers.get(numbers.len() / 2).copied().unwrap_or(0);
    (usual, numbers.iter().filter(|&&n| n == usual).count())
}

/// The table whose columns have names that tell the kinds, addresses and sizes of requests.
pub(crate) fn by_names(lines: &[&[u8]], unit: Option<TimeUnit>) -> Option<GuessedTable> {
    let cut = guess_cut(lines);
    let named = cut.has_names() || is_header(&cut, lines.first()?);
    let table = || complete(&Mapping::default(), unit, lines).ok();
    named.then(table).flatten()
}

/// A table whose cut into columns and whose column names are known.
pub(crate) struct Outline<'a> {
    pub table: GuessedTable,
    pub cut: Cut,
    /// The most columns of a line.
    pub columns: usize,
    /// The lines behind those that hold no request.
    pub body: &'a [&'a [u8]],
}

/// Adds to `mapping` what it does not say.
///
/// # Errors
/// Which column is missing, and which there are.
pub(crate) fn complete(
    mapping: &Mapping,
    unit: Option<TimeUnit>,
    lines: &[&[u8]],
) -> Result<GuessedTable, String> {
    let mut outline = outline(mapping, lines);
    outline.complete(unit).map(|()| outline.table)
}

/// Adds to `mapping` how lines are cut and which columns have names that say what they hold.
pub(crate) fn outline<'a>(mapping: &Mapping, lines: &'a [&'a [u8]]) -> Outline<'a> {
    let mut mapping = mapping.clone();
    let body = lines.get(mapping.layout.skip..).unwrap_or(&[]);
    let cut = mapping
        .layout
        .cut
        .get_or_insert_with(|| guess_cut(body))
        .clone();
    let mut header = false;
    if !cut.has_names() {
        let named = mapping.column_names().next().is_some();
        let first = || {
            body.first()
                .is_some_and(|line| named || is_header(&cut, line))
        };
        header = mapping.layout.header.unwrap_or_else(first);
        mapping.layout.header = Some(header);
    }
    let names = names_of(&cut, header, body, &mapping);
    let body = &body[usize::from(header).min(body.len())..];
    let decimal = &mut mapping.layout.decimal;
    let said = decimal.is_some();
    decimal.get_or_insert_with(|| guess_decimal(&cut, body));
    *decimal = decimal.filter(|mark| *mark != b'.');
    let thousands = !said && decimal.is_none();
    add_named(&mut mapping, &names);
    let sample = &body[..body.len().min(LINES)];
    let widths: Vec<usize> = sample
        .iter()
        .map(|line| width(&cut, &names, line))
        .collect();
    let usual = if header {
        names.len()
    } else {
        usual(&widths).0
    };
    let within = widths.iter().filter(|&&width| width <= usual).count();
    let has_width = !cut.has_names() && (header || most(within, widths.len()));
    let columns = widths.into_iter().max().unwrap_or(0).max(names.len());
    let table = GuessedTable {
        mapping,
        names,
        width: has_width.then_some(usual),
        doubt: thousands.then(|| doubt_marks(&cut, body)).flatten(),
        ..GuessedTable::default()
    };
    Outline {
        table,
        cut,
        columns,
        body,
    }
}

impl Outline<'_> {
    /// Finds the columns and the units.
    ///
    /// # Errors
    /// Which column is missing, and which there are. The columns of the others are known then.
    pub fn complete(&mut self, unit: Option<TimeUnit>) -> Result<(), String> {
        let table = &mut self.table;
        let mut missing = None;
        for role in ColumnRole::ALL {
            match places_of(role, &table.mapping, &table.names, self.columns) {
                Ok(places) => table.places[role as usize] = places,
                Err(fault) => missing = missing.or(Some(fault)),
            }
        }
        if let Some(missing) = missing {
            return Err(missing);
        }
        if let Some(unit) = unit {
            table
                .mapping
                .set_unit(ColumnRole::Time, ColumnUnit::Time(unit));
        }
        let rows = sample_rows(table, &self.cut, self.body);
        let rows: Vec<Cells<'_>> = rows.iter().map(row_cells).collect();
        let (opening, units) = settle_units(&mut table.mapping, &rows, false);
        table.opening = opening;
        let doubts: Vec<String> = table.doubt.take().into_iter().chain(units).collect();
        table.doubt = (!doubts.is_empty()).then(|| doubts.join("; "));
        Ok(())
    }
}

/// Adds the columns that their names tell.
pub(crate) fn add_named(mapping: &mut Mapping, names: &[String]) {
    for role in ColumnRole::ALL {
        if mapping.rule(role).is_some() {
            continue;
        }
        let free = |name: &&String| !mapping.column_names().any(|taken| taken == *name);
        let found = names.iter().filter(free).filter_map(|name| {
            let meaning = meaning(name).filter(|meaning| meaning.role == role)?;
            Some((name, meaning))
        });
        // The first of the best.
        let Some((name, meaning)) = found.rev().max_by_key(|(_, meaning)| meaning.score) else {
            continue;
        };
        let mut rule = Rule::of(MappedColumn::Name(name.clone()));
        (rule.unit, rule.factor) = (meaning.unit, meaning.factor);
        if role == ColumnRole::Volume {
            let host = names
                .iter()
                .find(|name| name.to_lowercase().starts_with("host"));
            let host = host.map(|name| MappedColumn::Name(name.clone()));
            rule.columns.splice(0..0, host);
        }
        mapping.rules[role as usize] = Some(rule);
    }
}

/// A mapping of columns with names, completed by them and by the units that the types of times state, and where the
/// columns are. `unit` is that of the times, if somebody says it.
///
/// # Errors
/// Which column is missing, and which there are.
pub(crate) fn of_columns(
    mapping: &Mapping,
    columns: &[(String, Option<TimeUnit>)],
    unit: Option<TimeUnit>,
) -> Result<(Mapping, [Option<usize>; 5]), String> {
    let names: Vec<String> = columns.iter().map(|column| column.0.clone()).collect();
    let mut mapping = mapping.clone();
    add_named(&mut mapping, &names);
    let mut places = [None; 5];
    for (role, place) in ColumnRole::ALL.into_iter().zip(&mut places) {
        match places_of(role, &mapping, &names, names.len())?[..] {
            [] => {}
            [at] => *place = Some(at),
            _ => return Err("volume= joins columns of text only".to_owned()),
        }
    }
    let said = mapping.rule(ColumnRole::Time).and_then(|rule| rule.unit);
    let stated = || places[ColumnRole::Time as usize].and_then(|place| columns[place].1);
    let unit = unit
        .map(ColumnUnit::Time)
        .or(said)
        .or_else(|| stated().map(ColumnUnit::Time));
    if let Some(unit) = unit {
        mapping.set_unit(ColumnRole::Time, unit);
    }
    Ok((mapping, places))
}

/// Where the columns of a value are among `width` ones.
///
/// # Errors
/// The column that is not there, or the value that has none.
fn places_of(
    role: ColumnRole,
    mapping: &Mapping,
    names: &[String],
    width: usize,
) -> Result<Vec<usize>, String> {
    let (key, known) = (role.key(), || names.join(", "));
    let Some(rule) = mapping.rule(role) else {
        return match role {
            // Without times request i arrives at i us, and there may be one volume.
            ColumnRole::Time | ColumnRole::Volume => Ok(Vec::new()),
            _ if names.is_empty() => Err(format!(
                "no column is named as {key}: {key}=NUMBER says which holds that"
            )),
            _ => Err(format!(
                "no column is known as {key}; its columns: {}; {key}=NAME says which holds that",
                known()
            )),
        };
    };
    let place = |column: &MappedColumn| {
        let place = match column {
            MappedColumn::Number(number) => Some(number - 1),
            MappedColumn::Name(name) => names.iter().position(|known| known.trim() == name.trim()),
        };
        let place = place.filter(|&place| place < width.max(names.len()));
        place.ok_or_else(|| match names.is_empty() {
            true => format!("there is no column {column} for {key}; columns: {width}"),
            false => format!(
                "it has no column `{column}` for {key}; its columns: {}",
                known()
            ),
        })
    };
    rule.columns.iter().map(place).collect()
}

fn width(cut: &Cut, names: &[String], line: &[u8]) -> usize {
    let mut fields = Vec::new();
    cut.fields(line, names, &mut fields);
    fields.len()
}

/// Does a line name columns?
pub(super) fn is_header(cut: &Cut, line: &[u8]) -> bool {
    let Cut::Gap(gap) = cut else { return false };
    let fields = gap.fields(line);
    let is_number = |field: &&[u8]| {
        let number = |mark| Number::parse(field, mark).is_ok();
        number(b'.') || number(b',') || date::parse(field, DateOrder::Year).is_ok()
    };
    let named = |field: &&&[u8]| field.iter().any(u8::is_ascii_alphabetic);
    !fields.iter().any(is_number) && fields.iter().filter(named).count() > 1
}

pub(super) fn guess_cut(lines: &[&[u8]]) -> Cut {
    const GAPS: [Gap; 5] = [
        Gap::Byte(b'\t'),
        Gap::Byte(b';'),
        Gap::Byte(b'|'),
        Gap::Byte(b','),
        Gap::Blanks,
    ];
    if lines
        .first()
        .is_some_and(|line| line.trim_ascii().starts_with(b"{"))
    {
        return Cut::Json;
    }
    let agree = |gap: &&Gap| {
        let widths = lines.iter().take(LINES).map(|line| gap.fields(line).len());
        let widths: Vec<usize> = widths.collect();
        let (usual, same) = usual(&widths);
        usual > 2 && most(same, widths.len())
    };
    Cut::Gap(GAPS.iter().find(agree).copied().unwrap_or(Gap::Byte(b',')))
}

/// The mark of fractions: a comma only if some number has one that is not between thousands.
pub(super) fn guess_decimal(cut: &Cut, lines: &[&[u8]]) -> u8 {
    let Cut::Gap(gap) = cut else { return b'.' };
    let comma = |field: &[u8]| {
        let number = |mark| Number::parse(field, mark).is_ok();
        field.contains(&b',') && number(b',') && !number(b'.')
    };
    let mut fields = lines.iter().take(LINES).flat_map(|line| gap.fields(line));
    let comma = *gap != Gap::Byte(b',') && fields.any(comma);
    if comma { b',' } else { b'.' }
}

/// Commas that may be marks of fractions, too: no number has two, and none has other than three digits behind one. And
/// points that may stand between thousands: all in front of three digits, in a column that has numbers without one.
fn doubt_marks(cut: &Cut, lines: &[&[u8]]) -> Option<String> {
    let Cut::Gap(gap) = cut else { return None };
    let reads = |field: &[u8], mark| Number::parse(field, mark).is_ok();
    let rows: Vec<Vec<&[u8]>> = lines.iter().take(LINES).map(|line| gap.fields(line)).collect();
    let fields = rows.iter().flatten().copied();
    let commas: Vec<&[u8]> = fields.filter(|field| field.contains(&b',') && reads(field, b'.')).collect();
    let comma = commas.first().filter(|_| *gap != Gap::Byte(b',') && commas.iter().all(|f| reads(f, b',')));
    let point = (0..rows.first().map_or(0, Vec::len)).find_map(|place| {
        let column = rows.iter().filter_map(|row| row.get(place).copied()).filter(|f| reads(f, b'.'));
        let (points, others): (Vec<&[u8]>, Vec<&[u8]>) = column.partition(|field| field.contains(&b'.'));
        let thousands = |field: &&[u8]| reads(field, b',') && Number::parse(field, b'.').is_ok_and(|n| n.whole().is_err());
        let odd = !others.is_empty() && points.iter().all(thousands);
        points.first().copied().filter(|_| odd)
    });
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    let comma = comma.map(|field| {
        format!(
            "the comma of `{}` is taken for one between thousands; decimal=comma takes it for the mark of a fraction",
            text(field)
        )
    });
    let point = || {
        point.map(|field| {
            format!(
                "the point of `{}` is taken for the mark of a fraction; decimal=comma takes it for one between thousands",
                text(field)
            )
        })
    };
    comma.or_else(point)
}

fn names_of(cut: &Cut, header: bool, body: &[&[u8]], mapping: &Mapping) -> Vec<String> {
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    let mut names: Vec<String> = Vec::new();
    match cut {
        Cut::Gap(gap) => {
            let header = body.first().filter(|_| header);
            names.extend(
                header
                    .into_iter()
                    .flat_map(|line| gap.fields(line))
                    .map(text),
            );
        }
        Cut::Json => {
            for line in body.iter().take(LINES) {
                let mut put = |name: &[u8], _: &[u8]| {
                    let known = names.iter().any(|known| known.as_bytes() == name);
                    names.extend((!known && names.len() < MOST_NAMES).then(|| text(name)));
                };
                cut::object(line, &mut put);
            }
        }
        Cut::Lines(patterns) => {
            let is_hole = |name: &&String| patterns.iter().any(|pattern| pattern.has(name));
            names.extend(mapping.column_names().filter(is_hole).cloned());
        }
    }
    names
}

type SampleRow = [Option<Vec<u8>>; 5];

fn row_cells(row: &SampleRow) -> Cells<'_> {
    [0, 1, 2, 3, 4].map(|i| row[i].as_deref().map_or(Cell::Null, Cell::Text))
}

/// The values of the rows of a sample.
fn sample_rows(table: &GuessedTable, cut: &Cut, body: &[&[u8]]) -> Vec<SampleRow> {
    let row = |line: &&[u8]| {
        let (mut fields, mut joined) = (Vec::new(), Vec::new());
        let fits = cut.fields(line, &table.names, &mut fields);
        fits.then(|| {
            cells(&fields, &table.places, &mut joined).map(|cell| match cell {
                Cell::Text(text) => Some(text.to_vec()),
                _ => None,
            })
        })
    };
    body.iter().filter_map(row).collect()
}
