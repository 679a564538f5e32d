//! One connection as a stream of plain bytes, encrypted or not.

use super::tls::TlsLink;
use rustls::ServerConfig;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

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

/// A connection: one thread reads, one writes.
#[derive(Clone)]
pub struct ClientLink {
    pub socket: Arc<Socket>,
    tls: Option<Arc<TlsLink>>,
}

impl ClientLink {
    pub fn new(socket: Arc<Socket>) -> ClientLink {
        ClientLink { socket, tls: None }
    }

    /// Goes on encrypted, after the handshake.
    pub fn encrypt(&mut self, config: &Arc<ServerConfig>) -> io::Result<()> {
        let tls = TlsLink::new(Arc::clone(config))?;
        tls.handshake(&self.socket)?;
        self.tls = Some(Arc::new(tls));
        Ok(())
    }
}

impl Read for ClientLink {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match &self.tls {
            None => (&*self.socket).read(out),
            Some(tls) => tls.read(&self.socket, out),
        }
    }
}

impl Write for ClientLink {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match &self.tls {
            None => (&*self.socket).write(data),
            Some(tls) => tls.write(&self.socket, data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
