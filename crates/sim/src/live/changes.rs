//! Changes of a live device as a whole: new statistics, another scheme, a power cut.

use super::events::{PendingEvents, Ticket};
use super::{LiveDevice, NOBODY, SubmitError, checked, front_of};
use crate::run::footprint::check_memory;
use crate::run::front::{Front, HostedCache};
use crate::run::metadata_budget::Capacity;
use crate::run::spec::RunSpec;
use destage_scheme::Expr;
use destage_types::{HostRequest, Nanos, Op, RequestRef};

/// A cache that is to follow.
pub(super) struct Change {
    spec: RunSpec,
    capacity: Capacity,
}

impl LiveDevice {
    /// Settings of the device.
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    /// Statistics begin again from zero; the state of cache and device stays. Requests that were submitted before and
    /// come to the cache later are not counted.
    pub fn reset_statistics(&mut self) {
        self.served.restart_measuring();
        if let Some(front) = &mut self.served.front {
            front.restart_measuring();
        }
        self.measured_from = self.requests;
    }

    /// [`LiveDevice::change_to`] another scheme or other parameters, and nothing else.
    ///
    /// # Errors
    /// Those of [`LiveDevice::change_to`].
    pub fn change_scheme(&mut self, at: Nanos, expr: Expr) -> Result<Ticket, SubmitError> {
        let spec = RunSpec {
            expr,
            ..self.spec.clone()
        };
        self.change_to(at, spec)
    }

    /// Serves a FLUSH at `at`, whose ticket is the answer, and goes on with an empty cache as `spec`
    /// says, and with new statistics. Requests under way are completed as ever.
    ///
    /// LV-4: the change comes when everything that was given before has come to the cache and what is dirty there was given
    /// to flash. That is at once, unless the device has a host's side or its buffer waits for flash. Until
    /// then [`LiveDevice::is_changing`], and only FLUSH is taken.
    ///
    /// # Errors
    /// The scheme cannot be, or `spec` has another device, and nothing has happened; or those of
    /// [`LiveDevice::submit`].
    pub fn change_to(&mut self, at: Nanos, spec: RunSpec) -> Result<Ticket, SubmitError> {
        let fixed = |spec: &RunSpec| (spec.device.clone(), spec.page, spec.seed, spec.wrap);
        if fixed(&spec) != fixed(&self.spec) {
            return Err(SubmitError::OtherDevice);
        }
        if self.is_changing() {
            return Err(SubmitError::Changing);
        }
        let capacity = checked(&spec)?;
        check_memory(capacity.frames)?;
        let flush = HostRequest::new(at, Op::Flush, 0, 0);
        self.check(at, &flush)?;
        self.served.cache.flush_for_good();
        let flush = self.submit(at, flush)?;
        self.change = Some(Box::new(Change { spec, capacity }));
        self.change_if_clean();
        Ok(flush)
    }

    /// Does another cache follow that has not come?
    pub fn is_changing(&self) -> bool {
        self.change.is_some()
    }

    /// Lets time pass up to `to`, and another cache come as soon as it can.
    pub(super) fn pass_until_changed(&mut self, to: Nanos) {
        while self.is_changing() && self.next_instant() <= to {
            let Ok(has_passed) = self.pass_next();
            self.collect();
            self.change_if_clean();
            if !has_passed {
                return;
            }
        }
    }

    fn change_if_clean(&mut self) {
        let is_coming = self.served.front().is_some_and(Front::has_coming);
        if is_coming || self.served.state().has_waiting_requests() {
            return;
        }
        if self.served.state().frames().dirty_pages() > 0 {
            // Some came to the cache after the FLUSH.
            let flush = HostRequest::new(self.clock, Op::Flush, 0, 0);
            let request = RequestRef::new(&flush);
            self.served.cache.serve(request, NOBODY, self.clock, false);
            self.collect();
        }
        if !self.served.cache.is_clean() {
            return;
        }
        if let Some(change) = self.change.take() {
            let Change { spec, capacity } = *change;
            self.served.cache.change(&spec, capacity);
            (self.spec, self.capacity) = (spec, capacity);
            self.reset_statistics();
        }
    }

    /// The power went and came back at `at`: the cache is empty, requests under way are never completed,
    /// and statistics begin again. The translation layer is that of before, with its wear.
    /// Operations of the flash count as done: a page whose program was cut is looked for where the
    /// program put it. This is about times only; events have told which version of the page is
    /// durable. Open units of a drive count as closed. A cache that survives a power cut has been
    /// written to flash.
    pub fn power_cycle(&mut self, at: Nanos) {
        let at = at.max(self.clock).min(Nanos(1 << 63));
        if let Some(change) = self.change.take() {
            (self.spec, self.capacity) = (change.spec, change.capacity);
        }
        self.served.front = front_of(&self.spec, self.preflush);
        self.served.cache.restart(&self.spec, self.capacity, at);
        self.pending = PendingEvents::default();
        self.told.clear();
        self.pass(at);
        self.reset_statistics();
    }
}
