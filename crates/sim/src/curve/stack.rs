//! The stack of LRU caches of every size at once (Mattson et al., Evaluation techniques for
//! storage hierarchies, IBM Systems Journal 1970): an LRU cache of C pages holds what stands in
//! the first C places.
//!
//! Each touch takes the next time. A bit for each time says whether the touch is the last one of its
//! page. The place of a page is the number of bits from its time on, counted by words and by groups of
//! words. Bits and counts take less than two bits a time, so those of some million pages stay in the
//! second-level cache of a processor.
//!
//! Increment-and-Freeze (Bender et al., SPAA 2023) divides the whole list of accesses log2(n) times
//! instead, so it tells places at the end only. Here they are known while the trace goes by: where a
//! TRIM or a FLUSH finds a page decides which sizes program it.
//!
//! A TRIM takes a page out of all caches that have it, which leaves a *hole* in its place: caches
//! of at least that many pages have a free frame, smaller ones do not. The next page that enters a
//! cache takes the frame, so a page that comes up from below the topmost hole, or from outside,
//! moves that hole to where it came from.

use std::collections::BinaryHeap;

/// The time of a page that is not in the stack.
pub(super) const OUTSIDE: u32 = u32::MAX;
/// Times of the smallest axis: a group of words.
const LEAST: usize = 64 * FAN;
/// Counts of a group, which a line of a processor's cache holds.
const FAN: usize = 16;

/// Places of pages, counted from 1 at the top. The caller keeps the time of each page.
pub(super) struct LruStack {
    /// A bit for each time: does a page or a hole stand there?
    live: Vec<u64>,
    /// Level 0 has an entry for each word of `live`, each further level one for each group of the level
    /// below: how many bits there are before it in its group. Entries of times to come mean nothing.
    levels: Vec<Vec<[u32; FAN]>>,
    /// Times at which holes stand.
    holes: BinaryHeap<u32>,
    now: u32,
    /// Pages and holes.
    count: u32,
}

impl LruStack {
    pub fn new() -> LruStack {
        let mut stack = LruStack {
            live: Vec::new(),
            levels: Vec::new(),
            holes: BinaryHeap::new(),
            now: 0,
            count: 0,
        };
        stack.lay_out();
        stack
    }

    /// Place of a page that was touched last at `time`; `u32::MAX` if no cache of any size has it.
    #[inline]
    pub fn place(&self, time: u32) -> u32 {
        match time {
            OUTSIDE => u32::MAX,
            time => self.count - self.before(time),
        }
    }

    /// The bits around `time`, to have them at hand.
    #[inline]
    pub fn bits_at(&self, time: u32) -> u64 {
        self.live.get(time as usize / 64).copied().unwrap_or(0)
    }

    /// Are there no times left, so that [`LruStack::renumber`] must come before the next touch?
    #[inline]
    pub fn is_full(&self) -> bool {
        self.now as usize == 64 * self.live.len()
    }

    /// Moves a page to the top, sets its time, and tells where it was.
    #[inline]
    pub fn touch(&mut self, time: &mut u32) -> u32 {
        let place = self.place(*time);
        let mut freed = *time;
        if let Some(&hole) = self.holes.peek()
            && (*time == OUTSIDE || *time < hole)
        {
            // The hole is above the page, or the page comes from outside.
            self.holes.pop();
            if *time != OUTSIDE {
                self.holes.push(*time);
            }
            freed = hole;
        }
        if freed != OUTSIDE {
            self.clear(freed);
        }
        *time = self.now;
        self.live[self.now as usize / 64] |= 1 << (self.now % 64);
        self.count += 1;
        self.now += 1;
        if self.now.is_multiple_of(64) {
            self.begin_word();
        }
        place
    }

    /// Takes a page out of all caches.
    pub fn remove(&mut self, time: &mut u32) {
        if *time != OUTSIDE {
            self.holes.push(*time);
            *time = OUTSIDE;
        }
    }

