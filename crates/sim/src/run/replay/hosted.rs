//! Requests that come to the cache through the host's side of the device.
//!
//! DR-3: a request counts when it comes to the cache. Then it belongs to an interval and may end the warm-up. Without a
//! host's side it comes to the cache when it arrives. Its number decides whether it is of the warm-up, even if later
//! requests overtake it.

use super::Session;
use crate::RunError;
use crate::cache::observe::{Event, Observer};
use crate::run::front::{Front, HostedCache, OwnedRequest};
use crate::run::replay::Pace;
use crate::run::run_cache::RunCache;
use crate::run::served::Served;
use destage_record::Completion;
use destage_scheme::{PREFETCH, Upcoming};
use destage_trace::RequestSlice;
use destage_types::Nanos;

/// Tells an observer numbers of the trace where requests have those of the run.
pub(super) struct OfTrace {
    pub observer: Box<dyn Observer + Send>,
    pub requests: u64,
}

impl Observer for OfTrace {
    fn request(&mut self, index: u64) {
        self.observer.request(index % self.requests.max(1));
    }

    fn event(&mut self, event: Event<'_>) {
        self.observer.event(event);
    }

    fn request_done(&mut self) {
        self.observer.request_done();
    }

    fn finish(&mut self) -> std::io::Result<()> {
        self.observer.finish()
    }
}

impl Session<'_> {
    /// Requests of a pass from number `at` of the stream on arrive.
    pub(super) fn serve_through_front(
        &mut self,
        block: RequestSlice<'_>,
        at: u64,
    ) -> Result<(), RunError> {
        let mut upcoming = Upcoming::none();
        for (i, head) in block.records.iter().enumerate() {
            let number = at + i as u64;
            if i % PREFETCH == 0 {
                // They come to the cache soon; what of them is there by then is looked up anew.
                let (heads, behind) =
                    block.records[i..].split_at(PREFETCH.min(block.records.len() - i));
                self.served.cache.prefetch(heads, behind, &mut upcoming);
            }
            let arrival = match self.pace {
                Pace::Open { scale, shift } => scale.apply(head.arrival) + shift,
                Pace::Closed(_) => self.wait_for_turn()?,
            };
            self.pass_time(arrival)?;
            self.end_intervals(arrival)?;
            self.issued = arrival;
            if let Some(front) = &mut self.served.front {
                let request = OwnedRequest::new(block.batch.with_sides(head));
                front.arrive(arrival, request, number, number >= self.length.warmup);
            }
            self.let_in(arrival)?;
        }
        Ok(())
    }

    /// When a closed loop issues its next request: as soon as there is room for it.
    fn wait_for_turn(&mut self) -> Result<Nanos, RunError> {
        while (self.served.front()).is_some_and(|front| !front.takes_more()) {
            if !self.pass_next()? {
                return Err(self.out_of_room());
            }
        }
        if let Pace::Closed(closed) = &mut self.pace {
            let issued = closed.issue(self.issued);
            debug_assert_eq!(issued, Some(self.issued), "a completion lets a request go");
        }
        Ok(self.issued)
    }
}

impl<'a> HostedCache for Session<'a> {
    type Fault = RunError;
    type Cache = &'a mut (dyn RunCache + 'a);

    fn served(&self) -> &Served<Self::Cache> {
        &self.served
    }

    fn served_mut(&mut self) -> &mut Served<Self::Cache> {
        &mut self.served
    }

    fn time_comes(&mut self, now: Nanos) -> Result<(), RunError> {
        if !self.series.is_empty() {
            self.end_intervals(now)?;
        }
        self.issued = now;
        Ok(())
    }

    fn serve_command(
        &mut self,
        request: &OwnedRequest,
        index: u64,
        now: Nanos,
    ) -> Result<(), RunError> {
        let measured = index >= self.length.warmup;
        if measured && !self.measuring {
            // It has overtaken some of the warm-up.
            self.start_measuring()?;
        }
        let counts = measured || !self.measuring;
        self.count_sizes(counts && self.measuring);
        self.served.serve(request.get(), index, now, counts);
        self.count_sizes(self.measuring);
        self.check_room(index)?;
        if !self.measuring && self.served.came == self.length.warmup {
            self.start_measuring()?;
        }
        Ok(())
    }

    fn serve_preflush(&mut self, index: u64, now: Nanos) -> Result<(), RunError> {
        let counts = index >= self.length.warmup || !self.measuring;
        self.served.cache.preflush(index, now, counts);
        self.check_room(index)
    }

    fn command_served(&mut self, front: &Front, index: u64) -> Result<(), RunError> {
        if index >= self.length.warmup && !self.series.is_empty() {
            self.end_counted_intervals(Some(front))?;
        }
        Ok(())
    }

    fn command_done(&mut self, mut done: Completion) -> Result<(), RunError> {
        done.index %= self.workload.len().max(1);
        self.complete(done)
    }
}
