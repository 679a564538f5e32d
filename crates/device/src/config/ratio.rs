//! Decimal shares without rounding errors.

use std::fmt;

const ONE: u64 = 1_000_000_000;

/// A share or multiple with nine decimals, so that 7 % of 100 pages are exactly 7.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Ratio {
    billionths: u64,
}

impl Ratio {
    /// Nothing.
    pub const ZERO: Ratio = Ratio { billionths: 0 };
    /// All.
    pub const ONE: Ratio = Ratio { billionths: ONE };

    /// `n` times the whole; at most a million.
    pub const fn whole(n: u32) -> Ratio {
        Ratio {
            billionths: n as u64 * ONE,
        }
    }

    /// The ratio nearest to `x`; `None` if negative, above a million, not a number, or with more
    /// than nine decimals.
    pub fn from_f64(x: f64) -> Option<Ratio> {
        let scaled = x * ONE as f64;
        let nearest = scaled.round();
        // A decimal with up to nine places is off by the rounding of its binary form only.
        let slack = 1e-3_f64.max(nearest * 4.0 * f64::EPSILON);
        let fits = (0.0..=1e6).contains(&x) && (scaled - nearest).abs() <= slack;
        fits.then_some(Ratio {
            billionths: nearest as u64,
        })
    }

    /// The ratio as a number for reports.
    pub fn as_f64(self) -> f64 {
        self.billionths as f64 / ONE as f64
    }

    /// One minus this ratio; zero above one.
    pub const fn rest(self) -> Ratio {
        Ratio {
            billionths: ONE.saturating_sub(self.billionths),
        }
    }

    /// This share of `n`, rounded down.
    pub const fn of(self, n: u64) -> u64 {
        (n as u128 * self.billionths as u128 / ONE as u128) as u64
    }

    /// This share of `n`, rounded up.
    pub const fn of_up(self, n: u64) -> u64 {
        (n as u128 * self.billionths as u128).div_ceil(ONE as u128) as u64
    }

    /// This share of the share `other` of `n`, rounded up once; both at most one, `n` below 2^64.
    pub const fn of_product_up(self, other: Ratio, n: u64) -> u64 {
        let both = self.billionths as u128 * other.billionths as u128;
        let square = ONE as u128 * ONE as u128;
        // both <= 10^18 < 2^60, so the product stays below 2^124.
        (n as u128 * both).div_ceil(square) as u64
    }

    /// The same, rounded down once.
    pub const fn of_product(self, other: Ratio, n: u64) -> u64 {
        let both = self.billionths as u128 * other.billionths as u128;
        let square = ONE as u128 * ONE as u128;
        (n as u128 * both / square) as u64
    }
}

impl fmt::Display for Ratio {
    /// The shortest decimal: `0.1`, `1`, `0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:09}", self.billionths % ONE);
        match fraction.trim_end_matches('0') {
            "" => write!(f, "{}", self.billionths / ONE),
            rest => write!(f, "{}.{rest}", self.billionths / ONE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        for (x, text) in [
            (0.07, "0.07"),
            (1.0, "1"),
            (0.0, "0"),
            (2.5, "2.5"),
            (1e-9, "0.000000001"),
        ] {
            assert_eq!(Ratio::from_f64(x).unwrap().to_string(), text);
        }
        let op = Ratio::from_f64(0.07).unwrap();
        assert_eq!((op.of(100), op.rest().of(100), op.of_up(101)), (7, 93, 8));
        let half = Ratio::from_f64(0.5).unwrap();
        assert_eq!(half.of_product_up(Ratio::from_f64(0.1).unwrap(), 100), 5);
        assert_eq!(half.of_product_up(op, 100), 4, "3.5 rounded up");
        assert_eq!(half.of_product(op, 100), 3, "3.5 rounded down");
        for x in [-0.1, f64::NAN, f64::INFINITY, 1e7, 0.12345678912] {
            assert!(Ratio::from_f64(x).is_none(), "{x}");
        }
    }
}
