//! PUD-LRU: a search over all blocks, with whole numbers of any size for the mean of fractions.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::clusters::{block_pages, commas, words_or_dash};
use super::expr::SlowExpr;
use super::scheme::{Group, SlowScheme};
use super::store::Store;

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

    fn move_to_front(&mut self, lpn: u64) {
        let at = self.at(lpn / self.block_pages).expect("the page is there");
        let block = self.blocks.remove(at);
        self.blocks.insert(0, block);
    }

    fn written(&mut self, lpn: u64) {
        self.now += 1;
        self.move_to_front(lpn);
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
            false => self.move_to_front(lpn),
        }
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.join(lpn);
        self.written(lpn);
    }

    fn candidates(&self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        Vec::new() // no order is declared: nothing filters its victims (X15)
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
