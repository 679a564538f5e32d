//! The part of the mapping table that is in memory (S-2.3, S-2.5): slots, and those who wait for them.
//!
//! A slot of the map cache holds an entry, or a translation page with `mapping = page`. Its key is the number of the
//! logical unit or of the translation page.

use std::collections::VecDeque;

use destage_device::config::DeviceConfig;

use super::config::MapKeys;

/// Counts of S-2.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MapCounts {
    /// Asked for and there.
    pub hits: u64,
    /// Those of them in memory of the host.
    pub hmb_hits: u64,
    /// Asked for and not there.
    pub misses: u64,
    /// Those of them that others load.
    pub joined: u64,
    /// Array reads of loads.
    pub loads: u64,
    /// Array reads of write backs.
    pub evict_reads: u64,
    /// Their hand-overs.
    pub evict_places: u64,
    /// Array reads of updates for collection.
    pub gc_reads: u64,
    /// Their hand-overs.
    pub gc_places: u64,
    /// Translation pages that were moved.
    pub moved: u64,
}

/// Somebody who waits for a translation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asker {
    Read(usize),
    /// A unit, and the place of old data that it needs.
    Unit(usize, Option<usize>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SlotState {
    Loading,
    Present,
    /// It is written back.
    Leaving,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) key: usize,
    pub(super) state: SlotState,
    pub(super) dirty: bool,
}

/// Somebody wants it, and it has no slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub(super) key: usize,
    pub(super) dirty: bool,
}

/// The part of the mapping table that is in memory.
#[derive(Clone, Debug)]
pub(super) struct MapCache {
    pub(super) keys: MapKeys,
    /// Most recent first.
    pub(super) slots: Vec<Slot>,
    /// Wait for a slot, in order.
    pub(super) queue: VecDeque<Wish>,
    /// Wait until they have been written back.
    pub(super) parked: Vec<Wish>,
    /// Translation pages that are being loaded, with the keys that they bring, in the order in which these joined.
    pub(super) loads: Vec<(usize, Vec<usize>)>,
    /// In the order in which they asked.
    pub(super) askers: Vec<(usize, Asker)>,
    /// Keys whose translation pages wait for a block (S-0.4).
    pub(super) homeless: VecDeque<usize>,
    /// Keys that have been written back, and still have their slots.
    pub(super) freed: Vec<usize>,
    pub(super) counts: MapCounts,
}

impl MapCache {
    /// An empty one, if the mapping table is on flash.
    pub(super) fn new(c: &DeviceConfig) -> Option<MapCache> {
        MapKeys::new(c).map(|keys| MapCache {
            keys,
            slots: Vec::new(),
            queue: VecDeque::new(),
            parked: Vec::new(),
            loads: Vec::new(),
            askers: Vec::new(),
            homeless: VecDeque::new(),
            freed: Vec::new(),
            counts: MapCounts::default(),
        })
    }

    pub(super) fn slot(&mut self, key: usize) -> Option<&mut Slot> {
        self.slots.iter_mut().find(|slot| slot.key == key)
    }

    pub(super) fn leaving(&self) -> usize {
        let leaving = |slot: &&Slot| slot.state == SlotState::Leaving;
        self.slots.iter().filter(leaving).count()
    }

    /// Asks for the slot of a key (S-2.3, S-2.5/1). If it is there: whether it is in memory of the host.
    pub(super) fn ask(&mut self, key: usize, dirty: bool) -> Option<bool> {
        let Some(rank) = self.slots.iter().position(|slot| slot.key == key) else {
            self.counts.misses += 1;
            match self.queue.iter_mut().find(|wish| wish.key == key) {
                Some(wish) => {
                    wish.dirty |= dirty;
                    self.counts.joined += 1;
                }
                None => self.queue.push_back(Wish { key, dirty }),
            }
            return None;
        };
        if self.slots[rank].state == SlotState::Leaving {
            self.counts.misses += 1;
            match self.parked.iter_mut().find(|wish| wish.key == key) {
                Some(wish) => {
                    wish.dirty |= dirty;
                    self.counts.joined += 1;
                }
                None => self.parked.push(Wish { key, dirty }),
            }
            return None;
        }
        let mut slot = self.slots.remove(rank);
        slot.dirty |= dirty;
        self.slots.insert(0, slot);
        if slot.state == SlotState::Loading {
            self.counts.misses += 1;
            self.counts.joined += 1;
            return None;
        }
        let far = rank >= self.keys.near;
        self.counts.hits += 1;
        self.counts.hmb_hits += u64::from(far);
        Some(far)
    }
}
