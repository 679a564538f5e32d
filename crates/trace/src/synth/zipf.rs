//! Zipf's law over any number of ranks, with one random number per draw.

use destage_types::rng::SplitMix64;

/// Bytes that a rank takes at most while the table is made: weight, share, column, and its place in one of
/// two lists, which may have room for more.
pub(super) const PER_RANK: u64 = 40;

/// The alias method (Walker 1974, Vose 1991): rank r has weight (r + 1)^-theta, up to the 2^-32
/// of the stored thresholds.
#[derive(Clone, Debug)]
pub struct ZipfRanks {
    /// Threshold in 2^-32 and alias of each column.
    columns: Vec<(u32, u32)>,
}

impl ZipfRanks {
    /// Over `n` ranks, 1 to 2^32 - 1.
    pub fn new(n: u32, theta: f64) -> ZipfRanks {
        let weights: Vec<f64> = (1..=n).map(|k| libm::pow(f64::from(k), -theta)).collect();
        let scale = f64::from(n) / weights.iter().sum::<f64>();
        let mut share: Vec<f64> = weights.iter().map(|w| w * scale).collect();
        let mut columns: Vec<(u32, u32)> = (0..n).map(|i| (u32::MAX, i)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..n as usize).partition(|&i| share[i] < 1.0);
        // Columns that rounding leaves over are whole columns.
        while let (Some(&few), Some(&many)) = (small.last(), large.last()) {
            small.pop();
            columns[few] = ((share[few] * 4_294_967_296.0) as u32, many as u32);
            share[many] -= 1.0 - share[few];
            if share[many] < 1.0 {
                large.pop();
                small.push(many);
            }
        }
        ZipfRanks { columns }
    }

    /// Draws a rank, 0 being the most frequent one.
    #[inline]
    pub fn draw(&self, random: &mut SplitMix64) -> u64 {
        let bits = random.next_u64();
        let column = (((bits >> 32) * self.columns.len() as u64) >> 32) as usize;
        let (threshold, alias) = self.columns[column];
        if (bits as u32) < threshold {
            column as u64
        } else {
            u64::from(alias)
        }
    }
}

/// Where rank `rank` of `0..n` lies, `n` being below 2^32, so that hot ranks are not neighbours: a bijection, as the
/// factor has no divisor in common with `n`.
#[inline]
pub fn scatter(rank: u64, n: u64) -> u64 {
    // Both together are more than any number of ranks.
    const PRIMES: [u64; 2] = [1_299_709, 15_485_863];
    let prime = PRIMES.into_iter().find(|&p| !n.is_multiple_of(p));
    rank * prime.expect("n is below 2^32") % n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_weights() {
        let (n, draws) = (100, 400_000);
        let zipf = ZipfRanks::new(n, 0.9);
        let mut random = SplitMix64::new(1);
        let mut seen = vec![0u32; n as usize];
        for _ in 0..draws {
            seen[zipf.draw(&mut random) as usize] += 1;
        }
        let sum: f64 = (1..=n).map(|k| f64::from(k).powf(-0.9)).sum();
        for rank in [0, 1, 9, 49, 99] {
            let expected = f64::from(draws) * (f64::from(rank) + 1.0).powf(-0.9) / sum;
            let have = f64::from(seen[rank as usize]);
            assert!(
                (have - expected).abs() < 5.0 * expected.sqrt(),
                "{rank}: {have} {expected}"
            );
        }
    }

    #[test]
    fn a_theta_of_zero_is_uniform() {
        let zipf = ZipfRanks::new(10, 0.0);
        let mut random = SplitMix64::new(5);
        let mut seen = [0u32; 10];
        (0..100_000).for_each(|_| seen[zipf.draw(&mut random) as usize] += 1);
        assert!(seen.iter().all(|n| (9_500..10_500).contains(n)), "{seen:?}");
    }

    #[test]
    fn scatter_is_a_bijection() {
        for n in [1, 2, 2_000, 1_299_709] {
            let mut seen = vec![false; n as usize];
            for rank in 0..n {
                let place = scatter(rank, n) as usize;
                assert!(!std::mem::replace(&mut seen[place], true));
            }
        }
    }
}
