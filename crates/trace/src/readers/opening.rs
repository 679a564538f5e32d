//! The opening of a trace in numbers: what its columns hold if they are those of a format.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::columns::{Holds, TraceColumn};
use super::shape::fits;
use super::verdict::Load;
use super::{FormatInfo, Sample};
pub(super) use crate::mapping::guess::most;
use crate::mapping::row::RowNumbers;
use crate::text::spelling::Number;
use crate::text::unusual::usual;
use crate::time_unit::TimeUnit;

/// Parts of a unit of time that are kept: every digit that a reader uses.
const PARTS: u128 = 1_000_000_000;
/// Digits of a time that `trace convert --to disksim` writes behind the point: every ns.
const WRITTEN_DIGITS: usize = 6;

/// First and last second since 1970 that a recorder may have had: 1990 to 2040.
const DATES: [u128; 2] = [631_152_000, 2_208_988_800];
/// Seconds from 1601, where the times of Windows begin, to 1970.
const WINDOWS: u128 = 11_644_473_600;

/// The numbers in the opening of a trace, read with the columns of one format.
pub(crate) struct Opening {
    /// The times in billionths of their unit, in order of time.
    stamps: Vec<u128>,
    /// Requests.
    pub requests: usize,
    /// Has every time as many digits behind the point as the program writes itself?
    pub written_digits: bool,
    /// Times with a point and nothing but zeros behind it.
    whole_reals: usize,
    /// Sum of the lengths, in the unit of the column.
    lengths: u128,
    /// Lengths below 512 of that unit.
    pub small: usize,
    /// Byte behind the highest address.
    end: u128,
    /// Bytes of one unit of the columns of addresses and lengths.
    units: [u128; 2],
    /// Rows whose address is a multiple of 512, and the length too if it has the same unit.
    multiples: usize,
    /// The first address.
    first: u128,
    /// Are there others?
    several: bool,
    /// Does a request begin where the one before it ends?
    sequential: bool,
    /// Is every length above the one before?
    rising: bool,
}

/// Bytes of one unit of an address or length.
fn bytes_of(holds: Holds) -> Option<u128> {
    match holds {
        Holds::Sector | Holds::Sectors => Some(512),
        Holds::Offset | Holds::Bytes => Some(1),
        _ => None,
    }
}

/// A number with a point or, where that cannot be, a comma in front of its fraction.
fn number(text: &[u8]) -> Result<Number, &'static str> {
    Number::parse(text, b'.').or_else(|_| Number::parse(text, b','))
}

/// A time in billionths of its unit, and its digits behind the point.
fn stamp(text: &[u8]) -> Option<(u128, usize)> {
    let point = memchr::memchr(b'.', text);
    let stamp = number(text).and_then(|number| number.scaled(9));
    Some((stamp.ok()?, point.map_or(0, |at| text.len() - at - 1)))
}

fn whole(text: &[u8]) -> Option<u128> {
    let whole = number(text).and_then(Number::whole);
    whole.ok().map(u128::from)
}

/// Index of the first column that `wanted` holds for.
fn place(info: &FormatInfo, wanted: impl Fn(&TraceColumn) -> bool) -> Option<usize> {
    info.columns.iter().position(wanted)
}

/// The lines of a sample that have the columns of a format, in any spelling.
fn lines<'a>(info: &'a FormatInfo, sample: &'a Sample<'_>) -> impl Iterator<Item = Cow<'a, [u8]>> {
    sample
        .lines
        .iter()
        .filter_map(|line| match fits(info, line) {
            true => Some(Cow::Borrowed(*line)),
            false => usual(info, line)
                .filter(|line| fits(info, line))
                .map(Cow::Owned),
        })
}

/// The numbers of a column.
fn numbers(info: &FormatInfo, sample: &Sample<'_>, column: usize) -> Vec<u128> {
    let number = |line: Cow<'_, [u8]>| whole(info.separator.split(&line).nth(column)?);
    lines(info, sample).filter_map(number).collect()
}

/// The sources of the requests of a sample, if they have numbers.
fn streams(info: &FormatInfo, sample: &Sample<'_>) -> Vec<u128> {
    let column = place(info, |c| matches!(c.holds, Holds::Stream));
    column.map_or(Vec::new(), |column| numbers(info, sample, column))
}

