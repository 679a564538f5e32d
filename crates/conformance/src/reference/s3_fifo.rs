//! S3-FIFO, Algorithm 1 of its paper. Lists are vectors with the head (newest) first.

use std::collections::BTreeMap;

use super::expr::SlowExpr;
use super::scheme::{SlowScheme, forget_oldest, plain, replace, tail_first, take_out};
use super::store::Store;

/// Three queues and the hits of each page.
#[derive(Clone)]
pub struct S3Fifo {
    small: Vec<u64>,
    main: Vec<u64>,
    ghost: Vec<u64>,
    hits: BTreeMap<u64, u64>,
    small_size: usize,
    main_size: usize,
    wanted_hits: u64,
    /// `ghost=kept`: the page that room is made for is no ghost any more.
    keeps: bool,
    /// That page, if it is kept.
    incoming: Option<u64>,
}

impl S3Fifo {
    /// `small`, `move` and `ghost`.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, capacity: usize) -> Result<S3Fifo, String> {
        expr.keys(&["small", "move", "ghost"])?;
        let small_size = (expr.real("small", 0.1)? * capacity as f64).floor() as usize;
        let small_size = small_size.max(1);
        Ok(S3Fifo {
            small: Vec::new(),
            main: Vec::new(),
            ghost: Vec::new(),
            hits: BTreeMap::new(),
            small_size,
            main_size: capacity.saturating_sub(small_size),
            wanted_hits: expr.number("move", 2, 1)?,
            keeps: expr.word("ghost", &["counted", "kept"])? == "kept",
            incoming: None,
        })
    }

    fn evict(&mut self) -> u64 {
        if self.small.len() >= self.small_size || self.main.is_empty() {
            while let Some(page) = self.small.pop() {
                if self.hits[&page] < self.wanted_hits {
                    self.hits.remove(&page);
                    self.remember(page);
                    return page;
                }
                self.hits.insert(page, 0);
                self.main.insert(0, page);
                if self.main.len() > self.main_size {
                    break;
                }
            }
        }
        loop {
            let page = self.main.pop().expect("there are pages");
            match self.hits.remove(&page) {
                Some(hits @ 1..) => {
                    self.hits.insert(page, hits - 1);
                    self.main.insert(0, page);
                }
                _ => return page,
            }
        }
    }

    fn remember(&mut self, page: u64) {
        self.ghost.insert(0, page);
        forget_oldest(&mut self.ghost, self.main_size, self.incoming);
    }
}

impl SlowScheme for S3Fifo {
    fn touch(&mut self, lpn: u64, _write: bool, _store: &Store) {
        let hits = self.hits.get_mut(&lpn).expect("a hit is in a queue");
        *hits = 3.min(*hits + 1);
    }

    fn expect(&mut self, incoming: u64) {
        self.incoming = self.keeps.then_some(incoming);
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.incoming = None;
        self.hits.insert(lpn, 0);
        match take_out(&mut self.ghost, lpn) {
            true => self.main.insert(0, lpn),
            false => self.small.insert(0, lpn),
        }
    }

    /// Evicts one after the other from a copy.
    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        let mut copy = self.clone();
        self.pages().iter().map(|_| copy.evict()).collect()
    }

    /// Another page than the one that is found leaves without a search.
    fn take(&mut self, lpn: u64, _store: &Store) {
        let mut copy = self.clone();
        if copy.evict() == lpn {
            *self = copy;
            return;
        }
        let was_small = self.small.contains(&lpn);
        self.remove(lpn);
        if was_small {
            self.remember(lpn);
        }
    }

    fn remove(&mut self, lpn: u64) {
        take_out(&mut self.small, lpn);
        take_out(&mut self.main, lpn);
        self.hits.remove(&lpn);
    }

    fn forget_ghost(&mut self, lpn: u64) {
        take_out(&mut self.ghost, lpn);
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        let all = [&self.small, &self.main, &self.ghost];
        if !all.iter().any(|list| list.contains(&from)) {
            return false;
        }
        take_out(&mut self.ghost, to);
        if let Some(hits) = self.hits.remove(&from) {
            self.hits.insert(to, hits);
        }
        [&mut self.small, &mut self.main, &mut self.ghost]
            .map(|list| replace(list, from, to))
            .contains(&true)
    }

    fn pages(&self) -> Vec<u64> {
        [tail_first(&self.small), tail_first(&self.main)].concat()
    }

    fn state(&self, store: &Store) -> String {
        let words = |list: &[u64]| {
            let item = |x: &u64| format!("{}:{}", store.star(*x), self.hits[x]);
            let items: Vec<String> = list.iter().map(item).collect();
            items.join(" ")
        };
        format!(
            "S[{}] M[{}] G{}",
            words(&self.small),
            words(&self.main),
            plain(&self.ghost, " ")
        )
    }
}
