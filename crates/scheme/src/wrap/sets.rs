//! The disjoint sets of the LWRS queue, found by address without a search.
//!
//! The address space is divided into regions of 2^[`SHIFT`] sectors. A region knows the sets that
//! begin in it, as a list, and the one set that covers its first sector and began before it, if
//! there is one. So a write looks only at the regions it touches. What a region knows of the set
//! that covers it is never cleared: it counts only while that set does cover the region, and no
//! other set can, because sets are disjoint.

use super::lwrs::Set;
use crate::ahead::{LOOK_AHEAD, mix};
use crate::sparse::{Place, Sparse};
use std::collections::VecDeque;

/// Sectors of a region as a power of two.
const SHIFT: u32 = 6;

/// No set.
const NONE: u32 = u32::MAX;

/// An interval that touches nothing.
const DEAD: Set = Set {
    first: u64::MAX,
    last: 0,
    asn: u64::MAX,
};

/// A set that is not there.
const FREE: Node = Node {
    set: DEAD,
    before: NONE,
    after: NONE,
};

/// The set that a write became, and the sets before and behind it that are part of it.
pub(super) type Merged = (Set, [Option<Set>; 2]);

#[derive(Clone, Copy, Debug)]
struct Region {
    /// First of the sets that begin here.
    starts: u32,
    /// Set that began before and may cover the first sector.
    cover: u32,
}

/// A set and its neighbours in the list of the sets that begin in the same region.
#[derive(Clone, Copy, Debug)]
struct Node {
    set: Set,
    before: u32,
    after: u32,
}

/// A write: the set it was part of, which has the same serial number if it was its last one.
#[derive(Clone, Copy, Debug)]
struct Written {
    asn: u64,
    id: u32,
}

/// Disjoint, never adjacent sets of sectors in the order in which they were written last.
///
/// Cost: O(1) for each region that a write touches, and O(log) amortised for each region that a
/// set comes to cover by merging: of two sets the longer one keeps its regions.
#[derive(Clone, Debug)]
pub(super) struct Sets {
    nodes: Vec<Node>,
    /// The writes that may be the last ones of their sets, oldest first.
    writes: VecDeque<Written>,
    free: Vec<u32>,
    regions: Sparse<Region>,
}

impl Sets {
    /// No sets; room for `room` of them. More make it grow.
    pub(super) fn new(room: usize) -> Sets {
        Sets {
            nodes: vec![FREE; room],
            writes: VecDeque::with_capacity(room),
            free: (0..room as u32).rev().collect(),
            regions: Sparse::new(Region {
                starts: NONE,
                cover: NONE,
            }),
        }
    }

