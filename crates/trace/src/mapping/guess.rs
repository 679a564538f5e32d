//! What a mapping does not say: how lines are cut, which columns hold what, and in which units.

use super::cut::{self, Cut, Pattern};
use super::lines::{
    LINES, doubt_marks, guess_cut, guess_decimal, is_header, most, preamble, usual, width,
};
use super::row::Cells;
use super::rule::{ColumnUnit, MappedColumn, Rule};
use super::units::settle_units;
use super::words::{meaning, words};
use super::{ColumnRole, Mapping, Roles};
use crate::doubts::Doubts;
use crate::readers::mapped::cells;
use crate::readers::opening::{Oddity, Opening};
use crate::readers::plausible;
use crate::readers::verdict::LoadVerdict;
use crate::text::gap::Gap;
use crate::text::spelling::word_kind;
use crate::time_unit::TimeUnit;

/// Names of JSON objects that are looked at: each is searched for in every line.
const MOST_NAMES: usize = 1_000;

/// A mapping that says all that it needs to, and where its columns are.
#[derive(Clone, Default, Debug)]
pub(crate) struct GuessedTable {
    pub mapping: Mapping,
    /// Names of the columns, where they have some.
    pub names: Vec<String>,
    pub places: Roles<Vec<usize>>,
    /// Columns that nearly all lines have, if it is one number.
    pub width: Option<usize>,
    /// What speaks for another mapping.
    pub doubts: Doubts,
    /// What its columns hold.
    pub opening: Option<Opening>,
}

impl GuessedTable {
    pub fn verdict(&self) -> LoadVerdict {
        let unit = self.mapping.time_unit().unwrap_or(TimeUnit::Nanoseconds);
        let opening = self.opening.as_ref();
        opening.map_or(LoadVerdict::Absurd, |opening| opening.verdict(unit))
    }

    /// Are its kinds of requests numbers, which may mean anything?
    pub fn has_numbered_kinds(&self) -> bool {
        let rule = self.mapping.rule(ColumnRole::Op);
        rule.is_some_and(|rule| !rule.words.is_empty())
    }

    /// Are its columns between blanks?
    pub fn is_of_blanks(&self) -> bool {
        self.mapping.layout.cut == Some(Cut::Gap(Gap::Blanks))
    }

    /// Does nothing speak against what its columns hold?
    pub fn is_even(&self) -> bool {
        let odd = self.opening.as_ref().and_then(Opening::oddity);
        odd.is_none() && self.verdict() != LoadVerdict::Absurd
    }
}

