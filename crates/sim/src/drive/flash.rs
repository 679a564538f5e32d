//! The drive as the flash behind a cache.

use super::Drive;
use super::writes::HandOver;
use crate::device::DeviceCore;
use crate::flash::{Cause, Flash, Program};
use destage_scheme::DeviceView;
use destage_types::{HostRequest, Lpn, Nanos, SECTOR_BYTES};

impl Flash for Drive {
    const TIMED: bool = true;

    fn core(&self) -> Option<&DeviceCore> {
        Some(&self.core)
    }

    fn core_mut(&mut self) -> Option<&mut DeviceCore> {
        Some(&mut self.core)
    }

    fn view(&self) -> &dyn DeviceView {
        &self.core
    }

    fn is_mapped(&self, lpn: Lpn) -> bool {
        self.core.map.place(lpn).is_some() || self.keeps(lpn)
    }

    fn begin(&mut self, index: u64, request: &HostRequest, now: Nanos) {
        self.pass_to(now);
        self.core.begin(index, request.op, now);
        if let Some(config) = &self.handles {
            let first = request.start_sector * SECTOR_BYTES;
            let handle = config.handle_of(request.stream, request.tag, first);
            self.core.requests.set_handle(handle);
        }
    }

    fn cache_write(&mut self, lpn: Lpn) {
        self.core.version_is_written(lpn);
        self.note_handle(lpn);
    }

    fn read(&mut self, lpn: Lpn, sectors: u32) {
        self.miss(lpn, sectors);
    }

    /// With `buffer = on_demand` the data leave the cache, unless they are written back, and the request that fills a unit
    /// waits for it.
    fn program(&mut self, program: Program) -> Option<u32> {
        if program.cause == Cause::Own {
            self.note_handle(program.lpn);
        }
        let stays = self.bounded || matches!(program.cause, Cause::WriteBack(_));
        let token = stays.then(|| self.told.frames.add(None));
        self.hand_over(HandOver {
            lpn: program.lpn,
            frame: token,
            read_first: program.read_first,
            request: self.core.requests.current().filter(|_| !stays),
            cause: program.cause,
            version: None,
        });
        self.start_at_once();
        token
    }

    fn trim(&mut self, lpn: Lpn) {
        self.trim_entry(lpn);
        self.review_old_place(lpn);
        self.core.map.trim(lpn);
        self.drop_waiting(lpn);
        self.core.versions.trimmed(lpn);
    }

    fn end(&mut self, pages: u64, hits: u64) {
        self.read_misses();
        self.core.requests.end(pages, hits);
    }

    fn step(&mut self, until: Nanos) -> Option<Nanos> {
        let at = self.advance(until);
        self.core.update_timeline();
        at
    }

    fn next_event(&self) -> Nanos {
        self.next_instant()
    }

    fn watch(&mut self, _programs: bool, channels: bool) {
        self.told.watches_channels = channels;
    }

    /// Data that are handed over are never taken back, and their end is not known.
    fn background_end(&self, _token: u32) -> Option<Nanos> {
        Some(Nanos::NEVER)
    }

    /// With `buffer = on_demand`: a page leaves that was handed over before. Its request waits for its unit as for one
    /// that it fills itself, and not while the unit is open (DR-4).
    fn adopt_background(&mut self, token: u32) {
        if self.bounded {
            return;
        }
        let unit = self.told.frames[token].filter(|&unit| self.units[unit].queued);
        if let Some(unit) = unit {
            let request = self.core.requests.current();
            self.wait_for_unit(unit, request, Cause::Eviction);
        }
    }

    fn stop_background(&mut self, _queued: &[u32]) {
        self.stop_folding();
        self.collectors.stop();
    }

    fn take_ended(&mut self, out: &mut Vec<u32>) -> bool {
        for token in self.told.freed.drain(..) {
            self.told.frames.remove(token);
            out.push(token);
        }
        std::mem::take(&mut self.told.asks_scheme)
    }

    fn is_in_open_unit(&self, token: u32) -> bool {
        let unit = self.told.frames[token];
        unit.is_some_and(|unit| !self.units[unit].queued)
    }

    fn has_room(&self, lpn: Option<Lpn>) -> bool {
        self.waiting.is_empty() && self.has_open_frontier(lpn)
    }

    fn wait_for_room(&mut self, lpn: Lpn) {
        self.wanted = Some(lpn);
        if self.folding.is_some() {
            self.collectors.look_at_all();
        }
    }

    fn is_stalled(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn units_outstanding(&self) -> Option<u32> {
        Some(self.core.waits.under_way())
    }

    fn close_open_unit(&mut self) -> bool {
        self.close_fullest()
    }

    fn end_flush(&mut self, request: u32, of: Option<&[Lpn]>) {
        self.flush(request, of);
    }
}
