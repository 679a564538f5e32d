//! Energy of single operations.

use std::fmt;

/// Units and their picojoules, largest first.
const UNITS: [(&str, u64); 4] = [
    ("mJ", 1_000_000_000),
    ("uJ", 1_000_000),
    ("nJ", 1_000),
    ("pJ", 1),
];

/// Largest value: sums over a run stay within 64 bits of nanojoules.
const MOST: u64 = 1_000_000_000_000;

/// Energy in picojoules, 0 to 1 J.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Energy(pub u64);

impl Energy {
    /// Reads `40uJ`, `1.5nJ` or `0`.
    ///
    /// # Errors
    /// What is allowed.
    pub fn parse(text: &str) -> Result<Energy, String> {
        let wrong = || {
            format!(
                "an energy is a number with a unit (pJ, nJ, uJ, mJ), `{text}` is not; \
                     at most 1000mJ in whole picojoules"
            )
        };
        if text.trim() == "0" {
            return Ok(Energy(0));
        }
        let unit = UNITS.iter().find(|(unit, _)| text.ends_with(unit));
        let &(unit, factor) = unit.ok_or_else(wrong)?;
        let number = text[..text.len() - unit.len()].trim();
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 9 {
            return Err(wrong());
        }
        let whole: u128 = whole.parse().map_err(|_| wrong())?;
        let scale = 10u128.pow(fraction.len() as u32);
        let part: u128 = format!("0{fraction}").parse().map_err(|_| wrong())?;
        let scaled = whole
            .checked_mul(scale)
            .and_then(|n| (n + part).checked_mul(u128::from(factor)))
            .ok_or_else(wrong)?;
        match u64::try_from(scaled / scale) {
            Ok(pj) if scaled % scale == 0 && pj <= MOST => Ok(Energy(pj)),
            _ => Err(wrong()),
        }
    }

    pub(super) fn toml(self) -> String {
        format!("\"{self}\"")
    }
}

impl fmt::Display for Energy {
    /// In the largest unit that gives a whole number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |(_, factor): &&(&str, u64)| self.0.is_multiple_of(*factor);
        let (unit, factor) = match self.0 {
            0 => UNITS[3],
            _ => *UNITS.iter().find(whole).unwrap_or(&UNITS[3]),
        };
        write!(f, "{}{unit}", self.0 / factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energies_are_read_and_printed() {
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