/// A table whose cut into columns and whose column names are known.
pub(crate) struct Outline<'a> {
    pub table: GuessedTable,
    pub cut: Cut,
    /// The most columns of a line.
    pub columns: usize,
    /// The lines behind those that hold no request.
    pub body: &'a [&'a [u8]],
    /// Does somebody say the unit of addresses, rather than their name?
    said: bool,
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
    let offset_said = mapping.rule(ColumnRole::Offset).is_some();
    let mut mapping = mapping.clone();
    let body = lines.get(mapping.layout.skip..).unwrap_or(&[]);
    let cut = &mut mapping.layout.cut;
    let cut = cut.get_or_insert_with(|| guess_cut(body)).clone();
    let mut header = false;
    if (mapping.layout.skip, mapping.layout.header) == (0, None) {
        mapping.layout.skip = preamble(&cut, body);
    }
    let body = lines.get(mapping.layout.skip..).unwrap_or(&[]);
    if !cut.has_names() {
        let named = mapping.column_names().next().is_some();
        let first = || {
            body.first()
                .is_some_and(|line| named || is_header(&cut, line))
        };
        header = mapping.layout.header.unwrap_or_else(first);
        mapping.layout.header = Some(header);
    }
    let names = names_of(&cut, header, body);
    let body = &body[usize::from(header).min(body.len())..];
    let decimal = &mut mapping.layout.decimal;
    let said = decimal.is_some();
    decimal.get_or_insert_with(|| guess_decimal(&cut, body));
    *decimal = decimal.filter(|mark| *mark != b'.');
    let thousands = !said && decimal.is_none();
    add_named(&mut mapping, &names);
    let sample = &body[..body.len().min(LINES)];
    let widths = sample.iter().map(|line| width(&cut, &names, line));
    let widths: Vec<usize> = widths.collect();
    let usual = match header {
        true => names.len(),
        false => usual(&widths).0,
    };
    let within = widths.iter().filter(|&&width| width <= usual).count();
    let has_width = !cut.has_names() && (header || most(within, widths.len()));
    let columns = widths.into_iter().max().unwrap_or(0).max(names.len());
    let mut table = GuessedTable {
        mapping,
        names,
        width: has_width.then_some(usual),
        ..GuessedTable::default()
    };
    table.doubts.format = thousands.then(|| doubt_marks(&cut, body)).flatten();
    Outline {
        table,
        cut,
        columns,
        body,
        said: offset_said,
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
        check_required(&table.mapping, &table.names)?;
        if let Some(missing) = missing {
            return Err(missing);
        }
        let used = |place: &usize| table.places.iter().any(|places| places.contains(place));
        let spare = !self.said && !(0..self.columns).all(|place| used(&place));
        if let Some(unit) = unit {
            let unit = ColumnUnit::Time(unit);
            table.mapping.set_unit(ColumnRole::Time, unit);
        }
        let mut joined = vec![Vec::new(); self.body.len()];
        let rows = self.body.iter().zip(&mut joined);
        let rows = rows.filter_map(|(line, joined)| {
            let mut fields = Vec::new();
            let fits = self.cut.fields(line, &table.names, &mut fields);
            fits.then(|| cells(&fields, &table.places, joined))
        });
        let rows: Vec<Cells<'_>> = rows.collect();
        let (opening, doubts) = settle_units(&mut table.mapping, &rows, false, spare);
        let odd = opening.as_ref().and_then(Opening::oddity);
        let bytes = !self.said && odd == Some(Oddity::Bytes);
        let bytes = bytes.then(|| plausible::doubt_sectors(&table.mapping));
        table.opening = opening;
        let format = doubts.format.into_iter().chain(bytes);
        Doubts::add(&mut table.doubts.format, format);
        Doubts::add(&mut table.doubts.time, doubts.time);
        Ok(())
    }
}

/// Adds the columns that their names tell.
fn add_named(mapping: &mut Mapping, names: &[String]) {
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
        (rule.unit, rule.factor, rule.until) = (meaning.unit, meaning.factor, meaning.until);
        if role == ColumnRole::Op {
            let kind =
                |(word, kind): &(&str, &str)| ((*word).to_owned(), word_kind(kind.as_bytes()));
            rule.words = words(name).iter().map(kind).collect();
        }
        let column = |name: &String| MappedColumn::Name(name.clone());
        let lower = |name: &String| name.trim().to_lowercase();
        if role == ColumnRole::Time && lower(name) == "date" {
            let clock = names.iter().find(|name| lower(name) == "time");
            rule.columns.extend(clock.map(column));
        }
        if role == ColumnRole::Volume {
            let host = names
                .iter()
                .find(|name| name.to_lowercase().starts_with("host"));
            rule.columns.splice(0..0, host.map(column));
        }
        mapping.rules[role as usize] = Some(rule);
    }
    // Beside an address, a start is a time.
    let start = |name: &&String| name.trim().eq_ignore_ascii_case("start");
    let start = names.iter().find(start);
    let free = start.filter(|name| !mapping.column_names().any(|taken| taken == *name));
    if let (None, Some(name)) = (mapping.rule(ColumnRole::Time), free) {
        let clock = Rule::of(MappedColumn::Name(name.clone()));
        mapping.rules[ColumnRole::Time as usize] = Some(clock);
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
) -> Result<(Mapping, Roles<Option<usize>>), String> {
    let names: Vec<String> = columns.iter().map(|column| column.0.clone()).collect();
    let said = mapping.rule(ColumnRole::Time).and_then(|rule| rule.unit);
    let mut mapping = mapping.clone();
    add_named(&mut mapping, &names);
    // A type may say what no name does, as that of an index.
    let free = |name: &String| !mapping.column_names().any(|taken| taken == name);
    let mut clocks = columns.iter().filter(|column| column.1.is_some());
    let clock = clocks.find(|column| free(&column.0));
    if let (None, Some((name, _))) = (mapping.rule(ColumnRole::Time), clock) {
        let clock = Rule::of(MappedColumn::Name(name.clone()));
        mapping.rules[ColumnRole::Time as usize] = Some(clock);
    }
    let mut places = Roles::default();
    for (role, place) in ColumnRole::ALL.into_iter().zip(&mut places) {
        match places_of(role, &mapping, &names, names.len())?[..] {
            [] => {}
            [at] => *place = Some(at),
            _ => return Err(format!("{}= joins columns of text only", role.key())),
        }
    }
    // A name that no column has comes first, as it may be a slip of what is missing.
    check_required(&mapping, &names)?;
    // A type knows better than a name.
    let stated = || places[ColumnRole::Time as usize].and_then(|place| columns[place].1);
    let unit = unit.map(ColumnUnit::Time).or(said);
    let unit = unit.or_else(|| stated().map(ColumnUnit::Time));
    if let Some(unit) = unit {
        mapping.set_unit(ColumnRole::Time, unit);
    }
    Ok((mapping, places))
}