    /// Number of sets.
    pub(super) fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// The sets, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Set> + '_ {
        let sets = self.nodes.iter().map(|n| n.set);
        sets.filter(|&set| set != DEAD)
    }

    /// Brings what is known of the regions of sectors close, see [`crate::ahead`].
    #[inline(always)]
    pub(super) fn look_ahead(&self, sectors: impl Fn(usize) -> u64) -> u64 {
        let places: [Place; LOOK_AHEAD] = self.regions.places(|i| sectors(i) >> SHIFT);
        mix(&self.regions.look_at(&places), |r| u64::from(r.starts))
    }

    /// Removes the sets whose serial number `is_outdated`.
    #[inline(always)]
    pub(super) fn expire(&mut self, is_outdated: impl Fn(u64) -> bool) {
        while let Some(&Written { asn, id }) = self.writes.front()
            && is_outdated(asn)
        {
            self.writes.pop_front();
            if self.nodes[id as usize].set.asn == asn {
                self.remove(id);
            }
        }
    }

    /// Enters sectors `first..=last` under serial number `asn`, which is the highest so far.
    /// Sets that overlap them go; the one that ends just before and the one that begins just
    /// behind become part of the new set and are returned. `None`: there is no set near, or only
    /// one of the same sectors, as for most small writes.
    #[inline(always)]
    pub(super) fn write(&mut self, first: u64, last: u64, asn: u64) -> Option<Merged> {
        let region = first >> SHIFT;
        let place = self.regions.touch_place(region);
        let Region { starts, cover } = *self.regions.at_known(place);
        if let Some(Node { set, .. }) = self.nodes.get_mut(starts as usize) {
            if (set.first, set.last) != (first, last) {
                return Some(self.merge(first, last, asn));
            }
            set.asn = asn;
            self.written(starts, asn);
            return None;
        }
        let (from, to) = (first.saturating_sub(1) >> SHIFT, (last + 1) >> SHIFT);
        let blank = !self.covers(cover, region)
            && (from == region || self.is_blank(from))
            && (region..to).all(|before| self.is_blank(before + 1));
        if !blank {
            return Some(self.merge(first, last, asn));
        }
        let id = self.enter(Set { first, last, asn });
        self.regions.at_known_mut(place).starts = id;
        None
    }

    /// As [`Sets::write`], where sets may be near.
    #[inline(never)]
    fn merge(&mut self, first: u64, last: u64, asn: u64) -> Merged {
        let (mut left, mut right) = (NONE, NONE);
        let (from, to) = (first.saturating_sub(1) >> SHIFT, (last + 1) >> SHIFT);
        for region in from..=to {
            let Region { starts, cover } = self.regions.get(region);
            let mut next = if self.covers(cover, region) {
                cover
            } else {
                starts
            };
            let mut covering = next != starts;
            while next != NONE {
                let (
                    id,
                    Node {
                        set: old, after, ..
                    },
                ) = (next, self.nodes[next as usize]);
                next = match std::mem::take(&mut covering) {
                    true => starts,
                    false => after,
                };
                if old.last + 1 == first {
                    left = id;
                } else if old.first == last + 1 {
                    right = id;
                } else if old.first <= last && first <= old.last {
                    self.remove(id);
                }
            }
        }
        let parts = [left, right].map(|id| (id != NONE).then(|| self.nodes[id as usize].set));
        let new = Set {
            first: parts[0].map_or(first, |s| s.first),
            last: parts[1].map_or(last, |s| s.last),
            asn,
        };
        self.unite(new, left, right);
        (new, parts)
    }

    /// Does no set begin in `region` or reach into it?
    #[inline]
    fn is_blank(&self, region: u64) -> bool {
        let Region { starts, cover } = self.regions.get(region);
        starts == NONE && !self.covers(cover, region)
    }

    /// Does set `id` cover the first sector of `region` and begin before it?
    #[inline]
    fn covers(&self, id: u32, region: u64) -> bool {
        let start = region << SHIFT;
        let node = self.nodes.get(id as usize);
        node.is_some_and(|n| n.set.first < start && start <= n.set.last)
    }

    /// `new` is the union of sets `left` and `right`, where there are some, and what is between.
    #[inline]
    fn unite(&mut self, new: Set, left: u32, right: u32) {
        let id = match (left, right) {
            (NONE, NONE) => {
                let id = self.enter(new);
                return self.list(id, new.first >> SHIFT);
            }
            (NONE, only) | (only, NONE) => only,
            _ => {
                let [l, r] = [left, right].map(|id| self.nodes[id as usize].set.sectors());
                let (longer, shorter) = if l >= r { (left, right) } else { (right, left) };
                self.remove(shorter);
                longer
            }
        };
        let old = std::mem::replace(&mut self.nodes[id as usize].set, new);
        self.written(id, new.asn);
        let (was, is) = (old.first >> SHIFT, new.first >> SHIFT);
        if was != is {
            self.unlist(id, was);
            self.list(id, is);
        }
        self.cover(id, is + 1, was);
        self.cover(id, (old.last >> SHIFT) + 1, new.last >> SHIFT);
    }

    /// A node for `new` that is not in its list yet.
    #[inline(always)]
    fn enter(&mut self, new: Set) -> u32 {
        if self.free.is_empty() {
            self.grow();
        }
        let id = self.free.pop().expect("grow adds free nodes");
        self.nodes[id as usize] = Node { set: new, ..FREE };
        self.written(id, new.asn);
        self.cover(id, (new.first >> SHIFT) + 1, new.last >> SHIFT);
        id
    }

    /// Set `id` was written under serial number `asn`.
    #[inline(always)]
    fn written(&mut self, id: u32, asn: u64) {
        if self.writes.len() == self.writes.capacity() {
            self.forget_writes();
        }
        self.writes.push_back(Written { asn, id });
    }

    /// Makes room for writes: most of those that are kept may not be the last ones of their sets.
    #[cold]
    #[inline(never)]
    fn forget_writes(&mut self) {
        let nodes = &self.nodes;
        self.writes
            .retain(|w| nodes[w.id as usize].set.asn == w.asn);
        if self.writes.len() > self.writes.capacity() / 2 {
            self.writes.reserve(self.writes.capacity().max(16));
        }
    }

    /// Set `id` covers the first sectors of regions `from..=to`.
    #[inline]
    fn cover(&mut self, id: u32, from: u64, to: u64) {
        for region in from..to + 1 {
            self.regions.at(region).cover = id;
        }
    }

    #[inline]
    fn list(&mut self, id: u32, region: u64) {
        let after = std::mem::replace(&mut self.regions.at(region).starts, id);
        let node = &mut self.nodes[id as usize];
        (node.before, node.after) = (NONE, after);
        if after != NONE {
            self.nodes[after as usize].before = id;
        }
    }

    #[inline(always)]
    fn unlist(&mut self, id: u32, region: u64) {
        let Node { before, after, .. } = self.nodes[id as usize];
        match before {
            NONE => self.regions.at(region).starts = after,
            before => self.nodes[before as usize].after = after,
        }
        if after != NONE {
            self.nodes[after as usize].before = before;
        }
    }

    #[inline(always)]
    fn remove(&mut self, id: u32) {
        let old = std::mem::replace(&mut self.nodes[id as usize].set, DEAD);
        self.unlist(id, old.first >> SHIFT);
        self.free.push(id);
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let old = self.nodes.len();
        let more = old.max(16);
        self.nodes.resize(old + more, FREE);
        self.free.extend((old as u32..(old + more) as u32).rev());
    }

    /// Checks every set against what its regions know, and that its last write is.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let ids = (0..self.nodes.len()).filter(|&id| self.nodes[id].set != DEAD);
        assert_eq!(ids.clone().count(), self.len());
        assert!(self.writes.iter().is_sorted_by_key(|w| w.asn));
        for id in ids {
            let set = self.nodes[id].set;
            let mut writes = self.writes.iter();
            let last = |w: &Written| w.id == id as u32 && w.asn == set.asn;
            assert!(writes.any(last), "{set:?} does not age");
            let head = self.regions.get(set.first >> SHIFT).starts;
            let next = |&id: &u32| Some(self.nodes[id as usize].after).filter(|&n| n != NONE);
            let mut list = std::iter::successors(Some(head), next);
            let listed = list.any(|other| other == id as u32);
            assert!(listed, "{set:?} is not in its list");
            for region in (set.first >> SHIFT) + 1..=set.last >> SHIFT {
                let cover = self.regions.get(region).cover;
                assert_eq!(cover, id as u32, "{set:?} at {region}");
            }
        }
    }

    /// Memory set aside for sets and for writes.
    #[cfg(test)]
    pub(super) fn room(&self) -> (usize, usize) {
        (self.nodes.capacity(), self.writes.capacity())
    }
}
