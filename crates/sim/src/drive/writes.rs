//! Mapping units on their way to flash: handed over, in an open unit, queued, running (D-3, D-4, D-7, D-8).

use super::open_units::ProgramUnit;
use super::{Drive, Use};
use crate::device::timeline::Purpose;
use crate::flash::Cause;
use destage_device::config::{EvictWait, FrameRelease};
use destage_device::map::{FlashMap, UnitPlace, UnitStream};
use destage_device::nand::{Class, DriveOp, FlashCommand};
use destage_types::{ChipId, Lpn, Nanos};

/// A mapping unit that is handed over.
#[derive(Clone, Copy, Debug)]
pub(super) struct HandOver {
    pub lpn: Lpn,
    /// The frame of the cache that has its data, as the cache calls it.
    pub frame: Option<u32>,
    /// Its old data are read first.
    pub read_first: bool,
    /// Request that may wait for it.
    pub request: Option<u32>,
    pub cause: Cause,
    /// Name of its version, if those are kept.
    pub version: Option<u32>,
}

impl Drive {
    /// Puts a mapping unit into an open unit, if a frontier has room for it.
    pub(super) fn try_hand_over(&mut self, data: HandOver) -> bool {
        let Some(frontier) = self.frontier_for(data.lpn) else {
            return false;
        };
        let stream = self.core.map.host_of(data.lpn);
        self.open.set_current(stream, frontier);
        self.wanted = None;
        // A further place in an open unit changes nothing for a collector, but random policies draw at each look.
        let opens = !self.core.map.is_open(stream, frontier);
        if opens || self.core.map.draws_victims() {
            self.collectors.look_at(self.core.map.gc_of(frontier));
        }
        let old = self.review_old_place(data.lpn);
        let unit = self.put(stream, frontier, data.lpn);
        let block = self.units[unit].place.block;
        self.core.traffic.slc_host_places += u64::from(self.core.map.is_slc(block));
        let row = &mut self.units[unit];
        row.versions
            .extend(data.version.map(|name| (name, data.lpn)));
        row.frames.extend(data.frame);
        if let Some(frame) = data.frame {
            self.told.frames[frame] = Some(unit);
        }
        let old = old.filter(|&old| data.read_first && self.is_on_flash(old));
        if self.mapping.is_some() {
            self.change_entry(unit, data.lpn, old);
        } else if let Some(old) = old {
            self.units[unit].reads += 1;
            self.read_before_program(unit, old);
        }
        if self.units[unit].queued {
            self.wait_for_unit(unit, data.request, data.cause);
            self.queue_program(unit);
        }
        true
    }

    /// The frontier that takes a mapping unit of the host: that of its address, or the one that dynamic
    /// allocation fills.
    pub(super) fn frontier_for(&self, lpn: Lpn) -> Option<u32> {
        let (map, stream) = (&self.core.map, self.core.map.host_of(lpn));
        if !self.core.dynamic {
            let frontier = map.static_frontier(lpn);
            return map.can_open(stream, frontier).then_some(frontier);
        }
        let open = |frontier: &u32| map.is_open(stream, *frontier);
        match self.open.current(stream).filter(open) {
            Some(frontier) => Some(frontier),
            None => map.next_frontier(stream, |die| self.open.load(stream, die)),
        }
    }

    /// Frontiers of the host, handle by handle.
    pub(super) fn frontiers_of_hosts(&self) -> impl Iterator<Item = (UnitStream, u32)> + use<> {
        let frontiers = 0..self.core.map.frontier_count();
        let hosts = self.core.map.writers().hosts();
        hosts.flat_map(move |stream| frontiers.clone().map(move |frontier| (stream, frontier)))
    }

    /// Puts a mapping unit into the open unit of a frontier, and gives that unit.
    pub(super) fn put(&mut self, stream: UnitStream, frontier: u32, lpn: Lpn) -> u32 {
        let was_open = *self.open.slot(stream, frontier);
        let full = self.core.map.put(stream, frontier, lpn);
        let place = self.core.map.place(lpn).expect("it was just put there");
        let unit = match was_open {
            Some(unit) => unit,
            None => self.begin_unit(stream, frontier, place, lpn),
        };
        self.units[unit].queued = full.is_some();
        unit
    }

