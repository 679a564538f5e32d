//! `program_pause`: rounds of work that keep programs of the host from starting (DR-8).

use destage_device::config::{DeviceConfig, PauseWhileWritesWait};
use destage_types::Nanos;

/// When programs of the host pause.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct PauseClock {
    every: u64,
    time: u64,
    /// Is a pause that is due put off while writes wait for a frame?
    puts_off: bool,
    /// Places of queued programs of the host since the last pause.
    places: u64,
    /// End of the last pause.
    until: Nanos,
    /// Do gates still have to hear of that end?
    ends: bool,
}

impl PauseClock {
    pub fn new(config: &DeviceConfig) -> Option<PauseClock> {
        config.program_pause.map(|pause| PauseClock {
            every: u64::from(pause.every),
            time: pause.time.times(1).0,
            puts_off: pause.while_writes_wait == PauseWhileWritesWait::PutOff,
            places: 0,
            until: Nanos::ZERO,
            ends: false,
        })
    }

    /// When gates have to hear that a pause is over.
    pub fn next_end(&self) -> Nanos {
        if self.ends { self.until } else { Nanos::NEVER }
    }

    /// A unit of the host, of so many places, is queued at `now`, while writes wait for a frame or not. Does a pause
    /// begin? One that is due during another follows it; those that were put off are one.
    pub(super) fn count(&mut self, places: u32, now: Nanos, writes_wait: bool) -> bool {
        self.places += u64::from(places);
        let due = self.places / self.every;
        if due == 0 || self.puts_off && writes_wait {
            return false;
        }
        self.places %= self.every;
        let pauses = if self.puts_off { 1 } else { due };
        self.until = Nanos(self.until.max(now).0 + pauses * self.time);
        self.ends = true;
        true
    }

    /// Has a pause ended by `now` of whose end gates have not heard?
    pub fn take_end(&mut self, now: Nanos) -> bool {
        let ended = self.next_end() <= now;
        self.ends &= !ended;
        ended
    }

    pub(super) fn is_on(&self, now: Nanos) -> bool {
        now < self.until
    }
}
