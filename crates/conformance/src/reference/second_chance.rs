//! LRU-WSR, CCF-LRU and AD-LRU as their papers tell them: by searches that move pages. Lists are vectors
//! with the head (newest) first.

use std::collections::BTreeSet;

use super::expr::SlowExpr;
use super::scheme::{SlowScheme, replace, take_out};
use super::store::Store;

/// Which of the three.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Wsr,
    Ccf { keep_scanning: bool },
    Ad { cold_kept: usize },
}

/// Two lists and one flag per page. The first list is that of pages accessed once (CCL, cold), which
/// LRU-WSR does not use.
#[derive(Clone)]
pub struct SecondChance {
    rule: Rule,
    lists: [Vec<u64>; 2],
    /// Pages that the flag is set for: hit since inserted or passed over (hot, referenced); in LRU-WSR
    /// the cold ones.
    flag: BTreeSet<u64>,
}

impl SecondChance {
    /// `lru-wsr`, `ccf-lru` or `ad-lru`.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr, capacity: usize) -> Result<SecondChance, String> {
        let rule = match expr.name.as_str() {
            "ccf-lru" => {
                expr.keys(&["keep-scanning"])?;
                let keep_scanning = expr.flag("keep-scanning", false)?;
                Rule::Ccf { keep_scanning }
            }
            "ad-lru" => {
                expr.keys(&["min-lc"])?;
                let share = expr.real("min-lc", 0.1)? * capacity as f64;
                let cold_kept = share.floor() as usize;
                Rule::Ad { cold_kept }
            }
            _ => expr.keys(&[]).map(|()| Rule::Wsr)?,
        };
        let (lists, flag) = Default::default();
        Ok(SecondChance { rule, lists, flag })
    }

    fn push_head(&mut self, list: usize, lpn: u64) {
        self.lists.iter_mut().for_each(|l| {
            take_out(l, lpn);
        });
        self.lists[list].insert(0, lpn);
    }

    fn wsr(&mut self, store: &Store) -> u64 {
        loop {
            let page = *self.lists[1].last().expect("there are pages");
            if !store.dirty(page) || self.flag.contains(&page) {
                return page;
            }
            self.flag.insert(page);
            self.push_head(1, page);
        }
    }

    fn ccf(&mut self, store: &Store, keep_scanning: bool) -> u64 {
        if let Some(&page) = self.lists[0].last() {
            return page;
        }
        while let Some(&page) = self.lists[1].last() {
            if !self.flag.contains(&page) {
                return page;
            }
            self.flag.remove(&page);
            self.push_head(usize::from(store.dirty(page)), page);
            if !store.dirty(page) && !keep_scanning {
                return page;
            }
        }
        // The scan found no dirty page at all.
        *self.lists[0].last().expect("there are pages")
    }

    fn ad(&mut self, store: &Store, cold_kept: usize) -> u64 {
        let cold = self.lists[0].len() > cold_kept || self.lists[1].is_empty();
        let list = usize::from(!cold);
        if let Some(&page) = self.lists[list].iter().rev().find(|&&x| !store.dirty(x)) {
            return page;
        }
        loop {
            let page = *self.lists[list].last().expect("there are pages");
            if !self.flag.remove(&page) {
                return page;
            }
            self.push_head(list, page);
        }
    }

    /// Searches and takes out what was found.
    fn evict(&mut self, store: &Store) -> u64 {
        let page = match self.rule {
            Rule::Wsr => self.wsr(store),
            Rule::Ccf { keep_scanning } => self.ccf(store, keep_scanning),
            Rule::Ad { cold_kept } => self.ad(store, cold_kept),
        };
        self.remove(page);
        page
    }
}

impl SlowScheme for SecondChance {
    fn touch(&mut self, lpn: u64, _write: bool, _store: &Store) {
        match self.rule {
            Rule::Wsr => self.flag.remove(&lpn),
            _ => self.flag.insert(lpn),
        };
        self.push_head(1, lpn);
    }

    fn admit(&mut self, lpn: u64, store: &Store) {
        let list = match self.rule {
            Rule::Wsr => 1,
            // A page that is moved here to be written is no clean one, whatever it is now.
            Rule::Ccf { .. } => usize::from(store.writing || store.dirty(lpn)),
            Rule::Ad { .. } => {
                self.flag.insert(lpn);
                0
            }
        };
        self.push_head(list, lpn);
    }

    /// Evicts one after the other from a copy.
    fn candidates(&self, _incoming: Option<u64>, store: &Store) -> Vec<u64> {
        let mut copy = self.clone();
        self.pages().iter().map(|_| copy.evict(store)).collect()
    }

    /// Another page than the one that is found leaves without a search.
    fn take(&mut self, lpn: u64, store: &Store) {
        let mut copy = self.clone();
        match copy.evict(store) == lpn {
            true => *self = copy,
            false => self.remove(lpn),
        }
    }

    fn remove(&mut self, lpn: u64) {
        self.lists.iter_mut().for_each(|l| {
            take_out(l, lpn);
        });
        self.flag.remove(&lpn);
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        if self.flag.remove(&from) {
            self.flag.insert(to);
        }
        self.lists
            .each_mut()
            .map(|list| replace(list, from, to))
            .contains(&true)
    }

    fn pages(&self) -> Vec<u64> {
        self.lists.concat()
    }

    fn state(&self, store: &Store) -> String {
        let words = |set: &str, unset: &str| {
            self.lists.each_ref().map(|list| {
                let item = |x: &u64| {
                    let mark = if self.flag.contains(x) { set } else { unset };
                    format!("{}{mark}", store.star(*x))
                };
                let items: Vec<String> = list.iter().map(item).collect();
                format!("[{}]", items.join(" "))
            })
        };
        match self.rule {
            Rule::Wsr => words("c", "")[1].clone(),
            Rule::Ccf { .. } => {
                let [clean, mixed] = words("h", "c");
                format!("CCL{clean} ML{mixed}")
            }
            Rule::Ad { .. } => {
                let [cold, hot] = words("r", "");
                format!("cold{cold} hot{hot}")
            }
        }
    }
}
