//! LB-CLOCK: CLOCK over logical blocks. Of the blocks that were not written since the hand passed them,
//! the one with most pages leaves.
//!
//! Source: Debnath, Subramanya, Du, Lilja, "Large Block CLOCK (LB-CLOCK): A Write Caching Algorithm for
//! Solid State Disks", MASCOTS 2009 (reconstruction). State: a ring of blocks, 24 B each, with a bit. Ties:
//! the first from the hand. Cost: O(log of the blocks) per page and for each block that the hand passes,
//! which was written since it passed it last.
//!
//! The ring is a queue: its tail is the block at the hand, and a block that the hand passes goes to the
//! head, as does a new one.
//!
//! Where the paper is silent:
//! - LB-1: reads set no bit; a block that a rename made has the bit of a new one, and one that gets a page
//!   by a rename keeps its own.
//! - D6: the pages of a block are spread over the chips.

use super::logical_blocks::{BLOCK_NODE_BYTES, BlockParams, LogicalBlocks};
use crate::contract::boxed;
use crate::info::{MetadataBound, PaperSource, Role, SchemeInfo};
use crate::ranking::Ranking;
use crate::{
    Access, Env, Expr, GroupPolicy, Groups, PageLists, Placement, RemoveReason, SchemeStats, Unit,
    View,
};
use destage_types::{Lpn, Op, Slot};
use std::cmp::Reverse;

/// `lb-clock`: large block CLOCK.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "lb-clock",
    summary: "CLOCK over logical blocks; among those not written lately the fullest goes.",
    source: PaperSource {
        paper: "Debnath et al., Large Block CLOCK, MASCOTS",
        year: Some(2009),
        section: "abstract",
        certain: false,
    },
    role: Role::GroupPolicy,
    params: &[BlockParams::PARAMS],
    ties: "first from the hand",
    write_buffer: true,
    metadata: |_, _| Some(MetadataBound::nodes(BLOCK_NODE_BYTES)),
    vectors: &["lbclock"],
    build: Some(boxed::<Groups<LbClock>>),
    ..SchemeInfo::BASE
};

/// Large block CLOCK.
#[derive(Clone, Debug)]
pub struct LbClock {
    /// The ring; its tail is at the hand.
    blocks: LogicalBlocks,
    /// Was the block written since the hand passed it?
    written: Vec<bool>,
    /// The blocks that were not, the fullest first, then those nearest the hand.
    unwritten: Ranking<(Reverse<usize>, u64)>,
    /// When a block came to the head of the queue, counted in such moves.
    moved: Vec<u64>,
    moves: u64,
    /// The move after which the hand began its round.
    round: u64,
}

impl LbClock {
    fn key(&self, node: u32) -> (Reverse<usize>, u64) {
        (Reverse(self.blocks.held(node)), self.moved[node as usize])
    }

    fn is_written(&self, node: u32) -> bool {
        self.written[node as usize]
    }

    fn stamp(&mut self, node: u32) {
        self.moves += 1;
        self.moved[node as usize] = self.moves;
    }

    fn join(&mut self, slot: Slot, lpn: Lpn) -> u32 {
        let node = self.blocks.join(slot, lpn);
        if self.blocks.held(node) == 1 {
            self.stamp(node);
            self.written[node as usize] = true;
        } else if !self.is_written(node) {
            self.unwritten.set(node, self.key(node));
        }
        node
    }

    fn write(&mut self, node: u32) {
        if !std::mem::replace(&mut self.written[node as usize], true) {
            self.unwritten.remove(node);
        }
    }

    fn leave(&mut self, slot: Slot) {
        let node = self.blocks.of(slot);
        let stays = self.blocks.leave(slot);
        if !self.is_written(node) {
            if stays {
                self.unwritten.set(node, self.key(node));
            } else {
                self.unwritten.remove(node);
            }
        }
    }

    /// The hand goes on over written blocks and clears their bits, once around at most.
    fn advance(&mut self) {
        self.begin_round();
        while let Some(node) = self.blocks.order.tail(0).filter(|&n| self.is_written(n)) {
            self.written[node as usize] = false;
            self.blocks.order.move_to_head(0, node);
            self.stamp(node);
            self.unwritten.insert(node, self.key(node));
            self.begin_round();
        }
    }

    /// The hand is at the first block of the ring if it has passed all of them.
    fn begin_round(&mut self) {
        let at_hand = self.blocks.order.tail(0);
        if at_hand.is_some_and(|node| self.moved[node as usize] > self.round) {
            self.round = self.moves;
        }
    }

    /// The block that would leave if the hand went on now.
    fn next(&self) -> Option<u32> {
        let mut best = self.unwritten.first();
        // Those that the hand would pass come last, so they have to be fuller.
        let from_hand = self.blocks.order.from_tail(0);
        for node in from_hand.take_while(|&node| self.is_written(node)) {
            if best.is_none_or(|best| self.blocks.held(node) > self.blocks.held(best)) {
                best = Some(node);
            }
        }
        best
    }
}

impl GroupPolicy for LbClock {
    fn build(expr: &Expr, env: &Env) -> LbClock {
        let BlockParams { block_pages } = BlockParams::of(expr, env);
        let slots = env.slots as usize;
        LbClock {
            blocks: LogicalBlocks::new(block_pages, env),
            written: vec![false; slots],
            unwritten: Ranking::new(slots),
            moved: vec![0; slots],
            moves: 0,
            round: 0,
        }
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        let node = self.join(slot, a.lpn);
        self.write(node);
    }

