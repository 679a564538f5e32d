//! From the buffer to program units: drain, progress, flushes, writes that wait.
//! (DEVICE_MODEL.md, "Drives with units", Handing over)

use super::config::ns;
use super::frames::{Entry, FrameState, PageWrite, Written, sectors};
use super::handles::Writer;
use super::map_cache::Asker;
use super::model::DriveModel;
use super::slc::Mode;
use super::state::{Event, Flush, Task, UnitWaits};
use crate::reference::array::Phase;
use crate::reference::reserve::Programs;

impl DriveModel {
    /// D-9.
    pub(super) fn drain(&mut self) {
        let Some(drain) = self.config.drain else {
            return self.drain_by_scheme();
        };
        let frames = self.config.frames as f64;
        let depth = drain.depth.unwrap_or(self.ftl.geometry.dies as u64);
        loop {
            let dirty = self.buffer.dirty() as f64;
            let (low, high) = (drain.low * frames, drain.high * frames);
            if dirty <= low {
                break;
            }
            let allowed = match drain.low == drain.high || dirty >= high {
                true => depth,
                false => (depth as f64 * (dirty - low) / (high - low)).ceil() as u64,
            };
            if self.host_queued >= allowed {
                break;
            }
            if !self.hand_over_next() {
                self.page_waits = true;
                break;
            }
        }
    }

    /// Hands over what the scheme names by itself.
    fn drain_by_scheme(&mut self) {
        loop {
            let programs = Programs {
                units: self.host_queued,
                pages: self.ftl.geometry.unit_places as u64,
                dies: self.ftl.geometry.dies as u64,
            };
            // Without any room the first page is named all the same.
            let mut order = self.buffer.hands_over(programs).into_iter();
            let has_room = self.has_room();
            let Some(lpn) = order.find(|&lpn| !has_room || self.can_take(lpn)) else {
                break;
            };
            self.buffer.named(lpn);
            if self.hand_over(lpn).is_none() {
                self.page_waits = true;
                break;
            }
        }
    }

    /// Hands over the next dirty page that a unit can take.
    fn hand_over_next(&mut self) -> bool {
        self.show_dies();
        let fits = |lpn: usize| self.can_take(lpn);
        let passes_over = self.ftl.static_allocation || self.ftl.handles.count > 1;
        let next = self.buffer.next_dirty(&fits, passes_over);
        next.is_some_and(|lpn| self.hand_over(lpn).is_some())
    }

    /// Is there a page that a unit can take?
    pub(super) fn has_room(&self) -> bool {
        let sites = 0..self.ftl.geometry.sites.len();
        let open = !self.ftl.open_host_units().is_empty();
        let mut hosts = self.ftl.handles.hosts();
        let mut may = |writer| sites.clone().any(|s| self.ftl.can_open(s, writer));
        self.pending.is_empty() && (open || hosts.any(&mut may))
    }

    pub(super) fn can_take(&self, lpn: usize) -> bool {
        if !self.pending.is_empty() {
            return false;
        }
        let writer = Writer::Host(self.page_handles[lpn]);
        let mut sites = self.ftl.sites_for(lpn).into_iter();
        self.ftl.open_unit_for(lpn, writer).is_some() || sites.any(|s| self.ftl.can_open(s, writer))
    }

    /// Hands a dirty page over. Its unit, or nothing if no unit can take it.
    pub(super) fn hand_over(&mut self, lpn: usize) -> Option<usize> {
        if !self.can_take(lpn) {
            return None;
        }
        let frame = self.buffer.frame(lpn).expect("a dirty page has a frame");
        let handle = self.page_handles[lpn];
        let (unit, place, full) = self.put(lpn, frame.sectors, handle)?;
        self.buffer.occupy(lpn, place);
        if full {
            self.queue(unit);
        }
        Some(unit)
    }

