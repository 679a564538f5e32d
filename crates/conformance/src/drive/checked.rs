//! A scheme that is watched: every call must keep the contract of [`Scheme`].

mod next;

use super::journal::Shared;
use destage_scheme::{
    Access, Admission, Layer, RemoveReason, RenamePlan, Request, Scheme, Unit, Update, Victim,
    View, WriteBack,
};
use destage_types::{ChannelId, Lpn, Op, Slot};

/// How the victim relates to the candidate order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Nothing is promised.
    Free,
    /// The order may be empty or end early; if it has a first page, that is the victim.
    Begins,
    /// The order holds every cached page; the victim is one of them. ARC: the page that comes in
    /// can sway REPLACE, and the order is asked for without one.
    Holds,
    /// The order holds every cached page, and the victim is the first.
    First,
}

/// What is promised about what would leave next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promise {
    /// By `next_victims`.
    pub order: Order,
    /// By `next_units`.
    pub units: Order,
    /// Is the group of `next_unit` the victim, whatever page comes in?
    pub next_unit: bool,
    /// Does no hit make a page the first of the next victims?
    pub spares_hits: bool,
}

/// How the victim is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The scheme is asked.
    Asked,
    /// It is not: the first of its next victims or units leaves, where the victim is promised to be that.
    Unasked,
}

/// Hands every call to the scheme inside and panics if caller or scheme break the contract.
pub struct Checked<S> {
    inner: S,
    promise: Promise,
    choice: Choice,
    journal: Shared,
    /// The most metadata it can come to have, in bytes for all frames.
    most_metadata: Option<u64>,
    /// Which slots hold a page, as the scheme was told.
    present: Vec<bool>,
    /// The request that is open.
    request: Option<u64>,
    /// The page access for which `on_miss` was called and `on_insert` not yet.
    expected: Option<u64>,
    /// Pages of the victim unit that have not been removed yet.
    leaving: Vec<Slot>,
    unit: Unit,
}

impl<S: Scheme> Checked<S> {
    /// Watches `inner`, and holds it to a bound of its metadata.
    pub fn new(
        inner: S,
        promise: Promise,
        choice: Choice,
        most_metadata: Option<u64>,
        journal: Shared,
    ) -> Checked<S> {
        Checked {
            inner,
            promise,
            choice,
            journal,
            most_metadata,
            present: Vec::new(),
            request: None,
            expected: None,
            leaving: Vec::new(),
            unit: Unit::default(),
        }
    }

    fn is_present(&self, slot: Slot) -> bool {
        self.present.get(slot.index()) == Some(&true)
    }

    fn set_present(&mut self, slot: Slot, to: bool) {
        if slot.index() >= self.present.len() {
            self.present.resize(slot.index() + 1, false);
        }
        self.present[slot.index()] = to;
    }

    fn check_access(&self, a: &Access) {
        assert_eq!(self.request, Some(a.request), "page {}: its request", a.lpn);
        assert!(
            !a.sectors.is_empty(),
            "page {}: an access of nothing",
            a.lpn
        );
    }

    fn check_size(&self, v: &View) {
        let (size, used) = (self.inner.size(), v.frames.used());
        assert_eq!(size, used, "pages the scheme holds, frames in use");
        assert!(used <= v.frames.capacity(), "more pages than frames");
    }

    /// The scheme may keep the slots of as many evicted pages as it said, and of no page that is cached.
    fn check_ghosts(&self, v: &View) {
        let slots = (0..v.frames.slots() as u32).map(Slot);
        let ghosts = slots.filter(|&slot| !self.is_present(slot) && self.inner.holds_ghost(slot));
        let (held, most) = (ghosts.count(), self.inner.max_ghosts());
        assert!(held <= most as usize, "{held} ghosts, at most {most}");
        let mut journal = self.journal.open();
        journal.most_ghosts = journal.most_ghosts.max(held);
    }

    /// Takes the scheme's words at once, so that they stand in order among the core's events, and
    /// looks at its metadata: after every call that can change it.
    fn listen(&mut self) {
        let mut words = Vec::new();
        self.inner.take_notes(&mut words);
        let mut journal = self.journal.open();
        let metadata = self.inner.metadata_bytes();
        let bound = self.most_metadata.unwrap_or(u64::MAX);
        assert!(metadata <= bound, "{metadata} B of metadata, bound {bound}");
        journal.most_metadata = journal.most_metadata.max(metadata);
        for (column, word) in words {
            journal.note(column, word);
        }
    }

    fn check_cached(&self, slots: &[Slot], v: &View, what: &str) {
        for (i, &slot) in slots.iter().enumerate() {
            assert!(self.is_present(slot), "{what}: frame {slot} holds no page");
            assert_eq!(v.slot_of(v.frames.lpn(slot)), Some(slot));
            assert!(!slots[..i].contains(&slot), "{what}: frame {slot} twice");
        }
    }

