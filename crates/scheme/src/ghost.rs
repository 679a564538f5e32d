//! History of pages that are not cached any more: ordered lists of LPNs with a lookup by LPN.

use crate::ahead::{Ahead, LOOK_AHEAD, mix};
use crate::list::ListArena;
use crate::sparse::{Place, Sparse};
use destage_types::Lpn;

/// One or more ordered lists of absent pages ("ghosts") that share one lookup table.
///
/// A page is in at most one of the lists. All operations are O(1) and without hashing. Memory is
/// allocated for `capacity` entries at once (21 B each) and grows (amortised) only if more are
/// pushed; the lookup takes 4 B per page of every neighbourhood of 2,048 pages that ever had a
/// ghost.
#[derive(Clone, Debug)]
pub struct GhostLists {
    lists: ListArena,
    /// Page of each node; `NO_PAGE` for a node in no list.
    lpn: Vec<Lpn>,
    of: Vec<u8>,
    free: Vec<u32>,
    /// Node of a page. An entry counts only while that node has the page.
    index: Sparse<u32>,
}

/// No LPN: addresses count bytes in 64 bits.
pub(crate) const NO_PAGE: Lpn = Lpn(u64::MAX);

/// Where a ghost is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ghost {
    /// Its node; valid until the ghost is removed.
    pub node: u32,
    /// Its list.
    pub list: usize,
}

impl GhostLists {
    /// `lists` empty lists with room for `capacity` ghosts in all.
    pub fn new(capacity: usize, lists: usize) -> GhostLists {
        GhostLists {
            lists: ListArena::new(capacity, lists),
            lpn: vec![NO_PAGE; capacity],
            of: vec![0; capacity],
            free: (0..capacity as u32).rev().collect(),
            index: Sparse::new(u32::MAX),
        }
    }

