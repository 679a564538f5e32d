//! Admission by counted writes: `refcount` and `multihash`.

use std::collections::{BTreeMap, BTreeSet};

use super::admission::{Admission, Verdict};
use super::expr::SlowExpr;
use super::request::SlowAccess;
use super::store::Store;
use destage_types::rng::mix64;

fn verdict(hot: bool, cached: bool) -> Verdict {
    match (hot, cached) {
        (false, _) => Verdict::Bypass("count->NAND".to_owned()),
        (true, true) => Verdict::Update(String::new()),
        (true, false) => Verdict::Admit("hot->cache".to_owned()),
    }
}

/// A counter per logical block.
pub struct RefCount {
    threshold: u64,
    /// Page writes, or time in ns, between two decays.
    period: u64,
    by_time: bool,
    per_sector: bool,
    hit_first: bool,
    counters: BTreeMap<u64, u64>,
    writes: u64,
    /// Decays done, if they follow time.
    decays: u64,
}

impl RefCount {
    /// Parameters as `expr` has them.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr) -> Result<RefCount, String> {
        expr.keys(&["threshold", "decay-period", "unit", "hit-first"])?;
        let by_time = expr
            .params
            .get("decay-period")
            .is_some_and(|v| v.ends_with('s'));
        Ok(RefCount {
            threshold: expr.number("threshold", 4, 1)?,
            period: match by_time {
                true => expr.time("decay-period", 0)?,
                false => expr.number("decay-period", 5120, 1)?,
            },
            by_time,
            per_sector: expr.word("unit", &["page", "sector"])? == "sector",
            hit_first: expr.flag("hit-first", false)?,
            counters: BTreeMap::new(),
            writes: 0,
            decays: 0,
        })
    }

    fn halve(&mut self) {
        self.counters.values_mut().for_each(|c| *c /= 2);
    }
}

impl Admission for RefCount {
    fn before(&mut self, store: &Store) -> bool {
        let due = match self.by_time {
            true => store.now / self.period - self.decays,
            false => 0,
        };
        for _ in 0..due.min(64) {
            self.halve();
        }
        self.decays += due;
        due > 0
    }

    fn judge(&mut self, pages: &[SlowAccess], _bytes: u64, store: &Store) -> Verdict {
        let page = pages[0];
        let cached = store.has(page.lpn);
        self.writes += 1;
        if cached && self.hit_first {
            return Verdict::Update(String::new());
        }
        let spp = u64::from(store.spp);
        let blocks: Vec<u64> = match self.per_sector {
            true => (0..spp)
                .filter(|i| page.mask >> i & 1 == 1)
                .map(|i| page.lpn * spp + i)
                .collect(),
            false => vec![page.lpn],
        };
        let mut hot = true;
        for block in blocks {
            let count = self.counters.entry(block).or_insert(0);
            if *count < self.threshold {
                *count = 255.min(*count + 1);
                hot = false;
            }
        }
        verdict(hot, cached)
    }

    fn after(&mut self) -> bool {
        let due = !self.by_time && self.writes > 0 && self.writes.is_multiple_of(self.period);
        if due {
            self.halve();
            self.writes = 0;
        }
        due
    }

    fn state(&self) -> String {
        let counters = self.counters.iter().filter(|(_, c)| **c > 0);
        let items: Vec<String> = counters.map(|(block, c)| format!("{block}:{c}")).collect();
        format!(" C{{{}}}", items.join(" "))
    }
}

/// Place of a page in a table of so many under hash function `k`; `given` are factors and summands in
/// place of the real functions.
pub fn place(lpn: u64, k: usize, places: u64, given: &[[u64; 2]]) -> u64 {
    let hash = match given.get(k) {
        Some([factor, summand]) => factor * lpn + summand,
        None => mix64(lpn.wrapping_add(0x9E3779B97F4A7C15u64.wrapping_mul(k as u64))),
    };
    hash % places
}

/// Counters that addresses hash to.
pub struct MultiHash {
    table: Vec<u64>,
    hashes: usize,
    most: u64,
    threshold: u64,
    period: u64,
    writes: u64,
    /// Factor and summand of every hash function, in place of the real ones.
    given: Vec<[u64; 2]>,
}

impl MultiHash {
    /// Parameters as `expr` has them.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, given: &[[u64; 2]]) -> Result<MultiHash, String> {
        let keys = ["m", "k", "d", "h", "threshold", "r", "decay-period"];
        expr.keys(&keys)?;
        let (m, d) = (expr.number("m", 4096, 1)?, expr.number("d", 4, 1)?);
        let (h, r) = (expr.number("h", 2, 1)?, expr.real("r", 0.2)?);
        let usual = 2u64.pow(d.saturating_sub(h) as u32);
        Ok(MultiHash {
            table: vec![0; m as usize],
            hashes: expr.number("k", 2, 1)? as usize,
            most: 2u64.pow(d as u32) - 1,
            threshold: expr.number("threshold", usual, 1)?,
            period: expr.number("decay-period", (m as f64 / (1.0 - r)) as u64, 1)?,
            writes: 0,
            given: given.to_vec(),
        })
    }

    fn places(&self, lpn: u64) -> BTreeSet<usize> {
        let size = self.table.len() as u64;
        let place = |k: usize| place(lpn, k, size, &self.given) as usize;
        (0..self.hashes).map(place).collect()
    }
}

impl Admission for MultiHash {
    fn judge(&mut self, pages: &[SlowAccess], _bytes: u64, store: &Store) -> Verdict {
        let places = self.places(pages[0].lpn);
        let hot = places.iter().all(|&at| self.table[at] >= self.threshold);
        for at in places {
            self.table[at] = self.most.min(self.table[at] + 1);
        }
        self.writes += 1;
        verdict(hot, store.has(pages[0].lpn))
    }

    fn after(&mut self) -> bool {
        let due = self.writes > 0 && self.writes.is_multiple_of(self.period);
        if due {
            self.table.iter_mut().for_each(|c| *c /= 2);
            self.writes = 0;
        }
        due
    }

    fn state(&self) -> String {
        format!(" T{:?}", self.table)
    }
}
