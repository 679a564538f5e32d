//! Which columns of a table hold what, by their values: all ways to read it, compared by their verdicts.

use super::cut::Cut;
use super::date;
use super::guess::{GuessedTable, complete, outline};
use super::lines::{LINES, has_names, most};
use super::rule::{ColumnUnit, MappedColumn, Rule};
use super::{ColumnRole, Mapping};
use crate::doubts::Doubts;
use crate::text::spelling::{Number, letters_kind, word_kind};
use crate::time_unit::TimeUnit;

/// Columns that may hold one value of requests, the likeliest first.
const MOST: usize = 4;

/// Parts of the names of times between requests.
const GAPS: &str = "interarrival interval delta diff gap think";

/// One column of a sample, by its values.
struct Values {
    place: usize,
    /// In billionths.
    numbers: Vec<u128>,
    whole: bool,
    real: bool,
}

impl Values {
    /// The column, if nearly all of its fields are numbers.
    fn of(place: usize, fields: &[&[u8]], mark: u8) -> Option<Values> {
        let numbers = fields
            .iter()
            .filter_map(|field| Number::parse(field, mark).ok());
        let numbers: Vec<Number> = numbers.collect();
        let values = Values {
            place,
            whole: numbers.iter().all(|n| n.whole().is_ok()),
            real: fields.iter().any(|field| field.contains(&mark)),
            numbers: numbers.iter().filter_map(|n| n.scaled(9).ok()).collect(),
        };
        let many = most(numbers.len(), fields.len()) && values.numbers.len() > 1;
        many.then_some(values)
    }

    fn steps(&self, fits: impl Fn(u128, u128) -> bool) -> bool {
        let steps = self.numbers.windows(2).filter(|two| fits(two[0], two[1]));
        most(steps.count(), self.numbers.len() - 1)
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

    /// Are the numbers multiples of a sector?
    fn are_bytes(&self) -> bool {
        let multiples = self.numbers.iter().filter(|&&n| n % 512_000_000_000 == 0);
        most(multiples.count(), self.numbers.len())
    }

    fn are_several(&self) -> bool {
        self.numbers.iter().any(|n| *n != self.numbers[0])
    }

    fn are_sizes(&self) -> bool {
        let sizes = self.numbers.iter().filter(|&&n| n > 0).count();
        self.whole && most(sizes, self.numbers.len())
    }

    fn largest(&self) -> Option<u128> {
        self.numbers.iter().max().copied()
    }
}

/// Are the fields dates, times of day, or times with a unit that go forward?
fn are_clock(column: &[&[u8]]) -> bool {
    let Some((order, _)) = date::order(column.iter().copied()) else {
        return false;
    };
    let times = column
        .iter()
        .filter_map(|field| date::parse(field, order).ok());
    let times: Vec<u64> = times.collect();
    let forward = times.windows(2).filter(|two| two[0] <= two[1]).count();
    times.len() < 2 || most(forward, times.len() - 1)
}

/// The columns of a sample in which all rows are as wide.
fn columns<'a>(cut: &Cut, lines: &[&'a [u8]]) -> Option<Vec<Vec<&'a [u8]>>> {
    let Cut::Gap(gap) = cut else { return None };
    let rows: Vec<Vec<&[u8]>> = lines.iter().map(|line| gap.fields(line)).collect();
    let width = rows.get(rows.len() / 2)?.len();
    let whole: Vec<&Vec<&[u8]>> = rows.iter().filter(|row| row.len() == width).collect();
    if whole.len() < 2 || !most(whole.len(), lines.len()) {
        return None;
    }
    let column = |place: usize| whole.iter().map(|row| row[place]).collect();
    Some((0..width).map(column).collect())
}

/// The column of the kinds of requests: words, or else numbers, of which DiskSim and its kin have 1 for reads.
fn kinds(columns: &[Vec<&[u8]>]) -> Option<(Rule, usize)> {
    let find = |fits: fn(&[u8]) -> bool| {
        let share = |column: &Vec<&[u8]>| column.iter().filter(|field| fits(field)).count();
        let mut columns = columns.iter();
        columns.position(|column| most(share(column), column.len()))
    };
    let word = find(|field| word_kind(field).or_else(|| letters_kind(field)).is_some());
    let number = || find(|field| matches!(field, b"0" | b"1"));
    let place = word.or_else(number)?;
    let mut rule = Rule::of(MappedColumn::Number(place + 1));
    if word.is_none() {
        let kind = |(word, kind): (&str, &str)| (word.to_owned(), word_kind(kind.as_bytes()));
        rule.words = [("1", "R"), ("0", "W")].map(kind).to_vec();
    }
    Some((rule, place))
}

