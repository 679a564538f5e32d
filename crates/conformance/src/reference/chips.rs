//! Schemes that keep pages by chip: `ecr`, `ecr-eps`, `cflru-eps` (ECR 3 and 4.2).

use std::collections::BTreeMap;

use super::expr::SlowExpr;
use super::scheme::{SlowScheme, replace, tail_first, take_out};
use super::store::Store;

/// A clean list and one instance of the inner scheme per chip for dirty pages.
pub struct Ecr {
    inner: Vec<Box<dyn SlowScheme>>,
    clean: Vec<u64>,
    /// When each resident page was touched last.
    touched: BTreeMap<u64, u64>,
    clock: u64,
    oldest: bool,
}

pub(super) const ECR_KEYS: [&str; 11] = [
    "xfer",
    "residual",
    "cqct",
    "l-sp",
    "tie",
    "page-latency",
    "nfp",
    "gc-state",
    "gc-residual",
    "inner-capacity",
    "node-bytes",
];

impl Ecr {
    /// `tie` is `oldest` or `lowest_index`; the keys of the cost equation belong to the flash.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, inner: Vec<Box<dyn SlowScheme>>) -> Result<Ecr, String> {
        expr.keys(&ECR_KEYS)?;
        Ok(Ecr {
            inner,
            clean: Vec::new(),
            touched: BTreeMap::new(),
            clock: 0,
            oldest: expr.word("tie", &["oldest", "lowest_index"])? == "oldest",
        })
    }

    fn stamp(&mut self, lpn: u64) {
        self.clock += 1;
        self.touched.insert(lpn, self.clock);
    }

    /// The clean list is always in the order of the last touch, newest first.
    fn sort_clean(&mut self) {
        self.clean.sort_by_key(|x| u64::MAX - self.touched[x]);
    }

    /// Clean pages from the tail, then the next page of the chip of least cost, again and again.
    fn order(&self, entering: Option<u64>, store: &Store, cost: impl Fn(usize) -> u64) -> Vec<u64> {
        let mut order = tail_first(&self.clean);
        let here = |chip: usize| entering.filter(|&x| store.chip(x) == chip);
        let chips = self.inner.iter().enumerate();
        let mut left: Vec<Vec<u64>> = chips
            .map(|(chip, policy)| policy.candidates(here(chip), store))
            .collect();
        loop {
            let filled = (0..left.len()).filter(|&chip| !left[chip].is_empty());
            let key = |&chip: &usize| {
                let age = self.touched[&left[chip][0]];
                (cost(chip), if self.oldest { age } else { 0 }, chip)
            };
            match filled.min_by_key(key) {
                Some(chip) => order.push(left[chip].remove(0)),
                None => return order,
            }
        }
    }

    /// The chip with the smallest CQCT among those that hold dirty pages.
    fn cheapest(&self, incoming: Option<u64>, store: &Store) -> usize {
        let filled = (0..self.inner.len()).filter(|&c| !self.inner[c].pages().is_empty());
        let cost = |&chip: &usize| {
            let here = incoming.filter(|&x| store.chip(x) == chip);
            let first = self.inner[chip].candidates(here, store)[0];
            let age = if self.oldest { self.touched[&first] } else { 0 };
            (store.flash.cqct(chip), age, chip)
        };
        filled.min_by_key(cost).expect("a full cache holds a page")
    }
}

impl SlowScheme for Ecr {
    fn touch(&mut self, lpn: u64, write: bool, store: &Store) {
        self.stamp(lpn);
        let chip = store.chip(lpn);
        if !self.clean.contains(&lpn) {
            self.inner[chip].touch(lpn, write, store);
        } else if write {
            take_out(&mut self.clean, lpn);
            self.inner[chip].admit(lpn, store);
        } else {
            self.sort_clean();
        }
    }

    fn admit(&mut self, lpn: u64, store: &Store) {
        self.stamp(lpn);
        if store.dirty(lpn) {
            self.inner[store.chip(lpn)].admit(lpn, store);
        } else {
            self.clean.insert(0, lpn);
        }
    }

    fn prepare(&mut self, incoming: Option<u64>, store: &Store) {
        // A written page makes the instance of its chip adapt, whoever has to leave for it.
        if let Some(x) = incoming.filter(|_| store.writing) {
            self.inner[store.chip(x)].expect(x);
        }
    }

    fn candidates(&self, incoming: Option<u64>, store: &Store) -> Vec<u64> {
        let entering = incoming.filter(|_| store.writing);
        self.order(entering, store, |chip| store.flash.cqct(chip))
    }

    fn next_victims(&self, _: Option<u64>, store: &Store) -> Vec<u64> {
        self.order(None, store, |_| 0)
    }

    fn write_back_order(&self, store: &Store) -> Vec<u64> {
        self.next_victims(None, store)
    }

    fn take(&mut self, lpn: u64, store: &Store) {
        self.touched.remove(&lpn);
        if !take_out(&mut self.clean, lpn) {
            self.inner[store.chip(lpn)].take(lpn, store);
        }
    }

    fn victim(&mut self, incoming: Option<u64>, store: &Store) -> Vec<u64> {
        self.prepare(incoming, store);
        let entering = incoming.filter(|_| store.writing);
        if let Some(page) = self.clean.pop() {
            self.touched.remove(&page);
            return vec![page];
        }
        let chip = self.cheapest(entering, store);
        let here = entering.filter(|&x| store.chip(x) == chip);
        let unit = self.inner[chip].victim(here, store);
        for page in &unit {
            self.touched.remove(page);
        }
        unit
    }

