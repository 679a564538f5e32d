//! A slow device with time: the state-per-operation array, a plain page map, and the rules
//! that say when a request is complete.
//!
//! Nothing is added up while time passes. Every request keeps the list of operations it waits for,
//! and completions are read off that list when the run is over.

mod gc;
mod outcome;
mod planes;
mod region;
mod serving;
mod write_back;

use std::collections::BTreeMap;

use destage_device::config::{Allocation, DeviceConfig, Dram, EvictWait, EvictWaitRead, Suspend};
use destage_device::nand::{
    ArrayConfig, Class, FlashCommand, NO_TOKEN, Notice, OpKind, OpState, OpTimes, Suspension,
    Timing,
};
use destage_types::{ChannelId, ChipId, Nanos, Op, Picos};

use super::array::SlowArray;
use super::cqct::{Cost, Queue};
use super::flash::{SlowCause, SlowFlash, SlowWrite};
use super::pagemap::{SlowMap, Work, WrittenPage};

/// The purpose of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    /// Data for a request, or old data before a program.
    Read,
    /// Data of the host on their way to flash.
    Program(SlowCause),
    /// A background write-back.
    WriteBack,
    /// Old data before a write-back.
    ReadForWriteBack,
    /// A write-back in the host's class.
    HandOver,
    /// Reads before it: old data, and a cache in flash.
    ReadForHandOver,
    CacheReadForHandOver,
    Summary,
    /// The erase of a background collection: its place among those.
    Erase(usize),
    /// A cache in flash is read, in the background or not.
    CacheRead,
    /// The host writes to it.
    CacheWrite,
    /// A read miss enters it.
    CacheFill,
}

/// One operation, kept for ever.
#[derive(Clone, Copy, Debug)]
struct Entry {
    purpose: Purpose,
    lpn: u64,
    /// Request that issued it; background work has none.
    request: Option<u64>,
    enqueued: u64,
    number: u64,
    times: Option<OpTimes>,
    started: bool,
    ended: bool,
    /// The read before a write-back.
    before: Option<u32>,
    /// Taken back.
    cancelled: bool,
}

/// The event that a request waits for.
#[derive(Clone, Copy, Debug)]
enum Wait {
    Transfer(u32),
    End(u32),
}

#[derive(Clone, Debug)]
struct Request {
    index: u64,
    op: Op,
    arrival: u64,
    pages: u64,
    waits: Vec<Wait>,
}

/// When an operation ran.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SlowOperation {
    /// The page.
    pub lpn: u64,
    /// Request that issued it; `None` for background work.
    pub request: Option<u64>,
    /// Is it a program?
    pub program: bool,
    /// When it was queued, started, had its last transfer, and ended.
    pub times: [u64; 4],
}

#[derive(Default)]
struct Entries {
    all: Vec<Entry>,
    /// Pages that share an operation: its token, and theirs.
    joined: Vec<(u32, u32)>,
    /// Write-backs that started since the device looked.
    started: Vec<u32>,
    /// Background collections whose erase ended since the device looked.
    erased: Vec<usize>,
    /// Did a program of host data end since the device looked?
    program_ended: bool,
}

impl Entries {
    fn note(&mut self, notice: Notice) {
        match notice {
            Notice::Started { token, .. } => self.start(token),
            Notice::Timed { token, times } => self.timed(token, times),
            Notice::Ended { token, .. } => {
                let entry = &mut self.all[token as usize];
                entry.ended = true;
                match entry.purpose {
                    Purpose::Erase(at) => self.erased.push(at),
                    Purpose::Program(_) | Purpose::WriteBack | Purpose::HandOver => {
                        self.program_ended = true;
                    }
                    _ => {}
                }
            }
            Notice::Moved { .. } | Notice::Idle { .. } => {}
        }
    }

    fn start(&mut self, token: u32) {
        let entry = &mut self.all[token as usize];
        entry.started = true;
        if entry.purpose == Purpose::WriteBack {
            self.started.push(token);
        }
    }

    fn timed(&mut self, token: u32, times: OpTimes) {
        if !self.all[token as usize].started {
            self.start(token);
        }
        self.all[token as usize].times = Some(times);
        for &(_, page) in self.joined.iter().filter(|&&(head, _)| head == token) {
            self.all[page as usize].times = Some(times);
        }
        self.joined.retain(|&(head, _)| head != token);
    }
}

/// The device.
pub struct SlowDevice {
    config: DeviceConfig,
    array: SlowArray,
    map: SlowMap,
    gc: gc::SlowCollector,
    entries: Entries,
    requests: Vec<Request>,
    /// Operations of the open request.
    shared: Vec<planes::SharedOperation>,
    /// The demand program that the mapping of a page points to.
    last_program: BTreeMap<u64, u64>,
    /// The program of a cache in flash that holds the data of a page.
    last_cache_program: BTreeMap<u64, u64>,
    /// The last read of a page by the host.
    last_fetch: Option<u32>,
    /// Reads and programs of a cache in flash, those before write-backs left out.
    pub cache_accesses: [u64; 2],
    /// Evictions that found their write-back in flight.
    adopted: u64,
    now: u64,
    /// How chip-aware schemes weigh the queues.
    pub cost: Cost,
    /// Summary pages.
    pub summaries: u64,
    /// Write-backs started.
    pub write_backs: u64,
    /// Pages that joined a read, and a program.
    pub joined_pages: [u64; 2],
    /// Are the ends of programs of requests told?
    pub watches_programs: bool,
    /// Did a program of host data end since the cache looked?
    pub program_ended: bool,
    /// Planes that queued write-backs go to, by token; none: as the address says.
    planes_of_write_backs: BTreeMap<usize, Option<u64>>,
}