/// Where the columns are whose names tell what they hold, and their rules by number.
type Told = [Option<(usize, Rule)>; 4];

fn told(table: &GuessedTable) -> Told {
    use ColumnRole::{Offset, Op, Size, Time};
    [Time, Op, Offset, Size].map(|role| {
        let rule = table.mapping.rule(role)?;
        let column = |name: &String| rule.columns == [MappedColumn::Name(name.clone())];
        let place = table.names.iter().position(column)?;
        let mut rule = rule.clone();
        rule.columns = vec![MappedColumn::Number(place + 1)];
        Some((place, rule))
    })
}

/// Column by column what a table may hold: the rules of time, kind, address and size, the likeliest first.
fn readings(columns: &[Vec<&[u8]>], mark: u8, told: &Told) -> Vec<[Rule; 4]> {
    let [time, kind, offset, size] = told;
    let kind = kind.clone().map(|(place, rule)| (rule, place));
    let Some((kind, op)) = kind.or_else(|| kinds(columns)) else {
        return Vec::new();
    };
    let dates = columns.iter().position(|column| are_clock(column));
    let dates = time.as_ref().map(|(place, _)| *place).or(dates);
    let others = columns.iter().enumerate().filter(|(place, _)| *place != op);
    let values = others.filter_map(|(place, column)| Values::of(place, column, mark));
    let values: Vec<Values> = values.collect();
    let mut clocks: Vec<&Values> = values.iter().filter(|v| v.rises() && !v.counts()).collect();
    clocks.sort_by_key(|v| (!v.real, !v.are_dates()));
    let times = match dates {
        Some(place) => vec![place],
        None => clocks.iter().take(MOST).map(|v| v.place).collect(),
    };
    let whole = values.iter().filter(|v| v.whole && !v.counts());
    let mut offsets: Vec<&Values> = whole.filter(|v| v.are_several()).collect();
    offsets.retain(|v| match offset {
        Some((place, _)) => v.place == *place,
        None => !(v.are_dates() && v.rises()),
    });
    offsets.sort_by_key(|v| std::cmp::Reverse((v.are_bytes(), v.largest())));
    let rule = |place: usize| {
        let told = told.iter().flatten().find(|told| told.0 == place);
        let plain = || Rule::of(MappedColumn::Number(place + 1));
        told.map_or_else(plain, |told| told.1.clone())
    };
    let mut readings = Vec::new();
    for time in times {
        for offset in offsets.iter().filter(|v| v.place != time).take(MOST) {
            let other = |v: &&Values| ![time, offset.place].contains(&v.place);
            let mut sizes: Vec<&Values> = values.iter().filter(other).collect();
            sizes.retain(|v| match size {
                Some((place, _)) => v.place == *place,
                None => v.are_sizes() && !v.counts(),
            });
            sizes.sort_by_key(|v| (!v.are_bytes(), v.place < offset.place));
            for column in sizes.into_iter().take(MOST) {
                let mut found = [time, op, offset.place, column.place].map(rule);
                found[1] = kind.clone();
                let bytes = [offset.are_bytes(), column.are_bytes()];
                for (rule, bytes) in found[2..].iter_mut().zip(bytes) {
                    let sectors = || (!bytes && rule.is_plain()).then_some(ColumnUnit::Sectors);
                    rule.unit = rule.unit.or_else(sectors);
                }
                // Nothing has addresses in bytes beside sizes in sectors.
                if bytes != [true, false] || size.is_some() {
                    readings.push(found);
                }
            }
        }
    }
    readings
}

/// The table whose columns have names that tell the kinds, addresses and sizes of requests.
pub(crate) fn by_names(
    base: &Mapping,
    lines: &[&[u8]],
    unit: Option<TimeUnit>,
) -> Option<GuessedTable> {
    let table = || complete(base, unit, lines).ok();
    let table = has_names(lines).then(table).flatten()?;
    // Other records have such names, too, deep inside.
    let nested = table.mapping.column_names().any(|name| name.contains('.'));
    if nested && table.opening.is_none() && table.mapping.layout.cut == Some(Cut::Json) {
        return None;
    }
    if table.mapping.rule(ColumnRole::Time).is_some() {
        return Some(table);
    }
    Some(with_clock(&table, unit, lines).unwrap_or(table))
}

