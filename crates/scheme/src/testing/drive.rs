//! Serves requests by the rules of the cache, D1 to D12.

use super::{Span, TestCache, masks};
use crate::{
    Access, AccessId, Admission, Ghosts, Occasion, RemoveReason, RenamePlan, Request, Scheme,
    SchemeNotice, Terms, Trimmed, Unit, Update, Victim, View, WriteBack, WriteBackQuery,
};
use destage_types::{ChannelId, Extent, Lpn, Nanos, Op, SectorMask, Slot};

/// [`TestCache::view`] while other fields may be changed.
macro_rules! view {
    ($cache:expr) => {
        View {
            frames: &$cache.frames,
            layout: &$cache.layout,
            device: &$cache.chips,
            now: Nanos($cache.now),
            seq: $cache.accesses,
        }
    };
}

impl TestCache<dyn Scheme> {
    /// A request whose pages replace those of `previous`, as far as it has any.
    pub fn serve(
        &mut self,
        op: Op,
        extents: &[Extent],
        previous: &[Option<u64>],
        atomic: bool,
    ) -> String {
        self.before = self.events.len();
        self.requests += 1;
        let (id, now, page) = (self.requests, Nanos(self.now), self.frames.page());
        let mut accesses = Vec::new();
        for (lpn, mask) in extents.iter().flat_map(|&e| masks(e, page)) {
            self.accesses += 1;
            let id = AccessId {
                request: id,
                seq: self.accesses,
            };
            accesses.push(Access::new(id, now, op, lpn, mask));
        }
        if op == Op::Write && !previous.is_empty() {
            for (i, a) in accesses.iter().enumerate() {
                let update = Update {
                    current: a.lpn,
                    previous: previous.get(i).copied().flatten().map(Lpn),
                    atomic,
                };
                let plan = self.scheme.rename_plan(&update, &view!(self));
                self.apply(&plan, a.lpn);
            }
        }
        let pages = accesses.len() as u64;
        let bytes = extents.iter().map(|e| u64::from(e.sectors) * 512).sum();
        let r = Request {
            id,
            op,
            now,
            extents,
            pages,
            bytes,
        };
        let before = View {
            seq: self.accesses - pages,
            ..view!(self)
        };
        let admission = self.scheme.on_request(&r, &before);
        let admission = match op {
            Op::Write => admission,
            _ => Admission::PerPage,
        };
        let result = match admission {
            Admission::PerPage => accesses.iter().map(|a| self.access(a)).collect(),
            Admission::Whole => self.write_whole(&accesses),
            Admission::Bypass => self.bypass(&accesses),
        };
        self.scheme
            .on_notice(SchemeNotice::RequestEnd(&r), &view!(self));
        self.check();
        result
    }

    /// D1 to D4.
    fn access(&mut self, a: &Access) -> char {
        let entry = self.frames.entry_at(a.lpn, self.frames.place(a.lpn));
        let (a, is_read) = (&a.looked_up(entry), a.op == Op::Read);
        if !is_read && !self.scheme.admit(a, &view!(self)) {
            self.bypass(&[*a]);
            return 'M';
        }
        match self.frames.slot_of(a.lpn) {
            Some(slot) if is_read && !self.frames.has(slot, a.sectors) => {
                let notice = SchemeNotice::PartialHit(slot, a);
                self.scheme.on_notice(notice, &view!(self));
                if self.read_alloc {
                    self.frames.fill(slot, self.frames.full_mask());
                }
            }
            Some(slot) => {
                self.hit(slot, a);
                return 'H';
            }
            None if is_read && !self.read_alloc => {}
            None if is_read && !self.scheme.admit(a, &view!(self)) => {}
            None => {
                self.scheme.on_miss(a, &view!(self));
                while self.scheme.is_full(a, &view!(self)) {
                    self.evict(a);
                }
                self.insert(a);
            }
        }
        'M'
    }

    fn hit(&mut self, slot: Slot, a: &Access) {
        self.scheme.on_hit(slot, a, &view!(self));
        self.free_released();
        if a.op == Op::Write {
            self.frames.write(slot, a.sectors);
        }
    }

    fn insert(&mut self, a: &Access) {
        let (mask, dirty) = match a.op {
            Op::Read => (self.frames.full_mask(), false),
            _ => (a.sectors, true),
        };
        let slot = self.frames.insert(a.lpn, mask, dirty);
        self.scheme.on_insert(slot, a, &view!(self));
        self.free_released();
    }

    fn free_released(&mut self) {
        while let Some(slot) = self.scheme.ghosts().and_then(Ghosts::take_released) {
            self.frames.release(slot);
        }
    }

