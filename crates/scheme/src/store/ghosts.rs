//! Ghosts: evicted pages that a policy remembers.

use super::page_index::{PageIndex, Place};
use super::prefetch::{PREFETCH, Upcoming, read_all};
use crate::lists::Lists;
use crate::{Access, Env, View, words};
use destage_types::{Lpn, Slot};

words! {
    /// The ghost of a page that comes in, while room is made for that page (GO-1).
    pub enum IncomingGhost {
        /// It counts towards the bound, so the ghost of the victim may push it out.
        Counted = "counted",
        /// It is taken out first, so the page comes back whatever leaves for it.
        Kept = "kept",
    }
}

/// Evicted pages that a policy remembers, each with a node.
///
/// A cached page has its slot as its node, so a policy keeps pages and ghosts in the same lists and
/// arrays, with room for [`Ghosts::nodes`]. Where the ghosts are stored does not concern it: a
/// ghost may stay in the slot of its page, where the index of the cache finds it and to which the page
/// returns, or have a node above all slots and an entry in an index of its own.
///
/// All operations are O(1), without hashing. In slots a ghost takes 1 B; apart 12 B, and the lookup
/// 4 B for each page of every neighbourhood of 512 pages that ever had a ghost.
#[derive(Clone, Debug)]
pub struct Ghosts {
    store: Store,
    /// Slot of the page that is to come in and was a ghost.
    expected: Slot,
    /// Slots that are not needed any more, until the cache takes them back: the last one, which mostly is
    /// the only one, and those before it.
    released: Slot,
    more_released: Vec<Slot>,
}

#[derive(Clone, Debug)]
enum Store {
    InSlots {
        /// Is the page of this slot a ghost?
        held: Vec<bool>,
        most: u32,
    },
    Apart(Box<Apart>),
}

/// Ghosts that have no slots.
#[derive(Clone, Debug)]
struct Apart {
    /// Page of each node; `NO_PAGE` for a node that is free.
    lpn: Vec<Lpn>,
    free: Vec<u32>,
    /// Node of a page. An entry counts only while that node has the page.
    index: PageIndex<u32>,
    /// Node of the first ghost: the number of slots.
    first: u32,
}

/// No LPN: addresses count bytes in 64 bits.
const NO_PAGE: Lpn = Lpn(u64::MAX);

/// One of a policy's lists, which holds ghosts.
#[derive(Clone, Copy, Debug)]
pub struct GhostList {
    /// Its number.
    pub list: usize,
    /// Most ghosts that it may hold.
    pub most: usize,
}

impl Ghosts {
    /// Room for `most` ghosts and the pages of a cache as `env` says. A policy that may have more
    /// than `most` for a moment says so here. More than twice as many as pages are stored apart, for
    /// which memory is taken as they come.
    pub fn new(most: usize, env: &Env) -> Ghosts {
        let slots = env.slots as usize;
        let in_slots = env.ghosts_in_slots && most <= 2 * slots + 1;
        let room = most.min(2 * slots + 1);
        Ghosts {
            store: if in_slots {
                Store::InSlots {
                    held: vec![false; slots + most],
                    most: most as u32,
                }
            } else {
                Store::Apart(Box::new(Apart {
                    lpn: vec![NO_PAGE; room],
                    free: (0..room as u32).rev().collect(),
                    index: PageIndex::new(u32::MAX),
                    first: env.slots,
                }))
            },
            expected: Slot::NONE,
            released: Slot::NONE,
            more_released: Vec::with_capacity(if in_slots { most + 1 } else { 0 }),
        }
    }

    /// Nodes of pages and ghosts are below this; where ghosts are apart it may grow.
    pub fn nodes(&self) -> usize {
        match &self.store {
            Store::InSlots { held, .. } => held.len(),
            Store::Apart(apart) => apart.first as usize + apart.lpn.len(),
        }
    }

    /// The evicted page in `slot` is remembered from now on. Gives its node: the slot itself, or
    /// another one.
    #[inline(always)]
    pub fn remember(&mut self, slot: Slot, v: &View) -> u32 {
        match &mut self.store {
            Store::InSlots { held, .. } => {
                held[slot.index()] = true;
                slot.0
            }
            Store::Apart(apart) => apart.enter(v.frames.lpn(slot)),
        }
    }

