//! The opening of a trace in numbers: what its columns hold if they are those of one reading.

use std::collections::BTreeSet;

use super::verdict::{Load, LoadVerdict};
pub(super) use crate::mapping::lines::most;
use crate::time_unit::TimeUnit;

/// Parts of a unit of time that are kept: every digit that a reader uses.
const PARTS: u128 = 1_000_000_000;
/// Digits of a time that `trace convert --to disksim` writes behind the point: every ns.
const WRITTEN_DIGITS: usize = 6;
/// Rows below which nothing follows from what all of them have in common.
const TELLING: usize = 3;
/// Requests below which a load says little.
pub(super) const FEW: usize = 16;

/// First and last second since 1970 that a recorder may have had: 1990 to 2040.
const DATES: [u128; 2] = [631_152_000, 2_208_988_800];
/// Seconds from 1601, where the times of Windows begin, to 1970.
const WINDOWS: u128 = 11_644_473_600;

/// The numbers in the opening of a trace under one reading.
#[derive(Clone, Default, Debug)]
pub(crate) struct Opening {
    /// The times in billionths of their unit, in order of time.
    stamps: Vec<u128>,
    /// Requests whose time is before that of the one in front.
    backward: usize,
    /// Requests.
    pub requests: usize,
    /// Has every time as many digits behind its mark as the program writes itself?
    pub written_digits: bool,
    /// Times with a mark and nothing but one zero behind it.
    whole_reals: usize,
    /// Has a time a fraction?
    fractions: bool,
    /// Lengths that are multiples of 512.
    long_multiples: usize,
    /// Lengths that are one below a multiple of eight.
    one_less: usize,
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
    /// Rows of bytes that are whole sectors.
    whole_sectors: usize,
    /// The first address.
    first: u128,
    /// Are there others?
    several: bool,
    /// Does a request begin where the one before it ends?
    sequential: bool,
    /// Is every length above the one before?
    rising: bool,
    /// Rows with numbers that have lost digits.
    rounded: usize,
    /// Different volumes, and whether they are dates that go forward.
    pub volumes: usize,
    volumes_are_dates: bool,
}

impl Oddity {
    /// Are the units of the columns others, rather than the columns?
    pub fn is_of_units(self) -> bool {
        use Oddity::{Backward, Long, OneAddress, Rounded, RowNumbers, Volumes};
        !matches!(
            self,
            Volumes | RowNumbers | Backward | Long | Rounded | OneAddress
        )
    }
}

/// The numbers of a row.
#[derive(Clone, Copy)]
pub(crate) struct RowNumbers {
    /// The time in billionths of its unit, and the digits of its fraction.
    pub stamp: u128,
    pub fraction: usize,
    /// Address and size in the units of their columns.
    pub start: u128,
    pub length: u128,
    pub volume: Option<u64>,
    /// Are digits of the time or the address lost?
    pub rounded: bool,
}

/// What speaks against a reading besides its load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Oddity {
    /// The source of nearly every request is a new one: its column counts, or tells the time, or is of no use.
    Volumes,
    /// The times count the lines: row numbers do.
    RowNumbers,
    /// All numbers that are taken for sectors may be bytes.
    Bytes,
    /// The times go back in more than a third of the lines: response times do.
    Backward,
    /// No host asks for that much at once.
    Long,
    /// Numbers are spelled with few digits and an exponent: the others are lost.
    Rounded,
    /// All requests are at one address: it is in another column.
    OneAddress,
    /// Large sizes in sectors are multiples of 512: bytes.
    LongSectors,
    /// Nearly all lengths in bytes are below a sector: sectors, or blocks.
    Short,
    /// Less than half of the requests in bytes are whole sectors.
    Unaligned,
    /// Nearly all lengths are one below a multiple of 4 KiB: NVMe counts so.
    OneLess,
    /// No time has a fraction, where the format has whole units with one.
    WholeTimes,
}

impl Opening {
    /// The opening of a table with these rows, and bytes of one unit of addresses and lengths.
    pub fn of_rows(rows: impl Iterator<Item = RowNumbers>, units: [u128; 2]) -> Option<Opening> {
        let mut opening = Opening {
            units,
            rising: true,
            written_digits: true,
            ..Opening::default()
        };
        let (mut last_end, mut last_length, mut last_stamp) = (None, None, 0);
        let mut volumes = Vec::new();
        for row in rows {
            let [unit, each] = opening.units;
            let multiple = row.start % 512 == 0 && (unit != each || row.length % 512 == 0);
            let whole = row.start.saturating_mul(unit) % 512 == 0
                && row.length.saturating_mul(each) % 512 == 0;
            opening.whole_sectors += usize::from(whole);
            opening.multiples += usize::from(multiple);
            opening.several |= !opening.stamps.is_empty() && row.start != opening.first;
            opening.first = row.start;
            opening.backward += usize::from(row.stamp < last_stamp);
            last_stamp = row.stamp;
            opening.stamps.push(row.stamp);
            opening.written_digits &= row.fraction == WRITTEN_DIGITS;
            opening.whole_reals += usize::from(row.fraction == 1 && row.stamp % PARTS == 0);
            opening.fractions |= row.fraction > 0;
            opening.long_multiples += usize::from(row.length % 512 == 0);
            opening.one_less += usize::from(row.length % 8 == 7);
            opening.small += usize::from(row.length < 512);
            opening.rounded += usize::from(row.rounded);
            opening.rising &= last_length.replace(row.length) < Some(row.length);
            opening.lengths = opening.lengths.saturating_add(row.length);
            let start = row.start.saturating_mul(unit);
            opening.sequential |= last_end == Some(start);
            let end = start.saturating_add(row.length.saturating_mul(each));
            last_end = Some(end);
            opening.end = opening.end.max(end);
            volumes.extend(row.volume);
        }
        opening.requests = opening.stamps.len();
        opening.stamps.sort_unstable();
        opening.volumes_are_dates = volumes.first() < volumes.last()
            && volumes.is_sorted()
            && volumes.iter().all(|&volume| is_date(volume));
        opening.volumes = volumes.into_iter().collect::<BTreeSet<u64>>().len();
        (opening.requests > 0).then_some(opening)
    }

