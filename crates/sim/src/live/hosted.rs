//! Requests of a live device that come to the cache through the host's side of the device.

use super::core::LiveCache;
use super::{LiveDevice, Ticket};
use crate::run::front::{HostedCache, OwnedRequest};
use crate::run::served::Served;
use destage_record::Completion;
use destage_types::Nanos;
use std::convert::Infallible;

impl HostedCache for LiveDevice {
    type Fault = Infallible;
    type Cache = LiveCache;

    fn served(&self) -> &Served<LiveCache> {
        &self.served
    }

    fn served_mut(&mut self) -> &mut Served<LiveCache> {
        &mut self.served
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
        self.served
            .cache
            .preflush(index, now, index >= self.measured_from);
        Ok(())
    }

    fn command_done(&mut self, done: Completion) -> Result<(), Infallible> {
        self.pending.completed(done);
        Ok(())
    }
}
