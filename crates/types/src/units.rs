//! Sizes and times as people write them: always with a unit.

use std::fmt;

/// Why a size or a time was refused. Names the text and what would be right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitError {
    /// The text that was given.
    pub text: String,
    /// The fault and the allowed values.
    pub reason: String,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.text, self.reason)
    }
}

impl std::error::Error for UnitError {}

fn refuse<T>(text: &str, reason: impl Into<String>) -> Result<T, UnitError> {
    Err(UnitError {
        text: text.to_owned(),
        reason: reason.into(),
    })
}

/// Splits `12.5us` into the digits and the unit behind them.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// Why a decimal number in some unit is no whole number of the smallest unit.
enum Inexact {
    NoNumber,
    TooFine,
    TooLarge,
}

/// `digits`, which may have a fraction, times ten to the power of `exponent`.
fn scaled(digits: &str, exponent: u32) -> Result<u64, Inexact> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > exponent as usize {
        return Err(Inexact::TooFine);
    }
    let number = format!("{whole}{fraction}").parse::<u64>();
    let number = number.map_err(|_| Inexact::NoNumber)?;
    let factor = 10u64.pow(exponent - fraction.len() as u32);
    number.checked_mul(factor).ok_or(Inexact::TooLarge)
}

/// A number of bytes. Binary units only: `4k` = `4KiB` = 4096.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ByteSize(pub u64);

const SIZE_UNITS: &str = "B, k or KiB, m or MiB, g or GiB, t or TiB";
const NO_SIZE: &str = "a size is a whole number and a unit, such as `16MiB`";

impl ByteSize {
    /// Reads `16MiB`, `4k`, `512B`; units are binary and case is ignored.
    ///
    /// # Errors
    /// No unit, an unknown or a decimal unit (`MB`), a fraction, or more than 2^64 bytes.
    pub fn parse(text: &str) -> Result<ByteSize, UnitError> {
        let (digits, unit) = split(text);
        let factor: u64 = match unit.to_ascii_lowercase().as_str() {
            "" if !digits.is_empty() => {
                return refuse(text, format!("a size needs a unit ({SIZE_UNITS})"));
            }
            "b" => 1,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            "t" | "tib" => 1 << 40,
            "kb" | "mb" | "gb" | "tb" => {
                let binary = format!("{}iB", unit[..1].to_uppercase());
                return refuse(
                    text,
                    format!("decimal units are not used here; did you mean `{digits}{binary}`?"),
                );
            }
            _ if digits.is_empty() => return refuse(text, NO_SIZE),
            _ => return refuse(text, format!("unknown unit of size; known: {SIZE_UNITS}")),
        };
        match digits.parse::<u64>() {
            Ok(n) => match n.checked_mul(factor) {
                Some(bytes) => Ok(ByteSize(bytes)),
                None => refuse(text, "more than 2^64 bytes"),
            },
            Err(_) => refuse(text, NO_SIZE),
        }
    }
}

impl fmt::Display for ByteSize {
    /// The largest binary unit that divides the size: `16MiB`, `4KiB`, `513B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if self.0 != 0 && self.0.is_multiple_of(1 << shift) {
                return write!(f, "{}{unit}", self.0 >> shift);
            }
        }
        write!(f, "{}B", self.0)
    }
}

/// A span of time in picoseconds: bus times per byte are fractions of a nanosecond.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Picos(pub u64);

const TIME_UNITS: &str = "ps, ns, us, ms, s";
const NO_TIME: &str = "a time is a number and a unit, such as `25us`";

impl Picos {
    /// Reads `25us`, `0.83ns`, `1.5ms`, or `0` (the only number that needs no unit).
    ///
    /// # Errors
    /// No unit, an unknown unit, finer than one picosecond, or more than 2^64 ps (213 days).
    pub fn parse(text: &str) -> Result<Picos, UnitError> {
        let (digits, unit) = split(text);
        if unit.is_empty() && digits.parse::<u64>() == Ok(0) {
            return Ok(Picos(0));
        }
        let exponent: u32 = match unit.to_ascii_lowercase().as_str() {
            "" if !digits.is_empty() => {
                return refuse(text, format!("a time needs a unit ({TIME_UNITS})"));
            }
            "ps" => 0,
            "ns" => 3,
            "us" => 6,
            "ms" => 9,
            "s" => 12,
            _ if digits.is_empty() => return refuse(text, NO_TIME),
            _ => return refuse(text, format!("unknown unit of time; known: {TIME_UNITS}")),
        };
        match scaled(digits, exponent) {
            Ok(ps) => Ok(Picos(ps)),
            Err(Inexact::NoNumber) => refuse(text, NO_TIME),
            Err(Inexact::TooFine) => refuse(text, "finer than one picosecond"),
            Err(Inexact::TooLarge) => refuse(text, "more than 2^64 picoseconds"),
        }
    }

    /// The time of `count` units of this length, rounded up to a nanosecond.
    #[inline]
    pub const fn times(self, count: u64) -> crate::Nanos {
        match self.0.checked_mul(count) {
            Some(all) => crate::Nanos(all.div_ceil(1000)),
            None => crate::Nanos((self.0 as u128 * count as u128).div_ceil(1000) as u64),
        }
    }
}

