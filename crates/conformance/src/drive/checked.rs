//! A scheme that is watched: every call must keep the contract of [`Scheme`].

use super::journal::Shared;
use destage_scheme::{
    Access, Admission, Layer, RemoveReason, RenamePlan, Request, Scheme, SchemeExt, SchemeNotice,
    Unit, Update, Victim, View, WriteBack, WriteBackQuery, notes,
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

/// Promises of a composition about its next victims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promise {
    /// By `next_victims`.
    pub order: Order,
    /// By `next_units`.
    pub units: Order,
    /// Is the first group of `next_units` the victim, whatever page comes in?
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
        notes::keep();
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

    /// Slots hold pages or ghosts.
    fn check_frames(&mut self, v: &View) {
        let (pages, used) = (self.present_pages(), v.frames.used());
        assert_eq!(pages, used, "pages the scheme was told of, frames in use");
        assert!(used <= v.frames.capacity(), "more pages than frames");
        if let Some(ghosts) = self.inner.ghosts() {
            for slot in v.frames.used_slots() {
                assert!(!ghosts.is_in_slot(slot), "slot {slot}: a page and a ghost");
            }
        }
    }

    /// Pages that the scheme was told of.
    fn present_pages(&self) -> usize {
        self.present.iter().filter(|&&present| present).count()
    }

    /// The scheme may keep the slots of as many evicted pages as it said, and of no page that is cached.
    fn check_ghosts(&mut self, v: &View) {
        let Some(ghosts) = self.inner.ghosts() else {
            return;
        };
        let slots = (0..v.frames.slots() as u32).map(Slot);
        let held = slots.filter(|&slot| ghosts.is_in_slot(slot)).count();
        let most = ghosts.max_in_slots() as usize;
        assert!(held <= most, "{held} ghosts, at most {most}");
        let mut journal = self.journal.open();
        journal.most_ghosts = journal.most_ghosts.max(held);
    }

    /// The first of the next victims, where it is the victim or may be.
    fn next_victim(&self, v: &View) -> Option<Slot> {
        match self.promise.order {
            Order::Free => None,
            _ => self.inner.first_victim(v, |_| true),
        }
    }

    /// Takes the scheme's words at once, so that they stand in order among the core's events, and
    /// looks at its metadata: after every call that can change it.
    fn listen(&mut self) {
        let mut words = Vec::new();
        self.inner.take_notes(&mut words);
        let mut journal = self.journal.open();
        let metadata = self.inner.metadata_bytes(self.present_pages() as u64);
        let bound = self.most_metadata.unwrap_or(u64::MAX);
        assert!(metadata <= bound, "{metadata} B of metadata, bound {bound}");
        journal.most_metadata = journal.most_metadata.max(metadata);
        for note in words {
            journal.note(note);
        }
    }

    /// All candidates in order, checked for what holds of every order.
    fn candidate_order(&self, v: &View) -> Vec<Slot> {
        let mut order = Vec::new();
        self.inner.next_victims(v, &mut |slot| {
            order.push(slot);
            true
        });
        self.check_cached(&order, v, "next victims");
        if matches!(self.promise.order, Order::Holds | Order::First) {
            assert_eq!(order.len(), v.frames.used(), "next victims: not all pages");
        }
        self.check_places(&order, v);
        if let Some(&second) = order.get(1) {
            let answer = self.inner.first_victim(v, |slot| slot == second);
            assert_eq!(answer, Some(second), "the page that was looked for");
        }
        order
    }

    /// Places of dirty pages, where all have one, grow in the order of eviction.
    fn check_places(&self, order: &[Slot], v: &View) {
        let dirty: Vec<Slot> = (order.iter().copied())
            .filter(|&slot| v.frames.is_dirty(slot))
            .collect();
        let places = dirty.iter().map(|&slot| self.inner.place(slot, v));
        if let Some(places) = places.collect::<Option<Vec<u64>>>() {
            let pages: Vec<Lpn> = dirty.iter().map(|&slot| v.frames.lpn(slot)).collect();
            assert!(
                places.windows(2).all(|pair| pair[0] < pair[1]),
                "places {places:?} of {pages:?}, which leave in this order"
            );
        }
    }

    /// All units that could leave to let `a` in, each with its pages sorted.
    fn candidate_units(&mut self, a: &Access, v: &View) -> Vec<Vec<Slot>> {
        let mut scratch = std::mem::take(&mut self.unit);
        scratch.clear();
        let mut units = Vec::new();
        self.inner
            .next_units(Some(a), v, &mut scratch, &mut |unit| {
                let mut slots = unit.slots.clone();
                slots.sort_unstable();
                units.push(slots);
                false
            });
        assert!(scratch.slots.is_empty(), "no unit was accepted");
        for unit in &units {
            assert!(!unit.is_empty(), "an empty unit");
            self.check_cached(unit, v, "next units");
        }
        if let Some(second) = units.get(1) {
            let mut left = 1;
            self.inner.next_units(Some(a), v, &mut scratch, &mut |_| {
                left -= 1;
                left < 0
            });
            let mut found = std::mem::take(&mut scratch.slots);
            found.sort_unstable();
            assert_eq!(&found, second, "the unit that was looked for");
        }
        self.unit = scratch;
        units
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
        self.check_frames(v);
        self.listen();
        known
    }

    fn on_request(&mut self, r: &Request, v: &View) -> Admission {
        assert_eq!(self.request, None, "request {}: one is open", r.id);
        assert!(matches!(r.op, Op::Read | Op::Write), "only data requests");
        self.request = Some(r.id);
        let admission = self.inner.on_request(r, v);
        self.check_frames(v);
        self.listen();
        if r.op == Op::Write && v.frames.capacity() > 0 {
            if admission == Admission::Whole {
                assert!(r.pages <= v.frames.capacity() as u64, "more than all");
            }
            self.journal.open().whole = admission != Admission::PerPage;
        }
        admission
    }

    fn admit(&mut self, a: &Access, v: &View) -> bool {
        self.check_access(a);
        let admitted = self.inner.admit(a, v);
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
        self.check_frames(v);
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
        self.check_frames(v);
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
        self.check_frames(v);
        self.listen();
        self.journal.open().touched.push(a.seq);
    }

    fn on_notice(&mut self, notice: SchemeNotice<'_>, v: &View) {
        match notice {
            SchemeNotice::RequestEnd(r) => {
                assert_eq!(self.request, Some(r.id), "the end of an open request");
                assert_eq!(self.expected, None, "an expected page did not come");
                assert!(self.leaving.is_empty(), "a victim did not leave");
                self.request = None;
            }
            SchemeNotice::RequestWaits(_) | SchemeNotice::RequestResumed(_) => {}
            SchemeNotice::PartialHit(slot, a) => {
                self.check_access(a);
                assert!(self.is_present(slot), "page {} is not present", a.lpn);
                assert_eq!(a.op, Op::Read, "only reads miss partly");
            }
            SchemeNotice::Cleaned(slots) => {
                self.check_cached(slots, v, "cleaned");
                assert!(!slots.is_empty(), "nothing was cleaned");
                assert!(!slots.iter().any(|&s| v.frames.is_dirty(s)), "still dirty");
            }
            SchemeNotice::Forgotten(lpn) => {
                let slot = v.slot_of(lpn);
                assert_eq!(slot, None, "page {lpn} is cached: nothing to forget");
            }
        }
        self.inner.on_notice(notice, v);
        self.check_frames(v);
        if let SchemeNotice::RequestEnd(_) = notice {
            self.check_background_pages(v);
        }
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
        self.check_frames(v);
        self.inner.on_remove(slot, reason, v);
        self.set_present(slot, false);
        self.check_ghosts(v);
        self.listen();
    }

    fn write_back(&mut self, query: &WriteBackQuery, v: &View, unit: &mut Unit) -> WriteBack {
        assert!(unit.slots.is_empty(), "an empty unit");
        let answer = self.inner.write_back(query, v, unit);
        if let WriteBack::Unit(_) = answer {
            assert!(!unit.slots.is_empty(), "a write-back of no page");
            self.check_cached(&unit.slots, v, "write-back");
            for &slot in &unit.slots {
                let lpn = v.frames.lpn(slot);
                assert!(v.frames.is_dirty(slot), "write-back: page {lpn} is clean");
                assert!(
                    !(query.busy)(slot),
                    "write-back: page {lpn} is written already"
                );
            }
        }
        self.check_frames(v);
        self.listen();
        answer
    }

    fn victim(&mut self, a: &Access, v: &View, out: &mut Unit) -> Victim {
        assert!(v.frames.used() > 0, "a victim of an empty cache");
        assert!(out.slots.is_empty() && out.pad.is_empty(), "an empty unit");
        let order = self.candidate_order(v);
        let units = self.candidate_units(a, v);
        let mut next = std::mem::take(&mut self.unit);
        next.clear();
        self.inner.next_units(None, v, &mut next, &mut |_| true);
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
        self.check_frames(v);
        self.listen();
        victim
    }
}

