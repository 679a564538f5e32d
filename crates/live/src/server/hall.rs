//! Connections of a place: a thread for each, and not too many at once.
//!
//! A connection is *settled* once its client has shown that it belongs here; settled connections have a number of
//! their own. Where there is no room for another beginning, the oldest one gives way, so connections that never
//! finish their beginning lock nobody out. One client has at most its share of each.

use super::link::Socket;
use super::place::Listener;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Serves the connections of a place.
pub trait Guests: Send + Sync + 'static {
    /// Name of the thread of a connection.
    const THREAD: &'static str;

    /// Connections at once that are not settled.
    fn at_once(&self) -> usize;

    /// The same of one client.
    fn of_one_client(&self) -> usize {
        self.at_once()
    }

    /// Serves one until it goes. Its thread waits for nobody else.
    fn serve(&self, guest: &Arc<OpenConnection>);

    /// There are too many already: it is closed behind this.
    fn refuse(&self, _socket: &Socket) {}
}

/// The client of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientId {
    /// An address of a network.
    Address(IpAddr),
    /// A process of this machine.
    Process(i32),
    /// The system does not say.
    Unknown,
}

/// Connections in the order in which they came; those that have gone may still be among them.
type GuestList = Mutex<Vec<Weak<OpenConnection>>>;

/// Gives way to another connection.
const BEGINS: u8 = 0;
/// Gives way to no other, for the moment.
const BUSY: u8 = 1;
/// Counts among settled connections.
const SETTLED: u8 = 2;
/// No connection gives way before it had so much time: a flood of beginnings leaves others time for theirs.
const GRACE: Duration = Duration::from_millis(250);

/// One connection.
#[derive(Debug)]
pub struct OpenConnection {
    /// Its socket.
    pub socket: Arc<Socket>,
    client: ClientId,
    came: Instant,
    state: AtomicU8,
    all: Arc<GuestList>,
}

impl OpenConnection {
    /// A busy connection does not give way to another one.
    pub fn set_busy(&self, busy: bool) {
        let state = if busy { BUSY } else { BEGINS };
        self.state.store(state, Ordering::SeqCst);
    }

    /// The connection is settled, if there are fewer than `most` such ones, and fewer than `of_one_client` of its client.
    #[must_use]
    pub fn settle(&self, most: usize, of_one_client: usize) -> bool {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let settled: Vec<_> = all.iter().filter_map(Weak::upgrade).collect();
        let settled = settled.iter().filter(|guest| guest.is(SETTLED));
        let own = settled.clone().filter(|guest| guest.client == self.client);
        let room = settled.clone().count() < most && own.count() < of_one_client;
        if room {
            self.state.store(SETTLED, Ordering::SeqCst);
        }
        room
    }

    fn is(&self, state: u8) -> bool {
        self.state.load(Ordering::SeqCst) == state
    }
}

/// State that the threads that accept and the owner of the place share.
pub(super) struct Hall<G> {
    pub guests: G,
    closed: AtomicBool,
    open: Arc<GuestList>,
}

impl<G: Guests> Hall<G> {
    pub fn of(guests: G) -> Arc<Hall<G>> {
        Arc::new(Hall {
            guests,
            closed: AtomicBool::new(false),
            open: Arc::default(),
        })
    }

    /// No connection is accepted any more.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    /// The connections; those that have gone may still be among them.
    pub fn open(&self) -> MutexGuard<'_, Vec<Weak<OpenConnection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts connections until it is closed.
    pub fn accept(self: &Arc<Hall<G>>, listener: &Listener) {
        loop {
            let socket = listener.accept();
            if self.closed.load(Ordering::SeqCst) {
                return;
            }
            let socket = match socket {
                Ok(socket) => socket,
                // The place was closed.
                Err(error) if error.kind() == ErrorKind::InvalidInput => return,
                Err(_) => {
                    // No descriptors are left, or the client has gone: neither lasts.
                    std::thread::sleep(Duration::from_millis(10));
                    continue;
                }
            };
            let guest = Arc::new(OpenConnection {
                client: socket.client(),
                socket: Arc::new(socket),
                came: Instant::now(),
                state: AtomicU8::new(BEGINS),
                all: Arc::clone(&self.open),
            });
            if !self.admit(&guest) {
                self.guests.refuse(&guest.socket);
                guest.socket.shutdown();
                continue;
            }
            let hall = Arc::clone(self);
            let thread = std::thread::Builder::new().name(G::THREAD.to_owned());
            // Without a thread the connection closes.
            let _ = thread.spawn(move || {
                hall.guests.serve(&guest);
                guest.socket.shutdown();
            });
        }
    }

    /// Makes room for a connection; false: there is none.
    fn admit(&self, guest: &Arc<OpenConnection>) -> bool {
        loop {
            let mut open = self.open();
            open.retain(|other| other.strong_count() > 0);
            let there: Vec<Arc<OpenConnection>> = open.iter().filter_map(Weak::upgrade).collect();
            let Some(weak) = self.in_the_way(&there, guest) else {
                open.push(Arc::downgrade(guest));
                return true;
            };
            let Some(oldest) = weak else { return false };
            let age = oldest.came.elapsed();
            if age >= GRACE {
                oldest.socket.shutdown();
                open.retain(|other| !std::ptr::eq(other.as_ptr(), Arc::as_ptr(oldest)));
                open.push(Arc::downgrade(guest));
                return true;
            }
            drop(open);
            std::thread::sleep((GRACE - age).min(Duration::from_millis(10)));
        }
    }

    /// The connection that gives way to `guest`: `None` if there is room, `Some(None)` if none does.
    fn in_the_way<'a>(
        &self,
        there: &'a [Arc<OpenConnection>],
        guest: &OpenConnection,
    ) -> Option<Option<&'a Arc<OpenConnection>>> {
        let begun = || there.iter().filter(|other| !other.is(SETTLED));
        let is_own = |other: &&Arc<OpenConnection>| other.client == guest.client;
        let over_share = begun().filter(is_own).count() >= self.guests.of_one_client();
        if !over_share && begun().count() < self.guests.at_once() {
            return None;
        }
        let mut weak = begun().filter(|other| other.is(BEGINS));
        Some(if over_share {
            weak.find(is_own)
        } else {
            weak.next()
        })
    }
}