impl fmt::Display for Picos {
    /// The largest unit that gives a whole number, or ns with a fraction: `75us`, `0.83ns`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (exponent, unit) in [(12, "s"), (9, "ms"), (6, "us"), (3, "ns")] {
            if self.0 != 0 && self.0.is_multiple_of(10u64.pow(exponent)) {
                return write!(f, "{}{unit}", self.0 / 10u64.pow(exponent));
            }
        }
        let fraction = format!("{:03}", self.0 % 1000);
        match fraction.trim_end_matches('0') {
            "" => write!(f, "{}ns", self.0 / 1000),
            rest => write!(f, "{}.{rest}ns", self.0 / 1000),
        }
    }
}

/// Energy in picojoules, 0 to 1 J: sums over a run stay within 64 bits of nanojoules.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Energy(pub u64);

/// Units of energy and the power of ten of a picojoule that each is, largest first.
const ENERGY_UNITS: [(&str, u32); 4] = [("mJ", 9), ("uJ", 6), ("nJ", 3), ("pJ", 0)];

impl Energy {
    const MAX: Energy = Energy(1_000_000_000_000);

    /// Reads `40uJ`, `1.5nJ` or `0`.
    ///
    /// # Errors
    /// The allowed values: an energy has a known unit, is no finer than one picojoule and at most
    /// one joule.
    pub fn parse(text: &str) -> Result<Energy, String> {
        let (digits, unit) = split(text);
        if unit.is_empty() && digits == "0" {
            return Ok(Energy(0));
        }
        let known = ENERGY_UNITS.iter().find(|(name, _)| *name == unit);
        // `.5uJ` is no number here: a fraction needs a digit before it.
        let known = known.filter(|_| !digits.starts_with('.'));
        let energy = known.and_then(|&(_, exponent)| scaled(digits, exponent).ok());
        let energy = energy.map(Energy).filter(|energy| *energy <= Energy::MAX);
        energy.ok_or_else(|| {
            format!(
                "an energy is a number with a unit (pJ, nJ, uJ, mJ), `{text}` is not; at most \
                 1000mJ in whole picojoules"
            )
        })
    }
}

impl fmt::Display for Energy {
    /// In the largest unit that gives a whole number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, exponent) in ENERGY_UNITS {
            if self.0 != 0 && self.0.is_multiple_of(10u64.pow(exponent)) {
                return write!(f, "{}{unit}", self.0 / 10u64.pow(exponent));
            }
        }
        write!(f, "0pJ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(ByteSize::parse("16MiB"), Ok(ByteSize(16 << 20)));
        assert_eq!(ByteSize::parse("4k"), Ok(ByteSize(4096)));
        assert_eq!(ByteSize::parse("512b"), Ok(ByteSize(512)));
        assert_eq!(ByteSize(16 << 20).to_string(), "16MiB");
        assert_eq!(ByteSize(0).to_string(), "0B");
        let wrong = |s| ByteSize::parse(s).unwrap_err().to_string();
        assert!(wrong("16").contains("needs a unit"));
        assert!(wrong("16MB").contains("did you mean `16MiB`"));
        assert!(wrong("16 foo").contains("unknown unit"));
        assert!(wrong("1.5MiB").contains("whole number"));
        assert!(wrong("99999999999TiB").contains("2^64"));
        assert!(wrong("MiB").contains("whole number"));
        assert!(wrong("").contains("whole number"));
        assert!(wrong("-4k").contains("whole number"));
    }

    #[test]
    fn times() {
        assert_eq!(Picos::parse("25us"), Ok(Picos(25_000_000)));
        assert_eq!(Picos::parse("0.83ns"), Ok(Picos(830)));
        assert_eq!(Picos::parse("1.5ms"), Ok(Picos(1_500_000_000)));
        assert_eq!(Picos::parse("0"), Ok(Picos(0)));
        assert_eq!(
            Picos(830).times(4096),
            crate::Nanos(3400),
            "3399.68 rounded up"
        );
        for text in ["75us", "0.83ns", "2ms", "1s", "0ns"] {
            assert_eq!(Picos::parse(text).unwrap().to_string(), text);
        }
        let wrong = |s| Picos::parse(s).unwrap_err().to_string();
        assert!(wrong("25").contains("needs a unit"));
        assert!(wrong("0.0001ns").contains("finer"));
        assert!(wrong("-1us").contains("a number and a unit"));
        assert!(wrong("3 weeks").contains("unknown unit"));
    }

    #[test]
    fn energies() {
        for (text, pj, printed) in [
            ("40uJ", 40_000_000, "40uJ"),
            ("1.5nJ", 1500, "1500pJ"),
            ("0", 0, "0pJ"),
            ("0.25 mJ", 250_000_000, "250uJ"),
        ] {
            let energy = Energy::parse(text).unwrap();
            assert_eq!((energy.0, energy.to_string().as_str()), (pj, printed));
        }
        for wrong in ["5", "uJ", "-1uJ", "0.5pJ", "2000mJ", "1e3nJ", "1.nJx"] {
            assert!(Energy::parse(wrong).is_err(), "{wrong}");
        }
    }
}