impl<S: Scheme> Checked<S> {
    /// The victim that lets `a` in: that of the scheme, or the first of its order.
    fn chosen(&mut self, a: &Access, v: &View, out: &mut Unit, order: &[Slot]) -> Victim {
        if self.choice == Choice::Unasked {
            let first = order.first();
            if let Some(&slot) = first.filter(|_| self.promise.order.names_the_victim()) {
                return Victim::Page(slot);
            }
            if self.promise.units.names_the_victim() {
                self.inner.next_units(Some(a), v, out, &mut |_| true);
                if !out.slots.is_empty() {
                    return Victim::Unit;
                }
            }
        }
        self.inner.victim(a, v, out)
    }

    /// The victim is what was promised of it.
    fn check_promise(&self, victim: &[Slot], order: &[Slot], units: &[Vec<Slot>]) {
        match self.promise.order {
            Order::Free => {}
            Order::Begins => {
                let first = order.first().is_none_or(|first| victim == [*first]);
                assert!(first, "not the next victim");
            }
            Order::Holds => assert!(order.contains(&victim[0]), "not a next victim"),
            Order::First => assert_eq!(victim, &order[..1], "not the first of the next victims"),
        }
        let taken = sorted(victim);
        match self.promise.units {
            Order::Free | Order::Begins => {}
            Order::Holds => assert!(units.contains(&taken), "not a next unit"),
            Order::First => assert_eq!(Some(&taken), units.first(), "not the first next unit"),
        }
    }
}

impl Order {
    /// Is the first one, if there is any, the victim?
    fn names_the_victim(self) -> bool {
        matches!(self, Order::Begins | Order::First)
    }
}

fn sorted(slots: &[Slot]) -> Vec<Slot> {
    let mut slots = slots.to_vec();
    slots.sort_unstable();
    slots
}