    fn write_whole(&mut self, accesses: &[Access]) -> String {
        self.invalidate(accesses);
        let (first, mut expected) = (&accesses[0], false);
        while self.frames.used() + self.entering(accesses) > self.frames.capacity() {
            if !expected && self.frames.slot_of(first.lpn).is_none() {
                expected = self.scheme.admit(first, &view!(self));
                if expected {
                    self.scheme.on_miss(first, &view!(self));
                }
            }
            self.evict(first);
        }
        for a in accesses {
            let admitted = self.scheme.admit(a, &view!(self));
            match self.frames.slot_of(a.lpn) {
                _ if !admitted => drop(self.bypass(&[*a])),
                Some(slot) => self.hit(slot, a),
                None => {
                    if !std::mem::take(&mut expected) {
                        self.scheme.on_miss(a, &view!(self));
                    }
                    self.insert(a);
                }
            }
        }
        "M".repeat(accesses.len())
    }

    /// Pages that are not cached and are let in.
    fn entering(&mut self, accesses: &[Access]) -> usize {
        let absent = accesses
            .iter()
            .filter(|a| self.frames.slot_of(a.lpn).is_none());
        absent
            .filter(|a| self.scheme.admit(a, &view!(self)))
            .count()
    }

    fn bypass(&mut self, accesses: &[Access]) -> String {
        self.invalidate(accesses);
        self.report("bypass", accesses.iter().map(|a| a.lpn).collect());
        "M".repeat(accesses.len())
    }

    fn invalidate(&mut self, accesses: &[Access]) {
        let mut gone: Vec<Lpn> = Vec::new();
        for a in accesses {
            let slot = self.frames.slot_of(a.lpn);
            gone.extend(
                slot.filter(|&s| self.supersede(s, a.sectors))
                    .map(|_| a.lpn),
            );
        }
        self.report("inval", gone);
    }

    /// These sectors hold no data any more; says whether the page is gone.
    fn supersede(&mut self, slot: Slot, mask: SectorMask) -> bool {
        let left = self.frames.trim(slot, mask);
        match left {
            Trimmed::Emptied => self.discard(slot),
            Trimmed::Kept => {}
            Trimmed::Cleaned => {
                let notice = SchemeNotice::Cleaned(&[slot]);
                self.scheme.on_notice(notice, &view!(self));
            }
        }
        left == Trimmed::Emptied
    }

    fn discard(&mut self, slot: Slot) {
        self.scheme
            .on_remove(slot, RemoveReason::Discarded, &view!(self));
        self.frames.remove(slot);
    }

    /// Room is made although nothing comes in, as for a request that is let in as a whole.
    pub fn make_room(&mut self) {
        let id = AccessId {
            request: self.requests,
            seq: self.accesses,
        };
        let (lpn, mask) = (Lpn(u64::MAX >> 10), self.frames.full_mask());
        self.evict(&Access::new(id, Nanos(self.now), Op::Write, lpn, mask));
    }

    /// D5 and D6.
    fn evict(&mut self, a: &Access) {
        let order = self.next_victims();
        let mut unit = std::mem::take(&mut self.unit);
        unit.clear();
        if let Victim::Page(slot) = self.scheme.victim(a, &view!(self), &mut unit) {
            unit.slots.push(slot);
        }
        assert!(
            !unit.slots.is_empty(),
            "a scheme that holds pages names a victim"
        );
        match order.first() {
            Some(_) if self.filtered => {
                assert!(order.contains(&unit.slots[0]), "the victim is a next one");
            }
            Some(first) => {
                assert_eq!(unit.slots, [*first], "the victim is the first one");
                unit.slots[0] = *order.get(self.pick).unwrap_or(first);
            }
            None => {}
        }
        unit.slots.sort_unstable_by_key(|&s| self.frames.lpn(s));
        for (word, dirty) in [("flush", true), ("drop", false)] {
            let of = unit
                .slots
                .iter()
                .filter(|&&s| self.frames.is_dirty(s) == dirty);
            self.report(word, of.map(|&s| self.frames.lpn(s)).collect());
        }
        for &slot in &unit.slots {
            self.evicted.push(self.frames.lpn(slot).0);
            self.scheme
                .on_remove(slot, RemoveReason::Evicted, &view!(self));
            let ghosts = self.scheme.ghosts();
            let kept = ghosts.is_some_and(|ghosts| ghosts.is_in_slot(slot));
            self.frames.vacate(slot, kept);
        }
        self.unit = unit;
    }

    fn report(&mut self, word: &str, pages: Vec<Lpn>) {
        let pages: Vec<String> = pages.iter().map(Lpn::to_string).collect();
        if !pages.is_empty() {
            self.events.push(format!("{word}{{{}}}", pages.join(",")));
        }
    }

    /// D8.
    pub fn trim(&mut self, span: impl Span) {
        self.before = self.events.len();
        let page = self.frames.page();
        for (lpn, mask) in masks(span.extent(page), page) {
            if let Some(slot) = self.frames.slot_of(lpn) {
                self.supersede(slot, mask);
            }
            if mask == page.full_mask() {
                let notice = SchemeNotice::Forgotten(lpn);
                self.scheme.on_notice(notice, &view!(self));
                self.free_released();
            }
        }
        self.check();
    }

