//! Random numbers of schemes, and probabilities as integer thresholds.

pub use destage_types::rng::{SplitMix64, mix64};

/// The probability `p` in 0..=1 as a threshold: `next_53() < threshold(p)` has probability p.
///
/// `ceil(p * 2^53)` is exact: scaling by a power of two does not round.
pub fn threshold(p: f64) -> u64 {
    libm::ceil(p * (1u64 << 53) as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_at_the_ends() {
        assert_eq!(threshold(0.0), 0);
        assert_eq!(threshold(1.0), 1 << 53);
        assert_eq!(threshold(0.5), 1 << 52);
    }
}
