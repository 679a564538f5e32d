//! A mapping table that lies on flash, with a cache in memory (S-2 of the specification).
//! (DEVICE_MODEL.md, "Drives with units")

use super::ftl::NONE;
use super::handles::Writer;
use super::map_cache::{Asker, MapCache, Slot, SlotState, Wish};
use super::model::DriveModel;
use super::state::{Event, MapWork, Task, UnitWaits, Update};

impl DriveModel {
    fn map(&mut self) -> &mut MapCache {
        self.map_cache.as_mut().expect("the mapping is cached")
    }

    /// Asks for the entry of a logical unit, if the mapping is cached. Is it there, and in memory of the host?
    pub(super) fn ask_map(
        &mut self,
        lpn: usize,
        dirty: bool,
        asker: Option<Asker>,
    ) -> Option<bool> {
        let map = self.map_cache.as_mut()?;
        let key = map.keys.key(lpn);
        let found = map.ask(key, dirty);
        if found.is_none() {
            map.askers.extend(asker.map(|asker| (key, asker)));
            match asker {
                Some(Asker::Read(i)) => self.served[i].translations += 1,
                Some(Asker::Unit(unit, _)) => self.unit_waits[unit].translations += 1,
                None => {}
            }
        }
        // After a hit another entry may be the least recent.
        self.serve_map();
        found
    }

    /// A read asks for the translations of its missed pages, and reads their data when it has the last one.
    pub(super) fn ask_map_for(&mut self, i: usize, missed: Vec<(usize, u64)>) {
        self.served[i].parts += 1;
        // One more, so that it does not begin before all have been asked for.
        self.served[i].translations = 1;
        self.served[i].wanted = missed.clone();
        for (lpn, _) in missed {
            let far = self.ask_map(lpn, false, Some(Asker::Read(i)));
            self.served[i].far |= far == Some(true);
        }
        self.is_translated(Asker::Read(i));
    }

    /// A translation that was waited for is there.
    fn is_translated(&mut self, asker: Asker) {
        match asker {
            Asker::Read(i) => {
                self.served[i].translations -= 1;
                let t_hmb = self.map().keys.t_hmb;
                match (self.served[i].translations, self.served[i].far) {
                    (0, true) => self.map_waits.push((self.now + t_hmb, MapWork::Far(i))),
                    (0, false) => self.read_wanted(i),
                    _ => {}
                }
            }
            Asker::Unit(unit, old) => {
                self.unit_waits[unit].translations -= 1;
                self.merge_old(unit, old);
                let waits = &self.unit_waits[unit];
                if let Some(number) = waits.program.filter(|_| waits.translations == 0) {
                    self.array.let_go(number);
                }
            }
        }
    }

    /// Reads the data of a read whose translations are there (S-2.3/4).
    fn read_wanted(&mut self, i: usize) {
        let (mut pages, mut from_memory) = (Vec::new(), false);
        for (lpn, bytes) in std::mem::take(&mut self.served[i].wanted) {
            let (place, kept) = (self.ftl.map[lpn], self.keeps(lpn));
            if place == NONE && !kept {
                continue;
            }
            if kept || self.ftl.unit_at(place as usize).is_some() {
                self.outcome.memory_reads += 1;
                from_memory = true;
                continue;
            }
            self.want(&mut pages, place as usize, bytes);
        }
        self.read_pages(i, pages);
        let time = if from_memory { self.t_dram } else { 0 };
        self.at(self.now + time, Event::PartDone(i));
    }

    /// Gives slots to those that wait, and makes room for them (S-2.5/2).
    fn serve_map(&mut self) {
        loop {
            let map = self.map();
            if map.queue.is_empty() {
                break;
            }
            if map.slots.len() < map.keys.capacity {
                self.take_slot();
                continue;
            }
            let present = |slot: &Slot| slot.state == SlotState::Present;
            let Some(last) = map.slots.iter().rposition(present) else {
                break;
            };
            if !map.slots[last].dirty {
                map.slots.remove(last);
                continue;
            }
            let leaving = map.leaving();
            if leaving >= map.queue.len() || leaving >= map.keys.depth {
                break;
            }
            self.write_back(last);
        }
    }

