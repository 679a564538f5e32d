//! Background write-back (Prober 3.4): issue on idle channels, cancellation, pages in flight.
//!
//! Programs and the reads before them count when they start: until then they may be taken back.
//!
//! The scheme chooses pages; the cache queues, cancels and completes. A started write-back is
//! never aborted. The pages of a unit placed as `single_block` go to its plane (D6), other pages
//! where the translation layer sends them. While a page is written back it still serves hits; a
//! write or a rename during the flight makes the program stale.

use super::{Cache, view};
use crate::cache::observe::{Event, WriteBackStep};
use crate::flash::{BackgroundProgram, Flash};
use destage_scheme::{After, Placement, RemoveReason, Scheme, Unit, WriteBack};
use destage_types::{ChannelId, Lpn, Nanos, Op, Slot};
use std::collections::HashMap;

const NONE: u32 = u32::MAX;

/// Which page a background program belongs to.
#[derive(Clone, Copy, Debug)]
struct Flight {
    /// The page's frame; [`Slot::NONE`] when the page left or needs it no more.
    slot: Slot,
    lpn: Lpn,
    channel: ChannelId,
    stale: bool,
    after: After,
}

/// Write-backs that are queued or in flight.
#[derive(Debug, Default)]
pub(super) struct WriteBacks {
    /// Token of the write-back of a frame, or [`NONE`].
    of_slot: Vec<u32>,
    /// By token: few, though their numbers are as many as operations of the device wait.
    flights: HashMap<u32, Flight>,
    /// The run is over: nothing more is queued.
    stopped: bool,
    outstanding: Vec<u32>,
    ended: Vec<u32>,
    started: Vec<(Lpn, Nanos)>,
    unit: Unit,
}

impl WriteBacks {
    pub fn new(capacity: usize, channels: u32) -> WriteBacks {
        WriteBacks {
            of_slot: vec![NONE; capacity],
            outstanding: vec![0; channels as usize],
            ..WriteBacks::default()
        }
    }

    /// There are other frames now, `slots` of them, and none is written back.
    pub fn forget_slots(&mut self, slots: usize) {
        self.of_slot.clear();
        self.of_slot.resize(slots, NONE);
    }

    fn token(&self, slot: Slot) -> Option<u32> {
        let token = self.of_slot[slot.index()];
        (token != NONE).then_some(token)
    }
}

/// What came of asking for write-backs on one channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Issued {
    Some,
    Nothing,
    /// Nor will there be anything on another channel.
    Nowhere,
}

impl<S: Scheme, F: Flash> Cache<S, F> {
    /// The scheme has a background layer: ask it for work from now on.
    pub fn enable_background(&mut self) {
        let (slots, channels) = (self.frames.slots(), self.layout.channels());
        self.background
            .get_or_insert_with(|| Box::new(WriteBacks::new(slots, channels)));
    }

    /// Lets time pass up to and including `until`.
    #[inline]
    pub fn advance(&mut self, until: Nanos) {
        if !F::TIMED {
            return;
        }
        while let Some(at) = self.flash.step(until) {
            self.write_back(at);
        }
    }

    /// Lets all queued work end, and what background work it makes room for unless that has stopped.
    pub fn drain(&mut self) {
        loop {
            let next = self.flash.next_event();
            if next == Nanos::NEVER {
                return;
            }
            self.advance(next);
        }
    }

    /// Ends write-backs that are done and queues others, until nothing more happens at `at`: one
    /// that takes no time is done as soon as it is queued.
    #[inline(always)]
    pub(super) fn write_back(&mut self, at: Nanos) {
        if self.background.is_some() {
            self.write_back_now(at);
        }
    }

    #[inline(never)]
    fn write_back_now(&mut self, at: Nanos) {
        loop {
            let ended = self.complete(at);
            let queued = self.issue(at);
            if !ended && !queued {
                return;
            }
        }
    }

