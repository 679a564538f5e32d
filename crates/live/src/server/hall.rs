//! Those who came in at a place: a thread for each, and not too many at once.

use super::link::Socket;
use super::place::Listener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// Serves those who come in.
pub trait Guests: Send + Sync + 'static {
    /// Connections at once.
    const AT_ONCE: usize;
    /// Name of the thread of a connection.
    const THREAD: &'static str;

    /// Serves one until it goes. Its thread waits for nobody else.
    fn serve(&self, socket: &Arc<Socket>);

    /// There are too many already: it is closed behind this.
    fn refuse(&self, _socket: &Socket) {}
}

/// What the threads that accept and the owner of the place share.
pub(super) struct Hall<G> {
    pub guests: G,
    closed: AtomicBool,
    open: Mutex<Vec<Weak<Socket>>>,
}

impl<G: Guests> Hall<G> {
    pub fn of(guests: G) -> Arc<Hall<G>> {
        Arc::new(Hall {
            guests,
            closed: AtomicBool::new(false),
            open: Mutex::default(),
        })
    }

    /// Nobody comes in any more, once who accepts wakes.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    /// The connections; those that have gone may still be among them.
    pub fn open(&self) -> MutexGuard<'_, Vec<Weak<Socket>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets in who comes, until it is closed.
    pub fn accept(self: &Arc<Hall<G>>, listener: &Listener) {
        loop {
            let socket = listener.accept();
            if self.closed.load(Ordering::SeqCst) {
                return;
            }
            let Ok(socket) = socket else {
                // No descriptors are left, or the client has gone: neither lasts.
                std::thread::sleep(Duration::from_millis(10));
                continue;
            };
            let socket = Arc::new(socket);
            let full = {
                let mut open = self.open();
                open.retain(|s| s.strong_count() > 0);
                open.push(Arc::downgrade(&socket));
                open.len() > G::AT_ONCE
            };
            if full {
                self.guests.refuse(&socket);
                socket.shutdown();
                continue;
            }
            let hall = Arc::clone(self);
            let thread = std::thread::Builder::new().name(G::THREAD.to_owned());
            // Without a thread the connection closes.
            let _ = thread.spawn(move || {
                hall.guests.serve(&socket);
                socket.shutdown();
            });
        }
    }
}
