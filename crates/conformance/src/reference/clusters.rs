//! PUD-LRU, BPAC and LB-CLOCK: leaves that evict the blocks for which a search over all of them decides.
//! What leaves next is what leaves a copy.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::expr::SlowExpr;
use super::scheme::{Group, SlowScheme, replace, take_out};
use super::store::Store;

fn block_pages(expr: &SlowExpr) -> Result<u64, String> {
    expr.keys(&["block-pages"])?;
    expr.number("block-pages", 64, 1)
}

/// `4,5`.
fn commas(pages: &BTreeSet<u64>) -> String {
    let pages: Vec<String> = pages.iter().map(u64::to_string).collect();
    pages.join(",")
}

fn words_or_dash(words: Vec<String>) -> String {
    match words.is_empty() {
        true => "-".to_owned(),
        false => words.join(" "),
    }
}

/// A block of PUD-LRU.
#[derive(Clone)]
struct Updated {
    number: u64,
    pages: BTreeSet<u64>,
    /// Number of its first page write; of one that was not written yet, when it was made.
    first: u64,
    writes: u64,
}

impl Updated {
    fn divisor(&self) -> u64 {
        self.writes.max(1)
    }
}

/// PUD-LRU, newest block first.
#[derive(Clone)]
pub struct PudLru {
    blocks: Vec<Updated>,
    block_pages: u64,
    /// Page writes so far.
    now: u64,
}

impl PudLru {
    /// Parameters as `expr` has them.
    ///
    /// # Errors
    /// An unknown parameter or a bad value.
    pub fn new(expr: &SlowExpr) -> Result<PudLru, String> {
        Ok(PudLru {
            blocks: Vec::new(),
            block_pages: block_pages(expr)?,
            now: 0,
        })
    }

    fn at(&self, number: u64) -> Option<usize> {
        self.blocks.iter().position(|b| b.number == number)
    }

    /// The page joins its block.
    fn join(&mut self, lpn: u64) {
        let number = lpn / self.block_pages;
        if self.at(number).is_none() {
            let new = Updated {
                number,
                pages: BTreeSet::new(),
                first: self.now,
                writes: 0,
            };
            self.blocks.insert(0, new);
        }
        let at = self.at(number).expect("it was made");
        self.blocks[at].pages.insert(lpn);
    }

    fn to_front(&mut self, lpn: u64) {
        let at = self.at(lpn / self.block_pages).expect("the page is there");
        let block = self.blocks.remove(at);
        self.blocks.insert(0, block);
    }

    fn written(&mut self, lpn: u64) {
        self.now += 1;
        self.to_front(lpn);
        let block = &mut self.blocks[0];
        if block.writes == 0 {
            block.first = self.now;
        }
        block.writes += 1;
    }

    /// Is the update distance of this block at least the mean of all: d / w * n >= sum of all d / w?
    /// Both sides multiplied by all w.
    fn is_late(&self, at: usize) -> bool {
        let distance = |b: &Updated| self.now - b.first;
        // The product of all divisors but that of one block.
        let others = |but: usize| {
            let others = self.blocks.iter().enumerate().filter(|(i, _)| *i != but);
            others.fold(Big::of(1), |product, (_, b)| product.times(b.divisor()))
        };
        let own = others(at)
            .times(distance(&self.blocks[at]))
            .times(self.blocks.len() as u64);
        let each = self.blocks.iter().enumerate();
        let sum = each.fold(Big::of(0), |sum, (i, b)| {
            sum.plus(&others(i).times(distance(b)))
        });
        own.compare(&sum) != Ordering::Less
    }

    /// Is `a` a better victim than `b`, both late?
    fn better(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.blocks[a], &self.blocks[b]);
        let side =
            |x: &Updated, y: &Updated| u128::from(self.now - x.first) * u128::from(y.divisor());
        let by_pages = x.pages.len().cmp(&y.pages.len());
        let by_distance = side(x, y).cmp(&side(y, x));
        // The list has its LRU end last.
        by_pages.then(by_distance).then(a.cmp(&b)) == Ordering::Greater
    }

    fn evict(&mut self) -> Option<Vec<u64>> {
        let late: Vec<usize> = (0..self.blocks.len())
            .filter(|&i| self.is_late(i))
            .collect();
        let chosen = late
            .into_iter()
            .reduce(|a, b| if self.better(a, b) { a } else { b })?;
        Some(self.blocks.remove(chosen).pages.into_iter().collect())
    }
}

