//! What changes a live device as a whole: new statistics, another scheme, a power cut.

use super::events::{PendingEvents, Ticket};
use super::{LiveDevice, SubmitError, checked, engine};
use crate::cache::sample::Samples;
use crate::run::footprint::check_memory;
use crate::run::run_cache::RunCache;
use crate::run::spec::RunSpec;
use destage_scheme::Expr;
use destage_types::{HostRequest, Nanos, Op};

impl LiveDevice {
    /// What the device is.
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    /// Statistics begin again from zero; the state of cache and device stays.
    pub fn reset_statistics(&mut self) {
        self.cache.reset_counts();
        self.stats_before = self.cache.stats();
        self.samples = Samples::default();
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
    /// # Errors
    /// The scheme cannot be, or `spec` has another device, and nothing has happened; or those of
    /// [`LiveDevice::submit`].
    pub fn change_to(&mut self, at: Nanos, spec: RunSpec) -> Result<Ticket, SubmitError> {
        let fixed = |spec: &RunSpec| (spec.device.clone(), spec.page, spec.seed, spec.wrap);
        if fixed(&spec) != fixed(&self.spec) {
            return Err(SubmitError::OtherDevice);
        }
        let capacity = checked(&spec)?;
        check_memory(capacity.frames)?;
        let flush = self.submit(at, HostRequest::new(at, Op::Flush, 0, 0))?;
        self.cache.change(&spec, capacity);
        (self.spec, self.capacity) = (spec, capacity);
        self.reset_statistics();
        Ok(flush)
    }

    /// The power went and came back at `at`: the cache is empty, requests under way are never completed,
    /// and statistics begin again. The translation layer is that of before, with its wear. What flash was
    /// doing counts as done there: a page whose program was cut is looked for where that put it, which is
    /// about times; which version of it is durable has been told by events.
    pub fn power_cycle(&mut self, at: Nanos) {
        let config = self.spec.device.clone();
        let config = config.expect("a live device has one");
        let fresh = |before: crate::engine::Engine| engine(&config, before.into_map());
        let at = at.max(self.clock).min(Nanos(1 << 63));
        self.cache.restart(&self.spec, self.capacity, at, fresh);
        self.pending = PendingEvents::default();
        self.pass(at);
        self.reset_statistics();
    }
}
