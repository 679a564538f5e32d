//! Choosing among the readings that the columns of a trace allow.
//!
//! Some formats differ in nothing but their units, and many files have columns of a format with times in
//! another unit. The load that the opening of the file would be tells most of them apart.

use std::collections::BTreeSet;

use destage_types::HostRequest;

use super::opening::{FEW, Load, Opening, counter_that_does_not, most};
use super::table::Holds;
use super::{FormatInfo, Sample};
use crate::extent::MAX_BYTES;
use crate::mapping::Mapping;
use crate::mapping::guess::GuessedTable;
use crate::time_unit::TimeUnit;

/// How a trace is read, and what speaks for another reading.
pub(crate) struct Reading {
    pub format: &'static FormatInfo,
    /// The unit of the times, if it is not that of the format.
    pub time_unit: Option<TimeUnit>,
    /// The other format that the trace may be in.
    pub format_doubt: Option<String>,
    /// Why the times may have another unit.
    pub time_doubt: Option<String>,
    /// The mapping of a table, with all that it did not say.
    pub mapping: Option<Mapping>,
}

impl Reading {
    /// As `format` says.
    pub fn certain(format: &'static FormatInfo) -> Reading {
        Reading {
            format,
            time_unit: None,
            format_doubt: None,
            time_doubt: None,
            mapping: None,
        }
    }

    /// As a table with a mapping says.
    pub fn table(format: &'static FormatInfo, table: GuessedTable) -> Reading {
        Reading {
            time_doubt: table.doubt,
            mapping: Some(table.mapping),
            ..Reading::certain(format)
        }
    }
}

/// The verdict on a reading, the best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Verdict {
    Plausible,
    Unlikely,
    Absurd,
}

/// No storage takes more bytes per second.
const MOST_PER_S: f64 = 4e12;
/// Bytes per second above which hardly any trace was recorded.
const MANY_PER_S: f64 = 64e9;
/// Bytes per second below which nobody records a trace.
const LEAST_PER_S: f64 = 64.0;
/// Mean time between two requests above which nobody records a trace.
const LONGEST_GAP_NS: f64 = 1e12;
/// Bytes per second above which a load in ns, the unit of simulators, is hardly what a device takes.
const FAST_PER_S: f64 = 8e9;
/// Mean time below which hardly any recorder was that fast.
const SHORTEST_GAP_NS: f64 = 1e3;
/// The same of times that are dates.
const LONGEST_GAP_OF_DATES_NS: f64 = 1e10;
/// Mean length above which few workloads are.
const LONG_BYTES: f64 = (1 << 20) as f64;
/// A device that ends there is smaller than those that are traced.
const SMALL_BYTES: f64 = (64 << 20) as f64;

impl Load {
    fn verdict(&self) -> Verdict {
        let rate = self.bytes_per_s;
        let gap = self.gap_ns;
        let absurd = rate.is_some_and(|r| !(LEAST_PER_S..=MOST_PER_S).contains(&r))
            || gap.is_some_and(|gap| gap > LONGEST_GAP_NS)
            || self.end_byte > MAX_BYTES as f64;
        let unlikely = rate.is_some_and(|rate| rate > MANY_PER_S)
            || self.is_fast()
            || self.mean_bytes > LONG_BYTES
            || self.end_byte < SMALL_BYTES;
        match (absurd, unlikely) {
            (true, _) => Verdict::Absurd,
            (_, true) => Verdict::Unlikely,
            _ => Verdict::Plausible,
        }
    }

    /// Is the time between two requests too short for most recorders?
    fn is_fast(&self) -> bool {
        self.gap_ns.is_some_and(|gap| gap < SHORTEST_GAP_NS)
    }

    /// Is there no such load, or hardly any, because of the unit of the times?
    fn is_odd(&self) -> bool {
        let outside = |r: f64| !(LEAST_PER_S..=MOST_PER_S).contains(&r);
        self.is_fast()
            || self.gap_ns.is_some_and(|gap| gap > LONGEST_GAP_NS)
            || self.bytes_per_s.is_some_and(outside)
    }

    fn text(&self) -> String {
        let (Some(gap), Some(rate)) = (self.gap_ns, self.bytes_per_s) else {
            return "all requests at once".to_owned();
        };
        format!("{} between two requests, {}", time(gap), per_s(rate))
    }
}

/// `value` in the largest of its units that leaves at least 1.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let fits = units.iter().rfind(|unit| value >= unit.0);
    let (size, name) = fits.unwrap_or(&units[0]);
    format!("{:.1} {name}", value / size)
}

