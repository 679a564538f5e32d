//! PUD-LRU: blocks that are expected to be updated late leave first, the fullest of them.
//!
//! Source: Hu, Jiang, Tian, Xu, "PUD-LRU: An Erase-Efficient Write Buffer Management Algorithm for Flash
//! Memory SSD", MASCOTS 2010 (reconstruction). The predicted update distance of a block is the number of
//! page writes since its first one, divided by those that went to it. Blocks below the mean of all are
//! updated frequently; the victim is one of the others. State: blocks by recency, 32 B each. Ties: the
//! larger distance, then the block nearest the LRU end. Cost: O(1) per page, and two scans of all blocks
//! per eviction.
//!
//! Where the paper is silent:
//! - PU-1: the distance counts the page writes that were buffered; the one that needs the room is none yet.
//! - PU-2: a block that a rename made was not written yet. It counts as written once, when it was made,
//!   until its first write.
//! - PU-3: a read hit moves its block to the head of the LRU order (D1), and is no update.
//! - D6: the pages of a block are spread over the chips.

mod mean;

use super::logical_blocks::{BlockParams, LogicalBlocks};
use crate::contract::boxed;
use crate::info::{MetadataBound, PaperSource, Role, SchemeInfo};
use crate::{
    Access, Env, Expr, GroupPolicy, Groups, PageLists, Placement, RemoveReason, SchemeStats, Unit,
    View,
};
use destage_types::{Lpn, Op, Slot};
use mean::Mean;

/// `pud-lru`: predicted update distance.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "pud-lru",
    summary: "Evicts the fullest of the blocks that are predicted to be updated late.",
    source: PaperSource {
        paper: "Hu, Jiang, Tian, Xu, PUD-LRU, MASCOTS",
        year: Some(2010),
        section: "abstract",
        certain: false,
    },
    role: Role::GroupPolicy,
    params: &[BlockParams::PARAMS],
    ties: "larger update distance, then nearest the LRU end",
    write_buffer: true,
    metadata: |_, _| Some(MetadataBound::nodes(NODE_BYTES)),
    vectors: &["pudlru"],
    build: Some(boxed::<Groups<PudLru>>),
    ..SchemeInfo::BASE
};

/// A block with its first write and its number of writes.
const NODE_BYTES: u64 = 32;

/// The writes of a block, by which its update distance is predicted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Updates {
    /// Number of its first page write, of all that were buffered.
    first: u64,
    /// Page writes; 0 of a block that a rename made.
    writes: u64,
}

impl Updates {
    /// The divisor of the page writes since the first one.
    fn divisor(self) -> u64 {
        self.writes.max(1)
    }

    /// The update distance after `now` page writes, rounded.
    fn distance(self, now: u64) -> f64 {
        self.writes_since(now) as f64 / self.divisor() as f64
    }

    /// Page writes since the first one, after `now` page writes.
    fn writes_since(self, now: u64) -> u64 {
        now - self.first
    }
}

/// Predicted update distance.
#[derive(Clone, Debug)]
pub struct PudLru {
    blocks: LogicalBlocks,
    /// By node.
    updates: Vec<Updates>,
    /// Page writes so far.
    now: u64,
}

impl PudLru {
    /// The page joins its block, which is made if it is not there.
    fn join(&mut self, slot: Slot, lpn: Lpn) -> u32 {
        let node = self.blocks.join(slot, lpn);
        if self.blocks.held(node) == 1 {
            self.updates[node as usize] = Updates {
                first: self.now,
                writes: 0,
            };
        }
        node
    }

    /// A page of the block is written.
    fn write(&mut self, node: u32) {
        self.now += 1;
        let updates = &mut self.updates[node as usize];
        if updates.writes == 0 {
            updates.first = self.now;
        }
        updates.writes += 1;
        self.blocks.order.move_to_head(0, node);
    }

    /// Is the block at `node` a better victim than `other`, if both are updated late?
    fn beats(&self, node: u32, other: u32) -> bool {
        let [own, its] = [node, other].map(|node| self.updates[node as usize]);
        let distance = |of: Updates, by: Updates| {
            u128::from(of.writes_since(self.now)) * u128::from(by.divisor())
        };
        let by_pages = self.blocks.held(node).cmp(&self.blocks.held(other));
        let by_distance = distance(own, its).cmp(&distance(its, own));
        by_pages.then(by_distance).is_gt()
    }

    /// The block that leaves next. The scan begins at the LRU end, so of equal blocks the first one wins.
    fn next(&self) -> Option<u32> {
        let all = || {
            let nodes = self.blocks.order.from_tail(0);
            nodes.map(|node| self.updates[node as usize])
        };
        let mean = Mean::new(all, self.now);
        let mut best = None;
        for node in self.blocks.order.from_tail(0) {
            let better = best.is_none_or(|best| self.beats(node, best));
            if better && mean.is_late(self.updates[node as usize]) {
                best = Some(node);
            }
        }
        best
    }
}

