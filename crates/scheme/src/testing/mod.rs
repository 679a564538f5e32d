//! A small cache core for unit tests: drives one scheme by the rules D1-D12, over a device whose
//! chip states are set by hand or follow from fixed latencies.

mod random;
mod spy;

pub(crate) use random::{ALL, Mix, random_run};
pub(crate) use spy::Spy;

use crate::view::{ChipLoad, FlashCosts};
use crate::{
    Access, Admission, Boxed, DeviceView, Entry, Env, Frames, Request, Scheme, Trimmed, Unit, View,
    Why,
};
use destage_types::{ChipId, Extent, Lpn, Nanos, Op, PageSize, SectorMask, Slot, StaticLayout};

/// A device that says what it is told to say.
#[derive(Clone, Debug)]
pub(crate) struct Chips {
    pub(crate) costs: FlashCosts,
    pub(crate) load: Vec<ChipLoad>,
    pub(crate) victim_valid_pages: Vec<u64>,
    pub(crate) gc: Vec<bool>,
    pub(crate) next_program: Option<Nanos>,
}

impl Chips {
    pub(crate) fn new(chips: usize) -> Chips {
        Chips {
            costs: FlashCosts::default(),
            load: vec![ChipLoad::default(); chips],
            victim_valid_pages: vec![0; chips],
            gc: vec![false; chips],
            next_program: None,
        }
    }
}

impl DeviceView for Chips {
    fn load(&self, chip: ChipId) -> ChipLoad {
        self.load[chip.index()]
    }

    fn victim_valid_pages(&self, chip: ChipId) -> u64 {
        self.victim_valid_pages[chip.index()]
    }

    fn in_gc(&self, chip: ChipId) -> bool {
        self.gc[chip.index()]
    }

    fn any_in_gc(&self) -> bool {
        self.gc.contains(&true)
    }

    fn costs(&self) -> FlashCosts {
        self.costs
    }

    fn next_program(&self, _chip: ChipId) -> Nanos {
        self.next_program.unwrap_or(self.costs.program)
    }
}

/// `C` frames of `page_sectors` on `chips` chips, one a channel.
pub(crate) fn env(capacity: u32, page_sectors: u64, chips: u32) -> Env {
    let mut env = Env::cache_only(capacity);
    env.page = PageSize::new(page_sectors * 512).unwrap();
    env.layout = StaticLayout::flat(chips, chips);
    env
}

/// Pages `first..=last` of 4 KiB as an extent.
pub(crate) fn pages(first: u64, last: u64) -> Extent {
    sectors(first * 8, last * 8 + 7)
}

/// Sectors `first..=last` as an extent.
pub(crate) fn sectors(first: u64, last: u64) -> Extent {
    Extent {
        start_sector: first,
        sectors: (last - first + 1) as u32,
    }
}

/// One scheme, its frames, a clock and a device.
pub(crate) struct Rig<S> {
    pub(crate) scheme: S,
    pub(crate) frames: Frames,
    pub(crate) layout: StaticLayout,
    pub(crate) chips: Chips,
    pub(crate) now: u64,
    pub(crate) read_alloc: bool,
    /// Latencies of a read and a program; queues are FIFO.
    pub(crate) timed: Option<(u64, u64)>,
    free_at: Vec<u64>,
    requests: u64,
    accesses: u64,
    pub(crate) events: Vec<String>,
}

impl<S: Scheme> Rig<S> {
    pub(crate) fn new(scheme: S, env: &Env) -> Rig<S> {
        let chips = env.layout.chips() as usize;
        Rig {
            frames: Frames::new(env.capacity, scheme.most_kept(), env.page),
            scheme,
            layout: env.layout,
            chips: Chips::new(chips),
            now: 0,
            read_alloc: true,
            timed: None,
            free_at: vec![0; chips],
            requests: 0,
            accesses: 0,
            events: vec![],
        }
    }

    /// Calls the scheme with the view of this moment.
    pub(crate) fn with<T>(&mut self, f: impl FnOnce(&mut S, &View) -> T) -> T {
        let v = View {
            frames: &self.frames,
            layout: &self.layout,
            device: &self.chips,
            now: Nanos(self.now),
        };
        f(&mut self.scheme, &v)
    }

    pub(crate) fn at(&mut self, now: u64) {
        self.now = now;
        for (load, free) in self.chips.load.iter_mut().zip(&self.free_at) {
            if self.timed.is_some() {
                load.drain = Nanos(free.saturating_sub(now));
            }
        }
    }

