//! The host's side of a drive: command slots, command processing, link, paced admission (D-13, D-14, D-16, D-17).
//!
//! ```text
//! arrival ─ queue depth ─ slot ─ t_command ─┬─ link in ─ pace ─ cache: frame, t_dram ─────────── done
//!                                           └─ cache: t_dram, or array and bus ─ link out ────── done
//! ```
//!
//! A write with a preflush is two commands in one slot, as Linux sends it: a FLUSH, and once that is done the write.
//!
//! Passive: [`Front::arrive`] takes a request, [`Front::next_event`] says when something happens, [`Front::due`] gives the
//! commands that go to the cache then, and [`Front::completed`] hears when the cache is done with one.

mod measures;
mod parts;
mod passing;
mod streams;

pub(crate) use measures::HostSide;
pub(crate) use parts::OwnedRequest;
pub(crate) use passing::HostedCache;

use crate::device::HostRest;
use crate::device::backlog::ArrivalWatch;
use crate::device::latency::LatencyTriple;
use crate::device::slab::Slab;
use crate::run::spec::Replay;
use destage_device::config::{CommandOrder, DeviceConfig};
use destage_record::Completion;
use destage_types::{Nanos, Op};
use measures::Measures;
use parts::{LinkWay, WriteAdmission};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use streams::Streams;

/// A command from its arrival to its end.
#[derive(Clone, Debug)]
struct Command {
    request: OwnedRequest,
    /// Number of the request in the run.
    index: u64,
    stream: u32,
    arrival: u64,
    admitted: u64,
    measured: bool,
    /// Is it the FLUSH before its write?
    flushing: bool,
    /// Is it known when the write is let in?
    paced: bool,
    /// Facts from the cache: when the command came there, its pages and hits.
    came: Nanos,
    pages: u64,
    hits: u64,
}

impl Command {
    /// Bytes that it brings along, if it writes.
    fn written_bytes(&self) -> Option<u64> {
        let writes = self.request.op() == Op::Write && !self.flushing;
        writes.then(|| self.request.bytes())
    }
}

/// An event of a command.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Step {
    /// A read has its data, or the cache has what was written.
    Served(u32),
    /// A command is done.
    Done(u32),
}

/// A command that waits for those before it.
#[derive(Clone, Copy, Debug)]
struct InLine {
    /// When it may start as far as it is concerned.
    ready: u64,
    command: u32,
}

/// The host's side. See the module.
pub(crate) struct Front {
    /// A closed loop counts the requests of all streams together.
    one_stream: bool,
    /// Do preflushes take time?
    flushes_first: bool,
    slots: Option<u64>,
    in_order: bool,
    t_command: u64,
    /// When each core is free.
    cores: BinaryHeap<Reverse<u64>>,
    link_in: LinkWay,
    link_out: LinkWay,
    pace: Option<WriteAdmission>,
    commands: Slab<Command>,
    streams: Streams,
    inside: u64,
    /// When the last command left.
    last_end: u64,
    /// FLUSHes before writes that have come to the cache and are not done.
    flushing: u64,
    /// Commands on their way to the cache: (time, order of fetch, command).
    coming: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// The same in order of fetch, if they start in that order.
    line: VecDeque<InLine>,
    fetched: u64,
    /// (time, number of the request in the run, what happens).
    steps: BinaryHeap<Reverse<(u64, u64, Step)>>,
    /// By the number of the request in the run.
    serving: BTreeMap<u64, u32>,
    measures: Measures,
    done: Vec<Completion>,
}

impl Front {
    /// Is there one for requests that are issued so?
    pub fn is_wanted(device: &DeviceConfig, replay: Replay) -> bool {
        matches!(replay, Replay::Limited { .. }) || device.host_side_key().is_some()
    }

    /// The front of `device` for requests that are issued so, some with a `preflush`; none if nothing asks for
    /// anything of this.
    pub fn new(device: &DeviceConfig, replay: Replay, preflush: bool) -> Option<Front> {
        let link = device.host_link;
        let direction = |rate| LinkWay { rate, free_at: 0 };
        let depth = match replay {
            Replay::Open => None,
            Replay::Closed { depth } | Replay::Limited { depth } => Some(u64::from(depth.get())),
        };
        let flushes_first = preflush && !device.keeps_cache();
        (flushes_first || Front::is_wanted(device, replay)).then(|| Front {
            one_stream: replay.depth().is_some(),
            flushes_first,
            slots: device.command_slots.map(u64::from),
            in_order: device.command_order == Some(CommandOrder::Fifo),
            t_command: device.t_command.map_or(0, |time| time.times(1).0),
            cores: (0..device.command_cores.unwrap_or(1))
                .map(|_| Reverse(0))
                .collect(),
            link_in: direction(link.write()),
            link_out: direction(link.read()),
            pace: (device.write_price()).map(|price| WriteAdmission::new(price, device.mapping())),
            commands: Slab::new(),
            streams: Streams::new(depth),
            inside: 0,
            last_end: 0,
            flushing: 0,
            coming: BinaryHeap::new(),
            line: VecDeque::new(),
            fetched: 0,
            steps: BinaryHeap::new(),
            serving: BTreeMap::new(),
            measures: Measures::new(
                device.t_dram.times(1),
                depth.is_some(),
                device.write_pace.is_some(),
            ),
            done: Vec::new(),
        })
    }

