//! A request's way: what the cache asks for, as operations of the array.

use super::Engine;
use super::in_flight::OpRole;
use crate::device::DeviceCore;
use crate::flash::{Cause, Flash, Program};
use destage_device::map::PhysicalPage;
use destage_device::nand::{Class, FlashCommand, NO_TOKEN, OpId, OpKind};
use destage_record::Counts;
use destage_scheme::{DeviceView, WriteClass};
use destage_types::{ChannelId, HostRequest, Lpn, Nanos, PlaneId};

impl Flash for Engine {
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
        self.core.map.is_mapped(lpn)
    }

    fn begin(&mut self, index: u64, request: &HostRequest, now: Nanos) {
        self.gc.stopped = false;
        if let Some(batch) = &mut self.multi_plane {
            batch.start();
            self.core.nand.hold();
        }
        self.core.begin(index, request.op, now);
    }

    fn read(&mut self, lpn: Lpn, sectors: u32) {
        let place = self.core.map.read(lpn);
        let place = place.expect("the cache asks for mapped pages only");
        let (_, id) = self.submit_read(OpRole::Read, lpn, place, sectors, None);
        if let Some(region) = &mut self.cache_region {
            region.last_read = Some(id);
        }
    }

    fn program(&mut self, program: Program) -> Option<u32> {
        let lpn = program.lpn;
        let role = match program.cause {
            Cause::Eviction => OpRole::Caused,
            Cause::Padding => OpRole::Padding,
            Cause::Own => OpRole::Own,
            Cause::Flush => OpRole::Flush,
            Cause::WriteBack(WriteClass::Host) => OpRole::HandOver,
            Cause::WriteBack(WriteClass::Background) => {
                return Some(self.queue_write_back(program));
            }
        };
        let written_back = role == OpRole::HandOver;
        let reads = match written_back {
            true => [OpRole::HandOverCacheRead, OpRole::HandOverRead],
            false => [OpRole::CacheBefore, OpRole::Before],
        };
        let before = self.reads_before(&program, reads);
        let plane = self.wanted_plane(program.unit, program.channel);
        if plane.is_some() {
            // The read before a program may be on another chip, and the program be overtaken.
            self.in_flight.pending_writes.get_or_insert_default();
        }
        let placed = self.place(lpn, plane);
        let token = written_back.then(|| self.in_flight.add_hand_over(&mut self.core, lpn));
        let Some(placed) = placed else {
            return token;
        };
        let chip = placed.place.chip;
        let sectors = self.core.costs.page_sectors;
        let mut command = (self.core).command(OpKind::Program, chip, sectors, NO_TOKEN);
        if self.core.costs.programs_differ() {
            command.array = self.array_time(placed.place.ppn);
        }
        command.after = self.job_of(chip);
        if let Some((_, read)) = before {
            command = command.after(read);
        }
        match token {
            Some(token) => {
                command.token = token;
                self.submit(command.notify_end());
            }
            None => self.submit_program(role, lpn, command, placed.place),
        }
        if let Some(summary) = placed.summary {
            self.submit_summary(summary);
        }
        self.collect_behind(placed.place);
        token
    }

    fn trim(&mut self, lpn: Lpn) {
        self.core.map.trim(lpn);
        self.core.versions.trimmed(lpn);
    }

    fn end(&mut self, pages: u64, hits: u64) {
        if self.multi_plane.is_some() {
            self.resume();
        }
        self.core.requests.end(pages, hits);
    }

    fn step(&mut self, until: Nanos) -> Option<Nanos> {
        let at = self.advance(until);
        self.core.update_timeline();
        at
    }

    fn next_event(&self) -> Nanos {
        self.core.nand.next_event_time()
    }

    fn start_measuring(&mut self) {
        self.reads_before = self.started_reads();
        self.core.start_measuring();
    }

    fn traffic(&self) -> Counts {
        let (reads, before) = (self.started_reads(), self.reads_before);
        let old_pages = reads.old_pages - before.old_pages;
        let traffic = self.core.traffic();
        Counts {
            flash_reads_host: old_pages,
            flash_reads_rmw: old_pages,
            cache_reads: traffic.cache_reads + reads.cached_pages - before.cached_pages,
            ..traffic
        }
    }

    fn end_flush(&mut self, request: u32, of: Option<&[Lpn]>) {
        let programs = of.map(|pages| self.in_flight.programs_of(pages));
        self.core.end_flush(request, of, programs);
    }

    #[inline]
    fn cache_read(&mut self, lpn: Lpn, sectors: u32) {
        if self.cache_region.is_some() {
            self.read_cached(OpRole::CacheRead, lpn, sectors);
        }
    }

    #[inline]
    fn cache_write(&mut self, lpn: Lpn) {
        self.core.version_is_written(lpn);
        if self.cache_region.is_some() {
            self.program_cached(OpRole::CacheWrite, lpn, None);
        }
    }

    #[inline]
    fn cache_fill(&mut self, lpn: Lpn, read: bool) {
        if let Some(region) = &self.cache_region {
            let after = region.last_read.filter(|_| read);
            self.program_cached(OpRole::CacheFill, lpn, after);
        }
    }

    fn watch(&mut self, programs: bool, _channels: bool) {
        self.core.assert_observable();
        self.in_flight.watches_ends = programs;
    }

    fn background_end(&self, token: u32) -> Option<Nanos> {
        self.in_flight.ops[token].started
    }

    fn cancel_background(&mut self, token: u32) {
        self.take_back(token);
    }

    fn stop_background(&mut self, queued: &[u32]) {
        self.gc.stopped = true;
        if !queued.is_empty() {
            self.core.nand.hold();
            queued.iter().for_each(|&token| self.take_back(token));
            self.resume();
        }
    }

    fn adopt_background(&mut self, token: u32) {
        self.in_flight.adopt(&mut self.core, token);
    }

    fn take_ended(&mut self, out: &mut Vec<u32>) -> bool {
        for token in self.in_flight.ended.drain(..) {
            self.in_flight.ops.remove(token);
            out.push(token);
        }
        std::mem::take(&mut self.in_flight.program_ended)
    }

    #[inline]
    fn take_started(&mut self, out: &mut Vec<(Lpn, Nanos)>) {
        if !self.in_flight.started.is_empty() {
            out.append(&mut self.in_flight.started);
        }
    }
}