    /// Pages for background layers must be cached pages of their channel.
    fn check_background_pages(&self, v: &View) {
        for channel in (0..v.layout.channels()).map(ChannelId) {
            let mut offered = Vec::new();
            self.inner.background_pages(channel, v, &mut |page| {
                offered.push(page.slot);
                true
            });
            self.check_cached(&offered, v, "background pages");
            for &slot in &offered {
                assert_eq!(v.layout.channel(v.chip(slot)), channel);
            }
        }
    }
}

impl<S: Scheme> Layer for Checked<S> {
    type Inner = S;

    fn inner(&self) -> &S {
        &self.inner
    }

    fn inner_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    fn rename_plan(&mut self, update: &Update, v: &View) -> RenamePlan {
        assert_eq!(self.request, None, "renames come before the request");
        let plan = self.inner.rename_plan(update, v);
        self.listen();
        plan
    }

    fn rename(&mut self, from: Lpn, to: Lpn, slot: Option<Slot>, v: &View) -> bool {
        match slot {
            Some(slot) => {
                assert!(self.is_present(slot), "page {from} to {to}: not present");
                assert_eq!(v.frames.lpn(slot), to, "the frames say so first");
            }
            None => {
                assert_eq!(v.slot_of(from), None, "page {from} is cached, no ghost");
                assert_eq!(v.slot_of(to), None, "ghost {from}: page {to} is cached");
            }
        }
        let known = self.inner.rename(from, to, slot, v);
        assert!(known || slot.is_none(), "cached page {from} is unknown");
        // An address that comes back as its own older version was forgotten just before.
        assert!(from != to || !known, "page {from} is renamed to itself");
        self.check_size(v);
        self.listen();
        known
    }

    fn on_request(&mut self, r: &Request, v: &View) {
        assert_eq!(self.request, None, "request {}: one is open", r.id);
        assert!(matches!(r.op, Op::Read | Op::Write), "only data requests");
        self.request = Some(r.id);
        self.inner.on_request(r, v);
        self.check_size(v);
        self.listen();
    }

    fn on_request_end(&mut self, r: &Request, v: &View) {
        assert_eq!(self.request, Some(r.id), "the end of an open request");
        assert_eq!(self.expected, None, "an expected page did not come");
        assert!(self.leaving.is_empty(), "a victim did not leave");
        self.request = None;
        self.inner.on_request_end(r, v);
        self.check_size(v);
        self.check_background_pages(v);
        self.listen();
    }

    fn admit_request(&mut self, r: &Request, v: &View) -> Admission {
        assert_eq!(self.request, Some(r.id));
        assert_eq!(r.op, Op::Write, "admission is asked about writes");
        let admission = self.inner.admit_request(r, v);
        if admission == Admission::Whole {
            assert!(r.pages <= v.frames.capacity() as u64, "more than all");
        }
        self.listen();
        self.journal.open().whole = admission != Admission::PerPage;
        admission
    }

    fn admit_write(&mut self, a: &Access, v: &View) -> bool {
        self.check_access(a);
        assert_eq!(a.op, Op::Write, "admission is asked about writes");
        let admitted = self.inner.admit_write(a, v);
        self.listen();
        admitted
    }

    fn is_full(&self, a: &Access, v: &View) -> bool {
        assert_eq!(
            self.expected,
            Some(a.seq),
            "`is_full` comes after `on_miss`"
        );
        let full = self.inner.is_full(a, v);
        assert!(full || v.frames.used() < v.frames.capacity(), "no frame");
        full
    }

    fn on_miss(&mut self, a: &Access, v: &View) {
        self.check_access(a);
        assert_eq!(self.expected, None, "page {}: another is expected", a.lpn);
        assert_eq!(v.slot_of(a.lpn), None, "page {} is cached", a.lpn);
        self.expected = Some(a.seq);
        self.inner.on_miss(a, v);
        self.check_size(v);
        self.listen();
    }

    fn on_insert(&mut self, slot: Slot, a: &Access, v: &View) {
        self.check_access(a);
        assert_eq!(
            self.expected.take(),
            Some(a.seq),
            "`on_miss` comes once before"
        );
        assert!(!self.is_present(slot), "frame {slot} is taken");
        assert_eq!(v.slot_of(a.lpn), Some(slot), "the frames say so first");
        assert!(self.leaving.is_empty(), "a victim did not leave");
        self.inner.on_insert(slot, a, v);
        self.set_present(slot, true);
        self.check_size(v);
        self.check_ghosts(v);
        self.listen();
    }

