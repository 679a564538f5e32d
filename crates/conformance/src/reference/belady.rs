//! Offline Belady with bypass (ProCache section 3).

use std::collections::BTreeMap;

use super::expr::SlowExpr;
use super::scheme::SlowScheme;
use super::store::Store;

/// Evicts the page whose next use lies farthest ahead; `u64::MAX` stands for never.
pub struct Belady {
    next: BTreeMap<u64, u64>,
    bypass: bool,
    /// Only data that are not on flash have a next use.
    dirty_only: bool,
    words: Vec<String>,
}

impl Belady {
    /// Parameters `bypass` and `next-of`. Which requests count is a matter of [`look_ahead`](super::request::look_ahead).
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr) -> Result<Belady, String> {
        expr.keys(&["bypass", "next-of"])?;
        Ok(Belady {
            next: BTreeMap::new(),
            bypass: expr.flag("bypass", true)?,
            dirty_only: expr.word("next-of", &["any", "write", "overwrite"])? == "overwrite",
            words: Vec::new(),
        })
    }

    fn farthest(&self) -> Option<u64> {
        let mut order: Vec<(u64, u64)> = self.next.iter().map(|(&x, &n)| (x, n)).collect();
        order.sort_by_key(|&(x, n)| (u64::MAX - n, x)); // on equality the smallest page
        order.first().map(|&(x, _)| x)
    }

    fn next_use(&self, lpn: u64, store: &Store) -> u64 {
        let known = !self.dirty_only || store.writing || store.dirty(lpn);
        store.next.filter(|_| known).unwrap_or(u64::MAX)
    }

    fn refresh(&mut self, lpn: u64, store: &Store) {
        let next = self.next_use(lpn, store);
        self.next.insert(lpn, next);
    }
}

impl SlowScheme for Belady {
    fn bypasses(&mut self, lpn: u64, store: &Store) -> bool {
        if store.has(lpn) || store.frames.len() < store.capacity || !self.bypass {
            return false;
        }
        let victim = self.farthest();
        let farther = |v: u64| self.next_use(lpn, store) > self.next[&v];
        let past = victim.is_some_and(farther);
        if past {
            self.words.push("bypass".to_owned());
        }
        past
    }
    fn touch(&mut self, lpn: u64, _write: bool, store: &Store) {
        self.refresh(lpn, store);
    }
    fn partial_miss(&mut self, lpn: u64, store: &Store) {
        self.refresh(lpn, store);
    }
    fn admit(&mut self, lpn: u64, store: &Store) {
        self.words.push("insert".to_owned());
        self.refresh(lpn, store);
    }
    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        self.farthest().into_iter().collect()
    }
    fn remove(&mut self, lpn: u64) {
        self.next.remove(&lpn);
    }
    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        let next = self.next.remove(&from);
        next.is_some_and(|n| self.next.insert(to, n).is_none())
    }
    fn words(&mut self) -> Vec<String> {
        std::mem::take(&mut self.words)
    }
    fn pages(&self) -> Vec<u64> {
        self.next.keys().copied().collect()
    }
    fn state(&self, _store: &Store) -> String {
        let item = |(x, n): (&u64, &u64)| match *n {
            u64::MAX => format!("({x},inf)"),
            n => format!("({x},{n})"),
        };
        let items: Vec<String> = self.next.iter().map(item).collect();
        format!("{{{}}}", items.join(" "))
    }
}
