//! Tracks for what overlaps: each goes to the first one that is free.

use destage_types::Nanos;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Tracks, from 0.
#[derive(Default)]
pub struct Slots {
    free: BTreeSet<usize>,
    taken: BinaryHeap<Reverse<(Nanos, usize)>>,
}

impl Slots {
    /// The track of what goes on from `begin` to `end`; asked in the order of begins.
    pub fn assign(&mut self, begin: Nanos, end: Nanos) -> usize {
        while let Some(&Reverse((free_at, slot))) = self.taken.peek()
            && free_at <= begin
        {
            self.taken.pop();
            self.free.insert(slot);
        }
        let slot = self.free.pop_first().unwrap_or(self.taken.len());
        self.taken.push(Reverse((end, slot)));
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_free_one() {
        let mut slots = Slots::default();
        let spans = [(0, 10), (0, 3), (2, 4), (3, 9), (4, 4), (4, 5), (10, 11)];
        let placed = spans.map(|(begin, end)| slots.assign(Nanos(begin), Nanos(end)));
        assert_eq!(placed, [0, 1, 2, 1, 2, 2, 0]);
    }
}