    /// Queues background work on every idle channel, channels in ascending order; was there any?
    fn issue(&mut self, at: Nanos) -> bool {
        let Some(mut back) = self.background.take() else {
            return false;
        };
        let mut queued = false;
        let channels = if back.stopped {
            0
        } else {
            self.layout.channels()
        };
        for channel in (0..channels).map(ChannelId) {
            if self.flash.is_idle(channel) {
                match self.issue_on(channel, at, &mut back) {
                    Issued::Some => queued = true,
                    Issued::Nothing => {}
                    Issued::Nowhere => break,
                }
            }
        }
        // Also what an end alone let start, on channels that are not idle.
        self.report_started(&mut back);
        self.background = Some(back);
        queued
    }

    fn issue_on(&mut self, channel: ChannelId, at: Nanos, back: &mut WriteBacks) -> Issued {
        let mut issued = Issued::Nothing;
        loop {
            back.unit.clear();
            let outstanding = back.outstanding[channel.index()];
            let (busy, v) = (
                |slot: Slot| back.of_slot[slot.index()] != NONE,
                view!(self, at),
            );
            let unit = &mut back.unit;
            let answer = self
                .scheme
                .write_back(channel, outstanding, &busy, &v, unit);
            let after = match answer {
                WriteBack::Unit(after) => after,
                WriteBack::Nowhere if issued == Issued::Nothing => return Issued::Nowhere,
                WriteBack::Nowhere | WriteBack::Nothing => break,
            };
            assert!(!back.unit.slots.is_empty(), "a write-back names a page");
            self.frames.sort_by_lpn(&mut back.unit.slots);
            let single = back.unit.placement == Placement::SingleBlock;
            let to = single.then_some(back.unit.id);
            for i in 0..back.unit.slots.len() {
                let slot = back.unit.slots[i];
                self.queue(slot, to, channel, after, at, back);
            }
            issued = Issued::Some;
        }
        self.report_started(back);
        issued
    }

    fn queue(
        &mut self,
        slot: Slot,
        unit: Option<u64>,
        channel: ChannelId,
        after: After,
        at: Nanos,
        back: &mut WriteBacks,
    ) {
        debug_assert!(self.frames.is_dirty(slot) && back.token(slot).is_none());
        let lpn = self.frames.lpn(slot);
        let read_first =
            self.options.rmw && !self.frames.is_full(slot) && self.flash.is_mapped(lpn);
        self.report(lpn, at, WriteBackStep::Queued);
        let program = BackgroundProgram {
            lpn,
            unit,
            channel,
            read_first,
        };
        let token = self.flash.queue_background(program, at);
        let flight = Flight {
            slot,
            lpn,
            channel,
            stale: false,
            after,
        };
        back.flights.insert(token, flight);
        back.of_slot[slot.index()] = token;
        back.outstanding[channel.index()] += 1;
    }

    #[inline]
    fn report_started(&mut self, back: &mut WriteBacks) {
        if self.flash.has_started() {
            self.count_started(back);
        }
    }

    fn count_started(&mut self, back: &mut WriteBacks) {
        self.flash.take_started(&mut back.started);
        self.counts.background_writes += back.started.len() as u64;
        self.counts.flash_writes_host += back.started.len() as u64;
        for (lpn, at) in back.started.drain(..) {
            self.report(lpn, at, WriteBackStep::Started);
        }
    }

    /// Write-backs that ended: the page leaves or is clean, if it is still what was written. Did
    /// any end?
    fn complete(&mut self, at: Nanos) -> bool {
        let Some(mut back) = self.background.take() else {
            return false;
        };
        let mut ended = std::mem::take(&mut back.ended);
        self.flash.take_ended(&mut ended);
        let any = !ended.is_empty();
        for token in ended.drain(..) {
            let flight = back.flights.remove(&token).expect("it was queued");
            back.outstanding[flight.channel.index()] -= 1;
            if flight.slot != Slot::NONE {
                back.of_slot[flight.slot.index()] = NONE;
            }
            let step = self.land(&flight, at);
            self.report(flight.lpn, at, step);
        }
        back.ended = ended;
        self.background = Some(back);
        any
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
        match flight.after {
            After::Remove => {
                self.scheme
                    .on_remove(slot, RemoveReason::Discarded, &view!(self, at));
                self.frames.remove(slot);
                WriteBackStep::Removed
            }
            After::KeepClean => {
                self.frames.clean(slot);
                self.scheme.on_clean(&[slot], &view!(self, at));
                WriteBackStep::Cleaned
            }
        }
    }

