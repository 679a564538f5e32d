//! Which pages are dirty, without a search.

use destage_types::Slot;

const NONE: u32 = u32::MAX;

/// A set of slots that lists its members.
#[derive(Clone, Debug, Default)]
pub(super) struct DirtySet {
    slots: Vec<Slot>,
    /// Index of each slot in `slots`, or [`NONE`].
    at: Vec<u32>,
}

impl DirtySet {
    /// The members, in no order that means anything.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    #[inline]
    pub fn contains(&self, slot: Slot) -> bool {
        self.at.get(slot.index()).is_some_and(|&at| at != NONE)
    }

    #[inline]
    pub fn insert(&mut self, slot: Slot) {
        if self.at.len() <= slot.index() {
            self.at.resize(slot.index() + 1, NONE);
        }
        let at = &mut self.at[slot.index()];
        if *at == NONE {
            *at = self.slots.len() as u32;
            self.slots.push(slot);
        }
    }

    #[inline]
    pub fn remove(&mut self, slot: Slot) {
        let Some(at) = self.at.get_mut(slot.index()) else {
            return;
        };
        let index = std::mem::replace(at, NONE);
        if index != NONE {
            self.slots.swap_remove(index as usize);
            if let Some(moved) = self.slots.get(index as usize) {
                self.at[moved.index()] = index;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;
    use std::collections::BTreeSet;

    #[test]
    fn it_is_a_set() {
        let (mut set, mut known) = (DirtySet::default(), BTreeSet::new());
        let mut rng = SplitMix64::new(5);
        for _ in 0..2000 {
            let slot = Slot((rng.next_u64() % 40) as u32);
            match rng.next_u64() % 2 {
                0 => {
                    set.insert(slot);
                    known.insert(slot);
                }
                _ => {
                    set.remove(slot);
                    known.remove(&slot);
                }
            }
            let mut members = set.slots().to_vec();
            members.sort_unstable();
            assert!(members.into_iter().eq(known.iter().copied()));
            assert_eq!((set.len(), set.is_empty()), (known.len(), known.is_empty()));
        }
    }
}