    /// A request arrives at `now`.
    pub fn arrive(&mut self, now: Nanos, request: OwnedRequest, index: u64, measured: bool) {
        let stream = if self.one_stream { 0 } else { request.stream() };
        let flushing = self.flushes_first && request.has_preflush();
        let command = self.commands.add(Command {
            request,
            index,
            flushing,
            paced: false,
            stream,
            arrival: now.0,
            admitted: 0,
            measured,
            came: now,
            pages: 0,
            hits: 0,
        });
        self.streams.arrive(stream, command);
        self.admit(stream, now.0);
        self.fetch(now.0);
    }

    /// The last request arrives at `last`.
    pub fn expect_arrivals_until(&mut self, last: Nanos) {
        self.measures.arrivals = ArrivalWatch::new(last);
    }

    /// Measurements begin again from zero, with commands to come.
    pub fn restart_measuring(&mut self) {
        self.measures.clear();
        let under_way = self.commands.rows_mut();
        under_way.for_each(|(_, command)| command.measured = false);
    }

    /// Response times take no more memory than for `times` of each kind of request from now on.
    pub fn bound_latencies(&mut self, times: usize) {
        self.measures.bound(times);
    }

    /// Is there room for the next request of a closed loop?
    pub fn takes_more(&self) -> bool {
        self.streams.takes_more(0)
    }

    fn admit(&mut self, stream: u32, now: u64) {
        while let Some(command) = self.streams.admit(stream) {
            self.commands[command].admitted = now;
        }
    }

    /// Fetches commands into free slots, one of each stream in turn.
    fn fetch(&mut self, now: u64) {
        while self.slots.is_none_or(|slots| self.inside < slots)
            && let Some(command) = self.streams.fetch()
        {
            self.inside += 1;
            self.start(command, now);
        }
    }

    /// A fetched command is processed, and its data come over the link and are let in.
    fn start(&mut self, command: u32, now: u64) {
        let mut core = self.cores.peek_mut().expect("there is a core");
        let mut ready = core.0.max(now) + self.t_command;
        *core = Reverse(ready);
        drop(core);
        if let Some(bytes) = self.commands[command].written_bytes() {
            ready = self.link_in.pass(ready, bytes);
        }
        if self.in_order {
            self.line.push_back(InLine { ready, command });
        } else {
            self.coming.push(Reverse((ready, self.fetched, command)));
        }
        self.fetched += 1;
    }

    /// When a command is let in that comes to the cache at `now`, while collection has a debt of so much (D-17, DR-13). A time
    /// that was given stays.
    fn let_in(&mut self, command: u32, now: u64, debt: impl Fn() -> u64) -> u64 {
        let row = &mut self.commands[command];
        let writes = row.written_bytes().is_some() && !row.paced;
        let Some(pace) = self.pace.as_mut().filter(|_| writes) else {
            return now;
        };
        row.paced = true;
        let debt = debt();
        let at = pace.let_in(now, &row.request, debt);
        if row.measured {
            self.measures.add_pace(debt, at - now);
        }
        at
    }

    /// When something happens next. `cache_waits` says whether the cache keeps a command waiting.
    pub fn next_event(&self, cache_waits: impl Fn() -> bool) -> Nanos {
        let step = self.steps.peek().map_or(u64::MAX, |step| step.0.0);
        let coming = self.coming.peek().map_or(u64::MAX, |row| row.0.0);
        let line = match self.line.front() {
            Some(first) if !cache_waits() => first.ready,
            _ => u64::MAX,
        };
        Nanos(step.min(coming).min(line))
    }

    fn at(&mut self, time: u64, step: Step) {
        let (Step::Served(command) | Step::Done(command)) = step;
        self.steps
            .push(Reverse((time, self.commands[command].index, step)));
    }

    /// Ends what is due at `now`.
    pub fn settle(&mut self, now: Nanos) {
        while let Some(&Reverse((at, _, step))) = self.steps.peek()
            && at <= now.0
        {
            self.steps.pop();
            match step {
                Step::Served(command) => self.served(command, at),
                Step::Done(command) => self.end(command, at),
            }
        }
    }

