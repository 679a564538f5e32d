//! How full all blocks are, for pictures of the device.

use super::page_map::PageMap;
use destage_types::PlaneId;

/// Counts of all blocks, in pages or mapping units. Blocks stand die by die, and in a die plane by plane.
#[derive(Clone, Debug, Default)]
pub struct BlockStates {
    /// Wanted and written ones of each block.
    pub counts: Vec<BlockCounts>,
    /// Blocks that are written now, ascending.
    pub open: Vec<u32>,
    /// Place in that order of each plane, or of each group of planes that are one.
    pub(crate) places: Vec<u32>,
}

/// Counts of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockCounts {
    /// Pages or mapping units with wanted data.
    pub valid: u32,
    /// Pages or mapping units written since the last erase.
    pub written: u32,
}

impl BlockStates {
    /// Begins anew. Blocks come in groups of `blocks` each, and `keys` has a key of each group that puts the groups in
    /// order.
    pub(crate) fn begin<K: Ord>(&mut self, groups: u32, blocks: u32, key: impl Fn(u32) -> K) {
        if self.places.is_empty() {
            let mut order: Vec<u32> = (0..groups).collect();
            order.sort_unstable_by_key(|&group| (key(group), group));
            self.places = vec![0; groups as usize];
            for (place, &group) in order.iter().enumerate() {
                self.places[group as usize] = place as u32;
            }
            let all = groups as usize * blocks as usize;
            self.counts = vec![BlockCounts::default(); all];
        }
        self.open.clear();
    }
}

impl PageMap {
    /// Blocks of a plane.
    pub fn blocks_per_plane(&self) -> u32 {
        self.blocks_per_plane.get()
    }

    /// Writes how full all blocks are to `out`. `dies_work_apart` says whether the dies of a chip do.
    pub fn block_states(&self, dies_work_apart: bool, out: &mut BlockStates) {
        let per_plane = self.blocks_per_plane.get();
        out.begin(self.units.planes(), per_plane, |plane| {
            let (chip, _) = self.plane_chip(PlaneId(plane));
            let die = match dies_work_apart {
                true => self.plane_address(PlaneId(plane)).die,
                false => 0,
            };
            (chip, die, plane)
        });
        for plane in 0..self.units.planes() {
            let (from, to) = (plane * per_plane, out.places[plane as usize] * per_plane);
            for block in 0..per_plane {
                out.counts[(to + block) as usize] = BlockCounts {
                    valid: self.blocks.valid(from + block),
                    written: self.blocks.written(from + block),
                };
            }
        }
        for (plane, block) in self.frontiers.open_blocks() {
            out.open
                .push(out.places[plane as usize] * per_plane + block % per_plane);
        }
        out.open.sort_unstable();
    }
}
