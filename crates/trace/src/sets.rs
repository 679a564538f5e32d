//! Which written bytes belong to large sequential sets (Prober, section 3.1): the rules of the scheme's
//! LWRS queue, with an entry for each set and not for each part of the addresses that it covers, so that
//! a request takes no memory for its length.

/// Sets of sectors that were written lately; disjoint and never adjacent.
pub struct RecentSets {
    /// Sectors above which a set is large.
    ssp: u64,
    /// Writes that a set is remembered for.
    window: u64,
    /// Number of the last write.
    asn: u64,
    /// Those that are forgotten stay until a write meets them or the next sweep.
    sets: SortedSets,
    /// Sets at which the next sweep comes.
    sweep_at: usize,
    /// Sets that are large.
    large: usize,
    /// How many of them were written last by each write of the window, by its number modulo the window.
    large_by_write: Vec<usize>,
}

impl RecentSets {
    /// No sets.
    pub fn new(ssp: u64, window: u64) -> RecentSets {
        RecentSets {
            ssp,
            window,
            asn: 0,
            sets: SortedSets::default(),
            sweep_at: SWEEP,
            large: 0,
            large_by_write: vec![0; window as usize],
        }
    }

    /// A write request begins. Its extents follow with [`RecentSets::write`].
    pub fn begin(&mut self) {
        self.asn += 1;
        let row = self.large_row(self.asn);
        self.large -= std::mem::take(&mut self.large_by_write[row]);
        if self.sets.len >= self.sweep_at {
            let (asn, window) = (self.asn, self.window);
            self.sets.retain(|set| asn - set.asn < window);
            self.sweep_at = 2 * self.sets.len + SWEEP;
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
        let mut before = self.sets.last_until(last + 1);
        while let Some(place) = before
            && let set = self.sets.at(place)
            && set.last + 1 >= first
        {
            before = self.sets.remove(place);
            if !self.is_recent(set) {
                continue;
            }
            if self.is_large(set) {
                let row = self.large_row(set.asn);
                self.large_by_write[row] -= 1;
                self.large -= 1;
            }
            if set.first == last + 1 {
                new.last = set.last;
                joined += self.if_small(set);
            } else if set.last + 1 == first {
                new.first = set.first;
                joined += self.if_small(set);
            }
        }
        self.sets.insert_behind(before, new);
        if !self.is_large(new) {
            return 0;
        }
        let row = self.large_row(new.asn);
        self.large_by_write[row] += 1;
        self.large += 1;
        joined + (last - first + 1)
    }

    /// Sets that are remembered.
    pub fn len(&self) -> usize {
        let sets = self.sets.blocks.iter().flatten();
        sets.filter(|&&set| self.is_recent(set)).count()
    }

    /// Is none remembered?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sets that are large.
    pub fn large(&self) -> usize {
        self.large
    }

    fn is_recent(&self, set: SectorSet) -> bool {
        self.asn - set.asn < self.window
    }

    fn is_large(&self, set: SectorSet) -> bool {
        set.sectors() > self.ssp
    }

    fn large_row(&self, asn: u64) -> usize {
        (asn % self.window) as usize
    }

    /// A set that was large has been counted.
    fn if_small(&self, set: SectorSet) -> u64 {
        if self.is_large(set) { 0 } else { set.sectors() }
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

/// Sets that are kept at least between two sweeps.
const SWEEP: usize = 64;
/// Sets in a block at most.
const BLOCK: usize = 64;

/// Sets in order of their first sectors. They come with every write, which takes a short search and a
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
    fn at(&self, (block, place): SetPlace) -> SectorSet {
        self.blocks[block][place]
    }

    /// The last set that begins at `sector` or before.
    fn last_until(&self, sector: u64) -> Option<SetPlace> {
        let behind = self.firsts.partition_point(|&first| first <= sector);
        let block = behind.checked_sub(1)?;
        let behind = self.blocks[block].partition_point(|set| set.first <= sector);
        Some((block, behind - 1))
    }

    /// Inserts a set behind another one, or in front of all.
    fn insert_behind(&mut self, before: Option<SetPlace>, set: SectorSet) {
        if self.blocks.is_empty() {
            self.blocks.push(Vec::with_capacity(BLOCK));
            self.firsts.push(set.first);
        }
        let (block, place) = before.map_or((0, 0), |(block, place)| (block, place + 1));
        let sets = &mut self.blocks[block];
        sets.insert(place, set);
        self.firsts[block] = sets[0].first;
        self.len += 1;
        if sets.len() == BLOCK {
            let upper = sets.split_off(BLOCK / 2);
            self.firsts.insert(block + 1, upper[0].first);
            self.blocks.insert(block + 1, upper);
        }
    }

    /// Takes a set out, and tells the place of the one before it.
    fn remove(&mut self, (block, place): SetPlace) -> Option<SetPlace> {
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
        match place.checked_sub(1) {
            Some(place) => Some((block, place)),
            None => block.checked_sub(1).map(|b| (b, self.blocks[b].len() - 1)),
        }
    }

    fn retain(&mut self, keep: impl Fn(&SectorSet) -> bool) {
        self.blocks.iter_mut().for_each(|sets| sets.retain(&keep));
        self.blocks.retain(|sets| !sets.is_empty());
        self.firsts = self.blocks.iter().map(|sets| sets[0].first).collect();
        self.len = self.blocks.iter().map(Vec::len).sum();
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
            let large = all.filter(|&&set| sets.is_recent(set) && sets.is_large(set));
            assert_eq!(sets.large(), large.count());
            assert!(sets.sets.len <= 2 * 50 + SWEEP && !sets.is_empty());
            most = most.max(sets.large());
        }
        assert!(most > 2, "{most}");
    }
}