impl GroupPolicy for PudLru {
    fn build(expr: &Expr, env: &Env) -> PudLru {
        let BlockParams { block_pages } = BlockParams::of(expr, env);
        PudLru {
            blocks: LogicalBlocks::new(block_pages, env),
            updates: vec![Updates::default(); env.slots as usize],
            now: 0,
        }
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        let node = self.join(slot, a.lpn);
        self.write(node);
    }

    fn on_hit(&mut self, slot: Slot, a: &Access, _v: &View) {
        let node = self.blocks.of(slot);
        if a.op == Op::Write {
            self.write(node);
        } else {
            self.blocks.order.move_to_head(0, node);
        }
    }

    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
        self.blocks.leave(slot);
    }

    fn on_rename(&mut self, _from: Lpn, to: Lpn, slot: Slot, _v: &View) {
        let old = self.blocks.of(slot);
        if self.blocks.number(old) != self.blocks.number_of(to) {
            self.blocks.leave(slot);
            self.join(slot, to);
        }
    }

    fn next_unit(&self, _v: &View, unit: &mut Unit) {
        if let Some(node) = self.next() {
            self.blocks.collect(node, Placement::Stripe, unit);
        }
    }

    fn metadata_bytes(&self) -> u64 {
        self.blocks.len() as u64 * NODE_BYTES
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.gauge("blocks", self.blocks.len() as u64);
    }

    fn lists(&self, v: &View, out: &mut PageLists) {
        self.blocks.lists("blocks", v, out);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        let blocks = self.blocks.order.from_head(0).map(|node| {
            let updates = self.updates[node as usize];
            let (writes, distance) = (updates.writes, updates.distance(self.now));
            let distance = format!("{distance:.2}");
            let distance = distance.trim_end_matches('0').trim_end_matches('.');
            self.blocks
                .shown(v, node, false, &format!(";f{writes};PUD{distance}"))
        });
        out.push_str(&crate::state::joined_or_dash(blocks));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{STILL, TestCache};

    type Cache = TestCache<Groups<PudLru>>;

    #[test]
    fn the_fullest_of_the_late_blocks_leaves() {
        let mut cache = Cache::new("pud-lru(block-pages=4)", 6);
        cache.run("W0 W4-5 W0 W8 W0 W9 W12");
        assert_eq!(
            cache.state(),
            "B3{12;f1;PUD0} B2{8,9;f2;PUD1.5} B0{0;f3;PUD2.33} B1{4,5;f2;PUD3}"
        );
        // The mean is 1.71, so blocks 0 and 1 are late.
        assert_eq!(cache.next_unit(), [4, 5]);
        cache.run("W16");
        assert_eq!(cache.said(), "flush{4,5}");
    }

    #[test]
    fn pu_1_the_write_that_needs_room_is_none_yet() {
        let mut cache = Cache::new("pud-lru(block-pages=2)", 3);
        cache.run("W0 W0 W0 W0 W2-3 W0");
        assert_eq!(cache.state(), "B0{0;f5;PUD1.2} B1{2,3;f2;PUD1}");
        // One write later it would be 1.4 and 1.5.
        cache.run("W4");
        assert_eq!(cache.said(), "flush{0}");
    }

    #[test]
    fn pu_2_a_rename_is_no_write() {
        let mut cache = Cache::new("pud-lru(block-pages=4)", 6);
        cache.run("W0-1 W4");
        assert!(cache.rename(1, 8));
        assert_eq!(cache.state(), "B2{8;f0;PUD0} B1{4;f1;PUD0} B0{0;f2;PUD1}");
        cache.run("W12-13");
        assert_eq!(
            cache.state(),
            "B3{12,13;f2;PUD0.5} B2{8;f0;PUD2} B1{4;f1;PUD2} B0{0;f2;PUD2}"
        );
        cache.run("W8");
        assert_eq!(
            cache.state(),
            "B2{8;f1;PUD0} B3{12,13;f2;PUD1} B1{4;f1;PUD3} B0{0;f2;PUD2.5}"
        );
    }

    #[test]
    fn pu_3_a_read_is_no_update_but_a_use() {
        let mut cache = Cache::new("pud-lru(block-pages=1)", 3);
        cache.run("W0 W1 R0");
        assert_eq!(cache.state(), "B0{0;f1;PUD1} B1{1;f1;PUD0}");
    }

    #[test]
    fn random_runs_keep_every_page_in_its_block() {
        for (seed, capacity) in [(1, 3), (2, 7), (3, 20), (4, 60)] {
            let mut cache = Cache::new("pud-lru(block-pages=4)", capacity);
            cache.random(seed, 10_000, STILL, |cache| {
                let blocks = &cache.scheme.policy().blocks;
                assert_eq!(blocks.validate(&cache.frames), cache.frames.used());
                if cache.frames.used() > 0 {
                    assert_eq!(cache.next_unit(), cache.next_victim());
                }
            });
        }
    }
}
