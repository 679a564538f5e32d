//! One client: its negotiation, its requests, its replies.

use super::budget::{ByteBudget, Permit};
use super::export::{ExportShared, Message, ReplyTo, Task};
use super::link::ClientLink;
use crate::protocol::MAX_REQUEST_BYTES;
use crate::protocol::errno;
use crate::protocol::negotiation::{
    ExportInfo, MAX_OPTION_BYTES, Negotiation, NextStep, OPTION_HEADER_BYTES, SessionTerms,
    TlsPolicy, greeting, option_header,
};
use crate::protocol::transmission::{
    NbdCommand, NbdOutcome, NbdRequest, REQUEST_HEADER_BYTES, encode,
};
use rustls::ServerConfig;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SendError, Sender};
use std::time::{Duration, Instant};

/// A negotiation that pauses longer ends.
const NEGOTIATION_PAUSE: Duration = Duration::from_secs(10);
/// A request that pauses longer between two of its bytes, or replies that nobody takes for so long, end
/// the connection.
const REQUEST_PAUSE: Duration = Duration::from_secs(60);
/// Options of one negotiation.
const MAX_OPTIONS: usize = 1000;
/// Bytes on their way for one connection: two of the longest requests.
const CONNECTION_BYTES: u64 = 2 * MAX_REQUEST_BYTES as u64 + (1 << 20);
/// What a request takes beside its data, at most: the runs of a BLOCK_STATUS.
const REQUEST_BYTES: u64 = 10 << 10;
/// Replies that leave together.
const REPLIES_BYTES: usize = 512 << 10;

/// An answer on its way to the client.
pub(crate) struct Reply {
    pub cookie: u64,
    pub outcome: NbdOutcome,
    /// When it is to leave; at once if that is not said.
    pub due: Option<Instant>,
    pub permit: Permit,
}

/// The transmission phase of one client.
pub(crate) struct Connection {
    link: ClientLink,
    replies: Sender<Reply>,
    /// Power cuts of the export before it began.
    pub epoch: u64,
}

impl Connection {
    pub fn reply(&self, reply: Reply) {
        // A writer that has ended needs no replies.
        let _ = self.replies.send(reply);
    }

    pub fn shutdown(&self) {
        self.link.socket.shutdown();
    }

    pub fn stop_reading(&self) {
        self.link.socket.stop_reading();
    }
}

/// What connections need of the server.
pub(crate) struct ServerShared {
    pub infos: Vec<ExportInfo>,
    pub exports: Vec<(Sender<Message>, Arc<ExportShared>)>,
    pub tls: Option<Arc<ServerConfig>>,
    pub budget: Arc<ByteBudget>,
}

/// Serves one client until it goes.
///
/// # Errors
/// It broke off, or what it sent was no NBD.
pub(crate) fn serve(mut link: ClientLink, server: &ServerShared) -> io::Result<()> {
    link.socket.set_timeouts(NEGOTIATION_PAUSE, REQUEST_PAUSE)?;
    let Some(terms) = negotiate(&mut link, server)? else {
        return Ok(());
    };
    link.socket.set_timeouts(REQUEST_PAUSE, REQUEST_PAUSE)?;
    let (sender, shared) = &server.exports[terms.export];
    let (replies, receiver) = mpsc::channel();
    let connection = {
        let mut connections = shared.connections();
        let connection = Arc::new(Connection {
            link: link.clone(),
            replies,
            epoch: connections.epoch,
        });
        connections.add(&connection);
        connection
    };
    let (writer_link, writer_shared) = (link.clone(), Arc::clone(shared));
    let writer = std::thread::Builder::new().name("replies".to_owned());
    let writer = writer.spawn(move || {
        write_replies(writer_link, &receiver, terms.structured, &writer_shared);
    })?;
    let done = requests(link, &connection, server, &terms, sender);
    if done.is_err() {
        connection.shutdown();
    }
    // The writer ends when the last answer has left.
    drop(connection);
    let _ = writer.join();
    done
}