impl Engine {
    /// What was held starts if it may.
    fn resume(&mut self) {
        self.core.nand.resume(self.core.now);
        self.take_notices();
        self.submit_due();
    }

    /// Programs a page for the current request, alone or in a multi-plane command.
    #[inline(always)]
    fn submit_program(
        &mut self,
        role: OpRole,
        lpn: Lpn,
        mut command: FlashCommand,
        place: PhysicalPage,
    ) {
        command.notify_end = self.in_flight.watches_ends;
        // Of most programs all is known at once: nothing is to be kept.
        if !command.notify_end
            && let Some(times) = self.core.nand.program_at_once(self.core.now, &command)
        {
            self.in_flight
                .program_at_once(&mut self.core, role, lpn, times);
            return self.note_program(role, lpn, &command);
        }
        command.token = self.in_flight.add_op(&mut self.core, role, lpn);
        if self.multi_plane.is_some() {
            self.submit_or_join(command, place);
        } else if command.notify_end {
            self.submit(command);
        } else {
            let id = self.core.nand.submit_refused(self.core.now, command);
            self.submitted(id, &command);
            self.take_notices();
        }
    }

    /// Reads in these roles what a program needs: the page in the region of a cache in flash, then the whole old page, as
    /// an ECC code word cannot be completed from a part of it. Gives the last read.
    #[inline]
    pub(super) fn reads_before(
        &mut self,
        program: &Program,
        [in_region, outside]: [OpRole; 2],
    ) -> Option<(u32, OpId)> {
        let mut before = None;
        if program.cached {
            before = self.read_for_program(in_region, program.lpn);
        }
        if program.read_first
            && let Some(old) = self.core.map.read(program.lpn)
        {
            let sectors = self.core.costs.page_sectors;
            before = Some(self.submit_read(outside, program.lpn, old, sectors, before));
        }
        before
    }

    /// Reads a page from where the mapping has it, alone or in a multi-plane command. `after` must
    /// end before, as must a program of the page that waits. Background reads call for no collection.
    fn submit_read(
        &mut self,
        role: OpRole,
        lpn: Lpn,
        place: PhysicalPage,
        sectors: u32,
        after: Option<(u32, OpId)>,
    ) -> (u32, OpId) {
        let (mut place, mut job) = (place, None);
        let in_background = role == OpRole::BackgroundRead;
        if !in_background {
            let work = self.gc.noted_work();
            self.core.map.collect_before_read(place.plane, work);
        }
        if self.gc.has_work() {
            (place, job) = self.collect_before_read(lpn, place);
        }
        // A job stands behind the programs that were queued for its chip before.
        let waits_for = job.or_else(|| self.in_flight.pending_program(lpn));
        let token = self.in_flight.add_op(&mut self.core, role, lpn);
        let mut command = (self.core).command(OpKind::Read, place.chip, sectors, token);
        command.after = waits_for;
        if let Some((before, after)) = after {
            self.in_flight.ops[token].before = before;
            command = command.after(after);
        }
        if in_background {
            self.write_back_reads.old_pages += 1;
            command = command.class(Class::Background);
        }
        let is_apart = in_background || role == OpRole::HandOverRead;
        let id = match self.multi_plane.is_some() && !is_apart {
            true => self.submit_or_join(command, place),
            false => self.submit(command),
        };
        (token, id)
    }

    /// Programs a summary page: the transfer of one sector, then a whole program (ECR-1).
    pub(super) fn submit_summary(&mut self, place: PhysicalPage) {
        self.core.traffic.flash_writes_meta += 1;
        let no_page = Lpn(u64::MAX);
        let token = self
            .in_flight
            .add_op(&mut self.core, OpRole::Summary, no_page);
        let mut command = self.core.command(OpKind::Program, place.chip, 1, token);
        command.array = self.array_time(place.ppn);
        command.after = self.job_of(place.chip);
        self.submit(command);
    }

    /// Does what background programs made due when they started: GC, then their summary pages.
    pub(super) fn submit_due(&mut self) {
        self.submit_gc_of_started();
        while let Some(place) = self.due.summaries.pop() {
            self.submit_summary(place);
        }
    }

    /// The plane that a program is sent to, if not that of its address: that of its unit (D6), or
    /// under dynamic allocation one of the least busy chip, of `channel` if that is fixed.
    #[inline(always)]
    pub(super) fn wanted_plane(
        &mut self,
        unit: Option<u64>,
        channel: Option<ChannelId>,
    ) -> Option<PlaneId> {
        if unit.is_some() || self.core.dynamic {
            self.other_plane(unit, channel)
        } else {
            None
        }
    }

    #[inline(never)]
    pub(super) fn other_plane(
        &mut self,
        unit: Option<u64>,
        channel: Option<ChannelId>,
    ) -> Option<PlaneId> {
        let planes = u64::from(self.core.map.planes());
        match unit {
            Some(unit) => Some(PlaneId((unit % planes) as u32)),
            None if self.core.dynamic => {
                let nand = &self.core.nand;
                let load = |chip| nand.drain_time(chip, Class::Gc).0;
                Some(self.core.map.least_busy_of(channel, load))
            }
            None => None,
        }
    }
}