impl Opening {
    /// The opening `sample` with the columns of `info`; `None` if they do not say when, where and how much.
    pub fn of(info: &FormatInfo, sample: &Sample<'_>) -> Option<Opening> {
        let time = place(info, TraceColumn::is_time)?;
        let start = place(info, |c| matches!(c.holds, Holds::Sector | Holds::Offset))?;
        let length = place(info, |c| matches!(c.holds, Holds::Sectors | Holds::Bytes))?;
        let unit = |column: usize| bytes_of(info.columns[column].holds);
        let mut written = true;
        let numbers = lines(info, sample).filter_map(|line| {
            let field = |column: usize| info.separator.split(&line).nth(column);
            let number = |column: usize| whole(field(column)?);
            // The reader says what is wrong with other lines.
            let (stamp, digits) = stamp(field(time)?)?;
            let (start, length) = (number(start)?, number(length)?);
            written &= digits == WRITTEN_DIGITS;
            // Tables that keep whole numbers as real ones have one such digit.
            let real = digits == 1;
            Some(RowNumbers {
                stamp,
                real,
                start,
                length,
            })
        });
        let opening = Opening::of_rows(numbers, [unit(start)?, unit(length)?])?;
        Some(Opening {
            written_digits: written,
            ..opening
        })
    }

    /// The opening of a table with these rows, and bytes of one unit of addresses and lengths.
    pub fn of_rows(rows: impl Iterator<Item = RowNumbers>, units: [u128; 2]) -> Option<Opening> {
        let mut opening = Opening {
            stamps: Vec::new(),
            requests: 0,
            written_digits: false,
            whole_reals: 0,
            lengths: 0,
            small: 0,
            end: 0,
            units,
            multiples: 0,
            first: 0,
            several: false,
            sequential: false,
            rising: true,
        };
        let (mut last_end, mut last_length) = (None, None);
        for RowNumbers {
            stamp,
            real,
            start,
            length,
        } in rows
        {
            let [unit, each] = opening.units;
            let multiple = start % 512 == 0 && (unit != each || length % 512 == 0);
            opening.multiples += usize::from(multiple);
            opening.several |= !opening.stamps.is_empty() && start != opening.first;
            opening.first = start;
            opening.stamps.push(stamp);
            opening.whole_reals += usize::from(real && stamp % PARTS == 0);
            opening.small += usize::from(length < 512);
            opening.rising &= last_length.replace(length) < Some(length);
            opening.lengths = opening.lengths.saturating_add(length);
            let start = start.saturating_mul(unit);
            opening.sequential |= last_end == Some(start);
            let end = start.saturating_add(length.saturating_mul(each));
            last_end = Some(end);
            opening.end = opening.end.max(end);
        }
        opening.requests = opening.stamps.len();
        opening.stamps.sort_unstable();
        (opening.requests > 0).then_some(opening)
    }

    /// Do nearly all times have a fraction of zeros? Programs write whole numbers so that they keep as real ones.
    pub fn has_whole_reals(&self) -> bool {
        self.requests > 2 && most(self.whole_reals, self.requests)
    }

    /// Do the times count the lines, and the lengths rise? Then they are row numbers and times.
    pub fn has_row_numbers(&self) -> bool {
        // Lines that are no requests leave gaps.
        let whole = self.stamps.iter().all(|stamp| stamp % PARTS == 0);
        let forward = self.stamps.windows(2).all(|two| two[0] < two[1]);
        let last = self.stamps[self.requests - 1] / PARTS;
        self.requests > 2 && self.rising && whole && forward && last < 2 * self.requests as u128
    }

    /// Are nearly all lengths in bytes below a sector? They are sectors, or blocks.
    pub fn has_small_lengths(&self) -> bool {
        self.units[1] == 1 && most(self.small, self.requests)
    }

