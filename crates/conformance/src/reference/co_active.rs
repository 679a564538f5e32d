//! Co-Active: two lists and searches through them, and how often chips may be written to. Lists are vectors
//! with the head (newest) first.

use std::collections::BTreeMap;

use super::expr::SlowExpr;
use super::scheme::{SlowScheme, replace, tail_first, take_out};
use super::store::Store;

/// Cold and hot pages.
pub struct CoActive {
    cold: Vec<u64>,
    hot: Vec<u64>,
    hot_size: usize,
}

impl CoActive {
    /// `hot-ratio`; `wb-max` is the matter of [`Quota`].
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, capacity: usize) -> Result<CoActive, String> {
        expr.keys(&["hot-ratio", "wb-max"])?;
        Ok(CoActive {
            cold: Vec::new(),
            hot: Vec::new(),
            hot_size: (expr.real("hot-ratio", 0.5)? * capacity as f64).floor() as usize,
        })
    }
}

impl SlowScheme for CoActive {
    fn touch(&mut self, lpn: u64, _write: bool, _store: &Store) {
        self.remove(lpn);
        self.hot.insert(0, lpn);
        if self.hot.len() > self.hot_size {
            let last = self.hot.pop();
            self.cold.splice(0..0, last);
        }
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.cold.insert(0, lpn);
    }

    fn candidates(&self, _incoming: Option<u64>, store: &Store) -> Vec<u64> {
        let mut order = [tail_first(&self.cold), tail_first(&self.hot)].concat();
        order.sort_by_key(|&x| store.dirty(x)); // stable: cold ones first, oldest first
        order
    }

    fn idle_page(
        &self,
        chip: Option<usize>,
        busy: &dyn Fn(u64) -> bool,
        store: &Store,
    ) -> Option<u64> {
        let here = |x: u64| chip.is_none_or(|chip| store.chip(x) == chip);
        let fits = |x: &u64| store.dirty(*x) && here(*x) && !busy(*x);
        self.cold.iter().rev().copied().find(fits)
    }

    fn remove(&mut self, lpn: u64) {
        take_out(&mut self.cold, lpn);
        take_out(&mut self.hot, lpn);
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        replace(&mut self.cold, from, to) || replace(&mut self.hot, from, to)
    }

    fn pages(&self) -> Vec<u64> {
        [self.cold.clone(), self.hot.clone()].concat()
    }

    fn state(&self, store: &Store) -> String {
        format!(
            "cold{} hot{}",
            store.list(&self.cold),
            store.list(&self.hot)
        )
    }
}

/// How many pages of each chip may be written back between two requests (`wb-max`).
pub struct Quota {
    most: u64,
    adaptive: bool,
    written: BTreeMap<usize, u64>,
    /// Arrival of the last read or write.
    last: Option<u64>,
}

impl Quota {
    /// That of a `co-active` in the expression, if there is one.
    ///
    /// # Errors
    /// A bad value.
    pub fn of(expr: &SlowExpr) -> Result<Option<Quota>, String> {
        if expr.name != "co-active" {
            return expr.inner.as_deref().map_or(Ok(None), Quota::of);
        }
        let adaptive = expr.word("wb-max", &["1", "adaptive"]) == Ok("adaptive");
        Ok(Some(Quota {
            most: if adaptive {
                1
            } else {
                expr.number("wb-max", 1, 1)?
            },
            adaptive,
            written: BTreeMap::new(),
            last: None,
        }))
    }

    /// May another page of the chip be written back?
    pub fn allows(&self, chip: usize) -> bool {
        self.written.get(&chip).copied().unwrap_or(0) < self.most
    }

    /// A page of the chip is written back.
    pub fn count(&mut self, chip: usize) {
        *self.written.entry(chip).or_insert(0) += 1;
    }

    /// A read or write arrives; programs take that long.
    pub fn request(&mut self, now: u64, program: u64) {
        self.written.clear();
        if let Some(last) = self.last.filter(|_| self.adaptive) {
            self.most = match now - last < program {
                true => (self.most / 2).max(1),
                false => (self.most * 2).min(8),
            };
        }
        self.last = Some(now);
    }
}