    /// A host request touches a cached page, or a rename does (`op` is a write then).
    #[inline]
    pub(super) fn accessed(&mut self, slot: Slot, op: Op, now: Nanos) {
        if F::TIMED && self.background.is_some() {
            self.access_write_back(slot, op, now);
        }
    }

    fn access_write_back(&mut self, slot: Slot, op: Op, now: Nanos) {
        let Some(token) = self.write_back_of(slot) else {
            return;
        };
        if self.flash.background_end(token).is_none() {
            if self.scheme.cancels(op) {
                self.cancel(slot, token, now);
            }
        } else if op != Op::Read
            && let Some(flight) = self.flight(token)
        {
            flight.stale = true;
        }
    }

    /// Is a write-back of the page queued or in flight?
    #[inline]
    pub(super) fn is_written_back(&self, slot: Slot) -> bool {
        F::TIMED && self.write_back_of(slot).is_some()
    }

    #[inline]
    fn write_back_of(&self, slot: Slot) -> Option<u32> {
        self.background.as_ref().and_then(|back| back.token(slot))
    }

    fn flight(&mut self, token: u32) -> Option<&mut Flight> {
        self.background.as_mut()?.flights.get_mut(&token)
    }

    /// Takes a queued write-back back.
    fn cancel(&mut self, slot: Slot, token: u32, now: Nanos) {
        self.flash.cancel_background(token);
        self.counts.background_cancels += 1;
        if let Some(back) = &mut self.background {
            let flight = back.flights.remove(&token).expect("it was queued");
            back.of_slot[slot.index()] = NONE;
            back.outstanding[flight.channel.index()] -= 1;
        }
        self.report(self.frames.lpn(slot), now, WriteBackStep::Cancelled);
        // Others may have started because of it.
        if let Some(mut back) = self.background.take() {
            self.report_started(&mut back);
            self.background = Some(back);
        }
    }

    /// The run is over at `now`, and its record is of this instant. Write-backs that wait are taken back
    /// and no more are queued; no collection begins in the background before the next request. What is
    /// in flight ends.
    pub fn stop_background(&mut self, now: Nanos) {
        if !F::TIMED {
            return;
        }
        self.flash.stop_background();
        if self.background.is_none() {
            return;
        }
        self.flash.hold();
        let dirty: Vec<Slot> = self.frames.dirty_slots().collect();
        for slot in dirty {
            if let Some(token) = self.write_back_of(slot)
                && self.flash.background_end(token).is_none()
            {
                self.cancel(slot, token, now);
            }
        }
        self.flash.resume();
        if let Some(back) = &mut self.background {
            back.stopped = true;
        }
    }

    /// Dirty pages whose present version no program that has been counted writes.
    pub fn dirty_pages_left(&self) -> u64 {
        let left = |slot: &Slot| match (self.write_back_of(*slot), &self.background) {
            (Some(token), Some(back)) => {
                back.flights[&token].stale || self.flash.background_end(token).is_none()
            }
            _ => true,
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
        let token = self.write_back_of(slot)?;
        if self.flash.background_end(token).is_none() {
            self.cancel(slot, token, now);
            return None;
        }
        let back = self.background.as_mut()?;
        back.of_slot[slot.index()] = NONE;
        let flight = back.flights.get_mut(&token)?;
        flight.slot = Slot::NONE;
        (!flight.stale).then_some(token)
    }

    fn report(&mut self, lpn: Lpn, at: Nanos, step: WriteBackStep) {
        if let Some(o) = &mut self.observer {
            o.event(Event::WriteBack { lpn, at, step });
        }
    }
}
