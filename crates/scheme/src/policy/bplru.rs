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

use crate::list::ListArena;
use crate::registry::Build;
use crate::sparse::Sparse;
use crate::{Access, Env, Expr, Placement, Scheme, Unit, View, Why};
use destage_types::{Lpn, Op, Slot};

/// Bytes of a block node (Req-block section 4.2.5).
pub(crate) const BLOCK_NODE_BYTES: u64 = 24;

/// When a block is expected not to be written again (BP-2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Compensation {
    /// Once it was written completely, in order.
    #[default]
    Full,
    /// Once half a block of page writes in a row fell into it.
    Half,
    /// Never.
    Off,
}

/// Parameters of [`Bplru`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BplruParams {
    /// Pages of a logical block, at least 1.
    pub block_pages: u64,
    /// Program complete blocks (BP-1)?
    pub padding: bool,
    /// BP-2.
    pub compensation: Compensation,
    /// Spare the block that is being written (BP-3)?
    pub protect_current: bool,
    /// Does a read hit move the block?
    pub read_touch: bool,
    /// Where a block goes on flash (BP-4).
    pub placement: Placement,
}

impl BplruParams {
    /// As the layer `expr` says, for a device as `env` says.
    pub fn from_expr(expr: &Expr, env: &Env) -> BplruParams {
        BplruParams {
            block_pages: expr.block_pages(Some(env.pages_per_block)),
            padding: expr.flag("padding"),
            compensation: match expr.word("compensation") {
                "half" => Compensation::Half,
                "off" => Compensation::Off,
                _ => Compensation::Full,
            },
            protect_current: expr.flag("protect-current"),
            read_touch: expr.flag("read-touch"),
            placement: match expr.word("placement") {
                "stripe" => Placement::Stripe,
                _ => Placement::SingleBlock,
            },
        }
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
    blocks: Vec<Block>,
    free: Vec<u32>,
    /// Blocks by recency.
    order: ListArena,
    /// Pages of each block by slot; list number = node of the block.
    pages: ListArena,
    /// Block of each slot.
    of: Vec<u32>,
    /// Block number -> node; an entry counts only while that node has the number.
    index: Sparse<u32>,
    size: usize,
    /// Block that was written last, and page writes in a row into it.
    row: (u64, u64),
    compensated: u64,
}

impl Bplru {
    /// For a cache of `capacity` pages.
    pub fn new(params: BplruParams, capacity: usize) -> Bplru {
        Bplru {
            params,
            blocks: vec![NO_BLOCK; capacity],
            free: (0..capacity as u32).rev().collect(),
            order: ListArena::new(capacity, 1),
            pages: ListArena::new(capacity, capacity),
            of: vec![0; capacity],
            index: Sparse::new(0),
            size: 0,
            row: (0, 0),
            compensated: 0,
        }
    }

    #[inline]
    fn number(&self, lpn: Lpn) -> u64 {
        lpn.0 / self.params.block_pages
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

    #[inline]
    fn join(&mut self, slot: Slot, node: u32) {
        self.of[slot.index()] = node;
        self.pages.push_head(node as usize, slot.0);
    }

    /// The page leaves its block; without pages there is no block. Says whether the block stays.
    #[inline]
    fn leave(&mut self, slot: Slot) -> bool {
        let node = self.of[slot.index()];
        self.pages.unlink(node as usize, slot.0);
        if !self.pages.is_empty(node as usize) {
            return true;
        }
        self.order.unlink(0, node);
        self.blocks[node as usize] = NO_BLOCK;
        self.free.push(node);
        false
    }

    /// A page of the block was written.
    #[inline]
    fn written(&mut self, node: u32, lpn: Lpn) {
        let block = &mut self.blocks[node as usize];
        let offset = lpn.0 - block.number * self.params.block_pages;
        block.next = (block.next == Some(offset)).then_some(offset + 1);
        let row = match self.row {
            (number, row) if number == block.number => row + 1,
            _ => 1,
        };
        self.row = (block.number, row);
        let done = match self.params.compensation {
            Compensation::Full => block.next == Some(self.params.block_pages),
            Compensation::Half => row >= (self.params.block_pages / 2).max(1),
            Compensation::Off => false,
        };
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

    fn collect(&self, node: u32, v: &View, out: &mut Unit) {
        let number = self.blocks[node as usize].number;
        out.id = number;
        out.placement = self.params.placement;
        let pages = self.pages.from_tail(node as usize).map(Slot);
        out.slots.extend(pages);
        if self.params.padding && out.slots.iter().any(|&s| v.frames.is_dirty(s)) {
            out.whole = true;
            let first = number * self.params.block_pages;
            let all = (first..first + self.params.block_pages).map(Lpn);
            out.pad.extend(all.filter(|&l| v.slot_of(l).is_none()));
        }
    }
}

impl Build for Bplru {
    fn build(expr: &Expr, env: &Env) -> Bplru {
        Bplru::new(BplruParams::from_expr(expr, env), env.slots as usize)
    }
}

impl Scheme for Bplru {
    /// The page joins the block of its new address; that is no write (D11).
    fn rename(&mut self, _from: Lpn, to: Lpn, slot: Option<Slot>, _v: &View) -> bool {
        let Some(slot) = slot else { return false };
        let old = self.of[slot.index()];
        if self.blocks[old as usize].number != self.number(to) {
            self.leave(slot);
            let node = self.block_of(to);
            self.join(slot, node);
        }
        true
    }

    #[inline]
    fn insert(&mut self, slot: Slot, a: &Access, _v: &View) {
        debug_assert!(a.op == Op::Write, "a write buffer holds written pages only");
        let node = self.block_of(a.lpn);
        self.join(slot, node);
        self.written(node, a.lpn);
        self.size += 1;
    }

    #[inline]
    fn touch(&mut self, slot: Slot, a: &Access, _v: &View) {
        let node = self.of[slot.index()];
        if a.op == Op::Write {
            self.written(node, a.lpn);
        } else if self.params.read_touch {
            self.order.move_to_head(0, node);
        }
    }

    #[inline]
    fn remove(&mut self, slot: Slot, why: Why, _v: &View) {
        self.size -= 1;
        let node = self.of[slot.index()];
        if self.leave(slot) && why == Why::Gone {
            self.blocks[node as usize].next = None;
        }
    }

    #[inline]
    fn size(&self) -> usize {
        self.size
    }

    fn victim(&mut self, a: &Access, v: &View, out: &mut Unit) {
        let current = self.params.protect_current;
        let spared = current.then(|| self.number(a.lpn));
        if let Some(node) = self.coldest(spared) {
            self.collect(node, v, out);
        }
    }

    /// Blocks leave whole: there is no order of single pages.
    fn candidates(&self, _v: &View, _f: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        None
    }

    fn next_group(&self, v: &View, out: &mut Unit) {
        if let Some(node) = self.coldest(None) {
            self.collect(node, v, out);
        }
    }

    fn meta_bytes(&self) -> u64 {
        self.order.len(0) as u64 * BLOCK_NODE_BYTES
    }

    fn stats(&self, f: &mut dyn FnMut(&'static str, u64)) {
        f("blocks", self.order.len(0) as u64);
        f("compensations", self.compensated);
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
#[path = "bplru_tests.rs"]
mod tests;
