//! Random numbers of the generators: integers only, so that every machine draws the same.

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// A uniform number of `0..n`; the bias of at most n / 2^64 does not matter here.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform in (0, 1], a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// True with the probability that `threshold` is of 2^53.
    pub fn below_threshold(&mut self, threshold: u64) -> bool {
        self.bits() >> 11 < threshold
    }

    /// Exponentially distributed with mean 1. The logarithm is that of `libm`, the same everywhere.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.unit())
    }

    /// Normally distributed with mean 0 and standard deviation 1 (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.exponential());
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// An element of `choices`, each as likely as its weight says.
    pub fn weighted<T: Copy>(&mut self, choices: &[(u64, T)]) -> T {
        let total = choices.iter().map(|c| c.0).sum();
        let mut left = self.below(total);
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
    pub fn skewed(&mut self, n: u64, percent: u64) -> u64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        let mut random = Random::new(1);
        assert_eq!(random.bits(), 0x910a_2dec_8902_5cc1);
        assert_eq!(random.bits(), 0xbeeb_8da1_658e_ec67);
    }

    #[test]
    fn real_draws_have_their_moments() {
        let mut random = Random::new(9);
        let n = 200_000;
        let moments = |values: Vec<f64>| {
            let mean = values.iter().sum::<f64>() / f64::from(n);
            let square = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
            (mean, square / f64::from(n))
        };
        let (mean, variance) = moments((0..n).map(|_| random.exponential()).collect());
        assert!(
            (mean - 1.0).abs() < 0.01 && (variance - 1.0).abs() < 0.03,
            "{mean} {variance}"
        );
        let (mean, variance) = moments((0..n).map(|_| random.normal()).collect());
        assert!(
            mean.abs() < 0.01 && (variance - 1.0).abs() < 0.02,
            "{mean} {variance}"
        );
        assert!((0..1_000).all(|_| (1e-16..=1.0).contains(&random.unit())));
        assert!(random.below_threshold(1 << 53) && !random.below_threshold(0));
    }

    #[test]
    fn draws_stay_in_range_and_are_skewed() {
        let mut random = Random::new(7);
        let mut low = 0;
        for _ in 0..10_000 {
            let x = random.skewed(1000, 80);
            assert!(x < 1000);
            low += u32::from(x < 200);
        }
        assert!((7_700..8_300).contains(&low), "{low} of 10000 below 200");
        let drawn: Vec<u8> = (0..1000)
            .map(|_| random.weighted(&[(1, b'a'), (0, b'b'), (3, b'c')]))
            .collect();
        let a = drawn.iter().filter(|&&d| d == b'a').count();
        assert!((200..300).contains(&a) && !drawn.contains(&b'b'), "{a}");
    }
}
