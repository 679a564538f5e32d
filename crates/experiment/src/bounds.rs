//! How many runs one command takes. They are counted before anything is made of them.

use crate::options::RunArgs;
use destage_console::terminal::say;
use destage_scheme::registry::{ALL_SCHEMES, all};

/// Most runs of a command or a sweep, most points of `mrc` and `waf`.
pub const MOST_RUNS: u64 = 100_000;
/// From so many on, planning takes long enough that the number is said before.
const ANNOUNCED: u64 = 10_000;

/// Counts that are combined, each with its name.
#[derive(Default)]
pub struct Factors(Vec<(usize, String)>);

impl Factors {
    /// The counts in the options of `run`, as they are written.
    pub fn of_run(args: &RunArgs) -> Factors {
        Factors::default()
            .with(args.traces.len().max(1), "traces")
            .with(args.host_fs.len().max(1), "file systems")
            .with(count_schemes(&args.caches.scheme()), "schemes")
            .with(args.caches.cache().len(), "cache sizes")
    }

    /// These and another one.
    #[must_use]
    pub fn with(mut self, count: usize, name: impl Into<String>) -> Factors {
        self.0.push((count, name.into()));
        self
    }

    /// The number of combinations; the largest number if there are more.
    pub fn product(&self) -> u64 {
        let counts = self.0.iter().map(|factor| factor.0 as u64);
        counts.fold(1, u64::saturating_mul)
    }

    /// Makes sure that there are not too many combinations, which are `noun`, and gives their number.
    ///
    /// # Errors
    /// There are.
    pub fn check(&self, noun: &str) -> Result<u64, String> {
        let several = self.0.iter().filter(|factor| factor.0 != 1);
        let several: Vec<String> = several.map(|(n, name)| format!("{n} {name}")).collect();
        let what = format!("{noun} ({})", several.join(" x "));
        check_total(self.product(), &what)
    }
}

/// Makes sure that `total` is not too much of `what`, and gives it back.
///
/// # Errors
/// It is.
pub fn check_total(total: u64, what: &str) -> Result<u64, String> {
    match total <= MOST_RUNS {
        true => Ok(total),
        false => Err(format!(
            "{total} {what} are asked for; one command takes at most {MOST_RUNS}. Name fewer values, or divide \
             them among several commands"
        )),
    }
}

/// Says how many runs are planned, if that takes a while.
pub fn announce(runs: u64) {
    if runs >= ANNOUNCED {
        say(&format!("note: planning {runs} runs"));
    }
}

/// How many schemes the texts of `--scheme` name.
pub fn count_schemes(texts: &[String]) -> usize {
    let of_text = |text: &String| match text == ALL_SCHEMES {
        true => all().len(),
        false => 1,
    };
    texts.iter().map(of_text).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::rng::SplitMix64;

    /// Random factors: what is accepted has exactly the product, what is refused is beyond the limit.
    #[test]
    fn a_product_is_counted_without_overflow() {
        let mut random = SplitMix64::new(1);
        for _ in 0..10_000 {
            let counts: Vec<usize> = (0..1 + random.below(6))
                .map(|_| {
                    let bits = random.below(63);
                    // Products of powers of two wrap to 0, which looks like few.
                    let beyond = random.below(2) * random.below(1 << bits);
                    ((1 << bits) + beyond) as usize
                })
                .collect();
            let add = |all: Factors, &n: &usize| all.with(n, "values");
            let factors = counts.iter().fold(Factors::default(), add);
            let exact = counts
                .iter()
                .try_fold(1u128, |all, &n| all.checked_mul(n as u128));
            let exact = exact.filter(|&all| all <= u128::from(MOST_RUNS));
            assert_eq!(
                factors.check("runs").ok().map(u128::from),
                exact,
                "{counts:?}"
            );
        }
    }
}
