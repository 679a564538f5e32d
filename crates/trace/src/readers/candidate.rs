//! A format of tables as a reading of the first lines of a trace.

use super::columns::Holds;
use super::opening::{FEW, Oddity, Opening, most};
use super::verdict::Load;
use super::{FormatInfo, TraceColumn, is_header, mapped};
use crate::mapping::cut::Cut;
use crate::mapping::guess::GuessedTable;
use crate::mapping::lines::guess_cut;
use crate::mapping::named::named_mappings;
use crate::mapping::row::MappedRows;
use crate::mapping::rule::{ColumnUnit, MappedColumn, Rule};
use crate::mapping::{ColumnRole, Mapping, Roles};
use crate::text::numbers::parse_u64;
use crate::text::unusual::usual;
use crate::time_unit::TimeUnit;

/// A format of which the columns fit.
pub(super) struct Candidate {
    pub format: &'static FormatInfo,
    pub unit: TimeUnit,
    /// Are the lines spelled as the format has it?
    pub exact: bool,
    /// What its columns hold, if a mapping declares the format.
    pub opening: Option<Opening>,
    pub mapping: Mapping,
    pub places: Roles<Vec<usize>>,
    /// The column that should count the lines, and does not.
    pub stops: Option<&'static str>,
}

/// Where the columns of a mapping by numbers are.
fn places(mapping: &Mapping) -> Roles<Vec<usize>> {
    ColumnRole::ALL.map(|role| {
        let columns = mapping.rule(role).map_or(&[][..], |rule| &rule.columns);
        let place = |column: &MappedColumn| match column {
            MappedColumn::Number(number) => Some(number - 1),
            MappedColumn::Name(_) => None,
        };
        columns.iter().filter_map(place).collect()
    })
}

impl Candidate {
    /// `format` with times in `unit`, if somebody said so. `exact`: the lines are spelled as the format has it.
    pub fn of(
        format: &'static FormatInfo,
        unit: Option<TimeUnit>,
        lines: &[&[u8]],
        exact: bool,
    ) -> Candidate {
        let declared = named_mappings().get(format.name);
        let mapping = declared.and_then(|named| named.mapping().ok());
        let mut candidate = Candidate {
            format,
            unit: unit.or(format.time_unit()).unwrap_or(TimeUnit::Nanoseconds),
            exact,
            opening: None,
            places: mapping.as_ref().map(places).unwrap_or_default(),
            stops: None,
            mapping: mapping.unwrap_or_default(),
        };
        if let Some(cut) = candidate.mapping.layout.cut.clone() {
            candidate.read(&cut, lines);
        }
        // A mapping that says the same for these lines.
        if !exact {
            candidate.mapping.layout.cut = Some(guess_cut(lines));
        }
        candidate
    }

    /// Reads the numbers in the lines.
    fn read(&mut self, cut: &Cut, lines: &[&[u8]]) {
        let rows = MappedRows::new(&self.mapping);
        let counter = |column: &TraceColumn| matches!(column.holds, Holds::Counter);
        let counter = self.format.columns.iter().position(counter);
        let mut counted: Vec<u64> = Vec::new();
        let mut places = self.places.clone();
        if self.has_names() {
            places[ColumnRole::Volume as usize].clear();
        }
        let mut read = |line: &[u8]| {
            let (mut fields, mut joined) = (Vec::with_capacity(16), Vec::new());
            cut.fields(line, &[], &mut fields);
            let count =
                counter.and_then(|place| parse_u64(fields.get(place).copied().flatten()?).ok());
            let numbers = rows.numbers(mapped::cells(&fields, &places, &mut joined))?;
            counted.extend(count);
            Some(numbers)
        };
        let spelled = |line: &[u8]| usual(self.format, line);
        let numbers = lines.iter().filter_map(|line| {
            // The reader says what is wrong with other lines.
            read(line).or_else(|| read(&spelled(line)?))
        });
        let units = [ColumnRole::Offset, ColumnRole::Size]
            .map(|role| u128::from(self.mapping.rule(role).map_or(1, Rule::bytes)));
        self.opening = Opening::of_rows(numbers, units);
        let steps = counted.windows(2).filter(|two| two[1] == two[0] + 1);
        let stops = counted.len() > 2 && !most(steps.count(), counted.len() - 1);
        let column = counter
            .filter(|_| stops)
            .map(|place| &self.format.columns[place]);
        self.stops = column.map(|column| column.name);
    }

