//! BPAC and LB-CLOCK: policies that evict whole blocks, and whose search for the victim may change
//! other blocks too. The next victim is therefore found on a copy.

use std::collections::{BTreeMap, BTreeSet};

use super::expr::SlowExpr;
use super::scheme::{Group, SlowScheme, replace, take_out};
use super::store::Store;

/// The one parameter that these schemes have.
pub(super) fn block_pages(expr: &SlowExpr) -> Result<u64, String> {
    expr.keys(&["block-pages"])?;
    expr.number("block-pages", 64, 1)
}

/// `4,5`.
pub(super) fn commas(pages: &BTreeSet<u64>) -> String {
    let pages: Vec<String> = pages.iter().map(u64::to_string).collect();
    pages.join(",")
}

/// The words with spaces between them, or `-` if there are none.
pub(super) fn words_or_dash(words: Vec<String>) -> String {
    match words.is_empty() {
        true => "-".to_owned(),
        false => words.join(" "),
    }
}

/// BPAC, everything newest first.
#[derive(Clone)]
pub struct Bpac {
    pages: Vec<u64>,
    clusters: Vec<(u64, BTreeSet<u64>)>,
    block_pages: u64,
    /// Last access of each page.
    accessed: BTreeMap<u64, u64>,
    accesses: u64,
}

impl Bpac {
    /// Parameters as `expr` has them.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr) -> Result<Bpac, String> {
        Ok(Bpac {
            pages: Vec::new(),
            clusters: Vec::new(),
            block_pages: block_pages(expr)?,
            accessed: BTreeMap::new(),
            accesses: 0,
        })
    }

    fn at(&self, number: u64) -> Option<usize> {
        self.clusters.iter().position(|c| c.0 == number)
    }

    fn access(&mut self, lpn: u64) {
        self.accesses += 1;
        self.accessed.insert(lpn, self.accesses);
    }

    /// The page joins its cluster; a new one stands at `place`.
    fn join(&mut self, lpn: u64, place: usize) {
        let number = lpn / self.block_pages;
        if self.at(number).is_none() {
            self.clusters.insert(place, (number, BTreeSet::new()));
        }
        let at = self.at(number).expect("it was made");
        self.clusters[at].1.insert(lpn);
    }

    fn move_to_front(&mut self, lpn: u64) {
        let at = self.at(lpn / self.block_pages);
        let cluster = self.clusters.remove(at.expect("the page is there"));
        self.clusters.insert(0, cluster);
    }

    /// The page leaves the page list or its cluster.
    fn take(&mut self, lpn: u64) {
        take_out(&mut self.pages, lpn);
        for cluster in &mut self.clusters {
            cluster.1.remove(&lpn);
        }
        self.clusters.retain(|c| !c.1.is_empty());
    }

    fn demote(&mut self) {
        while let Some(&page) = self.pages.last() {
            let last = self.clusters.last().into_iter().flat_map(|c| &c.1);
            let newest = last.map(|x| self.accessed[x]).max();
            if newest.is_some_and(|newest| self.accessed[&page] > newest) {
                break;
            }
            self.pages.pop();
            let end = self.clusters.len();
            self.join(page, end);
        }
    }

    fn evict(&mut self) -> Option<Vec<u64>> {
        self.demote();
        let young = self.clusters.len() / 2;
        let old = young..self.clusters.len();
        let chosen = old.max_by_key(|&at| (self.clusters[at].1.len(), at))?;
        Some(self.clusters.remove(chosen).1.into_iter().collect())
    }
}

impl SlowScheme for Bpac {
    fn touch(&mut self, lpn: u64, write: bool, _store: &Store) {
        self.access(lpn);
        if write || self.pages.contains(&lpn) {
            self.take(lpn);
            self.pages.insert(0, lpn);
        } else {
            self.move_to_front(lpn);
        }
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.access(lpn);
        self.join(lpn, 0);
        self.move_to_front(lpn);
    }

    fn victim(&mut self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        self.evict().expect("a full cache has a page")
    }

    fn next_group(&self, _store: &Store) -> Option<Group> {
        Some((self.clone().evict()?, None))
    }

    fn remove(&mut self, lpn: u64) {
        self.take(lpn);
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        if !self.pages().contains(&from) {
            return false;
        }
        self.accessed.insert(to, self.accessed[&from]);
        if !replace(&mut self.pages, from, to) {
            self.join(to, 0);
            self.take(from);
        }
        true
    }

