//! A small cache beside the real one, in which a policy serves a sample of the pages.

use crate::{
    Access, AccessId, Boxed, Env, Expr, FrameCounts, Frames, RemoveReason, Request, Scheme,
    SchemeNotice, Unit, Victim, View, contract::Build,
};
use destage_types::{Lpn, Nanos, Op, SectorMask};

/// A policy with frames of its own, and what it cost in this epoch.
pub(super) struct ShadowCache {
    policy: Boxed,
    frames: Frames,
    unit: Unit,
    read_alloc: bool,
    /// Page accesses so far.
    accesses: u64,
    dirty_evictions: u64,
    read_misses: u64,
}

/// The view of the real cache, with the frames of the shadow.
macro_rules! view {
    ($shadow:ident, $v:ident) => {
        View {
            frames: &$shadow.frames,
            seq: $shadow.accesses,
            ..*$v
        }
    };
}

impl ShadowCache {
    /// The policy `expr` over `frames` frames, else as `env` says.
    pub fn new(expr: &Expr, frames: u32, env: &Env) -> ShadowCache {
        let env = Env {
            capacity: frames,
            slots: frames,
            ghosts_in_slots: false,
            background: false,
            ..env.clone()
        };
        ShadowCache {
            policy: Boxed::build(expr, &env),
            frames: Frames::new(FrameCounts::without_ghosts(frames), env.page),
            unit: Unit::default(),
            read_alloc: env.read_alloc,
            accesses: 0,
            dirty_evictions: 0,
            read_misses: 0,
        }
    }

    /// One page of a request: D1 to D5.
    pub fn serve(&mut self, r: &Request, lpn: Lpn, mask: SectorMask, v: &View) {
        self.accesses += 1;
        let id = AccessId {
            request: r.id,
            seq: self.accesses,
        };
        let a = Access::new(id, r.now, r.op, lpn, mask);
        let slot = self.frames.slot_of(lpn);
        if r.op == Op::Write {
            match slot {
                Some(slot) => {
                    self.policy.on_hit(slot, &a, &view!(self, v));
                    self.frames.write(slot, mask);
                }
                None => self.enter(&a, mask, v),
            }
            return;
        }
        let whole = self.frames.full_mask();
        match slot {
            Some(slot) if self.frames.has(slot, mask) => {
                return self.policy.on_hit(slot, &a, &view!(self, v));
            }
            Some(slot) => {
                let notice = SchemeNotice::PartialHit(slot, &a);
                self.policy.on_notice(notice, &view!(self, v));
                if self.read_alloc {
                    self.frames.fill(slot, whole);
                }
            }
            None if self.read_alloc => self.enter(&a, whole, v),
            None => {}
        }
        self.read_misses += 1;
    }

    /// Room is made for the page, and it comes in.
    fn enter(&mut self, a: &Access, mask: SectorMask, v: &View) {
        self.policy.on_miss(a, &view!(self, v));
        while self.policy.is_full(a, &view!(self, v)) {
            self.unit.clear();
            let victim = self.policy.victim(a, &view!(self, v), &mut self.unit);
            let Victim::Page(slot) = victim else {
                unreachable!("members are page policies, and the shadow is full");
            };
            self.dirty_evictions += u64::from(self.frames.is_dirty(slot));
            self.policy
                .on_remove(slot, RemoveReason::Evicted, &view!(self, v));
            self.frames.remove(slot);
        }
        let slot = self.frames.insert(a.lpn, mask, a.op == Op::Write);
        self.policy.on_insert(slot, a, &view!(self, v));
    }

    /// The page holds no data any more, or other data.
    pub fn drop_page(&mut self, lpn: Lpn, v: &View) {
        match self.frames.slot_of(lpn) {
            Some(slot) => {
                self.policy
                    .on_remove(slot, RemoveReason::Discarded, &view!(self, v));
                self.frames.remove(slot);
            }
            None => {
                let notice = SchemeNotice::Forgotten(lpn);
                self.policy.on_notice(notice, &view!(self, v));
            }
        }
    }

    /// The page is on flash.
    pub fn clean(&mut self, lpn: Lpn, v: &View) {
        let slot = self.frames.slot_of(lpn);
        if let Some(slot) = slot.filter(|&slot| self.frames.is_dirty(slot)) {
            self.frames.clean(slot);
            let notice = SchemeNotice::Cleaned(&[slot]);
            self.policy.on_notice(notice, &view!(self, v));
        }
    }

    /// Dirty evictions and read misses of this epoch.
    #[cfg(feature = "conformance")]
    pub fn counts(&self) -> (u64, u64) {
        (self.dirty_evictions, self.read_misses)
    }

    /// The cost of these, in ns.
    pub fn cost(&self, program: Nanos, read: Nanos) -> u128 {
        let times = |count: u64, time: Nanos| u128::from(count) * u128::from(time.0);
        times(self.dirty_evictions, program) + times(self.read_misses, read)
    }

    /// Counts from here.
    pub fn begin_epoch(&mut self) {
        (self.dirty_evictions, self.read_misses) = (0, 0);
        self.frames.tidy();
    }

    pub fn metadata_bytes(&self) -> u64 {
        self.policy.metadata_bytes(self.frames.used() as u64)
    }
}
