//! A mapping table that lies on flash, with a cache in memory (S-2). Reads and programs wait for translations.
//!
//! `cache` says which entries are in memory. Here translation pages are read and handed over. The simulator's own table is
//! exact at all times: only operations and time depend on the cache.

mod cache;
mod updates;

use super::{Drive, Use};
use crate::device::slab::Slab;
use crate::device::timeline::Purpose;
use cache::{EntryWaiter, Lookup, MappingCache, Step};
use destage_device::config::DeviceConfig;
use destage_device::map::UnitStream;
use destage_device::nand::Class;
use destage_types::{Lpn, Nanos, NumberMap};
use std::collections::{BTreeMap, VecDeque};

pub(super) use updates::MapUpdates;

/// What follows when a translation page was read, or memory of the drive or of the host.
#[derive(Clone, Copy, Debug)]
pub(super) enum MapEvent {
    /// Entries of this page are there.
    Load { page: u64 },
    /// The page of this entry can be handed over.
    WriteBack { entry: u64 },
    /// The collector of a GC unit has a page to change.
    Update { gc: u32 },
    /// The data of a read can be read.
    Translated { read: u32 },
}

/// A read of a request whose translations are not all there.
#[derive(Clone, Debug)]
struct TranslatedRead {
    request: u32,
    /// Mapping units and how many of their sectors are wanted.
    units: Vec<(Lpn, u32)>,
    waiting: u32,
    /// Was an entry in memory of the host?
    in_host: bool,
}

/// The mapping table of a drive.
#[derive(Clone, Debug)]
pub(super) struct CachedMapping {
    cache: MappingCache,
    /// Entries that a read of a translation page loads.
    loads: NumberMap<u64, Vec<u64>>,
    reads: Slab<TranslatedRead>,
    /// What the current request misses.
    pub missed: Vec<(Lpn, u32)>,
    /// Entries whose pages wait for a block, in order (S-0.4).
    waiting: VecDeque<u64>,
    /// Entries whose pages were handed over, and whose slots become free once what was queued has started.
    handed_over: Vec<u64>,
    /// What ends in memory, by time and in the order in which it began.
    in_memory: BTreeMap<(Nanos, u64), MapEvent>,
    begun: u64,
    t_dram: Nanos,
    t_hmb: Nanos,
}

impl CachedMapping {
    /// That of a device, if not all of it is in memory.
    pub fn new(config: &DeviceConfig) -> Option<CachedMapping> {
        config.has_cached_mapping().then(|| CachedMapping {
            cache: MappingCache::new(config),
            loads: NumberMap::default(),
            reads: Slab::new(),
            missed: Vec::new(),
            waiting: VecDeque::new(),
            handed_over: Vec::new(),
            in_memory: BTreeMap::new(),
            begun: 0,
            t_dram: config.t_dram.times(1),
            t_hmb: config.t_hmb(),
        })
    }

    /// When the next wait for memory ends.
    pub fn next_end(&self) -> Nanos {
        let first = self.in_memory.first_key_value();
        first.map_or(Nanos::NEVER, |(key, _)| key.0)
    }

    fn ends_at(&mut self, at: Nanos, event: MapEvent) {
        self.begun += 1;
        self.in_memory.insert((at, self.begun), event);
    }

    /// Is something to be done at `now`?
    pub fn is_due(&self, now: Nanos) -> bool {
        !self.handed_over.is_empty() || self.next_end() <= now
    }

    /// The translation page that waits first for a block.
    pub fn waits_for_block(&self) -> Option<u64> {
        let first = self.waiting.front();
        first.map(|&entry| self.cache.page_of(entry))
    }

    /// Is the newest version of a translation page waiting for a block?
    fn keeps(&self, page: u64) -> bool {
        let mut waiting = self.waiting.iter();
        waiting.any(|&entry| self.cache.page_of(entry) == page)
    }
}

impl Drive {
    fn table(&mut self) -> &mut CachedMapping {
        self.mapping.as_mut().expect("the mapping is cached")
    }

    /// Someone asks for the entry of a mapping unit, and waits if it is not in memory.
    fn ask(&mut self, lpn: Lpn, changes: bool, waiter: Option<EntryWaiter>) -> Lookup {
        let cache = &mut self.table().cache;
        let answer = cache.ask(cache.entry_of(lpn.0), changes, waiter);
        let counts = &mut self.core.traffic;
        match answer {
            Lookup::Hit { in_host } => {
                counts.map_hits += 1;
                counts.hmb_hits += u64::from(in_host);
                // Another entry may be the least recent now.
                self.serve_slots();
            }
            Lookup::Miss { joins } => {
                counts.map_misses += 1;
                counts.map_joined += u64::from(joins);
            }
        }
        answer
    }