    fn pages(&self) -> Vec<u64> {
        let clustered = self.clusters.iter().flat_map(|c| c.1.iter());
        self.pages.iter().chain(clustered).copied().collect()
    }

    fn state(&self, store: &Store) -> String {
        let clusters = self.clusters.iter();
        let clusters = clusters.map(|(number, pages)| format!("B{number}{{{}}}", commas(pages)));
        let clusters = words_or_dash(clusters.collect());
        format!("PL{} BL {clusters}", store.list(&self.pages))
    }
}

/// A block of LB-CLOCK.
#[derive(Clone)]
struct Hour {
    number: u64,
    pages: BTreeSet<u64>,
    bit: bool,
}

/// LB-CLOCK.
#[derive(Clone)]
pub struct LbClock {
    ring: Vec<Hour>,
    /// The block at the hand; the length of the ring if that is past the last one.
    hand: usize,
    block_pages: u64,
}

impl LbClock {
    /// Parameters as `expr` has them.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr) -> Result<LbClock, String> {
        Ok(LbClock {
            ring: Vec::new(),
            hand: 0,
            block_pages: block_pages(expr)?,
        })
    }

    fn block(&mut self, lpn: u64) -> Option<&mut Hour> {
        let number = lpn / self.block_pages;
        self.ring.iter_mut().find(|b| b.number == number)
    }

    /// The page joins its block; a new one stands just before the hand.
    fn join(&mut self, lpn: u64) {
        if self.block(lpn).is_none() {
            let new = Hour {
                number: lpn / self.block_pages,
                pages: BTreeSet::new(),
                bit: true,
            };
            self.ring.insert(self.hand, new);
            self.hand += 1;
        }
        self.block(lpn).expect("it was made").pages.insert(lpn);
    }

    fn drop_block(&mut self, at: usize) -> Hour {
        if at < self.hand {
            self.hand -= 1;
        }
        self.ring.remove(at)
    }

    fn evict(&mut self) -> Option<Vec<u64>> {
        let blocks = self.ring.len();
        if blocks == 0 {
            return None;
        }
        self.hand %= blocks;
        for _ in 0..blocks {
            if !self.ring[self.hand].bit {
                break;
            }
            self.ring[self.hand].bit = false;
            self.hand = (self.hand + 1) % blocks;
        }
        let round = (0..blocks).map(|i| (self.hand + i) % blocks);
        let clear: Vec<usize> = round.filter(|&at| !self.ring[at].bit).collect();
        let most = clear.iter().map(|&at| self.ring[at].pages.len()).max();
        let mut fullest = clear
            .into_iter()
            .filter(|&at| Some(self.ring[at].pages.len()) == most);
        let chosen = fullest.next()?;
        Some(self.drop_block(chosen).pages.into_iter().collect())
    }
}

impl SlowScheme for LbClock {
    fn touch(&mut self, lpn: u64, write: bool, _store: &Store) {
        if write {
            self.block(lpn).expect("the page is there").bit = true;
        }
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.join(lpn);
        self.block(lpn).expect("it joined it").bit = true;
    }

    fn victim(&mut self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        self.evict().expect("a full cache has a block")
    }

    fn next_group(&self, _store: &Store) -> Option<Group> {
        Some((self.clone().evict()?, None))
    }

    fn remove(&mut self, lpn: u64) {
        let Some(at) = self.ring.iter().position(|b| b.pages.contains(&lpn)) else {
            return;
        };
        self.ring[at].pages.remove(&lpn);
        if self.ring[at].pages.is_empty() {
            self.drop_block(at);
        }
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        let known = self.pages().contains(&from);
        if known {
            self.join(to);
            self.remove(from);
        }
        known
    }

    fn pages(&self) -> Vec<u64> {
        let pages = self.ring.iter().flat_map(|b| b.pages.iter());
        pages.copied().collect()
    }

    fn state(&self, _store: &Store) -> String {
        let ring = self.ring.iter().enumerate().map(|(at, b)| {
            let hand = if at == self.hand { ">" } else { "" };
            let (number, pages, bit) = (b.number, commas(&b.pages), u8::from(b.bit));
            format!("{hand}B{number}{{{pages};{bit}}}")
        });
        words_or_dash(ring.collect())
    }
}
