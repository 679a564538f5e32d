//! The drive as the flash behind a cache.

use super::writes::HandOver;
use super::{Drive, FrameToken};
use crate::flash::{
    BackgroundFlash, BackgroundProgram, BoundedFlash, CacheInFlash, Cause, Flash, Program,
};
use destage_scheme::DeviceView;
use destage_types::{ChannelId, Lpn, Nanos, Op};

impl Flash for Drive {
    const TIMED: bool = true;
    const BOUNDS: bool = true;

    fn view(&self) -> &dyn DeviceView {
        self
    }

    fn is_mapped(&self, lpn: Lpn) -> bool {
        self.map.place(lpn).is_some() || self.keeps(lpn)
    }

    fn prefetch(&self, numbers: &mut [u64]) -> u64 {
        self.map.prefetch(numbers)
    }

    fn pages(&self) -> u64 {
        self.map.logical_pages()
    }

    fn begin(&mut self, index: u64, op: Op, now: Nanos) {
        self.pass_to(now);
        self.core.requests.begin(index, op, now);
    }

    fn read(&mut self, lpn: Lpn, sectors: u32) {
        self.miss(lpn, sectors);
    }

    /// With `buffer = on_demand`: the data leave the cache, and the request that fills a unit waits for it.
    fn program(&mut self, program: Program) {
        self.hand_over(HandOver {
            lpn: program.lpn,
            frame: None,
            read_first: program.read_first,
            request: self.core.requests.current(),
            cause: program.cause,
        });
        self.start_at_once();
    }

    fn trim(&mut self, lpn: Lpn) {
        self.review_old_place(lpn);
        self.map.trim(lpn);
        self.drop_waiting(lpn);
        if let Some(versions) = &mut self.core.versions {
            versions.trimmed(lpn);
        }
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
}

impl CacheInFlash for Drive {
    fn cache_write(&mut self, lpn: Lpn) {
        self.core.version_is_written(lpn);
    }

    fn cache_superseded(&mut self, lpn: Lpn) {
        if let Some(versions) = &mut self.core.versions {
            versions.superseded(lpn);
        }
    }
}

impl BackgroundFlash for Drive {
    fn is_idle(&self, channel: ChannelId) -> bool {
        self.core.nand.is_channel_idle(channel)
    }

    fn queue_background(&mut self, program: BackgroundProgram, now: Nanos) -> u32 {
        self.pass_to(now);
        self.hand_over_frame(program.lpn, program.read_first, Cause::Eviction)
    }

    fn resume(&mut self) {
        self.start_at_once();
    }

    fn watch_channels(&mut self, on: bool) {
        self.watches_channels = on;
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
        let unit = self.frames[token].filter(|&unit| self.units[unit].queued);
        if let Some(unit) = unit {
            let request = self.core.requests.current();
            self.wait_for_unit(unit, request, Cause::Eviction);
        }
    }

    fn stop_background(&mut self) {
        self.stop_collectors();
    }

    fn take_ended(&mut self, out: &mut Vec<u32>) -> bool {
        for FrameToken(token) in self.freed.drain(..) {
            self.frames.remove(token);
            out.push(token);
        }
        std::mem::take(&mut self.asks_scheme)
    }

    fn has_started(&self) -> bool {
        false
    }
}

impl BoundedFlash for Drive {
    fn is_bounded(&self) -> bool {
        self.bounded
    }

    fn rewrites_in_place(&self) -> bool {
        self.in_place
    }

    fn replace_in_open_unit(&mut self, lpn: Lpn) {
        if let Some(versions) = &mut self.core.versions
            && let Some(request) = self.core.requests.current_index()
        {
            versions.replaced(lpn, request);
        }
    }

    fn is_in_open_unit(&self, token: u32) -> bool {
        let unit = self.frames[token];
        unit.is_some_and(|unit| !self.units[unit].queued)
    }

    fn has_room(&self) -> bool {
        self.can_take_any()
    }

    fn can_hand_over(&self, lpn: Lpn) -> bool {
        self.can_take(lpn)
    }

    fn wait_for_room(&mut self, lpn: Lpn) {
        self.wanted = Some(lpn);
    }

    fn is_stalled(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn program_in_frame(&mut self, program: Program) -> u32 {
        self.hand_over_frame(program.lpn, program.read_first, program.cause)
    }

    fn units_outstanding(&self) -> u32 {
        self.open.outstanding()
    }

    fn close_open_unit(&mut self) -> bool {
        self.close_fullest()
    }

    fn begin_flush(&mut self) -> u32 {
        let request = self.core.requests.current().expect("a request flushes");
        self.core.requests.wait(request, 1);
        request
    }

    fn end_flush(&mut self, request: u32, of: Option<&[Lpn]>, now: Nanos) {
        self.pass_to(now);
        self.flush(request, of);
    }

    fn leave_open(&mut self) -> u32 {
        self.read_misses();
        self.core.requests.leave_open()
    }

    fn resume_request(&mut self, request: u32, now: Nanos) {
        self.pass_to(now);
        self.core.requests.resume(request, now);
    }
}
