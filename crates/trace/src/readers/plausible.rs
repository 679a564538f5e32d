//! Choosing among the readings that the columns of a trace allow.
//!
//! Some formats differ in nothing but their units, and many files have columns of a format with times in
//! another unit. The load that the opening of the file would be tells most of them apart.

use super::opening::{FEW, Load, Opening};
use super::table::Holds;
use super::{FormatInfo, Sample};
use crate::extent::MAX_BYTES;
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
}

impl Reading {
    /// As `format` says.
    pub fn certain(format: &'static FormatInfo) -> Reading {
        Reading {
            format,
            time_unit: None,
            format_doubt: None,
            time_doubt: None,
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
    let opening = Opening::of(format, sample);
    let bytes = opening.is_some_and(|o| o.requests >= FEW && o.may_be_bytes());
    reading.format_doubt = bytes.then(|| {
        format!(
            "every address is a multiple of 512, and `{}` has sectors; if they are bytes, divide them by \
             512 first",
            format.name
        )
    });
    reading
}

/// Which unit the times of a trace have whose format is known: `named` by the user, or told by its columns.
pub(super) fn settle_unit(mut reading: Reading, named: bool, sample: &Sample<'_>) -> Reading {
    let format = reading.format;
    let Some(native) = Candidate::of(format, None, sample) else {
        return reading;
    };
    let opening = &native.opening;
    if opening.requests < 2 || opening.year(native.unit).is_some() {
        return reading;
    }
    let name = format.name;
    if let Some((unit, year)) = dated(&native) {
        let (are, what) = if named {
            ("may be", format!("--time-unit {unit} reads them so"))
        } else {
            (
                "are taken for",
                format!("--time-unit {} keeps to the format", native.unit),
            )
        };
        reading.time_doubt = Some(format!(
            "the times {are} dates of {year} in {unit}; in {}, the unit of {name}, they would give {}; {what}",
            native.unit,
            native.load.text()
        ));
        reading.time_unit = (!named).then_some(unit);
        return reading;
    }
    // Whole numbers of ns are the unit of simulators, and whoever writes a trace for them has another one.
    let fast = native.unit == TimeUnit::Nanoseconds && native.load.is_fast();
    let odd = opening.requests >= FEW && native.load.is_odd();
    if !named && (fast || odd) {
        let others = TimeUnit::all().filter(|&unit| unit != native.unit);
        let others: Vec<String> = others.map(|unit| unit.to_string()).collect();
        reading.time_doubt = Some(format!(
            "taken for {name}, whose times are in {}: {}; if they are in another unit, --time-unit ({}) \
             says so, or --format names the right format",
            native.unit,
            native.load.text(),
            others.join(", ")
        ));
    }
    reading
}

/// The unit in which the times are dates with a plausible load, and their year.
fn dated(native: &Candidate) -> Option<(TimeUnit, u128)> {
    TimeUnit::all().find_map(|unit| {
        let year = native.opening.year(unit)?;
        let load = native.opening.load(unit);
        let slow = load.gap_ns.is_some_and(|gap| gap > LONGEST_GAP_OF_DATES_NS);
        (!slow && load.verdict() != Verdict::Absurd).then_some((unit, year))
    })
}
