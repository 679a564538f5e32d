//! An LRU list that tells the pages nearest to its LRU end, its window, from all others.

use crate::lists::{List, Lists};
use destage_types::Slot;

/// Arrival of a page that is outside of the window.
const OUTSIDE: u64 = u64::MAX;

/// An LRU list and its window. All operations but [`LruWindow::place`] are O(1).
#[derive(Clone, Debug)]
pub struct LruWindow {
    pages: List,
    /// Most pages of the window, at least 1.
    size: usize,
    inside: usize,
    /// Newest page of the window; meaningless while that is empty.
    edge: Slot,
    /// How many pages had come into the window before the page of each slot. Pages come in from the
    /// LRU end on, so of two pages the one that came first is nearer to it.
    arrival: Vec<u64>,
    arrivals: u64,
}

impl LruWindow {
    /// Without pages; the window has at most `size` of them.
    pub fn new(slots: usize, size: usize) -> LruWindow {
        LruWindow {
            pages: List::new(slots),
            size,
            inside: 0,
            edge: Slot(0),
            arrival: vec![OUTSIDE; slots],
            arrivals: 0,
        }
    }

    /// Is the page in the window?
    #[inline]
    pub fn holds(&self, slot: Slot) -> bool {
        self.arrival(slot) != OUTSIDE
    }

    /// Smaller for pages nearer to the LRU end; for pages of the window only.
    #[inline]
    pub fn arrival(&self, slot: Slot) -> u64 {
        self.arrival[slot.index()]
    }

    /// Puts an absent page at the MRU end, outside of the window.
    #[inline]
    pub fn push(&mut self, slot: Slot) {
        self.pages.push_head(slot);
        self.arrival[slot.index()] = OUTSIDE;
    }

    /// Takes a page out.
    #[inline]
    pub fn remove(&mut self, slot: Slot) {
        if self.holds(slot) {
            if self.edge == slot {
                self.edge = self.pages.older(slot).unwrap_or(slot);
            }
            self.inside -= 1;
        }
        self.pages.unlink(slot);
    }

    /// Lets the next page into the window if it has room, and gives that page.
    #[inline]
    pub fn take_in(&mut self) -> Option<Slot> {
        if self.inside == self.size {
            return None;
        }
        let next = match self.inside {
            0 => self.pages.tail()?,
            _ => self.pages.newer(self.edge)?,
        };
        self.edge = next;
        self.inside += 1;
        self.arrival[next.index()] = self.arrivals;
        self.arrivals += 1;
        Some(next)
    }

    /// Puts a page of the window at its place in `list`, which is in the order of the window.
    pub fn place(&self, lists: &mut Lists, list: usize, slot: Slot) {
        let is_newer = |&other: &u32| self.arrival(Slot(other)) > self.arrival(slot);
        let newer = lists.from_tail(list).find(is_newer);
        match newer {
            Some(newer) => lists.insert_older(slot.0, newer),
            None => lists.push_head(list, slot.0),
        }
    }

    /// The page at the LRU end.
    #[inline]
    pub fn oldest(&self) -> Option<Slot> {
        self.pages.tail()
    }

    /// All pages, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = Slot> + '_ {
        self.pages.from_head()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    #[test]
    fn the_window_is_what_is_nearest_to_the_lru_end() {
        for size in [1, 3, 50] {
            let mut window = LruWindow::new(20, size);
            let mut rng = SplitMix64::new(size as u64);
            let mut model: Vec<Slot> = Vec::new();
            for _ in 0..5000 {
                let x = rng.next_u64();
                let slot = Slot((x % 20) as u32);
                let cached = model.contains(&slot);
                if cached {
                    window.remove(slot);
                    model.retain(|&s| s != slot);
                }
                if !cached || (x >> 40) & 3 != 0 {
                    window.push(slot);
                    model.insert(0, slot);
                }
                while window.take_in().is_some() {}
                assert!(window.newest_first().eq(model.iter().copied()));
                assert_eq!(window.oldest(), model.last().copied());
                let inside = |s: &&Slot| window.holds(**s);
                assert_eq!(model.iter().filter(inside).count(), size.min(model.len()));
                let arrivals = model.iter().rev().take(size).map(|&s| window.arrival(s));
                assert!(arrivals.is_sorted_by(|a, b| a < b && *b != OUTSIDE));
            }
        }
    }
}