    /// Puts data of a handle into its open unit: unit, place, and whether the unit is full.
    pub(super) fn put(
        &mut self,
        lpn: usize,
        have: u128,
        handle: usize,
    ) -> Option<(usize, usize, bool)> {
        let writer = Writer::Host(handle);
        let unit = match self.ftl.open_unit_for(lpn, writer) {
            Some(unit) => unit,
            None => {
                let from = self.ftl.sites_for(lpn);
                let site = self.ftl.choose_site(writer, &from, &self.load[0])?;
                let unit = self.ftl.open(site, writer);
                self.unit_waits.resize(unit + 1, UnitWaits::default());
                self.unit_waits[unit].due = self.device.unit_hold.map(|hold| self.now + ns(hold));
                unit
            }
        };
        self.page_waits = false;
        let old = self.old_data(lpn, have);
        let (place, full) = self.assign(unit, lpn);
        let asks = self.map_cache.is_some();
        let found = self.ask_map(lpn, true, Some(Asker::Unit(unit, old)));
        if !asks || found.is_some() {
            self.merge_old(unit, old);
        }
        Some((unit, place, full))
    }

    /// A place of an open unit is taken by data that nothing moves: the place, and whether the unit is full.
    pub(super) fn assign(&mut self, unit: usize, lpn: usize) -> (usize, bool) {
        self.look_at(self.ftl.units[unit].block);
        let old = self.ftl.map[lpn];
        if old != super::ftl::NONE {
            self.look_at(self.ftl.geometry.block_of(old as usize));
        }
        self.ftl.assign(unit, lpn, None)
    }

    /// D-7: the old place of a page with sectors missing, if it is on flash.
    fn old_data(&self, lpn: usize, have: u128) -> Option<usize> {
        let all = sectors(0, self.m);
        let old = self.ftl.map[lpn];
        let needs = have & all != all && old != super::ftl::NONE;
        let old = needs.then_some(old as usize)?;
        self.ftl.unit_at(old).is_none().then_some(old)
    }

    /// It is read before the program of the unit.
    pub(super) fn merge_old(&mut self, unit: usize, old: Option<usize>) {
        let Some(old) = old else { return };
        let read = self.read_page(old, self.m, 1, Task::MergeRead);
        match self.unit_waits[unit].program {
            Some(program) => self.array.add_wait(program, read),
            None => self.unit_waits[unit].reads.push(read),
        }
    }

    /// Closes a unit and queues its program; what is missing is padding.
    pub(super) fn queue(&mut self, unit: usize) {
        self.ftl.close(unit);
        let c = &self.device;
        let u = &self.ftl.units[unit];
        let geometry = &self.ftl.geometry;
        let die = geometry.die_of(u.block, u.part);
        let (block, places) = (u.block, u.places);
        let page = ns(c.t_cmd_program) + self.transfer(c.geometry.page.bytes());
        let pages = places / geometry.k;
        let times = c.t_program.of_types();
        let mut phases = vec![Phase::Bus(page); pages];
        phases.push(Phase::Array(match self.ftl.blocks[block].mode {
            Mode::Native => times[geometry.page_offset(u.first) % times.len()].0,
            Mode::Slc => self.ftl.slc.t_program,
        }));
        let (writer, gc_unit) = (u.writer, self.ftl.gc_unit_of(unit));
        let (native, owes) = (geometry.unit_places, !geometry.is_static(block));
        self.load[writer.load()][die] += 1;
        match writer {
            Writer::Host(_) => {
                self.host_queued += 1;
                // A unit in SLC mode takes the share of a native one of its block; static blocks owe nothing (S-0.5/3).
                if owes {
                    self.charge(gc_unit, native);
                }
                self.count_to_pause(places as u64);
            }
            Writer::Map => {
                self.owe(gc_unit, native);
                self.collectors[gc_unit].look = true;
            }
            Writer::Gc(_) => {}
        }
        let gate = writer.is_host().then_some(gc_unit);
        let reads = std::mem::take(&mut self.unit_waits[unit].reads);
        let number = self.submit(Task::Program(unit), die, phases, reads, gate);
        if self.unit_waits[unit].translations > 0 {
            self.array.hold_one(number);
            self.unit_waits[unit].program = Some(number);
        }
    }