    /// Do nearly all times have a fraction of zeros? Programs write whole numbers so that they keep as real ones.
    pub fn has_whole_reals(&self) -> bool {
        self.requests >= TELLING && most(self.whole_reals, self.requests)
    }

    /// Do the times count the lines? Lines that are no requests leave gaps, which rising lengths make up for.
    fn has_row_numbers(&self) -> bool {
        let whole = !self.fractions && self.stamps.iter().all(|stamp| stamp % PARTS == 0);
        let forward = self.stamps.windows(2).all(|two| two[0] < two[1]);
        let (first, last) = (self.stamps[0], self.stamps[self.requests - 1]);
        let (first, last) = (first / PARTS, last / PARTS);
        let rows = self.requests as u128;
        let counts = first < 2 && last < first + rows;
        whole && forward && (counts || self.rising && last < 2 * rows)
    }

    /// What speaks against the reading, the weightiest first.
    pub fn oddity(&self) -> Option<Oddity> {
        let [unit, each] = self.units;
        let load = self.load(TimeUnit::Nanoseconds);
        let unaligned = unit == 1 && 2 * self.whole_sectors < self.requests;
        let sources = self.volumes > 0 && most(self.volumes, self.requests);
        let short = each == 1 && most(self.small, self.requests);
        let one_less = each == 512 && most(self.one_less, self.requests);
        let long = each == 512 && load.is_long() && most(self.long_multiples, self.requests);
        let odd = [
            (sources, Oddity::Volumes),
            (most(self.rounded, self.requests), Oddity::Rounded),
            (load.is_longest(), Oddity::Long),
            (!self.several && self.requests >= FEW, Oddity::OneAddress),
            (short, Oddity::Short),
            (self.has_row_numbers(), Oddity::RowNumbers),
            (3 * self.backward > self.requests, Oddity::Backward),
            (unaligned, Oddity::Unaligned),
            (one_less, Oddity::OneLess),
            (self.requests >= FEW && self.may_be_bytes(), Oddity::Bytes),
            (long, Oddity::LongSectors),
        ];
        let few = [Oddity::Long, Oddity::Short, Oddity::OneLess];
        let telling = |odd: &Oddity| self.requests >= TELLING || few.contains(odd);
        let mut found = odd.into_iter().filter(|odd| odd.0).map(|odd| odd.1);
        found.find(telling)
    }

    /// Are there several times in `unit`, all whole and no dates?
    pub fn has_whole_times(&self, unit: TimeUnit) -> bool {
        let several = self.stamps[0] < self.stamps[self.requests - 1];
        self.requests >= TELLING && several && !self.fractions && self.year(unit).is_none()
    }

    /// The verdict on the reading if its times are in `unit`.
    pub fn verdict(&self, unit: TimeUnit) -> LoadVerdict {
        let odd = match self.oddity() {
            Some(_) => LoadVerdict::Unlikely,
            None => LoadVerdict::Plausible,
        };
        self.load(unit).verdict().max(odd)
    }

    /// Does the column of the source of requests hold dates that go forward? Then the columns are those of
    /// another format: no recorder numbers its devices so.
    pub fn has_dates_for_volumes(&self) -> bool {
        self.volumes_are_dates
    }

    /// Do the times go forward, but for a third of the steps at most? Response times do not.
    pub fn goes_forward(&self) -> bool {
        self.requests < FEW || 3 * self.backward <= self.requests
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
    fn may_be_bytes(&self) -> bool {
        let [unit, each] = self.units;
        let follow = self.sequential && unit != each;
        unit > 1 && most(self.multiples, self.requests) && self.several && !follow
    }

    /// Can the times in `unit` be told in ns?
    pub fn fits(&self, unit: TimeUnit) -> bool {
        let last = self.stamps[self.requests - 1] / PARTS;
        last <= u128::from(u64::MAX / unit.ns())
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

/// Is a whole number a date in any unit?
fn is_date(number: u64) -> bool {
    let stamp = u128::from(number) * PARTS;
    TimeUnit::all().any(|unit| year(stamp, unit).is_some())
}
