//! History of pages that are not cached any more, in queues: pages enter at one end and leave at
//! the other or, when they come back, from anywhere.

use crate::ahead::{Ahead, LOOK_AHEAD, mix};
use crate::ghost::NO_PAGE;
use crate::sparse::{Place, Sparse};
use destage_types::Lpn;

/// `QUEUES` queues of absent pages ("ghosts") that share one lookup table.
///
/// A page is in at most one of the queues. They are rings: pages enter and leave one side by side
/// in memory, and a page that leaves from the middle only leaves a gap. All operations are O(1), amortised, without hashing.
/// Memory is allocated for `capacity` entries a queue at once (8 B each, twice as many) and grows
/// only if more are pushed; the lookup is that of [`crate::GhostTable`].
#[derive(Clone, Debug)]
pub struct GhostQueues<const QUEUES: usize> {
    rings: [Ring; QUEUES],
    /// Place in its ring times `QUEUES` plus number of the ring. An entry counts only while that
    /// place has the page.
    index: Sparse<u32>,
}

/// Where a ghost is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ghost {
    /// Its place in its queue; valid until the queue changes.
    pub node: u32,
    /// Its queue.
    pub list: usize,
}

#[derive(Clone, Debug)]
struct Ring {
    /// A power of two places; `NO_PAGE` where nothing is.
    pages: Vec<Lpn>,
    /// Places that were taken and that were given back since the beginning: what lies between them
    /// is in use, gaps included.
    taken: u64,
    freed: u64,
    /// Pages.
    len: usize,
}

impl Ring {
    fn new(capacity: usize) -> Ring {
        Ring {
            pages: vec![NO_PAGE; (2 * capacity).next_power_of_two()],
            taken: 0,
            freed: 0,
            len: 0,
        }
    }

    #[inline]
    fn place(&self, number: u64) -> usize {
        number as usize & (self.pages.len() - 1)
    }

    #[inline]
    fn push(&mut self, lpn: Lpn) -> usize {
        let place = self.place(self.taken);
        self.pages[place] = lpn;
        self.taken += 1;
        self.len += 1;
        place
    }

    #[inline]
    fn remove(&mut self, place: usize) {
        self.pages[place] = NO_PAGE;
        self.len -= 1;
        if self.len == 0 {
            self.freed = self.taken;
        }
    }

    /// Pages from the newest to the oldest.
    fn newest_first(&self) -> impl Iterator<Item = Lpn> + '_ {
        let places = (self.freed..self.taken).rev();
        places
            .map(|number| self.pages[self.place(number)])
            .filter(|&lpn| lpn != NO_PAGE)
    }
}

impl<const QUEUES: usize> GhostQueues<QUEUES> {
    /// Empty queues with room for `capacity` ghosts each.
    pub fn new(capacity: usize) -> GhostQueues<QUEUES> {
        GhostQueues {
            rings: std::array::from_fn(|_| Ring::new(capacity)),
            index: Sparse::new(u32::MAX),
        }
    }

