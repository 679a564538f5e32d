//! The drive as a whole: what happens at one instant, and in which order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use destage_device::config::{DeviceConfig, FrameRelease};
use destage_device::nand::{Class, FlashCommand, NO_TOKEN, OpKind};
use destage_types::{ChipId, Nanos};

use super::buffer::Buffer;
use super::config::{DriveConfig, Marks, array, ns};
use super::frames::Seen;
use super::ftl::Ftl;
use super::map_cache::MapCache;
use super::outcome::{DriveOp, DriveOutcome, DriveRequest};
use super::slc::Mode;
use super::state::{
    Collector, Debt, Event, Flush, Host, MapWork, Pending, Served, Task, UnitWaits,
};
use crate::reference::array::{Gates, Happened, Phase, SlowArray};

/// Order of the events of one instant: kind, and number among its kind (D-13/3).
type Turn = (u8, usize);

/// A drive.
pub struct DriveModel {
    pub(super) config: DriveConfig,
    pub(super) device: DeviceConfig,
    /// Bytes of a mapping unit: M.
    pub(super) m: u64,
    pub(super) t_dram: u64,
    /// `buffer = on_demand`: data leave when room is made, and a request waits for the units that it fills.
    pub(super) on_demand: bool,
    pub(super) nvm: bool,
    pub(super) marks: Marks,
    /// Array time of a read that wants one mapping unit (D-5/5); no device has a key for it.
    pub(super) t_read_unit: Option<u64>,
    pub(super) ftl: Ftl,
    pub(super) array: SlowArray,
    /// The purpose of each operation, by number.
    tasks: Vec<Task>,
    pub(super) buffer: Buffer,
    pub(super) collectors: Vec<Collector>,
    pub(super) host: Host,
    pub(super) debt: Debt,
    pub(super) now: u64,
    events: BinaryHeap<Reverse<(u64, Turn, Event)>>,
    pub(super) requests: Vec<DriveRequest>,
    pub(super) served: Vec<Served>,
    /// Writes that wait for a frame, in order.
    pub(super) waiters: VecDeque<usize>,
    pub(super) flushes: VecDeque<Flush>,
    /// Data that have left the buffer's scheme and that no unit can take, in order.
    pub(super) pending: VecDeque<Pending>,
    pub(super) unit_waits: Vec<UnitWaits>,
    /// Handle of the newest data of each logical unit (S-3.1).
    pub(super) page_handles: Vec<usize>,
    /// S-2.
    pub(super) map_cache: Option<MapCache>,
    /// Work of the mapping in memory: its end, in the order in which it began.
    pub(super) map_waits: Vec<(u64, MapWork)>,
    /// Host units queued or running.
    pub(super) host_queued: u64,
    /// Programs queued or running by die: of the host, of the collector.
    pub(super) load: [Vec<u64>; 2],
    /// `program_pause`: places of the host that were queued since the last pause, and when that pause ends.
    pub(super) since_pause: u64,
    pub(super) paused_until: u64,
    /// A dirty page was to be handed over, and no frontier could take it; none has been handed over since then.
    pub(super) page_waits: bool,
    /// Places that the collector handed over from each die since the last host program started there.
    pub(super) since_host: Vec<u64>,
    /// A frame, a place or an operation has been set free.
    pub(super) wake: bool,
    /// `drain` is to be asked: a program of the host has ended, a held unit was closed, or there may be room (D-9).
    pub(super) asks: bool,
    pub(super) outcome: DriveOutcome,
}