    /// The first that waits has a slot, and is loaded (S-2.3/1 to 3).
    fn take_slot(&mut self) {
        let map = self.map();
        let Wish { key, dirty } = map.queue.pop_front().expect("one waits");
        let page = map.keys.page(key);
        let state = SlotState::Loading;
        map.slots.insert(0, Slot { key, state, dirty });
        if let Some((_, keys)) = map.loads.iter_mut().find(|load| load.0 == page) {
            keys.push(key);
            map.counts.joined += 1;
            return;
        }
        map.loads.push((page, vec![key]));
        if self.is_in_memory(page) {
            let end = self.now + self.t_dram;
            self.map_waits.push((end, MapWork::Load(page)));
            return;
        }
        match self.place_of(page) {
            None => self.map_loaded_alone(page),
            Some(place) => {
                self.map().counts.loads += 1;
                self.read_page(place, self.m, 1, Task::Map(MapWork::Load(page)));
            }
        }
    }

    /// Number of a translation page among the logical units.
    fn number(&self, page: usize) -> usize {
        self.exported() + page
    }

    fn place_of(&self, page: usize) -> Option<usize> {
        let place = self.ftl.map[self.number(page)];
        (place != NONE).then_some(place as usize)
    }

    /// Is a translation page in a unit under way, or does it wait for a block (S-2.3/2)?
    fn is_in_memory(&mut self, page: usize) -> bool {
        let map = self.map();
        let waits = map.homeless.iter().any(|&key| map.keys.page(key) == page);
        let place = self.place_of(page);
        waits || place.is_some_and(|place| self.ftl.unit_at(place).is_some())
    }

    /// A load has ended: those go on who asked for what it brought.
    fn map_loaded(&mut self, page: usize) {
        self.map_loaded_alone(page);
        self.serve_map();
    }

    fn map_loaded_alone(&mut self, page: usize) {
        let map = self.map();
        let i = map.loads.iter().position(|load| load.0 == page);
        let (_, keys) = map.loads.remove(i.expect("it is loaded"));
        for key in keys {
            let map = self.map();
            map.slot(key).expect("it has a slot").state = SlotState::Present;
            let (go_on, wait): (Vec<_>, Vec<_>) = std::mem::take(&mut map.askers)
                .into_iter()
                .partition(|&(other, _)| other == key);
            map.askers = wait;
            for (_, asker) in go_on {
                self.is_translated(asker);
            }
        }
    }

    /// The write back of a dirty slot begins (S-2.5).
    fn write_back(&mut self, i: usize) {
        let map = self.map();
        let (key, keys) = (map.slots[i].key, map.keys);
        let page = keys.page(key);
        map.slots[i].state = SlotState::Leaving;
        for slot in &mut map.slots {
            let present = slot.state == SlotState::Present;
            let becomes_clean = keys.batch && present && keys.page(slot.key) == page;
            slot.dirty &= slot.key != key && !becomes_clean;
        }
        match self.place_of(page) {
            _ if keys.by_page => self.map_read(key),
            _ if self.is_in_memory(page) => {
                let end = self.now + self.t_dram;
                self.map_waits.push((end, MapWork::Evict(key)));
            }
            None => self.map_read(key),
            Some(place) => {
                self.map().counts.evict_reads += 1;
                self.read_page(place, self.m, 1, Task::Map(MapWork::Evict(key)));
            }
        }
    }

    /// What is written back has been read, and is handed over.
    fn map_read(&mut self, key: usize) {
        if !self.map().homeless.is_empty() || !self.evict_map(key) {
            self.map().homeless.push_back(key);
            self.look_at_all();
        }
    }

    /// Does a translation page wait for a block while a GC unit has none that it may take (S-0.4/2)?
    pub(super) fn map_waits_for(&self, gc_unit: usize) -> bool {
        let map = self.map_cache.as_ref();
        map.is_some_and(|map| !map.homeless.is_empty())
            && self.ftl.free_blocks(gc_unit) as u64 <= self.marks.low
    }

    /// Hands over a translation page that is written back; false if no unit can take it.
    fn evict_map(&mut self, key: usize) -> bool {
        let page = self.map().keys.page(key);
        if !self.put_map(page, true) {
            return false;
        }
        let map = self.map();
        map.counts.evict_places += 1;
        map.homeless.retain(|&other| other != key);
        map.freed.push(key);
        true
    }

    /// What has been written back leaves, and its slots are given out; false if there is nothing.
    pub(super) fn free_map_slots(&mut self) -> bool {
        let Some(map) = &mut self.map_cache else {
            return false;
        };
        let freed = std::mem::take(&mut map.freed);
        for &key in &freed {
            let map = self.map();
            map.slots.retain(|slot| slot.key != key);
            if let Some(i) = map.parked.iter().position(|wish| wish.key == key) {
                let wish = map.parked.remove(i);
                map.queue.push_back(wish);
            }
        }
        if !freed.is_empty() {
            self.serve_map();
        }
        !freed.is_empty()
    }

