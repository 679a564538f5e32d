//! Logical blocks with cached pages, in an order: what block-level policies keep.

use crate::info::{DefaultValue, ParamInfo};
use crate::lists::{ListArray, Lists};
use crate::store::PageIndex;
use crate::{Env, PageLists, Placement, Unit, View, params};
use destage_types::{Lpn, Slot};

/// Bytes of a block node (Req-block section 4.2.5).
pub const BLOCK_NODE_BYTES: u64 = 24;

/// `block-pages` of every scheme that keeps logical blocks; without its name.
pub const BLOCK_PAGES: ParamInfo = ParamInfo::count(1, 0)
    .default(DefaultValue::Computed(
        "pages per block of the device, 64 without one",
    ))
    .unit("pages")
    .source("measured baselines");

params! {
    /// Parameters of the block-level policies that have no other.
    pub struct BlockParams {
        /// pages of a logical block
        block_pages: Option<u64> = BLOCK_PAGES,
    }
}

/// Number of a node without a block. No block has it: addresses count bytes in 64 bits.
const NO_BLOCK: u64 = u64::MAX;

/// The blocks that have a cached page, in one list or more; each is a node.
#[derive(Clone, Debug)]
pub struct LogicalBlocks<const LISTS: usize = 1> {
    /// Pages of a logical block.
    pub block_pages: u64,
    numbers: Vec<u64>,
    free: Vec<u32>,
    /// Blocks in their order.
    pub order: ListArray<LISTS>,
    /// Pages of each block by slot; list number = node of the block.
    pub pages: Lists,
    /// Block number -> node; an entry counts only while that node has the number.
    index: PageIndex<u32>,
}

impl<const LISTS: usize> LogicalBlocks<LISTS> {
    /// No block yet; they have `block_pages` pages, or as many as those of the device.
    pub fn new(block_pages: Option<u64>, env: &Env) -> LogicalBlocks<LISTS> {
        let slots = env.slots as usize;
        LogicalBlocks {
            block_pages: block_pages.unwrap_or(u64::from(env.pages_per_block)),
            numbers: vec![NO_BLOCK; slots],
            free: (0..env.slots).rev().collect(),
            order: Lists::array(slots),
            pages: Lists::new(slots, slots),
            index: PageIndex::new(0),
        }
    }

    /// Number of the block that has page `lpn`.
    #[inline]
    pub fn number_of(&self, lpn: Lpn) -> u64 {
        lpn.0 / self.block_pages
    }

    /// Number of the block at `node`.
    #[inline]
    pub fn number(&self, node: u32) -> u64 {
        self.numbers[node as usize]
    }

    /// Block of the page in `slot`.
    #[inline]
    pub fn of(&self, slot: Slot) -> u32 {
        self.pages.list_of(slot.0) as u32
    }

    /// The block of page `lpn`, if it has a cached page.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<u32> {
        let number = self.number_of(lpn);
        let known = self.index.get(number);
        (self.numbers[known as usize] == number).then_some(known)
    }

    /// Is the page in `slot` in a block?
    #[inline]
    pub fn has(&self, slot: Slot) -> bool {
        self.pages.list_of(slot.0) < self.pages.lists()
    }

    /// Pages of the block at `node`.
    #[inline]
    pub fn held(&self, node: u32) -> usize {
        self.pages.len(node as usize)
    }

    /// Page `lpn` in `slot` joins its block, which is made at the head of the first list if it is not there.
    #[inline]
    pub fn join(&mut self, slot: Slot, lpn: Lpn) -> u32 {
        let node = self.find(lpn).unwrap_or_else(|| {
            let node = self.free.pop().expect("a block has a cached page");
            let number = self.number_of(lpn);
            self.numbers[node as usize] = number;
            *self.index.at(number) = node;
            self.order.push_head(0, node);
            node
        });
        self.pages.push_head(node as usize, slot.0);
        node
    }

    /// The page leaves its block; without pages there is no block. Does the block stay?
    #[inline]
    pub fn leave(&mut self, slot: Slot) -> bool {
        let node = self.of(slot);
        self.pages.unlink(slot.0);
        if !self.pages.is_empty(node as usize) {
            return true;
        }
        self.order.unlink(node);
        self.numbers[node as usize] = NO_BLOCK;
        self.free.push(node);
        false
    }

    /// All cached pages of a block as the unit that leaves.
    pub fn collect(&self, node: u32, placement: Placement, unit: &mut Unit) {
        unit.id = self.number(node);
        unit.placement = placement;
        unit.slots
            .extend(self.pages.from_tail(node as usize).map(Slot));
    }

    /// Blocks.
    pub fn len(&self) -> usize {
        self.order.lens().iter().sum()
    }

    /// Is there no block?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Blocks from the head of the first list to the tail of the last one.
    pub fn all(&self) -> impl Iterator<Item = u32> + '_ {
        (0..LISTS).flat_map(|list| self.order.from_head(list))
    }

    /// `B1{4,5}`: a block with its pages, with or without stars, and what else is to be said of it.
    #[cfg(feature = "conformance")]
    pub fn shown(&self, v: &crate::View, node: u32, stars: bool, more: &str) -> String {
        let pages = self.pages.from_tail(node as usize).map(Slot);
        let pages = crate::state::sorted(v, pages, stars);
        format!("B{}{{{pages}{more}}}", self.number(node))
    }

    /// Bytes of the nodes.
    pub fn metadata_bytes(&self) -> u64 {
        self.len() as u64 * BLOCK_NODE_BYTES
    }

    /// Pages of a block, ascending.
    pub fn sorted(&self, v: &View, node: u32) -> Vec<Slot> {
        let mut slots: Vec<Slot> = self.pages.from_head(node as usize).map(Slot).collect();
        v.frames.sort_by_lpn(&mut slots);
        slots
    }

    /// The pages of all blocks, those of a block together.
    pub fn lists(&self, name: &'static str, v: &View, out: &mut PageLists) {
        out.add(name, self.all().flat_map(|node| self.sorted(v, node)));
    }

    /// Every block with its pages, newest first.
    #[cfg(feature = "conformance")]
    pub fn state(&self, v: &crate::View, out: &mut String) {
        let blocks = self.all().map(|node| self.shown(v, node, true, ""));
        out.push_str(&crate::state::joined_or_dash(blocks));
    }

    /// Every page that is in a block is in that of its address; gives how many are.
    #[cfg(test)]
    pub fn validate(&self, frames: &crate::store::Frames) -> usize {
        let held = self.all().map(|node| self.held(node)).sum();
        let mut blocked: Vec<Slot> = frames.used_slots().collect();
        blocked.retain(|&slot| self.has(slot));
        assert_eq!(blocked.len(), held);
        for slot in blocked {
            assert_eq!(self.number(self.of(slot)), self.number_of(frames.lpn(slot)));
        }
        self.order
            .validate()
            .and(self.pages.validate())
            .expect("lists are whole");
        held
    }
}
