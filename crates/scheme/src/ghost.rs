//! History of pages that are not cached any more: ordered lists of LPNs with a lookup by LPN.

use crate::list::ListArena;
use destage_types::Lpn;

/// One or more ordered lists of absent pages ("ghosts") that share one lookup table.
///
/// A page is in at most one of the lists. All operations are O(1). The table holds 8 B per entry
/// at a load of at most one half; memory is allocated for `capacity` entries at once and grows
/// (amortised) only if more are pushed.
#[derive(Clone, Debug)]
pub struct GhostLists {
    lists: ListArena,
    lpn: Vec<Lpn>,
    of: Vec<u8>,
    free: Vec<u32>,
    table: Table,
}

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
            lpn: vec![Lpn(0); capacity],
            of: vec![0; capacity],
            free: (0..capacity as u32).rev().collect(),
            table: Table::new(capacity),
        }
    }

    /// The ghost of page `lpn`, if there is one.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<Ghost> {
        let node = self.table.get(lpn, &self.lpn)?;
        Some(Ghost {
            node,
            list: self.of[node as usize] as usize,
        })
    }

    /// Remembers page `lpn`, of which there is no ghost yet, as the newest of `list`.
    #[inline]
    pub fn push_head(&mut self, list: usize, lpn: Lpn) {
        debug_assert!(self.find(lpn).is_none());
        if self.free.is_empty() {
            self.grow();
        }
        let node = self.free.pop().expect("grow adds free nodes");
        self.lpn[node as usize] = lpn;
        self.of[node as usize] = list as u8;
        self.lists.push_head(list, node);
        self.table.insert(lpn, node);
    }

    /// Forgets a ghost.
    #[inline]
    pub fn remove(&mut self, ghost: Ghost) {
        self.table.remove(self.lpn[ghost.node as usize], ghost.node);
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
        self.table.remove(from, ghost.node);
        self.lpn[ghost.node as usize] = to;
        self.table.insert(to, ghost.node);
        true
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
        let (old, more) = (self.lpn.len(), self.lpn.len().max(16));
        self.lists.grow(more);
        self.lpn.resize(old + more, Lpn(0));
        self.of.resize(old + more, 0);
        self.free.extend((old as u32..(old + more) as u32).rev());
        self.table = Table::new(old + more);
        for list in 0..self.lists.lists() {
            for node in self.lists.from_head(list) {
                self.table.insert(self.lpn[node as usize], node);
            }
        }
    }
}

/// LPN -> node: open addressing, linear probing, deletion by shifting back. An entry holds the
/// low half of the hash, so that an LPN is compared only when it is almost surely the right one.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    entries: Vec<Entry>,
    mask: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    node: u32,
}

const EMPTY: Entry = Entry {
    hash: 0,
    node: u32::MAX,
};

/// High half of a multiplication by 2^64 / golden ratio: good enough for page numbers, cheap.
#[inline]
fn hash(lpn: Lpn) -> u32 {
    let x = (lpn.0 ^ (lpn.0 >> 29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x >> 32) as u32
}

impl Table {
    /// A table for up to `capacity` nodes.
    pub(crate) fn new(capacity: usize) -> Table {
        let size = (2 * capacity.max(4)).next_power_of_two();
        let mask = u32::try_from(size - 1).expect("a ghost table has at most 2^32 entries");
        Table {
            entries: vec![EMPTY; size],
            mask,
        }
    }

    /// Node of `lpn`, whose LPNs stand in `lpns` by node.
    #[inline]
    pub(crate) fn get(&self, lpn: Lpn, lpns: &[Lpn]) -> Option<u32> {
        let hash = hash(lpn);
        let mut at = hash & self.mask;
        loop {
            let entry = self.entries[at as usize];
            if entry.node == u32::MAX {
                return None;
            }
            if entry.hash == hash && lpns[entry.node as usize] == lpn {
                return Some(entry.node);
            }
            at = (at + 1) & self.mask;
        }
    }

    /// Enters `lpn`, which must not be in the table.
    #[inline]
    pub(crate) fn insert(&mut self, lpn: Lpn, node: u32) {
        let hash = hash(lpn);
        let mut at = hash & self.mask;
        while self.entries[at as usize].node != u32::MAX {
            at = (at + 1) & self.mask;
        }
        self.entries[at as usize] = Entry { hash, node };
    }

    /// Removes `lpn`, which must be in the table as `node`.
    #[inline]
    pub(crate) fn remove(&mut self, lpn: Lpn, node: u32) {
        let mut at = hash(lpn) & self.mask;
        while self.entries[at as usize].node != node {
            debug_assert!(
                self.entries[at as usize].node != u32::MAX,
                "{lpn} is not in the table"
            );
            at = (at + 1) & self.mask;
        }
        let mut hole = at;
        loop {
            at = (at + 1) & self.mask;
            let entry = self.entries[at as usize];
            if entry.node == u32::MAX {
                break;
            }
            let home = entry.hash & self.mask;
            // The entry may fill the hole unless its home lies behind the hole (cyclically).
            if at.wrapping_sub(home) & self.mask >= at.wrapping_sub(hole) & self.mask {
                self.entries[hole as usize] = entry;
                hole = at;
            }
        }
        self.entries[hole as usize] = EMPTY;
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
