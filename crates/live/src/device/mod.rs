//! A simulated device with its data: one request from its submission to its answer.

mod arriving;
mod simulated;
mod timed;
mod watcher;

pub use destage_sim::live::{DurablePart, LiveEvent, Ticket};
pub use simulated::{ModelName, SimulatedSsd};
pub use timed::TimedDevice;
pub use watcher::RequestWatcher;

use crate::protocol::errno;
use crate::protocol::transmission::{AllocationRun, NbdCommand, NbdOutcome, NbdRequest};
use crate::store::{CacheKind, PowerLoss, Store};
use arriving::Arriving;
use destage_types::{HostRequest, Nanos, Op, RequestFlags, SECTOR_BYTES};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::ops::Range;

/// Runs of a BLOCK_STATUS reply; clients ask again for what is behind them.
const MAX_RUNS: usize = 1024;
/// How often a BLOCK_STATUS asks the store, which says of each page of the cache by itself.
const MAX_LOOKS: usize = 16 << 10;

/// Zeros that are written at once.
const ZEROS: usize = 1 << 20;

/// The answer to a request that was submitted with a token.
#[derive(Debug)]
pub struct Answer<T> {
    /// The token that was given along with the request.
    pub token: T,
    /// When it is complete.
    pub at: Nanos,
    /// The outcome.
    pub outcome: NbdOutcome,
}

/// The outcome that a client sees for an error.
fn failure(error: &io::Error) -> NbdOutcome {
    NbdOutcome::Failed(match error.kind() {
        io::ErrorKind::StorageFull => errno::ENOSPC,
        _ => errno::EIO,
    })
}

/// A request of which some parts are not complete.
struct Unanswered<T> {
    token: T,
    parts: u32,
    outcome: NbdOutcome,
}

/// Device operations for a part of a request.
#[derive(Clone, Copy)]
struct PartIo {
    op: Op,
    offset: u64,
    bytes: u64,
    /// A write that completes when it is on flash.
    durable: bool,
}

impl PartIo {
    fn of(op: Op, offset: u64, bytes: u64) -> PartIo {
        PartIo {
            op,
            offset,
            bytes,
            durable: false,
        }
    }
}

/// A device and its data. Writes and TRIMs take effect on the data when they come to the cache of the device, and no later
/// than they are answered.
pub struct DataDevice<D, T> {
    device: D,
    store: Store,
    watchers: Vec<Box<dyn RequestWatcher>>,
    unanswered: HashMap<u64, Unanswered<T>>,
    /// The request that each ticket is a part of.
    parts: HashMap<Ticket, u64>,
    arriving: Arriving,
    next_id: u64,
    events: Vec<LiveEvent>,
    /// The medium lost a write: every answer from then on is an error.
    failed: Option<io::Error>,
    answers: Vec<Answer<T>>,
}

impl<D: TimedDevice, T> DataDevice<D, T> {
    /// A device with what it holds.
    pub fn new(
        device: D,
        store: Store,
        watchers: Vec<Box<dyn RequestWatcher>>,
    ) -> DataDevice<D, T> {
        DataDevice {
            device,
            store,
            watchers,
            unanswered: HashMap::new(),
            parts: HashMap::new(),
            arriving: Arriving::default(),
            next_id: 0,
            events: Vec::new(),
            failed: None,
            answers: Vec::new(),
        }
    }

    /// The simulated device.
    pub fn device(&mut self) -> &mut D {
        &mut self.device
    }

    /// The data.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Changes how many bytes of content are to be volatile at most.
    pub fn set_volatile_limit(&mut self, bytes: u64) {
        self.store.set_volatile_limit(bytes);
    }

    /// Requests whose answer has not come out.
    pub fn pending(&self) -> usize {
        self.unanswered.len() + self.answers.len()
    }