fn time(ns: f64) -> String {
    scaled(ns, &[(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")])
}

fn per_s(bytes: f64) -> String {
    let units = [
        (1.0, "B/s"),
        (1e3, "kB/s"),
        (1e6, "MB/s"),
        (1e9, "GB/s"),
        (1e12, "TB/s"),
    ];
    scaled(bytes, &units)
}

/// One format of which the columns fit.
struct Candidate {
    format: &'static FormatInfo,
    unit: TimeUnit,
    opening: Opening,
    load: Load,
    verdict: Verdict,
}

impl Candidate {
    /// `format` with times in `unit`, if somebody said so.
    fn of(
        format: &'static FormatInfo,
        unit: Option<TimeUnit>,
        sample: &Sample<'_>,
    ) -> Option<Candidate> {
        let unit = unit.or(format.time_unit())?;
        let opening = Opening::of(format, sample)?;
        let load = opening.load(unit);
        let verdict = load.verdict();
        Some(Candidate {
            format,
            unit,
            opening,
            load,
            verdict,
        })
    }

    fn has_sectors(&self) -> bool {
        let holds = |c: &super::TraceColumn| matches!(c.holds, Holds::Sectors);
        self.format.columns.iter().any(holds)
    }

    /// Would `trace convert` have written the file like this?
    fn is_as_written(&self) -> bool {
        let whole = |c: &super::TraceColumn| matches!(c.holds, Holds::Ticks(_));
        let whole = self.format.columns.iter().any(whole);
        self.has_sectors() && (whole || self.opening.written_digits)
    }

    fn text(&self) -> String {
        let unit = if self.has_sectors() {
            "sectors"
        } else {
            "bytes"
        };
        format!(
            "{} ({}, {unit}): {}",
            self.format.name,
            self.unit,
            self.load.text()
        )
    }
}

/// The most plausible of several formats whose columns fit; `None` if there is no telling them apart.
///
/// A format that `trace convert` may have written wins, unless long requests make it absurd and
/// another format is plausible. Else the more plausible format wins, and of equals the one in
/// bytes.
pub(super) fn choose(
    formats: &[&'static FormatInfo],
    unit: Option<TimeUnit>,
    sample: &Sample<'_>,
) -> Option<Reading> {
    let candidates = formats
        .iter()
        .map(|format| Candidate::of(format, unit, sample));
    let candidates: Vec<Candidate> = candidates.collect::<Option<_>>()?;
    let best = candidates
        .iter()
        .min_by_key(|c| (c.verdict, c.has_sectors()))?;
    let written = candidates.iter().find(|c| c.is_as_written());
    let wrong = |c: &Candidate| {
        c.verdict == Verdict::Absurd
            && c.load.mean_bytes > LONG_BYTES
            && best.verdict == Verdict::Plausible
    };
    let written = written.filter(|c| !wrong(c));
    let chosen = written.unwrap_or(best);
    let others = candidates
        .iter()
        .filter(|c| c.format.name != chosen.format.name);
    let rival = others.min_by_key(|c| c.verdict)?;
    if (rival.unit, rival.has_sectors()) == (chosen.unit, chosen.has_sectors()) {
        return None;
    }
    let doubtful = rival.verdict == Verdict::Plausible || rival.verdict <= chosen.verdict;
    let mut reading = Reading::certain(chosen.format);
    reading.format_doubt = doubtful.then(|| {
        format!(
            "the columns fit two formats; read as {}; as {}; --format {} and --time-unit choose the other, \
             --format {} confirms this one",
            chosen.text(),
            rival.text(),
            rival.format.name,
            chosen.format.name
        )
    });
    Some(reading)
}

/// The only format whose columns fit.
pub(super) fn only(format: &'static FormatInfo, sample: &Sample<'_>) -> Reading {
    let mut reading = Reading::certain(format);
    if let Some(column) = counter_that_does_not(format, sample) {
        reading.format_doubt = Some(format!(
            "taken for `{}`, whose column `{column}` counts the requests, and here it does not; --trace-columns \
             says which columns hold what",
            format.name
        ));
    }
    let Some(opening) = Opening::of(format, sample) else {
        return reading;
    };
    let bytes = opening.requests >= FEW && opening.may_be_bytes();
    reading.format_doubt = bytes.then(|| {
        format!(
            "every address is a multiple of 512, and `{}` has sectors; if they are bytes, divide them by \
             512 first",
            format.name
        )
    });
    reading.format_doubt = reading.format_doubt.or_else(|| doubt_lengths(&opening));
    reading
}

/// What speaks against lengths in bytes.
pub(crate) fn doubt_lengths(opening: &Opening) -> Option<String> {
    opening.has_small_lengths().then(|| {
        format!(
            "{} of {} sizes are below 512 B, the smallest request of a device: they are rather sectors, for which \
             --trace-columns has the unit, as in size=COLUMN:sectors",
            opening.small, opening.requests
        )
    })
}

/// Which unit the times of a trace have whose format is known: `named` by the user, or told by its columns.
pub(super) fn settle_unit(mut reading: Reading, named: bool, sample: &Sample<'_>) -> Reading {
    let format = reading.format;
    let Some(Candidate {
        opening,
        unit: native,
        ..
    }) = Candidate::of(format, None, sample)
    else {
        return reading;
    };
    let load = opening.load(native);
    if opening.requests < 2 || opening.year(native).is_some() {
        return reading;
    }
    let name = format.name;
    if let Some((unit, year)) = dated(&opening) {
        let (are, what) = if named {
            ("may be", format!("--time-unit {unit} reads them so"))
        } else {
            (
                "are taken for",
                format!("--time-unit {native} keeps to the format"),
            )
        };
        reading.time_doubt = Some(format!(
            "the times {are} dates of {year} in {unit}; in {native}, the unit of {name}, they would give {}; {what}",
            load.text()
        ));
        reading.time_unit = (!named).then_some(unit);
        // The format itself has two units.
        if format
            .columns
            .iter()
            .any(|c| matches!(c.holds, Holds::Clock))
            && unit == TimeUnit::Milliseconds
        {
            reading.time_doubt = None;
        }
        return reading;
    }
    reading.time_doubt = why_odd(&opening, native).filter(|_| !named).map(|why| {
        format!(
            "taken for {name}, whose times are in {native}: {}{why}; if they are in another unit, --time-unit \
             says so{}; --format names another format",
            load.text(),
            others(&opening, native)
        )
    });
    reading
}

/// What is odd about times in a unit that nobody has stated.
fn why_odd(opening: &Opening, unit: TimeUnit) -> Option<&'static str> {
    let load = opening.load(unit);
    let rate = load.bytes_per_s;
    let absurd = rate.is_some_and(|r| !(LEAST_PER_S..=MOST_PER_S).contains(&r));
    // Whole numbers of ns are the unit of simulators, and whoever writes a trace for them has another one.
    let ns = unit == TimeUnit::Nanoseconds;
    let fast = ns && (load.is_fast() || rate.is_some_and(|rate| rate > FAST_PER_S));
    let coarse = matches!(unit, TimeUnit::Seconds | TimeUnit::Milliseconds);
    match opening.requests {
        0 | 1 => None,
        _ if coarse && opening.has_whole_reals() => Some(
            "; every time ends in .0, as where whole numbers of a finer unit were kept as real ones",
        ),
        _ if absurd || fast => Some(""),
        requests => (requests >= FEW && load.is_odd()).then_some(""),
    }
}

/// The loads in other units, as far as there could be such ones.
fn others(opening: &Opening, unit: TimeUnit) -> String {
    let plausible = TimeUnit::all().filter(|&other| other != unit && !opening.load(other).is_odd());
    let texts = plausible.map(|other| format!("{other}: {}", opening.load(other).text()));
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() {
        String::new()
    } else {
        format!(" ({})", texts.join("; "))
    }
}

/// The unit of times of a table that says none, if it is not `native`, or doubtful, and why. `documented`: `native` is
/// kept but for dates.
pub(crate) fn settle_free_unit(
    native: TimeUnit,
    opening: &Opening,
    documented: bool,
) -> Option<(TimeUnit, String)> {
    if opening.requests < 2 || opening.year(native).is_some() {
        return None;
    }
    let say = "--time-unit, or time=COLUMN:UNIT in --trace-columns, says another unit";
    if let Some((unit, year)) = dated(opening) {
        let doubt = format!("the times are taken for dates of {year} in {unit}; {say}");
        return Some((unit, doubt));
    }
    let why = why_odd(opening, native)?;
    let fine = [
        TimeUnit::Nanoseconds,
        TimeUnit::Microseconds,
        TimeUnit::Milliseconds,
        TimeUnit::Seconds,
    ];
    let better = fine
        .into_iter()
        .find(|&unit| !documented && why_odd(opening, unit).is_none());
    let unit = better.unwrap_or(native);
    let doubt = format!(
        "the times have no unit and are taken for {unit}: {}{why}; {say}{}",
        opening.load(unit).text(),
        others(opening, unit)
    );
    Some((unit, doubt))
}

/// The unit in which the times are dates with a plausible load, and their year.
fn dated(opening: &Opening) -> Option<(TimeUnit, u128)> {
    TimeUnit::all().find_map(|unit| {
        let year = opening.year(unit)?;
        let load = opening.load(unit);
        let slow = load.gap_ns.is_some_and(|gap| gap > LONGEST_GAP_OF_DATES_NS);
        (!slow && load.verdict() != Verdict::Absurd).then_some((unit, year))
    })
}

/// What speaks against the sources and addresses of the first requests of a trace.
pub(crate) fn doubt_requests(format: &FormatInfo, requests: &[HostRequest]) -> Option<String> {
    let streams: BTreeSet<u32> = requests.iter().map(|r| r.stream).collect();
    if format.volumes && requests.len() >= FEW && most(streams.len(), requests.len()) {
        return Some(format!(
            "{} requests are of {} volumes: the column of the volume rather counts or holds times; \
             --trace-columns says which columns hold what, --volumes overlay leaves the volumes out",
            requests.len(),
            streams.len()
        ));
    }
    let blocks = format
        .columns
        .iter()
        .any(|c| matches!(c.holds, Holds::Block | Holds::ListedBlock));
    let several = requests
        .iter()
        .any(|r| r.start_sector != requests[0].start_sector);
    let multiples = requests
        .iter()
        .filter(|r| r.start_sector % (8 * 512) == 0)
        .count();
    (blocks && several && requests.len() > 2 && most(multiples, requests.len())).then(|| {
        format!(
            "{multiples} of {} numbers are multiples of 512, and `{}` has numbers of 4 KiB blocks; if they are bytes, \
             divide them by 4096 first",
            requests.len(),
            format.name
        )
    })
}