impl DriveModel {
    /// An erased drive.
    ///
    /// # Errors
    ///
    /// Keys that make no sense together.
    pub fn new(config: DriveConfig) -> Result<DriveModel, String> {
        let device = config.device()?;
        let ftl = Ftl::new(&device);
        let unit_places = ftl.geometry.unit_places;
        let open = if ftl.static_allocation {
            ftl.geometry.sites.len()
        } else if config.unchecked_op.is_none() {
            ftl.handles.count
        } else {
            // A worked example has less (S-3.3).
            1
        };
        let least = match ftl.slc.on {
            true => ftl.geometry.slc.unit_places,
            false => unit_places,
        };
        if device.is_bounded() && config.frames < (open * least) as u64 {
            return Err("the buffer must hold one unit of each open host frontier".to_owned());
        }
        let dies = ftl.geometry.dies;
        let collectors = vec![Collector::default(); ftl.geometry.gc_units];
        let mut model = DriveModel {
            array: array(&device, config.seed),
            tasks: Vec::new(),
            buffer: Buffer::new(&config, &device)?,
            collectors,
            host: Host::new(device.command_cores.unwrap_or(1)),
            debt: Debt::new(
                &device,
                ftl.geometry.gc_units,
                ftl.geometry.places_per_block() / unit_places,
            ),
            page_handles: vec![0; ftl.geometry.exported],
            map_cache: MapCache::new(&device),
            map_waits: Vec::new(),
            ftl,
            now: 0,
            events: BinaryHeap::new(),
            requests: Vec::new(),
            served: Vec::new(),
            waiters: VecDeque::new(),
            flushes: VecDeque::new(),
            pending: VecDeque::new(),
            unit_waits: Vec::new(),
            host_queued: 0,
            load: [vec![0; dies], vec![0; dies]],
            since_pause: 0,
            paused_until: 0,
            page_waits: false,
            since_host: vec![0; dies],
            wake: false,
            asks: false,
            outcome: DriveOutcome::default(),
            m: device.mapping().bytes(),
            t_dram: ns(device.t_dram),
            on_demand: !device.is_bounded(),
            nvm: device.keeps_cache(),
            marks: Marks::new(&device, unit_places as u64),
            t_read_unit: None,
            device,
            config,
        };
        // Array times count from the first request on.
        let dies = model.dies();
        model.buffer.sees_dies(dies);
        Ok(model)
    }

    /// A request as the buffer's scheme sees it now.
    pub(super) fn seen(&self, i: usize) -> Seen {
        Seen {
            number: i,
            request: DriveRequest {
                op: self.op(i),
                ..self.requests[i]
            },
            now: self.now,
        }
    }

    /// What a command does now: a write with a preflush is a FLUSH first.
    pub(super) fn op(&self, i: usize) -> DriveOp {
        match self.served[i].flushing {
            true => DriveOp::Flush,
            false => self.requests[i].op,
        }
    }

    /// Mapping units that the host can address.
    pub fn exported(&self) -> usize {
        self.ftl.geometry.exported
    }

    /// Serves requests in order of arrival, until the drive is at rest.
    ///
    /// # Errors
    ///
    /// A request beyond the drive, or no room.
    pub fn run(mut self, requests: &[DriveRequest]) -> Result<DriveOutcome, String> {
        self.requests = requests.to_vec();
        self.ftl.slc_open = self.ftl.slc.on;
        let count = requests.len() + usize::from(self.config.flush_at_end);
        self.served = vec![Served::default(); count];
        self.outcome.times = vec![Default::default(); count];
        let capacity = (self.exported() as u64) * self.m;
        for (i, r) in requests.iter().enumerate() {
            if r.offset + r.bytes > capacity {
                return Err(format!(
                    "request {i} ends beyond the drive's {capacity} bytes"
                ));
            }
            self.at(r.at, Event::Arrives(i));
        }
        self.until_rest();
        if self.config.flush_at_end && self.served.iter().rev().skip(1).all(|s| s.done) {
            self.add_last_flush();
            self.until_rest();
        }
        if let Some(i) = self.served.iter().position(|s| !s.done) {
            return Err(self.why_stopped(i));
        }
        Ok(self.sum_up())
    }

    /// Of one instant, ends come first, by request, then commands in order of fetch, then arrivals by request.
    pub(super) fn at(&mut self, time: u64, event: Event) {
        let turn = match event {
            Event::PartDone(i) | Event::Done(i) => (0, i),
            Event::Commanded(i) | Event::LinkedIn(i) | Event::Begins(i) | Event::Paced(i) => {
                (1, self.served[i].fetched)
            }
            Event::Arrives(i) => (2, i),
        };
        self.events.push(Reverse((time, turn, event)));
    }

    fn until_rest(&mut self) {
        loop {
            self.settle();
            let due = self.events.peek().map(|Reverse((time, ..))| *time);
            let array = self.array.next_event_time();
            let array = Some(array.0).filter(|&time| time < u64::MAX);
            let held = self.next_held();
            let paused = Some(self.paused_until).filter(|&end| end > self.now);
            let idle = self.next_idle();
            let map = self.map_waits.iter().map(|&(end, _)| end).min();
            let Some(next) = [due, array, held, paused, idle, map]
                .into_iter()
                .flatten()
                .min()
            else {
                break;
            };
            self.now = next;
        }
    }

