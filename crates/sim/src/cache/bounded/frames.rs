//! Which frames are free, and whose data leave for one.

use super::{Cache, view};
use crate::cache::observe::Event;
use crate::flash::Flash;
use destage_scheme::{Access, Expr, Role, Scheme, Terms};
use destage_types::{Lpn, Nanos, Slot};

/// How the data are found that are handed over while a write waits, and the clean page whose frame it gets (DR-5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum VictimOrder {
    /// The scheme lists all its pages in the order in which they would leave. They stay when they are handed over,
    /// and the first one that is on flash leaves for a frame.
    #[default]
    Listed,
    /// The scheme is asked for its victims, one after another. They leave when they are handed over.
    Asked,
}

impl VictimOrder {
    /// As the scheme of `expr` has it: groups, policies without an order, and those that choose by the chips are
    /// asked.
    pub fn of(expr: &Expr) -> VictimOrder {
        let policy = expr.policy().scheme();
        let by_chips = expr.chain().any(|layer| layer.scheme().chip_aware);
        match policy.role == Role::PagePolicy && policy.order.is_some() && !by_chips {
            true => VictimOrder::Listed,
            false => VictimOrder::Asked,
        }
    }
}

impl<S: Scheme, F: Flash> Cache<S, F> {
    /// Frames that are neither free nor clean and free to leave.
    fn frames_kept(&self) -> u64 {
        self.frames.dirty_pages() + self.back.flights.count()
    }

    /// Is there a free frame, or one of a clean page that is on flash? Where frames are free at hand-over there is one.
    #[inline(always)]
    pub(in crate::cache) fn may_take_frame(&self) -> bool {
        !self.is_bounded() || self.frames_kept() < self.frames.capacity() as u64
    }

    /// Frames that are not free: of cached pages, and of data on their way whose page has another one, or none.
    fn frames_taken(&self) -> u64 {
        let alone = self.back.flights.count() - self.back.attached;
        self.frames.used() as u64 + alone
    }

    /// Frees frames until the page of `a` has one, and if it `enters` the cache, the scheme has room for it.
    #[inline(never)]
    pub(in crate::cache) fn take_frame(&mut self, a: &Access, enters: bool) {
        let listed = self.bounded.victims == VictimOrder::Listed;
        while self.frames_taken() >= self.frames.capacity() as u64
            || enters && self.scheme.is_full(a, &view!(self, a.now))
        {
            match listed {
                true => self.evict_clean(a.now),
                false => self.evict::<false>(a),
            }
        }
    }

    /// The first page in the scheme's order that is clean and on flash leaves.
    fn evict_clean(&mut self, now: Nanos) {
        let slot = self.clean_victim(now);
        self.evict_pages.add_one();
        if let Some(o) = &mut self.observer {
            o.event(Event::Evicted {
                flush: &[],
                drop: &[self.frames.lpn(slot)],
                inflight: &[],
                pad: &[],
            });
        }
        self.evicted(slot, now);
    }

    fn clean_victim(&self, now: Nanos) -> Slot {
        let mut found = None;
        self.scheme.next_victims(&view!(self, now), &mut |slot| {
            let leaves = !self.frames.is_dirty(slot) && !self.is_written_back(slot);
            found = leaves.then_some(slot);
            found.is_none()
        });
        found.expect("a scheme with an order shows all its pages")
    }

    /// While a write waits and no program of the host is on its way, data are handed over until a unit is full;
    /// if there are no more, an open unit is closed.
    pub(super) fn make_progress(&mut self, now: Nanos) -> bool {
        let mut any = false;
        while self.has_waiting_writes() && self.flash.units_outstanding() == Some(0) {
            let went_on = match self.bounded.victims {
                VictimOrder::Listed => self.hand_over_next(now),
                VictimOrder::Asked => self.evict_next(now),
            };
            if !went_on {
                break;
            }
            any = true;
        }
        any
    }

    /// Hands over the next dirty page, or closes an open unit. Was there one?
    fn hand_over_next(&mut self, now: Nanos) -> bool {
        let (next, refused) = self.next_for_flash(now);
        if let Some(slot) = next {
            self.hand_over(slot, now);
            return true;
        }
        let closed = self.flash.close_open_unit();
        if let (false, Some(lpn)) = (closed, refused) {
            self.flash.wait_for_room(lpn);
        }
        closed
    }

    /// The victim for the page that waits leaves, or an open unit is closed. Was there one?
    fn evict_next(&mut self, now: Nanos) -> bool {
        if self.frames.used() == 0 || self.flash.is_stalled() {
            return self.flash.close_open_unit();
        }
        let write = self.bounded.waiting.front();
        let next = write.and_then(|write| Some((write, write.next_page(self.frames.page())?)));
        let Some((write, next)) = next else {
            return false;
        };
        // The page that waits is the access being served, also for what schemes see.
        let a = self.access_of_page(write, &next, now);
        self.seq += 1;
        self.evict::<false>(&a);
        self.seq -= 1;
        true
    }

    /// The first dirty page in the scheme's order that the flash has room for, and a page before it without room.
    fn next_for_flash(&self, now: Nanos) -> (Option<Slot>, Option<Lpn>) {
        let has_room = self.flash.has_room(None);
        let (mut next, mut refused) = (None, None);
        self.scheme.next_victims(&view!(self, now), &mut |slot| {
            if self.frames.is_dirty(slot) {
                let lpn = self.frames.lpn(slot);
                match has_room && self.flash.has_room(Some(lpn)) {
                    true => next = Some(slot),
                    false => refused = Some(lpn),
                }
            }
            next.is_none() && (has_room || refused.is_none())
        });
        (next, refused)
    }

    /// Hands the dirty page in `slot` over; its frame stays occupied.
    pub(in crate::cache) fn hand_over(&mut self, slot: Slot, now: Nanos) {
        self.queue(slot, None, None, Terms::KEEP_CLEAN, now);
    }
}