/// A table with times in a column that goes forward, which has no name that says so.
fn with_clock(
    table: &GuessedTable,
    unit: Option<TimeUnit>,
    lines: &[&[u8]],
) -> Option<GuessedTable> {
    let layout = &table.mapping.layout;
    let cut = layout.cut.clone()?;
    let body = lines.get(layout.skip + usize::from(layout.header == Some(true))..)?;
    let mut fields = Vec::new();
    let mut columns: Vec<Vec<&[u8]>> = vec![Vec::new(); table.names.len()];
    for line in body.iter().take(LINES) {
        cut.fields(line, &table.names, &mut fields);
        for (column, field) in columns.iter_mut().zip(&fields) {
            column.extend(field);
        }
    }
    let is_gap = |name: &String| {
        let name = name.to_lowercase().replace(['_', '-', ' '], "");
        GAPS.split(' ').any(|gap| name.contains(gap))
    };
    let used = |place: &usize| {
        let used = table.places.iter().any(|places| places.contains(place));
        used || table.names.get(*place).is_some_and(is_gap)
    };
    let columns = || columns.iter().enumerate().filter(|(place, _)| !used(place));
    let mark = layout.decimal.unwrap_or(b'.');
    let mut values = columns().filter_map(|(place, column)| Values::of(place, column, mark));
    let dates = columns().find(|(_, column)| are_clock(column));
    let mut rising = || values.find(|v| v.rises() && !v.counts() && v.numbers.len() > 2);
    let place = match dates {
        Some((place, _)) => place,
        None => rising()?.place,
    };
    let mut mapping = table.mapping.clone();
    let column = MappedColumn::Number(place + 1);
    let name = table.names.get(place).filter(|_| cut.has_names());
    let column = name.map_or(column, |name| MappedColumn::Name(name.clone()));
    mapping.rules[ColumnRole::Time as usize] = Some(Rule::of(column));
    let mut timed = complete(&mapping, unit, lines).ok()?;
    let own = timed.doubts.time.take();
    timed.doubts.time = Some(format!(
        "no column is named as the time, and column {} goes forward as times do; --trace-columns '{}' says the same",
        place + 1,
        timed.mapping
    ));
    Doubts::add(&mut timed.doubts.time, own);
    Some(timed)
}

/// The tables that have columns with such values, the most plausible first; to be doubted. Names that tell what a
/// column holds are kept.
pub(crate) fn by_values(lines: &[&[u8]], unit: Option<TimeUnit>) -> Vec<GuessedTable> {
    let outline = outline(&Mapping::default(), lines);
    let (layout, told) = (&outline.table.mapping.layout, told(&outline.table));
    let mark = layout.decimal.unwrap_or(b'.');
    let columns = columns(&outline.cut, outline.body).unwrap_or_default();
    let judged = readings(&columns, mark, &told)
        .into_iter()
        .filter_map(|rules| {
            let mut mapping = Mapping::default();
            for (role, rule) in ColumnRole::ALL.into_iter().zip(rules) {
                mapping.rules[role as usize] = Some(rule);
            }
            mapping.layout = layout.clone();
            let table = complete(&mapping, unit, &lines[..lines.len().min(LINES)]).ok()?;
            let sectors = |role| mapping.rule(role).and_then(|rule| rule.unit).is_some();
            // Numbers are no multiples of 512 by chance.
            let sectors = sectors(ColumnRole::Offset) || sectors(ColumnRole::Size);
            let even = table.is_even();
            even.then(|| ((sectors, table.verdict()), mapping))
        });
    let judged: Vec<(_, Mapping)> = judged.collect();
    let best = judged.iter().map(|(rank, _)| *rank).min();
    let best = judged.iter().filter(|(rank, _)| Some(*rank) == best);
    let whole = best.filter_map(|(_, mapping)| complete(mapping, unit, lines).ok());
    let mut tables: Vec<GuessedTable> = whole.collect();
    let texts = tables.iter().map(|table| table.mapping.to_string());
    let texts: Vec<String> = texts.collect();
    for (i, table) in tables.iter_mut().enumerate() {
        let numbers = match table.has_numbered_kinds() {
            true => ", and 0 is taken for writes",
            false => "",
        };
        let other = texts
            .get(usize::from(i == 0))
            .filter(|other| **other != texts[i]);
        let other = other.map(|other| format!("; '{other}' is as plausible"));
        let own = table.doubts.format.take();
        table.doubts.format = Some(format!(
            "the columns are guessed from their values{numbers}; --trace-columns '{}' says the same, and can be changed{}",
            texts[i],
            other.unwrap_or_default()
        ));
        Doubts::add(&mut table.doubts.format, own);
    }
    tables
}
