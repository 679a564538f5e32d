//! Eviction: one victim unit leaves (D5, D6).

use super::{Cache, view};
use crate::cache::observe::Event;
use crate::device::DeviceCore;
use crate::flash::{Cause, Flash, Program};
use destage_scheme::{
    Access, Ghosts, Placement, RemoveReason, Scheme, SchemeNotice, Trimmed, Unit, Victim,
};
use destage_types::{Lpn, Nanos, Op, PlaneId, SectorMask, Slot};

impl<S: Scheme, F: Flash> Cache<S, F> {
    /// One make-room round for page `a`. For `WHOLE` see [`Cache::data_of`].
    #[inline(always)]
    pub(super) fn evict<const WHOLE: bool>(&mut self, a: &Access) {
        let unseen = WHOLE || self.observer.is_none();
        let victim = self.scheme.victim(a, &view!(self, a.now), &mut self.unit);
        let page = match victim {
            Victim::Page(slot) => Some(slot),
            Victim::Unit => self.unit.single_page(),
        };
        if let Some(slot) = page.filter(|_| unseen)
            && (WHOLE || !self.is_written_back(slot))
        {
            self.evict_page(slot, a);
        } else {
            if let Victim::Page(slot) = victim {
                self.unit.slots.push(slot);
            }
            self.evict_unit(a.now);
        }
        if victim == Victim::Unit {
            self.unit.clear();
        }
    }

    /// The common case: one page that is not being written back, nobody looks.
    #[inline(always)]
    fn evict_page(&mut self, slot: Slot, a: &Access) {
        self.evict_pages.add_one();
        if self.frames.is_dirty(slot) {
            self.counts.dirty_evictions += 1;
            self.counts.flushed_pages += 1;
            let (lpn, valid) = (self.frames.lpn(slot), self.frames.valid(slot));
            self.dirty_eviction(lpn, None, a.now);
            self.program(lpn, valid, Cause::Eviction, None);
        }
        self.evicted(slot, a.now);
    }

    /// The page in `slot` has left; the slot stays if the scheme remembers the page there.
    #[inline(always)]
    pub(super) fn evicted(&mut self, slot: Slot, now: Nanos) {
        self.scheme
            .on_remove(slot, RemoveReason::Evicted, &view!(self, now));
        let ghosts = self.scheme.ghosts();
        let kept = ghosts.is_some_and(|ghosts| ghosts.is_in_slot(slot));
        self.frames.vacate(slot, kept);
    }

    /// For a page accessed at `now`. Takes no more of it, so that the rest need not be kept where
    /// this is not called.
    #[inline(never)]
    fn evict_unit(&mut self, now: Nanos) {
        let mut unit = std::mem::take(&mut self.unit);
        assert!(
            !unit.slots.is_empty(),
            "a scheme that holds pages names a victim"
        );
        self.frames.sort_by_lpn(&mut unit.slots);
        let [mut flush, mut drop, mut inflight] = std::mem::take(&mut self.lpns);
        for list in [&mut flush, &mut drop, &mut inflight] {
            list.clear();
        }
        for &slot in &unit.slots {
            let list = if self.victim_in_flight(slot, now) {
                &mut inflight
            } else if self.frames.is_dirty(slot) {
                &mut flush
            } else {
                &mut drop
            };
            list.push(self.frames.lpn(slot));
        }
        if let Some(o) = &mut self.observer {
            let pad = &unit.pad;
            o.event(Event::Evicted {
                flush: &flush,
                drop: &drop,
                inflight: &inflight,
                pad,
            });
        }
        self.counts.evictions += 1;
        self.counts.evicted_pages += unit.slots.len() as u64;
        self.evict_pages.add(unit.slots.len());
        self.counts.dirty_evictions += u64::from(!flush.is_empty() || !inflight.is_empty());
        self.counts.flushed_pages += (flush.len() + inflight.len()) as u64;
        self.counts.inflight_evictions += inflight.len() as u64;
        let to = (unit.placement == Placement::SingleBlock).then_some(unit.id);
        if let Some(&lpn) = flush.first() {
            self.dirty_eviction(lpn, to, now);
        }
        self.program_unit(&unit, &inflight, to);
        for &slot in &unit.slots {
            self.evicted(slot, now);
        }
        self.lpns = [flush, drop, inflight];
        unit.clear();
        self.unit = unit;
    }

    /// Does the victim's write-back in flight serve as its program? A queued one is
    /// taken back.
    fn victim_in_flight(&mut self, slot: Slot, now: Nanos) -> bool {
        let Some(token) = self.release_write_back(slot, now) else {
            return false;
        };
        self.flash.adopt_background(token);
        true
    }

