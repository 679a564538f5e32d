//! The sorted blocks in which the LWRS queue keeps its nodes.

use super::lwrs::Set;

/// Where a node stands: number of the block in order, position in the block.
pub(super) type At = (usize, usize);

/// Disjoint sets sorted by first sector, in blocks of an arena.
///
/// Block i in order holds the sets whose first sector is in `floor[i]..floor[i + 1]`. No block is
/// empty unless it is the only one.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    size: usize,
    floor: Vec<u64>,
    order: Vec<u32>,
    fill: Vec<u32>,
    first: Vec<u64>,
    rest: Vec<(u64, u64)>,
    free: Vec<u32>,
    /// Nodes that stay, while blocks are filled anew.
    kept: (Vec<u64>, Vec<(u64, u64)>),
}

impl Blocks {
    /// No nodes; room for `nodes` of them if no more than a quarter is inserted between two calls
    /// of [`Blocks::retain`]. More nodes make it grow.
    pub(super) fn new(nodes: usize) -> Blocks {
        let size = (nodes as f64).sqrt() as usize;
        let size = size.next_power_of_two().clamp(16, 1024);
        let blocks = 3 * nodes / size + 4;
        let mut new = Blocks {
            size,
            floor: Vec::with_capacity(blocks),
            order: Vec::with_capacity(blocks),
            fill: Vec::with_capacity(blocks),
            first: Vec::with_capacity(blocks * size),
            rest: Vec::with_capacity(blocks * size),
            free: Vec::with_capacity(blocks),
            kept: (Vec::with_capacity(nodes), Vec::with_capacity(nodes)),
        };
        new.open(0, 0);
        new
    }

    /// Puts an empty block at place `at` of the order.
    fn open(&mut self, at: usize, floor: u64) {
        let block = self.free.pop().unwrap_or_else(|| {
            let next = self.fill.len();
            self.fill.push(0);
            self.first.resize((next + 1) * self.size, 0);
            self.rest.resize((next + 1) * self.size, (0, 0));
            u32::try_from(next).expect("fewer than 2^32 blocks")
        });
        self.order.insert(at, block);
        self.floor.insert(at, floor);
    }

    #[inline]
    fn base(&self, block: usize) -> usize {
        self.order[block] as usize * self.size
    }

    #[inline]
    fn fill(&self, block: usize) -> usize {
        self.fill[self.order[block] as usize] as usize
    }

    #[inline]
    fn set_fill(&mut self, block: usize, fill: usize) {
        self.fill[self.order[block] as usize] = fill as u32;
    }

    /// Block whose range holds `key`, and how many of its nodes start at `key` or before.
    #[inline]
    fn seek(&self, key: u64) -> At {
        let block = self.floor.partition_point(|&f| f <= key) - 1;
        let base = self.base(block);
        let starts = &self.first[base..base + self.fill(block)];
        (block, starts.partition_point(|&s| s <= key))
    }

    /// The last node that starts at `key` or before.
    #[inline]
    pub(super) fn last_up_to(&self, key: u64) -> Option<At> {
        self.before(self.seek(key))
    }

    /// The node before place `at`.
    #[inline]
    pub(super) fn before(&self, at: At) -> Option<At> {
        match at {
            (0, 0) => None,
            (block, 0) => Some((block - 1, self.fill(block - 1) - 1)),
            (block, n) => Some((block, n - 1)),
        }
    }

    #[inline]
    pub(super) fn get(&self, (block, i): At) -> Set {
        let at = self.base(block) + i;
        let (last, asn) = self.rest[at];
        let first = self.first[at];
        Set { first, last, asn }
    }

    #[inline]
    fn put(&mut self, (block, i): At, set: Set) {
        let at = self.base(block) + i;
        self.first[at] = set.first;
        self.rest[at] = (set.last, set.asn);
    }

    /// Does `first` belong to a block by its range?
    #[inline]
    fn covers(&self, block: usize, first: u64) -> bool {
        self.floor[block] <= first && self.floor.get(block + 1).is_none_or(|&f| first < f)
    }

    /// `set` takes the place of the node at `at`; its neighbours stay before and behind it.
    #[inline]
    pub(super) fn replace(&mut self, at: At, set: Set) {
        if self.covers(at.0, set.first) {
            return self.put(at, set);
        }
        self.remove(at);
        self.insert(set);
    }