impl SlowScheme for PudLru {
    fn touch(&mut self, lpn: u64, write: bool, _store: &Store) {
        match write {
            true => self.written(lpn),
            false => self.to_front(lpn),
        }
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.join(lpn);
        self.written(lpn);
    }

    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        Vec::new() // a group policy: nothing may filter its victims (X3)
    }

    fn victim(&mut self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        self.evict().expect("a full cache has a block")
    }

    fn next_group(&self, _store: &Store) -> Option<Group> {
        Some((self.clone().evict()?, None))
    }

    fn remove(&mut self, lpn: u64) {
        for block in &mut self.blocks {
            block.pages.remove(&lpn);
        }
        self.blocks.retain(|b| !b.pages.is_empty());
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        let known = self.pages().contains(&from);
        if known && from / self.block_pages == to / self.block_pages {
            self.join(to);
            self.remove(from);
        } else if known {
            self.remove(from);
            self.join(to);
        }
        known
    }

    fn pages(&self) -> Vec<u64> {
        let pages = self.blocks.iter().flat_map(|b| b.pages.iter());
        pages.copied().collect()
    }

    fn state(&self, _store: &Store) -> String {
        let blocks = self.blocks.iter().map(|b| {
            let distance = (self.now - b.first) as f64 / b.divisor() as f64;
            let mut distance = format!("{distance:.2}");
            while distance.ends_with('0') {
                distance.pop();
            }
            let distance = distance.trim_end_matches('.');
            let distance = if distance.is_empty() { "0" } else { distance };
            let (number, pages, writes) = (b.number, commas(&b.pages), b.writes);
            format!("B{number}{{{pages};f{writes};PUD{distance}}}")
        });
        words_or_dash(blocks.collect())
    }
}

/// A whole number of any size, in digits of 32 bits, the lowest first.
struct Big(Vec<u64>);

impl Big {
    fn of(n: u64) -> Big {
        Big(vec![n & 0xFFFF_FFFF, n >> 32])
    }

    fn carried(digits: impl Iterator<Item = u128>) -> Big {
        let (mut carry, mut out) = (0, Vec::new());
        for digit in digits {
            carry += digit;
            out.push((carry & 0xFFFF_FFFF) as u64);
            carry >>= 32;
        }
        while carry > 0 {
            out.push((carry & 0xFFFF_FFFF) as u64);
            carry >>= 32;
        }
        Big(out)
    }

    fn times(&self, n: u64) -> Big {
        Big::carried(self.0.iter().map(|&d| u128::from(d) * u128::from(n)))
    }

    fn plus(&self, other: &Big) -> Big {
        let digit = |of: &Big, i: usize| u128::from(of.0.get(i).copied().unwrap_or(0));
        let length = self.0.len().max(other.0.len());
        Big::carried((0..length).map(|i| digit(self, i) + digit(other, i)))
    }

    fn compare(&self, other: &Big) -> Ordering {
        let digit = |of: &Big, i: usize| of.0.get(i).copied().unwrap_or(0);
        let places = (0..self.0.len().max(other.0.len())).rev();
        let mut digits = places.map(|i| digit(self, i).cmp(&digit(other, i)));
        digits.find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
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

    fn to_front(&mut self, lpn: u64) {
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
            self.to_front(lpn);
        }
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.access(lpn);
        self.join(lpn, 0);
        self.to_front(lpn);
    }

    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        Vec::new() // a group policy: nothing may filter its victims (X3)
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
            if from / self.block_pages == to / self.block_pages {
                self.join(to, 0);
                self.take(from);
            } else {
                self.take(from);
                self.join(to, 0);
            }
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

    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        Vec::new() // a group policy: nothing may filter its victims (X3)
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
        if known && from / self.block_pages == to / self.block_pages {
            self.join(to);
            self.remove(from);
        } else if known {
            self.remove(from);
            self.join(to);
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
