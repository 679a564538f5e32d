//! FIFO, LRU, LFU, CFLRU. Lists are vectors with the head (newest) first.

use std::collections::BTreeMap;

use super::expr::SlowExpr;
use super::scheme::{SlowScheme, replace, tail_first, take_out};
use super::store::Store;

/// One list: FIFO, where hits do not move, LRU, where they go to the head, and CFLRU, which is LRU
/// but for clean pages of the last `window` places, which go first.
pub struct PageList {
    list: Vec<u64>,
    hits_move: bool,
    window: Option<usize>,
}

impl PageList {
    /// Parameter `x` of `cflru`: the window is `max(1, C/x)` pages, default 3.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, capacity: usize) -> Result<PageList, String> {
        let window = match expr.name.as_str() {
            "cflru" => {
                expr.keys(&["x"])?;
                let x = expr.number("x", 3, 1)? as usize;
                Some((capacity / x.max(1)).max(1))
            }
            _ => expr.keys(&[]).map(|()| None)?,
        };
        Ok(PageList {
            list: Vec::new(),
            hits_move: expr.name != "fifo",
            window,
        })
    }

    /// Index of the first page of the clean-first region.
    fn border(&self) -> usize {
        self.list.len().saturating_sub(self.window.unwrap_or(0))
    }
}

impl SlowScheme for PageList {
    fn touch(&mut self, lpn: u64, _write: bool, _store: &Store) {
        if self.hits_move {
            take_out(&mut self.list, lpn);
            self.list.insert(0, lpn);
        }
    }
    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.list.insert(0, lpn);
    }
    fn candidates(&self, _incoming: Option<u64>, store: &Store) -> Vec<u64> {
        let region = tail_first(&self.list[self.border()..]);
        let clean: Vec<u64> = region.into_iter().filter(|&x| !store.dirty(x)).collect();
        let rest = tail_first(&self.list);
        let rest = rest.into_iter().filter(|x| !clean.contains(x));
        clean.iter().copied().chain(rest).collect()
    }
    fn remove(&mut self, lpn: u64) {
        take_out(&mut self.list, lpn);
    }
    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        replace(&mut self.list, from, to)
    }
    fn pages(&self) -> Vec<u64> {
        self.list.clone()
    }
    fn state(&self, store: &Store) -> String {
        let (young, region) = self.list.split_at(self.border());
        match self.window {
            Some(_) => format!("{} | {}", store.list(young), store.list(region)),
            None => store.list(young),
        }
    }
}

/// In-cache LFU without aging; ties go to the least recently touched page.
#[derive(Default)]
pub struct Lfu {
    recency: Vec<u64>,
    count: BTreeMap<u64, u64>,
}

impl SlowScheme for Lfu {
    fn touch(&mut self, lpn: u64, _write: bool, _store: &Store) {
        take_out(&mut self.recency, lpn);
        self.recency.insert(0, lpn);
        *self.count.entry(lpn).or_insert(0) += 1;
    }
    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.recency.insert(0, lpn);
        self.count.insert(lpn, 1);
    }
    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        let mut order = tail_first(&self.recency);
        order.sort_by_key(|x| self.count[x]); // stable: recency breaks ties
        order
    }
    fn remove(&mut self, lpn: u64) {
        take_out(&mut self.recency, lpn);
        self.count.remove(&lpn);
    }
    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        if let Some(count) = self.count.remove(&from) {
            self.count.insert(to, count);
        }
        replace(&mut self.recency, from, to)
    }
    fn pages(&self) -> Vec<u64> {
        self.recency.clone()
    }
    fn state(&self, store: &Store) -> String {
        let item = |x: &u64| format!("{}:{}", store.star(*x), self.count[x]);
        let items: Vec<String> = self.recency.iter().map(item).collect();
        format!("[{}]", items.join(" "))
    }
}
