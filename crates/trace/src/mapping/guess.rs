//! What a mapping does not say: how lines are cut, which columns hold what, and in which units.

use super::cut::Cut;
use super::row::{Cell, Cells, MappedRows, RowNumbers, is_rwbs};
use super::rule::{ColumnUnit, MappedColumn, Rule};
use super::words::meaning;
use super::{ColumnRole, Mapping, date};
use crate::readers::mapped::cells;
use crate::readers::opening::Opening;
use crate::readers::plausible;
use crate::text::spelling::{Gap, Number, kind};
use crate::time_unit::TimeUnit;

/// Lines that the cut and the names are told by.
const LINES: usize = 100;
/// Percent of lines that have to agree.
const MOST: usize = 90;

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
}

/// Is `part` most of `all`?
fn most(part: usize, all: usize) -> bool {
    all > 0 && 100 * part >= MOST * all
}

/// The table whose columns have names that tell the kinds, addresses and sizes of requests.
pub(crate) fn by_names(lines: &[&[u8]], unit: Option<TimeUnit>) -> Option<GuessedTable> {
    let mapping = Mapping::default();
    let cut = guess_cut(lines);
    let named = cut.has_names() || lines.first().is_some_and(|line| is_header(&cut, line));
    named
        .then(|| complete(&mapping, unit, lines).ok())
        .flatten()
}

/// The table that has columns with such values, in bytes; to be doubted.
pub(crate) fn by_values(lines: &[&[u8]], unit: Option<TimeUnit>) -> Option<GuessedTable> {
    let cut = guess_cut(lines);
    if cut.has_names() || lines.first().is_some_and(|line| is_header(&cut, line)) {
        return None;
    }
    let mut mapping = Mapping::default();
    mapping.layout.cut = Some(cut.clone());
    mapping.layout.header = Some(false);
    mapping.layout.decimal = Some(guess_decimal(&cut, lines));
    for (role, column) in value_roles(&cut, mapping.layout.decimal.unwrap_or(b'.'), lines)? {
        mapping.rules[role as usize] = Some(Rule::of(MappedColumn::Number(column + 1)));
    }
    let mut table = complete(&mapping, unit, lines).ok()?;
    let doubt = table
        .doubt
        .take()
        .map_or(String::new(), |doubt| format!("; {doubt}"));
    table.doubt = Some(format!(
        "the columns are guessed from their values; --trace-columns '{}' says the same, and can be changed{doubt}",
        table.mapping
    ));
    Some(table)
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
    let mut mapping = mapping.clone();
    let body = lines.get(mapping.layout.skip..).unwrap_or(&[]);
    let cut = mapping
        .layout
        .cut
        .get_or_insert_with(|| guess_cut(body))
        .clone();
    let is_named = |rule: &Rule| {
        rule.columns
            .iter()
            .any(|c| matches!(c, MappedColumn::Name(_)))
    };
    let named = mapping.rules.iter().flatten().any(is_named);
    let first = || {
        body.first()
            .is_some_and(|line| named || is_header(&cut, line))
    };
    let header = !cut.has_names() && mapping.layout.header.unwrap_or_else(first);
    if !cut.has_names() {
        mapping.layout.header = Some(header);
    }
    let names = names_of(&cut, header, body, &mapping);
    let body = &body[usize::from(header).min(body.len())..];
    let mark = *mapping
        .layout
        .decimal
        .get_or_insert_with(|| guess_decimal(&cut, body));
    if mark == b'.' {
        mapping.layout.decimal = None;
    }
    add_named(&mut mapping, &names);
    let widths: Vec<usize> = body
        .iter()
        .take(LINES)
        .map(|line| width(&cut, &names, line))
        .collect();
    let usual = match header {
        true => Some(names.len()),
        false => widths.get(widths.len() / 2).copied(),
    };
    let same = widths.iter().filter(|&&width| Some(width) <= usual).count();
    let usual = usual.filter(|_| !cut.has_names() && (header || most(same, widths.len())));
    let width = widths.iter().copied().max().unwrap_or(0);
    let places =
        places(&mapping, &names, width).map_err(|missing| missing_text(missing, &names, width))?;
    let mut table = GuessedTable {
        mapping,
        names,
        places,
        width: usual,
        doubt: None,
    };
    if let Some(unit) = unit {
        table.set_unit(ColumnUnit::Time(unit));
    }
    let rows = sample_cells(&table, &cut, body);
    table.doubt = table.settle_units(&rows, false);
    Ok(table)
}

