//! Where a server listens.

use super::link::Socket;
use rustix::fs::{Mode, fchmod};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAt {
    /// A Unix socket at this path.
    Unix(PathBuf),
    /// An address and a port; 0 takes any that is free.
    Tcp(SocketAddr),
}

impl fmt::Display for ListenAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenAt::Unix(path) => write!(f, "nbd+unix:///?socket={}", path.display()),
            ListenAt::Tcp(address) => write!(f, "nbd://{address}"),
        }
    }
}

impl ListenAt {
    /// Ends the thread that accepts there, which finds that it is over when it wakes.
    pub(super) fn close(&self, accepting: JoinHandle<()>) {
        let woken = match self {
            ListenAt::Unix(path) => UnixStream::connect(path).is_ok(),
            ListenAt::Tcp(address) => TcpStream::connect(address).is_ok(),
        };
        if woken {
            let _ = accepting.join();
        }
        if let ListenAt::Unix(path) = self {
            // Somebody may have removed it.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Who may connect to a Unix socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rights {
    /// As the mask of the process says.
    Usual,
    /// Its owner alone.
    Owner,
}

pub(super) enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    pub fn bind(at: &ListenAt, rights: Rights) -> io::Result<(Listener, ListenAt)> {
        match at {
            ListenAt::Unix(path) => {
                remove_stale(path)?;
                Ok((Listener::Unix(bind_unix(path, rights)?), at.clone()))
            }
            ListenAt::Tcp(address) => {
                let listener = TcpListener::bind(address)?;
                let at = ListenAt::Tcp(listener.local_addr()?);
                Ok((Listener::Tcp(listener), at))
            }
        }
    }

    pub fn accept(&self) -> io::Result<Socket> {
        match self {
            Listener::Unix(listener) => Ok(Socket::Unix(listener.accept()?.0)),
            Listener::Tcp(listener) => Ok(Socket::Tcp(listener.accept()?.0)),
        }
    }
}

fn bind_unix(path: &Path, rights: Rights) -> io::Result<UnixListener> {
    if rights == Rights::Usual {
        return UnixListener::bind(path);
    }
    let (unix, stream) = (AddressFamily::UNIX, SocketType::STREAM);
    let socket = rustix::net::socket_with(unix, stream, SocketFlags::CLOEXEC, None)?;
    // Linux makes the file with the mode of the socket, so nobody else can ever connect.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(UnixListener::from(socket))
}

/// Removes a socket at which nobody listens: that of a server that was killed.
fn remove_stale(path: &Path) -> io::Result<()> {
    let is_socket = path
        .symlink_metadata()
        .is_ok_and(|m| m.file_type().is_socket());
    if is_socket && UnixStream::connect(path).is_err() {
        std::fs::remove_file(path)?;
    }
    Ok(())
}
