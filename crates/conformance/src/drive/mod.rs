//! Runs requests through the real cache core, one by one, and writes down what happened in the
//! words of the worked examples.
//!
//! The scheme runs inside [`Checked`], which holds core and scheme to their contract. Any [`Core`]
//! can be driven: the cache alone here, a device with time elsewhere.

mod checked;
mod chips;
mod config;
mod journal;
mod timed;

use crate::reference::Sum;
use crate::reference::{self, Row, SlowRequest, to_batch};
use destage_scheme::{Scheme, SchemeStats, View};
use destage_sim::{Cache, Counts, Flash};
use destage_types::{Nanos, Op, RequestFlags, RequestRef};

pub use checked::{Checked, Choice, Order, Promise};
pub use chips::{ChipState, Chips, Queues};
pub use config::{Config, build};
pub use journal::{Journal, Shared};
pub use timed::{TestDevice, Times};

/// Figures that a scheme reports of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Measures {
    /// Bytes of metadata.
    pub metadata_bytes: u64,
    /// Figures of its own.
    pub stats: SchemeStats,
}

/// A cache core that serves requests, whatever its scheme and its flash.
pub trait Core {
    /// Everything due before `now` is done, then request `index` is served.
    fn serve(&mut self, request: RequestRef<'_>, index: u64, now: Nanos);

    /// Executes all events up to `now`.
    fn advance(&mut self, now: Nanos);

    /// Counters so far.
    fn counts(&self) -> Counts;

    /// The state column at `now`.
    fn state(&self, now: Nanos) -> String;

    /// Figures of the scheme now.
    fn measures(&self) -> Measures;

    /// (pages, dirty pages, frames).
    fn occupancy(&self) -> (usize, usize, usize);

    /// The flash, if it is the kind whose chips a test sets by hand.
    fn chips(&mut self) -> Option<&mut Chips>;

    /// Lets all work end and says when it was done.
    fn settle(&mut self) -> Times;
}

/// Flash that can be driven.
pub trait Stage: Flash {
    /// The chips, if a test sets their state by hand.
    fn chips(&mut self) -> Option<&mut Chips> {
        None
    }

    /// Times of programs and requests, once they are known.
    fn take_times(&mut self, _out: &mut Times) {}
}

impl<S: Scheme, F: Stage> Core for Cache<S, F> {
    fn serve(&mut self, request: RequestRef<'_>, index: u64, now: Nanos) {
        // There is no host that would do it.
        if request.head.flags.any(RequestFlags::PREFLUSH) {
            self.preflush(index, now);
        }
        Cache::serve(self, request, index, now);
    }

    fn advance(&mut self, now: Nanos) {
        Cache::advance(self, now);
    }

    fn counts(&self) -> Counts {
        Cache::counts(self)
    }

    fn state(&self, now: Nanos) -> String {
        let mut out = String::new();
        let view: View<'_> = self.view(now);
        self.scheme().state(&view, &mut out);
        out
    }

    fn measures(&self) -> Measures {
        let mut stats = SchemeStats::default();
        self.scheme().stats(&mut stats);
        Measures {
            metadata_bytes: self.scheme().metadata_bytes(self.frames().used() as u64),
            stats,
        }
    }

    fn occupancy(&self) -> (usize, usize, usize) {
        let frames = self.frames();
        let dirty = frames.dirty_slots().count();
        assert_eq!(
            frames.dirty_pages(),
            dirty as u64,
            "dirty pages are counted"
        );
        (frames.used(), dirty, frames.capacity())
    }

    fn chips(&mut self) -> Option<&mut Chips> {
        self.flash_mut().chips()
    }

    fn settle(&mut self) -> Times {
        self.drain();
        let mut times = Times::default();
        self.flash_mut().take_times(&mut times);
        times
    }
}

/// A cache under test.
pub struct Drive {
    core: Box<dyn Core>,
    journal: Shared,
    spp: u32,
    /// One letter for a whole request in the result column (PC-7).
    letter_per_request: bool,
    now: Nanos,
    index: u64,
    /// Page accesses so far.
    seq: u64,
}

impl Drive {
    /// Drives `core`, which writes to `journal`; pages have `spp` sectors. Prints one letter for each
    /// page, or for a whole request.
    pub fn new(core: Box<dyn Core>, journal: Shared, spp: u32, letter_per_request: bool) -> Drive {
        Drive {
            core,
            journal,
            spp,
            letter_per_request,
            now: Nanos::ZERO,
            index: 0,
            seq: 0,
        }
    }

    /// Serves one request and says what it did.
    pub fn step(&mut self, request: &SlowRequest) -> Row {
        self.journal.open().take();
        self.now = Nanos(self.now.0.max(request.arrival));
        let before = self.core.counts();
        let batch = to_batch(std::slice::from_ref(request));
        self.core.serve(batch.get(0), self.index, self.now);
        self.index += 1;
        let pages = match request.op {
            Op::Read | Op::Write => request.accesses(self.spp).len() as u64,
            Op::Trim | Op::Flush => 0,
        };
        let first = self.seq + 1;
        self.seq += pages;
        let journal = self.journal.open().take();
        let hit = |seq| !journal.whole && journal.touched.contains(&seq);
        let hits: Vec<bool> = (first..first + pages).map(hit).collect();
        self.check_counts(&before, pages, &hits, &journal);
        self.row(request.op, hits, journal)
    }

    /// These chips are idle, no others, and what the scheme writes back on them takes no time.
    pub fn idle(&mut self, chips: &[usize]) -> Row {
        self.journal.open().take();
        self.chips().rest(chips);
        self.core.advance(self.now);
        let mut journal = self.journal.open().take();
        let cleaned = journal
            .events
            .iter()
            .filter_map(|e| e.split_once(":clean "));
        journal.events = cleaned.map(|(_, lpn)| format!("wb{{{lpn}}}")).collect();
        self.row(Op::Flush, Vec::new(), journal)
    }