    fn on_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        self.check_access(a);
        assert!(self.is_present(slot), "page {} is not present", a.lpn);
        assert_eq!(v.slot_of(a.lpn), Some(slot));
        let spared = self.promise.spares_hits && self.next_victim(v) != Some(slot);
        self.inner.on_hit(slot, a, v);
        assert!(
            !spared || self.next_victim(v) != Some(slot),
            "page {} leaves next because it was hit; `hit_leaves_next` declares that",
            a.lpn
        );
        self.check_size(v);
        self.listen();
        self.journal.open().touched.push(a.seq);
    }

    fn on_partial_hit(&mut self, slot: Slot, a: &Access, v: &View) {
        self.check_access(a);
        assert!(self.is_present(slot), "page {} is not present", a.lpn);
        assert_eq!(a.op, Op::Read, "only reads miss partly");
        self.inner.on_partial_hit(slot, a, v);
        self.check_size(v);
        self.listen();
    }

    fn on_remove(&mut self, slot: Slot, reason: RemoveReason, v: &View) {
        assert!(self.is_present(slot), "frame {slot} holds no page");
        assert_eq!(v.slot_of(v.frames.lpn(slot)), Some(slot));
        if reason == RemoveReason::Evicted {
            let at = self.leaving.iter().position(|&s| s == slot);
            let at = at.expect("a page leaves that was not the victim");
            self.leaving.swap_remove(at);
        }
        self.check_size(v);
        self.inner.on_remove(slot, reason, v);
        self.set_present(slot, false);
        let left = v.frames.used() - 1;
        assert_eq!(
            self.inner.size(),
            left,
            "pages the scheme holds after a removal"
        );
        self.check_ghosts(v);
        self.listen();
    }

    fn holds_ghost(&self, slot: Slot) -> bool {
        assert!(!self.is_present(slot), "slot {slot} is asked for, cached");
        self.inner.holds_ghost(slot)
    }

    fn take_released(&mut self) -> Option<Slot> {
        assert_eq!(self.expected, None, "a page is still to come in");
        let slot = self.inner.take_released()?;
        assert!(!self.is_present(slot), "slot {slot} is given up, cached");
        assert!(
            !self.inner.holds_ghost(slot),
            "slot {slot} is given up and kept"
        );
        Some(slot)
    }

    fn on_clean(&mut self, slots: &[Slot], v: &View) {
        self.check_cached(slots, v, "cleaned");
        assert!(!slots.is_empty(), "nothing was cleaned");
        assert!(!slots.iter().any(|&s| v.frames.is_dirty(s)), "still dirty");
        self.inner.on_clean(slots, v);
        self.check_size(v);
        self.listen();
    }

    fn forget(&mut self, lpn: Lpn, v: &View) {
        assert_eq!(
            v.slot_of(lpn),
            None,
            "page {lpn} is cached: nothing to forget"
        );
        self.inner.forget(lpn, v);
        self.check_size(v);
        self.listen();
    }

    fn write_back(
        &mut self,
        channel: ChannelId,
        outstanding: u32,
        busy: &dyn Fn(Slot) -> bool,
        v: &View,
        unit: &mut Unit,
    ) -> WriteBack {
        assert!(unit.slots.is_empty(), "an empty unit");
        let answer = (self.inner).write_back(channel, outstanding, busy, v, unit);
        if let WriteBack::Unit(_) = answer {
            assert!(!unit.slots.is_empty(), "a write-back of no page");
            self.check_cached(&unit.slots, v, "write-back");
            for &slot in &unit.slots {
                let lpn = v.frames.lpn(slot);
                assert!(v.frames.is_dirty(slot), "write-back: page {lpn} is clean");
                assert!(!busy(slot), "write-back: page {lpn} is written already");
            }
        }
        self.check_size(v);
        self.listen();
        answer
    }

    fn victim(&mut self, a: &Access, v: &View, out: &mut Unit) -> Victim {
        assert!(self.inner.size() > 0, "a victim of an empty cache");
        assert!(out.slots.is_empty() && out.pad.is_empty(), "an empty unit");
        let order = self.candidate_order(v);
        let units = self.candidate_units(a, v);
        let mut next = std::mem::take(&mut self.unit);
        next.clear();
        self.inner.next_unit(v, &mut next);
        let victim = self.chosen(a, v, out, &order);
        if let Victim::Page(slot) = victim {
            assert!(out.slots.is_empty(), "a page and a unit");
            out.slots.push(slot);
        }
        assert!(!out.slots.is_empty(), "no victim for page {}", a.lpn);
        self.check_cached(&out.slots, v, "victim");
        self.check_promise(&out.slots, &order, &units);
        if self.promise.next_unit {
            assert_eq!(
                sorted(&next.slots),
                sorted(&out.slots),
                "not the group that was next"
            );
        }
        self.unit = next;
        for pair in out.pad.windows(2) {
            assert!(pair[0] < pair[1], "padding is not ascending");
        }
        assert!(
            out.pad.iter().all(|&p| v.slot_of(p).is_none()),
            "padding is cached"
        );
        self.leaving.clear();
        self.leaving.extend_from_slice(&out.slots);
        if victim != Victim::Unit {
            out.clear();
        }
        self.check_size(v);
        self.listen();
        victim
    }
}

fn sorted(slots: &[Slot]) -> Vec<Slot> {
    let mut slots = slots.to_vec();
    slots.sort_unstable();
    slots
}
