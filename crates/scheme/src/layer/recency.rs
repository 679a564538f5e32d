//! Lists ordered by last touch, with pages that join out of turn.

use crate::lists::Lists;
use destage_types::Slot;

/// LRU lists over the slots of the cache that know when each page was touched last.
///
/// Every list is sorted by stamp, the newest at the head: pages move to a head only when they are
/// touched, and [`Recency::merge`] puts the others where they belong. Stamps count touches.
#[derive(Clone, Debug)]
pub(crate) struct Recency {
    lists: Lists,
    stamp: Vec<u64>,
    /// By list: when its oldest page was touched last, [`NO_PAGE`] of an empty one.
    oldest: Vec<u64>,
    newest: u64,
    scratch: Vec<Slot>,
}

/// Later than every touch: the last touch of a page that does not exist.
pub(crate) const NO_PAGE: u64 = u64::MAX;

impl Recency {
    /// `lists` empty lists for `capacity` slots.
    pub(crate) fn new(capacity: usize, lists: usize) -> Recency {
        Recency {
            lists: Lists::new(capacity, lists),
            stamp: vec![0; capacity],
            oldest: vec![NO_PAGE; lists],
            newest: 0,
            scratch: Vec::with_capacity(capacity),
        }
    }

    /// Puts an absent page at the head of `list`.
    #[inline]
    pub(crate) fn push(&mut self, list: usize, slot: Slot) {
        self.stamp_now(slot);
        self.lists.push_head(list, slot.0);
        // The newest of all pages is the oldest only where there is no other.
        self.oldest[list] = self.oldest[list].min(self.newest);
    }

    /// Touches a page of `list`, its own list.
    #[inline]
    pub(crate) fn touch(&mut self, list: usize, slot: Slot) {
        let was_oldest = self.stamp(slot) == self.oldest[list];
        self.stamp_now(slot);
        self.lists.move_to_head(list, slot.0);
        if was_oldest {
            self.find_oldest(list);
        }
    }

    fn find_oldest(&mut self, list: usize) {
        self.oldest[list] = last_touch_of_tail(&self.lists, &self.stamp, list);
    }

    #[inline]
    fn stamp_now(&mut self, slot: Slot) {
        self.newest += 1;
        self.stamp[slot.index()] = self.newest;
    }

    /// Takes a page out of its list.
    #[inline]
    pub(crate) fn remove(&mut self, slot: Slot) {
        let list = self.list_of(slot);
        self.lists.unlink(slot.0);
        if self.stamp(slot) == self.oldest[list] {
            self.find_oldest(list);
        }
    }

    /// The list a page is in.
    #[inline]
    pub(crate) fn list_of(&self, slot: Slot) -> usize {
        self.lists.list_of(slot.0)
    }

    /// When the page was touched last.
    #[inline]
    pub(crate) fn stamp(&self, slot: Slot) -> u64 {
        self.stamp[slot.index()]
    }

    /// Moves those of `slots` that are in other lists to `list`, each to its place by last touch.
    pub(crate) fn merge(&mut self, list: usize, slots: &[Slot]) {
        let (lists, stamp) = (&self.lists, &self.stamp);
        self.scratch.clear();
        self.scratch
            .extend(slots.iter().filter(|s| lists.list_of(s.0) != list));
        self.scratch.sort_unstable_by_key(|s| stamp[s.index()]);
        let mut at = self.lists.tail(list);
        for &slot in &self.scratch {
            while let Some(n) = at.filter(|&n| self.stamp[n as usize] < self.stamp[slot.index()]) {
                at = self.lists.newer(n);
            }
            let left = self.lists.list_of(slot.0);
            self.lists.unlink(slot.0);
            match at {
                Some(newer) => self.lists.insert_older(slot.0, newer),
                None => self.lists.push_head(list, slot.0),
            }
            if self.stamp[slot.index()] == self.oldest[left] {
                self.oldest[left] = last_touch_of_tail(&self.lists, &self.stamp, left);
            }
        }
        self.find_oldest(list);
    }

    /// Last touch of [`Recency::oldest`], [`NO_PAGE`] if the list is empty.
    #[inline]
    pub(crate) fn oldest_touch(&self, list: usize) -> u64 {
        self.oldest[list]
    }

    /// The page of `list` touched longest ago.
    #[inline]
    pub(crate) fn oldest(&self, list: usize) -> Option<Slot> {
        self.lists.tail(list).map(Slot)
    }

    /// The page of the same list that was touched next.
    #[inline]
    pub(crate) fn newer(&self, slot: Slot) -> Option<Slot> {
        self.lists.newer(slot.0).map(Slot)
    }

    /// Pages of `list`, oldest first.
    pub(crate) fn oldest_first(&self, list: usize) -> impl Iterator<Item = Slot> + '_ {
        self.lists.from_tail(list).map(Slot)
    }

    /// Pages of `list`.
    #[inline]
    pub(crate) fn len(&self, list: usize) -> usize {
        self.lists.len(list)
    }

    /// Pages of `list`, newest first.
    pub(crate) fn newest_first(&self, list: usize) -> impl Iterator<Item = Slot> + '_ {
        self.lists.from_head(list).map(Slot)
    }
}

/// When the page at the tail of `list` was touched last, [`NO_PAGE`] without one.
fn last_touch_of_tail(lists: &Lists, stamp: &[u64], list: usize) -> u64 {
    let tail = lists.tail(list);
    tail.map_or(NO_PAGE, |slot| stamp[slot as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_keeps_every_list_sorted() {
        let mut rng = crate::rng::SplitMix64::new(3);
        let mut r = Recency::new(40, 3);
        let mut seen = [false; 40];
        for _ in 1..4000 {
            let slot = Slot((rng.next_u64() % 40) as u32);
            let list = (rng.next_u64() % 3) as usize;
            let (was_seen, what) = (seen[slot.index()], rng.next_u64() % 8);
            match (was_seen, what) {
                (false, _) => r.push(list, slot),
                (true, 0) => {
                    let others: Vec<Slot> = (0..40).map(Slot).collect();
                    let others = others.into_iter().filter(|s| seen[s.index()]);
                    r.merge(0, &others.collect::<Vec<_>>());
                }
                (true, 1) => r.remove(slot),
                (true, _) => r.touch(r.list_of(slot), slot),
            }
            seen[slot.index()] = !(was_seen && what == 1);
            for list in 0..3 {
                let stamps: Vec<u64> = r.newest_first(list).map(|s| r.stamp(s)).collect();
                assert!(stamps.is_sorted_by(|a, b| a > b));
                assert_eq!(stamps.len(), r.len(list));
                assert_eq!(stamps.last().unwrap_or(&NO_PAGE), &r.oldest_touch(list));
            }
        }
    }
}
