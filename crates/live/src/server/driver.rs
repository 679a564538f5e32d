//! The thread of an export: it owns the device and keeps its time.
//!
//! Requests wait in a [`FairQueue`] until the device has room for them. It has as much at once as
//! keeps it busy, so that no client can fill its queues for seconds.

use super::export::{
    Call, ExportMoment, ExportReport, ExportShared, Message, PowerCutAt, ReplyTo, Task,
};
use super::pace::{Pace, WallClock};
use super::pieces::PIECE_BYTES;
use super::queue::{FairQueue, cost, moved};
use super::responses::ResponseTimes;
use crate::device::{Answer, DataDevice, SimulatedSsd};
use crate::protocol::errno;
use crate::protocol::transmission::{NbdCommand, NbdOutcome};
use crate::store::PowerLoss;
use destage_types::Nanos;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

/// Before something is due the thread does not sleep any more: it might not wake in time.
const SPIN: Duration = Duration::from_micros(60);
/// Messages that are taken before the device goes on.
const MESSAGES: usize = 4096;
/// Cost of requests given to the device until messages are looked at again: one may have come that
/// goes first.
const TURN: u64 = PIECE_BYTES;
/// Bytes that requests in the device move at once, unless it is a larger one.
const IN_DEVICE: u64 = 4 << 20;
/// So many pages of each plane may be on their way at once.
const PAGES_OF_PLANE: u64 = 4;

/// Where the answer to a client's request goes.
pub struct Routed {
    to: ReplyTo,
    command: NbdCommand,
    submitted: Nanos,
    moved: u64,
}

type Served = DataDevice<SimulatedSsd, Option<Routed>>;

pub(super) struct Driver {
    device: Served,
    shared: Arc<ExportShared>,
    /// None: unpaced.
    clock: Option<WallClock>,
    now: Nanos,
    cut: Option<PowerCutAt>,
    requests: u64,
    power_cuts: Vec<PowerLoss>,
    responses: ResponseTimes,
    answers: Vec<Answer<Option<Routed>>>,
    queue: FairQueue,
    /// FLUSHes that wait for those in the device: each programs all there is.
    flushes: VecDeque<Task>,
    /// FLUSHes in the device.
    flushing: usize,
    /// Bytes that the requests in the device move, and how many they may.
    in_device: u64,
    most_in_device: u64,
}

impl Driver {
    pub fn new(
        mut device: Served,
        shared: Arc<ExportShared>,
        pace: Pace,
        cut: Option<PowerCutAt>,
    ) -> Driver {
        let wave = PAGES_OF_PLANE * device.device().bytes_of_planes();
        Driver {
            device,
            shared,
            clock: match pace {
                Pace::Wall { scale } => Some(WallClock::start(scale)),
                Pace::Unpaced => None,
            },
            now: Nanos::ZERO,
            cut,
            requests: 0,
            power_cuts: Vec::new(),
            responses: ResponseTimes::default(),
            answers: Vec::new(),
            queue: FairQueue::default(),
            flushes: VecDeque::new(),
            flushing: 0,
            in_device: 0,
            most_in_device: IN_DEVICE.max(wave),
        }
    }

    pub fn run(mut self, receiver: &Receiver<Message>) -> ExportReport {
        loop {
            let mut waiting = self.wait(receiver);
            let mut taken = 0;
            while let Some(message) = waiting {
                match message {
                    Message::Task(task) => self.take(task),
                    Message::Gone(connection) => self.queue.forget(connection),
                    Message::PowerCut(told) => {
                        self.tick();
                        let loss = self.power_cut();
                        // The receiver may have gone.
                        let _ = told.send(loss);
                    }
                    Message::Call(call) => self.call(call),
                    Message::Stop => return self.stop(),
                }
                taken += 1;
                waiting = if taken < MESSAGES {
                    receiver.try_recv().ok()
                } else {
                    None
                };
            }
            self.submit_waiting();
            self.tick();
            self.go_on();
        }
    }

    fn take(&mut self, task: Task) {
        if self.is_wanted(&task) {
            self.queue.push(task);
        }
    }

    /// False: the power was cut since it was sent, or nobody waits for it any more.
    fn is_wanted(&self, task: &Task) -> bool {
        let connection = task.to.connection();
        connection.epoch == self.power_cuts.len() as u64 && !connection.is_gone()
    }

    /// Is there a request that waits, and room for it in the device?
    fn may_submit(&mut self) -> bool {
        if self.device.device().is_changing() {
            return false;
        }
        let Some(next) = self.queue.peek() else {
            return false;
        };
        let bytes = moved(next);
        if self.in_device > 0 && self.in_device + bytes > self.most_in_device {
            return false;
        }
        // Where nothing more happens of itself, waiting would not help.
        self.device.has_room(bytes) || self.device.next_event().is_none()
    }

    fn submit_waiting(&mut self) {
        let mut given = 0;
        while given < TURN && self.may_submit() {
            let Some(task) = self.queue.pop() else { return };
            given += cost(&task);
            self.tick();
            self.go_on();
            match task.request.command {
                Ok(NbdCommand::Flush) if self.flushing > 0 => self.flushes.push_back(task),
                _ => self.submit(task),
            }
        }
    }

    fn tick(&mut self) {
        if let Some(clock) = &self.clock {
            self.now = self.now.max(clock.now());
        }
    }

