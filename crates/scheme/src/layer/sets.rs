//! The disjoint sets of the LWRS queue, found by address without a search.
//!
//! The address space is divided into regions of 2^[`SHIFT`] sectors. A region knows the sets that
//! begin in it, as a list, and the one set that covers its first sector and began before it, if
//! there is one. So a write looks only at the regions it touches.
//!
//! A set stands in a ring at the number of its last write, so the ring is the order in which sets
//! age, and a set is outdated when its number is: nothing of what an outdated set is known by has
//! to be looked for and cleared. A region names sets by these numbers; one that it names counts
//! only while the ring holds it and it does begin there. A region's entry for the set that covers
//! it is never cleared either: it counts only while that set does cover the region, and no other
//! set can, because sets are disjoint.

use super::lwrs::Set;
use crate::store::prefetch::read_all;
use crate::store::{PREFETCH, PageIndex, Place};

/// Sectors of a region as a power of two.
const SHIFT: u32 = 6;
/// Sectors of a region.
const REGION: u64 = 1 << SHIFT;

/// Number of a set that covers no region.
const SHORT: u32 = u32::MAX;

/// First sector of a set that is gone before it was outdated. No region begins so late.
const GONE: u64 = u64::MAX;

/// The set that a write became, and the sets before and behind it that are part of it.
pub(super) type Merged = (Set, [Option<Set>; 2]);

#[derive(Clone, Copy, Debug)]
struct Region {
    /// The set that begins here and was written last, by the number of that write.
    starts: u32,
    /// Set that began before and may cover the first sector, by its number in `long`.
    cover: u32,
}

/// A set where its last write is, or was: then it is gone, and only the serial number counts.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Node {
    set: Set,
    /// The next older set that begins in the same region; the number of this node if there is none.
    after: u32,
    /// Number of the set in `long`, or [`SHORT`].
    long: u32,
}

const FREE: Node = Node {
    set: Set {
        first: GONE,
        last: 0,
        asn: 0,
    },
    after: 0,
    long: SHORT,
};

/// Disjoint, never adjacent sets of sectors in the order in which they were written last.
///
/// Cost: O(1) for each region that a write touches, and O(log) amortised for each region that a
/// set comes to cover by merging: of two sets the longer one keeps its regions.
#[derive(Clone, Debug)]
pub(super) struct Sets {
    /// The nodes of writes `tail..head`, each at its number modulo the length, a power of two.
    ring: Vec<Node>,
    tail: u32,
    head: u32,
    /// Nodes of them that are gone.
    gone: u32,
    /// The last write of each set that covers regions; `free` numbers are not in use.
    long: Vec<u32>,
    free: Vec<u32>,
    regions: PageIndex<Region>,
}

impl Sets {
    /// No sets; room for `room` of them. More make it grow.
    pub(super) fn new(room: usize) -> Sets {
        let ring = vec![FREE; room.next_power_of_two()];
        Sets {
            long: Vec::with_capacity(ring.len()),
            free: Vec::with_capacity(ring.len()),
            ring,
            tail: 0,
            head: 0,
            gone: 0,
            regions: PageIndex::new(Region {
                starts: 0,
                cover: SHORT,
            }),
        }
    }

    /// Writes that the ring holds.
    #[inline(always)]
    fn held(&self) -> u32 {
        self.head.wrapping_sub(self.tail)
    }

    /// Number of sets.
    pub(super) fn len(&self) -> usize {
        (self.held() - self.gone) as usize
    }