    /// The same at the head of a list of ghosts: the oldest is forgotten for it if the list is too long.
    #[inline(always)]
    pub fn remember_in<L: AsRef<[u32]> + AsMut<[u32]>>(
        &mut self,
        lists: &mut Lists<L>,
        GhostList { list, most }: GhostList,
        slot: Slot,
        v: &View,
    ) -> u32 {
        let node = self.remember(slot, v);
        lists.reserve(self.nodes());
        lists.push_head(list, node);
        if lists.len(list) > most
            && let Some(oldest) = lists.tail(list)
        {
            lists.unlink(oldest);
            self.forget(oldest);
        }
        node
    }

    /// Node of page `lpn`, if it is remembered.
    #[inline]
    pub fn find(&self, lpn: Lpn, v: &View) -> Option<u32> {
        match &self.store {
            Store::InSlots { held, .. } => {
                let slot = v.frames.slot_or_ghost_of(lpn)?;
                held[slot.index()].then_some(slot.0)
            }
            Store::Apart(apart) => apart.find(lpn),
        }
    }

    /// Page `a` is about to come in: forgets its ghost, if there is one, and gives its node.
    #[inline(always)]
    pub fn take(&mut self, a: &Access, v: &View) -> Option<u32> {
        match &mut self.store {
            Store::InSlots { held, .. } => {
                let slot = v.frames.ghost_at(a.lpn, a.entry)?;
                if !std::mem::take(&mut held[slot.index()]) {
                    return None;
                }
                self.expected = slot;
                Some(slot.0)
            }
            Store::Apart(apart) => apart.take(a.lpn),
        }
    }

    /// Page `a` has come in, into `slot`: forgets its ghost, if there is one, and gives its node.
    #[inline(always)]
    pub fn take_inserted(&mut self, slot: Slot, a: &Access) -> Option<u32> {
        match &mut self.store {
            Store::InSlots { held, .. } => {
                std::mem::take(&mut held[slot.index()]).then_some(slot.0)
            }
            Store::Apart(apart) => apart.take(a.lpn),
        }
    }

    /// Forgets the ghost of a node.
    #[inline(always)]
    pub fn forget(&mut self, node: u32) {
        match &mut self.store {
            Store::InSlots { held, .. } => {
                held[node as usize] = false;
                self.release(Slot(node));
            }
            Store::Apart(apart) => apart.remove(node - apart.first),
        }
    }

    /// Forgets page `lpn`, if it is remembered, and takes its node out of its list.
    #[inline(always)]
    pub fn forget_page<L: AsRef<[u32]> + AsMut<[u32]>>(
        &mut self,
        lists: &mut Lists<L>,
        lpn: Lpn,
        v: &View,
    ) {
        if let Some(node) = self.find(lpn, v) {
            lists.unlink(node);
            self.forget(node);
        }
    }

    /// Page of a ghost's node.
    pub fn page(&self, node: u32, v: &View) -> Lpn {
        match &self.store {
            Store::InSlots { .. } => v.frames.lpn(Slot(node)),
            Store::Apart(apart) => apart.lpn[(node - apart.first) as usize],
        }
    }

    /// Most ghosts in slots.
    pub fn max_in_slots(&self) -> u32 {
        match &self.store {
            Store::InSlots { most, .. } => *most,
            Store::Apart(_) => 0,
        }
    }

    /// Is the page that was in `slot` remembered there?
    #[inline(always)]
    pub fn is_in_slot(&self, slot: Slot) -> bool {
        match &self.store {
            Store::InSlots { held, .. } => held[slot.index()],
            Store::Apart(_) => false,
        }
    }

    /// A slot that is not needed any more, if there is one.
    #[inline(always)]
    pub fn take_released(&mut self) -> Option<Slot> {
        if self.released == Slot::NONE {
            return None;
        }
        let next = self.more_released.pop().unwrap_or(Slot::NONE);
        Some(std::mem::replace(&mut self.released, next))
    }

    #[inline(always)]
    fn release(&mut self, slot: Slot) {
        let before = std::mem::replace(&mut self.released, slot);
        if before != Slot::NONE {
            self.more_released.push(before);
        }
    }

    /// The next page is about to come in: one that was expected before and did not come in is
    /// forgotten.
    #[inline(always)]
    pub(crate) fn expect_none(&mut self) {
        if self.expected != Slot::NONE {
            let waiting = std::mem::replace(&mut self.expected, Slot::NONE);
            self.release(waiting);
        }
    }