    /// The ghost of page `lpn`, if there is one.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<Ghost> {
        let node = self.index.get(lpn.0);
        let held = self.lpn.get(node as usize) == Some(&lpn);
        held.then(|| Ghost {
            node,
            list: self.of[node as usize] as usize,
        })
    }

    /// Brings what [`GhostLists::find`] reads close, see [`crate::ahead`].
    #[inline(always)]
    pub fn look_ahead(&self, ahead: &Ahead) -> u64 {
        let Some(last) = self.lpn.len().checked_sub(1) else {
            return 0;
        };
        let places: [Place; LOOK_AHEAD] = self.index.places(|i| ahead[i].0);
        let nodes = self.index.look_at(&places);
        mix(&nodes, |n| self.lpn[(n as usize).min(last)].0)
    }

    /// Remembers page `lpn`, of which there is no ghost yet, as the newest of `list`. Returns
    /// its node.
    #[inline]
    pub fn push_head(&mut self, list: usize, lpn: Lpn) -> u32 {
        let node = self.enter(list, lpn);
        self.lists.push_head(list, node);
        node
    }

    /// Remembers page `lpn`, of which there is no ghost yet, next to the ghost `newer` of `list`,
    /// on its older side. Returns its node.
    pub fn push_older(&mut self, list: usize, lpn: Lpn, newer: u32) -> u32 {
        let node = self.enter(list, lpn);
        self.lists.insert_older(list, node, newer);
        node
    }

    /// A node for `lpn` that is in the table, but not in its list yet.
    #[inline]
    fn enter(&mut self, list: usize, lpn: Lpn) -> u32 {
        debug_assert!(self.find(lpn).is_none());
        if self.free.is_empty() {
            self.grow();
        }
        let node = self.free.pop().expect("grow adds free nodes");
        self.lpn[node as usize] = lpn;
        self.of[node as usize] = list as u8;
        *self.index.at(lpn.0) = node;
        node
    }

    /// Forgets a ghost.
    #[inline]
    pub fn remove(&mut self, ghost: Ghost) {
        self.lpn[ghost.node as usize] = NO_PAGE;
        self.lists.unlink(ghost.list, ghost.node);
        self.free.push(ghost.node);
    }

    /// Forgets page `lpn`; says in which list it was.
    #[inline]
    pub fn forget(&mut self, lpn: Lpn) -> Option<usize> {
        let ghost = self.find(lpn)?;
        self.remove(ghost);
        Some(ghost.list)
    }

    /// Forgets the oldest ghost of `list`; false if the list is empty.
    #[inline]
    pub fn drop_oldest(&mut self, list: usize) -> bool {
        let Some(node) = self.lists.tail(list) else {
            return false;
        };
        self.remove(Ghost { node, list });
        true
    }

    /// The ghost of `from` is a ghost of `to` from now on, in the same place. There must be no
    /// ghost of `to`. False, and nothing changes, if there is no ghost of `from`.
    pub fn rename(&mut self, from: Lpn, to: Lpn) -> bool {
        let Some(ghost) = self.find(from) else {
            return false;
        };
        debug_assert!(self.find(to).is_none());
        self.lpn[ghost.node as usize] = to;
        *self.index.at(to.0) = ghost.node;
        true
    }

    /// Node of the newest ghost of `list`.
    #[inline]
    pub fn newest(&self, list: usize) -> Option<u32> {
        self.lists.head(list)
    }

    /// Node of the oldest ghost of `list`.
    #[inline]
    pub fn oldest(&self, list: usize) -> Option<u32> {
        self.lists.tail(list)
    }

    /// Node of the next older ghost of the same list.
    #[inline]
    pub fn older(&self, node: u32) -> Option<u32> {
        self.lists.older(node)
    }

    /// Page of a ghost's node.
    #[inline]
    pub fn lpn(&self, node: u32) -> Lpn {
        self.lpn[node as usize]
    }

    /// Number of nodes, used or not; all are below it.
    pub fn nodes(&self) -> usize {
        self.lpn.len()
    }

    /// Ghosts in `list`.
    #[inline]
    pub fn len(&self, list: usize) -> usize {
        self.lists.len(list)
    }

    /// Is `list` empty?
    #[inline]
    pub fn is_empty(&self, list: usize) -> bool {
        self.lists.is_empty(list)
    }

    /// Pages of `list` from the newest to the oldest.
    pub fn from_head(&self, list: usize) -> impl Iterator<Item = Lpn> + '_ {
        self.lists.from_head(list).map(|n| self.lpn[n as usize])
    }

    #[cold]
    fn grow(&mut self) {
        let old = self.lpn.len();
        let more = old.max(16);
        self.lists.grow(more);
        self.lpn.resize(old + more, NO_PAGE);
        self.of.resize(old + more, 0);
        self.free.extend((old as u32..(old + more) as u32).rev());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn lists_agree_with_deques_even_when_they_grow() {
        for capacity in [0, 3, 64] {
            let mut ghosts = GhostLists::new(capacity, 2);
            let mut model = [VecDeque::new(), VecDeque::new()];
            let mut x = 11u64;
            for _ in 0..20_000 {
                x = x
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                let (lpn, other) = (Lpn((x >> 40) % 90), Lpn((x >> 20) % 90));
                let list = (x >> 60) as usize & 1;
                let held = model.iter().position(|m| m.contains(&lpn));
                assert_eq!(ghosts.find(lpn).map(|g| g.list), held);
                match (held, (x >> 57) & 3) {
                    (None, _) => {
                        ghosts.push_head(list, lpn);
                        model[list].push_front(lpn);
                    }
                    (Some(l), 0) => {
                        assert_eq!(ghosts.forget(lpn), Some(l));
                        model[l].retain(|&m| m != lpn);
                    }
                    (Some(l), 1) if model.iter().all(|m| !m.contains(&other)) => {
                        assert!(ghosts.rename(lpn, other));
                        let at = model[l].iter().position(|&m| m == lpn).unwrap();
                        model[l][at] = other;
                    }
                    (Some(_), _) => {
                        assert_eq!(ghosts.drop_oldest(list), model[list].pop_back().is_some());
                    }
                }
                for (l, m) in model.iter().enumerate() {
                    assert!(ghosts.from_head(l).eq(m.iter().copied()));
                }
            }
        }
    }

    #[test]
    fn renaming_an_unknown_page_changes_nothing() {
        let mut ghosts = GhostLists::new(2, 1);
        ghosts.push_head(0, Lpn(1));
        assert!(!ghosts.rename(Lpn(7), Lpn(8)));
        assert!(ghosts.from_head(0).eq([Lpn(1)]));
    }
}
