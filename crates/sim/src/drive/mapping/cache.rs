//! The part of the mapping table that is in memory: which entries it has, which leave, and who waits for which (S-2.3 to
//! S-2.6). It knows no time.

use destage_device::config::{DeviceConfig, MappingTable};
use destage_types::NumberMap;
use std::collections::{BTreeMap, VecDeque};

/// Who waits for an entry.
#[derive(Clone, Copy, Debug)]
pub(super) enum EntryWaiter {
    /// A read of a request, by name.
    Read(u32),
    /// A unit whose program is queued when the last translation is there. If old data are read for it before, their place.
    Unit { unit: u32, old: Option<u64> },
}

/// What is in a slot, or will be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// It waits for a slot.
    Queued,
    Loading,
    Present,
    /// It is written back. Who asks for it now waits until it is gone.
    Leaving,
}

#[derive(Clone, Debug)]
struct Row {
    state: State,
    /// When it was last asked for.
    last: u64,
    dirty: bool,
    /// Is it dirty once it is there?
    becomes_dirty: bool,
    waiters: Vec<EntryWaiter>,
}

/// The answer to a question for an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lookup {
    /// It is there, in memory of the drive or of the host.
    Hit { in_host: bool },
    /// Who asks waits.
    Miss {
        /// For an entry that is on its way already.
        joins: bool,
    },
}

/// What is to be done for entries that wait for slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// This entry has a slot and is to be loaded.
    Load(u64),
    /// This one, which is dirty, leaves for it.
    WriteBack(u64),
}

/// The cache. An entry is named by its mapping unit, or where whole translation pages are kept, by the page.
#[derive(Clone, Debug)]
pub(super) struct MappingCache {
    slots: usize,
    /// Slots in memory of the drive. Others are in memory of the host.
    own: usize,
    depth: usize,
    batch: bool,
    /// Mapping units of an entry, and entries of a translation page.
    units: u64,
    per_page: u64,
    rows: NumberMap<u64, Row>,
    /// Those that have a slot, by when they were last asked for: the last ones in memory of the drive, and the others.
    near: BTreeMap<u64, u64>,
    far: BTreeMap<u64, u64>,
    clock: u64,
    queue: VecDeque<u64>,
    leaving: usize,
}

impl MappingCache {
    pub fn new(config: &DeviceConfig) -> MappingCache {
        let count = |slots: u64| usize::try_from(slots).expect("slots are in memory");
        let entries = config.mapping_entries_per_page();
        let pages = config.mapping_table() == MappingTable::Page;
        let (units, per_page) = if pages { (entries, 1) } else { (1, entries) };
        MappingCache {
            slots: count(config.mapping_entries()),
            own: count(config.map_sram_entries()),
            depth: config.map_evict_depth() as usize,
            batch: config.cleans_whole_map_page(),
            units,
            per_page,
            rows: NumberMap::default(),
            near: BTreeMap::new(),
            far: BTreeMap::new(),
            clock: 0,
            queue: VecDeque::new(),
            leaving: 0,
        }
    }

    /// Are whole translation pages kept, so that one is written back without being read?
    pub fn keeps_pages(&self) -> bool {
        self.per_page == 1
    }

    /// The entry of a mapping unit.
    pub fn entry_of(&self, unit: u64) -> u64 {
        unit / self.units
    }

    /// The translation page of an entry.
    pub fn page_of(&self, entry: u64) -> u64 {
        entry / self.per_page
    }