    /// All that the current request misses is known: its data are read when all translations are there.
    pub(super) fn translate(&mut self) {
        let units = match &mut self.mapping {
            Some(table) if !table.missed.is_empty() => std::mem::take(&mut table.missed),
            _ => return,
        };
        let request = self.core.requests.present();
        self.core.requests.wait(request, 1);
        let read = self.table().reads.add(TranslatedRead {
            request,
            units: units.clone(),
            waiting: 1,
            in_host: false,
        });
        for (lpn, _) in units {
            self.table().reads[read].waiting += 1;
            match self.ask(lpn, false, Some(EntryWaiter::Read(read))) {
                Lookup::Hit { in_host } => {
                    let row = &mut self.table().reads[read];
                    row.waiting -= 1;
                    row.in_host |= in_host;
                }
                Lookup::Miss { .. } => self.serve_slots(),
            }
        }
        self.has_translation(read);
    }

    /// A read has one translation more.
    fn has_translation(&mut self, read: u32) {
        let now = self.core.now;
        let table = self.table();
        let row = &mut table.reads[read];
        row.waiting -= 1;
        match (row.waiting, row.in_host) {
            (0, true) => {
                let at = now + table.t_hmb;
                table.ends_at(at, MapEvent::Translated { read });
            }
            (0, false) => self.read_translated(read),
            _ => {}
        }
    }

    /// The data of a read are where they are now: in memory, on flash, or trimmed.
    fn read_translated(&mut self, read: u32) {
        let TranslatedRead { request, units, .. } = self.table().reads.remove(read);
        let mut end = self.core.now;
        for (lpn, sectors) in units {
            match self.place_on_flash(lpn) {
                Some(place) => self.note_miss(lpn, sectors, place),
                None if self.core.map.place(lpn).is_some() || self.keeps(lpn) => {
                    end = self.core.now + self.table().t_dram;
                }
                None => {}
            }
        }
        self.read_noted(request);
        self.core.requests.ended(request, end);
    }

    /// A mapping unit was put into a unit of the host: its entry changes, and the unit's program waits for it. Old data that
    /// are on flash are read after the translation.
    pub(super) fn change_entry(&mut self, unit: u32, lpn: Lpn, old: Option<u64>) {
        let waits = 1 + u32::from(old.is_some());
        let row = &mut self.units[unit];
        (row.reads, row.untranslated) = (row.reads + waits, row.untranslated + waits);
        match self.ask(lpn, true, Some(EntryWaiter::Unit { unit, old })) {
            Lookup::Hit { .. } => self.unit_has_translation(unit, old),
            Lookup::Miss { .. } => self.serve_slots(),
        }
    }

    fn unit_has_translation(&mut self, unit: u32, old: Option<u64>) {
        self.units[unit].untranslated -= 1 + u32::from(old.is_some());
        if let Some(old) = old {
            self.read_before_program(unit, old);
        }
        self.read_before(unit);
    }

    /// A mapping unit is trimmed: its entry changes.
    pub(super) fn trim_entry(&mut self, lpn: Lpn) {
        if self.mapping.is_some() && self.core.map.place(lpn).is_some() {
            self.ask(lpn, true, None);
            self.serve_slots();
        }
    }

    /// Entries get slots, and others leave for them (S-2.5).
    fn serve_slots(&mut self) {
        while let Some(step) = self.table().cache.next_step() {
            match step {
                Step::Load(entry) => self.load(entry),
                Step::WriteBack(entry) => self.write_entry_back(entry),
            }
        }
    }

    fn load(&mut self, entry: u64) {
        let table = self.table();
        let page = table.cache.page_of(entry);
        if let Some(entries) = table.loads.get_mut(&page) {
            entries.push(entry);
            self.core.traffic.map_joined += 1;
            return;
        }
        table.loads.insert(page, vec![entry]);
        match self.read_translation(page, MapEvent::Load { page }, Class::Host) {
            Some(from_flash) => self.core.traffic.map_loads += u64::from(from_flash),
            None => self.loaded(page),
        }
    }

    /// Reads a translation page, if it was ever written. Is it read from flash?
    fn read_translation(&mut self, page: u64, event: MapEvent, class: Class) -> Option<bool> {
        let lpn = self.core.map.translation_page(page);
        let now = self.core.now;
        let table = self.table();
        let (kept, in_memory) = (table.keeps(page), now + table.t_dram);
        let place = self.core.map.place(lpn);
        if !kept && place.is_none() {
            return None;
        }
        let on_flash = place.filter(|&place| !kept && self.core.map.is_programmed(place));
        let Some(place) = on_flash else {
            self.table().ends_at(in_memory, event);
            return Some(false);
        };
        let purpose = Purpose {
            page: Some(lpn),
            ..Purpose::of("mapping")
        };
        let sectors = self.core.costs.unit_sectors;
        self.read_page_as(class, Use::Mapping(event), place, sectors, None, purpose);
        Some(true)
    }