    /// When open units of the host are due to be closed.
    fn held(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        let open = self.ftl.open_host_units().into_iter();
        open.filter_map(|unit| Some((self.unit_waits[unit].due?, unit)))
    }

    /// When the next open unit is due.
    pub(super) fn next_held(&self) -> Option<u64> {
        self.held().map(|(due, _)| due).min()
    }

    /// Closes the units that are due; false if there are none.
    pub(super) fn close_held(&mut self) -> bool {
        let mut due: Vec<usize> = (self.held().filter(|&(due, _)| due <= self.now))
            .map(|(_, unit)| unit)
            .collect();
        due.sort_unstable_by_key(|&unit| self.ftl.frontier_of(unit));
        if !due.is_empty() {
            (self.wake, self.asks) = (true, true);
        }
        for &unit in &due {
            self.queue(unit);
        }
        !due.is_empty()
    }

    /// D-8: writes that wait for frames make progress.
    pub(super) fn progress(&mut self) {
        loop {
            self.give_up_data();
            // A flush passes over victims in the same instant (DR-2): its last pages may have left. Then writes go on
            // that waited for it (DR-6).
            let waited = !self.flushes.is_empty();
            self.serve_flushes();
            if !(waited && self.flushes.is_empty()) {
                break;
            }
            self.serve_waiters();
        }
    }

    /// Data are handed over while a write waits and nothing of the host is on its way.
    fn give_up_data(&mut self) {
        while self.host_queued == 0 {
            let Some(&waiter) = self.waiters.front() else {
                break;
            };
            let went_on = match self.buffer.asks_for_victims() {
                true => self.evict_for(waiter),
                false => self.hand_over_next(),
            };
            if went_on {
                continue;
            }
            let open = self.ftl.open_host_units().into_iter();
            let fullest = open.max_by_key(|&unit| {
                let frontier = self.ftl.frontier_of(unit);
                (self.ftl.units[unit].lpns.len(), std::cmp::Reverse(frontier))
            });
            // Without one, collection has to make room first.
            let Some(unit) = fullest else {
                self.page_waits = true;
                break;
            };
            self.queue(unit);
        }
    }

    /// Gives frames to writes that wait, in order. One that is being given frames does not wait (DR-8).
    pub(super) fn serve_waiters(&mut self) {
        while let Some(i) = self.waiters.pop_front() {
            self.buffer.resumes(&self.seen(i));
            if !self.write_pages(i, true) {
                self.buffer.waits(&self.seen(i));
                self.waiters.push_front(i);
                break;
            }
            self.write_started(i);
        }
    }

