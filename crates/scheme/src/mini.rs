//! A small cache core for unit tests: enough of the request walk to drive one scheme.

use crate::{
    Access, Admission, Entry, Frames, NoDevice, RenamePlan, Request, Scheme, Trimmed, Unit, Update,
    View, Why,
};
use destage_types::{Extent, Lpn, Nanos, Op, PageSize, SectorMask, Slot, StaticLayout};

/// One cache and what happened to it.
pub(crate) struct Mini<S> {
    pub scheme: S,
    pub frames: Frames,
    pub layout: StaticLayout,
    pub read_alloc: bool,
    /// Words about the current request, as the worked examples print them.
    pub events: Vec<String>,
    /// Flash copies invalidated.
    pub unmapped: Vec<u64>,
    /// The last victim unit.
    pub unit: Unit,
    id: u64,
    seq: u64,
    now: u64,
}

macro_rules! view {
    ($m:expr) => {
        View {
            frames: &$m.frames,
            layout: &$m.layout,
            device: &NoDevice,
            now: Nanos($m.now),
        }
    };
}

impl<S: Scheme> Mini<S> {
    pub fn new(capacity: u32, read_alloc: bool, scheme: S) -> Mini<S> {
        Mini {
            frames: Frames::new(capacity, scheme.most_kept(), PageSize::KIB4),
            scheme,
            layout: StaticLayout::flat(1, 1),
            read_alloc,
            events: Vec::new(),
            unmapped: Vec::new(),
            unit: Unit::default(),
            id: 0,
            seq: 0,
            now: 0,
        }
    }

