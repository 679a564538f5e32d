//! Where the pages of divided blocks come from: the blocks they may be merged with again.

use super::{Blocks, END, IRL, Identity};

/// Where the pages of a block come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Past {
    /// Origin of the first page moved into it, if it is split.
    pub(super) origin: Identity,
    /// Creation number of the last block that took this one, or its origins, as origin.
    pub(super) taken_by: u64,
    /// Chain of further origins (`merge=all`).
    pub(super) origins: u32,
}

pub(super) const NO_PAST: Past = Past {
    origin: Identity { node: 0, born: 0 },
    taken_by: 0,
    origins: END,
};

/// An origin in the chain of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) origin: Identity,
    pub(super) next: u32,
}

impl Blocks {
    pub(super) fn release_origins(&mut self, b: u32) {
        let mut at = std::mem::replace(&mut self.past[b as usize].origins, END);
        while at != END {
            let next = self.links[at as usize].next;
            self.links[at as usize].next = self.free_links;
            self.free_links = at;
            at = next;
        }
    }

    /// Block `to`, which is being filled, gets block `from` as one more origin.
    ///
    /// Only IRL blocks can be merged and none ever comes back to IRL, so others are left out.
    pub fn add_origin(&mut self, to: u32, from: u32) {
        let (taker, born) = (self.get(to).born, self.get(from).born);
        if self.past[from as usize].taken_by == taker || !self.is_in(from, IRL) {
            return;
        }
        self.past[from as usize].taken_by = taker;
        let origin = Identity { node: from, born };
        let next = self.past[to as usize].origins;
        let link = Link { origin, next };
        let at = self.free_links;
        self.past[to as usize].origins = if at == END {
            self.links.push(link);
            u32::try_from(self.links.len() - 1).expect("fewer than 2^32 origins")
        } else {
            self.free_links = self.links[at as usize].next;
            self.links[at as usize] = link;
            at
        };
    }

    /// Block `to`, which is being filled, gets all origins of block `from`.
    pub fn add_origins_of(&mut self, to: u32, from: u32) {
        let taker = self.get(to).born;
        let past = &mut self.past[from as usize];
        if to == from || past.taken_by == taker {
            return;
        }
        past.taken_by = taker;
        let mut at = past.origins;
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
        let first = self.past[b as usize].origins;
        std::iter::successors(self.links.get(first as usize), |link| {
            self.links.get(link.next as usize)
        })
        .filter_map(|link| self.in_irl(link.origin))
    }
}