    /// One instant: state changes that are due, suspensions, grants, then the host's side.
    fn settle(&mut self) {
        self.array.now = self.now;
        loop {
            let changed = self.array.state_changes();
            self.end_map_waits();
            self.note();
            self.look_for_folding();
            self.step_collectors();
            self.array.gates = Some(self.gates());
            let started = self.array.starts();
            self.note();
            // Phases of no length end first.
            let ends = self.array.next_event_time().0 <= self.now;
            let freed = !ends && self.free_map_slots();
            if !changed && !started && !freed && !self.host_work() {
                break;
            }
        }
        self.array.forget_finished();
    }

    fn gates(&self) -> Gates {
        let credit = self.marks.credit as f64;
        let paused = self.now < self.paused_until;
        let held = |c: &Collector| paused || c.owed > credit || c.in_burst;
        let burst = self.marks.burst;
        Gates {
            held: self.collectors.iter().map(held).collect(),
            burst_over: self.since_host.iter().map(|&n| n >= burst).collect(),
        }
    }

    /// Bus time of so many bytes (D-1/1).
    pub(super) fn transfer(&self, bytes: u64) -> u64 {
        (bytes * self.device.t_byte.0).div_ceil(1000)
    }

    fn releases_at_transfer_end(&self) -> bool {
        self.device.frame_release == Some(FrameRelease::TransferEnd)
    }

    /// Queues an operation behind others; its number. Programs of the host have a gate.
    pub(super) fn submit(
        &mut self,
        task: Task,
        die: usize,
        phases: Vec<Phase>,
        after: Vec<u64>,
        gate: Option<usize>,
    ) -> u64 {
        let (kind, host) = match task {
            Task::HostRead(_) | Task::MergeRead => (OpKind::Read, true),
            Task::Map(work) => (OpKind::Read, !matches!(work, MapWork::Update(_))),
            Task::Program(_) => (OpKind::Program, gate.is_some()),
            Task::GcRead(_) => (OpKind::Read, false),
            Task::Erase(_) => (OpKind::Erase, false),
        };
        let class = if host { Class::Host } else { Class::Gc };
        let chip = ChipId(die as u32);
        let command = FlashCommand::new(kind, chip, Nanos::ZERO, NO_TOKEN).class(class);
        self.tasks.push(task);
        self.array.queue(command, phases, after, gate)
    }

    fn note(&mut self) {
        for (happened, number) in std::mem::take(&mut self.array.happened) {
            let task = self.tasks[number as usize];
            match (happened, task) {
                (Happened::Started, Task::Program(unit))
                    if self.ftl.units[unit].writer.is_host() =>
                {
                    self.host_program_started(unit, number);
                }
                (Happened::Transferred, Task::Program(unit))
                    if self.ftl.units[unit].writer.is_host() && self.releases_at_transfer_end() =>
                {
                    self.release_frames(unit);
                }
                (Happened::Ended, task) => self.ended(task),
                (Happened::Started, Task::Program(_) | Task::Erase(_)) => {}
                (Happened::Started, _) => self.outcome.array_reads += 1,
                _ => {}
            }
        }
    }

    fn host_program_started(&mut self, unit: usize, number: u64) {
        let die = self.die_of_unit(unit);
        self.since_host[die] = 0;
        let collector = &mut self.collectors[self.ftl.gc_unit_of(unit)];
        collector.must_start.retain(|&other| other != number);
        collector.look = true;
    }

    fn ended(&mut self, task: Task) {
        self.wake = true;
        match task {
            Task::HostRead(i) => self.at(self.now, Event::PartDone(i)),
            Task::MergeRead => {}
            Task::Program(unit) => self.program_ended(unit),
            Task::GcRead(gc_unit) => self.collected(gc_unit),
            Task::Map(work) => self.map_work_ended(work),
            Task::Erase(block) => {
                self.ftl.blocks[block].erasing -= 1;
                if self.ftl.blocks[block].erasing == 0 {
                    self.ftl.erased(block);
                    self.asks = true;
                    self.look_at(block);
                    self.retry_map();
                    self.retry_pending();
                }
                self.look_at(block);
            }
        }
    }

    pub(super) fn die_of_unit(&self, unit: usize) -> usize {
        let u = &self.ftl.units[unit];
        self.ftl.geometry.die_of(u.block, u.part)
    }