    /// Gives the pages of a write their frames; false if one has to wait.
    pub(super) fn write_pages(&mut self, i: usize, first: bool) -> bool {
        let r = self.requests[i];
        let m = self.m;
        let (from, to) = (r.offset / m, (r.offset + r.bytes).div_ceil(m));
        if first && self.served[i].passage.entry != Entry::Pages && !self.served[i].passage.begun {
            if !self.flushes.is_empty() {
                return false;
            }
            self.served[i].passage.begun = true;
            loop {
                self.show_dies();
                let (seen, entry) = (self.seen(i), self.served[i].passage.entry);
                let has_room = self.buffer.drops(&seen, entry);
                self.hand_over_left(Some(i));
                if has_room {
                    break;
                }
            }
        }
        while from + self.served[i].pages < to {
            let page = from + self.served[i].pages;
            let lpn = page as usize;
            let start = r.offset.max(page * m) - page * m;
            let end = (r.offset + r.bytes).min((page + 1) * m) - page * m;
            let open = match self.buffer.frame(lpn).map(|f| f.state) {
                Some(FrameState::Occupied(place)) => {
                    let unit = self.ftl.unit_at(place);
                    unit.is_some_and(|unit| self.ftl.units[unit].open)
                }
                _ => false,
            };
            let page = PageWrite {
                lpn,
                sectors: sectors(start, end),
                unit_open: open,
                first,
            };
            self.show_dies();
            match self.buffer.write(&page, &mut self.served[i].passage) {
                Written::Waits => return false,
                Written::MadeRoom => {
                    self.hand_over_left(Some(i));
                    continue;
                }
                Written::Hit => self.outcome.write_hits += 1,
                Written::Granted => self.outcome.granted.push(self.now),
            }
            self.take_handle(i, lpn);
            self.hand_over_left(Some(i));
            self.served[i].passage.cached = None;
            self.served[i].pages += 1;
            // Data replaced in their open unit make nothing dirty.
            let dirty = self
                .buffer
                .frame(lpn)
                .is_some_and(|f| f.state == FrameState::Dirty);
            // On demand the layer is asked as ever.
            if dirty && (self.on_demand || !self.is_forced(i)) {
                self.drain();
            }
        }
        true
    }

    /// Does a write wait for flash?
    pub(super) fn is_forced(&self, i: usize) -> bool {
        self.requests[i].is_forced() && !self.nvm
    }

    /// Logical units that a request touches.
    pub(super) fn own_pages(&self, i: usize) -> Vec<usize> {
        let (r, m) = (self.requests[i], self.m);
        let pages = r.offset / m..(r.offset + r.bytes).div_ceil(m);
        pages.map(|page| page as usize).collect()
    }

    /// A FLUSH or a write with FUA has come so far that its pages are handed over.
    pub(super) fn flush(&mut self, i: usize, all: bool) {
        if all {
            self.served[i].parts += 1;
            self.at(self.now + self.t_dram, Event::PartDone(i));
        }
        let own = match all {
            true => self.buffer.dirty_pages(),
            false => self.own_pages(i),
        };
        let pages = own.iter().copied().collect();
        self.flushes.push_back(Flush {
            request: i,
            pages,
            all,
            own,
        });
        self.serve_flushes();
    }

    /// Goes on with flushes, in order.
    pub(super) fn serve_flushes(&mut self) {
        while let Some(flush) = self.flushes.front_mut() {
            let Some(&lpn) = flush.pages.front() else {
                let flush = self.flushes.pop_front().expect("it is there");
                self.end_flush(flush);
                continue;
            };
            let frame = self.buffer.frame(lpn);
            let dirty = frame.is_some_and(|f| f.state == FrameState::Dirty);
            if dirty && self.hand_over(lpn).is_none() {
                break;
            }
            self.flushes[0].pages.pop_front();
        }
    }

    /// Closes the units that a flush waits for, and waits for their programs.
    pub(super) fn close_for(&mut self, flush: &Flush) {
        let mut units: Vec<usize> = Vec::new();
        if flush.all {
            let all = self.ftl.units.iter().enumerate();
            units.extend(all.filter(|(_, u)| !u.ended).map(|(i, _)| i));
        } else {
            let of = |lpn: &u32| flush.own.contains(&(*lpn as usize));
            let all = self.ftl.units.iter().enumerate();
            let under_way = all.filter(|(_, u)| !u.ended && u.lpns.iter().any(of));
            units.extend(under_way.map(|(i, _)| i));
        }
        units.retain(|&unit| self.ftl.units[unit].writer.is_host());
        // By frontier, each once.
        units.sort_unstable_by_key(|&unit| (self.ftl.frontier_of(unit), unit));
        units.dedup();
        for &unit in &units {
            if self.ftl.units[unit].open {
                self.queue(unit);
            }
            self.waits_for_unit(flush.request, unit);
        }
        self.at(self.now, Event::PartDone(flush.request));
    }
}
