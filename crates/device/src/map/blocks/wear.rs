//! How worn blocks are, and static wear levelling: the least worn full block of a group.

use super::FlashBlocks;
use super::table::NONE;
use std::collections::BTreeMap;

/// A tree per group over its blocks; every node knows the least worn full block below it.
///
/// Values are stored upside down (the largest is the least worn, 0 is no full block), so that
/// groups without writes take no memory. 8 bytes per block, O(log blocks) per change.
#[derive(Clone, Debug)]
pub(super) struct Coldest {
    nodes: Vec<u32>,
    /// Leaves of a tree, a power of two.
    leaves: u32,
    /// Most erases of a block, by group.
    most: Vec<u32>,
    per_group: u32,
    /// Erases by which a block must be behind to be moved.
    threshold: u32,
}

impl Coldest {
    /// No block is full.
    pub fn new(groups: u32, per_group: u32, threshold: u32) -> Coldest {
        let leaves = per_group.next_power_of_two();
        Coldest {
            nodes: vec![0; groups as usize * 2 * leaves as usize],
            leaves,
            most: vec![0; groups as usize],
            per_group,
            threshold,
        }
    }

    fn set(&mut self, block: u32, value: u32) {
        let (group, within) = (block / self.per_group, block % self.per_group);
        let root = group as usize * 2 * self.leaves as usize;
        let mut node = (self.leaves + within) as usize;
        self.nodes[root + node] = value;
        while node > 1 {
            node /= 2;
            let best = self.nodes[root + 2 * node].max(self.nodes[root + 2 * node + 1]);
            if std::mem::replace(&mut self.nodes[root + node], best) == best {
                break;
            }
        }
    }

    /// `block`, erased `erases` times, is full.
    pub fn filled(&mut self, block: u32, erases: u32) {
        self.set(block, NONE - erases);
    }

    /// `block` is being collected.
    pub fn collected(&mut self, block: u32) {
        self.set(block, 0);
    }

    /// `block` was erased for the `erases`-th time.
    pub fn erased(&mut self, block: u32, erases: u32) {
        let most = &mut self.most[(block / self.per_group) as usize];
        *most = (*most).max(erases);
    }

    /// The least worn full block of `group`, of equals the one with the smallest number, if the most worn block of the
    /// group has more erases by more than the threshold.
    pub fn coldest(&self, group: u32) -> Option<u32> {
        let root = group as usize * 2 * self.leaves as usize;
        let best = self.nodes[root + 1];
        if best == 0 {
            return None;
        }
        let mut node = 1;
        while node < self.leaves as usize {
            node *= 2;
            node += usize::from(self.nodes[root + node] != best);
        }
        let block = group * self.per_group + node as u32 - self.leaves;
        let spread = self.most[group as usize].saturating_sub(NONE - best);
        (spread > self.threshold).then_some(block)
    }

    /// Bytes taken.
    pub fn bytes(&self) -> u64 {
        ((self.nodes.len() + self.most.len()) * 4) as u64
    }
}

/// How worn the blocks of a device are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wear {
    /// (erases, blocks erased so often), ascending.
    pub blocks_by_erases: Vec<(u32, u64)>,
    /// With an SLC cache: (erases of native blocks, of the same in SLC mode, blocks erased so often), ascending.
    pub blocks_by_modes: Vec<(u32, u32, u64)>,
}

impl FlashBlocks {
    /// How often blocks were erased. Each block here stands for `weight` blocks of the array. Those in `erased` were
    /// erased once more.
    pub fn wear(&self, weight: u32, erased: impl Iterator<Item = u32>) -> Wear {
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        let weight = u64::from(weight);
        // Most blocks of a large device are as worn as the one before: one entry per run of them.
        let (mut erases, mut run) = (0, 0);
        for block in 0..self.shape.all_blocks() {
            let of_block = self.row(block).erases();
            if of_block != erases {
                *counts.entry(erases).or_insert(0) += run;
                (erases, run) = (of_block, 0);
            }
            run += weight;
        }
        *counts.entry(erases).or_insert(0) += run;
        for erases in erased.map(|block| self.row(block).erases()) {
            *counts.entry(erases).or_insert(0) -= weight;
            *counts.entry(erases + 1).or_insert(0) += weight;
        }
        Wear {
            blocks_by_erases: counts.into_iter().filter(|row| row.1 > 0).collect(),
            blocks_by_modes: Vec::new(),
        }
    }
}
