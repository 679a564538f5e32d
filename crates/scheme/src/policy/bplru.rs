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
//! - With `padding` the complete block is programmed, clean cached pages too, if any page of it is
//!   dirty; a block without a dirty page is dropped.

use crate::expr::Broken;
use crate::info::{
    DefaultValue, MetadataBound, MinCapacity, PaperSource, ParamInfo, Role, SchemeInfo, Words,
};
use crate::lists::{ListArray, Lists};
use crate::registry::boxed;
use crate::store::PageIndex;
use crate::{
    Access, Code, Env, Expr, GroupPolicy, Groups, Placement, RemoveReason, RunContext, SchemeStats,
    Unit, View, params, words,
};
use destage_types::{Lpn, Op, Slot};

/// Bytes of a block node (Req-block section 4.2.5).
const BLOCK_NODE_BYTES: u64 = 24;

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
    match layer.flag("padding") && layer.word("placement") == "stripe" {
        true => Err((
            Code::Ftl,
            "padding requires single_block (placement=single-block)".to_owned(),
        )),
        false => Ok(()),
    }
}

/// `block-pages` of every scheme that keeps logical blocks; without its name.
pub(crate) const BLOCK_PAGES: ParamInfo = ParamInfo::count(1, 0)
    .default(DefaultValue::Computed(
        "pages per block of the device, 64 without one",
    ))
    .unit("pages")
    .source("measured baselines");

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

/// A logical block with at least one cached page.
#[derive(Clone, Copy, Debug)]
struct Block {
    number: u64,
    /// Page of the block that would continue a sequential fill; `None` for good once another one
    /// was written.
    next: Option<u64>,
}

/// A node that is free. No block has its number: addresses count bytes in 64 bits.
const NO_BLOCK: Block = Block {
    number: u64::MAX,
    next: None,
};

/// Block padding LRU.
#[derive(Clone, Debug)]
pub struct Bplru {
    params: BplruParams,
    /// Pages of a logical block.
    block_pages: u64,
    blocks: Vec<Block>,
    free: Vec<u32>,
    /// Blocks by recency.
    order: ListArray<1>,
    /// Pages of each block by slot; list number = node of the block.
    pages: Lists,
    /// Block number -> node; an entry counts only while that node has the number.
    index: PageIndex<u32>,
    /// Block that was written last, and page writes in a row into it.
    row: (u64, u64),
    compensated: u64,
}

impl Bplru {
    /// An empty cache as `env` says.
    pub fn new(params: BplruParams, env: &Env) -> Bplru {
        let slots = env.slots as usize;
        let of_device = u64::from(env.pages_per_block);
        Bplru {
            params,
            block_pages: params.block_pages.unwrap_or(of_device),
            blocks: vec![NO_BLOCK; slots],
            free: (0..env.slots).rev().collect(),
            order: Lists::array(slots),
            pages: Lists::new(slots, slots),
            index: PageIndex::new(0),
            row: (0, 0),
            compensated: 0,
        }
    }

    #[inline]
    fn number(&self, lpn: Lpn) -> u64 {
        lpn.0 / self.block_pages
    }

    /// Block of the page in `slot`.
    #[inline]
    fn of(&self, slot: Slot) -> u32 {
        self.pages.list_of(slot.0) as u32
    }

    /// The block of page `lpn`, made at the head of the list if it is not there.
    #[inline]
    fn block_of(&mut self, lpn: Lpn) -> u32 {
        let number = self.number(lpn);
        let known = self.index.get(number);
        if self.blocks[known as usize].number == number {
            return known;
        }
        let node = self.free.pop().expect("a block has a cached page");
        let next = Some(0);
        self.blocks[node as usize] = Block { number, next };
        *self.index.at(number) = node;
        self.order.push_head(0, node);
        node
    }

    /// The page leaves its block; without pages there is no block. Says whether the block stays.
    #[inline]
    fn leave(&mut self, slot: Slot) -> bool {
        let node = self.of(slot);
        self.pages.unlink(slot.0);
        if !self.pages.is_empty(node as usize) {
            return true;
        }
        self.order.unlink(node);
        self.blocks[node as usize] = NO_BLOCK;
        self.free.push(node);
        false
    }

