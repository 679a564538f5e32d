//! The socket at which a server takes orders. No input keeps exports from their work: a connection
//! has a thread of its own, few bytes and little time.

use super::request::{ControlReply, ControlRequest, reply_line};
use crate::server::{Guests, ListenAt, OpenConnection, SideDoor, Socket};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of a line, at most.
pub const MAX_LINE_BYTES: usize = 64 << 10;
/// Connections at once.
const CONNECTIONS: usize = 16;
/// A connection that says nothing for so long is closed.
const IDLE: Duration = Duration::from_secs(60);
/// Time from the first byte of a line to its end, and for a reply to be taken.
const PATIENCE: Duration = Duration::from_secs(10);

/// Does what a line asks.
type Handler = Box<dyn Fn(ControlRequest) -> ControlReply + Send + Sync>;

/// A control socket, open until this is dropped.
pub struct ControlSocket {
    _door: SideDoor,
}

impl ControlSocket {
    /// Listens at `path`, for the owner of the process alone. `handler` does what is asked, in threads of
    /// the connections.
    ///
    /// # Errors
    /// The socket cannot be made.
    pub fn open(
        path: &Path,
        handler: impl Fn(ControlRequest) -> ControlReply + Send + Sync + 'static,
    ) -> io::Result<ControlSocket> {
        let control = Control {
            handler: Box::new(handler),
        };
        let door = SideDoor::open(&ListenAt::Unix(path.to_owned()), control)?;
        Ok(ControlSocket { _door: door })
    }
}

struct Control {
    handler: Handler,
}

impl Guests for Control {
    const THREAD: &'static str = "guest";

    fn at_once(&self) -> usize {
        CONNECTIONS
    }

    fn serve(&self, guest: &Arc<OpenConnection>) {
        // A client that breaks off harms only itself.
        let _ = self.lines(guest);
    }

    fn refuse(&self, mut socket: &Socket) {
        let full = Err(format!(
            "{CONNECTIONS} control connections are open already"
        ));
        // A reply of this length fits into the buffer of the socket.
        let _ = writeln!(socket, "{}", reply_line(full));
    }
}

impl Control {
    fn lines(&self, guest: &OpenConnection) -> io::Result<()> {
        let mut socket = &*guest.socket;
        let mut lines = Lines::default();
        while let Some(line) = lines.next(socket)? {
            // A connection whose order is carried out does not give way to another one.
            guest.set_busy(true);
            let reply = match line {
                Ok(line) => ControlRequest::parse(&line).and_then(&self.handler),
                Err(TooLong) => Err(format!("a line has at most {MAX_LINE_BYTES} bytes")),
            };
            let line = reply_line(reply) + "\n";
            socket.write_all(line.as_bytes())?;
            guest.set_busy(false);
        }
        Ok(())
    }
}

/// A line that is longer than may be.
struct TooLong;

/// Lines of a connection.
#[derive(Default)]
struct Lines {
    /// Bytes behind the last line.
    bytes: Vec<u8>,
    /// A line was too long: nothing more is read.
    over: bool,
}

impl Lines {
    /// The next line without its end; `None` at the end of the stream.
    fn next(&mut self, mut socket: &Socket) -> io::Result<Option<Result<Vec<u8>, TooLong>>> {
        socket.set_timeouts(IDLE, PATIENCE)?;
        let mut begun: Option<Instant> = None;
        let mut searched = 0;
        loop {
            if self.over {
                return Ok(None);
            }
            if let Some(end) = self.bytes[searched..].iter().position(|&b| b == b'\n') {
                let behind = self.bytes.split_off(searched + end + 1);
                let mut line = std::mem::replace(&mut self.bytes, behind);
                line.pop();
                return Ok(Some(Ok(line)));
            }
            searched = self.bytes.len();
            if searched > MAX_LINE_BYTES {
                self.over = true;
                return Ok(Some(Err(TooLong)));
            }
            if searched > 0 {
                let left =
                    PATIENCE.saturating_sub(begun.get_or_insert_with(Instant::now).elapsed());
                if left.is_zero() {
                    return Err(ErrorKind::TimedOut.into());
                }
                socket.set_timeouts(left, PATIENCE)?;
            }
            let mut buffer = [0; 4096];
            match socket.read(&mut buffer) {
                Ok(0) => return Ok(None),
                Ok(n) => self.bytes.extend(&buffer[..n]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
