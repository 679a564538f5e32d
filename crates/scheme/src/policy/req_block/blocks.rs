//! The request blocks: nodes, their pages, their three lists and their origins.

mod dirty;
mod origins;

use crate::Upcoming;
use crate::store::prefetch::read_all;
use destage_types::Slot;
use dirty::DirtyBlocks;
use origins::{Link, NO_PAST, Past};

/// Newly written blocks.
pub(super) const IRL: usize = 0;
/// Small blocks that were hit.
pub(super) const SRL: usize = 1;
/// Blocks divided from large ones.
pub(super) const DRL: usize = 2;
/// In no list.
const NOWHERE: u8 = 3;
/// End of a chain of origins.
const END: u32 = u32::MAX;

/// A block by identity: nodes are used again, creation numbers are not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Identity {
    /// Node of the block.
    pub node: u32,
    /// Its creation number, from 1.
    pub born: u64,
}

/// A request block: one line of the processor's cache, all that a hit or an eviction looks at.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Block {
    /// Creation number, from 1.
    pub born: u64,
    /// Request that created it.
    pub request: u64,
    /// Access count.
    pub acc: u64,
    /// Insertion time on the clock of Eq. 1.
    pub inserted: u64,
    /// Request whose hit was counted last.
    pub hit_by: u64,
    /// Pages that the creating request put into it.
    pub created: u32,
    /// Pages in it now.
    pub len: u32,
    /// The page that came last.
    newest: u32,
    /// Neighbours in the list.
    newer: u32,
    older: u32,
    list: u8,
    /// Divided from another block?
    pub split: bool,
}

const FREE: Block = Block {
    born: 0,
    request: 0,
    acc: 0,
    inserted: 0,
    hit_by: 0,
    created: 0,
    len: 0,
    newest: END,
    newer: END,
    older: END,
    list: NOWHERE,
    split: false,
};

/// A page in its block.
#[derive(Clone, Copy, Debug)]
struct Page {
    newer: u32,
    older: u32,
    block: u32,
}

/// All request blocks of a cache.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    /// Behind the blocks stand the ends of the lists: their newest block is `older`, their oldest
    /// one `newer`.
    nodes: Vec<Block>,
    past: Vec<Past>,
    /// Are there chains of origins?
    chains: bool,
    free: Vec<u32>,
    born: u64,
    /// Pages by slot; behind them one that stands for the neighbour of the first and the last page
    /// of every block, so that linking does not branch on whether there is one.
    pages: Vec<Page>,
    /// Blocks in each list, and pages in each list.
    blocks: [usize; 3],
    held: [u64; 3],
    links: Vec<Link>,
    free_links: u32,
    /// Kept for a background layer alone.
    dirty: Option<DirtyBlocks>,
}

impl Blocks {
    /// No block, room for pages in so many `slots`, and for as many origins in chains if `chains`.
    pub fn new(slots: usize, chains: bool) -> Blocks {
        // One more than pages: a block that a division emptied is still looked at when the new
        // one is made.
        let nodes = slots + 1;
        let page = Page {
            newer: slots as u32,
            older: slots as u32,
            block: 0,
        };
        let mut blocks = Blocks {
            nodes: vec![FREE; nodes + 3],
            past: vec![NO_PAST; nodes],
            chains,
            free: (0..nodes as u32).rev().collect(),
            born: 0,
            pages: vec![page; slots + 1],
            blocks: [0; 3],
            held: [0; 3],
            links: Vec::with_capacity(if chains { slots } else { 0 }),
            free_links: END,
            dirty: None,
        };
        for list in [IRL, SRL, DRL] {
            let end = blocks.end(list);
            let node = blocks.get_mut(end);
            (node.newer, node.older) = (end, end);
        }
        blocks
    }

    /// The same, and it is known which blocks are dirty.
    pub fn with_dirty(mut self) -> Blocks {
        self.dirty = Some(DirtyBlocks::new(self.pages.len() - 1, self.past.len()));
        self
    }

