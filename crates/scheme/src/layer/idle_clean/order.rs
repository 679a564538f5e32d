//! Cached pages by last access, and where the old ones of them begin.

use crate::lists::List;
use destage_types::Slot;

/// All cached pages by last access, with marks.
#[derive(Clone, Debug)]
pub(super) struct Order {
    list: List,
    /// When each page was accessed, counted in accesses.
    stamps: Vec<u64>,
    newest: u64,
    marks: [Mark; 2],
}

/// Where pages are old that have `depth` newer ones at least.
#[derive(Clone, Copy, Debug)]
struct Mark {
    depth: usize,
    /// The newest of these pages, if there is one.
    at: Option<Slot>,
}

impl Order {
    /// No pages yet, in slots below `slots`; marks at these depths.
    pub fn new(slots: usize, depths: [usize; 2]) -> Order {
        Order {
            list: List::new(slots),
            stamps: vec![0; slots],
            newest: 0,
            marks: depths.map(|depth| Mark { depth, at: None }),
        }
    }

    /// When the page in `slot` was accessed last.
    pub fn stamp(&self, slot: Slot) -> u64 {
        self.stamps[slot.index()]
    }

    /// Has the page in `slot` as many newer ones as `mark` asks for?
    pub fn is_old(&self, slot: Slot, mark: usize) -> bool {
        let at = self.marks[mark].at;
        at.is_some_and(|at| self.stamp(slot) <= self.stamp(at))
    }

    /// A page comes in.
    pub fn push(&mut self, slot: Slot) {
        self.list.push_head(slot);
        self.stamp_now(slot);
        for mark in &mut self.marks {
            mark.at = match mark.at {
                Some(at) => self.list.newer(at),
                None if self.list.len() > mark.depth => self.list.tail(),
                None => None,
            };
        }
    }

    /// A page is accessed.
    pub fn touch(&mut self, slot: Slot) {
        let old = [0, 1].map(|mark| self.is_old(slot, mark));
        let newer = self.list.newer(slot);
        self.list.move_to_head(slot);
        self.stamp_now(slot);
        for (mark, _) in self.marks.iter_mut().zip(old).filter(|(_, old)| *old) {
            mark.at = match mark.at {
                // With depth 0 the newest page itself is old.
                Some(at) if at == slot => Some(newer.unwrap_or(slot)),
                Some(at) => self.list.newer(at),
                None => None,
            };
        }
    }

    /// A page leaves.
    pub fn remove(&mut self, slot: Slot) {
        for i in 0..self.marks.len() {
            let at = self.marks[i].at;
            if at == Some(slot) || !self.is_old(slot, i) {
                self.marks[i].at = at.and_then(|at| self.list.older(at));
            }
        }
        self.list.unlink(slot);
    }

    /// Moves a mark.
    pub fn set_depth(&mut self, mark: usize, depth: usize) {
        let Mark { depth: old, at } = self.marks[mark];
        let (mut at, mut newer) = match at {
            Some(at) => (Some(at), old),
            None => (self.list.tail(), self.list.len().saturating_sub(1)),
        };
        while newer > depth {
            at = at.and_then(|at| self.list.newer(at));
            newer -= 1;
        }
        while newer < depth && at.is_some() {
            at = at.and_then(|at| self.list.older(at));
            newer += 1;
        }
        self.marks[mark] = Mark { depth, at };
    }

    fn stamp_now(&mut self, slot: Slot) {
        self.newest += 1;
        self.stamps[slot.index()] = self.newest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    #[test]
    fn marks_are_where_counting_puts_them() {
        let mut rng = SplitMix64::new(7);
        for depths in [[0, 1], [1, 19], [5, 12], [3, 30]] {
            let (mut order, mut depths) = (Order::new(20, depths), depths);
            let mut known: Vec<Slot> = Vec::new();
            for _ in 0..4000 {
                let slot = Slot((rng.next_u64() % 20) as u32);
                let at = known.iter().position(|&s| s == slot);
                match (at, rng.next_u64() % 8) {
                    (_, 0) => {
                        let mark = (rng.next_u64() % 2) as usize;
                        depths[mark] = (rng.next_u64() % 22) as usize;
                        order.set_depth(mark, depths[mark]);
                    }
                    (None, _) => {
                        known.push(slot);
                        order.push(slot);
                    }
                    (Some(at), 1 | 2) => {
                        known.remove(at);
                        order.remove(slot);
                    }
                    (Some(at), _) => {
                        known.remove(at);
                        known.push(slot);
                        order.touch(slot);
                    }
                }
                for (i, &slot) in known.iter().rev().enumerate() {
                    for (mark, &depth) in depths.iter().enumerate() {
                        assert_eq!(order.is_old(slot, mark), i >= depth, "{i} newer, {depth}");
                    }
                }
            }
        }
    }
}
