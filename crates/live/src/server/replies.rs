//! The replies of one connection: a thread writes them in the order in which they are answered.

use super::budget::Permit;
use super::export::ExportShared;
use super::link::ClientLink;
use crate::protocol::transmission::{NbdOutcome, data_head, encode_head};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// Replies that a client does not take for so long end the connection, as do 1 MiB of them that take longer.
pub(super) const REPLY_TIME: Duration = Duration::from_secs(60);
/// Replies that leave together; longer data leave by themselves.
const REPLIES_BYTES: usize = 64 << 10;

/// An answer on its way to the client.
pub(crate) struct Reply {
    pub cookie: u64,
    pub body: ReplyBody,
    /// When it is to leave; at once if that is not said.
    pub due: Option<Instant>,
    pub permit: Permit,
}

/// The content of a reply.
pub(crate) enum ReplyBody {
    /// All of it.
    Whole(NbdOutcome),
    /// The first of the `bytes` that were read from `offset` on.
    First {
        offset: u64,
        bytes: u64,
        data: Vec<u8>,
    },
    /// The next bytes of the reply that has begun.
    Next(Vec<u8>),
}

/// Replies that leave together.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// When each was to leave, and the memory that it takes.
    sent: Vec<(Option<Instant>, Permit)>,
    /// More bytes of the reply that has begun are to come.
    to_come: u64,
    /// Replies that wait for them.
    behind: VecDeque<Reply>,
}

impl Batch {
    /// Appends a reply; the data of a READ that leave by themselves are given back.
    fn add(&mut self, reply: Reply, structured: bool) -> Vec<u8> {
        let cookie = reply.cookie;
        let data = match reply.body {
            ReplyBody::Whole(outcome) => {
                encode_head(&mut self.bytes, structured, cookie, &outcome);
                match outcome {
                    NbdOutcome::Data(_, data) => data,
                    _ => Vec::new(),
                }
            }
            ReplyBody::First {
                offset,
                bytes,
                data,
            } => {
                data_head(&mut self.bytes, structured, cookie, offset, bytes);
                self.to_come = bytes - data.len() as u64;
                data
            }
            ReplyBody::Next(data) => {
                self.to_come = self.to_come.saturating_sub(data.len() as u64);
                data
            }
        };
        self.sent.push((reply.due, reply.permit));
        if data.len() >= REPLIES_BYTES {
            return data;
        }
        self.bytes.extend(data);
        Vec::new()
    }

    /// The next reply: one that waited, or that `more` gives.
    fn next(&mut self, mut more: impl FnMut() -> Option<Reply>) -> Option<Reply> {
        if self.to_come == 0
            && let Some(waited) = self.behind.pop_front()
        {
            return Some(waited);
        }
        loop {
            let reply = more()?;
            if self.to_come == 0 || matches!(reply.body, ReplyBody::Next(_)) {
                return Some(reply);
            }
            self.behind.push_back(reply);
        }
    }
}

/// Sends what is answered until nobody is left who could answer.
pub(super) fn write_replies(
    mut link: ClientLink,
    replies: &Receiver<Reply>,
    structured: bool,
    shared: &ExportShared,
    failed: &dyn Fn(),
) {
    let mut batch = Batch::default();
    let mut alive = true;
    while let Some(first) = batch.next(|| replies.recv().ok()) {
        let mut data = batch.add(first, structured);
        while data.is_empty()
            && batch.bytes.len() < REPLIES_BYTES
            && let Some(reply) = batch.next(|| replies.try_recv().ok())
        {
            data = batch.add(reply, structured);
        }
        if alive {
            let begun = Instant::now();
            let written = write_in_time(&mut link, &batch.bytes, begun)
                .and_then(|()| write_in_time(&mut link, &data, begun));
            if written.is_err() {
                // Replies to come are dropped, so that their bytes are free again.
                failed();
                alive = false;
            }
        }
        if alive {
            let now = Instant::now();
            let mut lateness = shared.lateness();
            for due in batch.sent.iter().filter_map(|(due, _)| *due) {
                lateness.add(now.saturating_duration_since(due));
            }
        }
        batch.sent.clear();
        batch.bytes.clear();
        batch.bytes.shrink_to(REPLIES_BYTES);
    }
    link.socket.shutdown();
}

/// Writes all of `data`, unless that takes too long.
fn write_in_time(link: &mut ClientLink, mut data: &[u8], begun: Instant) -> io::Result<()> {
    while !data.is_empty() {
        if begun.elapsed() > REPLY_TIME {
            return Err(ErrorKind::TimedOut.into());
        }
        match link.write(data) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => data = &data[n..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
