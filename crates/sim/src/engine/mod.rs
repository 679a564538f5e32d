//! The timed flash behind the cache: array, translation layer and the books of requests.
//!
//! The engine is passive: [`Flash::step`] lets time pass up to a given instant, the request walk
//! submits operations, and completions come out. It neither sleeps nor reads a clock, so trace
//! replay and a live device can drive the same code.

mod background;
mod book;
mod gc;
pub mod latency;
mod load;
mod newest;
mod planes;
mod region;
mod slab;
mod submit;
#[cfg(test)]
mod tests;
mod unseen;
mod view;

pub use book::{Completion, ProgramTimes};
pub use region::CacheAccess;

use crate::flash::{BackgroundProgram, Cause, DeviceMeasures, Flash, FlashState, Program, Traffic};
use crate::load::BusyTimes;
use crate::record::Latencies;
use crate::series::LatencySums;
use book::{Book, NONE, Role};
use destage_device::config::{
    Allocation, DeviceConfig, Dram, EvictWait, EvictWaitRead, GcPreempt, QueueOrder,
};
use destage_device::ftl::{DeviceFull, PageMap};
use destage_device::nand::{ChipStats, Discipline, Nand, Timing, Transfer};
use destage_scheme::{DeviceView, FlashCosts};
use destage_types::{ChannelId, Lpn, Nanos, Op, Picos, QueuePer};
use gc::Collector;
use latency::LatencyStats;
use newest::Newest;
use planes::Groups;
use region::Region;

/// Settings of the engine that are not of the array or the translation layer.
#[derive(Clone, Copy, Debug)]
struct EngineOptions {
    t_dram: Nanos,
    dram: Dram,
    evict_wait: EvictWait,
    read_waits_for_evictions: bool,
    background: bool,
}

/// Array, translation layer and books of one device.
pub struct Engine {
    nand: Nand,
    book: Book,
    transfer: Transfer,
    page_transfer: Nanos,
    page_sectors: u32,
    costs: FlashCosts,
    /// Does every program go to the least busy chip?
    dynamic: bool,
    reads_first: bool,
    /// See [`Engine::work_unseen`].
    unseen: bool,
    /// Garbage collection on its way.
    gc: Collector,
    /// Multi-plane commands of the request, if the device has them.
    groups: Option<Groups>,
    /// The part of the array that holds the cache, if one does.
    region: Option<Region>,
    /// Pages programmed and blocks erased beside those of host data, in the measured part.
    traffic: Traffic,
    /// Counters of the array when the measured part began, by chip.
    before: Vec<ChipStats>,
    /// The same of the time that channels and dies were busy.
    busy_before: BusyTimes,
    now: Nanos,
}

impl Engine {
    /// A device at rest at time 0. `map` is its translation layer, preconditioned; with
    /// `background` the walk is told of idle channels and ends of background work.
    pub fn new(config: &DeviceConfig, map: PageMap, background: bool) -> Engine {
        let t = |ps: Picos| ps.times(1);
        let timing = Timing {
            t_cmd_read: t(config.t_cmd_read),
            t_cmd_program: t(config.t_cmd_program),
            t_cmd_erase: t(config.t_cmd_erase),
            t_cmd_copyback: Nanos::ZERO,
            t_read: t(config.t_read),
            t_program: t(config.t_program),
            t_erase: t(config.t_erase),
            t_ready: t(config.t_ready),
        };
        let read_first = config.queue == QueueOrder::ReadFirst;
        let nand = destage_device::nand::Config {
            discipline: if read_first {
                Discipline::ReadFirst
            } else {
                Discipline::Fifo
            },
            watch_idle: background,
            dies: interleaved_dies(config),
            ..destage_device::nand::Config::new(&config.geometry, config.queue_per, timing)
        };
        let options = EngineOptions {
            t_dram: t(config.t_dram),
            dram: config.dram,
            evict_wait: config.evict_wait,
            read_waits_for_evictions: config.evict_wait_read == EvictWaitRead::Same,
            background,
        };
        let transfer = Transfer {
            t_byte: config.t_byte,
            sector_bytes: config.sector_bytes,
        };
        // In a FIFO the program stands before the read, unless it waits for a GC job that the read
        // may pass.
        let passes_jobs = config.collects_in_background()
            || (config.collects() && config.gc_preempt == GcPreempt::Page);
        let groups = Groups::new(config);
        // Nor may a read join one that stands before the program.
        let joins = groups.is_some();
        let mut book = Book::new(options, map);
        // Nor one that waits for a read of the cache, which may wait in turn.
        let region = config.cache_region.as_ref().map(Region::new);
        let waits = region.is_some();
        book.newest = (read_first || passes_jobs || joins || waits).then(Newest::new);
        book.newest_cached = waits.then(Newest::new);
        Engine {
            nand: Nand::new(&nand),
            book,
            transfer,
            page_transfer: config.page_transfer(),
            page_sectors: config.geometry.page.sectors(),
            costs: FlashCosts {
                read: timing.t_read + timing.t_ready,
                program: timing.t_program,
                erase: timing.t_erase,
                transfer: config.page_transfer(),
                pages_per_block: u64::from(config.geometry.pages_per_block),
            },
            dynamic: config.allocation == Allocation::Dynamic,
            reads_first: read_first,
            unseen: false,
            gc: Collector::new(config),
            groups,
            region,
            traffic: Traffic::default(),
            before: Vec::new(),
            busy_before: BusyTimes::default(),
            now: Nanos::ZERO,
        }
    }

