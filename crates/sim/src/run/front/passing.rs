//! Time passes at the host's side of a device and in the device itself, for a run and for a device that is fed by
//! hand.

use super::{Front, OwnedRequest};
use crate::run::run_cache::RunCache;
use destage_record::Completion;
use destage_types::Nanos;

/// A cache with the host's side of its device, if that is simulated.
pub(crate) trait HostedCache {
    /// Why it cannot go on.
    type Fault;

    fn front(&self) -> Option<&Front>;

    /// The place of the front, which is away while commands come to the cache.
    fn front_place(&mut self) -> &mut Option<Box<Front>>;

    fn cache(&self) -> &dyn RunCache;

    fn cache_mut(&mut self) -> &mut dyn RunCache;

    /// A list to reuse.
    fn completions(&mut self) -> &mut Vec<Completion>;

    /// Something happens at `now`, and nothing before it any more.
    fn time_comes(&mut self, now: Nanos) -> Result<(), Self::Fault>;

    /// A command comes to the cache.
    fn serve_command(
        &mut self,
        request: &OwnedRequest,
        index: u64,
        now: Nanos,
    ) -> Result<(), Self::Fault>;

    /// The FLUSH before a request comes to the cache.
    fn serve_preflush(&mut self, index: u64, now: Nanos) -> Result<(), Self::Fault>;

    /// The cache has served a command, and the front knows what is complete.
    fn command_served(&mut self, _front: &Front, _index: u64) -> Result<(), Self::Fault> {
        Ok(())
    }

    /// A command has ended.
    fn command_done(&mut self, done: Completion) -> Result<(), Self::Fault>;

    /// When something happens next at the host's side of the device.
    fn next_at_front(&self) -> Nanos {
        self.front().map_or(Nanos::NEVER, |front| {
            front.next_event(|| self.cache().has_waiting_writes())
        })
    }

    /// When something happens next.
    fn next_instant(&self) -> Nanos {
        self.next_at_front().min(self.cache().next_event())
    }

    /// Lets time pass up to `until`, and commands into the cache that come meanwhile.
    fn pass_time(&mut self, until: Nanos) -> Result<(), Self::Fault> {
        loop {
            let device = self.cache().next_event();
            let next = self.next_at_front().min(device);
            if next > until || next == Nanos::NEVER {
                return Ok(());
            }
            self.time_comes(next)?;
            // Where only the host's side does something, the work of the device may be over.
            if device <= next {
                self.cache_mut().advance(next);
            }
            self.let_in(next)?;
        }
    }

    /// Lets time pass until something happens. False: nothing will.
    fn pass_next(&mut self) -> Result<bool, Self::Fault> {
        let next = self.next_instant();
        if next == Nanos::NEVER {
            return Ok(false);
        }
        self.pass_time(next)?;
        Ok(true)
    }

    /// Lets the commands into the cache that are due at `now`, and takes those that are done.
    fn let_in(&mut self, now: Nanos) -> Result<(), Self::Fault> {
        // At most instants the device alone does something.
        if self.next_at_front() > now && !self.cache().flash().has_completions() {
            return Ok(());
        }
        let Some(mut front) = self.front_place().take() else {
            return Ok(());
        };
        let served = self.serve_due(&mut front, now);
        let mut done = std::mem::take(self.completions());
        front.take_done(&mut done);
        *self.front_place() = Some(front);
        served?;
        let told = done.drain(..).try_for_each(|done| self.command_done(done));
        *self.completions() = done;
        told
    }

    fn serve_due(&mut self, front: &mut Front, now: Nanos) -> Result<(), Self::Fault> {
        self.tell_completed(front);
        loop {
            front.settle(now);
            let waits = || self.cache().has_waiting_writes();
            let Some(command) = front.due(now, waits, || self.cache().flash().collection_debt())
            else {
                return Ok(());
            };
            let (request, index) = front.request(command);
            match request {
                Some(request) => self.serve_command(request, index, now)?,
                None => self.serve_preflush(index, now)?,
            }
            self.tell_completed(front);
            self.command_served(front, index)?;
        }
    }

    /// Tells the front what the cache has completed, which may end later.
    fn tell_completed(&mut self, front: &mut Front) {
        if !self.cache().flash().has_completions() {
            return;
        }
        let mut done = std::mem::take(self.completions());
        self.cache_mut().flash_mut().take_completions(&mut done);
        done.drain(..).for_each(|done| front.completed(done));
        *self.completions() = done;
    }

    /// Lets all that has arrived come to the cache, and what waits there for frames or for room go on. False: some
    /// of it never will.
    fn let_all_in(&mut self) -> Result<bool, Self::Fault> {
        let has_coming = |s: &Self| s.front().is_some_and(Front::has_coming);
        while has_coming(self) || self.cache().has_waiting_requests() {
            if !self.pass_next()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Lets all commands end that are at the host's side of the device. False: some never will.
    fn finish_front(&mut self) -> Result<bool, Self::Fault> {
        while self.front().is_some_and(|front| !front.is_empty()) {
            if !self.pass_next()? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
