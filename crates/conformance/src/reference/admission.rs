//! ProCache's admission of write requests (Baek, Cho, Choi, PLoS ONE 2017, Algorithm 1).

use std::collections::VecDeque;

use super::expr::SlowExpr;
use super::request::SlowAccess;
use super::rng::SplitMix64;
use super::store::Store;

/// The decision about a write request or one page of it.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// The data are in the cache: an ordinary write; a word about it.
    Update(String),
    /// Into the cache as a whole, whatever is cached now; why.
    Admit(String),
    /// To flash; why.
    Bypass(String),
}

/// An admission layer.
pub trait Admission {
    /// Judges whole requests, or page by page?
    fn whole_requests(&self) -> bool {
        false
    }

    /// Does a read hit refresh recency?
    fn read_touch(&self) -> bool {
        true
    }

    /// Judges the pages in `accesses`, which belong to a request of `bytes`.
    fn judge(&mut self, accesses: &[SlowAccess], bytes: u64, store: &Store) -> Verdict;

    /// Time has passed before pages are judged; do counters decay?
    fn before(&mut self, _store: &Store) -> bool {
        false
    }

    /// Pages were judged and written; do counters decay?
    fn after(&mut self) -> bool {
        false
    }

    /// Other events of the last call, for the column of evictions.
    fn events(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// The text behind the state of the cache.
    fn state(&self) -> String {
        String::new()
    }
}

/// The admission layer of ProCache.
pub struct ProCache {
    probability: f64,
    limit: u64,
    at_limit_cold: bool,
    vector: Option<Vec<f64>>,
    size_unit: u64,
    /// `all`, `any` or `page`.
    rule: &'static str,
    read_touch: bool,
    only_when_full: bool,
    rng: SplitMix64,
    script: VecDeque<f64>,
}

impl ProCache {
    /// Parameters as `expr` has them. `script` holds numbers to draw in place of the generator's.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, page: u64, seed: u64, script: &[f64]) -> Result<ProCache, String> {
        let own = ["p", "c", "cmp", "pv", "size-unit", "hit-rule", "read-touch"];
        expr.keys(&[own.as_slice(), &["seed", "p-schedule"]].concat())?;
        let schedule = expr.word("p-schedule", &["constant", "none", "occupancy"])?;
        Ok(ProCache {
            probability: expr.real("p", 0.1)?,
            limit: expr.number("c", 8 << 10, page)?,
            at_limit_cold: expr.word("cmp", &["gt", "ge"])? == "ge",
            vector: expr.reals("pv")?,
            size_unit: expr.number("size-unit", 1 << 10, page)?,
            rule: expr.word("hit-rule", &["all", "any", "page"])?,
            read_touch: expr.flag("read-touch", true)?,
            only_when_full: schedule == "occupancy",
            rng: SplitMix64::new(expr.number("seed", seed, 1)?),
            script: script.iter().copied().collect(),
        })
    }

    /// The probability that a request of this size enters; none if it is too large.
    fn odds(&self, bytes: u64, store: &Store) -> Option<f64> {
        let probability = match &self.vector {
            Some(vector) => {
                let units = bytes.div_ceil(self.size_unit).max(1);
                let class = (0..64).find(|&i| 1 << i >= units);
                *vector.get(class.expect("fewer than 2^63 bytes"))?
            }
            None if bytes > self.limit => return None,
            None if bytes == self.limit && self.at_limit_cold => return None,
            None => self.probability,
        };
        let filling = self.only_when_full && !store.been_full;
        Some(if filling { 1.0 } else { probability })
    }
}

impl Admission for ProCache {
    fn whole_requests(&self) -> bool {
        self.rule != "page"
    }

    fn read_touch(&self) -> bool {
        self.read_touch
    }

    fn judge(&mut self, accesses: &[SlowAccess], bytes: u64, store: &Store) -> Verdict {
        let cached = accesses.iter().filter(|a| store.has(a.lpn)).count();
        let hit = match self.rule {
            "any" => cached > 0,
            _ => cached == accesses.len(),
        };
        if hit {
            return Verdict::Update("update".to_owned());
        }
        let Some(probability) = self.odds(bytes, store) else {
            return Verdict::Bypass("cold(size)->NAND".to_owned());
        };
        if accesses.len() > store.capacity {
            return Verdict::Bypass("cold(size)->NAND".to_owned());
        }
        let drawn = self.script.pop_front();
        let r = drawn.unwrap_or_else(|| self.rng.real());
        if r < probability {
            Verdict::Admit(format!("hot(r={r:?})->cache"))
        } else {
            Verdict::Bypass(format!("cold(r={r:?})->NAND"))
        }
    }
}
