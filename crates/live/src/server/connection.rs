//! One client: its negotiation, its requests, its replies.

use super::budget::{Allowance, BytePool, Permit, REQUEST_BYTES, ServerLimits};
use super::export::{ExportShared, Message, ReplyTo, Task};
use super::hall::OpenConnection;
use super::link::ClientLink;
use super::pieces::{Joint, pieces};
use super::replies::{REPLY_TIME, Reply, write_replies};
use super::tls::ServerTls;
use crate::protocol::errno;
use crate::protocol::negotiation::{
    ExportInfo, MAX_OPTION_BYTES, Negotiation, NextStep, OPTION_HEADER_BYTES, SessionTerms,
    TlsPolicy, greeting, option_header,
};
use crate::protocol::transmission::{NbdCommand, NbdOutcome, NbdRequest, REQUEST_HEADER_BYTES};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, SendError, Sender};
use std::time::{Duration, Instant};

/// A negotiation takes that long at most, with its TLS handshake.
const NEGOTIATION_TIME: Duration = Duration::from_secs(10);
/// A piece of a request that pauses longer ends the connection, and so does one that is not complete after that
/// time when its next bytes come.
const PIECE_TIME: Duration = Duration::from_secs(10);
/// Options of one negotiation.
const MAX_OPTIONS: usize = 1000;

/// The transmission phase of one client.
pub(crate) struct Connection {
    /// Its number on this server.
    pub id: u64,
    link: ClientLink,
    replies: Sender<Reply>,
    /// Power cuts of the export before it began.
    pub epoch: u64,
    /// Nobody takes replies any more.
    gone: AtomicBool,
}

impl Connection {
    pub fn reply(&self, reply: Reply) {
        // A writer that has ended needs no replies.
        let _ = self.replies.send(reply);
    }

    pub fn shutdown(&self) {
        self.gone.store(true, Ordering::SeqCst);
        self.link.socket.shutdown();
    }

    pub fn stop_reading(&self) {
        self.link.socket.stop_reading();
    }

    /// Has the client gone? Its requests need not be served.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }

    /// As [`Connection::is_gone`], asking the socket as well.
    fn has_left(&self) -> bool {
        if self.link.socket.is_gone() {
            self.gone.store(true, Ordering::SeqCst);
        }
        self.is_gone()
    }
}

/// The part of the server that connections share.
pub(crate) struct ServerShared {
    pub infos: Vec<ExportInfo>,
    pub exports: Vec<(Sender<Message>, Arc<ExportShared>)>,
    pub tls: Option<ServerTls>,
    pub limits: ServerLimits,
    pub pool: Arc<BytePool>,
    /// Connections so far.
    pub count: AtomicU64,
}

/// Serves one client until it goes.
///
/// # Errors
/// It broke off, or what it sent was no NBD.
pub(crate) fn serve(guest: &OpenConnection, server: &ServerShared) -> io::Result<()> {
    let mut link = ClientLink::new(Arc::clone(&guest.socket));
    link.set_end(Some(Instant::now() + NEGOTIATION_TIME));
    let Some(terms) = negotiate(&mut link, guest, server)? else {
        return Ok(());
    };
    link.set_end(None);
    link.socket.set_timeouts(PIECE_TIME, REPLY_TIME)?;
    let (sender, shared) = &server.exports[terms.export];
    let (replies, receiver) = mpsc::channel();
    let connection = {
        let mut connections = shared.connections();
        let connection = Arc::new(Connection {
            id: server.count.fetch_add(1, Ordering::SeqCst),
            link: link.clone(),
            replies,
            epoch: connections.epoch,
            gone: AtomicBool::new(false),
        });
        connections.add(&connection);
        connection
    };
    let (writer_link, writer_shared) = (link.clone(), Arc::clone(shared));
    let writing = Arc::downgrade(&connection);
    let writer = std::thread::Builder::new().name("replies".to_owned());
    let writer = writer.spawn(move || {
        let failed = || {
            // The reader sees the end.
            if let Some(connection) = writing.upgrade() {
                connection.shutdown();
            }
        };
        write_replies(
            writer_link,
            &receiver,
            terms.structured,
            &writer_shared,
            &failed,
        );
    })?;
    let mut requests = Requests {
        reader: BufReader::with_capacity(64 << 10, link),
        connection: &connection,
        allowance: Allowance::new(&server.pool),
        export: &server.infos[terms.export],
        terms,
        device: sender,
    };
    let done = requests.run();
    if done.is_err() {
        connection.shutdown();
    }
    if !matches!(done, Ok(Ended::Disconnected)) {
        // Requests that the device was not given are dropped: nobody waits for them.
        connection.gone.store(true, Ordering::SeqCst);
        let _ = sender.send(Message::Gone(connection.id));
    }
    drop(requests);
    // The writer ends when the last answer has left.
    drop(connection);
    let _ = writer.join();
    done.map(|_| ())
}