    fn program_ended(&mut self, unit: usize) {
        let writer = self.ftl.units[unit].writer;
        let die = self.die_of_unit(unit);
        self.load[writer.load()][die] -= 1;
        self.look_at(self.ftl.units[unit].block);
        self.outcome.programs += 1;
        let u = &self.ftl.units[unit];
        self.outcome.programmed_bytes += u.places as u64 * self.m;
        if self.ftl.blocks[u.block].mode == Mode::Slc {
            self.outcome.slc_programs += 1;
        }
        let first = self.ftl.geometry.locate(self.ftl.units[unit].first);
        self.outcome.program_ends.push((self.now, first));
        if writer.is_host() {
            self.host_queued -= 1;
            self.asks = true;
            if !self.releases_at_transfer_end() {
                self.release_frames(unit);
            }
        }
        for i in std::mem::take(&mut self.unit_waits[unit].requests) {
            self.at(self.now, Event::PartDone(i));
        }
        for block in self.ftl.end(unit) {
            self.erase(block);
        }
        self.ftl.units[unit].lpns = Vec::new();
    }

    fn release_frames(&mut self, unit: usize) {
        let first = self.ftl.units[unit].first;
        let lpns = self.ftl.units[unit].lpns.clone();
        for i in 0..lpns.len() {
            self.buffer.release(first + i);
        }
        self.outcome.released.push((self.now, lpns.len() as u64));
        self.buffer.free();
        self.wake = true;
    }

    /// Does the work that is due on the host's side; false if nothing is.
    fn host_work(&mut self) -> bool {
        if self.close_held() {
            return true;
        }
        if std::mem::take(&mut self.wake) {
            if std::mem::take(&mut self.asks) {
                self.drain();
            }
            self.serve_flushes();
            self.serve_waiters();
            self.progress();
            self.ask_until_done();
            return true;
        }
        let due = self.events.peek().map(|Reverse((time, ..))| *time);
        if due != Some(self.now) {
            return false;
        }
        let Some(Reverse((.., event))) = self.events.pop() else {
            return false;
        };
        match event {
            Event::Arrives(i) => self.arrives(i),
            Event::Commanded(i) => self.commanded(i),
            Event::LinkedIn(i) => self.enters(i),
            Event::Begins(i) => self.begin(i),
            Event::Paced(i) => self.comes_to_buffer(i),
            Event::PartDone(i) => self.part_done(i),
            Event::Done(i) => self.done(i),
        }
        self.serve_flushes();
        self.progress();
        self.ask_until_done();
        true
    }

    fn why_stopped(&self, i: usize) -> String {
        let full = (0..self.collectors.len()).any(|u| {
            let low = self.ftl.free_blocks(u) <= self.marks.low as usize;
            low && self.ftl.is_host_stuck(u) && self.ftl.victim(u).is_none()
        });
        let why = if full { "device full" } else { "stopped" };
        format!("{why}: request {i} of {} is not done", self.served.len())
    }

    fn sum_up(mut self) -> DriveOutcome {
        let o = &mut self.outcome;
        let counters = self.ftl.counters;
        o.host_units = counters.host;
        o.moved = counters.moved;
        o.folded = counters.folded;
        o.slc_host_places = counters.slc_host;
        o.slc_erases = self.ftl.blocks.iter().map(|b| b.slc_erases).sum();
        o.padded_places = counters.padded;
        let writes = self.requests.iter().filter(|r| r.is_write());
        o.host_bytes = writes.map(|r| r.bytes).sum();
        let open = self.ftl.units.iter().filter(|u| u.open);
        o.open_places = open.clone().map(|u| u.lpns.len() as u64).sum();
        o.host_open = open
            .filter(|u| u.writer.is_host())
            .map(|u| u.lpns.len() as u64)
            .sum();
        o.erases = self.ftl.blocks.iter().map(|b| b.erases).collect();
        o.suspensions = self.array.suspended.iter().sum();
        o.dirty_left = self.buffer.dirty() as u64;
        let locate = |p: u32| self.ftl.geometry.locate(p as usize);
        let place = |&p: &u32| (p != super::ftl::NONE).then(|| locate(p));
        o.mapping = self.ftl.map.iter().map(place).collect();
        o.handles = self.ftl.handles.counts.clone();
        o.map = self.map_cache.map(|map| map.counts).unwrap_or_default();
        o.map.moved = counters.map_moved;
        o.map_places = counters.map;
        o.end = self.now;
        self.outcome
    }
}
