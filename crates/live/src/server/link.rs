//! One connection as a stream of plain bytes, encrypted or not.

use super::hall::ClientId;
use super::tls::{ServerTls, TlsLink};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A socket.
#[derive(Debug)]
pub enum Socket {
    /// On this machine.
    Unix(UnixStream),
    /// Of a network.
    Tcp(TcpStream),
}

impl Socket {
    /// Reads and writes that take longer fail.
    ///
    /// # Errors
    /// The socket is none any more, or a time is 0.
    pub fn set_timeouts(&self, read: Duration, write: Duration) -> io::Result<()> {
        match self {
            Socket::Unix(s) => {
                s.set_read_timeout(Some(read))?;
                s.set_write_timeout(Some(write))
            }
            Socket::Tcp(s) => {
                s.set_nodelay(true)?;
                rustix::net::sockopt::set_socket_keepalive(s, true)?;
                s.set_read_timeout(Some(read))?;
                s.set_write_timeout(Some(write))
            }
        }
    }

    /// The client at the other end.
    pub(super) fn client(&self) -> ClientId {
        let process = |s| rustix::net::sockopt::socket_peercred(s).ok();
        let id = match self {
            Socket::Unix(s) => process(s).map(|c| ClientId::Process(c.pid.as_raw_nonzero().get())),
            Socket::Tcp(s) => s
                .peer_addr()
                .ok()
                .map(|a| ClientId::Address(a.ip().to_canonical())),
        };
        id.unwrap_or(ClientId::Unknown)
    }

    /// Has the other end closed both directions? Bytes that were not read do not hide it.
    pub(super) fn is_gone(&self) -> bool {
        let hung_up = PollFlags::HUP | PollFlags::ERR;
        let mut wanted = match self {
            Socket::Unix(s) => [PollFd::new(s, PollFlags::empty())],
            Socket::Tcp(s) => [PollFd::new(s, PollFlags::empty())],
        };
        let polled = poll(&mut wanted, Some(&Timespec::default()));
        polled.is_ok() && wanted[0].revents().intersects(hung_up)
    }

    /// Nothing comes in or goes out any more.
    pub fn shutdown(&self) {
        self.close(Shutdown::Both);
    }

    /// Nothing comes in any more.
    pub fn stop_reading(&self) {
        self.close(Shutdown::Read);
    }

    fn close(&self, sides: Shutdown) {
        // It may be closed already.
        let _ = match self {
            Socket::Unix(s) => s.shutdown(sides),
            Socket::Tcp(s) => s.shutdown(sides),
        };
    }
}

impl Read for &Socket {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(s) => (&mut &*s).read(out),
            Socket::Tcp(s) => (&mut &*s).read(out),
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(s) => (&mut &*s).write(data),
            Socket::Tcp(s) => (&mut &*s).write(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket that reads and writes until an instant only.
struct Until<'a> {
    socket: &'a Socket,
    end: Instant,
}

impl Until<'_> {
    fn left(&self) -> io::Result<Duration> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            Err(ErrorKind::TimedOut.into())
        } else {
            Ok(left)
        }
    }
}

impl Read for Until<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = self.left()?;
        self.socket.set_timeouts(left, left)?;
        (&mut &*self.socket).read(out)
    }
}

impl Write for Until<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let left = self.left()?;
        self.socket.set_timeouts(left, left)?;
        (&mut &*self.socket).write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connection: one thread reads, one writes.
#[derive(Clone)]
pub struct ClientLink {
    pub socket: Arc<Socket>,
    tls: Option<Arc<TlsLink>>,
    /// Until then the client may read and write; for ever, if that is not said.
    end: Option<Instant>,
}

impl ClientLink {
    pub fn new(socket: Arc<Socket>) -> ClientLink {
        ClientLink {
            socket,
            tls: None,
            end: None,
        }
    }

    /// Reads and writes fail after `end`, however steadily bytes come.
    pub fn set_end(&mut self, end: Option<Instant>) {
        self.end = end;
    }

    /// Goes on encrypted, after the handshake.
    pub fn encrypt(&mut self, certificates: &ServerTls) -> io::Result<()> {
        let tls = TlsLink::new(certificates)?;
        match self.until() {
            Some(mut until) => tls.handshake(&mut until)?,
            None => tls.handshake(&mut &*self.socket)?,
        }
        self.tls = Some(Arc::new(tls));
        Ok(())
    }

    fn until(&self) -> Option<Until<'_>> {
        let socket = &*self.socket;
        self.end.map(|end| Until { socket, end })
    }
}

impl Read for ClientLink {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match (&self.tls, self.until()) {
            (None, None) => (&*self.socket).read(out),
            (None, Some(mut until)) => until.read(out),
            (Some(tls), None) => tls.read(&mut &*self.socket, out),
            (Some(tls), Some(mut until)) => tls.read(&mut until, out),
        }
    }
}

impl Write for ClientLink {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match (&self.tls, self.until()) {
            (None, None) => (&*self.socket).write(data),
            (None, Some(mut until)) => until.write(data),
            (Some(tls), None) => tls.write(&mut &*self.socket, data),
            (Some(tls), Some(mut until)) => tls.write(&mut until, data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