fn negotiate(
    link: &mut ClientLink,
    guest: &OpenConnection,
    server: &ServerShared,
) -> io::Result<Option<SessionTerms>> {
    let lost = || io::Error::from(ErrorKind::InvalidData);
    link.write_all(&greeting())?;
    let mut flags = [0; 4];
    link.read_exact(&mut flags)?;
    let policy = match server.tls {
        Some(_) => TlsPolicy::Required,
        None => TlsPolicy::Unavailable,
    };
    let flags = u32::from_be_bytes(flags);
    let mut negotiation = Negotiation::new(&server.infos, policy, flags).ok_or_else(lost)?;
    let mut out = Vec::new();
    for _ in 0..MAX_OPTIONS {
        let mut header = [0; OPTION_HEADER_BYTES];
        link.read_exact(&mut header)?;
        let (option, length) = option_header(&header).map_err(|_| lost())?;
        out.clear();
        let next = if length > MAX_OPTION_BYTES {
            skip(link, u64::from(length))?;
            negotiation.too_big(option, &mut out)
        } else {
            let mut data = vec![0; length as usize];
            link.read_exact(&mut data)?;
            negotiation.answer(option, &data, &mut out)
        };
        let most = server.limits.connections;
        if matches!(next, NextStep::Transmission(_)) && !guest.settle(most, most / 2) {
            return Ok(None);
        }
        link.write_all(&out)?;
        match next {
            NextStep::Option => {}
            NextStep::Close => return Ok(None),
            NextStep::Transmission(terms) => return Ok(Some(terms)),
            NextStep::StartTls => {
                let certificates = server.tls.as_ref().ok_or_else(lost)?;
                link.encrypt(certificates)?;
                negotiation.encrypted();
            }
        }
    }
    Ok(None)
}

fn skip(from: &mut impl Read, bytes: u64) -> io::Result<()> {
    let skipped = io::copy(&mut from.take(bytes), &mut io::sink())?;
    if skipped == bytes {
        Ok(())
    } else {
        Err(ErrorKind::UnexpectedEof.into())
    }
}

/// How the requests of a client ended.
enum Ended {
    /// It said so: what it asked before is answered.
    Disconnected,
    /// It went without a word.
    Gone,
}

/// The requests of one client.
struct Requests<'a> {
    reader: BufReader<ClientLink>,
    connection: &'a Arc<Connection>,
    allowance: Arc<Allowance>,
    export: &'a ExportInfo,
    terms: SessionTerms,
    device: &'a Sender<Message>,
}

impl Requests<'_> {
    fn run(&mut self) -> io::Result<Ended> {
        while self.wait_for_request()? {
            let mut header = [0; REQUEST_HEADER_BYTES];
            self.read_in_time(&mut header)?;
            let request =
                NbdRequest::parse(&header).map_err(|_| io::Error::from(ErrorKind::InvalidData))?;
            let checked = request.check(self.export, &self.terms);
            let served = match checked {
                Ok(NbdCommand::Disconnect) => return Ok(Ended::Disconnected),
                Ok(_) => self.take(&request)?,
                Err(error) => self.refuse(&request, error)?,
            };
            if served.is_none() {
                return Ok(Ended::Gone);
            }
        }
        Ok(Ended::Gone)
    }

    /// Waits as long as it takes for the first byte of a request. False at the end of the stream.
    fn wait_for_request(&mut self) -> io::Result<bool> {
        loop {
            match self.reader.fill_buf() {
                Ok(bytes) => return Ok(!bytes.is_empty()),
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Fills `out`. A client that sends byte by byte has no more time than one that pauses.
    fn read_in_time(&mut self, out: &mut [u8]) -> io::Result<()> {
        let begun = Instant::now();
        let mut filled = 0;
        while filled < out.len() {
            if begun.elapsed() > PIECE_TIME {
                return Err(ErrorKind::TimedOut.into());
            }
            match self.reader.read(&mut out[filled..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => filled += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Memory for a piece that moves `bytes` to or from the client; `None` if that has gone meanwhile.
    fn permit(&self, bytes: u64) -> Option<Permit> {
        let over = || self.connection.has_left();
        self.allowance.take(bytes + REQUEST_BYTES, over)
    }

    /// Gives the device a request in pieces, each when its data have come.
    fn take(&mut self, request: &NbdRequest) -> io::Result<Option<()>> {
        let page = u64::from(self.export.blocks.preferred);
        let count = pieces(request, page).count() as u32;
        if count > 1 && request.command == Ok(NbdCommand::Read) {
            // Its data leave in their order, and replies behind them wait. No earlier request may hold the memory
            // that later pieces need.
            let over = || self.connection.has_left();
            if self.allowance.wait_idle(over).is_none() {
                return Ok(None);
            }
        }
        let joint = (count > 1).then(|| Joint::new(self.connection, request, count));
        for (number, piece) in pieces(request, page).enumerate() {
            let moves = matches!(request.command, Ok(NbdCommand::Read | NbdCommand::Write));
            let moved = if moves { u64::from(piece.length) } else { 0 };
            let Some(permit) = self.permit(moved) else {
                return Ok(None);
            };
            let mut data = vec![0; piece.payload() as usize];
            self.read_in_time(&mut data)?;
            let to = match &joint {
                None => ReplyTo::whole(self.connection, request.cookie, permit),
                Some(joint) => ReplyTo::piece(self.connection, joint, number as u32, permit),
            };
            let task = Message::Task(Task {
                to,
                request: piece,
                data,
            });
            if let Err(SendError(Message::Task(task))) = self.device.send(task) {
                task.to.answer(NbdOutcome::Failed(errno::ESHUTDOWN), None);
            }
        }
        Ok(Some(()))
    }

    fn refuse(&mut self, request: &NbdRequest, error: u32) -> io::Result<Option<()>> {
        let Some(permit) = self.permit(0) else {
            return Ok(None);
        };
        skip(&mut self.reader, u64::from(request.payload()))?;
        let to = ReplyTo::whole(self.connection, request.cookie, permit);
        to.answer(NbdOutcome::Failed(error), None);
        Ok(Some(()))
    }
}