    #[inline]
    pub fn get(&self, b: u32) -> &Block {
        &self.nodes[b as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, b: u32) -> &mut Block {
        &mut self.nodes[b as usize]
    }

    /// Origin of the first page moved into a block, if it is split.
    #[inline]
    pub fn origin(&self, b: u32) -> Identity {
        self.past[b as usize].origin
    }

    /// A block is divided from another one.
    #[inline]
    pub fn set_origin(&mut self, b: u32, origin: Identity) {
        self.get_mut(b).split = true;
        self.past[b as usize].origin = origin;
        self.has_heir(origin.node);
    }

    /// Block of the page in `slot`.
    #[inline]
    pub fn of(&self, slot: Slot) -> u32 {
        self.pages[slot.index()].block
    }

    /// Reads the blocks of pages that are accessed soon.
    #[inline]
    pub fn prefetch(&self, upcoming: &Upcoming) {
        let last = self.pages.len() - 1;
        let blocks = upcoming
            .slots()
            .map(|slot| self.pages[(slot as usize).min(last)].block);
        read_all(&blocks, |b| u64::from(self.get(b).len));
    }

    /// Pages of a block.
    #[inline]
    pub fn len(&self, b: u32) -> usize {
        self.get(b).len as usize
    }

    /// Pages of a block, newest first.
    #[inline]
    pub fn pages(&self, b: u32) -> impl Iterator<Item = Slot> + '_ {
        let mut next = self.get(b).newest;
        let nobody = self.nobody();
        std::iter::from_fn(move || {
            let older = (next != nobody).then(|| self.pages[next as usize].older)?;
            Some(Slot(std::mem::replace(&mut next, older)))
        })
    }

    /// The page that stands for no page.
    #[inline]
    fn nobody(&self) -> u32 {
        self.pages.len() as u32 - 1
    }

    /// Pages in IRL, SRL and DRL.
    pub fn held(&self) -> [u64; 3] {
        self.held
    }

    /// Blocks in `list`.
    pub fn blocks(&self, list: usize) -> usize {
        self.blocks[list]
    }

    /// Node that stands for both ends of `list`.
    #[inline]
    fn end(&self, list: usize) -> u32 {
        (self.past.len() + list) as u32
    }

    #[inline]
    fn real(&self, b: u32) -> Option<u32> {
        ((b as usize) < self.past.len()).then_some(b)
    }

    /// Newest block of `list`.
    #[inline]
    pub fn head(&self, list: usize) -> Option<u32> {
        self.real(self.get(self.end(list)).older)
    }

    /// Oldest block of `list`.
    #[inline]
    pub fn tail(&self, list: usize) -> Option<u32> {
        self.real(self.get(self.end(list)).newer)
    }

    /// The block of the same list that is next to the newer side.
    pub fn newer(&self, b: u32) -> Option<u32> {
        self.real(self.get(b).newer)
    }

    /// The block of the same list that is next to the older side.
    pub fn older(&self, b: u32) -> Option<u32> {
        self.real(self.get(b).older)
    }

