//! How full all blocks are, for pictures of the device.

use super::FlashBlocks;

/// Counts of all blocks, in pages or mapping units. Blocks stand die by die, and in a die plane by plane.
#[derive(Clone, Debug, Default)]
pub struct BlockStates {
    /// Wanted and written ones of each block.
    pub counts: Vec<BlockCounts>,
    /// Blocks that are written now, ascending.
    pub open: Vec<u32>,
    /// Place in that order of each group.
    places: Vec<u32>,
}

/// Counts of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockCounts {
    /// Pages or mapping units with wanted data.
    pub valid: u32,
    /// Pages or mapping units written since the last erase.
    pub written: u32,
}

impl FlashBlocks {
    /// Writes how full all blocks are to `out`. Groups come in the order of `key`; `open` are the blocks written now. Of a
    /// block so many places that count as written are none that it has.
    pub fn states<K: Ord>(
        &self,
        key: impl Fn(u32) -> K,
        lacks: impl Fn(u32) -> u32,
        open: impl Iterator<Item = u32>,
        out: &mut BlockStates,
    ) {
        let each = self.shape.blocks;
        if out.places.is_empty() {
            let mut order: Vec<u32> = (0..self.shape.groups).collect();
            order.sort_unstable_by_key(|&group| (key(group), group));
            out.places = vec![0; order.len()];
            for (place, &group) in (0..).zip(&order) {
                out.places[group as usize] = place;
            }
            out.counts = vec![BlockCounts::default(); order.len() * each as usize];
        }
        for group in 0..self.shape.groups {
            let (from, to) = (group * each, out.places[group as usize] * each);
            for index in 0..each {
                let row = self.row(from + index);
                out.counts[(to + index) as usize] = BlockCounts {
                    valid: row.valid(),
                    written: row.written() - lacks(from + index),
                };
            }
        }
        out.open.clear();
        out.open.extend(
            open.map(|block| out.places[self.shape.group_of(block) as usize] * each + block % each),
        );
        out.open.sort_unstable();
        out.open.dedup();
    }
}