    /// Queues a flash operation; says how long it waits.
    fn enqueue(&mut self, lpn: Lpn, write: bool) -> u64 {
        let Some((read, program)) = self.timed else {
            return 0;
        };
        let chip = self.layout.chip(lpn).index();
        let start = self.free_at[chip].max(self.now);
        self.free_at[chip] = start + if write { program } else { read };
        let wait = start - self.now;
        self.at(self.now);
        wait
    }

    pub(crate) fn write(&mut self, extent: Extent) -> String {
        self.request(Op::Write, &[extent], &[])
    }

    pub(crate) fn read(&mut self, extent: Extent) -> String {
        self.request(Op::Read, &[extent], &[])
    }

    /// Serves a request after the renames of its pages; one letter a page.
    pub(crate) fn request(&mut self, op: Op, extents: &[Extent], renames: &[(u64, u64)]) -> String {
        for &(from, to) in renames {
            self.rename(Lpn(from), Lpn(to));
        }
        self.requests += 1;
        let page = self.frames.page();
        let masks = page_masks(page, extents);
        let r = Request {
            id: self.requests,
            op,
            now: Nanos(self.now),
            extents,
            pages: masks.len() as u32,
            bytes: extents.iter().map(|e| u64::from(e.sectors) * 512).sum(),
        };
        self.with(|s, v| s.request(&r, v));
        let admission = match op {
            Op::Write => self.with(|s, v| s.admit_request(&r, v)),
            _ => Admission::PerPage,
        };
        let mut result = String::new();
        for (lpn, sectors) in masks {
            self.accesses += 1;
            let a = Access {
                lpn,
                op,
                now: r.now,
                request: r.id,
                seq: self.accesses,
                sectors,
                entry: Entry::BLANK,
            };
            let hit = self.access(&a, admission);
            result.push(if hit { 'H' } else { 'M' });
            self.check();
        }
        self.with(|s, v| s.request_done(&r, v));
        result
    }

    fn access(&mut self, a: &Access, admission: Admission) -> bool {
        let slot = self.frames.slot_of(a.lpn);
        if a.op == Op::Write {
            let bypass = admission == Admission::Bypass || !self.with(|s, v| s.admit_page(a, v));
            if bypass {
                if let Some(slot) = slot {
                    self.drop_page(slot, Why::Gone);
                }
                self.enqueue(a.lpn, true);
                self.events.push(format!("bypass{{{}}}", a.lpn));
                return false;
            }
        }
        match (slot, a.op) {
            (Some(slot), Op::Read) if !self.frames.valid(slot).contains(a.sectors) => {
                self.enqueue(a.lpn, false);
                if self.read_alloc {
                    self.frames.fill(slot, self.frames.full_mask());
                }
                false
            }
            (Some(slot), op) => {
                self.with(|s, v| s.touch(slot, a, v));
                self.frames.settle(&mut self.scheme);
                if op == Op::Write {
                    self.frames.write(slot, a.sectors);
                }
                true
            }
            (None, Op::Read) if !self.read_alloc => false,
            (None, op) => {
                if op == Op::Read {
                    self.enqueue(a.lpn, false);
                }
                self.admit(a);
                false
            }
        }
    }

    fn admit(&mut self, a: &Access) {
        self.with(|s, v| s.expect(a, v));
        while self.with(|s, v| s.full(a, v)) {
            let mut unit = Unit::default();
            self.with(|s, v| s.victim(a, v, &mut unit));
            assert!(!unit.slots.is_empty(), "a victim is named");
            unit.slots.sort_by_key(|&s| self.frames.lpn(s));
            for slot in unit.slots {
                let (lpn, dirty) = (self.frames.lpn(slot), self.frames.is_dirty(slot));
                self.drop_page(slot, Why::Evicted);
                let word = if dirty { "flush" } else { "drop" };
                let mut event = format!("{word}{{{lpn}}}");
                if dirty && self.timed.is_some() {
                    let chip = self.layout.chip(lpn);
                    let wait = self.enqueue(lpn, true);
                    event.push_str(&format!("@chip{chip} wait {wait}"));
                }
                self.events.push(event);
            }
        }
        let (mask, dirty) = match a.op {
            Op::Read => (self.frames.full_mask(), false),
            _ => (a.sectors, true),
        };
        let slot = self.frames.insert(a.lpn, mask, dirty);
        self.with(|s, v| s.insert(slot, a, v));
        self.frames.settle(&mut self.scheme);
    }

    pub(crate) fn drop_page(&mut self, slot: Slot, why: Why) {
        self.with(|s, v| s.remove(slot, why, v));
        self.frames.vacate(slot, self.scheme.keeps(slot));
    }