    /// Blocks of `list`, newest first.
    pub fn newest_first(&self, list: usize) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.head(list), |&b| self.real(self.get(b).older))
    }

    /// Is the block in `list`?
    #[inline]
    pub fn is_in(&self, b: u32, list: usize) -> bool {
        usize::from(self.get(b).list) == list
    }

    /// Block `b`, which is in no list, becomes the newest of `list`.
    #[inline]
    fn push(&mut self, list: usize, b: u32) {
        let end = self.end(list);
        let older = std::mem::replace(&mut self.get_mut(end).older, b);
        self.get_mut(older).newer = b;
        let block = self.get_mut(b);
        (block.newer, block.older, block.list) = (end, older, list as u8);
        self.blocks[list] += 1;
    }

    /// Takes block `b` out of its list; says which one it was.
    #[inline]
    fn unlink(&mut self, b: u32) -> usize {
        let Block {
            newer, older, list, ..
        } = *self.get(b);
        self.get_mut(newer).older = older;
        self.get_mut(older).newer = newer;
        self.get_mut(b).list = NOWHERE;
        self.blocks[usize::from(list)] -= 1;
        if self.dirty.is_some() {
            let newer = self.real(newer);
            let dirty = self.dirty.as_mut();
            dirty.expect("it is known").unlink(list.into(), b, newer);
        }
        usize::from(list)
    }

    /// A new empty block at the head of `list`.
    #[inline]
    pub fn create(&mut self, list: usize, request: u64, acc: u64, inserted: u64) -> u32 {
        let b = self.free.pop().expect("there are fewer blocks than pages");
        self.born += 1;
        *self.get_mut(b) = Block {
            born: self.born,
            request,
            acc,
            inserted,
            newest: self.nobody(),
            ..FREE
        };
        if self.chains {
            self.past[b as usize] = NO_PAST;
        }
        if let Some(dirty) = &mut self.dirty {
            dirty.create(b);
        }
        self.push(list, b);
        b
    }

    /// The page in `slot`, which is in no block, becomes the newest of block `b`; the creating
    /// request of `b` is being served.
    #[inline]
    pub fn put(&mut self, b: u32, slot: Slot) {
        let block = self.get_mut(b);
        block.created += 1;
        block.len += 1;
        let (older, list) = (block.newest, block.list);
        block.newest = slot.0;
        self.pages[slot.index()] = Page {
            newer: self.nobody(),
            older,
            block: b,
        };
        self.pages[older as usize].newer = slot.0;
        self.held[usize::from(list)] += 1;
    }

    /// Takes the page in `slot` out of its block. A block without pages leaves its list, and
    /// the answer is its node, which must be given to [`Blocks::release`].
    #[inline]
    pub fn take(&mut self, slot: Slot) -> Option<u32> {
        let Page {
            newer,
            older,
            block: b,
        } = self.pages[slot.index()];
        let is_newest = newer == self.nobody();
        if let Some(dirty) = &mut self.dirty {
            dirty.forget(slot, b);
        }
        self.pages[newer as usize].older = older;
        self.pages[older as usize].newer = newer;
        let block = self.get_mut(b);
        block.newest = if is_newest { older } else { block.newest };
        block.len -= 1;
        let (len, list) = (block.len, block.list);
        self.held[usize::from(list)] -= 1;
        if len > 0 {
            return None;
        }
        self.unlink(b);
        Some(b)
    }

    /// The node of an empty block may be used again.
    #[inline]
    pub fn release(&mut self, b: u32) {
        if self.chains {
            self.release_origins(b);
        }
        self.free.push(b);
    }

    /// Moves a block to the head of SRL; says whether it was in another list.
    #[inline]
    pub fn upgrade(&mut self, b: u32) -> bool {
        let list = self.unlink(b);
        self.push(SRL, b);
        let pages = self.len(b) as u64;
        self.held[list] -= pages;
        self.held[SRL] += pages;
        list != SRL
    }

    /// The block that `id` means, if it is in IRL at this moment.
    #[inline]
    pub fn in_irl(&self, id: Identity) -> Option<u32> {
        let block = self.get(id.node);
        (block.born == id.born && usize::from(block.list) == IRL).then_some(id.node)
    }

    /// Checks every structure against the others.
    #[cfg(test)]
    pub fn validate(&self, slots: usize) -> Result<(), String> {
        let (mut blocks, mut pages) = (0, 0);
        for list in [IRL, SRL, DRL] {
            let (mut held, before) = (0, blocks);
            let mut newer = self.end(list);
            for b in self.newest_first(list) {
                if self.get(b).newer != newer || self.pages(b).count() != self.len(b) {
                    return Err(format!("block {b} is not linked or counted right"));
                }
                newer = b;
                if usize::from(self.get(b).list) != list || self.len(b) == 0 {
                    return Err(format!("block {b} is empty or thinks it is elsewhere"));
                }
                if let Some(s) = self.pages(b).find(|&s| self.of(s) != b) {
                    return Err(format!("slot {s} is in block {b} and does not know it"));
                }
                held += self.len(b);
                blocks += 1;
            }
            if self.tail(list) != self.real(newer) || blocks - before != self.blocks[list] {
                return Err(format!("list {list} ends elsewhere or is counted wrong"));
            }
            if held as u64 != self.held[list] {
                return Err(format!("list {list} holds {held}, not {:?}", self.held));
            }
            pages += held;
        }
        let free_links = std::iter::successors(self.links.get(self.free_links as usize), |link| {
            self.links.get(link.next as usize)
        });
        let chained = self.past.iter().map(|n| {
            let at = |i: u32| self.links.get(i as usize);
            std::iter::successors(at(n.origins), |link| at(link.next)).count()
        });
        let links = free_links.count() + chained.sum::<usize>();
        if blocks + self.free.len() != self.past.len() || pages != slots {
            return Err(format!("{blocks} blocks and {pages} of {slots} pages"));
        }
        if links != self.links.len() {
            return Err(format!("{links} of {} links", self.links.len()));
        }
        Ok(())
    }
}