/// Devices of this model never run full.
const ROOM: &str = "the device has room";

fn time(key: Picos) -> Nanos {
    Nanos(key.0.div_ceil(1000))
}

impl SlowDevice {
    /// A device at rest at time 0, nothing mapped.
    pub fn new(config: &DeviceConfig) -> SlowDevice {
        let c = config;
        let timing = Timing {
            t_cmd_read: time(c.t_cmd_read),
            t_cmd_program: time(c.t_cmd_program),
            t_cmd_erase: time(c.t_cmd_erase),
            t_read: c.t_read.mean(),
            t_program: c.t_program.mean(),
            t_erase: time(c.t_erase),
            t_ready: time(c.t_ready),
        };
        let map = SlowMap::new(c, 1);
        let array = ArrayConfig {
            channels: c.geometry.channels,
            chips_per_channel: map.chips() as u32 / c.geometry.channels,
            timing,
            queue: c.queue,
            watch_idle: false,
            suspension: match c.suspend {
                Suspend::Off => None,
                some => Some(Suspension {
                    pause: Nanos::ZERO,
                    programs: some == Suspend::ProgramErase,
                    resume: time(c.t_resume),
                }),
            },
            late_times: c.t_program.differ(),
        };
        SlowDevice {
            config: c.clone(),
            array: SlowArray::new(&array),
            map,
            gc: gc::SlowCollector::default(),
            entries: Entries::default(),
            requests: Vec::new(),
            shared: Vec::new(),
            last_program: BTreeMap::new(),
            last_cache_program: BTreeMap::new(),
            last_fetch: None,
            cache_accesses: [0; 2],
            adopted: 0,
            now: 0,
            cost: Cost::default(),
            summaries: 0,
            write_backs: 0,
            joined_pages: [0; 2],
            watches_programs: false,
            program_ended: false,
            planes_of_write_backs: BTreeMap::new(),
        }
    }

    /// Maps pages that are not mapped yet, without time.
    pub fn precondition(&mut self, pages: impl IntoIterator<Item = u64>) {
        for lpn in pages {
            if !self.map.is_mapped(lpn) {
                let written = self.map.write(lpn, None).0.expect(ROOM);
                self.map.behind_write(&written);
            }
        }
    }

    // ---- time ----

    /// When something happens next, if no later than `until`.
    pub fn next_instant(&self, until: u64) -> Option<u64> {
        let next = self.array.next_event_time();
        (next != Nanos::NEVER && next.0 <= until).then_some(next.0)
    }

    /// Lets time pass up to `until`.
    pub fn advance_to(&mut self, until: u64) {
        while let Some(at) = self.next_instant(until) {
            self.now = at;
            self.array.advance(Nanos(at));
            self.note_starts();
            self.collect_after_erases();
        }
        self.now = until;
        self.array.advance(Nanos(until));
        self.array.forget_finished();
    }

    /// Keeps what the array has done.
    fn take_notices(&mut self) {
        for notice in std::mem::take(&mut self.array.notices) {
            self.entries.note(notice);
        }
        self.program_ended |= std::mem::take(&mut self.entries.program_ended);
    }

    /// The mapping changes when a write-back starts.
    fn note_starts(&mut self) {
        self.take_notices();
        let (mut work, mut summaries) = (Work::default(), Vec::new());
        let mut times: Vec<(u64, Nanos)> = Vec::new();
        loop {
            if self.entries.started.is_empty() && times.is_empty() {
                break;
            }
            if self.entries.started.is_empty() {
                for (number, time) in std::mem::take(&mut times) {
                    self.array.set_array_time(number, time);
                }
                self.take_notices();
                continue;
            }
            let token = self.entries.started.remove(0);
            self.write_backs += 1;
            let Entry { lpn, number, .. } = self.entries.all[token as usize];
            match self.config.suspend {
                // A read may pass it although it has started.
                Suspend::ProgramErase => drop(self.last_program.insert(lpn, number)),
                // Its chip is busy with it: a read of the page comes after it anyway.
                _ => drop(self.last_program.remove(&lpn)),
            }
            let plane = self.planes_of_write_backs.remove(&(token as usize));
            let (written, before) = self.map.write(lpn, plane.flatten());
            let written = written.expect(ROOM);
            if let Some(time) = self.array_time(written.spot.page) {
                times.push((number, time));
            }
            work.expedited.extend(before.expedited);
            work.blocks.extend(before.blocks);
            work.blocks.extend(self.map.behind_write(&written).blocks);
            if written.summary {
                summaries.push(written);
            }
        }
        self.collect(work);
        for written in summaries.into_iter().rev() {
            self.summary(&written);
        }
    }

