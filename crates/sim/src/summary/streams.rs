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
                self.sets.remove(&first);
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
            self.sets.remove(&start);
        }
        let (mut new, mut joined) = ((first, last), 0);
        if let Some((&start, &(end, _))) = self.sets.range(..first).next_back()
            && end + 1 == first
        {
            self.sets.remove(&start);
            new.0 = start;
            joined += self.if_small(end - start + 1);
        }
        if let Some((end, _)) = self.sets.remove(&(last + 1)) {
            new.1 = end;
            joined += self.if_small(end - last);
        }
        self.sets.insert(new.0, (new.1, self.asn));
        self.order.push_back((self.asn, new.0));
        match new.1 - new.0 + 1 > self.ssp {
            true => joined + (last - first + 1),
            false => 0,
        }
    }

    /// A set that was large has been counted.
    fn if_small(&self, sectors: u64) -> u64 {
        if sectors > self.ssp { 0 } else { sectors }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_scheme::layer::lwrs::Lwrs;
    use destage_types::rng::SplitMix64;

    #[test]
    fn sets_are_those_of_the_scheme() {
        let mut rng = SplitMix64::new(11);
        let (mut own, mut scheme) = (RecentSets::new(64, 50), Lwrs::new(64, 50));
        let mut large = 0;
        for _ in 0..50_000 {
            own.begin();
            scheme.begin();
            for _ in 0..=rng.below(2) {
                let first = rng.below(300) * 8;
                let last = first + 8 * (1 + rng.below(6)) - 1;
                let grown = scheme.write(first, last);
                let joined = grown.joined.iter().flatten();
                let joined: u64 = joined.map(|(first, last)| last - first + 1).sum();
                let expected = match grown.large {
                    true => joined + (last - first + 1),
                    false => 0,
                };
                assert_eq!(own.write(first, last), expected);
                assert_eq!(own.sets.len(), scheme.len());
                large += u64::from(grown.large);
            }
        }
        assert!(large > 1_000, "{large}");
        assert!(own.order.len() <= 100);
    }
}
