//! When the scheme is asked for write-backs ([`WriteBackRules`]), and time between requests.

use super::background::NONE;
use super::{Cache, view};
use crate::flash::Flash;
use destage_scheme::{
    Occasion, Placement, Scheme, Terms, WriteBack, WriteBackQuery, WriteBackRules, WriteClass,
};
use destage_types::{ChannelId, Nanos, Slot};
use std::cell::Cell;

/// Result of asking a scheme for write-backs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Issued {
    Some,
    Nothing,
    /// Nor will there be anything on another channel.
    Nowhere,
}

impl<S: Scheme, F: Flash> Cache<S, F> {
    /// The scheme writes pages back: ask it from `now` on as it declares.
    pub fn enable_background(&mut self, rules: WriteBackRules, now: Nanos) {
        let (slots, channels) = (self.frames.slots(), self.layout.channels());
        self.back.switch_on(slots, channels);
        self.back.rules = rules;
        self.flash
            .watch(rules.on_program_end, rules.on_idle_channel);
        self.asks_on_page = F::TIMED && rules.on_page;
        self.ask_at = if F::TIMED && rules.at_start {
            now
        } else {
            Nanos::NEVER
        };
    }

    /// The time that the scheme named, [`Nanos::NEVER`] without one.
    pub fn next_ask(&self) -> Nanos {
        self.ask_at
    }

    /// Lets time pass up to and including `until`.
    #[inline]
    pub fn advance(&mut self, until: Nanos) {
        if !F::TIMED {
            return;
        }
        loop {
            match self.flash.step(until.min(self.ask_at)) {
                Some(at) => self.write_back(at),
                None if self.ask_at <= until && self.ask_at != Nanos::NEVER => self.ask_in_time(),
                None => return,
            }
        }
    }

    /// Lets all queued work end, and what write-backs it makes room for unless these have stopped. A
    /// time that the scheme named is not waited for.
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
        if self.back.on {
            self.write_back_now(at);
        }
    }

    #[inline(never)]
    fn write_back_now(&mut self, at: Nanos) {
        loop {
            let ended = self.complete(at);
            let served = self.is_bounded() && self.serve_waiting(at);
            let queued = self.issue(at);
            if !ended && !queued && !served {
                return;
            }
        }
    }

    /// The time has come that the scheme named.
    #[cold]
    fn ask_in_time(&mut self) {
        let at = std::mem::replace(&mut self.ask_at, Nanos::NEVER);
        self.ask_now(Occasion::Time, at);
        self.write_back_now(at);
    }

    /// The page in `slot` came in or was written.
    #[inline(always)]
    pub(super) fn ask_about_page(&mut self, slot: Slot, now: Nanos) {
        if F::TIMED && self.asks_on_page {
            self.ask_now(Occasion::Page(slot), now);
        }
    }

    #[inline(never)]
    fn ask_now(&mut self, occasion: Occasion, at: Nanos) {
        if !self.back.stopped {
            self.ask(occasion, at);
        }
    }

    /// Queues background work on every idle channel, channels in ascending order; was there any?
    fn issue(&mut self, at: Nanos) -> bool {
        let mut queued = false;
        let channels = if self.back.rules.on_idle_channel && !self.back.stopped {
            self.layout.channels()
        } else {
            0
        };
        for channel in (0..channels).map(ChannelId) {
            if self.flash.is_idle(channel) {
                match self.ask(Occasion::IdleChannel(channel), at) {
                    Issued::Some => queued = true,
                    Issued::Nothing => {}
                    Issued::Nowhere => break,
                }
            }
        }
        // Also what an end alone let start, on channels that are not idle.
        self.report_started();
        queued
    }

    /// Asks the scheme until it names no more pages, and queues those.
    pub(super) fn ask(&mut self, occasion: Occasion, at: Nanos) -> Issued {
        let channel = match occasion {
            Occasion::IdleChannel(channel) => Some(channel),
            Occasion::Page(_) | Occasion::ProgramEnd | Occasion::Time => None,
        };
        let mut issued = Issued::Nothing;
        loop {
            // Nobody waits for pages that are written back because a channel is idle (DR-7).
            if channel.is_some() && !self.flash.has_room(None) {
                break;
            }
            self.back.unit.clear();
            let waits = self.back.rules.class == WriteClass::Background;
            // Pages without room are passed over while there is room for others (D-3/3).
            let refused = Cell::new(None);
            let busy = |slot: Slot| {
                let lpn = self.frames.lpn(slot);
                let refuses = self.frames.is_dirty(slot)
                    && !self.flash.has_room(Some(lpn))
                    && self.flash.has_room(None);
                if refuses {
                    refused.set(Some(lpn));
                }
                refuses || waits && self.back.of_slot[slot.index()] != NONE
            };
            let query = WriteBackQuery {
                occasion,
                outstanding: match channel {
                    Some(channel) => self.back.outstanding[channel.index()],
                    None => self.back.flights.count() as u32,
                },
                units: (self.flash.units_outstanding()).unwrap_or(self.back.flights.count() as u32),
                busy: &busy,
            };
            let answer = self
                .scheme
                .write_back(&query, &view!(self, at), &mut self.back.unit);
            let terms = match answer {
                WriteBack::Unit(terms) => terms,
                WriteBack::Nowhere if issued == Issued::Nothing => return Issued::Nowhere,
                WriteBack::Nowhere | WriteBack::Nothing => {
                    if let Some(lpn) = refused.get().filter(|_| channel.is_none()) {
                        self.flash.wait_for_room(lpn);
                    }
                    break;
                }
                WriteBack::At(next) => {
                    assert!(next > at, "a scheme names a time to come");
                    self.ask_at = next;
                    break;
                }
            };
            let queued = self.queue_unit(channel, terms, at);
            if queued > 0 {
                issued = Issued::Some;
            }
            if queued < self.back.unit.slots.len() {
                break;
            }
        }
        self.report_started();
        issued
    }

    /// Queues the pages that the scheme has named, as far as there is room. Says how many.
    fn queue_unit(&mut self, channel: Option<ChannelId>, terms: Terms, at: Nanos) -> usize {
        let unit = &mut self.back.unit;
        assert!(!unit.slots.is_empty(), "a write-back names a page");
        self.frames.sort_by_lpn(&mut unit.slots);
        let single = unit.placement == Placement::SingleBlock;
        let (to, pages) = (single.then_some(unit.id), unit.slots.len());
        for i in 0..pages {
            let slot = self.back.unit.slots[i];
            let lpn = self.frames.lpn(slot);
            if !self.flash.has_room(Some(lpn)) {
                if channel.is_none() {
                    self.flash.wait_for_room(lpn);
                }
                return i;
            }
            self.queue(slot, to, channel, terms, at);
        }
        pages
    }
}
