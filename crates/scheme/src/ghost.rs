//! History of pages that are not cached any more, for schemes that keep its order themselves.

use crate::ahead::{Ahead, LOOK_AHEAD, mix};
use crate::sparse::{Place, Sparse};
use destage_types::Lpn;

/// Absent pages ("ghosts"), each with a node that it has until it is removed.
///
/// All operations are O(1) and without hashing. Memory is allocated for `capacity` entries at once
/// (12 B each) and grows (amortised) only if there are more; the lookup takes 4 B per page of
/// every neighbourhood of 512 pages that ever had a ghost.
#[derive(Clone, Debug)]
pub struct GhostTable {
    /// Page of each node; `NO_PAGE` for a node that is free.
    lpn: Vec<Lpn>,
    free: Vec<u32>,
    /// Node of a page. An entry counts only while that node has the page.
    index: Sparse<u32>,
}

/// No LPN: addresses count bytes in 64 bits.
pub(crate) const NO_PAGE: Lpn = Lpn(u64::MAX);

impl GhostTable {
    /// Nothing, with room for `capacity` ghosts.
    pub fn new(capacity: usize) -> GhostTable {
        GhostTable {
            lpn: vec![NO_PAGE; capacity],
            free: (0..capacity as u32).rev().collect(),
            index: Sparse::new(u32::MAX),
        }
    }

    /// Node of the ghost of page `lpn`, if there is one.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<u32> {
        let node = self.index.get(lpn.0);
        let held = self.lpn.get(node as usize) == Some(&lpn);
        held.then_some(node)
    }

    /// Brings what [`GhostTable::find`] reads close, see [`crate::ahead`].
    #[inline(always)]
    pub fn look_ahead(&self, ahead: &Ahead) -> u64 {
        let Some(last) = self.lpn.len().checked_sub(1) else {
            return 0;
        };
        let places: [Place; LOOK_AHEAD] = self.index.places(|i| ahead[i].0);
        let nodes = self.index.look_at(&places);
        mix(&nodes, |n| self.lpn[(n as usize).min(last)].0)
    }

    /// Remembers page `lpn`, of which there is no ghost yet. Returns its node.
    #[inline]
    pub fn enter(&mut self, lpn: Lpn) -> u32 {
        debug_assert!(self.find(lpn).is_none());
        if self.free.is_empty() {
            self.grow();
        }
        let node = self.free.pop().expect("grow adds free nodes");
        self.lpn[node as usize] = lpn;
        *self.index.at(lpn.0) = node;
        node
    }

    /// Forgets the ghost of a node.
    #[inline]
    pub fn remove(&mut self, node: u32) {
        self.lpn[node as usize] = NO_PAGE;
        self.free.push(node);
    }

    /// The ghost of `from` is a ghost of `to` from now on, with the same node. There must be no
    /// ghost of `to`. False, and nothing changes, if there is no ghost of `from`.
    pub fn rename(&mut self, from: Lpn, to: Lpn) -> bool {
        let Some(node) = self.find(from) else {
            return false;
        };
        debug_assert!(self.find(to).is_none());
        self.lpn[node as usize] = to;
        *self.index.at(to.0) = node;
        true
    }

    /// Page of a ghost's node.
    #[inline]
    pub fn lpn(&self, node: u32) -> Lpn {
        self.lpn[node as usize]
    }

    #[cold]
    fn grow(&mut self) {
        let old = self.lpn.len();
        let more = old.max(16);
        self.lpn.resize(old + more, NO_PAGE);
        self.free.extend((old as u32..(old + more) as u32).rev());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn nodes_agree_with_a_map_even_when_they_grow() {
        for capacity in [0, 3, 64] {
            let mut ghosts = GhostTable::new(capacity);
            let mut model: BTreeMap<u64, u32> = BTreeMap::new();
            let mut x = 11u64;
            for _ in 0..20_000 {
                x = x
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                let (lpn, other) = ((x >> 40) % 90, (x >> 20) % 90);
                match (model.get(&lpn).copied(), (x >> 57) & 3) {
                    (None, _) => {
                        let node = ghosts.enter(Lpn(lpn));
                        assert!(model.values().all(|&n| n != node), "a node of its own");
                        model.insert(lpn, node);
                    }
                    (Some(node), 0) => {
                        ghosts.remove(node);
                        model.remove(&lpn);
                    }
                    (Some(node), 1) if !model.contains_key(&other) => {
                        assert!(ghosts.rename(Lpn(lpn), Lpn(other)));
                        model.remove(&lpn);
                        model.insert(other, node);
                    }
                    (Some(node), _) => assert_eq!(ghosts.lpn(node), Lpn(lpn)),
                }
                for page in [lpn, other] {
                    assert_eq!(ghosts.find(Lpn(page)), model.get(&page).copied());
                }
            }
        }
    }

    #[test]
    fn renaming_an_unknown_page_changes_nothing() {
        let mut ghosts = GhostTable::new(2);
        ghosts.enter(Lpn(1));
        assert!(!ghosts.rename(Lpn(7), Lpn(8)));
        assert_eq!(
            (ghosts.find(Lpn(8)), ghosts.find(Lpn(1)).is_some()),
            (None, true)
        );
    }
}
