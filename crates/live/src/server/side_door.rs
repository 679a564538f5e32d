//! A place beside those of NBD at which few connections are served, each by a thread: control, figures.

use super::link::Socket;
use super::place::{ListenAt, Listener, Rights};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

/// Serves those who come in.
pub trait Guests: Send + Sync + 'static {
    /// Connections at once.
    const AT_ONCE: usize;

    /// Serves one until it goes. Its thread waits for nobody else.
    fn serve(&self, socket: &Socket);

    /// There are too many already.
    fn refuse(&self, socket: &Socket);
}

struct Hall<G> {
    guests: G,
    closed: AtomicBool,
    open: Mutex<Vec<Weak<Socket>>>,
}

impl<G> Hall<G> {
    fn open(&self) -> MutexGuard<'_, Vec<Weak<Socket>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place where [`Guests`] come in. It closes when this is dropped, once what was asked is answered.
pub struct SideDoor {
    at: ListenAt,
    accepting: Option<JoinHandle<()>>,
    close: Box<dyn Fn() + Send + Sync>,
}

impl SideDoor {
    /// Listens at `at`; a Unix socket is its owner's alone.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn open<G: Guests>(at: &ListenAt, guests: G) -> io::Result<SideDoor> {
        let (listener, at) = Listener::bind(at, Rights::Owner)?;
        let hall = Arc::new(Hall {
            guests,
            closed: AtomicBool::new(false),
            open: Mutex::default(),
        });
        let for_thread = Arc::clone(&hall);
        let accepting = std::thread::Builder::new().name("side door".to_owned());
        let accepting = accepting.spawn(move || accept(&listener, &for_thread))?;
        let close = move || {
            hall.closed.store(true, Ordering::SeqCst);
            let guests = std::mem::take(&mut *hall.open());
            for socket in guests.iter().filter_map(Weak::upgrade) {
                socket.stop_reading();
            }
            // They find no more to read, and wait for nothing without end.
            while guests.iter().any(|socket| socket.strong_count() > 0) {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        Ok(SideDoor {
            at,
            accepting: Some(accepting),
            close: Box::new(close),
        })
    }

    /// Where it is, with the port that was taken.
    pub fn address(&self) -> &ListenAt {
        &self.at
    }
}

impl Drop for SideDoor {
    fn drop(&mut self) {
        (self.close)();
        if let Some(accepting) = self.accepting.take() {
            self.at.close(accepting);
        }
    }
}

fn accept<G: Guests>(listener: &Listener, hall: &Arc<Hall<G>>) {
    loop {
        let socket = listener.accept();
        if hall.closed.load(Ordering::SeqCst) {
            return;
        }
        let Ok(socket) = socket else {
            // No descriptors are left, or the client has gone: neither lasts.
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        let socket = Arc::new(socket);
        let full = {
            let mut open = hall.open();
            open.retain(|s| s.strong_count() > 0);
            open.push(Arc::downgrade(&socket));
            open.len() > G::AT_ONCE
        };
        if full {
            hall.guests.refuse(&socket);
            socket.shutdown();
            continue;
        }
        let for_thread = Arc::clone(hall);
        let thread = std::thread::Builder::new().name("guest".to_owned());
        // Without a thread the connection closes.
        let _ = thread.spawn(move || {
            for_thread.guests.serve(&socket);
            socket.shutdown();
        });
    }
}
