//! Zipf's law over any number of ranks, with one random number per draw.

use destage_types::rng::SplitMix64;

/// Bytes that a rank takes at most while the table is made: weight, share, column, and its place in one of
/// two lists, which may have room for more.
pub(super) const PER_RANK: u64 = 40;

/// Zipf's law over some ranks, which may stand for more: those of a drive that is scaled down (D-20).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ZipfLaw {
    /// Its exponent.
    pub theta: f64,
    /// Ranks of the drive that they stand for; as many as there are if not given. At least as many.
    pub ranks: Option<u64>,
}

impl ZipfLaw {
    /// Of ranks that stand for themselves.
    pub fn of(theta: f64) -> ZipfLaw {
        ZipfLaw { theta, ranks: None }
    }

    /// Weight of rank `k` of `n`, 1 to n: k^-theta, or the sum of that over the ranks that it stands for. Of the first it is
    /// exact, of the others the integral between half ranks, which also tells it of a `k` between two ranks.
    pub fn weight(self, k: f64, n: u32) -> f64 {
        let power = |rank: f64| libm::pow(rank, -self.theta);
        let each = self.ranks.map_or(1.0, |ranks| ranks as f64 / f64::from(n));
        if each == 1.0 {
            return power(k);
        }
        if k == 1.0 {
            return (1..=each as u64).map(|rank| power(rank as f64)).sum();
        }
        let (from, to) = ((k - 1.0) * each + 0.5, k * each + 0.5);
        let above = 1.0 - self.theta;
        // Near an exponent of 1 the difference of powers is lost in rounding.
        match above.abs() < 1e-6 {
            true => libm::log(to / from),
            false => (libm::pow(to, above) - libm::pow(from, above)) / above,
        }
    }
}

/// The alias method (Walker 1974, Vose 1991): ranks with the weights of a law, up to the 2^-32 of the stored thresholds.
#[derive(Clone, Debug)]
pub struct ZipfRanks {
    /// Threshold in 2^-32 and alias of each column.
    columns: Vec<(u32, u32)>,
}

impl ZipfRanks {
    /// Over `n` ranks, 1 to 2^32 - 1.
    pub fn new(n: u32, law: ZipfLaw) -> ZipfRanks {
        let weights: Vec<f64> = (1..=n).map(|k| law.weight(k.into(), n)).collect();
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
        match (bits as u32) < threshold {
            true => column as u64,
            false => u64::from(alias),
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

    /// Each rank has the weight of those that it stands for.
    #[test]
    fn ranks_stand_for_many() {
        for theta in [0.0, 0.5, 0.999, 1.0, 1.2, 2.0] {
            for (n, each) in [(7, 3), (40, 25), (200, 1000)] {
                let ranks = Some(u64::from(n) * each);
                for k in 1..=n {
                    let own = u64::from(k - 1) * each + 1..=u64::from(k) * each;
                    let sum: f64 = own.map(|rank| (rank as f64).powf(-theta)).sum();
                    let weight = ZipfLaw { theta, ranks }.weight(k.into(), n);
                    let near = (weight / sum - 1.0).abs() < 0.02;
                    assert!(near, "{theta}, {n} x {each}, {k}");
                }
            }
            let same = ZipfLaw {
                theta,
                ranks: Some(50),
            };
            assert_eq!(same.weight(9.0, 50), ZipfLaw::of(theta).weight(9.0, 50));
        }
    }

    #[test]
    fn draws_follow_the_weights() {
        let (n, draws) = (100, 400_000);
        let zipf = ZipfRanks::new(n, ZipfLaw::of(0.9));
        let mut random = SplitMix64::new(1);
        let mut seen = vec![0u32; n as usize];
        for _ in 0..draws {
            seen[zipf.draw(&mut random) as usize] += 1;
        }
        let sum: f64 = (1..=n).map(|k| f64::from(k).powf(-0.9)).sum();
        for rank in [0, 1, 9, 49, 99] {
            let expected = f64::from(draws) * (f64::from(rank) + 1.0).powf(-0.9) / sum;
            let have = f64::from(seen[rank as usize]);
            let near = (have - expected).abs() < 5.0 * expected.sqrt();
            assert!(near, "{rank}: {have} {expected}");
        }
    }

    #[test]
    fn a_theta_of_zero_is_uniform() {
        let zipf = ZipfRanks::new(10, ZipfLaw::of(0.0));
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
