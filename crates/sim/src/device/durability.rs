//! Which version of a page is on flash, and from when on: what a power cut would leave.
//!
//! A version is named by the request that wrote it last. A page in the cache is programmed as it is
//! when its program is queued, in the background when it starts. Programs of one page may end in
//! another order on different chips; a version is on flash only once all that were queued before it
//! for the same page have ended as well, so versions of a page become durable in their order.

use destage_types::{Lpn, Nanos};
use smallvec::SmallVec;
use std::collections::HashMap;

/// How much of a page a version that became durable covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DurablePart {
    /// The whole page as it was after that write.
    Page,
    /// Only the sectors that the request itself wrote, past the cache; others of the page may be
    /// dirty in the cache.
    OwnSectors,
}

/// A version of a page that is on flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DurableVersion {
    /// The page.
    pub lpn: Lpn,
    /// Number of the request that wrote it last.
    pub request: u64,
    /// How much of the page.
    pub part: DurablePart,
    /// Is no older version of the page missing on flash?
    pub covers_older: bool,
    /// Since when; may lie after the clock.
    pub at: Nanos,
}

/// A change of the newest version of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VersionStep {
    /// A write makes it, in the cache or on its way past it.
    Written,
    /// A program takes it: what is written from then on is another version.
    Captured,
}

/// A step of a version that the request wrote last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VersionNote {
    /// The page.
    pub lpn: Lpn,
    /// Number of the request.
    pub request: u64,
    /// The step.
    pub step: VersionStep,
}

/// A program whose version is not on flash yet.
#[derive(Clone, Copy, Debug)]
struct Programming {
    token: u32,
    request: u64,
    part: DurablePart,
    covers_older: bool,
    /// Was it told that the program takes the version? Until then a newer one may replace it.
    captured: bool,
    end: Option<Nanos>,
}

#[derive(Debug, Default)]
struct PageVersions {
    /// Request that wrote the page last, unless all of that version is on flash.
    newest: Option<u64>,
    /// In the order in which they were queued; nearly always one.
    programs: SmallVec<[Programming; 1]>,
    /// Latest end of those before.
    ended: Nanos,
}

/// Versions that are not on flash: those of dirty pages, and those on their way.
#[derive(Debug, Default)]
pub(crate) struct Durability {
    /// Is all this kept?
    pub on: bool,
    pages: HashMap<Lpn, PageVersions>,
    /// Versions that became durable since a caller took this list.
    pub durable: Vec<DurableVersion>,
    /// Steps of versions since a caller took this list, in order.
    pub notes: Vec<VersionNote>,
}

/// Name of a program whose end is known when it is queued.
pub(crate) const UNNAMED: u32 = u32::MAX;

impl Durability {
    /// `request` writes the page, or a part of it, to the cache.
    pub fn written(&mut self, lpn: Lpn, request: u64) {
        self.capture_all(lpn);
        self.pages.entry(lpn).or_default().newest = Some(request);
        self.note(lpn, request, VersionStep::Written);
    }

    /// `request` replaces the version that was handed over last, or a part of it.
    pub fn replaced(&mut self, lpn: Lpn, request: u64) {
        let page = self.pages.entry(lpn).or_default();
        page.newest = Some(request);
        if let Some(last) = page.programs.last_mut() {
            debug_assert!(!last.captured, "a version that was taken is not replaced");
            (last.request, last.part, last.covers_older) = (request, DurablePart::Page, true);
        }
        self.note(lpn, request, VersionStep::Written);
    }

    fn note(&mut self, lpn: Lpn, request: u64, step: VersionStep) {
        self.notes.push(VersionNote { lpn, request, step });
    }

    /// Program `token` of the page is queued, or starts, if it is a background one, and takes the newest version. Data
    /// that `own` brings along go past the cache.
    pub fn queued(&mut self, token: u32, lpn: Lpn, own: Option<u64>) {
        self.handed_over(token, lpn, own);
        self.captured(token, lpn);
    }

