//! The one cache of the unit tests: small, and driven by the rules D1 to D12 as the real one, over
//! chips whose states are set by hand.

mod chips;
mod random;
mod spy;

pub(crate) use chips::{ChipState, Chips, SHAKEN_COSTS};
pub(crate) use random::{ALL, Done, Mix, random_run};
pub(crate) use spy::Spy;

use crate::registry::Build;
use crate::{
    Access, Admission, After, Boxed, Env, Expr, Frames, RemoveReason, RenamePlan, Request, Scheme,
    Trimmed, Unit, Update, Victim, View, WriteBack,
};
use destage_types::{ChannelId, Extent, Lpn, Nanos, Op, PageSize, SectorMask, Slot, StaticLayout};
use std::ops::RangeInclusive;

/// One scheme with its frames, a clock and a device.
pub(crate) struct TestCache<S> {
    pub scheme: S,
    pub frames: Frames,
    pub layout: StaticLayout,
    pub chips: Chips,
    pub now: u64,
    pub read_alloc: bool,
    /// Pages evicted so far, in order.
    pub evicted: Vec<u64>,
    /// Which of the next victims is evicted, as `gcar` may choose; 0 is the scheme's own.
    pub pick: usize,
    /// The last unit that left.
    pub unit: Unit,
    /// Pages whose flash copies became invalid by a rename.
    pub unmapped: Vec<u64>,
    /// What happened, in the words of the worked examples.
    events: Vec<String>,
    /// Events before the last operation.
    before: usize,
    requests: u64,
    accesses: u64,
}

/// What a request covers: a page, pages from one to another, or any sectors.
pub(crate) trait Span {
    fn extent(self, page: PageSize) -> Extent;
}

impl Span for u64 {
    fn extent(self, page: PageSize) -> Extent {
        (self..=self).extent(page)
    }
}

impl Span for RangeInclusive<u64> {
    fn extent(self, page: PageSize) -> Extent {
        let per_page = u64::from(page.sectors());
        sectors(*self.start() * per_page..=*self.end() * per_page + per_page - 1)
    }
}

impl Span for Extent {
    fn extent(self, _page: PageSize) -> Extent {
        self
    }
}

/// These sectors.
pub(crate) fn sectors(range: RangeInclusive<u64>) -> Extent {
    Extent {
        start_sector: *range.start(),
        sectors: (range.end() - range.start() + 1) as u32,
    }
}

/// `capacity` frames of `page_sectors` on `chips` chips, one a channel.
pub(crate) fn env(capacity: u32, page_sectors: u64, chips: u32) -> Env {
    Env {
        page: PageSize::new(page_sectors * 512).unwrap(),
        layout: StaticLayout::flat(chips, chips),
        ..Env::cache_only(capacity)
    }
}

