//! Write-back: what is queued, cancellation, pages in flight.
//!
//! The scheme chooses pages when it is asked ([`asking`](super::asking)); the cache queues, cancels and
//! completes. The pages of a unit placed as `single_block` go to its plane (D6), other
//! pages where the translation layer sends them. While a page is written back it still serves hits;
//! a write or a rename during the flight makes the program stale.
//!
//! - Background class (Prober 3.4): programs and the reads before them count when they start: until then
//!   they may be taken back. A started write-back is never aborted. The page is clean when it ends.
//! - Host class: programs and reads count when they are queued, and the page is clean from then on.
//!   A page that is evicted during the flight waits for it as one of the background does.

use super::asking::Issued;
use super::{Cache, view};
use crate::cache::observe::{Event, WriteBackStep};
use crate::flash::{Cause, Flash, Program};
use destage_scheme::{
    After, Occasion, RemoveReason, Scheme, SchemeNotice, Terms, Unit, WriteBackRules, WriteClass,
};
use destage_types::{ChannelId, Lpn, Nanos, Op, Slot};

/// No token.
pub(super) const NONE: u32 = u32::MAX;

/// Which page a background program belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// The page's frame; [`Slot::NONE`] when the page left or needs it no more.
    slot: Slot,
    lpn: Lpn,
    /// The idle channel for which it was queued, if it was for one.
    channel: Option<ChannelId>,
    stale: bool,
    terms: Terms,
    class: WriteClass,
}

/// Flights by token. The flash uses tokens again, so they are small numbers.
#[derive(Debug, Default)]
pub(super) struct Flights {
    rows: Vec<Option<Flight>>,
    count: u64,
}

impl Flights {
    /// Flights now.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    fn add(&mut self, token: u32, flight: Flight) {
        let at = token as usize;
        if at >= self.rows.len() {
            self.rows.resize(at + 1, None);
        }
        self.rows[at] = Some(flight);
        self.count += 1;
    }

    fn remove(&mut self, token: u32) -> Flight {
        self.count -= 1;
        let flight = self.rows[token as usize].take();
        flight.expect("it was queued")
    }

    fn get(&self, token: u32) -> Option<&Flight> {
        self.rows.get(token as usize)?.as_ref()
    }

    fn get_mut(&mut self, token: u32) -> Option<&mut Flight> {
        self.rows.get_mut(token as usize)?.as_mut()
    }
}

/// Write-backs that are queued or in flight.
#[derive(Debug)]
pub(super) struct WriteBacks {
    /// Are there any, or does the cache ask for some?
    pub on: bool,
    pub rules: WriteBackRules,
    /// Token of the write-back of a frame, or [`NONE`], once they are on.
    pub of_slot: Vec<u32>,
    pub flights: Flights,
    /// Those of them whose page is still in the frame.
    pub attached: u64,
    /// The run is over: nothing more is queued.
    pub stopped: bool,
    /// By channel.
    pub outstanding: Vec<u32>,
    ended: Vec<u32>,
    started: Vec<(Lpn, Nanos)>,
    pub unit: Unit,
}

impl WriteBacks {
    pub fn new() -> WriteBacks {
        WriteBacks {
            on: false,
            rules: WriteBackRules::NEVER,
            of_slot: Vec::new(),
            flights: Flights::default(),
            attached: 0,
            stopped: false,
            outstanding: Vec::new(),
            ended: Vec::new(),
            started: Vec::new(),
            unit: Unit::default(),
        }
    }

    /// There are `slots` and `channels` for them from now on.
    pub fn switch_on(&mut self, slots: usize, channels: u32) {
        self.on = true;
        self.of_slot.resize(slots, NONE);
        self.outstanding.resize(channels as usize, 0);
    }

    /// There are other frames now, `slots` of them, none is written back, and nobody asks for that.
    pub fn forget_slots(&mut self, slots: usize) {
        self.rules = WriteBackRules::NEVER;
        for &token in self.of_slot.iter().filter(|&&token| token != NONE) {
            if let Some(flight) = self.flights.get_mut(token) {
                flight.slot = Slot::NONE;
            }
        }
        self.of_slot.clear();
        self.attached = 0;
        if self.on {
            self.of_slot.resize(slots, NONE);
        }
    }

