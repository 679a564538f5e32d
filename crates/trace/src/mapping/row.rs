//! The request that the values of a row make, whatever the table is stored in.

use destage_types::rng::mix64;
use destage_types::{Extent, Op};

use super::rule::{ColumnUnit, Rule};
use super::{ColumnRole, Mapping, Roles, date};
use crate::error::shown;
use crate::extent::{self, ExtentFault};
use crate::readers::block_event;
use crate::readers::columns::NO_KIND;
use crate::readers::names::Names;
use crate::readers::opening::RowNumbers;
use crate::sink::{RequestSink, UNTIMED_NS};
use crate::text::numbers::{parse_decimal, parse_u64};
use crate::text::spelling::{EventKind, Number, short_size};
use crate::time_unit::TimeUnit;
use crate::volume::VolumeName;

/// A value of a row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cell<'a> {
    /// It is not given.
    Null,
    /// A whole number.
    Integer(i128),
    /// A real number.
    Real(f64),
    /// A text, which may spell a number.
    Text(&'a [u8]),
}

const NULL: &str = "is not given";
const NO_WORD: &str =
    "is no kind of request unless --trace-columns says which, as in op=COLUMN:1=R,0=W";

impl<'a> Cell<'a> {
    pub(crate) fn as_text(self) -> Option<&'a [u8]> {
        match self {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }

    /// So many times a number that may have a fraction, if that is whole.
    fn times(self, factor: u64, mark: u8) -> Option<u64> {
        match self {
            Cell::Text(text) => Number::parse(text, mark).ok()?.times(factor)?.whole().ok(),
            Cell::Real(x) => Cell::Real(x * factor as f64).whole(mark).ok(),
            _ => None,
        }
    }

    /// Are digits of a number lost, as in `1.28166E+17`?
    fn is_rounded(self, mark: u8) -> bool {
        let exponent = |text: &&[u8]| text.iter().any(|b| matches!(b, b'e' | b'E'));
        let number = self
            .as_text()
            .filter(exponent)
            .map(|text| Number::parse(text, mark));
        number.is_some_and(|number| number.is_ok_and(Number::is_rounded))
    }

    /// The value as messages show it.
    pub(crate) fn text(self) -> String {
        match self {
            Cell::Null => "null".to_owned(),
            Cell::Integer(n) => n.to_string(),
            Cell::Real(x) => x.to_string(),
            Cell::Text(bytes) => shown(bytes),
        }
    }

    /// The whole number that it is.
    pub(crate) fn whole(self, mark: u8) -> Result<u64, &'static str> {
        match self {
            Cell::Text(text) => parse_u64(text).or_else(|_| Number::parse(text, mark)?.whole()),
            Cell::Integer(..0) => Err("is negative"),
            Cell::Integer(n) => u64::try_from(n).map_err(|_| "does not fit 64 bits"),
            Cell::Real(x) if x < 0.0 => Err("is negative"),
            Cell::Real(x) if x.fract() != 0.0 || !x.is_finite() => Err("is not a whole number"),
            // Whole numbers above have gaps between them.
            Cell::Real(x) if x > (1u64 << 53) as f64 => Err("is too large for a real number"),
            Cell::Real(x) => Ok(x as u64),
            Cell::Null => Err(NULL),
        }
    }

    /// The time that it is, in parts of which a unit has 10^`places`.
    fn scaled(self, places: u32, mark: u8) -> Result<u128, &'static str> {
        match self {
            Cell::Text(text) if mark == b'.' => {
                let plain = parse_decimal(text, places).map(u128::from);
                plain.or_else(|_| Number::parse(text, mark)?.scaled(places))
            }
            Cell::Text(text) => Number::parse(text, mark)?.scaled(places),
            Cell::Real(x) if x < 0.0 => Err("is negative"),
            Cell::Real(x) if x.is_nan() => Err("is no number"),
            Cell::Real(x) => match (x * 10f64.powi(places as i32)).round() {
                parts if parts < u128::MAX as f64 => Ok(parts as u128),
                _ => Err("is too large"),
            },
            _ => {
                let parts = u128::from(self.whole(mark)?).checked_mul(10u128.pow(places));
                parts.ok_or("is too large")
            }
        }
    }

    /// Digits of the fraction of a number; real numbers that are not spelled out have one.
    fn fraction(self, mark: u8) -> usize {
        match self {
            Cell::Real(_) => 1,
            Cell::Text(text) => match memchr::memchr(mark, text) {
                Some(at) => text.len() - at - 1,
                None => usize::from(text.contains(&b'e') && Number::parse(text, mark).is_ok()),
            },
            _ => 0,
        }
    }
}

