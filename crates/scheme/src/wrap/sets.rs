//! The disjoint sets of the LWRS queue, found by address without a search.
//!
//! The address space is divided into regions of 2^[`SHIFT`] sectors. A region knows the sets that
//! begin in it, as a list, and the one set that covers its first sector and began before it, if
//! there is one. So a write looks only at the regions it touches. What a region knows of the set
//! that covers it is never cleared: it counts only while that set does cover the region, and no
//! other set can, because sets are disjoint.

use super::lwrs::Set;
use crate::ahead::{LOOK_AHEAD, mix};
use crate::list::ListArena;
use crate::sparse::{Place, Sparse};

/// Sectors of a region as a power of two.
const SHIFT: u32 = 6;

/// No set.
const NONE: u32 = u32::MAX;

/// An interval that touches nothing.
const DEAD: Set = Set {
    first: u64::MAX,
    last: 0,
    asn: 0,
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

/// Neighbours in the list of the sets that begin in one region.
#[derive(Clone, Copy, Debug)]
struct Peers {
    before: u32,
    after: u32,
}

/// Disjoint, never adjacent sets of sectors in the order in which they were written last.
///
/// Cost: O(1) for each region that a write touches, and O(log) amortised for each region that a
/// set comes to cover by merging: of two sets the longer one keeps its regions.
#[derive(Clone, Debug)]
pub(super) struct Sets {
    sets: Vec<Set>,
    peers: Vec<Peers>,
    /// The sets, newest serial number at the head.
    age: ListArena,
    free: Vec<u32>,
    regions: Sparse<Region>,
}

impl Sets {
    /// No sets; room for `room` of them. More make it grow.
    pub(super) fn new(room: usize) -> Sets {
        let alone = Peers {
            before: NONE,
            after: NONE,
        };
        Sets {
            sets: vec![DEAD; room],
            peers: vec![alone; room],
            age: ListArena::new(room, 1),
            free: (0..room as u32).rev().collect(),
            regions: Sparse::new(Region {
                starts: NONE,
                cover: NONE,
            }),
        }
    }

    /// Number of sets.
    pub(super) fn len(&self) -> usize {
        self.age.len(0)
    }

    /// The sets, newest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = Set> + '_ {
        self.age.from_head(0).map(|id| self.sets[id as usize])
    }

    /// Brings what is known of the regions of sectors close, see [`crate::ahead`].
    #[inline(always)]
    pub(super) fn look_ahead(&self, sectors: impl Fn(usize) -> u64) -> u64 {
        let places: [Place; LOOK_AHEAD] = self.regions.places(|i| sectors(i) >> SHIFT);
        mix(&self.regions.look_at(&places), |r| u64::from(r.starts))
    }

    /// Removes the sets whose serial number `is_outdated`.
    #[inline]
    pub(super) fn expire(&mut self, is_outdated: impl Fn(u64) -> bool) {
        while let Some(id) = self.age.tail(0)
            && is_outdated(self.sets[id as usize].asn)
        {
            self.remove(id);
        }
    }

    /// Enters sectors `first..=last` under serial number `asn`, which is the highest so far.
    /// Sets that overlap them go; the one that ends just before and the one that begins just
    /// behind become part of the new set and are returned. `None`: there is no set near, as for
    /// most small writes.
    #[inline]
    pub(super) fn write(&mut self, first: u64, last: u64, asn: u64) -> Option<Merged> {
        let (from, to) = (first.saturating_sub(1) >> SHIFT, (last + 1) >> SHIFT);
        if (from..=to).all(|region| self.is_blank(region)) {
            self.add(Set { first, last, asn });
            return None;
        }
        Some(self.merge(first, last, asn))
    }

    /// As [`Sets::write`], where sets may be near.
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
                let (id, old) = (next, self.sets[next as usize]);
                next = match std::mem::take(&mut covering) {
                    true => starts,
                    false => self.peers[id as usize].after,
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
        let parts = [left, right].map(|id| (id != NONE).then(|| self.sets[id as usize]));
        let new = Set {
            first: parts[0].map_or(first, |s| s.first),
            last: parts[1].map_or(last, |s| s.last),
            asn,
        };
        self.enter(new, left, right);
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
        let set = self.sets.get(id as usize);
        set.is_some_and(|s| s.first < start && start <= s.last)
    }

    /// `new` is the union of sets `left` and `right`, where there are some, and what is between.
    #[inline]
    fn enter(&mut self, new: Set, left: u32, right: u32) {
        let id = match (left, right) {
            (NONE, NONE) => return self.add(new),
            (NONE, only) | (only, NONE) => only,
            _ => {
                let [l, r] = [left, right].map(|id| self.sets[id as usize].sectors());
                let (longer, shorter) = if l >= r { (left, right) } else { (right, left) };
                self.remove(shorter);
                longer
            }
        };
        let old = std::mem::replace(&mut self.sets[id as usize], new);
        self.age.move_to_head(0, id);
        let (was, is) = (old.first >> SHIFT, new.first >> SHIFT);
        if was != is {
            self.unlist(id, was);
            self.list(id, is);
        }
        self.cover(id, is + 1, was);
        self.cover(id, (old.last >> SHIFT) + 1, new.last >> SHIFT);
    }

    #[inline]
    fn add(&mut self, new: Set) {
        if self.free.is_empty() {
            self.grow();
        }
        let id = self.free.pop().expect("grow adds free places");
        self.sets[id as usize] = new;
        self.age.push_head(0, id);
        self.list(id, new.first >> SHIFT);
        self.cover(id, (new.first >> SHIFT) + 1, new.last >> SHIFT);
    }

    /// Set `id` covers the first sectors of regions `from..=to`.
    #[inline]
    fn cover(&mut self, id: u32, from: u64, to: u64) {
        for region in from..=to {
            self.regions.at(region).cover = id;
        }
    }

    #[inline]
    fn list(&mut self, id: u32, region: u64) {
        let after = std::mem::replace(&mut self.regions.at(region).starts, id);
        self.peers[id as usize] = Peers {
            before: NONE,
            after,
        };
        if after != NONE {
            self.peers[after as usize].before = id;
        }
    }

    #[inline]
    fn unlist(&mut self, id: u32, region: u64) {
        let Peers { before, after } = self.peers[id as usize];
        match before {
            NONE => self.regions.at(region).starts = after,
            before => self.peers[before as usize].after = after,
        }
        if after != NONE {
            self.peers[after as usize].before = before;
        }
    }

    #[inline]
    fn remove(&mut self, id: u32) {
        let old = std::mem::replace(&mut self.sets[id as usize], DEAD);
        self.unlist(id, old.first >> SHIFT);
        self.age.unlink(0, id);
        self.free.push(id);
    }

    #[cold]
    fn grow(&mut self) {
        let old = self.sets.len();
        let more = old.max(16);
        self.sets.resize(old + more, DEAD);
        self.peers.resize(
            old + more,
            Peers {
                before: NONE,
                after: NONE,
            },
        );
        self.age.grow(more);
        self.free.extend((old as u32..(old + more) as u32).rev());
    }

    /// Checks every set against what its regions know.
    #[cfg(test)]
    pub(super) fn check(&self) {
        self.age.validate().unwrap();
        for id in self.age.from_head(0) {
            let set = self.sets[id as usize];
            let head = self.regions.get(set.first >> SHIFT).starts;
            let next = |&id: &u32| Some(self.peers[id as usize].after).filter(|&n| n != NONE);
            let mut list = std::iter::successors(Some(head), next);
            assert!(list.any(|other| other == id), "{set:?} is not in its list");
            for region in (set.first >> SHIFT) + 1..=set.last >> SHIFT {
                assert_eq!(self.regions.get(region).cover, id, "{set:?} at {region}");
            }
        }
    }

    /// Memory set aside for sets.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.sets.capacity()
    }
}
