//! BPLRU: LRU over logical blocks; a block that was written completely, in order and once, is not
//! expected to be written again and goes first.
//!
//! Source: H. Kim, S. Ahn, "BPLRU: A Buffer Management Scheme for Improving Random Writes in Flash
//! Storage", FAST 2008: block-level LRU, LRU compensation, page padding.
//!
//! State: one list of blocks, newest first, 24 B each (Req-block section 4.2.5); per block its
//! cached pages and `next`, the page that would continue a sequential fill. Ties: not possible.
//! Cost: O(1) per page, O(pages of the block) per eviction.
//!
//! Where the paper is silent:
//! - A page that leaves alone, by TRIM or because newer data or a background write replace it,
//!   ends the sequential fill of its block (`next` = none).
//! - `compensation=half` counts page writes in a row into one block, whatever their order and
//!   their requests, and stays at the LRU end while the row goes on.
//! - `protect-current` spares the block of the page that comes in, unless it is the only one.
//! - A page that comes in counts as written, also a clean one that a classifier outside gives back.
//! - With `padding` the complete block is programmed, clean cached pages too, if any page of it is
//!   dirty; a block without a dirty page is dropped.

use super::logical_blocks::{BLOCK_NODE_BYTES, BLOCK_PAGES, LogicalBlocks};
use crate::contract::boxed;
use crate::expr::Broken;
use crate::info::{MetadataBound, MinCapacity, PaperSource, ParamInfo, Role, SchemeInfo, Words};
use crate::{
    Access, Code, Env, Expr, GroupPolicy, Groups, PageLists, Placement, RemoveReason, RunContext,
    SchemeStats, Unit, View, params, words,
};
use destage_types::{Lpn, Op, Slot};

/// `bplru`: block padding LRU.
pub const INFO: SchemeInfo = SchemeInfo {
    name: "bplru",
    summary: "LRU of logical blocks; a block written in order goes first, optionally padded.",
    source: PaperSource {
        paper: "Kim, Ahn, BPLRU: A Buffer Management Scheme for Improving Random Writes in \
                Flash Storage, FAST",
        year: Some(2008),
        section: "",
        certain: true,
    },
    role: Role::GroupPolicy,
    params: &[BplruParams::PARAMS],
    ties: "none: the list is a total order",
    write_buffer: true,
    order: Some("blocks from the LRU end; with protect-current the one being written last"),
    min_capacity: MinCapacity::OneBlock,
    metadata: |_, _| Some(MetadataBound::nodes(BLOCK_NODE_BYTES)),
    refuse_run: padding_of_stripes,
    // The block of the page that comes in may be spared.
    victim_is_known: |layer| !layer.flag("protect-current"),
    vectors: &["bplru", "bplrupad"],
    build: Some(boxed::<Groups<Bplru>>),
    ..SchemeInfo::BASE
};

/// X13: a block is padded to be programmed as a whole, so it has to go to one place.
fn padding_of_stripes(layer: &Expr, _run: &RunContext) -> Result<(), Broken> {
    if layer.flag("padding") && layer.word("placement") == "stripe" {
        Err((
            Code::Ftl,
            "padding requires single_block (placement=single-block)".to_owned(),
        ))
    } else {
        Ok(())
    }
}

words! {
    /// When a block is expected not to be written again (BP-2).
    pub enum Compensation {
        /// Once it was written completely, in order.
        Full = "full",
        /// Once half a block of page writes in a row fell into it.
        Half = "half",
        /// Never.
        Off = "off",
    }
}

params! {
    /// Parameters of [`Bplru`].
    #[derive(Copy)]
    pub struct BplruParams {
        /// pages of a logical block
        block_pages: Option<u64> = BLOCK_PAGES,
        /// missing pages are read first and the whole block is programmed
        padding: bool = ParamInfo::flag(false).source("BP-1"),
        /// a block goes first after a full, or half a, sequential fill, or never
        compensation: Compensation = ParamInfo::word(Compensation::WORDS).source("BP-2"),
        /// the block being written is not chosen as victim
        protect_current: bool = ParamInfo::flag(false).source("BP-3"),
        /// a read hit moves its block to MRU
        read_touch: bool = ParamInfo::flag(false).source("D1"),
        /// a block goes to one plane, or is spread over the chips
        placement: Placement = ParamInfo::word(&["single-block", "stripe"]).source("BP-4"),
    }
}

/// Block padding LRU.
#[derive(Clone, Debug)]
pub struct Bplru {
    params: BplruParams,
    blocks: LogicalBlocks,
    /// Page of the block of each node that would continue a sequential fill; `None` for good once
    /// another one was written.
    next: Vec<Option<u64>>,
    /// Block that was written last, and page writes in a row into it.
    row: (u64, u64),
    compensated: u64,
}