/// Why a trace has no request that has lines.
pub(crate) const NO_REQUESTS: &str = "no line names a kind of request";

/// The note about lines of kinds that are no requests.
pub(crate) fn kinds_note(lines: u64) -> Vec<String> {
    let note = || format!("lines of kinds that are no requests, which are not read: {lines}");
    (lines > 0).then(note).into_iter().collect()
}

/// Makes requests of rows.
pub(crate) struct MappedRows {
    rules: Box<Roles<Option<Rule>>>,
    mark: u8,
    volumes: Names,
    /// Rows that are no request, as the words of the kinds have it.
    pub skipped: u64,
}

/// The values of a request, in the order of [`ColumnRole::ALL`].
pub(crate) type Cells<'a> = Roles<Cell<'a>>;

impl MappedRows {
    /// For a mapping that says all that it needs to.
    pub fn new(mapping: &Mapping) -> MappedRows {
        MappedRows {
            rules: mapping.rules.clone(),
            mark: mapping.layout.decimal.unwrap_or(b'.'),
            volumes: Names::default(),
            skipped: 0,
        }
    }

    fn rule(&self, role: ColumnRole) -> Option<&Rule> {
        self.rules[role as usize].as_ref()
    }

    pub fn timed(&self) -> bool {
        self.rule(ColumnRole::Time).is_some()
    }

    pub fn volume(&self, stream: u32) -> Option<VolumeName> {
        self.rule(ColumnRole::Volume)
            .and_then(|_| self.volumes.volume(stream))
    }

    /// Notes for users of the trace.
    pub fn notes(&self) -> Vec<String> {
        kinds_note(self.skipped)
    }

    /// The value of a row, or of all rows.
    fn cell<'a>(&'a self, role: ColumnRole, cells: &Cells<'a>) -> Cell<'a> {
        let constant = self.rule(role).and_then(|rule| rule.constant.as_ref());
        constant.map_or(cells[role as usize], |text| Cell::Text(text.as_bytes()))
    }