    pub fn view(&self) -> View<'_> {
        view!(self)
    }

    /// The pages cached, in ascending order.
    pub fn cached(&self) -> Vec<u64> {
        let slots = self.frames.used_slots();
        let mut pages: Vec<u64> = slots.map(|s| self.frames.lpn(s).0).collect();
        pages.sort_unstable();
        pages
    }

    /// The events of the last request.
    pub fn said(&self) -> String {
        match self.events.is_empty() {
            true => "-".to_owned(),
            false => self.events.join(" "),
        }
    }

    /// The state string.
    #[cfg(feature = "conformance")]
    pub fn state(&self) -> String {
        let mut out = String::new();
        self.scheme.state(&self.view(), &mut out);
        out
    }

    /// Writes pages `first..=last` at `now`; the answer has H or M for each page.
    pub fn write(&mut self, first: u64, last: u64, now: u64) -> String {
        self.write_from(first, last, now, &[], false)
    }

    /// Writes pages that have old addresses.
    pub fn update(&mut self, first: u64, pre: &[Option<u64>], atomic: bool) -> String {
        let last = first + pre.len() as u64 - 1;
        self.write_from(first, last, self.now + 1, pre, atomic)
    }

    fn write_from(
        &mut self,
        first: u64,
        last: u64,
        now: u64,
        pre: &[Option<u64>],
        atomic: bool,
    ) -> String {
        let extent = pages(first, last);
        self.serve(Op::Write, &[extent], now, pre, atomic)
    }

    /// Reads pages `first..=last` at `now`.
    pub fn read(&mut self, first: u64, last: u64, now: u64) -> String {
        self.serve(Op::Read, &[pages(first, last)], now, &[], false)
    }

    /// One read or write of any extents.
    pub fn serve(
        &mut self,
        op: Op,
        extents: &[Extent],
        now: u64,
        pre: &[Option<u64>],
        atomic: bool,
    ) -> String {
        self.events.clear();
        (self.id, self.now) = (self.id + 1, now);
        let accesses = self.accesses(op, extents);
        let r = Request {
            id: self.id,
            op,
            now: Nanos(now),
            extents,
            pages: accesses.len() as u32,
            bytes: extents.iter().map(|e| u64::from(e.sectors) * 512).sum(),
        };
        if op == Op::Write && self.scheme.tracks_updates(!pre.is_empty()) {
            for (i, a) in accesses.iter().enumerate() {
                self.rename(a.lpn, pre.get(i).copied().flatten(), atomic);
            }
        }
        self.scheme.request(&r, &view!(self));
        let admission = match op {
            Op::Write => self.scheme.admit_request(&r, &view!(self)),
            _ => Admission::PerPage,
        };
        let result = match admission {
            Admission::Bypass => self.invalidate(&accesses),
            Admission::Whole => {
                self.invalidate(&accesses);
                let absent = |m: &Self| {
                    let absent = accesses
                        .iter()
                        .filter(|a| m.frames.slot_of(a.lpn).is_none());
                    absent.count()
                };
                while self.frames.used() + absent(self) > self.frames.capacity() {
                    self.evict(&accesses[0]);
                }
                for a in &accesses {
                    self.write_page(a);
                }
                "M".repeat(accesses.len())
            }
            Admission::PerPage => accesses.iter().map(|a| self.access(a)).collect(),
        };
        self.scheme.request_done(&r, &view!(self));
        assert_eq!(self.scheme.size(), self.frames.used());
        result
    }

    fn accesses(&mut self, op: Op, extents: &[Extent]) -> Vec<Access> {
        let mut accesses = Vec::new();
        for e in extents {
            for lpn in e.start_sector / 8..=(e.end() - 1) / 8 {
                let (from, to) = (e.start_sector.max(lpn * 8), e.end().min(lpn * 8 + 8));
                self.seq += 1;
                accesses.push(Access {
                    lpn: Lpn(lpn),
                    op,
                    now: Nanos(self.now),
                    request: self.id,
                    seq: self.seq,
                    sectors: SectorMask::span((from - lpn * 8) as u32, (to - from) as u32),
                    entry: Entry::BLANK,
                });
            }
        }
        accesses
    }

    fn rename(&mut self, current: Lpn, previous: Option<u64>, atomic: bool) {
        let previous = previous.map(Lpn);
        let update = Update {
            current,
            previous,
            atomic,
        };
        let plan: RenamePlan = self.scheme.rename_plan(&update, &view!(self));
        if plan.forget {
            self.scheme.forget(current, &view!(self));
            self.frames.settle_forgotten(current, &self.scheme);
        }
        if let Some(source) = plan.source {
            match (self.frames.slot_of(current), self.frames.slot_of(source)) {
                (None, Some(slot)) => {
                    self.frames.rekey(slot, current);
                    assert!(
                        self.scheme
                            .rename(source, current, Some(slot), &view!(self))
                    );
                    self.remapped(source, current, plan.unmap);
                }
                (None, None) if plan.ghosts => {
                    if self.scheme.rename(source, current, None, &view!(self)) {
                        if let Some(kept) = self.frames.ghost_of(source) {
                            self.frames.rekey(kept, current);
                        }
                        self.remapped(source, current, plan.unmap);
                    }
                }
                (None, None) => {}
                (Some(_), _) => self.discard(source),
            }
        }
        if let Some(old) = plan.discard {
            self.discard(old);
        }
    }

    fn remapped(&mut self, from: Lpn, to: Lpn, unmap: bool) {
        self.events.push(format!("remap {from}->{to}"));
        if unmap {
            self.unmapped.push(from.0);
        }
    }

    fn discard(&mut self, lpn: Lpn) {
        if let Some(slot) = self.frames.slot_of(lpn) {
            self.gone(slot);
            self.events.push(format!("discard {lpn}"));
        }
    }

    fn gone(&mut self, slot: Slot) {
        self.scheme.remove(slot, Why::Gone, &view!(self));
        self.frames.remove(slot);
    }

    fn invalidate(&mut self, accesses: &[Access]) -> String {
        let mut gone = Vec::new();
        for a in accesses {
            if let Some(slot) = self.frames.slot_of(a.lpn)
                && self.frames.trim(slot, a.sectors) == Trimmed::Gone
            {
                self.gone(slot);
                gone.push(a.lpn.to_string());
            }
        }
        if !gone.is_empty() {
            self.events.push(format!("inval{{{}}}", gone.join(",")));
        }
        "M".repeat(accesses.len())
    }

    fn access(&mut self, a: &Access) -> char {
        if a.op == Op::Write {
            if self.scheme.admit_page(a, &view!(self)) {
                return self.write_page(a);
            }
            self.invalidate(&[*a]);
            return 'M';
        }
        match self.frames.slot_of(a.lpn) {
            Some(slot) if self.frames.valid(slot).intersect(a.sectors) == a.sectors => {
                self.scheme.touch(slot, a, &view!(self));
                'H'
            }
            Some(_) => 'M',
            None => {
                if self.read_alloc {
                    self.insert(a, false);
                }
                'M'
            }
        }
    }

    fn write_page(&mut self, a: &Access) -> char {
        if let Some(slot) = self.frames.slot_of(a.lpn) {
            self.scheme.touch(slot, a, &view!(self));
            self.frames.write(slot, a.sectors);
            return 'H';
        }
        self.insert(a, true);
        'M'
    }

    fn insert(&mut self, a: &Access, dirty: bool) {
        self.scheme.expect(a, &view!(self));
        while self.scheme.full(a, &view!(self)) {
            self.evict(a);
        }
        let mask = if dirty {
            a.sectors
        } else {
            self.frames.full_mask()
        };
        let slot = self.frames.insert(a.lpn, mask, dirty);
        self.scheme.insert(slot, a, &view!(self));
    }

    fn evict(&mut self, a: &Access) {
        let mut unit = std::mem::take(&mut self.unit);
        unit.clear();
        self.scheme.victim(a, &view!(self), &mut unit);
        assert!(
            !unit.slots.is_empty(),
            "a scheme that holds pages names a victim"
        );
        unit.slots.sort_unstable_by_key(|&s| self.frames.lpn(s));
        for (word, dirty) in [("flush", true), ("drop", false)] {
            let of = unit
                .slots
                .iter()
                .filter(|&&s| self.frames.is_dirty(s) == dirty);
            let pages: Vec<String> = of.map(|&s| self.frames.lpn(s).to_string()).collect();
            if !pages.is_empty() {
                self.events.push(format!("{word}{{{}}}", pages.join(",")));
            }
        }
        for &slot in &unit.slots {
            self.scheme.remove(slot, Why::Evicted, &view!(self));
            self.frames.vacate(slot, self.scheme.keeps(slot));
        }
        self.unit = unit;
    }

    /// Every page of `first..=last` holds no data any more.
    pub fn trim(&mut self, first: u64, last: u64) {
        self.events.clear();
        self.id += 1;
        for lpn in (first..=last).map(Lpn) {
            if let Some(slot) = self.frames.slot_of(lpn) {
                self.gone(slot);
            }
            self.scheme.forget(lpn, &view!(self));
            self.frames.settle_forgotten(lpn, &self.scheme);
        }
    }

    /// All dirty pages are written back and stay.
    pub fn flush(&mut self) {
        self.id += 1;
        let slots: Vec<Slot> = self.frames.dirty_slots().collect();
        for &slot in &slots {
            self.frames.clean(slot);
        }
        self.scheme.cleaned(&slots, &view!(self));
    }
}

/// The extent of whole pages `first..=last`.
pub(crate) fn pages(first: u64, last: u64) -> Extent {
    Extent {
        start_sector: first * 8,
        sectors: ((last - first + 1) * 8) as u32,
    }
}
