//! The thread of an export: it owns the device and keeps its time.

use super::export::{
    Call, ExportMoment, ExportReport, ExportShared, Message, PowerCutAt, ReplyTo, Task,
};
use super::pace::{Pace, WallClock};
use super::responses::ResponseTimes;
use crate::device::{Answer, DataDevice, SimulatedSsd};
use crate::protocol::transmission::NbdCommand;
use crate::store::PowerLoss;
use destage_types::Nanos;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

/// Before something is due the thread does not sleep any more: it might not wake in time.
const SPIN: Duration = Duration::from_micros(60);
/// Requests that are taken before the device goes on.
const BATCH: usize = 64;

/// Where the answer to a client's request goes.
pub struct Routed {
    to: ReplyTo,
    command: NbdCommand,
    submitted: Nanos,
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
}

impl Driver {
    pub fn new(
        device: Served,
        shared: Arc<ExportShared>,
        pace: Pace,
        cut: Option<PowerCutAt>,
    ) -> Driver {
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
        }
    }

    pub fn run(mut self, receiver: &Receiver<Message>) -> ExportReport {
        loop {
            let mut waiting = self.wait(receiver);
            let mut taken = 0;
            while let Some(message) = waiting {
                self.tick();
                match message {
                    Message::Task(task) => self.submit(task),
                    Message::PowerCut(told) => {
                        let loss = self.power_cut();
                        // Who asked may have gone.
                        let _ = told.send(loss);
                    }
                    Message::Call(call) => self.call(call),
                    Message::Stop => return self.stop(),
                }
                taken += 1;
                waiting = match taken < BATCH {
                    true => receiver.try_recv().ok(),
                    false => None,
                };
            }
            self.tick();
            self.go_on();
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
        if self.device.pending() > 0
            && let Some(next) = self.next_event()
        {
            self.now = self.now.max(next);
            return None;
        }
        Some(receiver.recv().unwrap_or(Message::Stop))
    }

    fn submit(&mut self, task: Task) {
        // The power was cut since this was sent.
        if task.to.connection.epoch != self.power_cuts.len() as u64 {
            return;
        }
        self.go_on();
        self.requests += 1;
        // What is no command was refused before.
        let Ok(command) = task.request.command else {
            return;
        };
        let to = Some(Routed {
            to: task.to,
            command,
            submitted: self.now,
        });
        self.device.submit(self.now, to, &task.request, &task.data);
        if self.cut == Some(PowerCutAt::Requests(self.requests)) {
            self.power_cut();
        }
    }

    /// Does what is due, and answers.
    fn go_on(&mut self) {
        if let Some(PowerCutAt::Time(at)) = self.cut
            && at <= self.now
        {
            self.now = at;
            self.power_cut();
            self.tick();
        }
        self.device.advance(self.now, &mut self.answers);
        self.reply();
    }

    fn reply(&mut self) {
        for answer in self.answers.drain(..) {
            let Some(Routed {
                to,
                command,
                submitted,
            }) = answer.token
            else {
                continue;
            };
            self.responses.add(command, answer.at.since(submitted));
            let due = self.clock.and_then(|c| c.instant(answer.at));
            to.answer(answer.outcome, due);
        }
    }

    fn power_cut(&mut self) -> PowerLoss {
        self.cut = None;
        let loss = self.device.power_cut(self.now, &mut self.answers);
        self.reply();
        self.shared.connections().drop_all();
        self.power_cuts.push(loss);
        loss
    }

    fn call(&mut self, call: Call) {
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

    /// Everything that was submitted is answered and durable.
    fn stop(mut self) -> ExportReport {
        self.cut = None;
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
