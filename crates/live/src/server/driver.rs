//! The thread of an export: it owns the device and keeps its time.

use super::budget::Permit;
use super::connection::{Connection, Reply};
use super::lateness::Lateness;
use super::pace::{Pace, WallClock};
use crate::device::{Answer, DataDevice, TimedDevice};
use crate::protocol::negotiation::ExportInfo;
use crate::protocol::transmission::NbdRequest;
use crate::store::PowerLoss;
use destage_types::Nanos;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Before something is due the thread does not sleep any more: it might not wake in time.
const SPIN: Duration = Duration::from_micros(60);
/// Requests that are taken before the device goes on.
const BATCH: usize = 64;

/// When the power is cut by itself, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerCutAt {
    /// After so many requests were submitted.
    Requests(u64),
    /// At that simulated time.
    Time(Nanos),
}

/// Where an answer goes; nowhere for what the server itself asks.
pub(crate) struct ReplyTo {
    pub connection: Arc<Connection>,
    pub cookie: u64,
    pub permit: Permit,
}

/// A request that was checked.
pub(crate) struct Task {
    pub to: ReplyTo,
    pub request: NbdRequest,
    pub data: Vec<u8>,
}

pub(crate) enum Message {
    Task(Task),
    PowerCut(Sender<PowerLoss>),
    Stop,
}

/// The connections of an export since its last power cut.
#[derive(Default)]
pub(crate) struct Connections {
    /// Power cuts so far.
    pub epoch: u64,
    list: Vec<Weak<Connection>>,
}

impl Connections {
    pub fn add(&mut self, connection: &Arc<Connection>) {
        self.list.retain(|c| c.strong_count() > 0);
        self.list.push(Arc::downgrade(connection));
    }

    /// The power was cut: nothing comes out any more.
    fn drop_all(&mut self) {
        self.epoch += 1;
        for connection in self.list.drain(..).filter_map(|c| c.upgrade()) {
            connection.shutdown();
        }
    }

    /// The server ends: nothing comes in any more, and answers still leave.
    fn close_all(&mut self) {
        for connection in self.list.drain(..).filter_map(|c| c.upgrade()) {
            connection.stop_reading();
        }
    }
}

/// What connections know of an export.
pub(crate) struct ExportShared {
    pub connections: Mutex<Connections>,
    pub lateness: Mutex<Lateness>,
}

impl ExportShared {
    pub fn connections(&self) -> MutexGuard<'_, Connections> {
        let locked = self.connections.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }

    pub fn lateness(&self) -> MutexGuard<'_, Lateness> {
        self.lateness.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an export has done.
#[derive(Debug)]
pub struct ExportReport<D> {
    /// The device, for its own figures.
    pub device: D,
    /// Simulated time at the end.
    pub end: Nanos,
    /// Requests that were submitted.
    pub requests: u64,
    /// What each power cut took.
    pub power_cuts: Vec<PowerLoss>,
    /// How late replies left. Empty without a clock.
    pub lateness: Lateness,
    /// The medium failed; what was written may be lost.
    pub failure: Option<String>,
}

/// A device that is served under a name.
pub struct Export<D> {
    pub(crate) info: ExportInfo,
    pub(crate) sender: Sender<Message>,
    pub(crate) shared: Arc<ExportShared>,
    thread: JoinHandle<ExportReport<D>>,
}

impl<D: TimedDevice + Send + 'static> Export<D> {
    /// Starts the clock of a device with its `store`, made by `device`.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(
        info: ExportInfo,
        device: impl FnOnce() -> DataDevice<D, Option<Routed>> + Send + 'static,
        pace: Pace,
        cut: Option<PowerCutAt>,
    ) -> io::Result<Export<D>> {
        let (sender, receiver) = mpsc::channel();
        let shared = Arc::new(ExportShared {
            connections: Mutex::default(),
            lateness: Mutex::default(),
        });
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("device".to_owned());
        let thread = thread.spawn(move || {
            // A sleep that ends 50 us late is no use; without this the spin alone must do.
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
            Driver::new(device(), for_thread, pace, cut).run(&receiver)
        })?;
        Ok(Export {
            info,
            sender,
            shared,
            thread,
        })
    }

    /// Cuts the power now and gives it back; `None` if the device has ended.
    pub fn power_cut(&self) -> Option<PowerLoss> {
        let (sender, receiver) = mpsc::channel();
        self.sender.send(Message::PowerCut(sender)).ok()?;
        receiver.recv().ok()
    }

    /// Flushes the device and ends it.
    ///
    /// # Errors
    /// Its thread panicked.
    pub fn stop(self) -> Result<ExportReport<D>, String> {
        // If the thread has ended, the join tells why.
        let _ = self.sender.send(Message::Stop);
        let ended = self.thread.join();
        ended.map_err(|_| format!("export `{}`: its device failed", self.info.name))
    }
}

/// Where the answer to a client's request goes.
pub struct Routed(pub(crate) ReplyTo);

type Served<D> = DataDevice<D, Option<Routed>>;

struct Driver<D> {
    device: Served<D>,
    shared: Arc<ExportShared>,
    /// None: unpaced.
    clock: Option<WallClock>,
    now: Nanos,
    cut: Option<PowerCutAt>,
    requests: u64,
    power_cuts: Vec<PowerLoss>,
    answers: Vec<Answer<Option<Routed>>>,
}

impl<D: TimedDevice> Driver<D> {
    fn new(
        device: Served<D>,
        shared: Arc<ExportShared>,
        pace: Pace,
        cut: Option<PowerCutAt>,
    ) -> Driver<D> {
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
            answers: Vec::new(),
        }
    }

    fn run(mut self, receiver: &Receiver<Message>) -> ExportReport<D> {
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
        let to = Some(Routed(task.to));
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
            let Some(Routed(to)) = answer.token else {
                continue;
            };
            let reply = Reply {
                cookie: to.cookie,
                outcome: answer.outcome,
                due: self.clock.and_then(|c| c.instant(answer.at)),
                permit: to.permit,
            };
            to.connection.reply(reply);
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

    /// Everything that was submitted is answered and durable.
    fn stop(mut self) -> ExportReport<D> {
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