    /// The state column, which takes longer than a request where tables are long.
    pub fn state(&self) -> String {
        self.core.state(self.now)
    }

    /// The most bytes of metadata that the scheme had after any of its calls.
    pub fn most_metadata(&self) -> u64 {
        self.journal.open().most_metadata
    }

    /// The most evicted pages whose slots the scheme kept after any of its calls.
    pub fn most_ghosts(&self) -> usize {
        self.journal.open().most_ghosts
    }

    fn row(&self, op: Op, hits: Vec<bool>, journal: Journal) -> Row {
        let letter = |hit: bool| if hit { "H" } else { "M" };
        let mut result: String = match op {
            Op::Trim | Op::Flush => "-".to_owned(),
            _ if self.letter_per_request => letter(hits.iter().all(|&h| h)).to_owned(),
            _ => hits.iter().map(|&h| letter(h)).collect(),
        };
        for word in &journal.words {
            result.push(' ');
            result.push_str(word);
        }
        let evicted = match journal.events.is_empty() {
            true => "-".to_owned(),
            false => journal.events.join(" "),
        };
        Row {
            result,
            evicted,
            hits,
            evictions: journal.evictions,
            discards: journal.discards,
            remaps: journal.remaps,
            programs: journal.programs,
            reads: journal.reads,
        }
    }

    /// The counters must have moved by what was seen.
    fn check_counts(&mut self, before: &Counts, pages: u64, hits: &[bool], journal: &Journal) {
        let c = self.core.counts();
        let hits = hits.iter().filter(|&&h| h).count() as u64;
        assert_eq!(c.requests - before.requests, 1);
        assert_eq!(c.page_accesses - before.page_accesses, pages);
        assert_eq!(c.page_hits - before.page_hits, hits, "page hits");
        let units = &journal.evictions;
        let removed: usize = units.iter().map(|e| e.flush.len() + e.drop.len()).sum();
        let flushed: usize = units.iter().map(|e| e.flush.len()).sum();
        let dirty = units.iter().filter(|e| !e.flush.is_empty()).count();
        for (name, moved, seen) in [
            ("evictions", c.evictions - before.evictions, units.len()),
            ("evicted", c.evicted_pages - before.evicted_pages, removed),
            ("flushed", c.flushed_pages - before.flushed_pages, flushed),
            ("dirty", c.dirty_evictions - before.dirty_evictions, dirty),
            (
                "discards",
                c.discarded_pages - before.discarded_pages,
                journal.discards.len(),
            ),
            ("remaps", c.remaps - before.remaps, journal.remaps.len()),
        ] {
            assert_eq!(moved, seen as u64, "{name}");
        }
        if self.core.chips().is_some() {
            let programs = self.core.counts().flash_writes_host - before.flash_writes_host;
            let reads = self.core.counts().flash_reads_host - before.flash_reads_host;
            assert_eq!(programs, journal.programs.len() as u64, "programs");
            assert_eq!(reads, journal.reads.len() as u64, "flash reads");
        }
        let (used, dirty, capacity) = self.core.occupancy();
        assert!(dirty <= used && used <= capacity);
    }

    /// The chips under the cache, to set their state.
    ///
    /// # Panics
    /// If the core has flash of another kind.
    pub fn chips(&mut self) -> &mut Chips {
        self.core.chips().expect("the flash is not set by hand")
    }

    /// Figures of the scheme.
    pub fn measures(&self) -> Measures {
        self.core.measures()
    }

    /// Lets all work end and says when it was done.
    pub fn settle(&mut self) -> Times {
        self.core.settle()
    }

    /// (pages, dirty pages, frames).
    pub fn occupancy(&self) -> (usize, usize, usize) {
        self.core.occupancy()
    }

    /// Background programs that are queued, in order.
    pub fn queue(&self) -> Vec<u64> {
        self.journal.open().queue.clone()
    }

    /// The counters under the names of the slow models.
    pub fn counts(&self) -> reference::SlowCounts {
        counts(&self.core.counts())
    }
}

/// The counters of the core as those of the slow models.
pub fn counts(c: &Counts) -> reference::SlowCounts {
    reference::SlowCounts {
        requests: c.requests,
        read_requests: c.read_requests,
        write_requests: c.write_requests,
        trim_requests: c.trim_requests,
        flush_requests: c.flush_requests,
        page_accesses: c.page_accesses,
        read_pages: c.read_pages,
        write_pages: c.write_pages,
        page_hits: c.page_hits,
        read_page_hits: c.read_page_hits,
        write_page_hits: c.write_page_hits,
        read_request_hits: c.read_request_hits,
        write_request_hits: c.write_request_hits,
        read_request_hits_any: c.read_request_hits_any,
        write_request_hits_any: c.write_request_hits_any,
        read_hit_fraction_sum: Sum(c.read_hit_fraction_sum),
        write_hit_fraction_sum: Sum(c.write_hit_fraction_sum),
        sectors: c.sectors(),
        read_sectors: c.read_sectors,
        write_sectors: c.write_sectors,
        sector_hits: c.sector_hits(),
        read_sector_hits: c.read_sector_hits,
        write_sector_hits: c.write_sector_hits,
        evictions: c.evictions,
        evicted_pages: c.evicted_pages,
        dirty_evictions: c.dirty_evictions,
        flushed_pages: c.flushed_pages,
        bypassed_pages: c.bypassed_pages,
        discarded_pages: c.discarded_pages,
        remaps: c.remaps,
        flash_reads_host: c.flash_reads_host,
        flash_writes_host: c.flash_writes_host,
    }
}
