//! Long requests in pieces, so that no request holds much memory or much of the device at once.
//!
//! The device is given pieces of at most 1 MiB, as a host splits requests at the longest transfer of an SSD. Pieces
//! end at multiples of their size, which is a multiple of the page: none divides a page.

use super::budget::Permit;
use super::connection::Connection;
use super::replies::{Reply, ReplyBody};
use crate::protocol::errno;
use crate::protocol::transmission::{NbdCommand, NbdOutcome, NbdRequest};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The longest piece that moves data, to or from the client or on the device.
pub(crate) const PIECE_BYTES: u64 = 1 << 20;
/// The longest piece of a TRIM, or of zeros that may be holes: it moves nothing, but its pages are gone through.
const HOLE_BYTES: u64 = HOLE_SHARE * PIECE_BYTES;
/// So many bytes of a hole take about as long as one that moves.
pub(super) const HOLE_SHARE: u64 = 16;

/// The pieces of `request` to a device of pages of `page` bytes, in order; at least one.
pub(crate) fn pieces(request: &NbdRequest, page: u64) -> impl Iterator<Item = NbdRequest> {
    let most = match request.command {
        Ok(NbdCommand::Flush | NbdCommand::BlockStatus) => u64::MAX,
        Ok(NbdCommand::Trim) => HOLE_BYTES,
        Ok(NbdCommand::WriteZeroes) if !request.no_hole() => HOLE_BYTES,
        _ => PIECE_BYTES,
    };
    let size = (most / page).max(1).saturating_mul(page);
    let (whole, end) = (*request, request.offset + u64::from(request.length));
    let mut next = Some(request.offset);
    std::iter::from_fn(move || {
        let start = next?;
        let cut = (start / size)
            .saturating_add(1)
            .saturating_mul(size)
            .min(end);
        next = (cut < end).then_some(cut);
        Some(whole.part(start, (cut - start) as u32))
    })
}

/// Answers of the pieces of one request, which become its reply.
pub(crate) struct Joint {
    connection: Arc<Connection>,
    cookie: u64,
    request: NbdRequest,
    state: Mutex<JointState>,
}

struct JointState {
    /// Pieces that are not answered.
    left: u32,
    /// The first error of a request that is not answered with data.
    error: Option<u32>,
    /// Pieces of data that wait for those in front of them.
    ready: BTreeMap<u32, Piece>,
    /// The piece whose data are next; `None` when nothing more is sent.
    next: Option<u32>,
}

struct Piece {
    outcome: NbdOutcome,
    due: Option<Instant>,
    permit: Permit,
}

impl Joint {
    /// Of `request`, which has `count` pieces.
    pub fn new(connection: &Arc<Connection>, request: &NbdRequest, count: u32) -> Arc<Joint> {
        Arc::new(Joint {
            connection: Arc::clone(connection),
            cookie: request.cookie,
            request: *request,
            state: Mutex::new(JointState {
                left: count,
                error: None,
                ready: BTreeMap::new(),
                next: Some(0),
            }),
        })
    }

    /// Piece `number` is answered.
    pub fn answer(&self, number: u32, outcome: NbdOutcome, due: Option<Instant>, permit: Permit) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.left -= 1;
        let piece = Piece {
            outcome,
            due,
            permit,
        };
        if self.request.command == Ok(NbdCommand::Read) {
            state.ready.insert(number, piece);
            return self.send_data(&mut state);
        }
        if let NbdOutcome::Failed(error) = piece.outcome {
            state.error.get_or_insert(error);
        }
        if state.left == 0 {
            let outcome = state.error.map_or(NbdOutcome::Done, NbdOutcome::Failed);
            self.send(ReplyBody::Whole(outcome), piece.due, piece.permit);
        }
    }

    /// Sends the data that have come, in their order. The length stands in front of the first piece: a
    /// piece behind it that fails can only end the connection.
    fn send_data(&self, state: &mut JointState) {
        while let Some(number) = state.next
            && let Some(piece) = state.ready.remove(&number)
        {
            state.next = Some(number + 1);
            let body = match piece.outcome {
                NbdOutcome::Data(_, data) if number == 0 => ReplyBody::First {
                    offset: self.request.offset,
                    bytes: u64::from(self.request.length),
                    data,
                },
                NbdOutcome::Data(_, data) => ReplyBody::Next(data),
                other => {
                    state.next = None;
                    if number > 0 {
                        return self.connection.shutdown();
                    }
                    ReplyBody::Whole(match other {
                        NbdOutcome::Failed(error) => NbdOutcome::Failed(error),
                        _ => NbdOutcome::Failed(errno::EIO),
                    })
                }
            };
            self.send(body, piece.due, piece.permit);
        }
        if state.next.is_none() {
            state.ready.clear();
        }
    }

    fn send(&self, body: ReplyBody, due: Option<Instant>, permit: Permit) {
        self.connection.reply(Reply {
            cookie: self.cookie,
            body,
            due,
            permit,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_a_request_and_divide_no_page() {
        let cut = |command, offset, length, page| {
            let request = NbdRequest::of(command, offset, length);
            let pieces = pieces(&request, page);
            pieces.map(|p| (p.offset, p.length)).collect::<Vec<_>>()
        };
        use NbdCommand::{Flush, Read, Trim, WriteZeroes};
        assert_eq!(cut(Read, 512, 0, 4096), [(512, 0)]);
        assert_eq!(cut(Flush, 0, 0, 4096), [(0, 0)]);
        assert_eq!(cut(Read, 0, 1 << 20, 4096), [(0, 1 << 20)]);
        let mib = 1 << 20;
        let last = [(mib - 512, 512), (mib, 1 << 20), (2 * mib, 1024)];
        assert_eq!(cut(Read, mib - 512, (1 << 20) + 1536, 4096), last);
        assert_eq!(cut(Trim, 0, 16 << 20, 4096), [(0, 16 << 20)]);
        assert_eq!(cut(WriteZeroes, 0, 17 << 20, 4096).len(), 2);
        // Pages of 12 KiB: 1 MiB has 85 of them and a part.
        let odd = cut(Read, 0, 2 << 20, 12 << 10);
        assert_eq!(odd[0], (0, 85 * (12 << 10)));
        assert_eq!(odd.iter().map(|p| u64::from(p.1)).sum::<u64>(), 2 << 20);
        let most = cut(Trim, 0, u32::MAX - 511, 4096);
        assert_eq!(
            most.iter().map(|p| u64::from(p.1)).sum::<u64>(),
            u64::from(u32::MAX - 511)
        );
    }
}