    /// Keeps the times of programs for [`Engine::take_programs`] from now on, and those of accesses
    /// of a cache in flash for [`Engine::take_cache_accesses`].
    pub fn keep_programs(&mut self) {
        self.assert_seen();
        self.book.programs = Some(Vec::new());
        self.book.cache_accesses = Some(Vec::new());
    }

    /// Moves the programs that were timed since the last call to `out`.
    pub fn take_programs(&mut self, out: &mut Vec<ProgramTimes>) {
        if let Some(list) = &mut self.book.programs {
            out.append(list);
        }
    }

    /// The instant up to which time has passed.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// The array.
    pub fn nand(&self) -> &Nand {
        &self.nand
    }
}

/// Dies of a queue unit that work at the same time.
fn interleaved_dies(config: &DeviceConfig) -> u32 {
    match config.die_interleave && config.queue_per == QueuePer::Chip {
        true => config.geometry.dies_per_chip,
        false => 1,
    }
}

impl Flash for Engine {
    const TIMED: bool = true;

    fn view(&self) -> &dyn DeviceView {
        self
    }

    fn is_mapped(&self, lpn: Lpn) -> bool {
        self.book.map.is_mapped(lpn)
    }

    fn look_ahead(&self, numbers: &mut [u64]) -> u64 {
        self.book.map.look_ahead(numbers)
    }

    fn pages(&self) -> u64 {
        self.book.map.logical_pages()
    }

    fn begin(&mut self, index: u64, op: Op, now: Nanos) {
        self.now = now;
        if let Some(groups) = &mut self.groups {
            groups.start();
            self.nand.hold();
        }
        self.book.begin(index, op, now);
    }

    fn read(&mut self, lpn: Lpn, sectors: u32) {
        let place = self
            .book
            .map
            .read(lpn)
            .expect("the walk asks for mapped pages only");
        let id = self.submit_read(Role::Read, lpn, place, sectors, None);
        if let Some(region) = &mut self.region {
            region.last_read = Some(id);
        }
    }

    #[inline]
    fn cache_read(&mut self, lpn: Lpn, sectors: u32) {
        if self.region.is_some() {
            self.read_cached(Role::CacheRead, lpn, sectors);
        }
    }

    #[inline]
    fn cache_write(&mut self, lpn: Lpn) {
        if self.region.is_some() {
            self.program_cached(Role::CacheWrite, lpn, None);
        }
    }

    #[inline]
    fn cache_fill(&mut self, lpn: Lpn, read: bool) {
        if let Some(region) = &self.region {
            let after = region.last_read.filter(|_| read);
            self.program_cached(Role::CacheFill, lpn, after);
        }
    }

    fn program(&mut self, program: Program) {
        let lpn = program.lpn;
        let mut before = None;
        if program.cached {
            let read = self.read_for_program(Role::CacheBefore, lpn);
            before = read.map(|(_, id)| id);
        }
        if program.read_first
            && let Some(old) = self.book.map.read(lpn)
        {
            // The whole page: an ECC code word cannot be completed from a part of it.
            let sectors = self.page_sectors;
            before = Some(self.submit_read(Role::Before, lpn, old, sectors, before));
        }
        let plane = self.wanted_plane(program.unit, None);
        if plane.is_some() {
            // The read before a program may be on another chip, and the program be overtaken.
            self.book.newest.get_or_insert_with(Newest::new);
        }
        let Some(placed) = self.place(lpn, plane) else {
            return;
        };
        let role = match program.cause {
            Cause::Eviction => Role::Caused,
            Cause::Padding => Role::Padding,
            Cause::Own => Role::Own,
            Cause::Flush => Role::Flush,
        };
        let chip = placed.place.chip;
        let plane = placed.place.plane;
        let mut command = self.program_command(chip, plane, self.page_sectors, NONE);
        command.after = self.job_of(chip, command.die);
        if let Some(read) = before {
            command = command.after(read);
        }
        // Of most programs all is known at once: nothing is to be kept.
        match self
            .nand
            .program_at_once(self.now, &command, &mut self.book)
        {
            Some(times) => self.book.program_at_once(role, lpn, self.now, times),
            None => {
                command.token = self.book.enter(role, lpn, self.now);
                let id = match self.groups {
                    None => {
                        let book = &mut self.book;
                        self.nand.submit_refused(self.now, command, book)
                    }
                    Some(_) => self.submit_page(command, placed.place),
                };
                self.book.note_id(command.token, id);
            }
        }
        if let Some(summary) = placed.summary {
            self.submit_summary(summary);
        }
        self.collect_in_background(chip);
    }