    fn idle_page(
        &self,
        chip: Option<usize>,
        busy: &dyn Fn(u64) -> bool,
        store: &Store,
    ) -> Option<u64> {
        self.inner[chip?].idle_page(chip, busy, store)
    }

    fn remove(&mut self, lpn: u64) {
        self.touched.remove(&lpn);
        if take_out(&mut self.clean, lpn) {
            self.forget_ghost(lpn); // of the time when it was dirty
            return;
        }
        let holds = |policy: &&mut Box<dyn SlowScheme>| policy.pages().contains(&lpn);
        let policy = self.inner.iter_mut().find(holds);
        policy.expect("a dirty page is of a chip").remove(lpn);
    }

    fn forget_ghost(&mut self, lpn: u64) {
        // No chip but that of its address knows the page.
        self.inner.iter_mut().for_each(|p| p.forget_ghost(lpn));
    }

    fn rename(&mut self, from: u64, to: u64, store: &Store) -> bool {
        let (old, new) = (store.chip(from), store.chip(to));
        if self.clean.contains(&from) {
            self.forget_ghost(to);
            replace(&mut self.clean, from, to);
        } else if old == new {
            if !self.inner[old].rename(from, to, store) {
                return false;
            }
        } else if self.inner[old].pages().contains(&from) {
            self.inner[old].remove(from);
            self.inner[new].forget_ghost(to);
            self.inner[new].admit(to, store);
            self.touched.remove(&from);
            self.stamp(to);
        } else {
            return false; // a ghost has no place in the history of another chip
        }
        if let Some(time) = self.touched.remove(&from) {
            self.touched.insert(to, time);
        }
        true
    }

    fn cleaned(&mut self, pages: &[u64], store: &Store) {
        for &page in pages {
            self.inner[store.chip(page)].remove(page);
            self.clean.push(page);
        }
        self.sort_clean();
    }

    fn pages(&self) -> Vec<u64> {
        let dirty = self.inner.iter().flat_map(|p| p.pages());
        self.clean.iter().copied().chain(dirty).collect()
    }

    fn state(&self, store: &Store) -> String {
        let mut text = format!("clean{}", store.list(&self.clean));
        for (chip, inner) in self.inner.iter().enumerate() {
            text += &format!(" c{chip}{}", inner.state(store));
        }
        text
    }
}

/// `ecr-eps`: one list per chip, clean and dirty together. `cflru-eps`: clean pages first, then
/// the least recently used dirty page. Both are kept as one list in the order of use.
pub struct ChipLru {
    recency: Vec<u64>,
    per_chip: bool,
    oldest: bool,
}

impl ChipLru {
    /// `expr.name` tells which of the two.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr) -> Result<ChipLru, String> {
        expr.keys(&ECR_KEYS)?;
        Ok(ChipLru {
            recency: Vec::new(),
            per_chip: expr.name == "ecr-eps",
            oldest: expr.word("tie", &["oldest", "lowest_index"])? == "oldest",
        })
    }
}

impl SlowScheme for ChipLru {
    fn touch(&mut self, lpn: u64, _write: bool, _store: &Store) {
        take_out(&mut self.recency, lpn);
        self.recency.insert(0, lpn);
    }
    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.recency.insert(0, lpn);
    }
    fn candidates(&self, _incoming: Option<u64>, store: &Store) -> Vec<u64> {
        let mut order = tail_first(&self.recency);
        if self.per_chip {
            let cost = |x: &u64| {
                let chip = store.chip(*x);
                (store.flash.cqct(chip), if self.oldest { 0 } else { chip })
            };
            order.sort_by_key(cost); // stable: the order of use breaks ties
        } else {
            order.sort_by_key(|&x| store.dirty(x));
        }
        order
    }
    fn next_victims(&self, _: Option<u64>, store: &Store) -> Vec<u64> {
        match self.per_chip {
            false => self.candidates(None, store),
            true => {
                let mut order = tail_first(&self.recency);
                let rank = |x: &u64| if self.oldest { 0 } else { store.chip(*x) };
                order.sort_by_key(rank); // as if all queues were empty
                order
            }
        }
    }
    fn write_back_order(&self, store: &Store) -> Vec<u64> {
        self.next_victims(None, store)
    }
    fn remove(&mut self, lpn: u64) {
        take_out(&mut self.recency, lpn);
    }
    fn rename(&mut self, from: u64, to: u64, store: &Store) -> bool {
        let known = replace(&mut self.recency, from, to);
        if known && self.per_chip && store.chip(from) != store.chip(to) {
            self.touch(to, true, store); // to the newest end of the other chip's list
        }
        known
    }
    fn pages(&self) -> Vec<u64> {
        self.recency.clone()
    }
    fn state(&self, store: &Store) -> String {
        let apart = |x: &u64| !self.per_chip && !store.dirty(*x);
        let clean: Vec<u64> = self.recency.iter().copied().filter(apart).collect();
        let mut text = format!("clean{}", store.list(&clean));
        for chip in 0..store.flash.chips() {
            let here = |x: &u64| store.chip(*x) == chip && !apart(x);
            let list: Vec<u64> = self.recency.iter().copied().filter(here).collect();
            text += &format!(" c{chip}{}", store.list(&list));
        }
        text
    }
}