    /// cac re-keys `from`, or a ghost of it, to `to`.
    pub(crate) fn rename(&mut self, from: Lpn, to: Lpn) -> bool {
        if from == to {
            return false;
        }
        let slot = self.frames.slot_of(from);
        if self.frames.slot_of(to).is_some() {
            if let Some(slot) = slot {
                self.drop_page(slot, Why::Gone);
            }
            return false;
        }
        self.forget(to);
        if let Some(slot) = slot {
            self.frames.rekey(slot, to);
        }
        let renamed = self.with(|s, v| s.rename(from, to, slot, v));
        if let Some(kept) = self.frames.ghost_of(from) {
            self.frames.rekey(kept, to);
        }
        self.check();
        renamed
    }

    fn forget(&mut self, lpn: Lpn) {
        self.with(|s, v| s.forget(lpn, v));
        self.frames.settle_forgotten(lpn, &self.scheme);
    }

    pub(crate) fn flush(&mut self) {
        let mut dirty: Vec<Slot> = self.frames.dirty_slots().collect();
        dirty.sort_by_key(|&s| self.frames.lpn(s));
        for &slot in &dirty {
            self.frames.clean(slot);
        }
        self.with(|s, v| s.cleaned(&dirty, v));
        self.check();
    }

    /// TRIM of some sectors of one page.
    pub(crate) fn trim(&mut self, lpn: Lpn, mask: SectorMask) {
        match self.frames.slot_of(lpn) {
            None => self.forget(lpn),
            Some(slot) => {
                let mut probe = self.frames.clone();
                match probe.trim(slot, mask) {
                    Trimmed::Gone => self.drop_page(slot, Why::Gone),
                    Trimmed::Kept => self.frames = probe,
                    Trimmed::Cleaned => {
                        self.frames = probe;
                        self.with(|s, v| s.cleaned(&[slot], v));
                    }
                }
            }
        }
        self.check();
    }

    /// Sizes agree, and every cached page is a candidate exactly once, if there is an order.
    pub(crate) fn check(&mut self) {
        assert_eq!(self.scheme.size(), self.frames.used());
        let mut seen: Vec<Slot> = self.candidates();
        if !seen.is_empty() {
            seen.sort();
            assert!(
                seen.iter().copied().eq(self.frames.used_slots()),
                "candidates"
            );
        }
    }

    pub(crate) fn candidates(&mut self) -> Vec<Slot> {
        let mut seen = vec![];
        self.with(|s, v| {
            s.candidates(v, &mut |slot| {
                seen.push(slot);
                false
            })
        });
        seen
    }

    /// Pages in the order in which they would be evicted.
    pub(crate) fn order(&mut self) -> Vec<u64> {
        let slots = self.candidates();
        slots.iter().map(|&s| self.frames.lpn(s).0).collect()
    }

    pub(crate) fn take(&mut self) -> String {
        let events = self.events.join(" ");
        self.events.clear();
        events
    }

    #[cfg(feature = "conformance")]
    pub(crate) fn state(&mut self) -> String {
        let mut out = String::new();
        self.with(|s, v| s.state(v, &mut out));
        out
    }

    #[cfg(feature = "conformance")]
    pub(crate) fn notes(&mut self) -> String {
        let mut notes = vec![];
        self.scheme.take_notes(&mut notes);
        let words: Vec<String> = notes.into_iter().map(|n| n.1).collect();
        words.join(" ")
    }
}

/// Pages of a request, ascending inside an extent, with the sectors that are covered.
fn page_masks(page: PageSize, extents: &[Extent]) -> Vec<(Lpn, SectorMask)> {
    let mut masks: Vec<(Lpn, SectorMask)> = vec![];
    for e in extents {
        for sector in e.start_sector..e.end() {
            let (lpn, bit) = (
                page.page_of(sector),
                SectorMask::span(page.offset(sector), 1),
            );
            match masks.iter_mut().find(|m| m.0 == lpn) {
                Some(m) => m.1 = m.1.union(bit),
                None => masks.push((lpn, bit)),
            }
        }
    }
    masks
}

/// A scheme behind a pointer.
pub(crate) fn boxed(scheme: impl Scheme + Send + 'static) -> Boxed {
    Boxed(Box::new(scheme))
}

/// The counter `name` of a scheme.
pub(crate) fn stat(scheme: &impl Scheme, name: &str) -> u64 {
    let mut value = None;
    scheme.stats(&mut |n, x| {
        if n == name {
            value = Some(x);
        }
    });
    value.expect("the scheme has this counter")
}
