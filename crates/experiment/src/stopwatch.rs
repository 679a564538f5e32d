//! Time on the clock of the machine. A browser tells a program none, and every duration is 0 there.

use std::time::Duration;

/// Measures from the moment on when it was made.
#[derive(Clone, Copy)]
pub struct Stopwatch {
    #[cfg(not(target_family = "wasm"))]
    start: std::time::Instant,
}

impl Stopwatch {
    /// Begins to measure.
    pub fn start() -> Stopwatch {
        Stopwatch {
            #[cfg(not(target_family = "wasm"))]
            start: std::time::Instant::now(),
        }
    }

    /// Time since then.
    pub fn elapsed(self) -> Duration {
        #[cfg(not(target_family = "wasm"))]
        return self.start.elapsed();
        #[cfg(target_family = "wasm")]
        Duration::ZERO
    }
}
