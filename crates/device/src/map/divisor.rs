//! Division by a number that stays the same.

/// Divides 32-bit numbers by a multiplication: a program asks for a block, a plane and a chip, and
/// each is a division.
///
/// The quotient of n and d is the upper half of n * ceil(2^64 / d), exact for all 32-bit n and d
/// (Lemire, Kaser, Kurz, "Faster remainder by direct computation", 2019, Theorem 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Divisor {
    /// ceil(2^64 / d); 0 for 1, for which it does not fit.
    inverse: u64,
    by: u32,
}

impl Divisor {
    /// # Panics
    /// If `by` is 0.
    pub fn new(by: u32) -> Divisor {
        assert!(by > 0, "nothing is divided by zero");
        let inverse = (u64::MAX / u64::from(by)).wrapping_add(1);
        Divisor { inverse, by }
    }

    /// The divisor.
    #[inline]
    pub fn get(self) -> u32 {
        self.by
    }

    /// `n / d`, rounded down.
    #[inline]
    pub fn quotient(self, n: u32) -> u32 {
        if self.inverse == 0 {
            return n;
        }
        ((u128::from(self.inverse) * u128::from(n)) >> 64) as u32
    }

    /// `n mod d`.
    #[inline]
    pub fn rest(self, n: u32) -> u32 {
        n - self.quotient(n) * self.by
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::rng::SplitMix64;

    #[test]
    fn quotients_are_those_of_the_processor() {
        let mut rng = SplitMix64::new(1);
        let edges = [
            1,
            2,
            3,
            7,
            64,
            128,
            6000,
            65_535,
            65_536,
            u32::MAX - 1,
            u32::MAX,
        ];
        let drawn = (0..500).map(|_| (rng.below(1 << 32) as u32 >> rng.below(31)).max(1));
        for by in edges.into_iter().chain(drawn.collect::<Vec<_>>()) {
            let d = Divisor::new(by);
            let near = |k: u32| {
                let at = by.saturating_mul(k);
                [at.wrapping_sub(1), at, at.saturating_add(1)]
            };
            let multiples = (0..5).chain([u32::MAX / by]).flat_map(near);
            let drawn = (0..20).map(|_| rng.below(1 << 32) as u32);
            for n in multiples.chain(edges).chain(drawn.collect::<Vec<_>>()) {
                assert_eq!((d.quotient(n), d.rest(n)), (n / by, n % by), "{n} / {by}");
            }
        }
    }
}