    /// Ends what is due in memory, in the order in which it began.
    pub(super) fn end_map_waits(&mut self) {
        let due = |waits: &Vec<(u64, MapWork)>, now| waits.iter().position(|&(end, _)| end <= now);
        while let Some(i) = due(&self.map_waits, self.now) {
            let (_, work) = self.map_waits.remove(i);
            self.map_work_ended(work);
        }
    }

    /// Something that the mapping waited for is there.
    pub(super) fn map_work_ended(&mut self, work: MapWork) {
        match work {
            MapWork::Load(page) => self.map_loaded(page),
            MapWork::Evict(key) => self.map_read(key),
            MapWork::Far(i) => self.read_wanted(i),
            MapWork::Update(gc_unit) => {
                self.collectors[gc_unit].update = Update::Ready;
                self.collectors[gc_unit].look = true;
            }
        }
    }

    /// Puts a translation page into the open map unit. One that is written back leaves the last blocks alone (S-0.4).
    fn put_map(&mut self, page: usize, evicted: bool) -> bool {
        let number = self.number(page);
        let unit = match self.ftl.open_unit_for(number, Writer::Map) {
            Some(unit) => unit,
            None => {
                let low = self.marks.low as usize;
                let mut from = self.ftl.sites_for(number);
                from.retain(|&site| {
                    let gc_unit = self.ftl.geometry.sites[site].gc_unit;
                    let takes_block = self.ftl.needs_block(gc_unit, Writer::Map);
                    !(evicted && takes_block) || self.ftl.free_blocks(gc_unit) > low
                });
                let idle = vec![0; self.ftl.geometry.dies];
                let Some(site) = self.ftl.choose_site(Writer::Map, &from, &idle) else {
                    return false;
                };
                let unit = self.ftl.open(site, Writer::Map);
                self.unit_waits.resize(unit + 1, UnitWaits::default());
                // Collectors may wait for it.
                self.look_at_all();
                unit
            }
        };
        let (_, full) = self.assign(unit, number);
        if full {
            self.queue(unit);
        }
        true
    }

    /// A block has been erased: translation pages that wait for one may go on.
    pub(super) fn retry_map(&mut self) {
        if self.map_cache.is_none() {
            return;
        }
        while let Some(&key) = self.map().homeless.front() {
            if !self.evict_map(key) {
                break;
            }
        }
        self.look_at_all();
    }

    /// A place of a victim has been moved: its entry becomes dirty, or its translation page is to be updated (S-2.7).
    pub(super) fn note_moved(&mut self, gc_unit: usize, lpn: usize, source: usize) {
        let exported = self.exported();
        let Some(map) = self.map_cache.as_mut().filter(|_| lpn < exported) else {
            return;
        };
        let key = map.keys.key(lpn);
        let page = map.keys.page(key);
        match map.slot(key).filter(|s| s.state != SlotState::Leaving) {
            Some(slot) => slot.dirty = true,
            None => self.collectors[gc_unit].stale.push((source, page)),
        }
    }

    /// A victim is at its end: its translation pages are updated, each once, ascending.
    pub(super) fn note_updates(&mut self, gc_unit: usize, block: usize) {
        let collector = &mut self.collectors[gc_unit];
        let (mine, others): (Vec<_>, Vec<_>) = std::mem::take(&mut collector.stale)
            .into_iter()
            .partition(|&(source, _)| source == block);
        collector.stale = others;
        let mut pages: Vec<usize> = mine.into_iter().map(|(_, page)| page).collect();
        pages.sort_unstable();
        pages.dedup();
        collector.updates.extend(pages);
    }

    /// A step of the update of a translation page; true if there may be another.
    pub(super) fn update_map(&mut self, gc_unit: usize) -> bool {
        let page = self.collectors[gc_unit].updates[0];
        match self.collectors[gc_unit].update {
            Update::Read => false,
            Update::Ready => {
                if !self.put_map(page, false) {
                    return false;
                }
                self.map().counts.gc_places += 1;
                self.collectors[gc_unit].updates.pop_front();
                self.collectors[gc_unit].update = Update::Next;
                true
            }
            Update::Next => {
                self.collectors[gc_unit].update = Update::Read;
                if self.is_in_memory(page) {
                    let end = self.now + self.t_dram;
                    self.map_waits.push((end, MapWork::Update(gc_unit)));
                    return false;
                }
                let Some(place) = self.place_of(page) else {
                    self.collectors[gc_unit].update = Update::Ready;
                    return true;
                };
                self.map().counts.gc_reads += 1;
                self.read_page(place, self.m, 1, Task::Map(MapWork::Update(gc_unit)));
                false
            }
        }
    }
}
