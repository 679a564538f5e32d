//! Requests that come to the cache through the host's side of the device.
//!
//! DR-3: a request counts when it comes to the cache. Then it belongs to an interval and may end the warm-up. Without a
//! host's side it comes to the cache when it arrives. Its number decides whether it is of the warm-up, even if later
//! requests overtake it.

use super::Session;
use crate::RunError;
use crate::cache::observe::{Event, Observer};
use crate::cache::sample::SAMPLE_EVERY;
use crate::run::front::{Front, OwnedRequest};
use crate::run::replay::Pace;
use destage_scheme::{PREFETCH, Place, Upcoming};
use destage_trace::RequestSlice;
use destage_types::Nanos;

/// Commands that have come to the cache.
#[derive(Clone, Copy, Default)]
pub(super) struct Came {
    warm_up: u64,
    measured: u64,
}

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
                self.cache.prefetch(heads, behind, &mut upcoming);
            }
            let arrival = match self.pace {
                Pace::Open { scale, shift } => scale.apply(head.arrival) + shift,
                Pace::Closed(_) => self.wait_for_turn()?,
            };
            self.pass_time(arrival)?;
            self.end_intervals(arrival)?;
            self.issued = arrival;
            if let Some(front) = &mut self.front {
                let request = OwnedRequest::new(block.batch.with_sides(head));
                front.arrive(arrival, request, number, number >= self.length.warmup);
            }
            self.let_in(arrival)?;
        }
        Ok(())
    }

    /// When a closed loop issues its next request: as soon as there is room for it.
    fn wait_for_turn(&mut self) -> Result<Nanos, RunError> {
        while self.front.as_ref().is_some_and(|front| !front.takes_more()) {
            self.pass_next()?;
        }
        Ok(self.issued)
    }

    /// When something happens next, in the device or at its host's side.
    fn next_instant(&self) -> Nanos {
        let waits = self.cache.has_waiting_writes();
        let front = self
            .front
            .as_ref()
            .map_or(Nanos::NEVER, |front| front.next_event(waits));
        front.min(self.cache.flash().next_event())
    }

    /// Lets time pass up to `until`, and commands into the cache that come meanwhile.
    fn pass_time(&mut self, until: Nanos) -> Result<(), RunError> {
        loop {
            let next = self.next_instant();
            if next > until || next == Nanos::NEVER {
                return Ok(());
            }
            self.end_intervals(next)?;
            // Where only the host's side does something, the work of the device may be over.
            if self.cache.flash().next_event() <= next {
                self.cache.advance(next);
            }
            self.issued = next;
            self.let_in(next)?;
        }
    }

    /// Something waits: lets time pass until something happens.
    fn pass_next(&mut self) -> Result<(), RunError> {
        let next = self.next_instant();
        if next == Nanos::NEVER {
            return Err(self.out_of_room());
        }
        self.pass_time(next)
    }

    /// Lets the commands into the cache that are due at `now`, and takes those that are done.
    fn let_in(&mut self, now: Nanos) -> Result<(), RunError> {
        let Some(mut front) = self.front.take() else {
            return Ok(());
        };
        let served = self.serve_due(&mut front, now);
        front.take_done(&mut self.done);
        self.front = Some(front);
        served?;
        for mut done in self.done.drain(..) {
            done.index %= self.workload.len().max(1);
            self.cache.flash_mut().note_request(&done);
            if done.measured
                && let Some(log) = &mut self.log
            {
                log.add(done)?;
            }
        }
        Ok(())
    }

    fn serve_due(&mut self, front: &mut Front, now: Nanos) -> Result<(), RunError> {
        self.tell_completed(front);
        loop {
            front.settle(now);
            let Some((request, index)) = front.due(now, self.cache.has_waiting_writes()) else {
                return Ok(());
            };
            self.serve_command(&request, index, now)?;
            self.tell_completed(front);
            if index >= self.length.warmup && !self.series.is_empty() {
                self.end_counted_intervals(Some(front.latency_sums()))?;
            }
        }
    }

    /// Tells the front what the cache has completed, which may end later.
    fn tell_completed(&mut self, front: &mut Front) {
        self.cache.flash_mut().take_completions(&mut self.done);
        self.done.drain(..).for_each(|done| front.completed(done));
    }

    /// A command comes to the cache.
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
        if measured || !self.measuring {
            let place = Place::BLANK;
            self.cache.serve_at(request.get(), index, now, place);
        } else {
            self.count_sizes(false);
            self.cache.serve_uncounted(request.get(), index, now);
            self.count_sizes(true);
        }
        if self.cache.flash().fault().is_some() {
            return Err(self.full(index));
        }
        if measured {
            self.came.measured += 1;
            if self.came.measured.is_multiple_of(SAMPLE_EVERY) {
                self.samples.take(self.cache, self.came.measured);
            }
        } else {
            self.came.warm_up += 1;
            if self.came.warm_up == self.length.warmup && !self.measuring {
                self.start_measuring()?;
            }
        }
        Ok(())
    }

    /// Lets all that has arrived come to the cache, and what waits there for frames or for room go on.
    pub(super) fn let_all_in(&mut self) -> Result<(), RunError> {
        let has_coming = |s: &Session<'_>| s.front.as_ref().is_some_and(|f| f.has_coming());
        while has_coming(self) || self.cache.has_waiting_requests() {
            self.pass_next()?;
        }
        Ok(())
    }

    /// Lets all requests end that are at the host's side of the device.
    pub(super) fn finish_front(&mut self) -> Result<(), RunError> {
        while self.front.as_ref().is_some_and(|front| !front.is_empty()) {
            self.pass_next()?;
        }
        Ok(())
    }
}
