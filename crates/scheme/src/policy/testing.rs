//! A cache core for unit tests: whole pages, one page per eviction, no device.

use crate::rng::SplitMix64;
use crate::{Access, Entry, Frames, NoDevice, Scheme, Unit, View, Why};
use destage_types::{Lpn, Nanos, Op, PageSize, Slot, StaticLayout};

/// Frames and a scheme.
pub(super) struct Core<S> {
    pub(super) scheme: S,
    pub(super) frames: Frames,
    /// Pages evicted so far, in order.
    pub(super) evicted: Vec<u64>,
    /// Candidate that is evicted instead of the victim, as `gcar` may choose; 0 is the victim.
    pub(super) pick: usize,
    layout: StaticLayout,
    seq: u64,
}

macro_rules! view {
    ($core:expr) => {
        View {
            frames: &$core.frames,
            layout: &$core.layout,
            device: &NoDevice,
            now: Nanos::ZERO,
        }
    };
}

impl<S: Scheme> Core<S> {
    pub(super) fn new(capacity: u32, scheme: S) -> Core<S> {
        Core {
            frames: Frames::new(capacity, scheme.most_kept(), PageSize::KIB4),
            scheme,
            evicted: Vec::new(),
            pick: 0,
            layout: StaticLayout::flat(1, 1),
            seq: 0,
        }
    }

    pub(super) fn view(&self) -> View<'_> {
        view!(self)
    }

    /// An access that allocates; says whether it hit.
    pub(super) fn access(&mut self, op: Op, lpn: u64) -> bool {
        self.seq += 1;
        let a = Access {
            lpn: Lpn(lpn),
            op,
            now: Nanos::ZERO,
            request: self.seq,
            seq: self.seq,
            sectors: self.frames.full_mask(),
            entry: Entry::BLANK,
        };
        if let Some(slot) = self.frames.slot_of(a.lpn) {
            assert!(op == Op::Read || self.scheme.admit_page(&a, &view!(self)));
            self.scheme.touch(slot, &a, &view!(self));
            self.frames.settle(&mut self.scheme);
            if op == Op::Write {
                self.frames.write(slot, a.sectors);
            }
            return true;
        }
        let enters = match op {
            Op::Write => self.scheme.admit_page(&a, &view!(self)),
            _ => self.scheme.admit_read(&a, &view!(self)),
        };
        if enters {
            self.scheme.expect(&a, &view!(self));
            while self.scheme.full(&a, &view!(self)) {
                self.evict(&a);
            }
            let slot = self.frames.insert(a.lpn, a.sectors, op == Op::Write);
            self.scheme.insert(slot, &a, &view!(self));
            self.frames.settle(&mut self.scheme);
        }
        assert_eq!(self.scheme.size(), self.frames.used());
        false
    }

    pub(super) fn read(&mut self, lpn: u64) -> bool {
        self.access(Op::Read, lpn)
    }

    pub(super) fn write(&mut self, lpn: u64) -> bool {
        self.access(Op::Write, lpn)
    }

    /// Room is made although nothing is inserted, as for a whole request.
    pub(super) fn make_room(&mut self) {
        let a = Access {
            lpn: Lpn(u64::MAX >> 8),
            op: Op::Write,
            now: Nanos::ZERO,
            request: self.seq,
            seq: self.seq,
            sectors: self.frames.full_mask(),
            entry: Entry::BLANK,
        };
        self.evict(&a);
    }

    fn evict(&mut self, a: &Access) {
        let order = self.candidates();
        let mut unit = Unit::default();
        self.scheme.victim(a, &view!(self), &mut unit);
        let mut slot = unit.slots[0];
        if let Some(&first) = order.first() {
            assert_eq!(first, slot, "the victim is the first candidate");
            assert_eq!(order.len(), self.frames.used(), "every page is a candidate");
            slot = *order.get(self.pick).unwrap_or(&first);
        }
        self.evicted.push(self.frames.lpn(slot).0);
        self.scheme.remove(slot, Why::Evicted, &view!(self));
        self.frames.vacate(slot, self.scheme.keeps(slot));
    }

    pub(super) fn candidates(&self) -> Vec<Slot> {
        let mut order = Vec::new();
        let found = self.scheme.candidates(&view!(self), &mut |slot| {
            order.push(slot);
            false
        });
        assert_eq!(found, None);
        order
    }

    /// Pages of [`Core::candidates`].
    pub(super) fn order(&self) -> Vec<u64> {
        let slots = self.candidates();
        slots.iter().map(|&s| self.frames.lpn(s).0).collect()
    }

    /// TRIM, discard or background removal.
    pub(super) fn trim(&mut self, lpn: u64) {
        match self.frames.slot_of(Lpn(lpn)) {
            Some(slot) => {
                self.scheme.remove(slot, Why::Gone, &view!(self));
                self.frames.remove(slot);
            }
            None => {
                self.scheme.forget(Lpn(lpn), &view!(self));
                self.frames.settle_forgotten(Lpn(lpn), &self.scheme);
            }
        }
    }

    /// FLUSH of the dirty pages for which `f` says true.
    pub(super) fn flush(&mut self, f: impl Fn(u64) -> bool) {
        let frames = &self.frames;
        let slots: Vec<Slot> = frames
            .dirty_slots()
            .filter(|&s| f(frames.lpn(s).0))
            .collect();
        for &slot in &slots {
            self.frames.clean(slot);
        }
        self.scheme.cleaned(&slots, &view!(self));
    }

    /// D11. `to` must not be cached.
    pub(super) fn rename(&mut self, from: u64, to: u64) -> bool {
        assert!(self.frames.slot_of(Lpn(to)).is_none());
        self.scheme.forget(Lpn(to), &view!(self));
        self.frames.settle_forgotten(Lpn(to), &self.scheme);
        let slot = self.frames.slot_of(Lpn(from));
        if let Some(slot) = slot {
            self.frames.rekey(slot, Lpn(to));
        }
        let renamed = self.scheme.rename(Lpn(from), Lpn(to), slot, &view!(self));
        if let Some(kept) = self.frames.ghost_of(Lpn(from)) {
            self.frames.rekey(kept, Lpn(to));
        }
        renamed
    }

    #[cfg(feature = "conformance")]
    pub(super) fn state(&self) -> String {
        let mut out = String::new();
        self.scheme.state(&view!(self), &mut out);
        out
    }
}