    /// A write-back has ended, or is taken back.
    fn remove(&mut self, token: u32) -> Flight {
        let flight = self.flights.remove(token);
        if let Some(channel) = flight.channel {
            self.outstanding[channel.index()] -= 1;
        }
        if flight.slot != Slot::NONE {
            self.of_slot[flight.slot.index()] = NONE;
            self.attached -= 1;
        }
        flight
    }

    #[inline]
    pub fn token(&self, slot: Slot) -> Option<u32> {
        let token = self.of_slot.get(slot.index()).copied();
        token.filter(|&token| token != NONE)
    }
}

impl<S: Scheme, F: Flash> Cache<S, F> {
    /// Queues the write-back of a page.
    pub(super) fn queue(
        &mut self,
        slot: Slot,
        unit: Option<u64>,
        channel: Option<ChannelId>,
        terms: Terms,
        at: Nanos,
    ) {
        let class = self.back.rules.class;
        debug_assert!(
            self.frames.is_dirty(slot),
            "a write-back is of a dirty page"
        );
        if let Some(older) = self.back.token(slot) {
            debug_assert!(class == WriteClass::Host, "it is written back already");
            if let Some(older) = self.back.flights.get_mut(older) {
                older.slot = Slot::NONE;
                self.back.attached -= 1;
            }
        }
        let lpn = self.frames.lpn(slot);
        let read_first = self.is_completed_by_flash(lpn, self.frames.valid(slot));
        self.report(lpn, at, WriteBackStep::Queued);
        let token = self.send(Program {
            lpn,
            cause: Cause::WriteBack(class),
            unit,
            channel,
            read_first,
            cached: true,
        });
        let token = token.expect("nobody asks for write-backs without a device");
        let flight = Flight {
            slot,
            lpn,
            channel,
            stale: false,
            terms,
            class,
        };
        let back = &mut self.back;
        back.flights.add(token, flight);
        back.of_slot[slot.index()] = token;
        back.attached += 1;
        if let Some(channel) = channel {
            back.outstanding[channel.index()] += 1;
        }
        if class == WriteClass::Host {
            self.frames.clean(slot);
            if self.is_bounded() {
                // The missing sectors are read for the unit, and the buffer has them from then on.
                self.frames.fill(slot, self.frames.full_mask());
            }
            self.scheme
                .on_notice(SchemeNotice::Cleaned(&[slot]), &view!(self, at));
        }
    }

    /// Data whose page is not in the cache, or leaves it, are programmed; their frame is occupied until then.
    pub(super) fn occupy_frame(&mut self, token: u32, lpn: Lpn) {
        let flight = Flight {
            slot: Slot::NONE,
            lpn,
            channel: None,
            stale: false,
            terms: Terms::KEEP_CLEAN,
            class: WriteClass::Host,
        };
        self.back.flights.add(token, flight);
    }

    #[inline(always)]
    pub(super) fn report_started(&mut self) {
        self.flash.take_started(&mut self.back.started);
        if !self.back.started.is_empty() {
            self.count_started();
        }
    }

    fn count_started(&mut self) {
        let mut started = std::mem::take(&mut self.back.started);
        self.counts.background_writes += started.len() as u64;
        self.counts.flash_writes_host += started.len() as u64;
        for (lpn, at) in started.drain(..) {
            self.report(lpn, at, WriteBackStep::Started);
        }
        self.back.started = started;
    }

    /// Write-backs that ended: the page leaves or is clean, if it is still what was written. Then the
    /// scheme is asked if it asked for that. Did any end, or is any queued?
    pub(super) fn complete(&mut self, at: Nanos) -> bool {
        let mut ended = std::mem::take(&mut self.back.ended);
        let program_ended = self.flash.take_ended(&mut ended);
        let any = !ended.is_empty();
        for token in ended.drain(..) {
            let flight = self.back.remove(token);
            let step = self.land(&flight, at);
            self.report(flight.lpn, at, step);
        }
        self.back.ended = ended;
        let back = &self.back;
        let asks = program_ended && back.rules.on_program_end && !back.stopped;
        let issued = asks && self.ask(Occasion::ProgramEnd, at) == Issued::Some;
        any || issued
    }

