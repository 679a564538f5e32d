//! Requests of a live device that come to the cache through the host's side of the device.

use super::{LiveDevice, Ticket};
use crate::run::front::{Front, HostedCache, OwnedRequest};
use crate::run::run_cache::RunCache;
use destage_record::Completion;
use destage_types::Nanos;
use std::convert::Infallible;

impl HostedCache for LiveDevice {
    type Fault = Infallible;

    fn front(&self) -> Option<&Front> {
        self.front.as_deref()
    }

    fn front_place(&mut self) -> &mut Option<Box<Front>> {
        &mut self.front
    }

    fn cache(&self) -> &dyn RunCache {
        &*self.cache
    }

    fn cache_mut(&mut self) -> &mut dyn RunCache {
        &mut *self.cache
    }

    fn completions(&mut self) -> &mut Vec<Completion> {
        &mut self.done
    }

    fn time_comes(&mut self, now: Nanos) -> Result<(), Infallible> {
        self.clock = now;
        Ok(())
    }

    fn serve_command(
        &mut self,
        request: &OwnedRequest,
        index: u64,
        now: Nanos,
    ) -> Result<(), Infallible> {
        self.serve(request.get(), Ticket(index), now);
        Ok(())
    }

    fn serve_preflush(&mut self, index: u64, now: Nanos) -> Result<(), Infallible> {
        self.cache.preflush(index, now, index >= self.measured_from);
        Ok(())
    }

    fn command_done(&mut self, done: Completion) -> Result<(), Infallible> {
        self.pending.completed(done);
        Ok(())
    }
}