    /// D9, of the dirty pages for which `f` says true.
    pub fn flush(&mut self, f: impl Fn(u64) -> bool) {
        self.before = self.events.len();
        let mut dirty: Vec<Slot> = self.frames.dirty_slots().collect();
        dirty.retain(|&s| f(self.frames.lpn(s).0));
        dirty.sort_by_key(|&s| self.frames.lpn(s));
        self.clean(&dirty);
        self.check();
    }

    fn clean(&mut self, slots: &[Slot]) {
        for &slot in slots {
            self.frames.clean(slot);
        }
        self.scheme
            .on_notice(SchemeNotice::Cleaned(slots), &view!(self));
    }

    /// D11: page `from`, cached or remembered, is page `to` from now on, unless that is cached.
    pub fn rename(&mut self, from: u64, to: u64) -> bool {
        self.before = self.events.len();
        let plan = RenamePlan {
            forget: self.slot(to).is_none(),
            source: Some(Lpn(from)),
            ghosts: true,
            ..RenamePlan::default()
        };
        let renamed = self.apply(&plan, Lpn(to));
        self.check();
        renamed
    }

    fn apply(&mut self, plan: &RenamePlan, to: Lpn) -> bool {
        if plan.forget {
            let notice = SchemeNotice::Forgotten(to);
            self.scheme.on_notice(notice, &view!(self));
            self.free_released();
        }
        let mut renamed = false;
        if let Some(from) = plan.source {
            match (self.frames.slot_of(to), self.frames.slot_of(from)) {
                (Some(_), _) => self.drop_old(from),
                (None, None) if !plan.ghosts => {}
                (None, slot) => {
                    if let Some(slot) = slot {
                        self.frames.rekey(slot, to);
                    }
                    renamed = self.scheme.rename(from, to, slot, &view!(self));
                    assert!(renamed || slot.is_none(), "a cached page is renamed");
                    if let Some(ghost) = self.frames.ghost_of(from).filter(|_| renamed) {
                        self.frames.rekey(ghost, to);
                    }
                }
            }
            let unmap = if plan.unmap { " and unmap" } else { "" };
            self.events
                .extend(renamed.then(|| format!("remap{unmap} {from}->{to}")));
        }
        if let Some(old) = plan.discard {
            self.drop_old(old);
        }
        renamed
    }

    fn drop_old(&mut self, lpn: Lpn) {
        if let Some(slot) = self.frames.slot_of(lpn) {
            self.discard(slot);
            self.events.push(format!("discard {lpn}"));
        }
    }

    /// The pages that the scheme writes back on the idle `channel` while it has so many write-backs
    /// `outstanding`, those of the pages `busy` among them.
    pub fn write_back(
        &mut self,
        channel: u32,
        outstanding: u32,
        busy: &[u64],
    ) -> (Vec<u64>, WriteBack) {
        let occasion = Occasion::IdleChannel(ChannelId(channel));
        self.write_back_on(occasion, outstanding, busy)
    }

    /// The pages that the scheme writes back on another occasion.
    pub fn write_back_on(
        &mut self,
        occasion: Occasion,
        outstanding: u32,
        busy: &[u64],
    ) -> (Vec<u64>, WriteBack) {
        let (mut unit, v) = (Unit::default(), view!(self));
        let is_busy = |slot| busy.contains(&v.frames.lpn(slot).0);
        let query = WriteBackQuery {
            occasion,
            outstanding,
            busy: &is_busy,
            units: outstanding,
        };
        let answer = self.scheme.write_back(&query, &v, &mut unit);
        assert_eq!(matches!(answer, WriteBack::Unit(_)), !unit.slots.is_empty());
        (self.lpns(unit.slots), answer)
    }

    /// Lets one write-back on `channel` begin and end.
    pub fn idle(&mut self, channel: u32) {
        let (pages, answer) = self.write_back(channel, 0, &[]);
        for slot in pages
            .into_iter()
            .filter_map(|lpn| self.slot(lpn))
            .collect::<Vec<_>>()
        {
            assert!(
                self.frames.is_dirty(slot),
                "a clean page needs no write-back"
            );
            match answer {
                WriteBack::Unit(Terms::REMOVE) => self.discard(slot),
                _ => self.clean(&[slot]),
            }
        }
        self.check();
    }

    /// Sizes agree, and the next victims are all cached pages, or no more than the first of them.
    fn check(&self) {
        let mut order = self.next_victims();
        if order.len() > 1 {
            order.sort_unstable();
            assert!(
                order.into_iter().eq(self.frames.used_slots()),
                "each page leaves once"
            );
        }
    }
}
