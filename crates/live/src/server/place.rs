//! Where a server listens.

use super::link::Socket;
use rustix::fs::{Mode, fchmod};
use rustix::io::Errno;
use rustix::net::{AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType};
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
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
            ListenAt::Unix(path) => write!(f, "{}", path.display()),
            ListenAt::Tcp(address) => write!(f, "{address}"),
        }
    }
}

/// A place that is listened at, and the thread that accepts there. Dropping it ends the thread, and removes the
/// Unix socket unless another server has put its own there.
pub(super) struct OpenPlace {
    /// Where, with the port that was taken.
    pub at: ListenAt,
    listener: Arc<Listener>,
    /// The file of a Unix socket.
    file: Option<FileNumber>,
    accepting: Option<JoinHandle<()>>,
}

/// Device and inode of a file.
type FileNumber = (u64, u64);

impl OpenPlace {
    /// Listens at `at`; `accept` runs in a thread until the listener fails and its owner has closed.
    pub fn open(
        at: &ListenAt,
        rights: Rights,
        accept: impl FnOnce(&Listener) + Send + 'static,
    ) -> io::Result<OpenPlace> {
        let (listener, at) = Listener::bind(at, rights)?;
        let listener = Arc::new(listener);
        let file = match &at {
            ListenAt::Unix(path) => file_number(path),
            ListenAt::Tcp(_) => None,
        };
        let mut place = OpenPlace {
            at,
            listener: Arc::clone(&listener),
            file,
            accepting: None,
        };
        let thread = std::thread::Builder::new().name("accept".to_owned());
        place.accepting = Some(thread.spawn(move || accept(&listener))?);
        Ok(place)
    }
}

impl Drop for OpenPlace {
    fn drop(&mut self) {
        // The thread waits at this descriptor, which fails from here on. The path may belong to another server.
        let _ = rustix::net::shutdown(&*self.listener, Shutdown::Both);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        if let ListenAt::Unix(path) = &self.at
            && self.file.is_some()
            && file_number(path) == self.file
        {
            // Somebody may remove it at this moment.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn file_number(path: &Path) -> Option<FileNumber> {
    let there = path.symlink_metadata().ok()?;
    Some((there.dev(), there.ino()))
}

/// Permissions of a Unix socket.
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

    /// The next connection.
    pub fn accept(&self) -> io::Result<Socket> {
        match self {
            Listener::Unix(listener) => Ok(Socket::Unix(listener.accept()?.0)),
            Listener::Tcp(listener) => Ok(Socket::Tcp(listener.accept()?.0)),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Unix(listener) => listener.as_fd(),
            Listener::Tcp(listener) => listener.as_fd(),
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
    if is_socket && is_refused(path)? {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// Does nobody listen at the socket? Never waits, even for a server whose queue of connections is full.
fn is_refused(path: &Path) -> io::Result<bool> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let connected = rustix::net::connect(&socket, &SocketAddrUnix::new(path)?);
    Ok(connected == Err(Errno::CONNREFUSED))
}
