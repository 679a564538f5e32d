//! Random numbers that are the same on every machine.

use destage_types::rng::SplitMix64;

/// Uniform in (0, 1].
#[inline]
pub fn unit(random: &mut SplitMix64) -> f64 {
    (random.next_53() + 1) as f64 / (1u64 << 53) as f64
}

/// Zipf's law over ranks `0..n` by the alias method (Walker 1974, Vose 1991): rank r has weight
/// (r + 1)^-theta, up to the 2^-32 of the stored thresholds. One draw costs one random number.
#[derive(Clone, Debug)]
pub struct Zipf {
    /// Threshold in 2^-32 and alias of each column.
    columns: Vec<(u32, u32)>,
}

impl Zipf {
    /// Over `n` ranks.
    ///
    /// # Panics
    /// If `n` is zero or above 2^32 - 1.
    pub fn new(n: usize, theta: f64) -> Zipf {
        assert!(
            n > 0 && u32::try_from(n).is_ok(),
            "ranks are counted in u32"
        );
        let weights: Vec<f64> = (1..=n).map(|k| libm::pow(k as f64, -theta)).collect();
        let scale = n as f64 / weights.iter().sum::<f64>();
        let mut share: Vec<f64> = weights.iter().map(|w| w * scale).collect();
        let mut columns = vec![(u32::MAX, 0); n];
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..n).partition(|&i| share[i] < 1.0);
        while let (Some(&few), Some(&many)) = (small.last(), large.last()) {
            small.pop();
            columns[few] = ((share[few] * 4_294_967_296.0) as u32, many as u32);
            share[many] -= 1.0 - share[few];
            if share[many] < 1.0 {
                large.pop();
                small.push(many);
            }
        }
        // Left over by rounding: whole columns.
        for i in small.into_iter().chain(large) {
            columns[i] = (u32::MAX, i as u32);
        }
        Zipf { columns }
    }

    /// Draws a rank.
    #[inline]
    pub fn draw(&self, random: &mut SplitMix64) -> u32 {
        let bits = random.next_u64();
        let column = ((bits >> 32) * self.columns.len() as u64) >> 32;
        let (threshold, alias) = self.columns[column as usize];
        if (bits as u32) < threshold {
            column as u32
        } else {
            alias
        }
    }
}

/// Where rank `r` lies among `n` addresses: hot ones far apart, as in real traces. A bijection,
/// because the multiplier is a prime that does not divide `n`.
#[inline]
pub fn scatter(rank: u32, n: u64) -> u64 {
    const PRIME: u64 = 1_299_709;
    debug_assert!(!n.is_multiple_of(PRIME));
    u64::from(rank) * PRIME % n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_weights() {
        let (n, draws) = (100, 400_000);
        let zipf = Zipf::new(n, 0.9);
        let mut random = SplitMix64::new(1);
        let mut seen = vec![0u32; n];
        for _ in 0..draws {
            seen[zipf.draw(&mut random) as usize] += 1;
        }
        let sum: f64 = (1..=n).map(|k| (k as f64).powf(-0.9)).sum();
        for rank in [0usize, 1, 9, 49, 99] {
            let expected = f64::from(draws) * (rank as f64 + 1.0).powf(-0.9) / sum;
            let off = (f64::from(seen[rank]) - expected).abs();
            assert!(
                off < 5.0 * expected.sqrt(),
                "rank {rank}: {} {expected}",
                seen[rank]
            );
        }
    }

    #[test]
    fn scattering_is_a_bijection() {
        let mut seen = vec![false; 2000];
        for rank in 0..2000 {
            let at = scatter(rank, 2000) as usize;
            assert!(!std::mem::replace(&mut seen[at], true));
        }
    }

    #[test]
    fn uniform_numbers_stay_in_range() {
        let mut random = SplitMix64::new(7);
        for _ in 0..1000 {
            let u = unit(&mut random);
            assert!(u > 0.0 && u <= 1.0);
        }
    }
}