    /// The ghost of page `lpn`, if there is one.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<Ghost> {
        let entry = self.index.get(lpn.0) as usize;
        let (list, node) = (entry % QUEUES, entry / QUEUES);
        let held = self.rings[list].pages.get(node) == Some(&lpn);
        held.then_some(Ghost {
            node: node as u32,
            list,
        })
    }

    /// Brings what [`GhostQueues::find`] reads close, see [`crate::ahead`].
    #[inline(always)]
    pub fn look_ahead(&self, ahead: &Ahead) -> u64 {
        let places: [Place; LOOK_AHEAD] = self.index.places(|i| ahead[i].0);
        mix(&self.index.look_at(&places), |entry| {
            let ring = &self.rings[entry as usize % QUEUES].pages;
            ring[(entry as usize / QUEUES).min(ring.len() - 1)].0
        })
    }

    /// Remembers page `lpn`, of which there is no ghost yet, as the newest of queue `list`.
    #[inline]
    pub fn push_head(&mut self, list: usize, lpn: Lpn) {
        debug_assert!(self.find(lpn).is_none());
        let ring = &self.rings[list];
        if ring.taken - ring.freed == ring.pages.len() as u64 {
            self.close_gaps(list);
        }
        let place = self.rings[list].push(lpn);
        *self.index.at(lpn.0) = (place * QUEUES + list) as u32;
    }

    /// Forgets a ghost.
    #[inline]
    pub fn remove(&mut self, ghost: Ghost) {
        self.rings[ghost.list].remove(ghost.node as usize);
    }

    /// Forgets page `lpn`; says in which queue it was.
    #[inline]
    pub fn forget(&mut self, lpn: Lpn) -> Option<usize> {
        let ghost = self.find(lpn)?;
        self.remove(ghost);
        Some(ghost.list)
    }

    /// Forgets the oldest ghost of queue `list`; false if it is empty.
    #[inline]
    pub fn drop_oldest(&mut self, list: usize) -> bool {
        let ring = &mut self.rings[list];
        if ring.len == 0 {
            return false;
        }
        loop {
            let place = ring.place(ring.freed);
            ring.freed += 1;
            if ring.pages[place] != NO_PAGE {
                ring.remove(place);
                return true;
            }
        }
    }

    /// The ghost of `from` is a ghost of `to` from now on, in the same place. There must be no
    /// ghost of `to`. False, and nothing changes, if there is no ghost of `from`.
    pub fn rename(&mut self, from: Lpn, to: Lpn) -> bool {
        let Some(ghost) = self.find(from) else {
            return false;
        };
        debug_assert!(self.find(to).is_none());
        self.rings[ghost.list].pages[ghost.node as usize] = to;
        *self.index.at(to.0) = self.index.get(from.0);
        true
    }

    /// Ghosts in queue `list`.
    #[inline]
    pub fn len(&self, list: usize) -> usize {
        self.rings[list].len
    }

    /// Is queue `list` empty?
    #[inline]
    pub fn is_empty(&self, list: usize) -> bool {
        self.rings[list].len == 0
    }

    /// Pages of queue `list` from the newest to the oldest.
    pub fn from_head(&self, list: usize) -> impl Iterator<Item = Lpn> + '_ {
        self.rings[list].newest_first()
    }

    /// Makes places free in a ring in which all are taken: moves its pages together, or gives it
    /// twice as many places if there are few gaps, so that this is rare.
    #[cold]
    #[inline(never)]
    fn close_gaps(&mut self, list: usize) {
        let ring = &mut self.rings[list];
        if ring.len > ring.pages.len() / 2 {
            let mut wider = Ring::new(ring.pages.len());
            let pages: Vec<Lpn> = ring.newest_first().collect();
            for lpn in pages.into_iter().rev() {
                wider.push(lpn);
            }
            *ring = wider;
        } else {
            let old = (ring.freed, ring.taken);
            (ring.taken, ring.len) = (ring.freed, 0);
            for number in old.0..old.1 {
                let place = ring.place(number);
                let lpn = std::mem::replace(&mut ring.pages[place], NO_PAGE);
                if lpn != NO_PAGE {
                    ring.push(lpn);
                }
            }
        }
        for number in ring.freed..ring.taken {
            let place = ring.place(number);
            *self.index.at(ring.pages[place].0) = (place * QUEUES + list) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn queues_agree_with_deques_even_when_they_grow() {
        for capacity in [0, 3, 64] {
            let mut ghosts = GhostQueues::<2>::new(capacity);
            let mut model = [VecDeque::new(), VecDeque::new()];
            let mut x = 11u64;
            for _ in 0..40_000 {
                x = x
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                let (lpn, other) = (Lpn((x >> 40) % 90), Lpn((x >> 20) % 90));
                let list = (x >> 60) as usize & 1;
                let held = model.iter().position(|m| m.contains(&lpn));
                assert_eq!(ghosts.find(lpn).map(|g| g.list), held);
                match (held, (x >> 57) & 3) {
                    (None, _) => {
                        ghosts.push_head(list, lpn);
                        model[list].push_front(lpn);
                    }
                    (Some(l), 0) => {
                        assert_eq!(ghosts.forget(lpn), Some(l));
                        model[l].retain(|&m| m != lpn);
                    }
                    (Some(l), 1) if model.iter().all(|m| !m.contains(&other)) => {
                        assert!(ghosts.rename(lpn, other));
                        let at = model[l].iter().position(|&m| m == lpn).unwrap();
                        model[l][at] = other;
                    }
                    (Some(_), 2) => {
                        assert_eq!(ghosts.drop_oldest(list), model[list].pop_back().is_some());
                    }
                    _ => {}
                }
                for (l, m) in model.iter().enumerate() {
                    assert!(ghosts.from_head(l).eq(m.iter().copied()));
                    assert_eq!((ghosts.len(l), ghosts.is_empty(l)), (m.len(), m.is_empty()));
                }
            }
        }
    }

    #[test]
    fn renaming_an_unknown_page_changes_nothing() {
        let mut ghosts = GhostQueues::<1>::new(2);
        ghosts.push_head(0, Lpn(1));
        assert!(!ghosts.rename(Lpn(7), Lpn(8)));
        assert!(ghosts.from_head(0).eq([Lpn(1)]));
    }

    #[test]
    fn gaps_are_closed_without_more_memory() {
        let mut ghosts = GhostQueues::<1>::new(4);
        for n in 0..1000 {
            ghosts.push_head(0, Lpn(n));
            if n >= 3 {
                // All but the oldest and the newest leave from the middle.
                ghosts.forget(Lpn(n - 1));
            }
        }
        assert_eq!(ghosts.rings[0].pages.len(), 8);
        assert!(ghosts.from_head(0).eq([999, 1, 0].map(Lpn)));
    }
}
