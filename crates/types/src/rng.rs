//! Random numbers: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).

/// One generator; everything that draws has its own.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

/// The finaliser of SplitMix64, also used as a hash of page numbers.
#[inline]
pub const fn mix64(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

impl SplitMix64 {
    /// A generator that starts from `seed`.
    pub const fn new(seed: u64) -> SplitMix64 {
        SplitMix64 { state: seed }
    }

    /// Next 64 random bits.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix64(self.state)
    }

    /// Next uniform integer of 53 bits: `n * 2^-53` is the uniform real in [0, 1) of the spec.
    #[inline]
    pub const fn next_53(&mut self) -> u64 {
        self.next_u64() >> 11
    }

    /// Next integer below `n`: the upper half of the 128-bit product of 64 random bits and `n`.
    #[inline]
    pub const fn below(&mut self, n: u64) -> u64 {
        ((self.next_u64() as u128 * n as u128) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_values_for_seed_1() {
        let mut rng = SplitMix64::new(1);
        let first: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        assert_eq!(
            first,
            [0x910a2dec89025cc1, 0xbeeb8da1658eec67, 0xf893a2eefb32555e]
        );
    }

    #[test]
    fn integers_below_a_bound_scale_the_first_values() {
        // The uniform numbers are 0.5666, 0.7458 and 0.9710.
        let mut rng = SplitMix64::new(1);
        let first: Vec<u64> = (0..3).map(|_| rng.below(10)).collect();
        assert_eq!(first, [5, 7, 9]);
        assert_eq!(rng.below(1), 0);
    }
}
