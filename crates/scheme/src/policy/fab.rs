//! FAB: the logical block with most cached pages leaves as a whole, so that the fewest pages have to be
//! copied when it is merged; of equal blocks the one that was written longest ago.
//!
//! Source: Jo, Kang, Park, Kim, Lee, "FAB: Flash-Aware Buffer Management Policy for Portable Media
//! Players", IEEE Transactions on Consumer Electronics 52(2), 2006. State: blocks by recency, 24 B each.
//! Ties: the block written least recently. Cost: O(log of the blocks) per page.
//!
//! A page that leaves alone, or joins another block by a rename, changes how full blocks are, and is no
//! write.

use super::logical_blocks::{BLOCK_NODE_BYTES, BLOCK_PAGES, LogicalBlocks};
use crate::contract::boxed;
use crate::info::{MetadataBound, MinCapacity, PaperSource, ParamInfo, Role, SchemeInfo};
use crate::ranking::Ranking;
use crate::{
    Access, Env, Expr, GroupPolicy, Groups, PageLists, Placement, RemoveReason, SchemeStats, Unit,
    View, params,
};
use destage_types::{Lpn, Op, Slot};
use std::cmp::Reverse;

/// `fab`: fullest block.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "fab",
    summary: "Evicts the logical block with most cached pages.",
    source: PaperSource {
        paper: "Jo et al., FAB: Flash-Aware Buffer Management Policy, IEEE TCE",
        year: Some(2006),
        section: "",
        certain: true,
    },
    role: Role::GroupPolicy,
    params: &[FabParams::PARAMS],
    ties: "nearest the LRU end",
    write_buffer: true,
    order: Some(
        "by pages, most first, then from the LRU end; with protect-current the block being \
                 written last",
    ),
    min_capacity: MinCapacity::OneBlock,
    metadata: |_, _| Some(MetadataBound::nodes(BLOCK_NODE_BYTES)),
    // The block of the page that comes in may be spared.
    victim_is_known: |layer| !layer.flag("protect-current"),
    vectors: &["fab"],
    build: Some(boxed::<Groups<Fab>>),
    ..SchemeInfo::BASE
};

params! {
    /// Parameters of [`Fab`].
    pub struct FabParams {
        /// pages of a logical block
        block_pages: Option<u64> = BLOCK_PAGES,
        /// the block being written is not chosen as victim
        protect_current: bool = ParamInfo::flag(false).source("BP-3"),
    }
}

/// Flash-aware buffer.
#[derive(Clone, Debug)]
pub struct Fab {
    blocks: LogicalBlocks,
    /// Blocks by pages, the most first, and by their last move to the head of the order.
    fullest: Ranking<(Reverse<usize>, u64)>,
    /// That move, and how many there were.
    moved: Vec<u64>,
    moves: u64,
    protect_current: bool,
}

impl Fab {
    fn move_to_head(&mut self, node: u32) {
        self.blocks.order.move_to_head(0, node);
        self.moves += 1;
        self.moved[node as usize] = self.moves;
    }

    fn join(&mut self, slot: Slot, lpn: Lpn) -> u32 {
        let node = self.blocks.join(slot, lpn);
        if self.pages(node) == 1 {
            self.move_to_head(node);
            self.fullest.insert(node, self.key(node));
        }
        node
    }

    fn leave(&mut self, slot: Slot) {
        let node = self.blocks.of(slot);
        if self.blocks.leave(slot) {
            self.fullest.set(node, self.key(node));
        } else {
            self.fullest.remove(node);
        }
    }

    fn pages(&self, node: u32) -> usize {
        self.blocks.held(node)
    }

    fn key(&self, node: u32) -> (Reverse<usize>, u64) {
        (Reverse(self.pages(node)), self.moved[node as usize])
    }

    fn written(&mut self, node: u32) {
        self.move_to_head(node);
        self.fullest.set(node, self.key(node));
    }

    /// The fullest block, or the next one if that is block `spared` and there is another one.
    fn fullest(&self, spared: Option<u64>) -> Option<u32> {
        let first = self.fullest.first()?;
        if spared == Some(self.blocks.number(first)) {
            self.fullest.second().or(Some(first))
        } else {
            Some(first)
        }
    }
}

