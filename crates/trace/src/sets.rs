//! Which written bytes belong to large sequential sets (Prober, section 3.1): the rules of the scheme's
//! LWRS queue, with an entry for each set and not for each part of the addresses that it covers, so that
//! a request takes no memory for its length.

use std::collections::{BTreeMap, VecDeque};

/// Sets of sectors that were written lately; disjoint and never adjacent.
pub struct RecentSets {
    /// Sectors above which a set is large.
    ssp: u64,
    /// Writes that a set is remembered for.
    window: u64,
    /// Number of the last write.
    asn: u64,
    /// Last sector and number of the last write of each set, by its first sector.
    sets: BTreeMap<u64, (u64, u64)>,
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
            sets: BTreeMap::new(),
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
            if self.sets.get(&first).is_some_and(|set| set.1 == asn) {
                self.remove(first);
            }
        }
    }

    /// Sectors `first..=last` are written: how many sectors are in a large set from now on that were not
    /// before, or are written again. Sets that overlap them are forgotten whole (PR-3), adjacent ones are
    /// merged.
    pub fn write(&mut self, first: u64, last: u64) -> u64 {
        while let Some((&start, &(end, _))) = self.sets.range(..=last).next_back()
            && end >= first
        {
            self.remove(start);
        }
        let (mut new, mut joined) = ((first, last), 0);
        if let Some((&start, &(end, _))) = self.sets.range(..first).next_back()
            && end + 1 == first
        {
            self.remove(start);
            new.0 = start;
            joined += self.if_small(end - start + 1);
        }
        if let Some(end) = self.remove(last + 1) {
            new.1 = end;
            joined += self.if_small(end - last);
        }
        self.sets.insert(new.0, (new.1, self.asn));
        self.large += usize::from(new.1 - new.0 + 1 > self.ssp);
        self.order.push_back((self.asn, new.0));
        if new.1 - new.0 + 1 > self.ssp {
            joined + (last - first + 1)
        } else {
            0
        }
    }

    /// Sets that are remembered.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Is none remembered?
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Sets that are large.
    pub fn large(&self) -> usize {
        self.large
    }

    /// Forgets the set that begins at `first`: where it ended.
    fn remove(&mut self, first: u64) -> Option<u64> {
        let (end, _) = self.sets.remove(&first)?;
        self.large -= usize::from(end - first + 1 > self.ssp);
        Some(end)
    }

    /// A set that was large has been counted.
    fn if_small(&self, sectors: u64) -> u64 {
        if sectors > self.ssp { 0 } else { sectors }
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
            let large = |(first, (end, _)): (&u64, &(u64, u64))| end - first + 1 > 64;
            assert_eq!(sets.large(), sets.sets.iter().filter(|&s| large(s)).count());
            assert!(sets.order.len() <= 100 && !sets.is_empty());
            most = most.max(sets.large());
        }
        assert!(most > 2, "{most}");
    }
}