    fn on_hit(&mut self, slot: Slot, a: &Access, _v: &View) {
        if a.op == Op::Write {
            self.write(self.blocks.of(slot));
        }
    }

    fn on_remove(&mut self, slot: Slot, _reason: RemoveReason, _v: &View) {
        self.leave(slot);
    }

    fn on_rename(&mut self, _from: Lpn, to: Lpn, slot: Slot, _v: &View) {
        let old = self.blocks.of(slot);
        if self.blocks.number(old) != self.blocks.number_of(to) {
            self.leave(slot);
            self.join(slot, to);
        }
    }

    fn victim(&mut self, _a: &Access, _v: &View, unit: &mut Unit) {
        self.advance();
        if let Some(node) = self.unwritten.first() {
            self.blocks.collect(node, Placement::Stripe, unit);
        }
    }

    fn next_unit(&self, _v: &View, unit: &mut Unit) {
        if let Some(node) = self.next() {
            self.blocks.collect(node, Placement::Stripe, unit);
        }
    }

    fn metadata_bytes(&self) -> u64 {
        self.blocks.metadata_bytes()
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.gauge("blocks", self.blocks.len() as u64);
    }

    /// Blocks that the hand has passed, then those ahead of it.
    fn lists(&self, v: &View, out: &mut PageLists) {
        let passed = |&node: &u32| self.moved[node as usize] > self.round;
        let queue = self.blocks.order.from_tail(0);
        let (before, ahead): (Vec<u32>, Vec<u32>) = queue.partition(passed);
        for (name, blocks) in [("passed by the hand", before), ("ahead of the hand", ahead)] {
            out.add(
                name,
                blocks.iter().flat_map(|&node| self.blocks.sorted(v, node)),
            );
        }
    }

    /// The ring from its first block on, with the hand unless that has passed all of them.
    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        let passed = |&node: &u32| self.moved[node as usize] > self.round;
        let shown = |node: u32| {
            let bit = format!(";{}", u8::from(self.is_written(node)));
            self.blocks.shown(v, node, false, &bit)
        };
        let queue: Vec<u32> = self.blocks.order.from_tail(0).collect();
        let (before, ahead): (Vec<u32>, Vec<u32>) = queue.into_iter().partition(passed);
        let mut ring: Vec<String> = before.iter().chain(&ahead).map(|&n| shown(n)).collect();
        if !ahead.is_empty() {
            ring[before.len()].insert(0, '>');
        }
        out.push_str(&crate::state::joined_or_dash(ring.into_iter()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{STILL, TestCache};

    type Cache = TestCache<Groups<LbClock>>;

    #[test]
    fn the_fullest_of_those_not_written_leaves() {
        let mut cache = Cache::new("lb-clock(block-pages=4)", 6);
        cache.run("W0 W4-5 W8-9 W12 W0");
        assert_eq!(cache.next_unit(), [4, 5], "the hand would pass all");
        cache.run("W16");
        assert_eq!(cache.said(), "flush{4,5}");
        assert_eq!(cache.state(), "B4{16;1} >B0{0;0} B2{8,9;0} B3{12;0}");
        // Block 0 is at the hand and gets its bit back; the hand passes it, and block 2 is fuller.
        cache.run("W0 W20 W24");
        assert_eq!(cache.said(), "flush{8,9}");
        assert_eq!(
            cache.state(),
            "B4{16;1} B5{20;1} B0{0;0} B6{24;1} >B3{12;0}"
        );
    }

    #[test]
    fn lb_1_neither_reads_nor_renames_are_writes() {
        let mut cache = Cache::new("lb-clock(block-pages=4)", 4);
        cache.run("W0 W4 W8 W12 W16");
        assert_eq!(cache.said(), "flush{0}");
        cache.run("R4");
        assert_eq!(cache.state(), "B4{16;1} >B1{4;0} B2{8;0} B3{12;0}");
        assert!(cache.rename(8, 5));
        assert_eq!(cache.state(), "B4{16;1} >B1{4,5;0} B3{12;0}");
        assert!(cache.rename(12, 20));
        assert_eq!(cache.state(), "B4{16;1} B5{20;1} >B1{4,5;0}");
    }

    #[test]
    fn random_runs_keep_the_ring_whole() {
        for (seed, capacity) in [(1, 3), (2, 7), (3, 20)] {
            let mut cache = Cache::new("lb-clock(block-pages=4)", capacity);
            cache.random(seed, 20_000, STILL, |cache| {
                let s = cache.scheme.policy();
                assert_eq!(s.blocks.validate(&cache.frames), cache.frames.used());
                let moved = s.blocks.order.from_tail(0).map(|n| s.moved[n as usize]);
                assert!(moved.is_sorted_by(|a, b| a < b), "from the hand on");
                let clear = s.blocks.all().filter(|&n| !s.is_written(n)).count();
                assert_eq!(s.unwritten.len(), clear);
                if cache.frames.used() > 0 {
                    assert_eq!(cache.next_unit(), cache.next_victim());
                }
            });
        }
    }
}