    fn land(&mut self, flight: &Flight, at: Nanos) -> WriteBackStep {
        let slot = flight.slot;
        if slot == Slot::NONE {
            return WriteBackStep::Orphaned;
        }
        if flight.stale {
            self.counts.background_stale += 1;
            return WriteBackStep::Stale;
        }
        match flight.terms.after {
            After::Remove => {
                self.scheme
                    .on_remove(slot, RemoveReason::Discarded, &view!(self, at));
                self.frames.remove(slot);
                WriteBackStep::Removed
            }
            After::KeepClean => {
                if flight.class == WriteClass::Background {
                    self.frames.clean(slot);
                    self.scheme
                        .on_notice(SchemeNotice::Cleaned(&[slot]), &view!(self, at));
                }
                WriteBackStep::Cleaned
            }
        }
    }

    /// A host request touches a cached page, or a rename does (`op` is a write then).
    #[inline]
    pub(super) fn accessed(&mut self, slot: Slot, op: Op, now: Nanos) {
        if F::TIMED && self.back.on {
            self.access_write_back(slot, op, now);
        }
    }

    fn access_write_back(&mut self, slot: Slot, op: Op, now: Nanos) {
        let Some(token) = self.back.token(slot) else {
            return;
        };
        if self.flash.background_end(token).is_none() {
            let yields = |flight: &mut Flight| op != Op::Read || flight.terms.yields_to_reads;
            if self.back.flights.get_mut(token).is_some_and(yields) {
                self.cancel(slot, token, now);
            }
        } else if op != Op::Read
            && let Some(flight) = self.back.flights.get_mut(token)
        {
            flight.stale = true;
        }
    }

    /// Is a write-back of the page queued or in flight?
    #[inline]
    pub(super) fn is_written_back(&self, slot: Slot) -> bool {
        F::TIMED && self.back.token(slot).is_some()
    }

    /// Takes a queued write-back back.
    fn cancel(&mut self, slot: Slot, token: u32, now: Nanos) {
        self.flash.cancel_background(token);
        self.forget_cancelled(slot, token, now);
    }

    fn forget_cancelled(&mut self, slot: Slot, token: u32, now: Nanos) {
        self.counts.background_cancels += 1;
        self.back.remove(token);
        self.report(self.frames.lpn(slot), now, WriteBackStep::Cancelled);
        // Others may have started because of it.
        self.report_started();
    }

    /// The run is over at `now`, and its record is of this instant. Write-backs that wait are taken back
    /// and no more are queued; no collection begins in the background before the next request.
    /// Operations in flight end.
    pub fn stop_background(&mut self, now: Nanos) {
        if !F::TIMED || self.is_bounded() {
            // Writes may wait for frames, so draining goes on; what it writes is in no counter any more.
            return;
        }
        self.ask_at = Nanos::NEVER;
        let queued = |slot| {
            let token = self.back.token(slot)?;
            let waits = self.flash.background_end(token).is_none();
            waits.then_some((slot, token))
        };
        let queued: Vec<(Slot, u32)> = self.frames.dirty_slots().filter_map(queued).collect();
        let tokens: Vec<u32> = queued.iter().map(|queued| queued.1).collect();
        self.flash.stop_background(&tokens);
        for (slot, token) in queued {
            self.forget_cancelled(slot, token, now);
        }
        self.back.stopped = true;
    }

    /// Dirty pages whose present version no program that has been counted writes.
    pub fn dirty_pages_left(&self) -> u64 {
        let left = |slot: &Slot| {
            self.back.token(*slot).is_none_or(|token| {
                let flight = self.back.flights.get(token);
                let is_stale = flight.is_some_and(|flight| flight.stale);
                is_stale || self.flash.background_end(token).is_none()
            })
        };
        self.frames.dirty_slots().filter(left).count() as u64
    }

    /// A page leaves the cache or is flushed: its queued write-back is taken back, its write-back
    /// in flight is on its own from now on. If the latter programs the present version of the
    /// page, its token is the answer.
    #[inline]
    pub(super) fn release_write_back(&mut self, slot: Slot, now: Nanos) -> Option<u32> {
        if !F::TIMED {
            return None;
        }
        let token = self.back.token(slot)?;
        if self.flash.background_end(token).is_none() {
            self.cancel(slot, token, now);
            return None;
        }
        let back = &mut self.back;
        back.of_slot[slot.index()] = NONE;
        back.attached -= 1;
        let flight = back.flights.get_mut(token)?;
        flight.slot = Slot::NONE;
        (!flight.stale).then_some(token)
    }

    fn report(&mut self, lpn: Lpn, at: Nanos, step: WriteBackStep) {
        if let Some(o) = &mut self.observer {
            o.event(Event::WriteBack { lpn, at, step });
        }
    }
}