/// What [`storm`] did.
#[derive(Clone, Copy, Debug)]
pub(super) enum Done {
    /// An access; it hit or not.
    Access(u64, bool),
    /// The page is gone, cached or remembered.
    Trim(u64),
    /// One dirty page, or all, were written back.
    Flush,
    /// The first page, cached or remembered if the answer is true, is the second one now.
    Rename(u64, u64, bool),
}

/// Random operations over `pages` pages; after each `check` sees what was done. With `passed_over`
/// the victim is now and then another candidate than the first.
pub(super) fn storm<S: Scheme>(
    core: &mut Core<S>,
    (steps, pages, seed): (u32, u64, u64),
    passed_over: bool,
    mut check: impl FnMut(&Core<S>, Done),
) {
    let mut rng = SplitMix64::new(seed);
    for _ in 0..steps {
        let x = rng.next_u64();
        // Half of the accesses go to a fifth of the pages.
        let span = if x & 1 == 0 { pages } else { pages / 5 + 1 };
        let lpn = (x >> 8) % span;
        let other = (x >> 24) % pages;
        core.pick = match (x >> 40) % 16 {
            n @ 0..3 if passed_over => n as usize,
            _ => 0,
        };
        let done = match (x >> 50) % 64 {
            0 => {
                core.trim(lpn);
                Done::Trim(lpn)
            }
            1 => {
                core.flush(|_| true);
                Done::Flush
            }
            2 => {
                core.flush(|l| l == lpn);
                Done::Flush
            }
            3 if lpn != other && core.frames.slot_of(Lpn(other)).is_none() => {
                Done::Rename(lpn, other, core.rename(lpn, other))
            }
            n => {
                let op = if n % 2 == 0 { Op::Read } else { Op::Write };
                Done::Access(lpn, core.access(op, lpn))
            }
        };
        check(core, done);
    }
}
