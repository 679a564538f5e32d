//! Time passes at the host's side of a device and in the device itself, for a run and for a device that is fed by
//! hand.

use super::{Front, OwnedRequest};
use crate::device::DeviceCore;
use crate::run::recording::Figures;
use crate::run::run_cache::RunCache;
use crate::run::served::Served;
use destage_record::Completion;
use destage_types::Nanos;
use std::ops::DerefMut;

/// A cache with the host's side of its device, if that is simulated.
pub(crate) trait HostedCache {
    /// Why it cannot go on.
    type Fault;

    type Cache: DerefMut<Target: RunCache>;

    /// Its front is away while commands come to the cache.
    fn served(&self) -> &Served<Self::Cache>;

    fn served_mut(&mut self) -> &mut Served<Self::Cache>;

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
        let Served { front, cache, .. } = self.served();
        front.as_ref().map_or(Nanos::NEVER, |front| {
            front.next_event(|| cache.state().has_waiting_writes())
        })
    }

    /// When something happens next.
    fn next_instant(&self) -> Nanos {
        self.next_at_front().min(self.served().state().next_event())
    }

    /// Lets time pass up to `until`, and commands into the cache that come meanwhile.
    fn pass_time(&mut self, until: Nanos) -> Result<(), Self::Fault> {
        loop {
            let device = self.served().state().next_event();
            let next = self.next_at_front().min(device);
            if next > until || next == Nanos::NEVER {
                return Ok(());
            }
            self.time_comes(next)?;
            // Where only the host's side does something, the work of the device may be over.
            if device <= next {
                self.served_mut().cache.advance(next);
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
        let result = self.let_in_due(now);
        let rest = self.served().front().map(Front::rest);
        if let Some(rest) = rest
            && let Some(device) = self.served_mut().cache.device_mut()
        {
            device.host_rest = rest;
        }
        result
    }

    fn let_in_due(&mut self, now: Nanos) -> Result<(), Self::Fault> {
        // At most instants the device alone does something.
        if self.next_at_front() > now && !self.served().has_completions() {
            return Ok(());
        }
        let Some(mut front) = self.served_mut().front.take() else {
            return Ok(());
        };
        let served = self.serve_due(&mut front, now);
        let mut done = std::mem::take(&mut self.served_mut().done);
        front.take_done(&mut done);
        self.served_mut().front = Some(front);
        served?;
        let told = done.drain(..).try_for_each(|done| self.command_done(done));
        self.served_mut().done = done;
        told
    }

    fn serve_due(&mut self, front: &mut Front, now: Nanos) -> Result<(), Self::Fault> {
        self.tell_completed(front);
        loop {
            front.settle(now);
            let waits = || self.served().state().has_waiting_writes();
            let debt = || {
                let device = self.served().state().device();
                device.map_or(0, DeviceCore::collection_debt)
            };
            let Some(command) = front.due(now, waits, debt) else {
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
        if !self.served().has_completions() {
            return;
        }
        let mut done = self.served_mut().take_completions();
        done.drain(..).for_each(|done| front.completed(done));
        self.served_mut().done = done;
    }

    /// Lets all that has arrived come to the cache, and what waits there for frames or for room go on. False: some
    /// of it never will.
    fn let_all_in(&mut self) -> Result<bool, Self::Fault> {
        let has_coming = |s: &Self| s.served().front().is_some_and(Front::has_coming);
        while has_coming(self) || self.served().state().has_waiting_requests() {
            if !self.pass_next()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Lets everything end, and nothing begin in the background after `now`. The figures are those of `now`, with what is
    /// measured at the host's side until the end. False: some commands never end.
    fn end_at(&mut self, now: Nanos) -> Result<(Figures, bool), Self::Fault> {
        let mut figures = self.served().figures();
        self.served_mut().cache.stop_background(now);
        let under_way = |s: &Self| s.served().front().is_some_and(|front| !front.is_empty());
        while under_way(self) && self.pass_next()? {}
        let ends = !under_way(self);
        self.served_mut().cache.drain();
        figures.host_side = self.served().figures_of_host();
        Ok((figures, ends))
    }
}
