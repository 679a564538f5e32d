//! How full all blocks of a drive are, for pictures of it.

use super::{NO_BLOCK, UnitMap};
use crate::ftl::{BlockCounts, BlockStates};

impl UnitMap {
    /// Writes how full all blocks are to `out`, in mapping units. A unit counts as written when it is handed over.
    pub fn block_states(&self, out: &mut BlockStates) {
        let shape = &self.shape;
        out.begin(shape.groups, shape.blocks, |group| {
            (group % shape.dies, group)
        });
        let place = |block: u32, places: &[u32]| {
            places[shape.group_of(block) as usize] * shape.blocks + block % shape.blocks
        };
        for block in 0..shape.all_blocks() {
            out.counts[place(block, &out.places) as usize] = BlockCounts {
                valid: self.blocks.valid(block),
                written: self.blocks.written(block),
            };
        }
        let filled = self.open_blocks.iter().map(|at| at.block);
        // The last unit of a block may still be open.
        let units = self.open_units.iter().filter(|unit| unit.open);
        for block in filled.chain(units.map(|unit| unit.block)) {
            if block != NO_BLOCK {
                out.open.push(place(block, &out.places));
            }
        }
        out.open.sort_unstable();
        out.open.dedup();
    }
}