impl Bplru {
    /// The page leaves its block. Does the block stay?
    #[inline]
    fn leave(&mut self, slot: Slot) -> bool {
        let node = self.blocks.of(slot);
        let stays = self.blocks.leave(slot);
        if !stays {
            self.next[node as usize] = Some(0);
        }
        stays
    }

    /// A page of the block was written.
    #[inline]
    fn written(&mut self, node: u32, lpn: Lpn) {
        let (number, block_pages) = (self.blocks.number(node), self.blocks.block_pages);
        let offset = lpn.0 - number * block_pages;
        // A page out of order ends it for good: a block that is rewritten is not sequential.
        let next = &mut self.next[node as usize];
        *next = (*next == Some(offset)).then_some(offset + 1);
        let row = match self.row {
            (last, row) if last == number => row + 1,
            _ => 1,
        };
        self.row = (number, row);
        let done = match self.params.compensation {
            Compensation::Full => *next == Some(block_pages),
            Compensation::Half => row >= (block_pages / 2).max(1),
            Compensation::Off => false,
        };
        // LRU compensation: what was written in one go is not expected again and goes first.
        if done {
            self.compensated += 1;
            self.blocks.order.move_to_tail(0, node);
        } else {
            self.blocks.order.move_to_head(0, node);
        }
    }

    /// The least recently used block, or the next one if that is block `spared`.
    #[inline]
    fn coldest(&self, spared: Option<u64>) -> Option<u32> {
        let order = &self.blocks.order;
        let tail = order.tail(0)?;
        if spared != Some(self.blocks.number(tail)) {
            return Some(tail);
        }
        order.newer(tail).or(Some(tail))
    }

    fn collect(&self, node: u32, v: &View, unit: &mut Unit) {
        self.blocks.collect(node, self.params.placement, unit);
        // A block without a dirty page has nothing to program, so nothing is read to complete it.
        if self.params.padding && unit.slots.iter().any(|&s| v.frames.is_dirty(s)) {
            unit.whole = true;
            let first = unit.id * self.blocks.block_pages;
            let all = (first..first + self.blocks.block_pages).map(Lpn);
            unit.pad.extend(all.filter(|&l| v.slot_of(l).is_none()));
        }
    }
}

impl GroupPolicy for Bplru {
    fn build(expr: &Expr, env: &Env) -> Bplru {
        let params = BplruParams::of(expr, env);
        Bplru {
            params,
            blocks: LogicalBlocks::new(params.block_pages, env),
            next: vec![Some(0); env.slots as usize],
            row: (0, 0),
            compensated: 0,
        }
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        let node = self.blocks.join(slot, a.lpn);
        self.written(node, a.lpn);
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, a: &Access, _v: &View) {
        let node = self.blocks.of(slot);
        if a.op == Op::Write {
            self.written(node, a.lpn);
        } else if self.params.read_touch {
            self.blocks.order.move_to_head(0, node);
        }
    }

    #[inline]
    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, _v: &View) {
        let node = self.blocks.of(slot);
        // A page that leaves alone makes a gap; an evicted one leaves with all of its block.
        if self.leave(slot) && reason == RemoveReason::Discarded {
            self.next[node as usize] = None;
        }
    }

    /// The page joins the block of its new address; that is no write (D11).
    fn on_rename(&mut self, _from: Lpn, to: Lpn, slot: Slot, _v: &View) {
        let old = self.blocks.of(slot);
        if self.blocks.number(old) != self.blocks.number_of(to) {
            self.leave(slot);
            self.blocks.join(slot, to);
        }
    }

    fn victim(&mut self, a: &Access, v: &View, unit: &mut Unit) {
        let current = self.params.protect_current;
        let spared = current.then(|| self.blocks.number_of(a.lpn));
        if let Some(node) = self.coldest(spared) {
            self.collect(node, v, unit);
        }
    }

    fn next_unit(&self, v: &View, unit: &mut Unit) {
        if let Some(node) = self.coldest(None) {
            self.collect(node, v, unit);
        }
    }

    fn next_units(
        &self,
        a: &Access,
        v: &View,
        unit: &mut Unit,
        stop: &mut dyn FnMut(&Unit) -> bool,
    ) {
        let current = self.params.protect_current;
        let spared = current.then(|| self.blocks.find(a.lpn)).flatten();
        let mut others = self
            .blocks
            .order
            .from_tail(0)
            .filter(|&n| Some(n) != spared);
        let mut stops = |node| {
            self.collect(node, v, unit);
            unit.stops(stop)
        };
        if !others.any(&mut stops) {
            spared.into_iter().any(stops);
        }
    }

    fn metadata_bytes(&self) -> u64 {
        self.blocks.metadata_bytes()
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.gauge("blocks", self.blocks.len() as u64);
        out.counter("compensations", self.compensated);
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
mod tests;
