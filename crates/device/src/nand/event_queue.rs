//! Pending events. Every resource has at most one that counts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Later than every event.
pub(super) const NEVER: u64 = u64::MAX;

/// A set of (time, resource) that is emptied in ascending order of both: a binary heap.
///
/// Both are one number, the time above the resource: pairs are compared by branches that no
/// processor can predict. The end of an event mostly sets another one, so the place of an event
/// that was taken is kept for the next one.
#[derive(Clone, Debug)]
pub(super) struct EventHeap {
    events: BinaryHeap<Reverse<u128>>,
    /// The first event was taken and is not there any more.
    taken: bool,
    /// Time of the earliest event that is there.
    next: u64,
}

/// Bits of a resource in an event of [`EventHeap`].
const RESOURCE_BITS: u32 = 64;

impl EventHeap {
    /// An empty set for resources `0..resources`.
    pub fn new(resources: usize) -> EventHeap {
        EventHeap {
            events: BinaryHeap::with_capacity(resources),
            taken: false,
            next: NEVER,
        }
    }

    /// Adds the event of `resource` at `time` ns. If the resource has one pending, that may be given
    /// out at its old time all the same.
    #[inline]
    pub fn set(&mut self, resource: usize, time: u64) {
        self.next = self.next.min(time);
        let event = Reverse(u128::from(time) << RESOURCE_BITS | resource as u128);
        if std::mem::take(&mut self.taken)
            && let Some(mut first) = self.events.peek_mut()
        {
            *first = event;
        } else {
            self.events.push(event);
        }
    }

    /// Time of the earliest event, [`NEVER`] without one.
    #[inline]
    pub fn peek(&self) -> u64 {
        self.next
    }

    /// Removes the lowest resource among those due at `time`, which must not be after the
    /// earliest event.
    #[inline]
    pub fn pop_due(&mut self, time: u64) -> Option<usize> {
        if self.next != time {
            return None;
        }
        if self.taken {
            self.events.pop();
        }
        let events = self.events.as_slice();
        let resource = events.first()?.0 as usize;
        // The second event is one of the two below the first.
        let time = |at: usize| {
            events
                .get(at)
                .map_or(NEVER, |e| (e.0 >> RESOURCE_BITS) as u64)
        };
        self.next = time(1).min(time(2));
        self.taken = true;
        Some(resource)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::rng::SplitMix64;

    #[test]
    fn events_come_in_order() {
        let mut events = EventHeap::new(5);
        for (resource, time) in [(4, 7), (1, 7), (0, 9), (3, 2)] {
            events.set(resource, time);
        }
        let mut seen = Vec::new();
        while events.peek() != NEVER {
            let time = events.peek();
            while let Some(resource) = events.pop_due(time) {
                seen.push((time, resource));
            }
        }
        assert_eq!(seen, [(2, 3), (7, 1), (7, 4), (9, 0)]);
        assert_eq!(events.pop_due(NEVER), None);
    }

    /// Sets and takes at random, beside a list that is searched.
    #[test]
    fn events_are_like_those_of_a_list() {
        let mut rng = SplitMix64::new(7);
        let mut events = EventHeap::new(9);
        let mut list: Vec<(u64, usize)> = Vec::new();
        let mut now = 0;
        for _ in 0..10_000 {
            let resource = rng.below(9) as usize;
            if rng.below(2) == 0 && list.iter().all(|e| e.1 != resource) {
                let time = now + rng.below(4);
                events.set(resource, time);
                list.push((time, resource));
            } else if let Some(&first) = list.iter().min() {
                assert_eq!(events.peek(), first.0);
                assert_eq!(events.pop_due(first.0), Some(first.1));
                list.retain(|&e| e != first);
                now = first.0;
            }
            let next = list.iter().map(|e| e.0).min();
            assert_eq!(events.peek(), next.unwrap_or(NEVER));
            assert_eq!(
                events.pop_due(now.wrapping_sub(1)),
                None,
                "nothing is due before"
            );
        }
    }
}
