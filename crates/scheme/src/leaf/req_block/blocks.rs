//! The request blocks: nodes, their pages, their three lists and their origins.

use crate::list::ListArena;
use destage_types::Slot;

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

/// A request block.
#[derive(Clone, Copy, Debug)]
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
    /// Divided from another block?
    pub split: bool,
    /// Origin of the first page moved into it, if `split`.
    pub origin: Identity,
    /// Pages that the creating request put into it.
    pub created: u32,
    list: u8,
    /// Chain of further origins (`merge=all`).
    origins: u32,
    /// Creation number of the last block that took this one, or its origins, as origin.
    taken_by: u64,
}

const FREE: Block = Block {
    born: 0,
    request: 0,
    acc: 0,
    inserted: 0,
    hit_by: 0,
    split: false,
    origin: Identity { node: 0, born: 0 },
    created: 0,
    list: NOWHERE,
    origins: END,
    taken_by: 0,
};

/// An origin in the chain of a block.
#[derive(Clone, Copy, Debug)]
struct Link {
    origin: Identity,
    next: u32,
}

/// All request blocks of a cache.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    nodes: Vec<Block>,
    free: Vec<u32>,
    born: u64,
    lists: ListArena,
    /// Pages of each block by slot, newest first; list number = node.
    pages: ListArena,
    /// Block of each slot.
    of: Vec<u32>,
    /// Pages in each list.
    held: [u64; 3],
    links: Vec<Link>,
    free_links: u32,
}

impl Blocks {
    /// No block, room for `capacity` pages, and for as many origins in chains if `chains`.
    pub fn new(capacity: usize, chains: bool) -> Blocks {
        // One more than pages: a block that a division emptied is still looked at when the new
        // one is made.
        let nodes = capacity + 1;
        Blocks {
            nodes: vec![FREE; nodes],
            free: (0..nodes as u32).rev().collect(),
            born: 0,
            lists: ListArena::new(nodes, 3),
            pages: ListArena::new(capacity, nodes),
            of: vec![0; capacity],
            held: [0; 3],
            links: Vec::with_capacity(if chains { capacity } else { 0 }),
            free_links: END,
        }
    }

    #[inline]
    pub fn get(&self, b: u32) -> &Block {
        &self.nodes[b as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, b: u32) -> &mut Block {
        &mut self.nodes[b as usize]
    }

    /// Block of the page in `slot`.
    #[inline]
    pub fn of(&self, slot: Slot) -> u32 {
        self.of[slot.index()]
    }

    /// Pages of a block.
    #[inline]
    pub fn len(&self, b: u32) -> usize {
        self.pages.len(b as usize)
    }

    /// Pages of a block, newest first.
    #[inline]
    pub fn pages(&self, b: u32) -> impl Iterator<Item = Slot> + '_ {
        self.pages.from_head(b as usize).map(Slot)
    }

    /// Pages in IRL, SRL and DRL.
    pub fn held(&self) -> [u64; 3] {
        self.held
    }

    /// Blocks in `list`.
    pub fn blocks(&self, list: usize) -> usize {
        self.lists.len(list)
    }

    /// Newest block of `list`.
    #[inline]
    pub fn head(&self, list: usize) -> Option<u32> {
        self.lists.head(list)
    }

    /// Oldest block of `list`.
    #[inline]
    pub fn tail(&self, list: usize) -> Option<u32> {
        self.lists.tail(list)
    }

