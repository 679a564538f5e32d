//! The columns of formats: what they hold, for reading, for telling formats apart, and for messages.

use destage_types::Op;

use crate::mapping::rule::ColumnUnit;
use crate::text::numbers::{looks_like_decimal, looks_like_integer};
use crate::time_unit::TimeUnit;

/// One column of a format.
#[derive(Clone, Copy, Debug)]
pub struct TraceColumn {
    /// Name of the column, as messages and documentation use it.
    pub name: &'static str,
    /// The values that the column may hold, with their unit.
    pub allowed: &'static str,
    /// The meaning of its values.
    pub(crate) holds: Holds,
}

/// The columns of a format: name, what they hold, and what is allowed there.
macro_rules! columns {
    ($($name:literal: $holds:expr, $allowed:expr;)*) => {{
        #[allow(unused_imports)]
        use $crate::readers::columns::{Holds::*, TraceColumn};
        #[allow(unused_imports)]
        use $crate::time_unit::TimeUnit;
        &[$(TraceColumn { name: $name, holds: $holds, allowed: $allowed }),*]
    }};
}
pub(super) use columns;

/// The meaning of a column's values for the request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Holds {
    /// Its arrival, a whole number.
    Ticks(TimeUnit),
    /// Its arrival, a decimal number.
    Decimal(TimeUnit),
    /// Its source.
    Stream,
    /// The name of the server that is its source, and the number of the disk there.
    Host,
    Disk,
    /// The major and the minor number of the device that is its source.
    Major,
    Minor,
    /// Its kind.
    Kind(&'static [KindWord]),
    /// Its first byte, sector, or block of 4 KiB.
    Start(ColumnUnit),
    /// Its length in them.
    Length(ColumnUnit),
    /// A whole number that is not used.
    Whole,
    /// The same, one more in each line.
    Counter,
    /// A text that is not used, but must fit; the reason if it does not.
    Unused(fn(&[u8]) -> bool, &'static str),
    /// The same in a last column that a line may lack.
    Optional(fn(&[u8]) -> bool, &'static str),
    /// Only the format's own code reads it.
    Own,
    /// Its arrival in a unit that the format fixes, which only the format's own code reads.
    OwnTime(TimeUnit),
}

/// A word of fewer than eight bytes as a number, and its kind of request; `None`: the line is no request.
pub(crate) type KindWord = (u64, Option<Op>);

/// The number of a word: its bytes, the first in the lowest, and a one behind them.
pub(super) fn word_number(text: &[u8]) -> u64 {
    let byte = |n, byte: &u8| n << 8 | u64::from(*byte);
    match text.len() {
        ..8 => text.iter().rev().fold(1, byte),
        _ => 0,
    }
}

/// The kind of request of a word.
pub(crate) fn kind_of(words: &[KindWord], text: &[u8]) -> Option<Option<Op>> {
    let number = word_number(text);
    words
        .iter()
        .find(|word| word.0 == number)
        .map(|word| word.1)
}

/// The values that most formats allow in these columns.
pub(super) const OFFSET: &str = "bytes, the request ending at or below 256 TiB";
pub(super) const BYTES: &str = "bytes, 1 to 2199023255040, at most 4294967295 sectors";
pub(super) const SECTOR: &str = "sector of 512 B, the request ending at or below 256 TiB";
pub(super) const SECTORS: &str = "sectors, 1 to 4294967295";
pub(super) const SECONDS: &str = "s, digits behind the ns dropped";
/// Why the field of a kind is refused.
pub(crate) const NO_KIND: &str = "is no kind of request";
impl TraceColumn {
    /// Is it the arrival, a number of units?
    pub(crate) fn is_time(&self) -> bool {
        matches!(self.holds, Holds::Ticks(_) | Holds::Decimal(_))
    }

    /// The unit of the arrival, if the column holds that.
    pub(crate) fn time_unit(&self) -> Option<TimeUnit> {
        match self.holds {
            Holds::Ticks(unit) | Holds::Decimal(unit) | Holds::OwnTime(unit) => Some(unit),
            _ => None,
        }
    }

    /// Nanoseconds of what a reader calls a tick, which `unit` may change.
    pub(crate) fn tick_ns(&self, unit: Option<TimeUnit>) -> Option<u64> {
        match self.holds {
            Holds::Ticks(own) => Some(unit.unwrap_or(own).ns()),
            _ => None,
        }
    }

    /// Does a field look like one of the column? For telling formats apart: a number may be
    /// negative or too large here, and is refused with its reason when it is read.
    pub(super) fn fits(&self, field: &[u8]) -> bool {
        match self.holds {
            Holds::Decimal(_) => looks_like_decimal(field),
            Holds::Kind(words) => kind_of(words, field).is_some(),
            Holds::Unused(fits, _) | Holds::Optional(fits, _) => fits(field),
            Holds::Own | Holds::OwnTime(_) | Holds::Host => true,
            _ => looks_like_integer(field),
        }
    }
}