pub(crate) fn expr(text: &str) -> Expr {
    Expr::parse(text).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// A cache of `capacity` pages under `text`, whatever its type.
pub(crate) fn boxed(text: &str, capacity: u32) -> TestCache<Boxed> {
    TestCache::new(text, capacity)
}

/// The pages that leave a cache of `capacity` pages under `text` when it serves `requests` (see
/// [`TestCache::run`]).
pub(crate) fn evictions(text: &str, capacity: u32, requests: &str) -> String {
    let mut cache = boxed(text, capacity);
    cache.run(requests);
    words(&cache.evicted)
}

fn words(pages: &[u64]) -> String {
    pages.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}

/// The scheme's view of this moment. A macro, because only some fields may be borrowed.
macro_rules! view {
    ($cache:expr) => {
        View {
            frames: &$cache.frames,
            layout: &$cache.layout,
            device: &$cache.chips,
            now: Nanos($cache.now),
        }
    };
}

impl<S: Build> TestCache<S> {
    /// A cache of `capacity` pages of 4 KiB on one chip under the scheme `text`.
    pub fn new(text: &str, capacity: u32) -> TestCache<S> {
        TestCache::with(text, &env(capacity, 8, 1))
    }

    /// A cache as `env` says under the scheme `text`.
    pub fn with(text: &str, env: &Env) -> TestCache<S> {
        let expr = expr(text);
        let mut cache = TestCache::of(S::build(&expr, env), env);
        cache.read_alloc = expr.default_read_alloc();
        cache
    }
}

impl<S: Scheme> TestCache<S> {
    /// A cache as `env` says under `scheme`.
    pub fn of(scheme: S, env: &Env) -> TestCache<S> {
        TestCache {
            frames: Frames::new((env.capacity, env.slots), scheme.max_ghosts(), env.page),
            scheme,
            layout: env.layout,
            chips: Chips::new(env.layout.chips() as usize),
            now: 0,
            read_alloc: env.read_alloc,
            evicted: Vec::new(),
            pick: 0,
            unit: Unit::default(),
            unmapped: Vec::new(),
            events: Vec::new(),
            before: 0,
            requests: 0,
            accesses: 0,
        }
    }

    pub fn view(&self) -> View<'_> {
        view!(self)
    }

    /// What follows happens at `now`.
    pub fn at(&mut self, now: u64) -> &mut TestCache<S> {
        self.now = now;
        self
    }

    /// Serves `W1` (a write of page 1), `W1-3` (of pages 1 to 3), `R` (read), `T` (TRIM), `F` (FLUSH)
    /// and the like, separated by spaces. One letter for each page read or written: H or M.
    pub fn run(&mut self, requests: &str) -> String {
        let serve = |word: &str| {
            let (letter, rest) = word.split_at(1);
            let (first, last) = rest.split_once('-').unwrap_or((rest, rest));
            let number = |text: &str| text.parse::<u64>().expect("a page");
            let pages = || number(first)..=number(last);
            match letter {
                "W" => return self.write(pages()),
                "R" => return self.read(pages()),
                "T" => self.trim(pages()),
                "F" if rest.is_empty() => self.flush(|_| true),
                "F" => self.flush(|lpn| pages().contains(&lpn)),
                _ => panic!("no such request: {word}"),
            }
            String::new()
        };
        requests.split_whitespace().map(serve).collect()
    }

    /// Writes; one letter a page.
    pub fn write(&mut self, span: impl Span) -> String {
        let extent = span.extent(self.frames.page());
        self.request(Op::Write, &[extent])
    }

    /// Reads; one letter a page.
    pub fn read(&mut self, span: impl Span) -> String {
        let extent = span.extent(self.frames.page());
        self.request(Op::Read, &[extent])
    }

    /// A request of any extents; one letter a page.
    pub fn request(&mut self, op: Op, extents: &[Extent]) -> String {
        self.update(op, extents, &[], false)
    }

    /// Writes pages `first..` that replace those of `previous`.
    pub fn replace(&mut self, first: u64, previous: &[Option<u64>], atomic: bool) -> String {
        let last = first + previous.len() as u64 - 1;
        let extent = (first..=last).extent(self.frames.page());
        self.update(Op::Write, &[extent], previous, atomic)
    }

    /// A request whose pages replace those of `previous`, as far as it has any.
    pub fn update(
        &mut self,
        op: Op,
        extents: &[Extent],
        previous: &[Option<u64>],
        atomic: bool,
    ) -> String {
        self.before = self.events.len();
        self.requests += 1;
        let accesses = self.accesses(op, extents);
        if op == Op::Write && self.scheme.tracks_updates(!previous.is_empty()) {
            for (i, a) in accesses.iter().enumerate() {
                let previous = previous.get(i).copied().flatten().map(Lpn);
                let current = a.lpn;
                let update = Update { current, previous, atomic };
                let plan = self.scheme.rename_plan(&update, &view!(self));
                self.apply(&plan, current);
            }
        }
        let r = Request {
            id: self.requests,
            op,
            now: Nanos(self.now),
            extents,
            pages: accesses.len() as u32,
            bytes: extents.iter().map(|e| u64::from(e.sectors) * 512).sum(),
        };
        self.scheme.on_request(&r, &view!(self));
        let admission = match op {
            Op::Write => self.scheme.admit_request(&r, &view!(self)),
            _ => Admission::PerPage,
        };
        let result = match admission {
            Admission::PerPage => accesses.iter().map(|a| self.access(a)).collect(),
            Admission::Whole => self.write_whole(&accesses),
            Admission::Bypass => self.bypass(&accesses),
        };
        self.scheme.on_request_end(&r, &view!(self));
        self.check();
        result
    }

    fn accesses(&mut self, op: Op, extents: &[Extent]) -> Vec<Access> {
        let (id, now, page) = (self.requests, Nanos(self.now), self.frames.page());
        let masks = extents.iter().flat_map(|&e| masks(e, page));
        let access = |(lpn, mask)| {
            self.accesses += 1;
            Access::new((id, self.accesses), now, op, lpn, mask)
        };
        masks.map(access).collect()
    }

    fn access(&mut self, a: &Access) -> char {
        let entry = self.frames.entry_at(a.lpn, self.frames.place(a.lpn));
        let (a, slot) = (&a.looked_up(entry), self.frames.slot_of(a.lpn));
        if a.op == Op::Write && !self.scheme.admit_write(a, &view!(self)) {
            self.bypass(&[*a]);
            return 'M';
        }
        match slot {
            Some(slot) if a.op == Op::Read && !self.frames.has(slot, a.sectors) => {
                self.scheme.on_partial_hit(slot, a, &view!(self));
                if self.read_alloc {
                    self.frames.fill(slot, self.frames.full_mask());
                }
                'M'
            }
            Some(slot) => {
                self.hit(slot, a);
                'H'
            }
            None => {
                let is_read = a.op == Op::Read;
                if !is_read || self.read_alloc && self.scheme.admit_read(a, &view!(self)) {
                    self.scheme.on_miss(a, &view!(self));
                    while self.scheme.is_full(a, &view!(self)) {
                        self.evict(a);
                    }
                    self.insert(a);
                }
                'M'
            }
        }
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
        while let Some(slot) = self.scheme.take_released() {
            self.frames.release(slot);
        }
    }

    fn write_whole(&mut self, accesses: &[Access]) -> String {
        self.invalidate(accesses);
        let (first, mut expected) = (&accesses[0], false);
        while self.frames.used() + self.entering(accesses) > self.frames.capacity() {
            if !expected && self.frames.slot_of(first.lpn).is_none() {
                expected = self.scheme.admit_write(first, &view!(self));
                if expected {
                    self.scheme.on_miss(first, &view!(self));
                }
            }
            self.evict(first);
        }
        for a in accesses {
            let admitted = self.scheme.admit_write(a, &view!(self));
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
        let mut absent: Vec<&Access> = accesses.iter().collect();
        absent.retain(|a| self.frames.slot_of(a.lpn).is_none());
        absent.retain(|a| self.scheme.admit_write(a, &view!(self)));
        absent.len()
    }

    fn bypass(&mut self, accesses: &[Access]) -> String {
        self.invalidate(accesses);
        let pages: Vec<Lpn> = accesses.iter().map(|a| a.lpn).collect();
        self.report("bypass", &pages);
        "M".repeat(accesses.len())
    }

    fn invalidate(&mut self, accesses: &[Access]) {
        let mut gone = Vec::new();
        for a in accesses {
            if let Some(slot) = self.frames.slot_of(a.lpn)
                && self.supersede(slot, a.sectors)
            {
                gone.push(a.lpn);
            }
        }
        self.report("inval", &gone);
    }

    /// These sectors hold no data any more; says whether the page is gone.
    fn supersede(&mut self, slot: Slot, mask: SectorMask) -> bool {
        let left = self.frames.trim(slot, mask);
        match left {
            Trimmed::Gone => self.discard(slot),
            Trimmed::Kept => {}
            Trimmed::Cleaned => self.scheme.on_clean(&[slot], &view!(self)),
        }
        left == Trimmed::Gone
    }

    fn discard(&mut self, slot: Slot) {
        self.scheme.on_remove(slot, RemoveReason::Discarded, &view!(self));
        self.frames.remove(slot);
    }

    /// Room is made although nothing comes in, as for a request that is let in as a whole.
    pub fn make_room(&mut self) {
        let ids = (self.requests, self.accesses);
        let (lpn, mask) = (Lpn(u64::MAX >> 10), self.frames.full_mask());
        self.evict(&Access::new(ids, Nanos(self.now), Op::Write, lpn, mask));
    }

    fn evict(&mut self, a: &Access) {
        let order = self.next_victims();
        let mut unit = std::mem::take(&mut self.unit);
        unit.clear();
        if let Victim::Page(slot) = self.scheme.victim(a, &view!(self), &mut unit) {
            unit.slots.push(slot);
        }
        assert!(!unit.slots.is_empty(), "a scheme that holds pages names a victim");
        // `gcar` names another one while a chip collects.
        if let Some(first) = order.first().filter(|_| !self.chips.gc.contains(&true)) {
            assert_eq!(unit.slots, [*first], "the victim is the first of the next victims");
            unit.slots[0] = *order.get(self.pick).unwrap_or(first);
        }
        unit.slots.sort_unstable_by_key(|&s| self.frames.lpn(s));
        for (word, dirty) in [("flush", true), ("drop", false)] {
            let of = unit.slots.iter().filter(|&&s| self.frames.is_dirty(s) == dirty);
            let pages: Vec<Lpn> = of.map(|&s| self.frames.lpn(s)).collect();
            self.report(word, &pages);
        }
        for &slot in &unit.slots {
            self.evicted.push(self.frames.lpn(slot).0);
            self.scheme.on_remove(slot, RemoveReason::Evicted, &view!(self));
            self.frames.vacate(slot, self.scheme.holds_ghost(slot));
        }
        self.unit = unit;
    }

    fn report(&mut self, word: &str, pages: &[Lpn]) {
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
                self.scheme.forget(lpn, &view!(self));
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
        for &slot in &dirty {
            self.frames.clean(slot);
        }
        self.scheme.on_clean(&dirty, &view!(self));
        self.check();
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
            self.scheme.forget(to, &view!(self));
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
            if renamed {
                self.events.push(format!("remap {from}->{to}"));
                self.unmapped.extend(plan.unmap.then_some(from.0));
            }
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

    /// What the scheme writes back on the idle `channel` while it has so many write-backs
    /// `outstanding` and those of the pages `busy` are among them.
    pub fn write_back(
        &mut self,
        channel: u32,
        outstanding: u32,
        busy: &[u64],
    ) -> (Vec<u64>, WriteBack) {
        let (mut unit, v) = (Unit::default(), view!(self));
        let is_busy = |slot| busy.contains(&v.frames.lpn(slot).0);
        let channel = ChannelId(channel);
        let answer = self.scheme.write_back(channel, outstanding, &is_busy, &v, &mut unit);
        let named = matches!(answer, WriteBack::Unit(_));
        assert_eq!(named, !unit.slots.is_empty(), "a write-back names a page");
        (self.lpns(unit.slots), answer)
    }

    /// Lets one write-back on `channel` begin and end.
    pub fn idle(&mut self, channel: u32) {
        if let (pages, WriteBack::Unit(after)) = self.write_back(channel, 0, &[]) {
            for lpn in pages {
                let slot = self.slot(lpn).unwrap();
                assert!(self.frames.is_dirty(slot), "a clean page needs no write-back");
                if after == After::Remove {
                    self.discard(slot);
                    continue;
                }
                self.frames.clean(slot);
                self.scheme.on_clean(&[slot], &view!(self));
            }
        }
        self.check();
    }

    /// Sizes agree, and the next victims are all cached pages, if the scheme has such an order.
    fn check(&self) {
        assert_eq!(self.scheme.size(), self.frames.used());
        let mut order = self.next_victims();
        if !order.is_empty() {
            order.sort_unstable();
            assert!(order.into_iter().eq(self.frames.used_slots()), "each page leaves once");
        }
    }

    fn next_victims(&self) -> Vec<Slot> {
        let mut order = Vec::new();
        self.scheme.next_victims(&self.view(), &mut |slot| {
            order.push(slot);
            true
        });
        order
    }

    /// Pages in the order in which they would be evicted.
    pub fn order(&self) -> Vec<u64> {
        self.lpns(self.next_victims())
    }

    /// The pages of the unit that leaves next, ascending.
    pub fn next_unit(&self) -> Vec<u64> {
        let mut unit = Unit::default();
        self.scheme.next_unit(&self.view(), &mut unit);
        let mut pages = self.lpns(unit.slots);
        pages.sort_unstable();
        pages
    }

    /// The pages cached, in ascending order.
    pub fn cached(&self) -> Vec<u64> {
        let mut pages = self.lpns(self.frames.used_slots());
        pages.sort_unstable();
        pages
    }

    /// The pages in these slots.
    pub fn lpns(&self, slots: impl IntoIterator<Item = Slot>) -> Vec<u64> {
        slots.into_iter().map(|s| self.frames.lpn(s).0).collect()
    }

    /// Where a page is cached.
    pub fn slot(&self, lpn: u64) -> Option<Slot> {
        self.frames.slot_of(Lpn(lpn))
    }

    /// The events of the last operation, `-` if there were none.
    pub fn said(&self) -> String {
        match &self.events[self.before..] {
            [] => "-".to_owned(),
            events => events.join(" "),
        }
    }

    /// The events since this was asked last.
    pub fn take(&mut self) -> String {
        self.before = 0;
        std::mem::take(&mut self.events).join(" ")
    }

    /// The state string of the worked examples.
    pub fn state(&self) -> String {
        let mut out = String::new();
        self.scheme.state(&self.view(), &mut out);
        out
    }

    /// The words noted since this was asked last.
    pub fn notes(&mut self) -> String {
        let mut notes = Vec::new();
        self.scheme.take_notes(&mut notes);
        notes.into_iter().map(|n| n.1).collect::<Vec<_>>().join(" ")
    }

    pub fn metadata_bytes(&self) -> u64 {
        self.scheme.metadata_bytes()
    }

    /// The counter `name` of the scheme.
    pub fn stat(&self, name: &str) -> u64 {
        let mut value = None;
        self.scheme.stats(&mut |n, x| value = if n == name { Some(x) } else { value });
        value.expect("the scheme has this counter")
    }
}

/// Pages of an extent, with the sectors that it covers.
fn masks(e: Extent, page: PageSize) -> impl Iterator<Item = (Lpn, SectorMask)> {
    let pages = page.page_of(e.start_sector).0..=page.page_of(e.end() - 1).0;
    pages.map(Lpn).map(move |lpn| {
        let start = page.first_sector(lpn);
        let from = e.start_sector.max(start);
        let to = e.end().min(start + u64::from(page.sectors()));
        (lpn, SectorMask::span((from - start) as u32, (to - from) as u32))
    })
}
