//! How simulated time goes by.

use destage_types::Nanos;
use std::time::{Duration, Instant};

/// How simulated time goes by.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// With the wall clock, so many times as fast; 1 is the speed of the device.
    Wall {
        /// Simulated time over wall clock, above 0.
        scale: f64,
    },
    /// It stands while requests arrive, and when none waits it jumps to the next event. Replies leave at
    /// once: the device is kept as busy as its clients can, and idle time does not pass.
    Unpaced,
}

/// A wall clock that started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WallClock {
    start: Instant,
    scale: f64,
}

impl WallClock {
    pub fn start(scale: f64) -> WallClock {
        let start = Instant::now();
        WallClock { start, scale }
    }

    /// The simulated time now.
    pub fn now(&self) -> Nanos {
        let wall = self.start.elapsed().as_nanos();
        if self.scale == 1.0 {
            return Nanos(wall as u64);
        }
        Nanos((wall as f64 * self.scale) as u64)
    }

    /// When the simulated time `at` is reached; `None` if that is centuries away.
    pub fn instant(&self, at: Nanos) -> Option<Instant> {
        let wall = if self.scale == 1.0 {
            at.0
        } else {
            // Never before the simulated time.
            (at.0 as f64 / self.scale).ceil() as u64
        };
        self.start.checked_add(Duration::from_nanos(wall))
    }
}