    /// Programs the dirty pages and the padding of a unit in ascending LPN; the clean pages too if
    /// the block leaves whole. Pages in `inflight`, ascending, are on their way already. A block at the
    /// end of the device has no pages beyond it.
    fn program_unit(&mut self, unit: &Unit, inflight: &[Lpn], to: Option<u64>) {
        let core = self.flash.core();
        let holds = core.map_or(u64::MAX, DeviceCore::logical_pages);
        let mut pad = (unit.pad.iter().copied())
            .take_while(|p| p.0 < holds)
            .peekable();
        // Absent pages are merged in by address: a padded block is programmed in sequence.
        for &slot in &unit.slots {
            let lpn = self.frames.lpn(slot);
            while let Some(absent) = pad.next_if(|&p| p < lpn) {
                self.program_padding(absent, to);
            }
            let dirty = self.frames.is_dirty(slot);
            if (unit.whole || dirty) && inflight.binary_search(&lpn).is_err() {
                let cause = if dirty {
                    Cause::Eviction
                } else {
                    Cause::Padding
                };
                self.program(lpn, self.frames.valid(slot), cause, to);
            }
        }
        for absent in pad {
            self.program_padding(absent, to);
        }
    }

    /// A page that the cache does not have is read from flash, if it is there, and programmed
    /// with its block.
    fn program_padding(&mut self, lpn: Lpn, unit: Option<u64>) {
        self.send_alone(Program {
            lpn,
            cause: Cause::Padding,
            unit,
            channel: None,
            read_first: self.flash.is_mapped(lpn),
            cached: false,
        });
    }

    /// A dirty eviction whose first program is that of page `lpn`, or whose unit goes to the plane
    /// of `unit`, is about to be queued.
    #[inline]
    fn dirty_eviction(&mut self, lpn: Lpn, unit: Option<u64>, now: Nanos) {
        if !F::TIMED {
            return;
        }
        // Most of the time no chip at all is.
        if self.flash.view().any_in_gc() && self.goes_to_gc(lpn, unit) {
            self.counts.dirty_gc_evictions += 1;
        }
        if self.queues.is_some() {
            self.sample_now(now);
        }
    }

    /// Is the chip of [`Cache::dirty_eviction`] in GC state?
    #[inline(never)]
    fn goes_to_gc(&self, lpn: Lpn, unit: Option<u64>) -> bool {
        let chip = match unit {
            None => self.layout.chip(lpn),
            Some(unit) => {
                let plane = PlaneId((unit % u64::from(self.layout.planes())) as u32);
                self.layout.chip_of(self.layout.plane_address(plane))
            }
        };
        self.flash.view().in_gc(chip)
    }

    #[inline(never)]
    fn sample_now(&mut self, now: Nanos) {
        if let Some(queues) = &mut self.queues {
            queues.take(&view!(self, now));
        }
    }

    /// Frees the slots in which the scheme remembered pages and does not any more.
    #[inline(always)]
    pub(super) fn free_released_slots(&mut self) {
        while let Some(slot) = self.scheme.ghosts().and_then(Ghosts::take_released) {
            self.frames.release(slot);
        }
    }

    /// Removes a cached page without a flash write; nothing of it is remembered.
    pub(super) fn drop_page(&mut self, slot: Slot, now: Nanos) {
        self.release_write_back(slot, now);
        self.scheme
            .on_remove(slot, RemoveReason::Discarded, &view!(self, now));
        self.frames.remove(slot);
    }

    /// Newer data replace the sectors of `mask` of a cached page without a flush. Says whether
    /// the page is gone.
    pub(super) fn supersede(&mut self, slot: Slot, mask: SectorMask, now: Nanos) -> bool {
        self.accessed(slot, Op::Write, now);
        let lpn = self.frames.lpn(slot);
        match self.frames.trim(slot, mask) {
            Trimmed::Emptied => {
                self.version_is_superseded(lpn);
                self.drop_page(slot, now);
                return true;
            }
            Trimmed::Cleaned => {
                self.version_is_superseded(lpn);
                self.release_write_back(slot, now);
                self.scheme
                    .on_notice(SchemeNotice::Cleaned(&[slot]), &view!(self, now));
            }
            Trimmed::Kept => {}
        }
        false
    }

    /// Newer data of a page go past the cache, and nothing of it is dirty there any more.
    fn version_is_superseded(&mut self, lpn: Lpn) {
        if let Some(core) = self.flash.core_mut() {
            core.versions.superseded(lpn);
        }
    }
}