    /// A page is in `slot` or just left it, so the cache knows what becomes of the slot.
    #[inline(always)]
    pub(crate) fn in_use(&mut self, slot: Slot) {
        if self.expected == slot {
            self.expected = Slot::NONE;
        }
        if self.released != Slot::NONE {
            self.more_released.retain(|&released| released != slot);
            if self.released == slot {
                self.released = self.more_released.pop().unwrap_or(Slot::NONE);
            }
        }
    }

    /// Renames the ghost of `from` to `to`. There must be no ghost of `to`. False, and nothing
    /// changes, if `from` is not remembered.
    pub(crate) fn rename(&mut self, from: Lpn, to: Lpn, v: &View) -> bool {
        match &mut self.store {
            Store::InSlots { .. } => self.find(from, v).is_some(),
            Store::Apart(apart) => apart.rename(from, to),
        }
    }

    /// Brings what [`Ghosts::find`] reads close.
    #[inline(always)]
    pub(crate) fn prefetch(&self, upcoming: &Upcoming) {
        if let Store::Apart(apart) = &self.store {
            apart.prefetch(upcoming);
        }
    }
}

impl Apart {
    #[inline]
    fn find(&self, lpn: Lpn) -> Option<u32> {
        let node = self.index.get(lpn.0);
        let held = self.lpn.get(node as usize) == Some(&lpn);
        held.then(|| self.first + node)
    }

    #[inline]
    fn take(&mut self, lpn: Lpn) -> Option<u32> {
        let node = self.find(lpn)?;
        self.remove(node - self.first);
        Some(node)
    }

    #[inline]
    fn enter(&mut self, lpn: Lpn) -> u32 {
        debug_assert!(self.find(lpn).is_none());
        if self.free.is_empty() {
            self.grow();
        }
        let node = self.free.pop().expect("grow adds free nodes");
        self.lpn[node as usize] = lpn;
        *self.index.at(lpn.0) = node;
        self.first + node
    }

    #[inline]
    fn remove(&mut self, node: u32) {
        self.lpn[node as usize] = NO_PAGE;
        self.free.push(node);
    }

    fn rename(&mut self, from: Lpn, to: Lpn) -> bool {
        let Some(node) = self.find(from) else {
            return false;
        };
        debug_assert!(self.find(to).is_none());
        let node = node - self.first;
        self.lpn[node as usize] = to;
        *self.index.at(to.0) = node;
        true
    }

    #[cold]
    fn grow(&mut self) {
        let old = self.lpn.len();
        let more = old.max(16);
        self.lpn.resize(old + more, NO_PAGE);
        self.free.extend((old as u32..(old + more) as u32).rev());
    }

    #[inline(always)]
    fn prefetch(&self, upcoming: &Upcoming) {
        let Some(last) = self.lpn.len().checked_sub(1) else {
            return;
        };
        let places: [Place; PREFETCH] = self.index.places(|i| upcoming[i].0);
        let nodes = self.index.look_at(&places);
        read_all(&nodes, |node| self.lpn[(node as usize).min(last)].0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn ghosts_apart_agree_with_a_map_even_when_they_grow() {
        for capacity in [0, 3, 64] {
            let env = Env {
                ghosts_in_slots: false,
                ..Env::cache_only(capacity as u32 / 2)
            };
            let Store::Apart(mut ghosts) = Ghosts::new(capacity, &env).store else {
                panic!("ghosts are apart");
            };
            let mut model: BTreeMap<u64, u32> = BTreeMap::new();
            let mut rng = crate::rng::SplitMix64::new(11);
            for _ in 0..20_000 {
                let x = rng.next_u64();
                let (lpn, other) = ((x >> 40) % 90, (x >> 20) % 90);
                match (model.get(&lpn).copied(), (x >> 57) & 3) {
                    (None, _) => {
                        let node = ghosts.enter(Lpn(lpn));
                        assert!(node >= env.slots, "above all slots");
                        assert!(model.values().all(|&n| n != node), "a node of its own");
                        model.insert(lpn, node);
                    }
                    (Some(node), 0) => {
                        assert_eq!(ghosts.take(Lpn(lpn)), Some(node));
                        model.remove(&lpn);
                    }
                    (Some(node), 1) if !model.contains_key(&other) => {
                        assert!(ghosts.rename(Lpn(lpn), Lpn(other)));
                        model.remove(&lpn);
                        model.insert(other, node);
                    }
                    _ => {}
                }
                for page in [lpn, other] {
                    assert_eq!(ghosts.find(Lpn(page)), model.get(&page).copied());
                }
            }
            assert!(!ghosts.rename(Lpn(1000), Lpn(1001)));
        }
    }
}
