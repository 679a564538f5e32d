//! Random numbers of the generators, beside the uniform integers of [`SplitMix64`]: the same on every
//! machine.

use destage_types::rng::SplitMix64;

/// Numbers that are not uniform, and reals.
pub trait Distributions {
    /// The source of all draws.
    fn source(&mut self) -> &mut SplitMix64;

    /// Uniform in (0, 1], a multiple of 2^-53.
    fn unit(&mut self) -> f64 {
        (self.source().next_53() + 1) as f64 / (1u64 << 53) as f64
    }

    /// Exponentially distributed with mean 1. The logarithm is that of `libm`, the same everywhere.
    fn exponential(&mut self) -> f64 {
        -libm::log(self.unit())
    }

    /// Normally distributed with mean 0 and standard deviation 1 (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.exponential());
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }

    /// True in `percent` of 100 cases.
    fn chance(&mut self, percent: u64) -> bool {
        self.source().below(100) < percent
    }

    /// An element of `choices`, each as likely as its weight says.
    fn weighted<T: Copy>(&mut self, choices: &[(u64, T)]) -> T {
        let total = choices.iter().map(|c| c.0).sum();
        let mut left = self.source().below(total);
        for &(weight, value) in choices {
            match left.checked_sub(weight) {
                Some(rest) => left = rest,
                None => return value,
            }
        }
        unreachable!("a number below the sum of the weights lies in one of them")
    }

    /// A number of `0..n`, small ones far more often: of every range, the first fifth takes `percent`
    /// (Gray et al., Quickly Generating Billion-Record Synthetic Databases, SIGMOD 1994,
    /// self-similar distribution).
    fn skewed(&mut self, n: u64, percent: u64) -> u64 {
        let (mut first, mut size) = (0, n);
        while size > 1 {
            let head = (size / 5).max(1);
            if self.chance(percent) {
                size = head;
            } else {
                first += head;
                size -= head;
            }
        }
        first
    }
}

impl Distributions for SplitMix64 {
    fn source(&mut self) -> &mut SplitMix64 {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_draws_have_their_moments() {
        let mut random = SplitMix64::new(9);
        let n = 200_000;
        let moments = |values: Vec<f64>| {
            let mean = values.iter().sum::<f64>() / f64::from(n);
            let square = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
            (mean, square / f64::from(n))
        };
        let (mean, variance) = moments((0..n).map(|_| random.exponential()).collect());
        let near = (mean - 1.0).abs() < 0.01 && (variance - 1.0).abs() < 0.03;
        assert!(near, "{mean} {variance}");
        let (mean, variance) = moments((0..n).map(|_| random.normal()).collect());
        let near = mean.abs() < 0.01 && (variance - 1.0).abs() < 0.02;
        assert!(near, "{mean} {variance}");
        assert!((0..1_000).all(|_| (1e-16..=1.0).contains(&random.unit())));
    }

    #[test]
    fn draws_stay_in_range_and_are_skewed() {
        let mut random = SplitMix64::new(7);
        let mut low = 0;
        for _ in 0..10_000 {
            let x = random.skewed(1000, 80);
            assert!(x < 1000);
            low += u32::from(x < 200);
        }
        assert!((7_700..8_300).contains(&low), "{low} of 10000 below 200");
        let weights = [(1, b'a'), (0, b'b'), (3, b'c')];
        let drawn: Vec<u8> = (0..1000).map(|_| random.weighted(&weights)).collect();
        let a = drawn.iter().filter(|&&d| d == b'a').count();
        assert!((200..300).contains(&a) && !drawn.contains(&b'b'), "{a}");
    }
}