    /// Someone asks for an entry, to change it or not, and waits if it is not there.
    pub fn ask(&mut self, entry: u64, changes: bool, waiter: Option<EntryWaiter>) -> Lookup {
        let Some(row) = self.rows.get_mut(&entry) else {
            let row = Row {
                state: State::Queued,
                last: 0,
                dirty: false,
                becomes_dirty: changes,
                waiters: waiter.into_iter().collect(),
            };
            self.rows.insert(entry, row);
            self.queue.push_back(entry);
            return Lookup::Miss { joins: false };
        };
        match row.state {
            State::Present => {
                row.dirty |= changes;
                let in_host = self.far.contains_key(&row.last);
                self.touch(entry);
                Lookup::Hit { in_host }
            }
            state => {
                let joins = state != State::Leaving || row.becomes_dirty || !row.waiters.is_empty();
                row.becomes_dirty |= changes;
                row.waiters.extend(waiter);
                if state == State::Loading {
                    self.touch(entry);
                }
                Lookup::Miss { joins }
            }
        }
    }

    fn touch(&mut self, entry: u64) {
        self.clock += 1;
        let now = self.clock;
        let last = std::mem::replace(&mut self.row(entry).last, now);
        self.leave_order(last);
        self.near.insert(self.clock, entry);
        if self.near.len() > self.own
            && let Some((last, entry)) = self.near.pop_first()
        {
            self.far.insert(last, entry);
        }
    }

    /// The slot that was last asked for then is free, or moves.
    fn leave_order(&mut self, last: u64) {
        if self.near.remove(&last).is_none() {
            self.far.remove(&last);
        } else if let Some((last, entry)) = self.far.pop_last() {
            self.near.insert(last, entry);
        }
    }

    /// The next thing to be done for an entry that waits for a slot.
    pub fn next_step(&mut self) -> Option<Step> {
        let &first = self.queue.front()?;
        loop {
            if self.near.len() + self.far.len() < self.slots {
                self.queue.pop_front();
                self.touch(first);
                self.row(first).state = State::Loading;
                return Some(Step::Load(first));
            }
            let mut entries = self.far.values().chain(self.near.values());
            let &victim = entries.find(|entry| self.rows[entry].state == State::Present)?;
            if self.rows[&victim].dirty {
                return self.may_write_back().then(|| {
                    self.begin_write_back(victim);
                    Step::WriteBack(victim)
                });
            }
            let row = self.rows.remove(&victim).expect("it was just found");
            self.leave_order(row.last);
        }
    }

    fn may_write_back(&self) -> bool {
        self.leaving < self.queue.len().min(self.depth)
    }

    fn begin_write_back(&mut self, victim: u64) {
        self.leaving += 1;
        let row = self.row(victim);
        (row.state, row.dirty) = (State::Leaving, false);
        if self.batch {
            let first = self.page_of(victim) * self.per_page;
            for entry in first..first + self.per_page {
                if let Some(row) = self.rows.get_mut(&entry) {
                    row.dirty = false;
                }
            }
        }
    }

    fn row(&mut self, entry: u64) -> &mut Row {
        self.rows.get_mut(&entry).expect("it has a slot")
    }

    /// An entry was loaded. Gives who waits for it.
    pub fn loaded(&mut self, entry: u64) -> Vec<EntryWaiter> {
        let row = self.row(entry);
        row.state = State::Present;
        row.dirty = std::mem::take(&mut row.becomes_dirty);
        std::mem::take(&mut row.waiters)
    }

    /// An entry was written back, and its slot is free. If someone has asked for it since, it waits for a slot.
    pub fn written_back(&mut self, entry: u64) {
        self.leaving -= 1;
        let row = self.row(entry);
        let (last, asked) = (row.last, row.becomes_dirty || !row.waiters.is_empty());
        row.state = State::Queued;
        self.leave_order(last);
        match asked {
            true => self.queue.push_back(entry),
            false => _ = self.rows.remove(&entry),
        }
    }

    /// A mapping unit is moved. Is its entry there or on its way, so that it is changed in memory?
    pub fn moves(&mut self, unit: u64) -> bool {
        let entry = self.entry_of(unit);
        let Some(row) = self.rows.get_mut(&entry) else {
            return false;
        };
        match row.state {
            State::Present => row.dirty = true,
            State::Loading => row.becomes_dirty = true,
            State::Queued | State::Leaving => return false,
        }
        true
    }
}