    /// A page of the block was written.
    #[inline]
    fn written(&mut self, node: u32, lpn: Lpn) {
        let block = &mut self.blocks[node as usize];
        let offset = lpn.0 - block.number * self.block_pages;
        // A page out of order ends it for good: a block that is rewritten is not sequential.
        block.next = (block.next == Some(offset)).then_some(offset + 1);
        let row = match self.row {
            (number, row) if number == block.number => row + 1,
            _ => 1,
        };
        self.row = (block.number, row);
        let done = match self.params.compensation {
            Compensation::Full => block.next == Some(self.block_pages),
            Compensation::Half => row >= (self.block_pages / 2).max(1),
            Compensation::Off => false,
        };
        // LRU compensation: what was written in one go is not expected again and goes first.
        if done {
            self.compensated += 1;
            self.order.move_to_tail(0, node);
        } else {
            self.order.move_to_head(0, node);
        }
    }

    /// The least recently used block, or the next one if that is block `spared`.
    #[inline]
    fn coldest(&self, spared: Option<u64>) -> Option<u32> {
        let tail = self.order.tail(0)?;
        if spared != Some(self.blocks[tail as usize].number) {
            return Some(tail);
        }
        self.order.newer(tail).or(Some(tail))
    }

    fn collect(&self, node: u32, v: &View, unit: &mut Unit) {
        let number = self.blocks[node as usize].number;
        unit.id = number;
        unit.placement = self.params.placement;
        let pages = self.pages.from_tail(node as usize).map(Slot);
        unit.slots.extend(pages);
        // A block without a dirty page has nothing to program, so nothing is read to complete it.
        if self.params.padding && unit.slots.iter().any(|&s| v.frames.is_dirty(s)) {
            unit.whole = true;
            let first = number * self.block_pages;
            let all = (first..first + self.block_pages).map(Lpn);
            unit.pad.extend(all.filter(|&l| v.slot_of(l).is_none()));
        }
    }
}

impl GroupPolicy for Bplru {
    fn build(expr: &Expr, env: &Env) -> Bplru {
        Bplru::new(BplruParams::of(expr, env), env)
    }

    #[inline]
    fn on_insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        debug_assert!(a.op == Op::Write, "a write buffer holds written pages only");
        let node = self.block_of(a.lpn);
        self.pages.push_head(node as usize, slot.0);
        self.written(node, a.lpn);
    }

    #[inline]
    fn on_hit(&mut self, slot: Slot, a: &Access, _v: &View) {
        let node = self.of(slot);
        if a.op == Op::Write {
            self.written(node, a.lpn);
        } else if self.params.read_touch {
            self.order.move_to_head(0, node);
        }
    }

    #[inline]
    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, _v: &View) {
        let node = self.of(slot);
        // A page that leaves alone makes a gap; an evicted one leaves with all of its block.
        if self.leave(slot) && reason == RemoveReason::Discarded {
            self.blocks[node as usize].next = None;
        }
    }

    /// The page joins the block of its new address; that is no write (D11).
    fn on_rename(&mut self, _from: Lpn, to: Lpn, slot: Slot, _v: &View) {
        let old = self.of(slot);
        if self.blocks[old as usize].number != self.number(to) {
            self.leave(slot);
            let node = self.block_of(to);
            self.pages.push_head(node as usize, slot.0);
        }
    }

    fn victim(&mut self, a: &Access, v: &View, unit: &mut Unit) {
        let current = self.params.protect_current;
        let spared = current.then(|| self.number(a.lpn));
        if let Some(node) = self.coldest(spared) {
            self.collect(node, v, unit);
        }
    }

    fn next_unit(&self, v: &View, unit: &mut Unit) {
        if let Some(node) = self.coldest(None) {
            self.collect(node, v, unit);
        }
    }

    fn metadata_bytes(&self) -> u64 {
        self.order.len(0) as u64 * BLOCK_NODE_BYTES
    }

    fn stats(&self, out: &mut SchemeStats) {
        out.gauge("blocks", self.order.len(0) as u64);
        out.counter("compensations", self.compensated);
    }

    #[cfg(feature = "conformance")]
    fn state(&self, v: &View, out: &mut String) {
        let blocks = self.order.from_head(0).map(|node| {
            let pages = self.pages.from_tail(node as usize).map(Slot);
            let pages = crate::state::sorted(v, pages, true);
            format!("B{}{{{pages}}}", self.blocks[node as usize].number)
        });
        out.push_str(&crate::state::joined_or_dash(blocks));
    }
}

#[cfg(test)]
mod tests;