    /// Nanoseconds of a time.
    fn time(&self, cells: &Cells<'_>) -> Result<u64, &'static str> {
        let cell = self.cell(ColumnRole::Time, cells);
        let Some(rule) = self.rule(ColumnRole::Time) else {
            return Ok(0);
        };
        let unit = match (rule.unit, cell) {
            (Some(ColumnUnit::Date(order)), Cell::Text(text)) => {
                let seconds = |why| match Number::parse(text, self.mark).and_then(|n| n.scaled(9)) {
                    Ok(ns) => u64::try_from(ns).map_err(|_| "is too large"),
                    Err(_) => Err(why),
                };
                return date::parse(text, order).or_else(seconds);
            }
            (Some(ColumnUnit::Time(unit)), _) => unit,
            _ => TimeUnit::Nanoseconds,
        };
        let parts = cell.scaled(unit.places(), self.mark)?;
        // What is added is in the unit of the column.
        let plus = u128::from(rule.plus) * u128::from(unit.ns());
        let ns = parts.checked_mul(rule.factor.into());
        let ns = ns.and_then(|n| n.checked_add(plus));
        ns.and_then(|ns| u64::try_from(ns).ok())
            .ok_or("is too large")
    }

    /// The kind of request; `None` for rows that are none.
    fn kind(&self, cells: &Cells<'_>) -> Result<Option<EventKind>, &'static str> {
        let cell = self.cell(ColumnRole::Op, cells);
        let rule = self.rule(ColumnRole::Op).ok_or(NULL)?;
        let number = cell.whole(self.mark).ok();
        let found = match cell {
            Cell::Text(text) => rule.kind(text, number),
            Cell::Null => rule.kind(b"", None),
            other => number
                .and_then(|n| rule.kind(n.to_string().as_bytes(), Some(n)))
                .or(rule.kind(other.text().as_bytes(), None)),
        };
        found.ok_or(match cell {
            Cell::Null => NULL,
            _ if number.is_some() => NO_WORD,
            _ => NO_KIND,
        })
    }

    /// The bytes of an address, a size or an end.
    fn bytes(&self, role: ColumnRole, cells: &Cells<'_>) -> Result<u64, &'static str> {
        let rule = self.rule(role).ok_or(NULL)?;
        let cell = self.cell(role, cells);
        let bytes = self.whole(rule, cell).and_then(|n| rule.to_bytes(n));
        bytes.or_else(|why| cell.times(rule.scale().ok_or(why)?, self.mark).ok_or(why))
    }

    /// The number of an address or size.
    fn whole(&self, rule: &Rule, cell: Cell<'_>) -> Result<u64, &'static str> {
        match (rule.unit, cell) {
            (Some(ColumnUnit::Hex), Cell::Text(text)) => {
                let digits = text.strip_prefix(b"0x").unwrap_or(text);
                Number::parse(&[b"0x", digits].concat(), self.mark)?.whole()
            }
            (_, cell) => cell.whole(self.mark).or_else(|why| match cell {
                Cell::Text(text) => short_size(text).ok_or(why),
                _ => Err(why),
            }),
        }
    }

    /// A flag of writes.
    fn flag(&self, role: ColumnRole, cells: &Cells<'_>) -> Result<bool, &'static str> {
        if self.rule(role).is_none() {
            return Ok(false);
        }
        let is = |text: &[u8], words: [&str; 3]| {
            let same = |word: &&str| text.eq_ignore_ascii_case(word.as_bytes());
            words.iter().any(same)
        };
        match self.cell(role, cells) {
            Cell::Null => Ok(false),
            Cell::Text(text) if is(text, ["true", "yes", role.key()]) => Ok(true),
            Cell::Text(text) if is(text, ["false", "no", ""]) => Ok(false),
            cell => match cell.whole(self.mark) {
                Ok(0) => Ok(false),
                Ok(1) => Ok(true),
                _ => Err("is no flag"),
            },
        }
    }

    fn stream(&mut self, cells: &Cells<'_>) -> Result<u32, &'static str> {
        let rule = self.rule(ColumnRole::Volume);
        if rule.is_none_or(|rule| rule.constant.is_some()) {
            return Ok(0);
        }
        let cell = cells[ColumnRole::Volume as usize];
        let text;
        let name = match cell {
            Cell::Text(name) => name,
            Cell::Null => return Err(NULL),
            other => {
                text = other.text();
                text.as_bytes()
            }
        };
        self.volumes.stream(name)
    }

    /// Pushes the request of a row.
    ///
    /// # Errors
    /// Which value is wrong, and why.
    pub fn push(
        &mut self,
        cells: Cells<'_>,
        sink: &mut RequestSink<'_>,
    ) -> Result<(), (ColumnRole, &'static str)> {
        let at = |role: ColumnRole| move |why| (role, why);
        let Some(mut kind) = self.kind(&cells).map_err(at(ColumnRole::Op))? else {
            self.skipped += 1;
            return Ok(());
        };
        let flag = |role: ColumnRole| self.flag(role, &cells).map_err(at(role));
        let (fua, preflush) = (flag(ColumnRole::Fua)?, flag(ColumnRole::Preflush)?);
        if kind.op == Some(Op::Write) {
            (kind.fua, kind.flush) = (kind.fua | fua, kind.flush | preflush);
        }
        let time = match self.timed() {
            true => self.time(&cells).map_err(at(ColumnRole::Time))?,
            false => sink.intake.counts.requests * UNTIMED_NS,
        };
        // A flush has no address, whatever stands there.
        let placed = match kind.op {
            None => None,
            Some(_) => Some(self.extent(cells)?),
        };
        let stream = self.stream(&cells).map_err(at(ColumnRole::Volume))?;
        let late = at(match self.timed() {
            true => ColumnRole::Time,
            false => ColumnRole::Offset,
        });
        let extent = placed.map(|(extent, _)| extent);
        block_event::push(kind, extent, time, stream, sink).map_err(late)?;
        sink.count_unaligned(placed.is_some_and(|(_, rounded)| rounded));
        Ok(())
    }

    fn extent(&self, cells: Cells<'_>) -> Result<(Extent, bool), (ColumnRole, &'static str)> {
        let at = |role: ColumnRole| move |why| (role, why);
        let bytes = |role: ColumnRole| self.bytes(role, &cells).map_err(at(role));
        let (start, told) = (bytes(ColumnRole::Offset)?, bytes(ColumnRole::Size)?);
        let rule = self.rule(ColumnRole::Size);
        let size = rule.map_or(Ok(told), |rule| rule.size(start, told));
        let placed = extent::from_bytes(start, size.map_err(at(ColumnRole::Size))?);
        placed.map_err(|fault| match fault {
            ExtentFault::Start(why) => (ColumnRole::Offset, why),
            ExtentFault::Length(why) => (ColumnRole::Size, why),
        })
    }

    /// The numbers of a row, for plausibility. `None` if one of them is no number.
    pub fn numbers(&self, cells: Cells<'_>) -> Option<RowNumbers> {
        self.kind(&cells).ok()??.op?;
        let time = self.cell(ColumnRole::Time, &cells);
        let stamp = match self.rule(ColumnRole::Time) {
            None => 0,
            Some(rule) if matches!(rule.unit, Some(ColumnUnit::Date(_))) => {
                u128::from(self.time(&cells).ok()?) * 1_000_000_000
            }
            Some(rule) => {
                let stamp = time.scaled(9, self.mark).ok()?;
                stamp.checked_mul(rule.factor.into())?
            }
        };
        let (offset, size) = (self.rule(ColumnRole::Offset)?, self.rule(ColumnRole::Size)?);
        let start = self.bytes(ColumnRole::Offset, &cells).ok()?;
        let told = self.bytes(ColumnRole::Size, &cells).ok()?;
        let rounded = |role: ColumnRole| self.cell(role, &cells).is_rounded(self.mark);
        let volume = cells[ColumnRole::Volume as usize];
        let volume = self.rule(ColumnRole::Volume).map(|_| volume);
        Some(RowNumbers {
            stamp,
            fraction: time.fraction(self.mark),
            rounded: rounded(ColumnRole::Time) || rounded(ColumnRole::Offset),
            start: u128::from(start / offset.bytes()),
            length: u128::from(size.size(start, told).ok()? / size.bytes()),
            volume: volume.filter(|cell| *cell != Cell::Null).map(volume_number),
        })
    }
}

/// The number of a volume, or one above all numbers for its name.
fn volume_number(cell: Cell<'_>) -> u64 {
    const NAMES: u64 = 1 << 63;
    let step = |hash, byte: &u8| mix64(hash ^ u64::from(*byte));
    let hash = |text: &[u8]| text.iter().fold(0, step);
    cell.whole(b'.').unwrap_or_else(|_| match cell {
        Cell::Text(text) => NAMES | hash(text),
        other => NAMES | hash(other.text().as_bytes()),
    })
}
