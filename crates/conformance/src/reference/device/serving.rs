//! Requests of the cache to the device. (DEVICE_MODEL.md, "FLUSH, FUA, and preflush")

use super::*;
use crate::reference::flash::SlowChannels;

impl SlowFlash for SlowDevice {
    fn chips(&self) -> usize {
        self.map.chips()
    }

    fn chip(&self, lpn: u64) -> usize {
        self.map.static_chip(lpn)
    }

    fn chip_of_unit(&self, unit: u64) -> usize {
        self.map.chip_of_plane(unit % self.map.planes())
    }

    fn cqct(&self, chip: usize) -> u64 {
        let id = ChipId(chip as u32);
        let page = self.page_transfer();
        let c = &self.config;
        self.cost.weigh(&Queue {
            drain: self.array.drain_time(id, Class::Gc).0,
            reads: self.array.host_count(id, OpKind::Read).into(),
            writes: self.array.host_count(id, OpKind::Program).into(),
            in_service: self.array.host_in_service(id),
            residual: self.array.residual(id).0,
            t_read: (c.t_read.mean() + time(c.t_ready)).0,
            t_program: c.t_program.mean().0,
            t_next_program: {
                let pages = u64::from(c.geometry.pages_per_block);
                let used = pages - self.map.frontier_free_pages(chip);
                let next = self.array_time((used % pages) as usize);
                next.unwrap_or(c.t_program.mean()).0
            },
            t_erase: time(c.t_erase).0,
            transfer: page.0,
            program_transfer: page.0,
            pages_per_program: 1,
            pages_per_block: c.geometry.pages_per_block.into(),
            free: self.map.free_pages(chip),
            threshold: self.map.threshold_of_chip(),
            free_blocks: self.map.free_blocks_of_chip(chip),
            threshold_blocks: self.map.threshold_blocks_of_chip(),
            frontier_free: self.map.frontier_free_pages(chip),
            victim_valid: self.map.victim_valid_pages(chip),
            gc_remaining: self.array.gc_remaining(id).map(|rest| rest.0),
        })
    }

    fn times(&self) -> (u64, u64) {
        let c = &self.config;
        let read = c.t_read.mean() + time(c.t_ready);
        (read.0, c.t_program.mean().0)
    }

    fn in_gc(&self, chip: usize) -> bool {
        self.has_jobs(ChipId(chip as u32))
    }

    fn begin(&mut self, index: u64, op: Op) {
        let waits = match op {
            Op::Flush => self.programs_in_flight(|_| true),
            _ => Vec::new(),
        };
        if self.joins_planes() {
            self.shared.clear();
            self.array.hold();
        }
        self.requests.push(Request {
            index,
            op,
            arrival: self.now,
            pages: 0,
            waits,
        });
    }

    fn force(&mut self, pages: &[u64]) {
        for wait in self.programs_in_flight(|lpn| pages.contains(&lpn)) {
            self.wait(wait);
        }
    }

    fn end(&mut self, pages: u64) {
        let request = self.requests.last_mut().expect("a request is open");
        request.pages = pages;
        if self.joins_planes() {
            self.array.resume(Nanos(self.now));
            self.note_starts();
        }
    }

    fn mapped(&self, lpn: u64) -> bool {
        self.map.is_mapped(lpn)
    }

    fn pages(&self) -> u64 {
        self.map.logical_pages()
    }

    fn read(&mut self, lpn: u64) {
        self.fetch(lpn, self.config.geometry.page.sectors());
    }

    fn fetch(&mut self, lpn: u64, sectors: u32) {
        let token = self.host_read(lpn, sectors, None);
        self.last_fetch = Some(token);
        self.wait(Wait::End(token));
    }

    fn cache_read(&mut self, lpn: u64, sectors: u32) {
        if self.config.cache_region.is_some() {
            let token = self.read_cached(lpn, sectors, Purpose::CacheRead, Class::Host);
            self.wait(Wait::End(token));
        }
    }

    fn cache_write(&mut self, lpn: u64) {
        if self.config.cache_region.is_some() {
            let token = self.program_cached(Purpose::CacheWrite, lpn, None);
            self.wait_for_program(token, SlowCause::Own);
        }
    }

    fn cache_fill(&mut self, lpn: u64, read: bool) {
        if self.config.cache_region.is_some() {
            let fetch = self.last_fetch.filter(|_| read);
            let after = fetch.map(|fetch| self.number(fetch));
            let token = self.program_cached(Purpose::CacheFill, lpn, after);
            self.wait_for_program(token, SlowCause::Eviction);
        }
    }

    fn write(&mut self, write: &SlowWrite) -> Option<u64> {
        let lpn = write.lpn;
        let sectors = self.config.geometry.page.sectors();
        let mut before = None;
        if write.cached {
            before = self.read_what_leaves(lpn, Purpose::CacheRead, Class::Host);
        }
        if write.read_first {
            let behind = before.map(|read| self.number(read));
            before = Some(self.host_read(lpn, sectors, behind));
        }
        let plane = self.plane_for(write.unit, |_| true);
        let token = self.program(Purpose::Program(write.cause), lpn, plane, before);
        self.wait_for_program(token, write.cause);
        None
    }

    fn unmap(&mut self, lpn: u64) {
        self.map.unmap(lpn);
    }

    fn by_channel(&self) -> Option<&dyn SlowChannels> {
        Some(self)
    }

    fn device(&mut self) -> Option<&mut SlowDevice> {
        Some(self)
    }
}

impl SlowDevice {
    /// All programs of host data of the pages `of` that are in flight: queued demand ones, started background ones.
    fn programs_in_flight(&self, of: impl Fn(u64) -> bool) -> Vec<Wait> {
        let is_in_flight = |entry: &Entry| match entry.purpose {
            Purpose::Program(_) | Purpose::CacheWrite | Purpose::HandOver => true,
            Purpose::WriteBack => entry.started,
            _ => false,
        };
        let all = (0..).zip(&self.entries.all);
        let waited = all.filter(|(_, entry)| is_in_flight(entry) && of(entry.lpn));
        waited.map(|(token, _)| Wait::End(token)).collect()
    }
}