    /// The next command that goes to the cache at `now`. With `command_order = fifo` none does while the cache
    /// keeps one waiting. `debt` is that of collection.
    pub fn due(
        &mut self,
        now: Nanos,
        cache_waits: impl Fn() -> bool,
        debt: impl Fn() -> u64,
    ) -> Option<u32> {
        let command = match self.in_order {
            true if cache_waits() => return None,
            true => self.next_in_line(now.0, debt)?,
            false => self.next_to_come(now.0, debt)?,
        };
        let row = &self.commands[command];
        self.flushing += u64::from(row.flushing);
        self.serving.insert(row.index, command);
        Some(command)
    }

    /// A command's request, unless that is the FLUSH before it, and its number in the run.
    pub fn request(&self, command: u32) -> (Option<&OwnedRequest>, u64) {
        let row = &self.commands[command];
        ((!row.flushing).then_some(&row.request), row.index)
    }

    /// The first in line, if it may start at `now`: a write is paced when its turn comes (DR-1).
    fn next_in_line(&mut self, now: u64, debt: impl Fn() -> u64) -> Option<u32> {
        let first = *self.line.front().filter(|first| first.ready <= now)?;
        let ready = self.let_in(first.command, now, debt);
        self.line[0].ready = ready;
        (ready <= now).then(|| self.line.pop_front())?;
        Some(first.command)
    }

    /// The first that comes, if it may start at `now`.
    fn next_to_come(&mut self, now: u64, debt: impl Fn() -> u64) -> Option<u32> {
        loop {
            let &Reverse((_, turn, command)) = self.coming.peek().filter(|row| row.0.0 <= now)?;
            self.coming.pop();
            let at = self.let_in(command, now, &debt);
            if at <= now {
                return Some(command);
            }
            self.coming.push(Reverse((at, turn, command)));
        }
    }

    /// The cache says that a request is complete, at a time that may be to come.
    pub fn completed(&mut self, completion: Completion) {
        if let Some(command) = self.serving.remove(&completion.index) {
            let row = &mut self.commands[command];
            (row.came, row.pages, row.hits) =
                (completion.arrival, completion.pages, completion.hits);
            if !row.flushing && !self.goes_out(command) {
                self.measure(command, completion.complete.0);
            }
            self.at(completion.complete.0, Step::Served(command));
        }
    }

    /// Do data of a command go over the link to the host?
    fn goes_out(&self, command: u32) -> bool {
        self.link_out.rate.is_some() && self.commands[command].request.op() == Op::Read
    }

    fn served(&mut self, command: u32, now: u64) {
        if std::mem::take(&mut self.commands[command].flushing) {
            self.flushing -= 1;
            return self.start(command, now);
        }
        let mut done = now;
        if self.goes_out(command) {
            let bytes = self.commands[command].request.bytes();
            done = self.link_out.pass(now, bytes);
            self.measure(command, done);
        }
        if done > now {
            self.at(done, Step::Done(command));
        } else {
            self.end(command, now);
        }
    }

    /// It is known when a command is done.
    fn measure(&mut self, command: u32, done: u64) {
        let row = &self.commands[command];
        // Requests of a file system's cleaning have no part in times.
        if !row.measured || row.request.cleans() {
            return;
        }
        let [arrival, admitted, done] = [row.arrival, row.admitted, done].map(Nanos);
        (self.measures).add(row.request.op(), arrival, admitted, done);
    }

    fn end(&mut self, command: u32, now: u64) {
        let row = self.commands.remove(command);
        self.done.push(Completion {
            index: row.index,
            op: row.request.op(),
            arrival: Nanos(row.arrival),
            came: row.came,
            complete: Nanos(now),
            pages: row.pages,
            hits: row.hits,
            measured: row.measured,
            timed: row.measured && !row.request.cleans(),
        });
        self.inside -= 1;
        self.last_end = now;
        self.streams.end(row.stream);
        self.admit(row.stream, now);
        self.fetch(now);
    }

    /// Does something that arrived still have to come to the cache?
    pub fn has_coming(&self) -> bool {
        let waits = !self.coming.is_empty() || !self.line.is_empty() || !self.streams.is_empty();
        waits || self.flushing > 0
    }

    /// Since when no command is inside the device.
    pub fn rest(&self) -> HostRest {
        match self.inside {
            0 => HostRest::Since(Nanos(self.last_end)),
            _ => HostRest::Inside,
        }
    }

    /// Has everything that arrived ended?
    pub fn is_empty(&self) -> bool {
        self.inside == 0 && self.streams.is_empty()
    }

    /// Moves the requests that were done since the last call to `out`.
    pub fn take_done(&mut self, out: &mut Vec<Completion>) {
        out.append(&mut self.done);
    }

    /// Response times of the measured part so far.
    pub fn response_times(&self) -> &LatencyTriple {
        self.measures.response_times()
    }

    /// The measurements.
    pub fn measures(&self) -> HostSide {
        self.measures.report()
    }
}
