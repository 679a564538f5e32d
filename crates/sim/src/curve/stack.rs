//! The stack of LRU caches of every size at once (Mattson et al., Evaluation techniques for
//! storage hierarchies, IBM Systems Journal 1970): an LRU cache of C pages holds what stands in
//! the first C places.
//!
//! A TRIM takes a page out of all caches that have it, which leaves a *hole* in its place: caches
//! of at least that many pages have a free frame, smaller ones do not. The next page that enters a
//! cache takes the frame, so a page that comes up from below the topmost hole, or from outside,
//! moves that hole to where it came from.

use std::collections::BinaryHeap;

/// No page stands there.
const NOTHING: u32 = u32::MAX;
/// A hole stands there.
const HOLE: u32 = u32::MAX - 1;
/// Times of the smallest axis.
const LEAST: usize = 1 << 10;

/// Places of pages, counted from 1 at the top. Pages are small numbers in any order.
pub(super) struct LruStack {
    /// Fenwick tree over times: how many of them hold a page or a hole. Entry 0 is not used.
    tree: Vec<u32>,
    /// What was touched last at each time.
    owner: Vec<u32>,
    /// Time of the last touch of each page, plus one; 0: not in the stack.
    touched: Vec<u32>,
    /// Times at which holes stand.
    holes: BinaryHeap<u32>,
    now: u32,
    /// Pages and holes.
    live: u32,
}

impl LruStack {
    pub fn new() -> LruStack {
        LruStack {
            tree: vec![0; LEAST + 1],
            owner: vec![NOTHING; LEAST],
            touched: Vec::new(),
            holes: BinaryHeap::new(),
            now: 0,
            live: 0,
        }
    }

    /// Place of a page; `None` if no cache of any size has it.
    pub fn place(&self, page: u32) -> Option<u32> {
        match self.touched.get(page as usize) {
            None | Some(0) => None,
            Some(&time) => Some(self.live - self.before(time - 1)),
        }
    }

    /// Moves a page to the top and tells where it was.
    pub fn touch(&mut self, page: u32) -> Option<u32> {
        if self.touched.len() <= page as usize {
            self.touched.resize(page as usize + 1, 0);
        }
        let place = self.place(page);
        let old = self.touched[page as usize].checked_sub(1);
        match self.holes.peek() {
            // The hole is above the page, or the page comes from outside.
            Some(&hole) if old.is_none_or(|old| old < hole) => {
                self.holes.pop();
                self.clear(hole);
                if let Some(old) = old {
                    self.owner[old as usize] = HOLE;
                    self.holes.push(old);
                }
            }
            _ => {
                if let Some(old) = old {
                    self.clear(old);
                }
            }
        }
        // The page is in the stack no more: a renumbering must not see it.
        self.touched[page as usize] = 0;
        if self.now as usize == self.owner.len() {
            self.renumber();
        }
        self.owner[self.now as usize] = page;
        self.touched[page as usize] = self.now + 1;
        self.count(self.now, 1);
        self.live += 1;
        self.now += 1;
        place
    }

    /// Takes a page out of all caches.
    pub fn remove(&mut self, page: u32) {
        let Some(time) = self.touched.get_mut(page as usize) else {
            return;
        };
        if let Some(at) = std::mem::take(time).checked_sub(1) {
            self.owner[at as usize] = HOLE;
            self.holes.push(at);
        }
    }

    /// Pages and holes touched before `time`.
    fn before(&self, time: u32) -> u32 {
        let (mut i, mut sum) = (time as usize, 0);
        while i > 0 {
            sum += self.tree[i];
            i &= i - 1;
        }
        sum
    }

    fn count(&mut self, time: u32, by: i32) {
        let mut i = time as usize + 1;
        while i < self.tree.len() {
            self.tree[i] = self.tree[i].wrapping_add_signed(by);
            i += i & i.wrapping_neg();
        }
    }

    fn clear(&mut self, time: u32) {
        self.owner[time as usize] = NOTHING;
        self.count(time, -1);
        self.live -= 1;
    }

    /// Numbers the times anew without the gaps, on an axis with room for as many again.
    fn renumber(&mut self) {
        let axis = (2 * self.live as usize).next_power_of_two().max(LEAST);
        let mut now = 0;
        self.holes.clear();
        for at in 0..self.owner.len() {
            let owner = self.owner[at];
            match owner {
                NOTHING => continue,
                HOLE => self.holes.push(now),
                page => self.touched[page as usize] = now + 1,
            }
            self.owner[now as usize] = owner;
            now += 1;
        }
        self.now = now;
        self.owner.truncate(now as usize);
        self.owner.resize(axis, NOTHING);
        self.tree.clear();
        self.tree.resize(axis + 1, 0);
        for i in 1..=axis {
            self.tree[i] += u32::from(i <= now as usize);
            let parent = i + (i & i.wrapping_neg());
            if parent <= axis {
                self.tree[parent] += self.tree[i];
            }
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

    #[test]
    fn places_tell_the_hits_of_every_size_with_removals() {
        let mut random = SplitMix64::new(3);
        let mut stack = LruStack::new();
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
                stack.remove(page);
                caches
                    .iter_mut()
                    .for_each(|c| c.pages.retain(|&p| p != page));
                continue;
            }
            let place = stack.touch(page);
            for cache in &mut caches {
                let hit = place.is_some_and(|p| p as usize <= cache.size);
                assert_eq!(cache.touch(page), hit, "{} pages", cache.size);
            }
        }
        assert_eq!(
            stack.owner.len(),
            LEAST,
            "the axis stays as long as the stack needs"
        );
    }

    #[test]
    fn the_axis_grows_with_the_pages() {
        let mut stack = LruStack::new();
        for round in 0..3 {
            for page in 0..5_000 {
                let place = stack.touch(page);
                assert_eq!(place, (round > 0).then_some(5_000));
            }
        }
        assert_eq!(stack.place(4_999), Some(1));
        assert_eq!(stack.place(0), Some(5_000));
        assert_eq!(stack.place(5_000), None);
    }
}