    /// Suspensions of erases, and of programs and copybacks.
    pub fn suspensions(&self) -> [u64; 2] {
        let of = |kind: OpKind| self.array.suspended[kind as usize];
        [
            of(OpKind::Erase),
            of(OpKind::Program) + of(OpKind::Copyback),
        ]
    }

    // ---- operations ----

    /// Array time of the program of a page of a block, where pages differ.
    fn array_time(&self, page: usize) -> Option<Nanos> {
        let times = self.config.t_program.of_types();
        (times.len() > 1).then(|| times[page % times.len()])
    }

    fn last_page(&self) -> usize {
        self.config.geometry.pages_per_block as usize - 1
    }

    fn submit(
        &mut self,
        purpose: Purpose,
        lpn: u64,
        command: FlashCommand,
        after: [Option<u64>; 2],
        before: Option<u32>,
    ) -> u32 {
        let token = self.enter(purpose, lpn, command.class, before);
        let command = FlashCommand { token, ..command };
        let number = self.array.submit_after(Nanos(self.now), command, after);
        self.entries.all[token as usize].number = number;
        self.note_starts();
        token
    }

    fn enter(&mut self, purpose: Purpose, lpn: u64, class: Class, before: Option<u32>) -> u32 {
        let token = self.entries.all.len() as u32;
        let handed_over = matches!(
            purpose,
            Purpose::HandOver | Purpose::ReadForHandOver | Purpose::CacheReadForHandOver
        );
        let summary = purpose == Purpose::Summary;
        let background = class == Class::Background || summary || handed_over;
        let request = self.requests.last().filter(|_| !background);
        self.entries.all.push(Entry {
            purpose,
            lpn,
            request: request.map(|r| r.index),
            enqueued: self.now,
            number: 0,
            times: None,
            started: false,
            ended: false,
            before,
            cancelled: false,
        });
        token
    }

    fn transfer(&self, sectors: u32) -> Nanos {
        let bytes = u64::from(sectors) * u64::from(self.config.sector_bytes);
        Nanos((bytes * self.config.t_byte.0).div_ceil(1000))
    }

    fn page_transfer(&self) -> Nanos {
        self.transfer(self.config.geometry.page.sectors())
    }

    fn host_read(&mut self, lpn: u64, sectors: u32, behind: Option<u64>) -> u32 {
        let (command, after) = self.read_command(lpn, sectors);
        self.submit_page(Purpose::Read, lpn, command, [after, behind], None)
    }

    /// A read in the host's class, and what it comes after.
    fn read_command(&mut self, lpn: u64, sectors: u32) -> (FlashCommand, Option<u64>) {
        let chip = self.map.place(lpn);
        let work = self.map.before_read(lpn);
        let held = work.blocks.iter().any(|c| c.chip == chip);
        self.collect(work);
        let command = FlashCommand::read(ChipId(chip as u32), self.transfer(sectors), 0);
        // In any discipline: after a pending program of the page, and after the collection that the
        // read has called for, which is behind that.
        let job = self.last_job(chip).filter(|_| held);
        let after = job.or(self.last_program.get(&lpn).copied());
        (command, after)
    }

    fn summary(&mut self, written: &WrittenPage) {
        self.summaries += 1;
        let chip = ChipId(written.chip as u32);
        let command = FlashCommand {
            array: self.array_time(self.last_page()),
            ..FlashCommand::program(chip, self.transfer(1), 0)
        };
        let after = [self.last_job(written.chip), None];
        self.submit(Purpose::Summary, u64::MAX, command, after, None);
    }

    fn wait(&mut self, wait: Wait) {
        let request = self.requests.last_mut().expect("a request is open");
        request.waits.push(wait);
    }

    /// The step of a program that the open request waits for; nothing under `issue`.
    fn wait_rule(&self, cause: SlowCause) -> EvictWait {
        let reading = self.requests.last().is_some_and(|r| r.op == Op::Read);
        match (cause, self.config.evict_wait) {
            (SlowCause::Flush, _) => EvictWait::ProgramDone,
            (SlowCause::Own, EvictWait::Issue) => EvictWait::ProgramDone,
            (SlowCause::Own, rule) => rule,
            (SlowCause::Eviction | SlowCause::Padding, rule) => match self.config.evict_wait_read {
                EvictWaitRead::Issue if reading => EvictWait::Issue,
                _ => rule,
            },
        }
    }

    /// The open request waits for a program of that cause as it has to.
    fn wait_for_program(&mut self, token: u32, cause: SlowCause) {
        match self.wait_rule(cause) {
            EvictWait::ProgramDone => self.wait(Wait::End(token)),
            EvictWait::TransferDone => self.wait(Wait::Transfer(token)),
            EvictWait::Issue => {}
        }
    }

    fn number(&self, token: u32) -> u64 {
        self.entries.all[token as usize].number
    }
}