    /// As [`Durability::queued`], but until [`Durability::captured`] the version may be replaced.
    pub fn handed_over(&mut self, token: u32, lpn: Lpn, own: Option<u64>) {
        if !self.on {
            return;
        }
        let (request, part, covers_older) = match own {
            Some(request) => {
                self.capture_all(lpn);
                let page = self.pages.entry(lpn).or_default();
                page.newest = page.newest.map(|_| request);
                let is_clean = page.newest.is_none();
                self.note(lpn, request, VersionStep::Written);
                (request, DurablePart::OwnSectors, is_clean)
            }
            None => match self.pages.get(&lpn).and_then(|page| page.newest) {
                Some(newest) => (newest, DurablePart::Page, true),
                // It completes a block, and all of it is on flash already.
                None => return,
            },
        };
        self.pages
            .entry(lpn)
            .or_default()
            .programs
            .push(Programming {
                token,
                request,
                part,
                covers_older,
                captured: false,
                end: None,
            });
    }

    /// Program `token` takes the version that it has now, unless it has done so.
    pub fn captured(&mut self, token: u32, lpn: Lpn) {
        let page = self.pages.get_mut(&lpn);
        let programs = page.into_iter().flat_map(|page| &mut page.programs);
        let taken = programs.filter(|p| p.token == token && !p.captured).last();
        if let Some(program) = taken {
            program.captured = true;
            let request = program.request;
            self.note(lpn, request, VersionStep::Captured);
        }
    }

    /// Newer data of the page have another frame: its programs take the versions that they have.
    fn capture_all(&mut self, lpn: Lpn) {
        let programs = self.pages.get(&lpn).map(|page| &page.programs);
        let open = programs.into_iter().flatten().filter(|p| !p.captured);
        let tokens: SmallVec<[u32; 1]> = open.map(|program| program.token).collect();
        for token in tokens {
            self.captured(token, lpn);
        }
    }

    /// As [`Durability::queued`], of a program that is known to end at `end`.
    #[inline]
    pub fn queued_until(&mut self, lpn: Lpn, own: Option<u64>, end: Nanos) {
        if self.on {
            self.queued(UNNAMED, lpn, own);
            self.timed(UNNAMED, lpn, end);
        }
    }

    /// Program `token` of the page ends at `end`.
    pub fn timed(&mut self, token: u32, lpn: Lpn, end: Nanos) {
        let Some(page) = self.pages.get_mut(&lpn) else {
            return;
        };
        let mut programs = page.programs.iter_mut();
        let Some(program) = programs.find(|p| p.token == token && p.end.is_none()) else {
            return;
        };
        program.end = Some(end);
        let ended = page.programs.iter().map_while(|p| p.end);
        let ended: SmallVec<[Nanos; 1]> = ended.collect();
        for (first, end) in page.programs.drain(..ended.len()).zip(ended) {
            page.ended = page.ended.max(end);
            self.durable.push(DurableVersion {
                lpn,
                request: first.request,
                part: first.part,
                covers_older: first.covers_older,
                at: page.ended,
            });
            if first.part == DurablePart::Page && page.newest == Some(first.request) {
                page.newest = None;
            }
        }
        if page.programs.is_empty() && page.newest.is_none() {
            self.pages.remove(&lpn);
        }
    }

    /// Newer data go past the cache, and nothing of the page is dirty there any more.
    pub fn superseded(&mut self, lpn: Lpn) {
        if let Some(page) = self.pages.get_mut(&lpn) {
            page.newest = None;
            if page.programs.is_empty() {
                self.pages.remove(&lpn);
            }
        }
    }

    /// The page holds no data any more: no older version of it becomes durable after that.
    pub fn trimmed(&mut self, lpn: Lpn) {
        self.pages.remove(&lpn);
        self.durable.retain(|version| version.lpn != lpn);
    }

    /// Pages of which a version is not on flash.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }
}