/// Without times request i arrives at i us, there may be one volume, and writes may have no flags; all else must be
/// there.
///
/// # Errors
/// The values that have no column, and the columns that there are.
fn check_required(mapping: &Mapping, names: &[String]) -> Result<(), String> {
    let required = [ColumnRole::Op, ColumnRole::Offset, ColumnRole::Size];
    let missing = required
        .into_iter()
        .filter(|role| mapping.rule(*role).is_none());
    let missing: Vec<ColumnRole> = missing.collect();
    let Some(first) = missing.first() else {
        return Ok(());
    };
    let constant = |role: &ColumnRole| match role {
        ColumnRole::Op => ", op==R that all are reads",
        ColumnRole::Size => {
            ", size==4096 that all have 4 KiB, end=NAME or last=NAME where they end"
        }
        _ => "",
    };
    let constants: String = missing.iter().map(constant).collect();
    let keys = |what: &str, between: &str| {
        let keys = missing.iter().map(|role| role.key().to_owned() + what);
        keys.collect::<Vec<_>>().join(between)
    };
    // A column has one use.
    let taken = |name: &&String| meaning(name).is_some_and(|meaning| meaning.role == *first);
    let by = |name: &String| {
        let column = MappedColumn::Name(name.clone());
        let rule = |other: &ColumnRole| mapping.rule(*other);
        let takes = |other: &ColumnRole| rule(other).is_some_and(|r| r.columns.contains(&column));
        let other = ColumnRole::ALL.into_iter().find(takes)?.key();
        let name_another = format!(
            "name another column for {other}, or one for {}, too",
            first.key()
        );
        Some(format!("; {other}= takes `{name}`: {name_another}"))
    };
    let names = match names.is_empty() {
        true => "; NAME is the number of a column here".to_owned(),
        false => {
            let taken = names.iter().find(taken).and_then(by).unwrap_or_default();
            format!("{taken}; its columns: {}", names.join(", "))
        }
    };
    let (says, holds) = match missing.len() {
        1 => ("says", "holds that"),
        _ => ("say", "hold them"),
    };
    let (none, named) = (keys("", ", "), keys("=NAME", ","));
    Err(format!(
        "no column is known as {none}{names}; {named} {says} which {holds}{constants}"
    ))
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
    let key = role.key();
    let Some(rule) = mapping.rule(role) else {
        return Ok(Vec::new());
    };
    let place = |column: &MappedColumn| {
        let place = match column {
            MappedColumn::Number(number) => Some(number - 1),
            MappedColumn::Name(name) => names.iter().position(|known| known.trim() == name.trim()),
        };
        let place = place.filter(|&place| place < width.max(names.len()));
        place.ok_or_else(|| match names.is_empty() {
            true => format!("there is no column {column} for {key}; columns: {width}"),
            false => {
                let known = names.join(", ");
                format!("it has no column `{column}` for {key}; its columns: {known}")
            }
        })
    };
    rule.columns.iter().map(place).collect()
}

fn names_of(cut: &Cut, header: bool, body: &[&[u8]]) -> Vec<String> {
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    let mut names: Vec<String> = Vec::new();
    match cut {
        Cut::Gap(gap) => {
            let header = body.first().filter(|_| header).into_iter();
            names.extend(header.flat_map(|line| gap.fields(line)).map(text));
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
            for name in patterns.iter().flat_map(Pattern::names) {
                let known = names.contains(name);
                names.extend((!known).then(|| name.clone()));
            }
        }
    }
    names
}