/// Adds the columns that their names tell.
pub(crate) fn add_named(mapping: &mut Mapping, names: &[String]) {
    let taken = |mapping: &Mapping, name: &String| {
        let is = |column: &MappedColumn| *column == MappedColumn::Name(name.clone());
        mapping
            .rules
            .iter()
            .flatten()
            .any(|rule| rule.columns.iter().any(is))
    };
    for role in ColumnRole::ALL {
        if mapping.rule(role).is_some() {
            continue;
        }
        let found = names
            .iter()
            .filter(|name| !taken(mapping, name))
            .filter_map(|name| {
                let meaning = meaning(name).filter(|meaning| meaning.role == role)?;
                Some((meaning.score, name, meaning))
            });
        // The first of the best.
        let best = found.rev().max_by_key(|(score, ..)| *score);
        if let Some((_, name, meaning)) = best {
            let mut rule = Rule::of(MappedColumn::Name(name.clone()));
            (rule.unit, rule.factor) = (meaning.unit, meaning.factor);
            let host = names
                .iter()
                .find(|name| role == ColumnRole::Volume && name.to_lowercase().starts_with("host"));
            rule.columns
                .splice(0..0, host.map(|name| MappedColumn::Name(name.clone())));
            mapping.rules[role as usize] = Some(rule);
        }
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
    let found = places(&mapping, &names, names.len())
        .map_err(|missing| missing_text(missing, &names, 0))?;
    let mut places = [None; 5];
    for (place, found) in places.iter_mut().zip(&found) {
        match found[..] {
            [] => {}
            [at] => *place = Some(at),
            _ => return Err("volume= joins columns of text only".to_owned()),
        }
    }
    let stated = places[ColumnRole::Time as usize].and_then(|place| columns[place].1);
    if let Some(rule) = &mut mapping.rules[ColumnRole::Time as usize] {
        rule.unit = unit
            .map(ColumnUnit::Time)
            .or(rule.unit)
            .or(stated.map(ColumnUnit::Time));
    }
    Ok((mapping, places))
}

/// The message about a column that is not there.
fn missing_text((role, column): Missing, names: &[String], width: usize) -> String {
    let (key, known) = (role.key(), names.join(", "));
    match column {
        Some(column) if names.is_empty() => {
            format!("there is no column {column} for {key}; columns: {width}")
        }
        Some(column) => format!("it has no column `{column}` for {key}; its columns: {known}"),
        None if names.is_empty() => {
            format!("no column is named as {key}: {key}=NUMBER says which holds that")
        }
        None => format!(
            "no column is known as {key}; its columns: {known}; {key}=NAME says which holds that"
        ),
    }
}

/// Where the columns are; the column that is not there, or the value that has none.
type Missing = (ColumnRole, Option<String>);
pub(crate) fn places(
    mapping: &Mapping,
    names: &[String],
    width: usize,
) -> Result<[Vec<usize>; 5], Missing> {
    let mut places: [Vec<usize>; 5] = Default::default();
    for role in ColumnRole::ALL {
        let Some(rule) = mapping.rule(role) else {
            // Without times request i arrives at i us, and there may be one volume.
            if matches!(role, ColumnRole::Time | ColumnRole::Volume) {
                continue;
            }
            return Err((role, None));
        };
        for column in &rule.columns {
            let place = match column {
                MappedColumn::Number(number) => {
                    Some(number - 1).filter(|&place| place < width.max(names.len()))
                }
                MappedColumn::Name(name) => {
                    names.iter().position(|known| known.trim() == name.trim())
                }
            };
            places[role as usize].push(place.ok_or_else(|| (role, Some(column.to_string())))?);
        }
    }
    Ok(places)
}

fn width(cut: &Cut, names: &[String], line: &[u8]) -> usize {
    let mut fields = Vec::new();
    cut.fields(line, names, &mut fields);
    fields.len()
}

fn is_number(field: &[u8], mark: u8) -> bool {
    Number::parse(field, mark).is_ok() || date::parse(field).is_ok()
}

/// Does a line name columns?
fn is_header(cut: &Cut, line: &[u8]) -> bool {
    let Cut::Gap(gap) = cut else { return false };
    let fields = gap.fields(line);
    let number = |field: &&[u8]| is_number(field, b'.') || is_number(field, b',');
    !fields.iter().any(number)
        && fields
            .iter()
            .filter(|f| f.iter().any(u8::is_ascii_alphabetic))
            .count()
            > 1
}

fn guess_cut(lines: &[&[u8]]) -> Cut {
    if lines
        .first()
        .is_some_and(|line| line.trim_ascii().starts_with(b"{"))
    {
        return Cut::Json;
    }
    let gaps = [
        Gap::Byte(b'\t'),
        Gap::Byte(b';'),
        Gap::Byte(b'|'),
        Gap::Byte(b','),
        Gap::Blanks,
    ];
    let agree = |gap: &&Gap| {
        let widths: Vec<usize> = lines
            .iter()
            .take(LINES)
            .map(|line| gap.fields(line).len())
            .collect();
        let usual = widths.get(widths.len() / 2).copied().unwrap_or(0);
        let same = widths.iter().filter(|&&width| width == usual).count();
        usual > 2 && most(same, widths.len())
    };
    Cut::Gap(gaps.iter().find(agree).copied().unwrap_or(Gap::Byte(b',')))
}

/// The mark of fractions: a comma only if some number has one that is not between thousands.
fn guess_decimal(cut: &Cut, lines: &[&[u8]]) -> u8 {
    let Cut::Gap(gap) = cut else { return b'.' };
    let comma =
        |field: &&[u8]| Number::parse(field, b',').is_ok() && Number::parse(field, b'.').is_err();
    let comma = *gap != Gap::Byte(b',')
        && lines.iter().take(LINES).any(|line| {
            gap.fields(line)
                .iter()
                .any(|f| comma(f) && f.contains(&b','))
        });
    if comma { b',' } else { b'.' }
}

fn names_of(cut: &Cut, header: bool, body: &[&[u8]], mapping: &Mapping) -> Vec<String> {
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    match cut {
        Cut::Gap(gap) if header => body.first().map_or(Vec::new(), |line| {
            gap.fields(line).into_iter().map(text).collect()
        }),
        Cut::Gap(_) => Vec::new(),
        Cut::Json => {
            let mut names: Vec<String> = Vec::new();
            for line in body.iter().take(LINES) {
                let mut put = |name: &[u8], _: &[u8]| {
                    if !names.iter().any(|known| known.as_bytes() == name) {
                        names.push(text(name));
                    }
                };
                super::cut::object(line, &mut put);
            }
            names
        }
        Cut::Lines(patterns) => {
            let columns = mapping
                .rules
                .iter()
                .flatten()
                .flat_map(|rule| &rule.columns);
            let named = columns.filter_map(|column| match column {
                MappedColumn::Name(name) => Some(name.clone()),
                MappedColumn::Number(_) => None,
            });
            named
                .filter(|name| patterns.iter().any(|pattern| pattern.has(name)))
                .collect()
        }
    }
}

/// The numbers of the rows of a sample.
fn sample_cells(table: &GuessedTable, cut: &Cut, body: &[&[u8]]) -> Vec<SampleRow> {
    let rows = body.iter().filter_map(|line| {
        let (mut fields, mut joined) = (Vec::new(), Vec::new());
        cut.fields(line, &table.names, &mut fields).then(|| {
            let cells = cells(&fields, &table.places, &mut joined);
            SampleRow(cells.map(|cell| match cell {
                Cell::Text(text) => Some(text.to_vec()),
                _ => None,
            }))
        })
    });
    rows.collect()
}

struct SampleRow([Option<Vec<u8>>; 5]);

impl SampleRow {
    fn cells(&self) -> Cells<'_> {
        [0, 1, 2, 3, 4].map(|i| self.0[i].as_deref().map_or(Cell::Null, Cell::Text))
    }
}

