//! The address remapping table: current block -> old address, with the way back.

use super::Pair;
use crate::store::LpnHash;
use destage_types::{Lpn, Slot};

/// No entry, or the end of a chain.
const NONE: u32 = u32::MAX;

/// State of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Absent,
    Plain,
    Atomic,
}

/// Entries by the slot of their current block. Entries that name the same old address form a
/// chain, and a table knows the first of each: O(1) for every operation, without allocation.
#[derive(Clone, Debug)]
pub(super) struct Art {
    pre: Vec<Lpn>,
    kind: Vec<Kind>,
    /// Neighbours in the chain; only meaningful with an entry.
    before: Vec<u32>,
    after: Vec<u32>,
    /// Old address -> first entry of its chain.
    first: LpnHash,
    len: usize,
}

impl Art {
    /// Room for `capacity` blocks in `slots` slots.
    pub fn new(slots: usize, capacity: usize) -> Art {
        Art {
            pre: vec![Lpn(0); slots],
            kind: vec![Kind::Absent; slots],
            before: vec![NONE; slots],
            after: vec![NONE; slots],
            first: LpnHash::new(capacity),
            len: 0,
        }
    }

    /// Entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Entry of the block in `slot`.
    #[inline]
    pub fn get(&self, slot: Slot) -> Option<Pair> {
        let (pre, kind) = (self.pre[slot.index()], self.kind[slot.index()]);
        let atomic = kind == Kind::Atomic;
        (kind != Kind::Absent).then_some(Pair { pre, atomic })
    }

    /// Makes `pair` the entry of the block in `slot`.
    pub fn set(&mut self, slot: Slot, pair: Pair) {
        self.delete(slot);
        let (at, node) = (slot.index(), slot.0);
        self.kind[at] = if pair.atomic {
            Kind::Atomic
        } else {
            Kind::Plain
        };
        self.pre[at] = pair.pre;
        self.len += 1;
        let Some(first) = self.first.get(pair.pre, &self.pre) else {
            (self.before[at], self.after[at]) = (NONE, NONE);
            self.first.insert(pair.pre, node);
            return;
        };
        // Behind the first one, so that the table need not change.
        let next = std::mem::replace(&mut self.after[first as usize], node);
        (self.before[at], self.after[at]) = (first, next);
        if next != NONE {
            self.before[next as usize] = node;
        }
    }

    /// Deletes the entry of the block in `slot`, if there is one.
    #[inline]
    pub fn delete(&mut self, slot: Slot) -> Option<Pair> {
        let pair = self.get(slot)?;
        let (before, after) = (self.before[slot.index()], self.after[slot.index()]);
        if after != NONE {
            self.before[after as usize] = before;
        }
        if before != NONE {
            self.after[before as usize] = after;
        } else {
            self.first.remove(pair.pre, slot.0);
            if after != NONE {
                self.first.insert(pair.pre, after);
            }
        }
        self.kind[slot.index()] = Kind::Absent;
        self.len -= 1;
        Some(pair)
    }

    /// Deletes every entry whose old address is `pre`.
    pub fn delete_naming(&mut self, pre: Lpn) {
        while let Some(first) = self.first.get(pre, &self.pre) {
            self.delete(Slot(first));
        }
    }

    /// Checks the chains against the entries.
    #[cfg(test)]
    pub fn validate(&self) -> Result<(), String> {
        let slots = (0..self.pre.len() as u32).map(Slot);
        let entries: Vec<(Slot, Pair)> = slots.filter_map(|s| Some((s, self.get(s)?))).collect();
        if entries.len() != self.len {
            return Err(format!("{} entries, not {}", entries.len(), self.len));
        }
        for (slot, pair) in entries {
            let first = self.first.get(pair.pre, &self.pre);
            let next = |&s: &u32| Some(self.after[s as usize]).filter(|&n| n != NONE);
            let mut chain = std::iter::successors(first, next);
            if !chain.any(|s| s == slot.0) {
                return Err(format!("slot {slot} is not in the chain of {}", pair.pre));
            }
            let mut chain = std::iter::successors(first, next);
            if chain.any(|s| self.get(Slot(s)).map(|p| p.pre) != Some(pair.pre)) {
                return Err(format!("chain of {} holds another address", pair.pre));
            }
        }
        Ok(())
    }
}
