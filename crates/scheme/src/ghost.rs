//! History of pages that are not cached any more: ordered lists of LPNs with a lookup by LPN.

use crate::list::ListArena;
use destage_types::Lpn;

/// One or more ordered lists of absent pages ("ghosts") that share one lookup table.
///
/// A page is in at most one of the lists. All operations are O(1). The table takes 64 B for
/// 2 to 4 entries; memory is allocated for `capacity` entries at once and
/// grows (amortised) only if more are pushed.
#[derive(Clone, Debug)]
pub struct GhostLists {
    lists: ListArena,
    lpn: Vec<Lpn>,
    of: Vec<u8>,
    free: Vec<u32>,
    table: Table,
    /// Ghosts that nodes and table have room for.
    room: usize,
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
        GhostLists::with_usual(capacity, capacity, lists)
    }

    /// As [`GhostLists::new`], for at most `capacity` ghosts of which seldom more than `usual`
    /// exist: the table stays small, and so in the processor's caches, until there are more.
    /// Growing it then takes no further allocation.
    pub fn with_usual(capacity: usize, usual: usize, lists: usize) -> GhostLists {
        let room = usual.min(capacity);
        GhostLists {
            lists: ListArena::new(capacity, lists),
            lpn: vec![Lpn(0); capacity],
            of: vec![0; capacity],
            free: (0..capacity as u32).rev().collect(),
            table: Table::reserved(room, capacity),
            room,
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
        if self.lpn.len() - self.free.len() >= self.room {
            self.grow();
        }
        let node = self.free.pop().expect("grow adds free nodes");
        self.lpn[node as usize] = lpn;
        self.of[node as usize] = list as u8;
        self.table.insert(lpn, node);
        node
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
        if self.free.is_empty() {
            let more = old.max(16);
            self.lists.grow(more);
            self.lpn.resize(old + more, Lpn(0));
            self.of.resize(old + more, 0);
            self.free.extend((old as u32..(old + more) as u32).rev());
        }
        self.room = self.lpn.len();
        self.table.clear_for(self.room);
        for list in 0..self.lists.lists() {
            for node in self.lists.from_head(list) {
                self.table.insert(self.lpn[node as usize], node);
            }
        }
    }
}

/// LPN -> node: buckets of one cache line, searched without branches; a node goes to the first
/// bucket with a free lane from its home on.
///
/// A lane holds the hash, so that an LPN is compared only when it is almost surely the right one.
/// The last lane counts the nodes that passed the bucket because it was full: searches go on to
/// the next bucket only where that is not zero, so removal moves nothing.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    buckets: Vec<Bucket>,
    mask: u32,
}

/// Entries of a bucket.
const LANES: usize = 7;
/// Index of the counter.
const PASSED: usize = LANES;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Bucket {
    /// Hashes, 0 for a free lane; the count of passed nodes.
    hash: [u32; LANES + 1],
    node: [u32; LANES + 1],
}

const EMPTY: Bucket = Bucket {
    hash: [0; LANES + 1],
    node: [0; LANES + 1],
};

/// Bit i says whether lane i is `wanted`.
#[inline]
fn lanes(of: &[u32; LANES + 1], wanted: u32) -> u32 {
    let mut found = 0;
    for (i, lane) in of.iter().enumerate() {
        found |= u32::from(*lane == wanted) << i;
    }
    found & ((1 << LANES) - 1)
}

/// High half of a multiplication by 2^64 / golden ratio: good enough for page numbers, cheap.
/// Never 0.
#[inline]
fn hash(lpn: Lpn) -> u32 {
    let x = (lpn.0 ^ (lpn.0 >> 29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x >> 32) as u32 | 1 << 31
}

impl Table {
    /// A table for up to `capacity` nodes.
    pub(crate) fn new(capacity: usize) -> Table {
        Table::reserved(capacity, capacity)
    }

    /// A table for up to `capacity` nodes that can be cleared for up to `most` without an
    /// allocation.
    fn reserved(capacity: usize, most: usize) -> Table {
        let mut table = Table {
            buckets: Vec::with_capacity(Table::size(most)),
            mask: 0,
        };
        table.clear_for(capacity);
        table
    }

    /// Removes everything and makes room for up to `capacity` nodes.
    fn clear_for(&mut self, capacity: usize) {
        let size = Table::size(capacity);
        self.mask = u32::try_from(size - 1).expect("a ghost table has at most 2^32 buckets");
        self.buckets.clear();
        self.buckets.resize(size, EMPTY);
    }

    /// Buckets for `capacity` nodes: 64/15 nodes to a bucket at most, so that one node more than
    /// a power of two does not double the table, and few buckets are ever full.
    fn size(capacity: usize) -> usize {
        (15 * capacity.max(1)).div_ceil(64).next_power_of_two()
    }

    /// Node of `lpn`, whose LPNs stand in `lpns` by node.
    #[inline]
    pub(crate) fn get(&self, lpn: Lpn, lpns: &[Lpn]) -> Option<u32> {
        let hash = hash(lpn);
        let mut at = hash & self.mask;
        loop {
            let bucket = &self.buckets[at as usize];
            let mut found = lanes(&bucket.hash, hash);
            while found != 0 {
                let node = bucket.node[found.trailing_zeros() as usize];
                if lpns[node as usize] == lpn {
                    return Some(node);
                }
                found &= found - 1;
            }
            if bucket.hash[PASSED] == 0 {
                return None;
            }
            at = (at + 1) & self.mask;
        }
    }

    /// Enters `lpn`, which must not be in the table.
    #[inline]
    pub(crate) fn insert(&mut self, lpn: Lpn, node: u32) {
        let hash = hash(lpn);
        let mut at = hash & self.mask;
        loop {
            let bucket = &mut self.buckets[at as usize];
            let free = lanes(&bucket.hash, 0);
            if free != 0 {
                let lane = free.trailing_zeros() as usize;
                bucket.hash[lane] = hash;
                bucket.node[lane] = node;
                return;
            }
            bucket.hash[PASSED] += 1;
            at = (at + 1) & self.mask;
        }
    }

    /// Removes `lpn`, which must be in the table as `node`.
    #[inline]
    pub(crate) fn remove(&mut self, lpn: Lpn, node: u32) {
        let hash = hash(lpn);
        let mut at = hash & self.mask;
        loop {
            let bucket = &mut self.buckets[at as usize];
            let found = lanes(&bucket.hash, hash) & lanes(&bucket.node, node);
            if found != 0 {
                bucket.hash[found.trailing_zeros() as usize] = 0;
                return;
            }
            debug_assert!(bucket.hash[PASSED] > 0, "{lpn} is not in the table");
            bucket.hash[PASSED] -= 1;
            at = (at + 1) & self.mask;
        }
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
