//! Identifiers of hot data that keep addresses or bits: `twolevel` and `mbf`.

use std::collections::BTreeSet;

use super::admission::{Admission, Verdict};
use super::counters::place;
use super::expr::SlowExpr;
use super::request::SlowAccess;
use super::scheme::take_out;
use super::store::Store;

fn verdict(hot: bool, cached: bool, word: String) -> Verdict {
    match (hot, cached) {
        (false, _) => Verdict::Bypass(word),
        (true, true) => Verdict::Update(word),
        (true, false) => Verdict::Admit(word),
    }
}

/// The two-level LRU discipline; lists with the newest first.
pub struct TwoLevel {
    hot: Vec<u64>,
    candidates: Vec<u64>,
    most_hot: usize,
    most_candidates: usize,
    events: Vec<String>,
}

impl TwoLevel {
    /// Parameters as `expr` has them.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr) -> Result<TwoLevel, String> {
        expr.keys(&["n-hot", "n-cand"])?;
        Ok(TwoLevel {
            hot: Vec::new(),
            candidates: Vec::new(),
            most_hot: expr.number("n-hot", 512, 1)? as usize,
            most_candidates: expr.number("n-cand", 1024, 1)? as usize,
            events: Vec::new(),
        })
    }
}

impl Admission for TwoLevel {
    fn judge(&mut self, pages: &[SlowAccess], _bytes: u64, store: &Store) -> Verdict {
        let lpn = pages[0].lpn;
        let (was_hot, was_candidate) = (
            take_out(&mut self.hot, lpn),
            take_out(&mut self.candidates, lpn),
        );
        let word = match (was_hot, was_candidate) {
            (true, _) => "hot",
            (false, true) => "promoted->hot",
            (false, false) => "cold",
        };
        if was_hot || was_candidate {
            self.hot.insert(0, lpn);
        } else {
            self.candidates.insert(0, lpn);
        }
        if self.hot.len() > self.most_hot {
            let oldest = self.hot.pop().expect("it is too long");
            self.candidates.insert(0, oldest);
            self.events.push(format!("demote{{{oldest}}}"));
        }
        self.candidates.truncate(self.most_candidates);
        let hot = was_hot || was_candidate;
        verdict(hot, store.has(lpn), word.to_owned())
    }

    fn events(&mut self) -> Vec<String> {
        std::mem::take(&mut self.events)
    }

    fn state(&self) -> String {
        format!(" hot{:?} cand{:?}", self.hot, self.candidates)
    }
}

/// Several Bloom filters, each the set of its bits.
pub struct BloomFilters {
    filters: Vec<BTreeSet<u64>>,
    /// Filters in the order in which they were cleared, the last one first.
    cleared: Vec<usize>,
    bits: u64,
    hashes: usize,
    period: u64,
    threshold: f64,
    writes: u64,
    /// Factor and summand of every hash function, in place of the real ones.
    given: Vec<[u64; 2]>,
    events: Vec<String>,
}

impl BloomFilters {
    /// Parameters as `expr` has them.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, given: &[[u64; 2]]) -> Result<BloomFilters, String> {
        expr.keys(&["v", "m", "k", "decay-period", "threshold"])?;
        let (count, bits) = (expr.number("v", 4, 1)?, expr.number("m", 2048, 1)?);
        let usual = (bits / count).max(1);
        Ok(BloomFilters {
            filters: vec![BTreeSet::new(); count as usize],
            cleared: (0..count as usize).rev().collect(),
            bits,
            hashes: expr.number("k", 2, 1)? as usize,
            period: expr.number("decay-period", usual, 1)?,
            threshold: expr.real("threshold", 4.0)?,
            writes: 0,
            given: given.to_vec(),
            events: Vec::new(),
        })
    }
}

impl Admission for BloomFilters {
    fn judge(&mut self, pages: &[SlowAccess], _bytes: u64, store: &Store) -> Verdict {
        let (lpn, count) = (pages[0].lpn, self.filters.len());
        let places = (0..self.hashes).map(|k| place(lpn, k, self.bits, &self.given));
        let places: BTreeSet<u64> = places.collect();
        let first = self.writes as usize;
        let order = (first..first + count).map(|i| i % count);
        let mut without = order.filter(|&i| !self.filters[i].is_superset(&places));
        if let Some(filter) = without.next() {
            self.filters[filter].extend(&places);
        }
        self.writes += 1;
        // Weights in units of 1/count: 2 less for each filter that was cleared later.
        let weights = self.cleared.iter().enumerate();
        let weights = weights.filter(|(_, filter)| self.filters[**filter].is_superset(&places));
        let sum: usize = weights.map(|(later, _)| 2 * count - 2 * later).sum();
        let weight = sum as f64 / count as f64;
        let hot = weight >= self.threshold;
        let word = format!("weight {weight} {}", if hot { "hot" } else { "cold" });
        verdict(hot, store.has(lpn), word)
    }

    fn after(&mut self) -> bool {
        if self.writes.is_multiple_of(self.period) {
            let oldest = self.cleared.pop().expect("there is a filter");
            self.filters[oldest].clear();
            self.cleared.insert(0, oldest);
            self.events.push(format!("reset BF{oldest}"));
        }
        false // it has words of its own
    }

    fn events(&mut self) -> Vec<String> {
        std::mem::take(&mut self.events)
    }

    fn state(&self) -> String {
        let filters = self.filters.iter().enumerate().map(|(i, bits)| {
            let bits: Vec<u64> = bits.iter().copied().collect();
            format!(" BF{i}{bits:?}")
        });
        filters.collect()
    }
}