    /// Inserts `set`, of which the node at `below` is the next one below.
    #[inline]
    pub(super) fn insert_behind(&mut self, below: At, set: Set) {
        if self.covers(below.0, set.first) {
            self.insert_at((below.0, below.1 + 1), set);
        } else {
            self.insert(set);
        }
    }

    pub(super) fn insert(&mut self, set: Set) {
        let at = self.seek(set.first);
        self.insert_at(at, set);
    }

    #[inline]
    fn insert_at(&mut self, (mut block, mut i): At, set: Set) {
        if self.fill(block) == self.size {
            (block, i) = self.split(block, i);
        }
        let (base, fill) = (self.base(block), self.fill(block));
        self.first.copy_within(base + i..base + fill, base + i + 1);
        self.rest.copy_within(base + i..base + fill, base + i + 1);
        self.put((block, i), set);
        self.set_fill(block, fill + 1);
    }

    /// Moves the upper half of a full block to a new one; says where position `i` is now.
    #[cold]
    fn split(&mut self, block: usize, i: usize) -> At {
        let half = self.size / 2;
        let floor = self.first[self.base(block) + half];
        self.open(block + 1, floor);
        let (from, to) = (self.base(block) + half, self.base(block + 1));
        let moved = self.size - half;
        self.first.copy_within(from..from + moved, to);
        self.rest.copy_within(from..from + moved, to);
        self.set_fill(block, half);
        self.set_fill(block + 1, moved);
        if i > half {
            (block + 1, i - half)
        } else {
            (block, i)
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, (block, i): At) {
        let (base, fill) = (self.base(block), self.fill(block));
        self.first.copy_within(base + i + 1..base + fill, base + i);
        self.rest.copy_within(base + i + 1..base + fill, base + i);
        self.set_fill(block, fill - 1);
        if fill == 1 && self.order.len() > 1 {
            self.free.push(self.order.remove(block));
            self.floor.remove(block);
            self.floor[0] = 0;
        }
    }

    /// Keeps the nodes for which `keep` says true of their serial number, and fills the blocks
    /// evenly.
    pub(super) fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        let (mut first, mut rest) = std::mem::take(&mut self.kept);
        first.clear();
        rest.clear();
        for &block in &self.order {
            let base = block as usize * self.size;
            let range = base..base + self.fill[block as usize] as usize;
            for (&f, &r) in self.first[range.clone()].iter().zip(&self.rest[range]) {
                if keep(r.1) {
                    first.push(f);
                    rest.push(r);
                }
            }
            self.fill[block as usize] = 0;
        }
        self.free.append(&mut self.order);
        self.floor.clear();
        let part = self.size * 3 / 4;
        for (i, (first, rest)) in first.chunks(part).zip(rest.chunks(part)).enumerate() {
            self.open(i, if i == 0 { 0 } else { first[0] });
            let base = self.base(i);
            self.first[base..base + first.len()].copy_from_slice(first);
            self.rest[base..base + rest.len()].copy_from_slice(rest);
            self.set_fill(i, first.len());
        }
        if self.order.is_empty() {
            self.open(0, 0);
        }
        self.kept = (first, rest);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Set> + '_ {
        let blocks = 0..self.order.len();
        blocks.flat_map(move |b| (0..self.fill(b)).map(move |i| self.get((b, i))))
    }

    /// Checks the invariants of the blocks.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let fills: Vec<usize> = (0..self.order.len()).map(|i| self.fill(i)).collect();
        let one = fills.len() == 1;
        assert!(one || fills.iter().all(|&f| f > 0), "an empty block");
        assert_eq!(self.floor[0], 0);
        for (i, &fill) in fills.iter().enumerate() {
            for n in 0..fill {
                let first = self.get((i, n)).first;
                assert!(self.covers(i, first), "a node outside its block");
            }
        }
    }

    /// Memory set aside: nodes and blocks.
    #[cfg(test)]
    pub(super) fn room(&self) -> (usize, usize, usize) {
        let kept = self.kept.0.capacity();
        (self.first.capacity(), self.order.capacity(), kept)
    }
}
