//! A place beside those of NBD at which few connections are served, each by a thread: control, figures.

use super::hall::{Guests, Hall};
use super::place::{ListenAt, OpenPlace, Rights};
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A place where [`Guests`] come in. It closes when this is dropped, once what was asked is answered.
pub struct SideDoor {
    place: Option<OpenPlace>,
    at: ListenAt,
    close: Box<dyn Fn() + Send + Sync>,
    finish: Box<dyn Fn() + Send + Sync>,
}

impl SideDoor {
    /// Listens at `at`; a Unix socket is its owner's alone.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn open<G: Guests>(at: &ListenAt, guests: G) -> io::Result<SideDoor> {
        let hall = Hall::of(guests);
        let for_thread = Arc::clone(&hall);
        let place = OpenPlace::open(at, Rights::Owner, move |listener| {
            for_thread.accept(listener);
        })?;
        let at = place.at.clone();
        let for_close = Arc::clone(&hall);
        let finish = move || {
            let guests = std::mem::take(&mut *hall.open());
            for guest in guests.iter().filter_map(Weak::upgrade) {
                guest.socket.stop_reading();
            }
            // They find no more to read, and wait for nothing without end.
            while guests.iter().any(|guest| guest.strong_count() > 0) {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        Ok(SideDoor {
            place: Some(place),
            at,
            close: Box::new(move || for_close.close()),
            finish: Box::new(finish),
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
        drop(self.place.take());
        (self.finish)();
    }
}
