//! Schemes that look at the chips: `gcar` (GC-1), `ecr`, `ecr-eps`, `cflru-eps` (ECR 3 and 4.2).

use std::collections::BTreeMap;

use super::expr::SlowExpr;
use super::scheme::{SlowScheme, replace, tail_first, take_out};
use super::store::Store;

/// The inner scheme's choice among pages whose chip is not in GC.
pub struct Gcar {
    inner: Box<dyn SlowScheme>,
    only_dirty: bool,
    depth: usize,
}

impl Gcar {
    /// Parameters `protect` (`all`, `dirty`) and `depth` (pages searched).
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, inner: Box<dyn SlowScheme>) -> Result<Gcar, String> {
        expr.keys(&["protect", "depth"])?;
        Ok(Gcar {
            inner,
            only_dirty: expr.word("protect", &["all", "dirty"])? == "dirty",
            depth: match expr.word("depth", &["inf", "inf"]) {
                Ok(_) => usize::MAX,
                Err(_) => expr.number("depth", u64::MAX, 1)? as usize,
            },
        })
    }
}

impl SlowScheme for Gcar {
    fn touch(&mut self, lpn: u64, write: bool, store: &Store) {
        self.inner.touch(lpn, write, store);
    }
    fn admit(&mut self, lpn: u64, store: &Store) {
        self.inner.admit(lpn, store);
    }
    fn expect(&mut self, incoming: u64) {
        self.inner.expect(incoming);
    }
    fn candidates(&self, incoming: Option<u64>, store: &Store) -> Vec<u64> {
        let order = self.inner.candidates(incoming, store);
        let protected =
            |x: u64| store.flash.in_gc(store.chip(x)) && (store.dirty(x) || !self.only_dirty);
        let free = order.iter().take(self.depth).find(|&&x| !protected(x));
        vec![*free.unwrap_or(&order[0])]
    }
    fn take(&mut self, lpn: u64, store: &Store) {
        self.inner.take(lpn, store);
    }
    fn remove(&mut self, lpn: u64) {
        self.inner.remove(lpn);
    }
    fn forget_ghost(&mut self, lpn: u64) {
        self.inner.forget_ghost(lpn);
    }
    fn rename(&mut self, from: u64, to: u64, store: &Store) -> bool {
        self.inner.rename(from, to, store)
    }
    fn cleaned(&mut self, pages: &[u64], store: &Store) {
        self.inner.cleaned(pages, store);
    }
    fn pages(&self) -> Vec<u64> {
        self.inner.pages()
    }
    fn state(&self, store: &Store) -> String {
        self.inner.state(store)
    }
}

/// A clean list and one instance of the inner scheme per chip for dirty pages.
pub struct Ecr {
    inner: Vec<Box<dyn SlowScheme>>,
    clean: Vec<u64>,
    /// When each resident page was touched last.
    touched: BTreeMap<u64, u64>,
    clock: u64,
    oldest: bool,
}

const ECR_KEYS: [&str; 11] = [
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

    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        Vec::new() // none: the next victim depends on the queues (X15)
    }

    fn victim(&mut self, incoming: Option<u64>, store: &Store) -> Vec<u64> {
        // A written page makes the instance of its chip adapt, whoever has to leave for it.
        let entering = incoming.filter(|_| store.writing);
        if let Some(x) = entering {
            self.inner[store.chip(x)].expect(x);
        }
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
        let chip = (lpn % self.inner.len() as u64) as usize;
        if take_out(&mut self.clean, lpn) {
            self.inner[chip].forget_ghost(lpn); // of the time when it was dirty
        } else {
            self.inner[chip].remove(lpn);
        }
    }

    fn forget_ghost(&mut self, lpn: u64) {
        let chip = (lpn % self.inner.len() as u64) as usize;
        self.inner[chip].forget_ghost(lpn);
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