    /// When the thread has something to do of itself.
    fn next_event(&mut self) -> Option<Nanos> {
        let next = self.device.next_event();
        match (next, self.cut) {
            (Some(next), Some(PowerCutAt::Time(cut))) => Some(next.min(cut)),
            (None, Some(PowerCutAt::Time(cut))) if self.clock.is_some() => Some(cut),
            _ => next,
        }
    }

    /// Waits for a message, or `None` when the next event is due.
    fn wait(&mut self, receiver: &Receiver<Message>) -> Option<Message> {
        if self.may_submit() {
            return receiver.try_recv().ok();
        }
        let Some(clock) = self.clock else {
            return self.wait_unpaced(receiver);
        };
        loop {
            let due = self.next_event().and_then(|at| clock.instant(at));
            let Some(due) = due else {
                return Some(receiver.recv().unwrap_or(Message::Stop));
            };
            let left = due.saturating_duration_since(Instant::now());
            let got = match left.checked_sub(SPIN) {
                _ if left.is_zero() => return None,
                Some(sleep) => receiver.recv_timeout(sleep),
                None => receiver.try_recv().map_err(|e| match e {
                    TryRecvError::Empty => RecvTimeoutError::Timeout,
                    TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
                }),
            };
            match got {
                Ok(message) => return Some(message),
                Err(RecvTimeoutError::Disconnected) => return Some(Message::Stop),
                Err(RecvTimeoutError::Timeout) => std::hint::spin_loop(),
            }
        }
    }

    fn wait_unpaced(&mut self, receiver: &Receiver<Message>) -> Option<Message> {
        match receiver.try_recv() {
            Ok(message) => return Some(message),
            Err(TryRecvError::Disconnected) => return Some(Message::Stop),
            Err(TryRecvError::Empty) => {}
        }
        if (self.device.pending() > 0 || !self.queue.is_empty())
            && let Some(next) = self.next_event()
        {
            self.now = self.now.max(next);
            return None;
        }
        Some(receiver.recv().unwrap_or(Message::Stop))
    }

    /// Gives a request to the device, for which everything that was due has happened.
    fn submit(&mut self, task: Task) {
        // An unknown command was refused before.
        let Ok(command) = task.request.command else {
            return;
        };
        if !self.is_wanted(&task) {
            return;
        }
        let begins = task.to.begins_request();
        self.requests += u64::from(begins);
        let moved = moved(&task);
        self.in_device += moved;
        self.flushing += usize::from(command == NbdCommand::Flush);
        let to = Some(Routed {
            to: task.to,
            command,
            submitted: self.now,
            moved,
        });
        self.device.submit(self.now, to, &task.request, task.data);
        if begins && self.cut == Some(PowerCutAt::Requests(self.requests)) {
            self.power_cut();
        }
    }

    /// Does what is due, and answers, until nothing more is answered: FLUSHes that waited may be done at once.
    fn go_on(&mut self) {
        if let Some(PowerCutAt::Time(at)) = self.cut
            && at <= self.now
        {
            self.now = at;
            self.power_cut();
            self.tick();
        }
        loop {
            self.device.advance(self.now, &mut self.answers);
            self.reply();
            if self.flushing > 0 || self.flushes.is_empty() {
                return;
            }
            // Together they program no more than one would.
            while let Some(task) = self.flushes.pop_front() {
                self.submit(task);
            }
        }
    }

    fn reply(&mut self) {
        for answer in self.answers.drain(..) {
            let Some(Routed {
                to,
                command,
                submitted,
                moved,
            }) = answer.token
            else {
                continue;
            };
            self.in_device -= moved;
            self.flushing -= usize::from(command == NbdCommand::Flush);
            self.responses.add(command, answer.at.since(submitted));
            let due = self.clock.and_then(|c| c.instant(answer.at));
            to.answer(answer.outcome, due);
        }
    }

    fn power_cut(&mut self) -> PowerLoss {
        self.cut = None;
        let mut loss = self.device.power_cut(self.now, &mut self.answers);
        let waiting = self.queue.drain().chain(self.flushes.drain(..));
        loss.requests += waiting.filter(|task| task.to.begins_request()).count() as u64;
        self.reply();
        (self.in_device, self.flushing) = (0, 0);
        self.shared.connections().drop_all();
        self.power_cuts.push(loss);
        loss
    }

    fn call(&mut self, call: Call) {
        self.tick();
        self.go_on();
        call(&mut ExportMoment {
            device: &mut self.device,
            now: self.now,
            requests: self.requests,
            power_cuts: &self.power_cuts,
            lateness: &mut self.shared.lateness(),
            responses: &mut self.responses,
        });
    }

    /// Everything that the device was given is answered and durable; what waited for it is refused.
    fn stop(mut self) -> ExportReport {
        self.cut = None;
        let refused = self.queue.drain().chain(self.flushes.drain(..));
        refused.for_each(|task| task.to.answer(NbdOutcome::Failed(errno::ESHUTDOWN), None));
        self.device.flush_all(self.now, None);
        while self.device.pending() > 0 {
            let Some(next) = self.device.next_event() else {
                break;
            };
            self.now = self.now.max(next);
            self.go_on();
        }
        self.go_on();
        let failure = self.device.sync().err().map(|e| e.to_string());
        self.shared.connections().close_all();
        ExportReport {
            device: self.device.into_device(),
            end: self.now,
            requests: self.requests,
            power_cuts: self.power_cuts,
            lateness: self.shared.lateness().clone(),
            failure,
        }
    }
}