    /// Blocks of `list`, newest first.
    #[cfg(any(test, feature = "conformance"))]
    pub fn newest_first(&self, list: usize) -> impl Iterator<Item = u32> + '_ {
        self.lists.from_head(list)
    }

    /// Is the block in `list`?
    #[inline]
    pub fn is_in(&self, b: u32, list: usize) -> bool {
        usize::from(self.get(b).list) == list
    }

    /// A new empty block at the head of `list`.
    pub fn create(&mut self, list: usize, request: u64, acc: u64, inserted: u64) -> u32 {
        let b = self.free.pop().expect("there are fewer blocks than pages");
        self.born += 1;
        *self.get_mut(b) = Block {
            born: self.born,
            request,
            acc,
            inserted,
            list: list as u8,
            ..FREE
        };
        self.lists.push_head(list, b);
        b
    }

    /// The page in `slot`, which is in no block, becomes the newest of block `b`; the creating
    /// request of `b` is being served.
    #[inline]
    pub fn put(&mut self, b: u32, slot: Slot) {
        self.pages.push_head(b as usize, slot.0);
        self.of[slot.index()] = b;
        let block = self.get_mut(b);
        block.created += 1;
        let list = block.list;
        self.held[usize::from(list)] += 1;
    }

    /// Takes the page in `slot` out of its block. A block without pages leaves its list, and
    /// the answer is its node, which must be given to [`Blocks::release`].
    #[inline]
    pub fn take(&mut self, slot: Slot) -> Option<u32> {
        let b = self.of(slot);
        let list = usize::from(self.get(b).list);
        self.pages.unlink(b as usize, slot.0);
        self.held[list] -= 1;
        if !self.pages.is_empty(b as usize) {
            return None;
        }
        self.lists.unlink(list, b);
        self.get_mut(b).list = NOWHERE;
        Some(b)
    }

    /// The node of an empty block may be used again.
    pub fn release(&mut self, b: u32) {
        let mut at = self.get(b).origins;
        while at != END {
            let next = self.links[at as usize].next;
            self.links[at as usize].next = self.free_links;
            self.free_links = at;
            at = next;
        }
        self.nodes[b as usize] = FREE;
        self.free.push(b);
    }

    /// Moves a block to the head of SRL; says whether it was in another list.
    #[inline]
    pub fn upgrade(&mut self, b: u32) -> bool {
        let list = usize::from(self.get(b).list);
        if list == SRL {
            self.lists.move_to_head(SRL, b);
            return false;
        }
        self.lists.unlink(list, b);
        self.lists.push_head(SRL, b);
        self.get_mut(b).list = SRL as u8;
        let pages = self.len(b) as u64;
        self.held[list] -= pages;
        self.held[SRL] += pages;
        true
    }

    /// The block that `id` means, if it is in IRL at this moment.
    #[inline]
    pub fn in_irl(&self, id: Identity) -> Option<u32> {
        let block = self.get(id.node);
        (block.born == id.born && usize::from(block.list) == IRL).then_some(id.node)
    }

    /// Block `to`, which is being filled, gets block `from` as one more origin.
    ///
    /// Only IRL blocks can be merged and none ever comes back to IRL, so others are left out.
    pub fn add_origin(&mut self, to: u32, from: u32) {
        let (taker, block) = (self.get(to).born, *self.get(from));
        if block.taken_by == taker || usize::from(block.list) != IRL {
            return;
        }
        self.get_mut(from).taken_by = taker;
        let link = Link {
            origin: Identity {
                node: from,
                born: block.born,
            },
            next: self.get(to).origins,
        };
        let at = self.free_links;
        if at == END {
            self.get_mut(to).origins =
                u32::try_from(self.links.len()).expect("fewer than 2^32 origins");
            self.links.push(link);
        } else {
            self.free_links = self.links[at as usize].next;
            self.links[at as usize] = link;
            self.get_mut(to).origins = at;
        }
    }

    /// Block `to`, which is being filled, gets all origins of block `from`.
    pub fn add_origins_of(&mut self, to: u32, from: u32) {
        let taker = self.get(to).born;
        if to == from || self.get(from).taken_by == taker {
            return;
        }
        self.get_mut(from).taken_by = taker;
        let mut at = self.get(from).origins;
        while at != END {
            let Link { origin, next } = self.links[at as usize];
            if let Some(origin) = self.in_irl(origin) {
                self.add_origin(to, origin);
            }
            at = next;
        }
    }

    /// Origins of a block (`merge=all`) that are in IRL at this moment.
    pub fn origins(&self, b: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.get(b).origins;
        std::iter::successors(self.links.get(first as usize), |link| {
            self.links.get(link.next as usize)
        })
        .filter_map(|link| self.in_irl(link.origin))
    }

    /// Checks every structure against the others.
    #[cfg(test)]
    pub fn validate(&self, slots: usize) -> Result<(), String> {
        self.lists.validate()?;
        self.pages.validate()?;
        let (mut blocks, mut pages) = (0, 0);
        for list in [IRL, SRL, DRL] {
            let mut held = 0;
            for b in self.lists.from_head(list) {
                if usize::from(self.get(b).list) != list || self.len(b) == 0 {
                    return Err(format!("block {b} is empty or thinks it is elsewhere"));
                }
                if let Some(s) = self.pages(b).find(|&s| self.of(s) != b) {
                    return Err(format!("slot {s} is in block {b} and does not know it"));
                }
                held += self.len(b);
                blocks += 1;
            }
            if held as u64 != self.held[list] {
                return Err(format!("list {list} holds {held}, not {:?}", self.held));
            }
            pages += held;
        }
        let free_links = std::iter::successors(self.links.get(self.free_links as usize), |link| {
            self.links.get(link.next as usize)
        });
        let chained = self.nodes.iter().map(|n| {
            let at = |i: u32| self.links.get(i as usize);
            std::iter::successors(at(n.origins), |link| at(link.next)).count()
        });
        let links = free_links.count() + chained.sum::<usize>();
        if blocks + self.free.len() != self.nodes.len() || pages != slots {
            return Err(format!("{blocks} blocks and {pages} of {slots} pages"));
        }
        if links != self.links.len() {
            return Err(format!("{links} of {} links", self.links.len()));
        }
        Ok(())
    }
}
