//! Which written bytes belong to large sequential sets (Prober, section 3.1): the rules of the scheme's
//! LWRS queue, with an entry for each set and not for each part of the addresses that it covers, so that
//! a request takes no memory for its length.

use std::collections::VecDeque;

/// Sets of sectors that were written lately; disjoint and never adjacent.
pub struct RecentSets {
    /// Sectors above which a set is large.
    ssp: u64,
    /// Writes that a set is remembered for.
    window: u64,
    /// Number of the last write.
    asn: u64,
    sets: SortedSets,
    /// Sets that are large.
    large: usize,
    /// Writes with the first sectors of their sets. Those that have grown or gone since are not there
    /// under the same number.
    order: VecDeque<(u64, u64)>,
}

impl RecentSets {
    /// No sets.
    pub fn new(ssp: u64, window: u64) -> RecentSets {
        RecentSets {
            ssp,
            window,
            asn: 0,
            sets: SortedSets::default(),
            large: 0,
            order: VecDeque::new(),
        }
    }

    /// A write request begins. Its extents follow with [`RecentSets::write`].
    pub fn begin(&mut self) {
        self.asn += 1;
        while let Some(&(asn, first)) = self.order.front()
            && self.asn - asn >= self.window
        {
            self.order.pop_front();
            if let Some((place, set)) = self.sets.last_until(first)
                && (set.first, set.asn) == (first, asn)
            {
                self.forget(place, set);
            }
        }
    }

    /// Sectors `first..=last` are written: how many sectors are in a large set from now on that were not
    /// before, or are written again. Sets that overlap them are forgotten whole (PR-3), adjacent ones are
    /// merged.
    pub fn write(&mut self, first: u64, last: u64) -> u64 {
        let mut new = SectorSet {
            first,
            last,
            asn: self.asn,
        };
        let mut joined = 0;
        while let Some((place, set)) = self.sets.last_until(last + 1)
            && set.last + 1 >= first
        {
            self.forget(place, set);
            if set.first == last + 1 {
                new.last = set.last;
                joined += self.if_small(set.sectors());
            } else if set.last + 1 == first {
                new.first = set.first;
                joined += self.if_small(set.sectors());
            }
        }
        self.sets.insert(new);
        self.large += usize::from(new.sectors() > self.ssp);
        self.order.push_back((self.asn, new.first));
        if new.sectors() > self.ssp {
            joined + (last - first + 1)
        } else {
            0
        }
    }

    /// Sets that are remembered.
    pub fn len(&self) -> usize {
        self.sets.len
    }

    /// Is none remembered?
    pub fn is_empty(&self) -> bool {
        self.sets.len == 0
    }

    /// Sets that are large.
    pub fn large(&self) -> usize {
        self.large
    }

    fn forget(&mut self, place: SetPlace, set: SectorSet) {
        self.sets.remove(place);
        self.large -= usize::from(set.sectors() > self.ssp);
    }

    /// A set that was large has been counted.
    fn if_small(&self, sectors: u64) -> u64 {
        if sectors > self.ssp { 0 } else { sectors }
    }
}

/// A set of consecutive sectors.
#[derive(Clone, Copy)]
struct SectorSet {
    first: u64,
    last: u64,
    /// Number of its last write.
    asn: u64,
}

impl SectorSet {
    fn sectors(&self) -> u64 {
        self.last - self.first + 1
    }
}

/// Sets in a block at most.
const BLOCK: usize = 64;

/// Sets in order of their first sectors. They come and go with every write, which takes a short search and a
/// short move in a block.
#[derive(Default)]
struct SortedSets {
    /// None is empty.
    blocks: Vec<Vec<SectorSet>>,
    /// The first sector of the first set of each block.
    firsts: Vec<u64>,
    len: usize,
}

/// Block of a set, and its number there.
type SetPlace = (usize, usize);

impl SortedSets {
    /// The last set that begins at `sector` or before.
    fn last_until(&self, sector: u64) -> Option<(SetPlace, SectorSet)> {
        let behind = self.firsts.partition_point(|&first| first <= sector);
        let block = behind.checked_sub(1)?;
        let sets = &self.blocks[block];
        let behind = sets.partition_point(|set| set.first <= sector);
        let place = behind.checked_sub(1)?;
        Some(((block, place), sets[place]))
    }

    fn insert(&mut self, set: SectorSet) {
        let behind = self.firsts.partition_point(|&first| first <= set.first);
        let block = behind.saturating_sub(1);
        if self.blocks.is_empty() {
            self.blocks.push(Vec::with_capacity(BLOCK));
            self.firsts.push(set.first);
        }
        let sets = &mut self.blocks[block];
        let place = sets.partition_point(|other| other.first < set.first);
        sets.insert(place, set);
        self.firsts[block] = sets[0].first;
        self.len += 1;
        if sets.len() == BLOCK {
            let upper = sets.split_off(BLOCK / 2);
            self.firsts.insert(block + 1, upper[0].first);
            self.blocks.insert(block + 1, upper);
        }
    }

    fn remove(&mut self, (block, place): SetPlace) {
        let sets = &mut self.blocks[block];
        sets.remove(place);
        self.len -= 1;
        match sets.first() {
            Some(first) => self.firsts[block] = first.first,
            None => {
                self.blocks.remove(block);
                self.firsts.remove(block);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::rng::SplitMix64;

    #[test]
    fn large_sets_are_counted_and_what_is_remembered_stays_small() {
        let (mut sets, mut random) = (RecentSets::new(64, 50), SplitMix64::new(3));
        let mut most = 0;
        for _ in 0..20_000 {
            sets.begin();
            let first = random.below(300) * 8;
            sets.write(first, first + 8 * (1 + random.below(6)) - 1);
            let all = sets.sets.blocks.iter().flatten();
            let large = all.filter(|set| set.sectors() > 64);
            assert_eq!(sets.large(), large.count());
            assert!(sets.order.len() <= 100 && !sets.is_empty());
            most = most.max(sets.large());
        }
        assert!(most > 2, "{most}");
    }
}