    /// The load of the opening if its times are in `unit`. The tenths at both ends do not count
    /// towards the gap, so that a single wrong time changes nothing.
    pub fn load(&self, unit: TimeUnit) -> Load {
        let (first, last) = (self.requests / 10, self.requests - 1 - self.requests / 10);
        let parts = self.stamps[last] - self.stamps[first];
        let ns = parts as f64 * unit.ns() as f64 / PARTS as f64;
        let gap_ns = (parts > 0).then(|| ns / (last - first) as f64);
        let [_, each] = self.units;
        let mean_bytes = self.lengths as f64 * each as f64 / self.requests as f64;
        Load {
            gap_ns,
            bytes_per_s: gap_ns.map(|gap| mean_bytes / gap * 1e9),
            mean_bytes,
            end_byte: self.end as f64,
        }
    }

    /// May addresses that the format has in sectors be bytes? Not if requests follow each other in sectors
    /// while their lengths are in bytes.
    pub fn may_be_bytes(&self) -> bool {
        let [unit, each] = self.units;
        let follow = self.sequential && unit != each;
        unit > 1 && most(self.multiples, self.requests) && self.several && !follow
    }

    /// Year of the middle request, if its time in `unit` is a date.
    pub fn year(&self, unit: TimeUnit) -> Option<u128> {
        year(self.stamps[self.requests / 2], unit)
    }
}

/// Year of a time in billionths of `unit`, if it is a date of 1990 to 2040. Units of 100 ns may count from
/// 1601, as Windows has it.
fn year(stamp: u128, unit: TimeUnit) -> Option<u128> {
    let seconds = (stamp / PARTS).checked_mul(u128::from(unit.ns()))? / 1_000_000_000;
    let since_1970 = match unit {
        TimeUnit::HundredNanoseconds if seconds > WINDOWS => seconds - WINDOWS,
        _ => seconds,
    };
    let within = DATES[0] <= since_1970 && since_1970 < DATES[1];
    within.then_some(1970 + since_1970 / 31_556_952)
}

/// Does the column of the source of requests hold dates that go forward? Then the columns are those of
/// another format: no recorder numbers its devices so.
pub(super) fn streams_are_dates(info: &FormatInfo, sample: &Sample<'_>) -> bool {
    let streams = streams(info, sample);
    let date = |&stream: &u128| {
        let stamp = stream.saturating_mul(PARTS);
        TimeUnit::all().any(|unit| year(stamp, unit).is_some())
    };
    streams.first() < streams.last() && streams.is_sorted() && streams.iter().all(date)
}

/// The column that should count, and does not.
pub(super) fn counter_that_does_not(
    info: &FormatInfo,
    sample: &Sample<'_>,
) -> Option<&'static str> {
    let column = place(info, |c| matches!(c.holds, Holds::Counter))?;
    let numbers = numbers(info, sample, column);
    let steps = numbers
        .windows(2)
        .filter(|two| two[1] == two[0] + 1)
        .count();
    let counts = numbers.len() < 3 || most(steps, numbers.len() - 1);
    (!counts).then_some(info.columns[column].name)
}

/// Is the source of nearly every request a new one? Then its column counts or tells the time, and is no source.
pub(super) fn streams_are_new(info: &FormatInfo, sample: &Sample<'_>) -> bool {
    let streams = streams(info, sample);
    let counts = streams.first() <= Some(&1) && streams.windows(2).all(|two| two[1] == two[0] + 1);
    let different: BTreeSet<&u128> = streams.iter().collect();
    let rises = streams.len() > 4 && streams.windows(2).all(|two| two[0] < two[1]);
    // Recorders number no devices by the million; tables have addresses so high.
    let huge = streams.iter().all(|&stream| stream >= 1 << 20);
    let many = streams.len() >= FEW || streams.len() > 2 && (counts || huge) || rises;
    most(different.len(), streams.len()) && many
}

/// Do the times go forward, but for a third of the steps at most? Response times do not.
pub(super) fn goes_forward(info: &FormatInfo, sample: &Sample<'_>) -> bool {
    let Some(time) = place(info, TraceColumn::is_time) else {
        return true;
    };
    let time_of = |line: Cow<'_, [u8]>| stamp(info.separator.split(&line).nth(time)?);
    let stamps: Vec<u128> = lines(info, sample)
        .filter_map(time_of)
        .map(|time| time.0)
        .collect();
    let falls = stamps.windows(2).filter(|two| two[1] < two[0]).count();
    stamps.len() < FEW || 3 * falls <= stamps.len()
}

/// Requests below which an opening says little.
pub(super) const FEW: usize = 16;