    /// Numbers the times anew without the gaps, on an axis with room for as many again.
    pub fn renumber<'a>(&mut self, times: impl Iterator<Item = &'a mut u32>) {
        let new = |stack: &LruStack, time: u32| match time {
            OUTSIDE => OUTSIDE,
            time => stack.before(time),
        };
        times.for_each(|time| *time = new(self, *time));
        self.holes = self.holes.iter().map(|&time| new(self, time)).collect();
        self.lay_out();
    }

    /// Pages and holes touched before `time`.
    #[inline]
    fn before(&self, time: u32) -> u32 {
        let mut at = time as usize / 64;
        let mut sum = (self.live[at] & ((1 << (time % 64)) - 1)).count_ones();
        for level in &self.levels {
            sum += level[at / FAN][at % FAN];
            at /= FAN;
        }
        sum
    }

    #[inline]
    fn clear(&mut self, time: u32) {
        let mut at = time as usize / 64;
        self.live[at] &= !(1 << (time % 64));
        self.count -= 1;
        for level in &mut self.levels {
            let own = (at % FAN) as u32;
            // All counts of the group, so that nothing branches.
            for (i, count) in (0u32..).zip(&mut level[at / FAN]) {
                *count = count.wrapping_sub(u32::from(i > own));
            }
            at /= FAN;
        }
    }

    /// Sets the counts of the word that begins now, and of the groups that begin with it.
    fn begin_word(&mut self) {
        let mut at = self.now as usize / 64;
        let mut before = self.live[at - 1].count_ones();
        for level in &mut self.levels {
            before += level[(at - 1) / FAN][(at - 1) % FAN];
            if !at.is_multiple_of(FAN) {
                level[at / FAN][at % FAN] = before;
                return;
            }
            if let Some(group) = level.get_mut(at / FAN) {
                group[0] = 0;
            }
            at /= FAN;
        }
    }

    /// The first `count` times have their bits.
    fn lay_out(&mut self) {
        self.now = self.count;
        let axis = (2 * self.count as usize).next_power_of_two().max(LEAST);
        self.live.clear();
        self.live.resize(self.count as usize / 64, u64::MAX);
        self.live.push((1 << (self.count % 64)) - 1);
        self.live.resize(axis / 64, 0);
        self.levels.clear();
        let (mut entries, mut bits) = (self.live.len(), 64u32);
        while entries > 1 {
            entries = entries.div_ceil(FAN);
            let full = std::array::from_fn(|i| bits.wrapping_mul(i as u32));
            self.levels.push(vec![full; entries]);
            bits = bits.wrapping_mul(FAN as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_scheme::rng::SplitMix64;

    /// One LRU cache of a given size, written down as a list.
    struct Slow {
        pages: Vec<u32>,
        size: usize,
    }

    impl Slow {
        fn touch(&mut self, page: u32) -> bool {
            let at = self.pages.iter().position(|&p| p == page);
            match at {
                Some(at) => drop(self.pages.remove(at)),
                None if self.pages.len() == self.size => drop(self.pages.pop()),
                None => {}
            }
            self.pages.insert(0, page);
            at.is_some()
        }
    }

    /// A stack with the times of its pages.
    struct Timed {
        stack: LruStack,
        times: Vec<u32>,
    }

    impl Timed {
        fn new(pages: usize) -> Timed {
            Timed {
                stack: LruStack::new(),
                times: vec![OUTSIDE; pages],
            }
        }

        fn touch(&mut self, page: u32) -> u32 {
            if self.stack.is_full() {
                self.stack.renumber(self.times.iter_mut());
            }
            self.stack.touch(&mut self.times[page as usize])
        }

        fn place(&self, page: u32) -> u32 {
            self.stack.place(self.times[page as usize])
        }
    }

    #[test]
    fn places_tell_the_hits_of_every_size_with_removals() {
        let mut random = SplitMix64::new(3);
        let mut timed = Timed::new(30);
        let mut caches: Vec<Slow> = (1..=24)
            .map(|size| Slow {
                pages: Vec::new(),
                size,
            })
            .collect();
        for _ in 0..6_000 {
            let x = random.next_u64();
            let page = (x >> 32) as u32 % 30;
            if x.is_multiple_of(7) {
                timed.stack.remove(&mut timed.times[page as usize]);
                caches
                    .iter_mut()
                    .for_each(|c| c.pages.retain(|&p| p != page));
                continue;
            }
            let place = timed.touch(page);
            for cache in &mut caches {
                let hit = place as usize <= cache.size;
                assert_eq!(cache.touch(page), hit, "{} pages", cache.size);
            }
        }
        assert_eq!(
            64 * timed.stack.live.len(),
            LEAST,
            "the axis stays as long as the stack needs"
        );
    }

    #[test]
    fn the_axis_grows_with_the_pages() {
        let mut timed = Timed::new(40_001);
        for round in 0..3 {
            for page in 0..40_000 {
                let place = timed.touch(page);
                assert_eq!(place, if round > 0 { 40_000 } else { u32::MAX });
            }
        }
        assert_eq!(timed.place(39_999), 1);
        assert_eq!(timed.place(0), 40_000);
        assert_eq!(timed.place(40_000), u32::MAX);
    }

    /// Random pages of many, so that words and groups empty in any order, beside a plain list.
    #[test]
    fn places_are_those_of_a_list() {
        let mut random = SplitMix64::new(9);
        let mut timed = Timed::new(6_000);
        let mut list: Vec<u32> = Vec::new();
        for _ in 0..30_000 {
            let x = random.next_u64() >> 20;
            // Half of the touches go to few pages.
            let page = (x >> 1) as u32 % [200, 6_000][(x & 1) as usize];
            let at = list.iter().rposition(|&p| p == page);
            let place = at.map_or(u32::MAX, |at| (list.len() - at) as u32);
            assert_eq!(timed.touch(page), place);
            at.map(|at| list.remove(at));
            list.push(page);
        }
    }
}
