//! The unit of a trace's times, where the user says what the file does not.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A unit of time. Simulators' traces have columns that differ in nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum TimeUnit {
    /// `s`
    Seconds,
    /// `ms`
    Milliseconds,
    /// `us`
    Microseconds,
    /// `100ns`, as Windows counts
    HundredNanoseconds,
    /// `ns`
    Nanoseconds,
}

/// Each with its name and the decimal places that make nanoseconds of it.
const UNITS: [(TimeUnit, &str, u32); 5] = [
    (TimeUnit::Seconds, "s", 9),
    (TimeUnit::Milliseconds, "ms", 6),
    (TimeUnit::Microseconds, "us", 3),
    (TimeUnit::HundredNanoseconds, "100ns", 2),
    (TimeUnit::Nanoseconds, "ns", 0),
];

impl TimeUnit {
    /// All units, the coarsest first.
    pub(crate) fn all() -> impl Iterator<Item = TimeUnit> {
        UNITS.into_iter().map(|row| row.0)
    }

    /// The unit of which this many decimal places are whole nanoseconds.
    pub(crate) fn of_places(places: u32) -> Option<TimeUnit> {
        TimeUnit::all().find(|unit| unit.places() == places)
    }

    /// The unit of this many nanoseconds.
    pub(crate) fn of_ns(ns: u64) -> Option<TimeUnit> {
        TimeUnit::all().find(|unit| unit.ns() == ns)
    }

    fn row(self) -> (TimeUnit, &'static str, u32) {
        let row = UNITS.into_iter().find(|row| row.0 == self);
        row.expect("every unit is in the list")
    }

    /// Decimal places of the unit that are whole nanoseconds.
    pub(crate) fn places(self) -> u32 {
        self.row().2
    }

    /// Nanoseconds of one unit.
    pub(crate) fn ns(self) -> u64 {
        10u64.pow(self.places())
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().1)
    }
}

impl FromStr for TimeUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<TimeUnit, String> {
        let row = UNITS.into_iter().find(|row| row.1 == text);
        let unit = row.map(|row| row.0);
        unit.ok_or_else(|| format!("`{text}` is none of the units s, ms, us, 100ns, ns"))
    }
}