impl GuessedTable {
    fn set_unit(&mut self, unit: ColumnUnit) {
        if let Some(rule) = &mut self.mapping.rules[ColumnRole::Time as usize] {
            rule.unit = Some(unit);
        }
    }

    fn settle_units(&mut self, rows: &[SampleRow], documented: bool) -> Option<String> {
        let cells: Vec<Cells<'_>> = rows.iter().map(SampleRow::cells).collect();
        settle_units(&mut self.mapping, &cells, documented)
    }
}

/// Finds the units that a mapping does not say, and says what speaks for others. `documented`: times without one are
/// in ns.
pub(crate) fn settle_units(
    mapping: &mut Mapping,
    rows: &[Cells<'_>],
    documented: bool,
) -> Option<String> {
    let given = mapping
        .rule(ColumnRole::Time)
        .is_none_or(|rule| rule.unit.is_some());
    let is_date =
        |cells: &&Cells<'_>| matches!(cells[0], Cell::Text(text) if date::parse(text).is_ok());
    let mut native = TimeUnit::Nanoseconds;
    if !given {
        let date = most(rows.iter().filter(is_date).count(), rows.len());
        let numbers = numbers(mapping, rows);
        if most(
            numbers.iter().filter(|row| row.real).count(),
            numbers.len().max(1),
        ) {
            native = TimeUnit::Seconds;
        }
        let unit = if date {
            ColumnUnit::Date
        } else {
            ColumnUnit::Time(native)
        };
        if let Some(rule) = &mut mapping.rules[ColumnRole::Time as usize] {
            rule.unit = Some(unit);
        }
    }
    settle_size(mapping, rows);
    let numbers = numbers(mapping, rows);
    let bytes = [ColumnRole::Offset, ColumnRole::Size]
        .map(|role| u128::from(mapping.rule(role).map_or(1, Rule::bytes)));
    let opening = Opening::of_rows(numbers.iter().copied(), bytes)?;
    let lengths = plausible::doubt_lengths(&opening);
    let unit = match mapping.rule(ColumnRole::Time).and_then(|rule| rule.unit) {
        Some(ColumnUnit::Time(_)) if !given => {
            plausible::settle_free_unit(native, &opening, documented)
        }
        _ => None,
    };
    let times = unit.map(|(unit, doubt)| {
        if let Some(rule) = &mut mapping.rules[ColumnRole::Time as usize] {
            rule.unit = Some(ColumnUnit::Time(unit));
        }
        doubt
    });
    let doubts: Vec<String> = lengths.into_iter().chain(times).collect();
    (!doubts.is_empty()).then(|| doubts.join("; "))
}

fn numbers(mapping: &Mapping, rows: &[Cells<'_>]) -> Vec<RowNumbers> {
    let reader = MappedRows::new(mapping);
    rows.iter()
        .filter_map(|cells| reader.numbers(*cells))
        .collect()
}

/// Sizes beside addresses in sectors may be in either unit.
fn settle_size(mapping: &mut Mapping, rows: &[Cells<'_>]) {
    let sectors = mapping
        .rule(ColumnRole::Offset)
        .is_some_and(|rule| rule.unit == Some(ColumnUnit::Sectors));
    if !sectors
        || mapping
            .rule(ColumnRole::Size)
            .is_none_or(|rule| rule.unit.is_some() || !rule.is_plain())
    {
        return;
    }
    let lengths = numbers(mapping, rows);
    let bytes = lengths
        .iter()
        .filter(|row| row.length % 512 == 0 && row.length > 0)
        .count();
    if let Some(rule) = &mut mapping.rules[ColumnRole::Size as usize] {
        rule.unit = Some(if most(bytes, lengths.len()) {
            ColumnUnit::Bytes
        } else {
            ColumnUnit::Sectors
        });
    }
}

/// One column of a sample, by its values.
struct Values {
    place: usize,
    /// In billionths.
    numbers: Vec<u128>,
    whole: bool,
    real: bool,
}

impl Values {
    fn steps(&self, fits: impl Fn(u128, u128) -> bool) -> bool {
        let steps = self.numbers.windows(2);
        most(
            steps.filter(|two| fits(two[0], two[1])).count(),
            self.numbers.len() - 1,
        )
    }

    /// Are the numbers those of the rows? Dates in s may count as well.
    fn counts(&self) -> bool {
        self.steps(|a, b| b == a + 1_000_000_000) && !self.are_dates()
    }

    /// May the numbers be dates of this century, in any unit?
    fn are_dates(&self) -> bool {
        self.numbers.first() >= Some(&(946_684_800 * 1_000_000_000))
    }

    fn rises(&self) -> bool {
        self.steps(|a, b| a <= b) && self.numbers.first() < self.numbers.last()
    }

    fn are_bytes(&self) -> bool {
        let multiples = self
            .numbers
            .iter()
            .filter(|&&n| n % 512_000_000_000 == 0)
            .count();
        self.whole && most(multiples, self.numbers.len())
    }
}

/// The columns that hold times, kinds, addresses and sizes by what their values look like.
fn value_roles(cut: &Cut, mark: u8, lines: &[&[u8]]) -> Option<[(ColumnRole, usize); 4]> {
    let Cut::Gap(gap) = cut else { return None };
    let rows: Vec<Vec<&[u8]>> = lines.iter().map(|line| gap.fields(line)).collect();
    let width = rows.get(rows.len() / 2)?.len();
    let rows: Vec<&Vec<&[u8]>> = rows.iter().filter(|row| row.len() == width).collect();
    if rows.len() < 2 || !most(rows.len(), lines.len()) {
        return None;
    }
    let column = |place: usize| rows.iter().map(move |row| row[place]);
    let fits = |place: usize, fits: &dyn Fn(&[u8]) -> bool| {
        most(column(place).filter(|f| fits(f)).count(), rows.len())
    };
    let op = (0..width).find(|&place| fits(place, &|f| kind(f).is_some() || is_rwbs(f)))?;
    let dates = (0..width).find(|&place| fits(place, &|f| date::parse(f).is_ok()));
    let values: Vec<Values> = (0..width)
        .filter(|&place| place != op)
        .filter_map(|place| {
            let numbers: Vec<Number> = column(place)
                .filter_map(|f| Number::parse(f, mark).ok())
                .collect();
            most(numbers.len(), rows.len()).then(|| Values {
                place,
                whole: numbers.iter().all(|n| n.whole().is_ok()),
                real: column(place).any(|f| f.contains(&mark)),
                numbers: numbers.iter().filter_map(|n| n.scaled(9).ok()).collect(),
            })
        })
        .filter(|values| values.numbers.len() > 1)
        .collect();
    let rising = || values.iter().filter(|v| v.rises() && !v.counts());
    let time = dates.or_else(|| {
        rising()
            .find(|v| v.real)
            .or_else(|| rising().find(|v| v.are_dates()))
            .or_else(|| rising().next())
            .map(|v| v.place)
    })?;
    let bytes: Vec<&Values> = values
        .iter()
        .filter(|v| v.place != time && !v.counts() && v.are_bytes())
        .collect();
    let last = |v: &&&Values| v.numbers.iter().max().copied();
    let several = bytes
        .iter()
        .filter(|v| v.numbers.iter().any(|n| *n != v.numbers[0]));
    let offset = several.max_by_key(last)?.place;
    let sizes = || {
        bytes.iter().filter(|v| {
            v.place != offset
                && most(
                    v.numbers.iter().filter(|&&n| n > 0).count(),
                    v.numbers.len(),
                )
        })
    };
    let size = sizes()
        .find(|v| v.place > offset)
        .or_else(|| sizes().next())?
        .place;
    Some([
        (ColumnRole::Time, time),
        (ColumnRole::Op, op),
        (ColumnRole::Offset, offset),
        (ColumnRole::Size, size),
    ])
}
