//! Containers of pending events. Every resource has at most one that counts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Later than every event.
pub(super) const NEVER: u64 = u64::MAX;

/// A set of (time, resource) that is emptied in ascending order of both.
pub trait EventQueue {
    /// An empty set for resources `0..resources`.
    fn new(resources: usize) -> Self;
    /// Adds the event of `resource` at `time` ns. If the resource has one pending, that may be given
    /// out at its old time all the same.
    fn set(&mut self, resource: usize, time: u64);
    /// Time of the earliest event, `u64::MAX` without one.
    fn peek(&self) -> u64;
    /// Removes the lowest resource among those due at `time`, which must not be after the
    /// earliest event.
    fn pop_due(&mut self, time: u64) -> Option<usize>;
}

/// Binary heap of (time, resource): the default, faster than the tree on 32 dies.
///
/// Both are one number, the time above the resource: pairs are compared by branches that no
/// processor can predict. What ends an event mostly sets another one, so the place of an event that
/// was taken is kept for the next one.
#[derive(Clone, Debug)]
pub struct EventHeap {
    events: BinaryHeap<Reverse<u128>>,
    /// The first event was taken and is not there any more.
    taken: bool,
    /// Time of the earliest event that is there.
    next: u64,
}

/// Bits of a resource in an event of [`EventHeap`].
const RESOURCE_BITS: u32 = 64;

impl EventQueue for EventHeap {
    fn new(resources: usize) -> EventHeap {
        EventHeap {
            events: BinaryHeap::with_capacity(resources),
            taken: false,
            next: NEVER,
        }
    }

    #[inline]
    fn set(&mut self, resource: usize, time: u64) {
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

    #[inline]
    fn peek(&self) -> u64 {
        self.next
    }

    #[inline]
    fn pop_due(&mut self, time: u64) -> Option<usize> {
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

/// Winner tree: one leaf per resource, every inner node holds the earlier time of its children.
/// Kept to show that results do not depend on the container.
#[derive(Clone, Debug)]
pub struct EventTree {
    leaves: usize,
    times: Vec<u64>,
}

impl EventQueue for EventTree {
    fn new(resources: usize) -> EventTree {
        let leaves = resources.next_power_of_two();
        EventTree {
            leaves,
            times: vec![NEVER; 2 * leaves],
        }
    }

    #[inline]
    fn set(&mut self, resource: usize, time: u64) {
        let mut node = self.leaves + resource;
        self.times[node] = time;
        while node > 1 {
            node /= 2;
            self.times[node] = self.times[2 * node].min(self.times[2 * node + 1]);
        }
    }

    #[inline]
    fn peek(&self) -> u64 {
        self.times[1]
    }

    #[inline]
    fn pop_due(&mut self, time: u64) -> Option<usize> {
        if self.times[1] != time || time == NEVER {
            return None;
        }
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            node += usize::from(self.times[node] != time);
        }
        let resource = node - self.leaves;
        self.times[node] = NEVER;
        while node > 1 {
            node /= 2;
            self.times[node] = self.times[2 * node].min(self.times[2 * node + 1]);
        }
        Some(resource)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::rng::SplitMix64;

    fn empties_in_order<E: EventQueue>() {
        let mut events = E::new(5);
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

    #[test]
    fn both_containers_empty_in_order() {
        empties_in_order::<EventHeap>();
        empties_in_order::<EventTree>();
    }

    /// Sets and takes at random, beside a list that is searched.
    fn is_like_a_list<E: EventQueue>() {
        let mut rng = SplitMix64::new(7);
        let mut events = E::new(9);
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

    #[test]
    fn both_containers_are_like_a_list() {
        is_like_a_list::<EventHeap>();
        is_like_a_list::<EventTree>();
    }

    #[test]
    fn one_resource_is_enough() {
        let mut tree = EventTree::new(1);
        tree.set(0, 3);
        assert_eq!((tree.peek(), tree.pop_due(3)), (3, Some(0)));
        assert_eq!(tree.peek(), NEVER);
    }
}