impl GroupPolicy for Fab {
    fn build(expr: &Expr, env: &Env) -> Fab {
        let FabParams {
            block_pages,
            protect_current,
        } = FabParams::of(expr, env);
        let slots = env.slots as usize;
        Fab {
            blocks: LogicalBlocks::new(block_pages, env),
            fullest: Ranking::new(slots),
            moved: vec![0; slots],
            moves: 0,
            protect_current,
        }
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        let node = self.join(slot, a.lpn);
        self.written(node);
    }

    fn on_hit(&mut self, slot: Slot, a: &Access, _v: &View) {
        if a.op == Op::Write {
            self.written(self.blocks.of(slot));
        }
    }

    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
        self.leave(slot);
    }

    fn on_rename(&mut self, _from: Lpn, to: Lpn, slot: Slot, _v: &View) {
        let old = self.blocks.of(slot);
        if self.blocks.number(old) != self.blocks.number_of(to) {
            self.leave(slot);
            let node = self.join(slot, to);
            self.fullest.set(node, self.key(node));
        }
    }

    fn victim(&mut self, a: &Access, _v: &View, unit: &mut Unit) {
        let spared = self.protect_current.then(|| self.blocks.number_of(a.lpn));
        if let Some(node) = self.fullest(spared) {
            self.blocks.collect(node, Placement::SingleBlock, unit);
        }
    }

    fn next_unit(&self, _v: &View, unit: &mut Unit) {
        if let Some(node) = self.fullest(None) {
            self.blocks.collect(node, Placement::SingleBlock, unit);
        }
    }

    fn next_units(
        &self,
        a: &Access,
        _v: &View,
        unit: &mut Unit,
        stop: &mut dyn FnMut(&Unit) -> bool,
    ) {
        let current = self.protect_current;
        let spared = current.then(|| self.blocks.find(a.lpn)).flatten();
        let mut stops = |node| {
            let placement = Placement::SingleBlock;
            self.blocks.collect(node, placement, unit);
            unit.stops(stop)
        };
        let stopped = self.fullest.any(|n| Some(n) != spared && stops(n));
        if !stopped {
            spared.into_iter().any(stops);
        }
    }

    fn metadata_bytes(&self) -> u64 {
        self.blocks.metadata_bytes()
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.gauge("blocks", self.blocks.len() as u64);
    }

    fn lists(&self, v: &View, out: &mut PageLists) {
        self.blocks.lists("blocks", v, out);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        self.blocks.state(v, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{STILL, TestCache};

    type Cache = TestCache<Groups<Fab>>;

    #[test]
    fn the_fullest_block_leaves() {
        let mut cache = Cache::new("fab(block-pages=4)", 6);
        cache.run("W0 W4-6 W8 W1 W12");
        assert_eq!(cache.said(), "flush{4,5,6}");
        // Blocks 0 and 2 have two pages each; block 0 was written longer ago, and a read changes nothing.
        cache.run("W9 R0 W16 W20");
        assert_eq!(cache.said(), "flush{0,1}");
    }

    #[test]
    fn bp_3_the_block_being_written_may_stay() {
        for (protect, evicted) in [(false, "flush{4,5,6}"), (true, "flush{0}")] {
            let text = format!("fab(block-pages=4,protect-current={protect})");
            let mut cache = Cache::new(&text, 4);
            cache.run("W0 W4-6 W7");
            assert_eq!(cache.said(), evicted);
        }
        let mut cache = Cache::new("fab(block-pages=8,protect-current=true)", 4);
        cache.run("W0-3 W4");
        assert_eq!(cache.said(), "flush{0,1,2,3}", "it is the only one");
    }

    #[test]
    fn random_runs_keep_blocks_and_pages_together() {
        for (seed, capacity) in [(1, 4), (2, 7), (3, 20)] {
            let mut cache = Cache::new("fab(block-pages=4)", capacity);
            cache.random(seed, 20_000, STILL, |cache| {
                let s = cache.scheme.policy();
                assert_eq!(s.blocks.validate(&cache.frames), cache.frames.used());
                assert_eq!(s.fullest.len(), s.blocks.len());
                let most = s.blocks.order.from_head(0).map(|n| s.pages(n)).max();
                assert_eq!(s.fullest(None).map(|n| s.pages(n)), most);
            });
        }
    }
}
