//! The one cache of the unit tests: small, and driven by the rules D1 to D12 as the real one, over
//! chips whose states are set by hand.

mod chips;
mod drive;
mod random;
mod spy;

pub(crate) use chips::{ChipState, Chips};
pub(crate) use random::{ALL, Done, Mix, STILL, Storm, random_run};
pub(crate) use spy::Spy;

use crate::contract::Build;
use crate::info::Role;
use crate::{
    Access, AccessId, Boxed, Env, Expr, FrameCounts, Frames, Scheme, SchemeExt, Unit, Victim, View,
    notes,
};
use destage_types::{Extent, Lpn, Nanos, Op, PageSize, SectorMask, Slot, StaticLayout};
use std::ops::{Deref, DerefMut, RangeInclusive};

/// One scheme with its frames, a clock and a device. Methods that need no more than a scheme are
/// written, and compiled, for `dyn Scheme`.
pub(crate) struct TestCache<S: ?Sized> {
    pub frames: Frames,
    pub layout: StaticLayout,
    pub chips: Chips,
    pub now: u64,
    pub read_alloc: bool,
    /// Pages evicted so far, in order.
    pub evicted: Vec<u64>,
    /// Which of the next victims is evicted, as `gcar` may choose; 0 is the scheme's own.
    pub pick: usize,
    /// Is the victim chosen among the next ones by what the device says?
    pub filtered: bool,
    /// The last unit that left.
    pub unit: Unit,
    /// Events, in the words of the worked examples; `before` is their number before the last
    /// operation.
    events: Vec<String>,
    before: usize,
    requests: u64,
    accesses: u64,
    pub scheme: S,
}

impl<S: Scheme + 'static> Deref for TestCache<S> {
    type Target = TestCache<dyn Scheme>;

    fn deref(&self) -> &TestCache<dyn Scheme> {
        self
    }
}

impl<S: Scheme + 'static> DerefMut for TestCache<S> {
    fn deref_mut(&mut self) -> &mut TestCache<dyn Scheme> {
        self
    }
}

/// The sectors of a request: a page, pages from one to another, or any sectors.
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

/// Pages of an extent, with the sectors that it covers.
fn masks(e: Extent, page: PageSize) -> impl Iterator<Item = (Lpn, SectorMask)> {
    let pages = page.page_of(e.start_sector).0..=page.page_of(e.end() - 1).0;
    pages.map(Lpn).map(move |lpn| {
        let start = page.first_sector(lpn);
        let from = e.start_sector.max(start) - start;
        let to = (e.end() - start).min(u64::from(page.sectors()));
        (lpn, SectorMask::span(from as u32, (to - from) as u32))
    })
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

impl<S: Build + 'static> TestCache<S> {
    /// A cache of `capacity` pages of 4 KiB on one chip under the scheme `text`.
    pub fn new(text: &str, capacity: u32) -> TestCache<S> {
        TestCache::with(text, &env(capacity, 8, 1))
    }

    /// A cache as `env` says under the scheme `text`.
    pub fn with(text: &str, env: &Env) -> TestCache<S> {
        let expr = expr(text);
        let mut cache = TestCache::of(S::build(&expr, env), env);
        cache.read_alloc = expr.default_read_alloc();
        let mut layers = expr.chain().map(Expr::scheme);
        cache.filtered = layers.any(|l| l.role == Role::VictimFilter || l.chip_lists);
        cache
    }
}

impl<S: Scheme + 'static> TestCache<S> {
    /// A cache as `env` says under `scheme`.
    pub fn of(mut scheme: S, env: &Env) -> TestCache<S> {
        notes::keep();
        TestCache {
            frames: Frames::new(
                FrameCounts {
                    capacity: env.capacity,
                    pages: env.slots,
                    ghosts: scheme.max_ghosts(),
                },
                env.page,
            ),
            scheme,
            layout: env.layout,
            chips: Chips::new(env.layout.chips() as usize),
            now: 0,
            read_alloc: env.read_alloc,
            evicted: Vec::new(),
            pick: 0,
            filtered: false,
            unit: Unit::default(),
            events: Vec::new(),
            before: 0,
            requests: 0,
            accesses: 0,
        }
    }

    /// Later operations happen at `now`.
    pub fn at(&mut self, now: u64) -> &mut TestCache<S> {
        self.now = now;
        self
    }

    /// The pages of the unit that the scheme would evict for a page that is not cached, ascending.
    pub fn next_victim(&self) -> Vec<u64>
    where
        S: Clone,
    {
        let (mut copy, mut unit) = (self.scheme.clone(), Unit::default());
        let absent = (0..)
            .map(Lpn)
            .find(|&lpn| self.frames.slot_of(lpn).is_none());
        let (lpn, mask) = (
            absent.expect("not all pages are cached"),
            self.frames.full_mask(),
        );
        let id = AccessId {
            request: u64::MAX,
            seq: u64::MAX,
        };
        let a = Access::new(id, Nanos(self.now), Op::Write, lpn, mask);
        let mut pages = match copy.victim(&a, &self.view(), &mut unit) {
            Victim::Page(slot) => self.lpns([slot]),
            Victim::Unit => self.lpns(unit.slots),
        };
        pages.sort_unstable();
        pages
    }
}

impl TestCache<dyn Scheme> {
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
        self.request(Op::Write, &[span.extent(self.frames.page())])
    }

    /// Reads; one letter a page.
    pub fn read(&mut self, span: impl Span) -> String {
        self.request(Op::Read, &[span.extent(self.frames.page())])
    }

    /// A request of any extents; one letter a page.
    pub fn request(&mut self, op: Op, extents: &[Extent]) -> String {
        self.serve(op, extents, &[], false)
    }

    /// Writes pages `first..` that replace those of `previous`.
    pub fn replace(&mut self, first: u64, previous: &[Option<u64>], atomic: bool) -> String {
        let pages = first..=first + previous.len() as u64 - 1;
        self.serve(
            Op::Write,
            &[pages.extent(self.frames.page())],
            previous,
            atomic,
        )
    }

    /// The scheme's view of this moment.
    pub fn view(&self) -> View<'_> {
        View {
            frames: &self.frames,
            layout: &self.layout,
            device: &self.chips,
            now: Nanos(self.now),
            seq: self.accesses,
        }
    }

    pub fn next_victims(&self) -> Vec<Slot> {
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
        self.scheme
            .next_units(None, &self.view(), &mut unit, &mut |_| true);
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
        let words: Vec<String> = notes.into_iter().map(|note| note.word).collect();
        words.join(" ")
    }

    pub fn metadata_bytes(&self) -> u64 {
        self.scheme.metadata_bytes(self.frames.used() as u64)
    }

    /// The figure `name` of the scheme.
    pub fn stat(&self, name: &str) -> u64 {
        let mut stats = crate::SchemeStats::default();
        self.scheme.stats(&mut stats);
        stats.get(name).expect("the scheme has this figure")
    }
}
