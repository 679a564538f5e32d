//! An export: a device under a name, and what reaches its thread.

use super::budget::Permit;
use super::connection::{Connection, Reply};
use super::driver::{Driver, Routed};
use super::lateness::Lateness;
use super::pace::Pace;
use super::responses::ResponseTimes;
use crate::device::{DataDevice, SimulatedSsd};
use crate::protocol::negotiation::ExportInfo;
use crate::protocol::transmission::{NbdOutcome, NbdRequest};
use crate::store::PowerLoss;
use destage_types::Nanos;
use std::io;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Instant;

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

impl ReplyTo {
    /// Sends `outcome`, which is to leave when it is `due`; at once if that is not said.
    pub fn answer(self, outcome: NbdOutcome, due: Option<Instant>) {
        self.connection.reply(Reply {
            cookie: self.cookie,
            outcome,
            due,
            permit: self.permit,
        });
    }
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
    Call(Call),
    Stop,
}

/// Something that is done between two requests.
pub(crate) type Call = Box<dyn FnOnce(&mut ExportMoment<'_>) + Send>;

/// An export between two requests, when everything that was due has happened.
pub struct ExportMoment<'a> {
    /// The device with its data.
    pub device: &'a mut DataDevice<SimulatedSsd, Option<Routed>>,
    /// Simulated time.
    pub now: Nanos,
    /// Requests that were submitted since the server began.
    pub requests: u64,
    /// What each power cut took.
    pub power_cuts: &'a [PowerLoss],
    /// How late replies left.
    pub lateness: &'a mut Lateness,
    /// Response times in simulated time.
    pub responses: &'a mut ResponseTimes,
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
    pub fn drop_all(&mut self) {
        self.epoch += 1;
        for connection in self.list.drain(..).filter_map(|c| c.upgrade()) {
            connection.shutdown();
        }
    }

    /// The server ends: nothing comes in any more, and answers still leave.
    pub fn close_all(&mut self) {
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
pub struct ExportReport {
    /// The device, for its own figures.
    pub device: SimulatedSsd,
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

/// What reaches an export from anywhere, as long as it is served.
#[derive(Clone)]
pub struct ExportHandle {
    name: String,
    sender: Sender<Message>,
}

impl ExportHandle {
    /// Name of the export.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Cuts the power now and gives it back; `None` if the device has ended.
    pub fn power_cut(&self) -> Option<PowerLoss> {
        let (sender, receiver) = mpsc::channel();
        self.sender.send(Message::PowerCut(sender)).ok()?;
        receiver.recv().ok()
    }

    /// What `look` says of the export between two requests. Requests wait meanwhile, and their replies
    /// are late. `None` if the device has ended.
    pub fn at_rest<R: Send + 'static>(
        &self,
        look: impl FnOnce(&mut ExportMoment<'_>) -> R + Send + 'static,
    ) -> Option<R> {
        let (sender, receiver) = mpsc::channel();
        let call: Call = Box::new(move |moment| {
            // Who asked may have gone.
            let _ = sender.send(look(moment));
        });
        self.sender.send(Message::Call(call)).ok()?;
        receiver.recv().ok()
    }
}

/// A device that is served under a name.
pub struct Export {
    pub(crate) info: ExportInfo,
    pub(crate) sender: Sender<Message>,
    pub(crate) shared: Arc<ExportShared>,
    thread: JoinHandle<ExportReport>,
}

impl Export {
    /// Starts the clock of a device with its `store`, made by `device`.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(
        info: ExportInfo,
        device: impl FnOnce() -> DataDevice<SimulatedSsd, Option<Routed>> + Send + 'static,
        pace: Pace,
        cut: Option<PowerCutAt>,
    ) -> io::Result<Export> {
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

    /// What reaches it from anywhere.
    pub fn handle(&self) -> ExportHandle {
        ExportHandle {
            name: self.info.name.clone(),
            sender: self.sender.clone(),
        }
    }

    /// Flushes the device and ends it.
    ///
    /// # Errors
    /// Its thread panicked.
    pub fn stop(self) -> Result<ExportReport, String> {
        // If the thread has ended, the join tells why.
        let _ = self.sender.send(Message::Stop);
        let ended = self.thread.join();
        ended.map_err(|_| format!("export `{}`: its device failed", self.info.name))
    }
}
