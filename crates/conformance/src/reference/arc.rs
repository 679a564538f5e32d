//! ARC (Megiddo and Modha, FAST 2003, Fig. 4): T1, T2 resident, B1, B2 ghosts, real target p.

use super::scheme::{SlowScheme, plain, replace, tail_first, take_out};
use super::store::Store;

/// Adaptive replacement cache.
pub struct Arc {
    capacity: usize,
    t1: Vec<u64>,
    t2: Vec<u64>,
    b1: Vec<u64>,
    b2: Vec<u64>,
    p: f64,
    /// The page whose adaptation has already run.
    adapted: Option<u64>,
}

impl Arc {
    /// An empty ARC of nominal size `capacity` pages.
    pub fn new(capacity: usize) -> Arc {
        let (t1, t2, b1, b2) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Arc {
            capacity,
            t1,
            t2,
            b1,
            b2,
            p: 0.0,
            adapted: None,
        }
    }

    /// Does REPLACE take from T1?
    fn takes_t1(&self, incoming: Option<u64>) -> bool {
        let in_b2 = incoming.is_some_and(|x| self.b2.contains(&x));
        let size = self.t1.len() as f64;
        let wanted = size > self.p || (in_b2 && size == self.p) || self.t2.is_empty();
        !self.t1.is_empty() && wanted
    }
}

impl SlowScheme for Arc {
    fn touch(&mut self, lpn: u64, _write: bool, _store: &Store) {
        take_out(&mut self.t1, lpn);
        take_out(&mut self.t2, lpn);
        self.t2.insert(0, lpn);
    }

    fn expect(&mut self, x: u64) {
        if self.adapted == Some(x) {
            return;
        }
        self.adapted = Some(x);
        let (b1, b2) = (self.b1.len() as f64, self.b2.len() as f64);
        if self.b1.contains(&x) {
            self.p = (self.capacity as f64).min(self.p + 1f64.max(b2 / b1));
        } else if self.b2.contains(&x) {
            self.p = 0f64.max(self.p - 1f64.max(b1 / b2));
        }
    }

    fn candidates(&self, incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        let (one, two) = (tail_first(&self.t1), tail_first(&self.t2));
        if self.takes_t1(incoming) {
            [one, two].concat()
        } else {
            [two, one].concat()
        }
    }

    fn take(&mut self, lpn: u64, _store: &Store) {
        let ghost = |x: u64| self.b1.contains(&x) || self.b2.contains(&x);
        let known = self.adapted.is_some_and(ghost);
        let fills = self.t1.len() >= self.capacity && self.t1.last() == Some(&lpn);
        if !known && fills {
            self.t1.pop(); // case IV: T1 alone fills the cache, its tail is not remembered
        } else if take_out(&mut self.t1, lpn) {
            self.b1.insert(0, lpn);
        } else if take_out(&mut self.t2, lpn) {
            self.b2.insert(0, lpn);
        }
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.expect(lpn);
        self.adapted = None;
        let (in_b1, in_b2) = (take_out(&mut self.b1, lpn), take_out(&mut self.b2, lpn));
        if in_b1 || in_b2 {
            self.t2.insert(0, lpn);
        } else {
            self.t1.insert(0, lpn);
        }
        while self.t1.len() + self.b1.len() > self.capacity && self.b1.pop().is_some() {}
        let total = |a: &Arc| a.t1.len() + a.t2.len() + a.b1.len() + a.b2.len();
        while total(self) > 2 * self.capacity && self.b2.pop().is_some() {}
    }

    fn remove(&mut self, lpn: u64) {
        take_out(&mut self.t1, lpn);
        take_out(&mut self.t2, lpn);
    }

    fn forget_ghost(&mut self, lpn: u64) {
        take_out(&mut self.b1, lpn);
        take_out(&mut self.b2, lpn);
        if self.adapted == Some(lpn) {
            self.adapted = None;
        }
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        let all = [&self.t1, &self.t2, &self.b1, &self.b2];
        if !all.iter().any(|list| list.contains(&from)) {
            return false;
        }
        self.forget_ghost(to);
        for list in [&mut self.t1, &mut self.t2, &mut self.b1, &mut self.b2] {
            replace(list, from, to);
        }
        true
    }

    fn pages(&self) -> Vec<u64> {
        [self.t1.clone(), self.t2.clone()].concat()
    }

    fn state(&self, store: &Store) -> String {
        format!(
            "T1{} T2{} B1{} B2{} p={}",
            store.list(&self.t1),
            store.list(&self.t2),
            plain(&self.b1, " "),
            plain(&self.b2, " "),
            self.p
        )
    }
}