    pub(super) fn begin_unit(
        &mut self,
        stream: UnitStream,
        frontier: u32,
        place: u64,
        lpn: Lpn,
    ) -> u32 {
        let shape = self.core.map.shape();
        let block = shape.block(place);
        let frames = match stream {
            UnitStream::Host(_) if self.bounded => self.core.map.unit_of_block(block) as usize,
            _ => 0,
        };
        let unit = self.units.add(ProgramUnit {
            stream,
            frontier,
            place: UnitPlace {
                block,
                first: (place - shape.first(block)) as u32,
            },
            lpn,
            padded: 0,
            frames: Vec::with_capacity(frames),
            waiters: Vec::new(),
            number: 0,
            victims: Vec::new(),
            reads: 0,
            untranslated: 0,
            program: None,
            queued: false,
            is_parity: false,
            moved: false,
            versions: Vec::new(),
        });
        *self.open.slot(stream, frontier) = Some(unit);
        if let (UnitStream::Host(handle), Some(hold)) = (stream, self.open.hold) {
            let due = &mut self.open.due[usize::from(handle)];
            due[frontier as usize] = Some(Nanos(self.core.now.0 + hold));
        }
        unit
    }

    /// A request waits as `evict_wait` says for a unit that is queued or running: for its end, or for its data to be in
    /// the chip. Always if its own data went past the cache.
    pub(super) fn wait_for_unit(&mut self, unit: u32, request: Option<u32>, cause: Cause) {
        let row = &mut self.units[unit];
        let requests = &mut self.core.requests;
        let is_over = row.moved && requests.evict_wait == EvictWait::TransferDone;
        if let Some(request) = request
            && (cause == Cause::Own || requests.waits_for(request) != EvictWait::Issue)
            && !is_over
            && row.waiters.last() != Some(&request)
        {
            requests.wait(request, 1);
            row.waiters.push(request);
        }
    }

    /// Queues the program of a unit that is full or closed.
    pub(super) fn queue_program(&mut self, unit: u32) {
        let (stream, frontier, place) = {
            let row = &self.units[unit];
            (row.stream, row.frontier, row.place)
        };
        *self.open.slot(stream, frontier) = None;
        let (gc, die) = (
            self.core.map.gc_of(frontier),
            self.core.map.die_of(frontier),
        );
        *self.open.busy(stream, die) += 1;
        let host = matches!(stream, UnitStream::Host(_));
        if let UnitStream::Host(handle) = stream {
            self.open.due[usize::from(handle)][frontier as usize] = None;
            if self.units[unit].has_host_data() {
                self.units[unit].number = self.core.waits.begin();
            }
            if !self.core.map.is_static(place.block) {
                self.owe(gc, true);
            }
            let writes_wait = self.core.requests.any_left_open();
            let places = self.core.map.unit_of_block(place.block);
            (self.collectors).count_to_pause(places, self.core.now, writes_wait);
            self.unit_takes_versions(unit);
        } else if stream == UnitStream::Map {
            self.owe(gc, false);
        }
        let shape = self.core.map.shape();
        let pages = self.core.map.pages_of_unit(place.block);
        let first = shape.first(place.block) + u64::from(place.first);
        let costs = &self.core.costs;
        let bytes = costs.bytes(costs.page_sectors * pages);
        let slc = self.slc_times(place.block);
        let (array, transfer) = match slc {
            Some(slc) => (
                Some(slc.program),
                Nanos(costs.transfer(costs.page_sectors).0 * u64::from(pages)),
            ),
            None => (
                costs.program_time(shape.page_of_place(first)),
                costs.flash.program_transfer,
            ),
        };
        let command = FlashCommand {
            class: if host { Class::Host } else { Class::Gc },
            array,
            ..FlashCommand::program(ChipId(die), transfer, 0)
                .planes(pages)
                .bytes(bytes)
        };
        self.core.traffic.slc_programs += u64::from(slc.is_some());
        let grants = std::mem::take(&mut self.open.grants);
        let op = DriveOp {
            grants: &grants[..pages as usize],
            gate: host.then_some(gc),
            waits: self.units[unit].reads,
            reads_once: false,
        };
        let what = Use::Program { unit };
        let id = self.submit(what, command, &op, |drive| drive.purpose_of_unit(unit));
        self.open.grants = grants;
        self.units[unit].program = Some(id);
        if !matches!(stream, UnitStream::Collector(_)) {
            self.collectors.look_at(gc);
        }
        if !self.units[unit].is_parity {
            self.add_to_stripe(stream, frontier);
        }
    }

