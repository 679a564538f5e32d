//! An export: a device under a name, and what reaches its thread.

use super::budget::Permit;
use super::connection::Connection;
use super::driver::{Driver, Routed};
use super::lateness::Lateness;
use super::pace::Pace;
use super::pieces::Joint;
use super::replies::{Reply, ReplyBody};
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

/// Where an answer goes.
pub(crate) struct ReplyTo {
    connection: Arc<Connection>,
    permit: Permit,
    part: ReplyPart,
}

/// The part of a request that a reply answers.
enum ReplyPart {
    /// All of it; with the number that the reply repeats.
    Whole(u64),
    /// A piece, with its number.
    Piece(Arc<Joint>, u32),
}

impl ReplyTo {
    /// The reply of a request that is served in one piece.
    pub fn whole(connection: &Arc<Connection>, cookie: u64, permit: Permit) -> ReplyTo {
        ReplyTo {
            connection: Arc::clone(connection),
            permit,
            part: ReplyPart::Whole(cookie),
        }
    }

    /// Piece `number` of a longer request.
    pub fn piece(
        connection: &Arc<Connection>,
        joint: &Arc<Joint>,
        number: u32,
        permit: Permit,
    ) -> ReplyTo {
        ReplyTo {
            connection: Arc::clone(connection),
            permit,
            part: ReplyPart::Piece(Arc::clone(joint), number),
        }
    }

    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Does a request of the client begin here?
    pub fn begins_request(&self) -> bool {
        matches!(self.part, ReplyPart::Whole(_) | ReplyPart::Piece(_, 0))
    }

    /// Sends `outcome`, which is to leave when it is `due`; at once if that is not said.
    pub fn answer(self, outcome: NbdOutcome, due: Option<Instant>) {
        match self.part {
            ReplyPart::Whole(cookie) => self.connection.reply(Reply {
                cookie,
                body: ReplyBody::Whole(outcome),
                due,
                permit: self.permit,
            }),
            ReplyPart::Piece(joint, number) => joint.answer(number, outcome, due, self.permit),
        }
    }
}

/// A request that was checked, or a piece of one.
pub(crate) struct Task {
    pub to: ReplyTo,
    pub request: NbdRequest,
    pub data: Vec<u8>,
}

pub(crate) enum Message {
    Task(Task),
    /// The client of the connection with this number has gone without a word.
    Gone(u64),
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
    /// The losses of each power cut.
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

/// The part of an export that connections share.
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

/// The results of an export.
pub struct ExportReport {
    /// The device, for its own figures.
    pub device: SimulatedSsd,
    /// Simulated time at the end.
    pub end: Nanos,
    /// Requests that were submitted.
    pub requests: u64,
    /// The losses of each power cut.
    pub power_cuts: Vec<PowerLoss>,
    /// How late replies left. Empty without a clock.
    pub lateness: Lateness,
    /// The medium failed; what was written may be lost.
    pub failure: Option<String>,
}

/// Access to an export from any thread, as long as it is served.
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

    /// The answer of `look` about the export between two requests. Requests wait meanwhile, and
    /// their replies are late. `None` if the device has ended.
    pub fn at_rest<R: Send + 'static>(
        &self,
        look: impl FnOnce(&mut ExportMoment<'_>) -> R + Send + 'static,
    ) -> Option<R> {
        let (sender, receiver) = mpsc::channel();
        let call: Call = Box::new(move |moment| {
            // The receiver may have gone.
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
    /// `None` once it was joined.
    thread: Option<JoinHandle<ExportReport>>,
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
            thread: Some(thread),
        })
    }

    /// Access to it from any thread.
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
    pub fn stop(mut self) -> Result<ExportReport, String> {
        let ended = self.end();
        let failed = || format!("export `{}`: its device failed", self.info.name);
        ended.ok_or_else(failed)?.map_err(|_| failed())
    }

    fn end(&mut self) -> Option<std::thread::Result<ExportReport>> {
        // If the thread has ended, the join tells why.
        let _ = self.sender.send(Message::Stop);
        self.thread.take().map(JoinHandle::join)
    }
}

impl Drop for Export {
    /// A server that does not start after all leaves no device behind.
    fn drop(&mut self) {
        if self.thread.is_some() {
            let _ = self.end();
        }
    }
}