    /// The sets, in the order in which they were written last.
    pub(super) fn iter(&self) -> impl Iterator<Item = Set> + '_ {
        let nodes = (0..self.held()).map(|i| self.node(self.tail.wrapping_add(i)));
        nodes.map(|n| n.set).filter(|set| set.first != GONE)
    }

    /// Where the node of a write stands in the ring.
    #[inline(always)]
    fn at(&self, write: u32) -> usize {
        write as usize & (self.ring.len() - 1)
    }

    #[inline(always)]
    fn node(&self, write: u32) -> &Node {
        &self.ring[self.at(write)]
    }

    #[inline(always)]
    fn node_mut(&mut self, write: u32) -> &mut Node {
        let at = self.at(write);
        &mut self.ring[at]
    }

    /// Does the ring hold this write?
    #[inline(always)]
    fn holds(&self, write: u32) -> bool {
        write.wrapping_sub(self.tail) < self.held()
    }

    /// The set of a write that `region` names, if it is there and begins in the region.
    #[inline(always)]
    fn begins(&self, write: u32, region: u64) -> Option<&Node> {
        let node = self.node(write);
        (self.holds(write) && node.set.first >> SHIFT == region).then_some(node)
    }

    /// Reads what is known of the regions of sectors, see [`crate::store::prefetch`].
    #[inline(always)]
    pub(super) fn prefetch(&self, sectors: impl Fn(usize) -> u64) {
        let places: [Place; PREFETCH] = self.regions.places(|i| sectors(i) >> SHIFT);
        read_all(&self.regions.look_at(&places), |r| u64::from(r.starts));
    }

    /// Removes the sets whose serial number `is_outdated`.
    #[inline(always)]
    pub(super) fn expire(&mut self, is_outdated: impl Fn(u64) -> bool) {
        // The ring is in the order of last writes, so what is outdated is a prefix of it. Regions that
        // name these sets are left alone: a name counts only while the ring holds it.
        while self.tail != self.head {
            let &Node { set, long, .. } = self.node(self.tail);
            if !is_outdated(set.asn) {
                return;
            }
            self.tail = self.tail.wrapping_add(1);
            self.gone -= u32::from(set.first == GONE);
            if long != SHORT {
                self.free.push(long);
            }
        }
    }

    /// Enters sectors `first..=last` under serial number `asn`, which is the highest so far, if
    /// they lie in one region and no set is near but one of the same sectors. So it is with most
    /// small writes; for all others [`Sets::write`] must follow.
    ///
    /// Whether the sectors were written lately, and whether they lie at an end of their region,
    /// cannot be foretold: nothing branches on either.
    #[inline(always)]
    pub(super) fn write_alone(&mut self, first: u64, last: u64, asn: u64) -> bool {
        let (region, write, mask) = (first >> SHIFT, self.head, self.ring.len() - 1);
        let whole = last - first >= REGION - 1;
        if last >> SHIFT != region || whole || self.held() as usize > mask {
            return false;
        }
        let at_start = u64::from(first.is_multiple_of(REGION));
        let at_end = u64::from(last % REGION == REGION - 1);
        let beside = region.wrapping_add(at_end).wrapping_sub(at_start);
        let place = self.regions.touch_place(region);
        let (here, there) = (*self.regions.at_known(place), self.regions.get(beside));
        let unknown = u64::from(!self.holds(here.starts));
        let old = &mut self.ring[here.starts as usize & mask];
        // 0 if the sectors are the same, less than 2 * REGION if the region is: then another set is
        // near, which may overlap or be adjacent.
        let differs =
            ((old.set.first ^ first) | unknown << 62) << 1 | u64::from(old.set.last != last);
        if differs.wrapping_sub(1) < 2 * REGION - 1 {
            return false;
        }
        // The same sectors again: the old node is gone, and the new one takes its place in the
        // list of the region.
        let again = is_zero(differs);
        let first_before = old.set.first;
        let follows = again as u32 & (old.after ^ here.starts);
        let after = if follows == 0 { write } else { old.after };
        let unclear = self.holds(there.starts) & (beside != region);
        if (unclear | (here.cover & there.cover != SHORT)) && !self.is_alone(first, last) {
            return false;
        }
        self.ring[here.starts as usize & mask].set.first = first_before | again;
        self.gone += again as u32 & 1;
        let set = Set { first, last, asn };
        self.ring[write as usize & mask] = Node {
            set,
            after,
            long: SHORT,
        };
        self.head = write.wrapping_add(1);
        self.regions.at_known_mut(place).starts = write;
        true
    }

    /// Is the region of sectors `first..=last` not covered, and is there no set in the regions of
    /// the sectors just before and just behind, as far as these are others?
    #[inline(never)]
    fn is_alone(&self, first: u64, last: u64) -> bool {
        let region = first >> SHIFT;
        let (from, to) = around(first, last);
        !self.covers(self.regions.get(region).cover, region)
            && (from == region || self.is_blank(from))
            && (to == region || self.is_blank(to))
    }

    /// Enters sectors `first..=last` under serial number `asn`, which is the highest so far.
    /// Sets that overlap them go; the one that ends just before and the one that begins just
    /// behind become part of the new set and are returned.
    #[inline(never)]
    pub(super) fn write(&mut self, first: u64, last: u64, asn: u64) -> Merged {
        if self.held() as usize == self.ring.len() {
            self.make_room();
        }
        let mut sides = [None; 2];
        let (from, to) = around(first, last);
        for region in from..=to {
            let Region { starts, cover } = self.regions.get(region);
            if self.covers(cover, region) {
                self.meet(self.long[cover as usize], first, last, &mut sides);
            }
            let mut next = starts;
            while let Some(&Node { after, .. }) = self.begins(next, region) {
                self.meet(next, first, last, &mut sides);
                if after == next {
                    break;
                }
                next = after;
            }
        }
        let parts = sides.map(|side| side.map(|write| self.node(write).set));
        let new = Set {
            first: parts[0].map_or(first, |s| s.first),
            last: parts[1].map_or(last, |s| s.last),
            asn,
        };
        self.unite(new, sides);
        (new, parts)
    }

    /// The set of `write` goes if it overlaps sectors `first..=last`, and is noted if it ends just
    /// before or begins just behind them.
    fn meet(&mut self, write: u32, first: u64, last: u64, sides: &mut [Option<u32>; 2]) {
        let old = self.node(write).set;
        if old.last + 1 == first {
            sides[0] = Some(write);
        } else if old.first == last + 1 {
            sides[1] = Some(write);
        } else if old.first <= last && first <= old.last {
            self.remove(write);
        }
    }

    /// Does no set begin in `region` or reach into it?
    #[inline]
    fn is_blank(&self, region: u64) -> bool {
        let Region { starts, cover } = self.regions.get(region);
        self.begins(starts, region).is_none() && !self.covers(cover, region)
    }

    /// Does set `id` of the long ones cover the first sector of `region` and begin before it?
    #[inline]
    fn covers(&self, id: u32, region: u64) -> bool {
        let start = region << SHIFT;
        self.long.get(id as usize).is_some_and(|&write| {
            let Node { set, long, .. } = *self.node(write);
            self.holds(write) && long == id && set.first < start && start <= set.last
        })
    }

    /// `new` is the union of the sets at its `sides`, where there are some, and what is between.
    fn unite(&mut self, new: Set, sides: [Option<u32>; 2]) {
        let sectors = |side: Option<u32>| side.map_or(0, |write| self.node(write).set.sectors());
        let longer = usize::from(sectors(sides[1]) > sectors(sides[0]));
        // The new set takes over the number of the longer side, so only the regions gained are told,
        // and a region is told O(log) times at most; `was` is the part that they know already.
        let (mut long, mut was) = (SHORT, (new.first, new.first));
        if let Some(write) = sides[longer] {
            let node = self.node_mut(write);
            long = std::mem::replace(&mut node.long, SHORT);
            was = (node.set.first, node.set.last);
        }
        for write in sides.into_iter().flatten() {
            self.remove(write);
        }
        if long == SHORT && new.first >> SHIFT != new.last >> SHIFT {
            long = self.free.pop().unwrap_or_else(|| {
                self.long.push(0);
                self.long.len() as u32 - 1
            });
        }
        self.cover(long, (new.first >> SHIFT) + 1, was.0 >> SHIFT);
        self.cover(long, (was.1 >> SHIFT) + 1, new.last >> SHIFT);
        self.push(new, long);
    }

    /// A node for `new`, written now.
    fn push(&mut self, set: Set, long: u32) {
        let (write, region) = (self.head, set.first >> SHIFT);
        let starts = std::mem::replace(&mut self.regions.at(region).starts, write);
        let follows = self.begins(starts, region).is_some();
        let after = if follows { starts } else { write };
        *self.node_mut(write) = Node { set, after, long };
        if long != SHORT {
            self.long[long as usize] = write;
        }
        self.head = write.wrapping_add(1);
    }

    /// Makes room for writes: most of those that are held may not be the last ones of their sets.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        let held = self.held();
        // If live sets fill less than half of the ring, the rest are sets rewritten since, and giving
        // up their places is enough.
        if self.len() > self.ring.len() / 2 {
            let mut ring = vec![FREE; 2 * self.ring.len()];
            for i in 0..held {
                let write = self.tail.wrapping_add(i);
                ring[write as usize & (2 * self.ring.len() - 1)] = *self.node(write);
            }
            self.ring = ring;
            return;
        }
        // The sets move together at the newest writes, and are written again in their order: their
        // regions learn the new numbers, and their serial numbers stay, so they age as before.
        let mut to = self.head;
        for i in (0..held).rev() {
            let node = *self.node(self.tail.wrapping_add(i));
            if node.set.first != GONE {
                to = to.wrapping_sub(1);
                *self.node_mut(to) = node;
            }
        }
        let sets = self.head.wrapping_sub(to);
        (self.tail, self.head, self.gone) = (to, to, 0);
        for _ in 0..sets {
            let Node { set, long, .. } = *self.node(self.head);
            self.push(set, long);
        }
    }

    /// Set `id` of the long ones covers the first sectors of regions `from..=to`.
    #[inline]
    fn cover(&mut self, id: u32, from: u64, to: u64) {
        for region in from..to + 1 {
            self.regions.at(region).cover = id;
        }
    }

    /// Takes the set of `write` out of the list of its region.
    fn unlist(&mut self, write: u32) {
        let Node { set, after, .. } = *self.node(write);
        let region = self.regions.at(set.first >> SHIFT);
        if region.starts == write {
            region.starts = after;
            return;
        }
        let mut newer = region.starts;
        while self.node(newer).after != write {
            newer = self.node(newer).after;
        }
        self.node_mut(newer).after = if after == write { newer } else { after };
    }

    fn remove(&mut self, write: u32) {
        self.unlist(write);
        let node = self.node_mut(write);
        node.set.first = GONE;
        let long = std::mem::replace(&mut node.long, SHORT);
        self.gone += 1;
        if long != SHORT {
            self.free.push(long);
        }
    }

    /// Checks every set against what its regions know, and that none is outdated too late.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let writes = (0..self.held()).map(|i| self.tail.wrapping_add(i));
        assert!(writes.clone().is_sorted_by_key(|w| self.node(w).set.asn));
        let sets = writes.filter(|&w| self.node(w).set.first != GONE);
        assert_eq!(sets.clone().count(), self.len());
        let mut covering = 0;
        for write in sets {
            let Node { set, long, .. } = *self.node(write);
            let home = set.first >> SHIFT;
            let older = |&w: &u32| Some(self.node(w).after).filter(|&a| a != w);
            let list = std::iter::successors(Some(self.regions.get(home).starts), older);
            let mut list = list.take_while(|&w| self.begins(w, home).is_some());
            assert!(list.any(|w| w == write), "{set:?} is not in its list");
            for region in home + 1..=set.last >> SHIFT {
                let Region { cover, .. } = self.regions.get(region);
                assert!(
                    cover == long && self.covers(cover, region),
                    "{set:?} at {region}"
                );
            }
            covering += usize::from(long != SHORT);
        }
        assert_eq!(covering + self.free.len(), self.long.len());
    }

    /// Memory set aside for sets and for the long ones among them.
    #[cfg(test)]
    pub(super) fn room(&self) -> (usize, usize) {
        (self.ring.len(), self.long.capacity())
    }
}

/// All bits if `x` is zero, and none otherwise; a comparison would be made a branch.
#[inline(always)]
fn is_zero(x: u64) -> u64 {
    ((!x & x.wrapping_sub(1)) as i64 >> 63) as u64
}

/// Regions of the sectors just before and just behind `first..=last`.
#[inline(always)]
fn around(first: u64, last: u64) -> (u64, u64) {
    (first.saturating_sub(1) >> SHIFT, (last + 1) >> SHIFT)
}