    /// May the lines be of the format, whose columns they have?
    pub fn may_be(&self, first: &[u8]) -> bool {
        let of_it = |opening: &Opening| {
            // Other tables with these columns have their times elsewhere, and response times there.
            !opening.has_dates_for_volumes() && (!self.format.open_end || opening.goes_forward())
        };
        self.opening.as_ref().is_none_or(of_it) || is_header(self.format, first)
    }

    pub fn load(&self) -> Option<Load> {
        self.opening.as_ref().map(|opening| opening.load(self.unit))
    }

    pub fn oddity(&self) -> Option<Oddity> {
        let opening = self.opening.as_ref()?;
        let real = |column: &TraceColumn| matches!(column.holds, Holds::Decimal(_));
        let real = self.format.columns.iter().any(real);
        let whole = real && opening.has_whole_times(self.format.dates.unwrap_or(self.unit));
        opening.oddity().or(whole.then_some(Oddity::WholeTimes))
    }

    /// Has a table its times, kinds, addresses and sizes in the same columns?
    pub fn has_places(&self, table: &GuessedTable) -> bool {
        self.places[..4] == table.places[..4]
    }

    /// A mapping of its kinds alone.
    pub fn kinds(&self) -> Mapping {
        let mut mapping = Mapping::default();
        mapping.rules[ColumnRole::Op as usize] = self.mapping.rule(ColumnRole::Op).cloned();
        mapping
    }

    /// Has a table whose columns have names the same, in units that these names leave open or say as well?
    pub fn reads_as(&self, table: &GuessedTable) -> bool {
        let same = |role: ColumnRole| {
            let (own, other) = (self.mapping.rule(role), table.mapping.rule(role));
            let place = other.and_then(|rule| match &rule.columns[..] {
                [MappedColumn::Name(name)] => table.names.iter().position(|known| known == name),
                [MappedColumn::Number(number)] => Some(number - 1),
                _ => None,
            });
            let unit = |rule: &Rule| (rule.unit, rule.factor);
            let open = |rule: &Rule| rule.unit.is_none() && rule.factor == 1;
            (other.is_none() || place == self.places[role as usize].first().copied())
                && (other.is_none_or(open) || other.map(unit) == own.map(unit))
        };
        ColumnRole::ALL[..4].iter().copied().all(same)
    }

    /// Do its volumes have names of two parts, such as a host and a disk? No other table looks like that by chance.
    pub fn has_names(&self) -> bool {
        self.places[ColumnRole::Volume as usize].len() > 1
    }

    /// Are its addresses numbers of blocks, and nothing else in the line?
    pub fn has_blocks(&self) -> bool {
        self.format.columns.len() == 1
    }

    /// Has the opening more than a few requests?
    pub fn is_long(&self) -> bool {
        let opening = self.opening.as_ref();
        opening.is_some_and(|opening| opening.requests >= FEW)
    }

    pub fn has_sectors(&self) -> bool {
        let size = self.mapping.rule(ColumnRole::Size);
        size.is_some_and(|rule| rule.unit == Some(ColumnUnit::Sectors))
    }

    /// Would `trace convert` have written the file like this?
    pub fn is_as_written(&self) -> bool {
        let ticks = |column: &TraceColumn| matches!(column.holds, Holds::Ticks(_));
        let whole = self.format.columns.iter().any(ticks);
        let digits = || self.opening.as_ref().is_some_and(|o| o.written_digits);
        self.has_sectors() && (whole || digits())
    }

    pub fn text(&self) -> String {
        let size = ["bytes", "sectors"][usize::from(self.has_sectors())];
        let load = self.load().map_or(String::new(), |load| load.text());
        format!("{} ({}, {size}): {load}", self.format.name, self.unit)
    }
}