fn negotiate(link: &mut ClientLink, server: &ServerShared) -> io::Result<Option<SessionTerms>> {
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
        link.write_all(&out)?;
        match next {
            NextStep::Option => {}
            NextStep::Close => return Ok(None),
            NextStep::Transmission(terms) => return Ok(Some(terms)),
            NextStep::StartTls => {
                let config = server.tls.as_ref().ok_or_else(lost)?;
                link.encrypt(config)?;
                negotiation.encrypted();
            }
        }
    }
    Ok(None)
}

fn skip(from: &mut impl Read, bytes: u64) -> io::Result<()> {
    let skipped = io::copy(&mut from.take(bytes), &mut io::sink())?;
    match skipped == bytes {
        true => Ok(()),
        false => Err(ErrorKind::UnexpectedEof.into()),
    }
}

/// Waits as long as it takes for the first byte of a request. False at the end of the stream.
fn next_request(reader: &mut BufReader<ClientLink>) -> io::Result<bool> {
    loop {
        match reader.fill_buf() {
            Ok(bytes) => return Ok(!bytes.is_empty()),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

fn requests(
    link: ClientLink,
    connection: &Arc<Connection>,
    server: &ServerShared,
    terms: &SessionTerms,
    device: &Sender<Message>,
) -> io::Result<()> {
    let export = &server.infos[terms.export];
    let own = ByteBudget::new(CONNECTION_BYTES);
    let mut reader = BufReader::with_capacity(64 << 10, link);
    while next_request(&mut reader)? {
        let mut header = [0; REQUEST_HEADER_BYTES];
        reader.read_exact(&mut header)?;
        let request =
            NbdRequest::parse(&header).map_err(|_| io::Error::from(ErrorKind::InvalidData))?;
        let checked = request.check(export, terms);
        if checked == Ok(NbdCommand::Disconnect) {
            return Ok(());
        }
        let moved = match checked {
            Ok(NbdCommand::Read | NbdCommand::Write) => u64::from(request.length),
            _ => 0,
        };
        let bytes = moved + REQUEST_BYTES;
        let permit = Permit::both(own.take(bytes), server.budget.take(bytes));
        let mut data = Vec::new();
        match checked {
            Ok(_) => {
                data = vec![0; request.payload() as usize];
                reader.read_exact(&mut data)?;
            }
            Err(_) => skip(&mut reader, u64::from(request.payload()))?,
        }
        let to = ReplyTo {
            connection: Arc::clone(connection),
            cookie: request.cookie,
            permit,
        };
        match checked {
            Ok(_) => {
                let task = Message::Task(Task { to, request, data });
                if let Err(SendError(Message::Task(task))) = device.send(task) {
                    let gone = NbdOutcome::Failed(errno::ESHUTDOWN);
                    task.to.answer(gone, None);
                }
            }
            Err(error) => to.answer(NbdOutcome::Failed(error), None),
        }
    }
    Ok(())
}

/// Sends what is answered until nobody is left who could answer.
fn write_replies(
    mut link: ClientLink,
    replies: &Receiver<Reply>,
    structured: bool,
    shared: &ExportShared,
) {
    let (mut out, mut sent) = (Vec::new(), Vec::new());
    let mut alive = true;
    while let Ok(first) = replies.recv() {
        let mut next = Some(first);
        while let Some(reply) = next {
            encode(&mut out, structured, reply.cookie, &reply.outcome);
            sent.push((reply.due, reply.permit));
            next = match out.len() < REPLIES_BYTES {
                true => replies.try_recv().ok(),
                false => None,
            };
        }
        if alive && link.write_all(&out).is_err() {
            // The reader sees the end; replies to come are dropped, so that their bytes are free again.
            link.socket.shutdown();
            alive = false;
        }
        if alive {
            let now = Instant::now();
            let mut lateness = shared.lateness();
            for due in sent.iter().filter_map(|(due, _)| *due) {
                lateness.add(now.saturating_duration_since(due));
            }
        }
        sent.clear();
        out.clear();
        out.shrink_to(REPLIES_BYTES);
    }
    link.socket.shutdown();
}
