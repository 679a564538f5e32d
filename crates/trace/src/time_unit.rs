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

/// A unit, its name, the decimal places that make nanoseconds of it, and other words for it.
type UnitRow = (TimeUnit, &'static str, u32, &'static str);
#[rustfmt::skip]
const UNITS: [UnitRow; 5] = [
    (TimeUnit::Seconds, "s", 9, "sec secs seconds"),
    (TimeUnit::Milliseconds, "ms", 6, "msec msecs milliseconds"),
    (TimeUnit::Microseconds, "us", 3, "\u{b5}s \u{3bc}s usec usecs microseconds"),
    (TimeUnit::HundredNanoseconds, "100ns", 2, ""),
    (TimeUnit::Nanoseconds, "ns", 0, "nsec nsecs nanoseconds"),
];

impl TimeUnit {
    /// All units, the coarsest first.
    pub(crate) fn all() -> impl Iterator<Item = TimeUnit> {
        UNITS.into_iter().map(|row| row.0)
    }

    /// The unit of a word in small letters behind a number, or at the end of a name.
    pub(crate) fn of_word(word: &str) -> Option<TimeUnit> {
        let is = |row: &UnitRow| {
            row.1 == word || row.3.split_ascii_whitespace().any(|other| other == word)
        };
        UNITS.into_iter().find(is).map(|row| row.0)
    }

    fn row(self) -> UnitRow {
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
