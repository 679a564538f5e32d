//! PUD-LRU: a search over all blocks, with whole numbers of any size for the mean of fractions.

use std::cmp::Ordering;

use super::clusters::{block_pages, commas, words_or_dash};
use super::expr::SlowExpr;
use super::groups::{Block, all_pages, rename_page, take_page, to_front};
use super::scheme::{Group, SlowScheme};
use super::store::Store;

/// PUD-LRU's entry of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Updates {
    /// Number of its first page write; of a block that was renamed before, when it was made.
    first: u64,
    writes: u64,
}

impl Updates {
    fn divisor(&self) -> u64 {
        self.writes.max(1)
    }
}

/// PUD-LRU, newest block first.
#[derive(Clone)]
pub struct PudLru {
    blocks: Vec<Block<Updates>>,
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

    fn front(&mut self, lpn: u64) -> &mut Block<Updates> {
        to_front(&mut self.blocks, lpn / self.block_pages)
    }

    fn written(&mut self, lpn: u64) {
        self.now += 1;
        let now = self.now;
        let updates = &mut self.front(lpn).own;
        if updates.writes == 0 {
            updates.first = now;
        }
        updates.writes += 1;
    }

    /// Is the update distance of this block at least the mean of all: d / w * n >= sum of all d / w?
    /// Both sides multiplied by all w.
    fn is_late(&self, at: usize) -> bool {
        let distance = |b: &Block<Updates>| self.now - b.own.first;
        // The product of all divisors but that of one block.
        let others = |but: usize| {
            let others = self.blocks.iter().enumerate().filter(|(i, _)| *i != but);
            others.fold(Big::of(1), |product, (_, b)| product.times(b.own.divisor()))
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
        let side = |x: &Block<Updates>, y: &Block<Updates>| {
            u128::from(self.now - x.own.first) * u128::from(y.own.divisor())
        };
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
            false => drop(self.front(lpn)),
        }
    }

    fn admit(&mut self, lpn: u64, _store: &Store) {
        self.front(lpn).pages.insert(lpn);
        self.written(lpn);
    }

    fn victim(&mut self, _incoming: Option<u64>, _store: &Store) -> Vec<u64> {
        self.evict().expect("a full cache has a block")
    }

    fn next_group(&self, _store: &Store) -> Option<Group> {
        Some((self.clone().evict()?, None))
    }

    fn remove(&mut self, lpn: u64) {
        take_page(&mut self.blocks, lpn);
    }

    fn rename(&mut self, from: u64, to: u64, _store: &Store) -> bool {
        let known = self.pages().contains(&from);
        if known {
            let new = Updates {
                first: self.now,
                writes: 0,
            };
            let number = to / self.block_pages;
            rename_page(&mut self.blocks, from, to, number, new);
        }
        known
    }

    fn pages(&self) -> Vec<u64> {
        all_pages(&self.blocks)
    }

    fn state(&self, _store: &Store) -> String {
        let blocks = self.blocks.iter().map(|b| {
            let distance = (self.now - b.own.first) as f64 / b.own.divisor() as f64;
            let mut distance = format!("{distance:.2}");
            while distance.ends_with('0') {
                distance.pop();
            }
            let distance = distance.trim_end_matches('.');
            let distance = if distance.is_empty() { "0" } else { distance };
            let (number, pages, writes) = (b.number, commas(&b.pages), b.own.writes);
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
