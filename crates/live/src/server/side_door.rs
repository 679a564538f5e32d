//! A place beside those of NBD at which few connections are served, each by a thread: control, figures.

use super::hall::{Guests, Hall};
use super::place::{ListenAt, Listener, Rights};
use std::io;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

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
        let hall = Hall::of(guests);
        let for_thread = Arc::clone(&hall);
        let accepting = std::thread::Builder::new().name("side door".to_owned());
        let accepting = accepting.spawn(move || for_thread.accept(&listener))?;
        let close = move || {
            hall.close();
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