    /// A translation page is in memory for those that asked for entries of it.
    fn loaded(&mut self, page: u64) {
        let entries = self.table().loads.remove(&page).unwrap_or_default();
        for entry in entries {
            for waiter in self.table().cache.loaded(entry) {
                match waiter {
                    EntryWaiter::Read(read) => self.has_translation(read),
                    EntryWaiter::Unit { unit, old } => self.unit_has_translation(unit, old),
                }
            }
        }
    }

    fn write_entry_back(&mut self, entry: u64) {
        let cache = &self.table().cache;
        let (page, whole) = (cache.page_of(entry), cache.keeps_pages());
        let event = MapEvent::WriteBack { entry };
        let read = match whole {
            true => None,
            false => self.read_translation(page, event, Class::Host),
        };
        match read {
            Some(from_flash) => self.core.traffic.map_evict_reads += u64::from(from_flash),
            None => self.hand_over_entry(entry),
        }
    }

    /// The page of an entry that leaves is handed over, or waits for a block.
    fn hand_over_entry(&mut self, entry: u64) {
        if !self.table().waiting.is_empty() || !self.try_hand_over_entry(entry) {
            self.table().waiting.push_back(entry);
            self.collectors.look_at_all();
        }
    }

    fn try_hand_over_entry(&mut self, entry: u64) -> bool {
        let page = self.table().cache.page_of(entry);
        let Some(unit) = self.hand_over_translation(page, true) else {
            return false;
        };
        self.core.traffic.map_evict_places += 1;
        self.queue_if_full(unit);
        self.table().handed_over.push(entry);
        true
    }

    /// There may be a block for pages that wait.
    pub(super) fn retry_translation_pages(&mut self) {
        if self.mapping.is_none() {
            return;
        }
        while let Some(&entry) = self.table().waiting.front() {
            if !self.try_hand_over_entry(entry) {
                break;
            }
            self.table().waiting.pop_front();
        }
        self.collectors.look_at_all();
    }

    /// Puts a translation page into the open unit of its frontier, if there is room. Gives the unit. One that leaves the cache takes none
    /// of the last blocks.
    pub(super) fn hand_over_translation(&mut self, page: u64, leaves_cache: bool) -> Option<u32> {
        let frontier = self.core.map.map_frontier(leaves_cache)?;
        let lpn = self.core.map.translation_page(page);
        if !self.core.map.is_open(UnitStream::Map, frontier) {
            // Collectors may wait for room for their translation pages.
            self.collectors.look_at_all();
        }
        self.review_old_place(lpn);
        let unit = self.put(UnitStream::Map, frontier, lpn);
        self.core.traffic.flash_writes_meta += 1;
        Some(unit)
    }

    /// What was queued has started as far as it can: slots of entries that were handed over are free, so that a load comes
    /// after the program of the unit that an entry has filled (S-2.5).
    pub(super) fn free_slots(&mut self) {
        let Some(table) = &mut self.mapping else {
            return;
        };
        if table.handed_over.is_empty() {
            return;
        }
        for entry in std::mem::take(&mut table.handed_over) {
            table.cache.written_back(entry);
        }
        self.serve_slots();
    }

    /// What ends in memory by now.
    pub(super) fn end_waits_for_memory(&mut self) {
        while let Some(table) = &mut self.mapping
            && table.next_end() <= self.core.now
            && let Some((_, event)) = table.in_memory.pop_first()
        {
            self.map_event(event);
        }
    }

    /// The power is cut: each place has the number of its mapping unit, so no unit waits for its translation.
    pub(super) fn forget_mapping(&mut self) {
        self.mapping = None;
        let units = self.units.rows();
        let waits: Vec<(u32, u32)> = units.map(|(unit, row)| (unit, row.untranslated)).collect();
        for (unit, waits) in waits {
            (0..waits).for_each(|_| self.read_before(unit));
        }
    }

    /// A read of a translation page, or of memory, has ended.
    pub(super) fn map_event(&mut self, event: MapEvent) {
        if self.mapping.is_none() {
            // The power was cut.
            return;
        }
        match event {
            MapEvent::Load { page } => self.loaded(page),
            MapEvent::WriteBack { entry } => self.hand_over_entry(entry),
            MapEvent::Update { gc } => self.collectors.has_read_translation(gc),
            MapEvent::Translated { read } => self.read_translated(read),
        }
        self.serve_slots();
    }
}
