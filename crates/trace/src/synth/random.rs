//! Random numbers of the generators: integers only, so that every machine draws the same.

/// SplitMix64, as spec 00 section 3 prints it.
pub(super) struct Random {
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
