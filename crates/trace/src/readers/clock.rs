//! Which unit the times of a trace have, by the load that each unit gives.

use super::Sample;
use super::candidate::Candidate;
use super::opening::{FEW, Opening};
use super::plausible::Reading;
use super::verdict::{Load, LoadVerdict};
use crate::time_unit::TimeUnit;

/// Which unit the times of a trace have whose format is known: `named` by the user, or told by its columns.
pub(super) fn settle_unit(mut reading: Reading, named: bool, sample: &Sample<'_>) -> Reading {
    let format = reading.format;
    let candidate = Candidate::of(format, None, &sample.lines, true);
    let (native, load) = (candidate.unit, candidate.load());
    let (Some(opening), Some(load)) = (candidate.opening, load) else {
        return reading;
    };
    let certain = opening.requests < 2 && format.dates.is_none();
    if certain || opening.year(native).is_some() {
        return reading;
    }
    let (name, load) = (format.name, load.text());
    if let Some((unit, year)) = dated(&opening) {
        // The format has both units (TR-3).
        let own = format.dates == Some(unit);
        reading.time_unit = (own || !named).then_some(unit);
        let (are, what) = match named {
            true => ("may be", format!("--time-unit {unit} reads them so")),
            false => (
                "are taken for",
                format!("--time-unit {native} keeps to the format"),
            ),
        };
        let doubt = format!(
            "the times {are} dates of {year} in {unit}; in {native}, the unit of {name}, they would give {load}; {what}"
        );
        reading.doubts.time = (!own).then_some(doubt);
        return reading;
    }
    let slow = || is_slow(&opening, native).then_some("");
    let Some(why) = why_odd(&opening, native).or_else(slow).filter(|_| !named) else {
        return reading;
    };
    let unit = finer(&opening).filter(|_| why == WHOLE_REALS);
    let others = others(&opening, unit.unwrap_or(native));
    reading.doubts.time = Some(match unit {
        Some(unit) => {
            reading.time_unit = Some(unit);
            format!(
                "the columns are those of {name}, but {why}: taken for {unit}; --time-unit says another one{others}"
            )
        }
        None if why == WHOLE_REALS => {
            format!("taken for {name}, but {why}; --time-unit says which{others}")
        }
        None => format!(
            "taken for {name}, whose times are in {native}: {load}; if they are in another unit, --time-unit says \
             so{others}; --format names another format"
        ),
    });
    reading
}

const WHOLE_REALS: &str =
    "every time ends in .0, as where whole numbers of a finer unit were kept as real ones";

/// What is odd about times in a unit that nobody has stated.
fn why_odd(opening: &Opening, unit: TimeUnit) -> Option<&'static str> {
    let load = opening.load(unit);
    if !opening.fits(unit) {
        return Some("");
    }
    // Whole numbers of ns are the unit of simulators, and whoever writes a trace for them has another one.
    let much = unit == TimeUnit::Nanoseconds && load.is_much();
    let coarse = matches!(unit, TimeUnit::Seconds | TimeUnit::Milliseconds);
    match opening.requests {
        0 | 1 => None,
        _ if coarse && opening.has_whole_reals() => Some(WHOLE_REALS),
        _ if load.is_outside() || much => Some(""),
        requests => (requests >= FEW && load.is_odd()).then_some(""),
    }
}

/// Are times with a fraction so far apart that a finer unit is as plausible? Without a fraction they are doubted anyway.
fn is_slow(opening: &Opening, unit: TimeUnit) -> bool {
    let finer = match unit {
        TimeUnit::Seconds => TimeUnit::Milliseconds,
        TimeUnit::Milliseconds => TimeUnit::Microseconds,
        _ => return false,
    };
    let whole = opening.has_whole_times(unit);
    opening.requests >= FEW
        && !whole
        && opening.load(unit).is_slow()
        && opening.load(finer).verdict() != LoadVerdict::Absurd
}

/// The finest unit that gives no odd load.
fn finer(opening: &Opening) -> Option<TimeUnit> {
    use TimeUnit::{Microseconds, Milliseconds, Nanoseconds, Seconds};
    let mut fine = [Nanoseconds, Microseconds, Milliseconds, Seconds].into_iter();
    fine.find(|&unit| why_odd(opening, unit).is_none())
}

/// The loads in other units, as far as there could be such ones.
fn others(opening: &Opening, unit: TimeUnit) -> String {
    let loads = TimeUnit::all().map(|unit| (unit, opening.load(unit)));
    let plausible = loads.filter(|(other, load)| *other != unit && !load.is_odd());
    let text = |(unit, load): (TimeUnit, Load)| format!("{unit}: {}", load.text());
    let texts: Vec<String> = plausible.map(text).collect();
    match texts.is_empty() {
        true => String::new(),
        false => format!(" ({})", texts.join("; ")),
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
    let slow = why_odd(opening, native).is_none();
    let why = why_odd(opening, native).or_else(|| is_slow(opening, native).then_some(""))?;
    let why = match why {
        "" => String::new(),
        why => format!("; {why}"),
    };
    let finer = finer(opening).filter(|_| !documented && !slow);
    let unit = finer.unwrap_or(native);
    let (load, others) = (opening.load(unit).text(), others(opening, unit));
    let doubt =
        format!("the times have no unit and are taken for {unit}: {load}{why}; {say}{others}");
    Some((unit, doubt))
}

/// The unit in which the times are dates with a plausible load, and their year.
fn dated(opening: &Opening) -> Option<(TimeUnit, u128)> {
    TimeUnit::all().find_map(|unit| {
        let (year, load) = (opening.year(unit)?, opening.load(unit));
        let likely = !load.is_slow_for_dates() && load.verdict() != LoadVerdict::Absurd;
        likely.then_some((unit, year))
    })
}