    fn trim(&mut self, lpn: Lpn) {
        self.book.map.trim(lpn);
    }

    fn end(&mut self, pages: u32, hits: u32) {
        if self.groups.is_some() {
            self.nand.resume(self.now, &mut self.book);
            self.submit_due();
        }
        self.book.end(pages, hits);
    }

    fn fault(&self) -> Option<&DeviceFull> {
        self.book.full.as_deref()
    }

    fn step(&mut self, until: Nanos) -> Option<Nanos> {
        if !self.book.options.background && !self.gc.background {
            self.nand.advance(until, &mut self.book);
            self.now = until;
            return None;
        }
        loop {
            let at = self.nand.step(until, &mut self.book);
            if at.is_none() && until != Nanos::NEVER {
                self.nand.advance(until, &mut self.book);
            }
            self.now = at.unwrap_or(until);
            self.submit_due();
            self.collect_after_erases();
            if at.is_none() || self.book.options.background {
                return at;
            }
        }
    }

    fn next_event(&self) -> Nanos {
        self.nand.next_event_time()
    }

    fn measure(&mut self, on: bool) -> bool {
        self.book.measure(on)
    }

    fn start_measuring(&mut self) {
        self.traffic = Traffic::default();
        self.before = self.nand.issued();
        self.start_load();
        self.book.start_measuring();
    }

    fn is_idle(&self, channel: ChannelId) -> bool {
        self.assert_seen();
        self.nand.is_channel_idle(channel)
    }

    fn queue_background(&mut self, program: BackgroundProgram, now: Nanos) -> u32 {
        self.queue_write_back(program, now)
    }

    fn background_end(&self, token: u32) -> Option<Nanos> {
        self.book.ops[token].started
    }

    fn cancel_background(&mut self, token: u32) -> bool {
        self.take_back(token)
    }

    fn adopt_background(&mut self, token: u32) {
        self.book.adopt(token);
    }

    fn take_ended(&mut self, out: &mut Vec<u32>) {
        for token in self.book.ended.drain(..) {
            self.book.ops.remove(token);
            out.push(token);
        }
    }

    #[inline]
    fn has_started(&self) -> bool {
        !self.book.started.is_empty()
    }

    fn take_started(&mut self, out: &mut Vec<(Lpn, Nanos)>) {
        out.append(&mut self.book.started);
    }

    fn measures(&self) -> Option<DeviceMeasures> {
        let book = &self.book;
        let [read, write, _] = &book.latency;
        Some(DeviceMeasures {
            latency: Latencies {
                all: LatencyStats::summary_of_all(&book.latency),
                read: read.summary(),
                write: write.summary(),
            },
            evict_wait: book.evict_wait.summary(),
            evict_turnaround: book.evict_turnaround.summary(),
        })
    }

    fn latency_sums(&self) -> Option<LatencySums> {
        self.assert_seen();
        let [read, write, mut all] = self.book.latency.each_ref().map(LatencyStats::total);
        all.count += read.count + write.count;
        all.sum += read.sum + write.sum;
        Some([all, read, write])
    }

    fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn flash_state(&self) -> Option<FlashState> {
        Some(self.state_of_flash())
    }

    fn busy_times(&self) -> Option<BusyTimes> {
        Some(self.load_since())
    }

    fn rest(&self) -> Nanos {
        self.nand.end_of_work()
    }

    fn keep_completions(&mut self) {
        self.assert_seen();
        self.book.completions.get_or_insert_default();
    }

    fn take_completions(&mut self, out: &mut Vec<Completion>) {
        if let Some(list) = &mut self.book.completions {
            out.append(list);
        }
    }
}