    /// Queues the program of a unit if it is full.
    pub(super) fn queue_if_full(&mut self, unit: u32) {
        if self.units[unit].queued {
            self.queue_program(unit);
        }
    }

    fn purpose_of_unit(&self, unit: u32) -> Purpose {
        let row = &self.units[unit];
        if row.is_parity {
            return Purpose::of("parity");
        }
        let request = row.waiters.first();
        Purpose {
            page: Some(row.lpn),
            pages: self.core.map.unit_of_block(row.place.block) - row.padded,
            padding: Some(row.padded),
            ..match row.stream {
                UnitStream::Host(_) => Purpose {
                    request: request.map(|&request| self.core.requests.index(request)),
                    ..Purpose::of("unit")
                },
                UnitStream::Collector(_) => Purpose {
                    collection: row.victims.first().map(|&block| u64::from(block)),
                    ..Purpose::of("collection")
                },
                UnitStream::Map => Purpose::of("mapping"),
            }
        }
    }

    /// Closes the open unit of a frontier with padding, if it has one.
    pub(super) fn close(&mut self, stream: UnitStream, frontier: u32) {
        let Some(unit) = *self.open.slot(stream, frontier) else {
            return;
        };
        if let Some((_, padded)) = self.core.map.close(stream, frontier) {
            self.core.traffic.padded_places += u64::from(padded);
            (self.units[unit].queued, self.units[unit].padded) = (true, padded);
            self.queue_program(unit);
        }
    }

    /// Closes units that have been open for `unit_hold`. Were there any?
    pub(super) fn close_held(&mut self) -> bool {
        if self.open.hold.is_none() {
            return false;
        }
        let mut any = false;
        for (handle, frontier) in self.open.held_until(self.core.now) {
            self.close(UnitStream::Host(handle), frontier);
            any = true;
        }
        // A layer that drains is asked then, as at the end of a program (D-9).
        self.told.acted |= any;
        self.told.asks_scheme |= any;
        any
    }

    /// Closes the fullest open unit of the host, of equals that of the lowest handle and frontier. Is there one?
    pub(super) fn close_fullest(&mut self) -> bool {
        let map = &self.core.map;
        let open = self.frontiers_of_hosts();
        let open = open.filter(|&(stream, frontier)| map.is_open(stream, frontier));
        let left = |&(stream, frontier): &(UnitStream, u32)| u32::MAX - map.taken(stream, frontier);
        let Some((stream, frontier)) = open.min_by_key(left) else {
            return false;
        };
        self.close(stream, frontier);
        true
    }

    /// A read of old data for a unit has ended.
    pub(super) fn read_before(&mut self, unit: u32) {
        let row = &mut self.units[unit];
        row.reads -= 1;
        if let Some(program) = row.program {
            self.core.nand.release(program);
        }
    }

    /// The data of a unit are in the chip.
    pub(super) fn data_moved(&mut self, unit: u32) {
        self.units[unit].moved = true;
        if self.release == FrameRelease::TransferEnd {
            self.free_frames(unit);
        }
        if self.core.requests.evict_wait == EvictWait::TransferDone {
            self.end_waiters(unit);
        }
    }

    fn free_frames(&mut self, unit: u32) {
        let row = &mut self.units[unit];
        self.told.acted |= !row.frames.is_empty();
        self.told.freed.append(&mut row.frames);
    }

    fn end_waiters(&mut self, unit: u32) {
        for request in self.units[unit].waiters.drain(..) {
            self.core.requests.ended(request, self.core.now);
        }
    }

    /// The program of a unit has ended.
    pub(super) fn unit_ended(&mut self, unit: u32) {
        self.free_frames(unit);
        self.end_waiters(unit);
        let row = self.units.remove(unit);
        if row.has_host_data() {
            let core = &mut self.core;
            core.waits.end(1);
            core.waits
                .tell(&mut core.requests, row.number, unit, core.now);
        }
        self.core.map.program_ended(row.place);
        for &(name, lpn) in &row.versions {
            self.core.versions.timed(name, lpn, self.core.now);
        }
        let die = self.core.map.die_of(row.frontier);
        *self.open.busy(row.stream, die) -= 1;
        if row.is_of_host() {
            (self.told.acted, self.told.asks_scheme) = (true, true);
        }
        for block in row.victims {
            self.program_of_victim_ended(block);
        }
        let gc = self.core.map.gc_of(row.frontier);
        self.collectors.look_at(gc);
    }
}