    /// When something happens next, such as an answer, which may be known already.
    pub fn next_event(&mut self) -> Option<Nanos> {
        let answer = self.answers.first().map(|answer| answer.at);
        [answer, self.device.next_event()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Submits a request that was checked, with the data of a WRITE. Its answer comes out of
    /// [`DataDevice::advance`], with `token`.
    pub fn submit(&mut self, at: Nanos, token: T, request: &NbdRequest, data: Vec<u8>) {
        let id = self.next_id;
        self.next_id += 1;
        let unanswered = Unanswered {
            token,
            // The submission, so that no part completes the request before the others are known.
            parts: 1,
            outcome: NbdOutcome::Done,
        };
        self.unanswered.insert(id, unanswered);
        // All effects up to now come first.
        self.catch_up(at);
        let started = self.start(at, id, request, data);
        let outcome = started.unwrap_or_else(|error| failure(&error));
        if let Some(unanswered) = self.unanswered.get_mut(&id)
            && !matches!(unanswered.outcome, NbdOutcome::Failed(_))
        {
            unanswered.outcome = outcome;
        }
        self.part_done(id, at);
        // And all of this one, such as that the device is full.
        self.catch_up(at);
    }

    /// Lets the request take effect on the data and gives its parts to the device.
    fn start(
        &mut self,
        at: Nanos,
        id: u64,
        r: &NbdRequest,
        data: Vec<u8>,
    ) -> io::Result<NbdOutcome> {
        let (offset, bytes) = (r.offset, u64::from(r.length));
        let mut outcome = NbdOutcome::Done;
        match r.command {
            Ok(NbdCommand::Read) => {
                let mut out = vec![0; r.length as usize];
                self.store.read(offset, &mut out)?;
                self.give(at, id, PartIo::of(Op::Read, offset, bytes))?;
                outcome = NbdOutcome::Data(offset, out);
            }
            Ok(NbdCommand::Cache) => {
                self.give(at, id, PartIo::of(Op::Read, offset, bytes))?;
            }
            Ok(NbdCommand::Write) => self.write(at, id, offset, data, r.fua())?,
            Ok(NbdCommand::Trim) => self.trim(at, id, offset, bytes)?,
            Ok(NbdCommand::WriteZeroes) => self.write_zeroes(at, id, r)?,
            Ok(NbdCommand::Flush) => self.flush(at, id)?,
            Ok(NbdCommand::BlockStatus) => outcome = self.allocation(r)?,
            Ok(NbdCommand::Disconnect) | Err(_) => outcome = NbdOutcome::Failed(errno::EINVAL),
        }
        Ok(outcome)
    }

    /// Gives the device a part of request `id`; its ticket.
    fn give(&mut self, at: Nanos, id: u64, io: PartIo) -> io::Result<Option<Ticket>> {
        let PartIo {
            op,
            offset,
            bytes,
            durable,
        } = io;
        let sectors = u32::try_from(bytes / SECTOR_BYTES).unwrap_or(u32::MAX);
        if sectors == 0 && op != Op::Flush {
            return Ok(None);
        }
        let mut request = HostRequest::new(at, op, offset / SECTOR_BYTES, sectors);
        // A non-volatile cache is durable.
        let durable = durable && self.store.kind() == CacheKind::Dram;
        request.flags = RequestFlags::FUA.only_if(durable);
        for watcher in &mut self.watchers {
            watcher.request(&request);
        }
        let ticket = self.device.submit(at, request)?;
        self.parts.insert(ticket, id);
        if let Some(unanswered) = self.unanswered.get_mut(&id) {
            unanswered.parts += 1;
        }
        Ok(Some(ticket))
    }

    fn write(
        &mut self,
        at: Nanos,
        id: u64,
        offset: u64,
        data: Vec<u8>,
        durable: bool,
    ) -> io::Result<()> {
        self.store.reserve(offset, data.len() as u64)?;
        let io = PartIo {
            durable,
            ..PartIo::of(Op::Write, offset, data.len() as u64)
        };
        if let Some(ticket) = self.give(at, id, io)?
            && self.store.keeps_data()
        {
            self.arriving.add_write(ticket, offset, data, &self.store);
        }
        Ok(())
    }

    /// Pages that are covered in part are left alone: their data stay.
    fn trim(&mut self, at: Nanos, id: u64, offset: u64, bytes: u64) -> io::Result<()> {
        let (first, behind) = self.store.whole_pages(offset, bytes);
        if first >= behind {
            return Ok(());
        }
        let offset = self.store.start(first);
        let bytes = self.store.start(behind) - offset;
        if let Some(ticket) = self.give(at, id, PartIo::of(Op::Trim, offset, bytes))? {
            self.arriving.add_trim(ticket, offset, bytes);
        }
        Ok(())
    }

    /// Whole pages become holes, which read as zeros, unless they are to keep their space.
    fn write_zeroes(&mut self, at: Nanos, id: u64, r: &NbdRequest) -> io::Result<()> {
        let end = r.offset + u64::from(r.length);
        let (first, behind) = self.store.whole_pages(r.offset, u64::from(r.length));
        let (hole, hole_end) = if r.no_hole() || first >= behind {
            (end, end)
        } else {
            (self.store.start(first), self.store.start(behind))
        };
        self.zeros(at, id, r.offset..hole, r.fua())?;
        self.trim(at, id, hole, hole_end - hole)?;
        self.zeros(at, id, hole_end..end, r.fua())
    }

    fn zeros(&mut self, at: Nanos, id: u64, range: Range<u64>, durable: bool) -> io::Result<()> {
        let (from, to) = (range.start, range.end);
        for start in (from..to).step_by(ZEROS) {
            let n = (to - start).min(ZEROS as u64) as usize;
            self.write(at, id, start, vec![0; n], durable)?;
        }
        Ok(())
    }

    /// A non-volatile cache has nothing to flush, which a device that models one is told all the same.
    fn flush(&mut self, at: Nanos, id: u64) -> io::Result<()> {
        if self.store.kind() == CacheKind::Dram || self.device.keeps_cache() {
            self.give(at, id, PartIo::of(Op::Flush, 0, 0))?;
        }
        Ok(())
    }

    fn allocation(&self, r: &NbdRequest) -> io::Result<NbdOutcome> {
        let mut runs: Vec<AllocationRun> = Vec::new();
        let (mut at, end) = (r.offset, r.offset + u64::from(r.length));
        let most = if r.one_extent() { 1 } else { MAX_RUNS };
        for _ in 0..MAX_LOOKS {
            if at == end {
                break;
            }
            let (data, bytes) = self.store.allocation(at, end - at)?;
            let bytes32 = bytes as u32;
            if let Some(last) = runs.last_mut().filter(|last| last.data == data) {
                last.bytes += bytes32;
            } else if runs.len() < most {
                let bytes = bytes32;
                runs.push(AllocationRun { bytes, data });
            } else {
                break;
            }
            at += bytes;
        }
        Ok(NbdOutcome::Allocation(runs))
    }

    /// Does everything up to `to`; the answers come out in order of their times.
    pub fn advance(&mut self, to: Nanos, answers: &mut Vec<Answer<T>>) {
        self.catch_up(to);
        answers.append(&mut self.answers);
    }

    /// Takes in what happened up to `to`.
    fn catch_up(&mut self, to: Nanos) {
        self.device.advance(to, &mut self.events);
        let mut events = std::mem::take(&mut self.events);
        for event in events.drain(..) {
            self.settle(event);
        }
        self.events = events;
        self.give_up(to);
    }

    /// Answers with errors what a device that has failed will never complete.
    fn give_up(&mut self, at: Nanos) {
        if !self.device.has_failed() || self.device.next_event().is_some() {
            return;
        }
        let mut ids: Vec<u64> = self.unanswered.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            if let Some(Unanswered { token, .. }) = self.unanswered.remove(&id) {
                let outcome = NbdOutcome::Failed(errno::EIO);
                self.answers.push(Answer { token, at, outcome });
            }
        }
        self.parts.clear();
    }

    fn settle(&mut self, event: LiveEvent) {
        match event {
            LiveEvent::Written { lpn, ticket } => {
                let written = self.arriving.written(lpn, ticket, &mut self.store);
                self.note_failure(ticket, written);
            }
            LiveEvent::Trimmed { ticket } => {
                let trimmed = self.arriving.trimmed(ticket, &mut self.store);
                self.note_failure(ticket, trimmed);
                for (write, error) in self.arriving.reserve_again(&mut self.store) {
                    self.note_failure(write, Err(error));
                }
            }
            LiveEvent::Captured { lpn, ticket } => self.store.captured(lpn, ticket.0),
            LiveEvent::Durable {
                lpn, ticket, part, ..
            } => {
                if let Err(error) = self.store.durable(lpn, ticket.0, part) {
                    self.failed = Some(error);
                }
            }
            LiveEvent::Completed { ticket, at } => self.complete(ticket, at),
        }
    }

    /// A part of a request may have failed.
    fn note_failure(&mut self, ticket: Ticket, done: io::Result<()>) {
        if let Err(error) = done
            && let Some(id) = self.parts.get(&ticket)
            && let Some(unanswered) = self.unanswered.get_mut(id)
        {
            unanswered.outcome = failure(&error);
        }
    }

    fn complete(&mut self, ticket: Ticket, at: Nanos) {
        if let Some(id) = self.parts.remove(&ticket) {
            self.part_done(id, at);
        }
    }

    fn part_done(&mut self, id: u64, at: Nanos) {
        let Entry::Occupied(mut entry) = self.unanswered.entry(id) else {
            return;
        };
        entry.get_mut().parts -= 1;
        if entry.get().parts == 0 {
            let Unanswered { token, outcome, .. } = entry.remove();
            // A FLUSH must not say that what was lost is there.
            let outcome = match self.failed {
                Some(_) => NbdOutcome::Failed(errno::EIO),
                None => outcome,
            };
            self.answers.push(Answer { token, at, outcome });
        }
    }

    /// Cuts the power at `at`, and gives it back: what was volatile is gone, what was not answered
    /// never will be. Answers that were due come out first.
    pub fn power_cut(&mut self, at: Nanos, answers: &mut Vec<Answer<T>>) -> PowerLoss {
        self.advance(at, answers);
        let requests = self.unanswered.len() as u64;
        self.unanswered.clear();
        self.parts.clear();
        self.arriving.clear();
        self.device.power_cycle(at);
        for watcher in &mut self.watchers {
            watcher.power_cycle(at);
        }
        let pages = self.store.power_cut();
        PowerLoss { pages, requests }
    }

    /// Submits a FLUSH of all that was written.
    pub fn flush_all(&mut self, at: Nanos, token: T) {
        let request = NbdRequest::of(NbdCommand::Flush, 0, 0);
        self.submit(at, token, &request, Vec::new());
    }

    /// The device without its data.
    pub fn into_device(self) -> D {
        self.device
    }

    /// Makes the medium outlast the process and the host.
    ///
    /// # Errors
    /// The medium fails, or has failed.
    pub fn sync(&mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.store.sync(),
        }
    }
}
