//! Invariants of the slow cache after every request, whatever the scheme.

use std::collections::BTreeSet;

use destage_types::Op;

use super::cache::{Row, SlowCache};
use super::request::SlowRequest;

/// A slow cache that is looked at after every request.
pub struct Watched {
    /// The cache.
    pub cache: SlowCache,
    rows: Vec<Row>,
}

impl Watched {
    /// Watches `cache`, which has served nothing yet.
    pub fn new(cache: SlowCache) -> Watched {
        let rows = Vec::new();
        Watched { cache, rows }
    }

    fn dirty_pages(&self) -> BTreeSet<u64> {
        let frames = self.cache.store.frames.iter();
        let dirty = frames.filter(|(_, f)| f.dirty != 0);
        dirty.map(|(&lpn, _)| lpn).collect()
    }

    /// Serves one request.
    ///
    /// # Panics
    /// Something does not hold.
    pub fn step(&mut self, request: &SlowRequest) -> Row {
        let before = self.dirty_pages();
        let row = self.cache.step(request);
        let store = &self.cache.store;
        assert!(store.frames.len() <= store.capacity, "occupancy");
        let resident: Vec<u64> = store.frames.keys().copied().collect();
        let known = self.cache.scheme_pages();
        assert_eq!(known, resident, "the scheme knows each page once");
        for frame in store.frames.values() {
            assert!(frame.valid != 0 && frame.dirty & !frame.valid == 0);
            assert!(frame.valid & !store.full() == 0);
        }
        // No dirty page is lost: it is programmed, superseded, renamed or trimmed.
        let mut accounted: BTreeSet<u64> = row.programs.iter().copied().collect();
        accounted.extend(&row.discards);
        accounted.extend(row.remaps.iter().map(|r| r.0));
        if request.op == Op::Trim {
            accounted.extend(request.accesses(store.spp).iter().map(|a| a.lpn));
        }
        // A bypassed write takes sectors away; it programs the page itself.
        let lost = before
            .iter()
            .find(|x| !store.dirty(**x) && !accounted.contains(x));
        assert_eq!(lost, None, "dirty data vanished");
        if request.op == Op::Flush {
            assert!(self.dirty_pages().is_empty(), "FLUSH leaves nothing dirty");
        }
        self.rows.push(row.clone());
        row
    }

    /// The counters must be the sums of what the requests did.
    ///
    /// # Panics
    /// They are not.
    pub fn check_counts(&self, requests: &[SlowRequest]) {
        let (c, rows) = (&self.cache.counts, &self.rows);
        let number = |op: Op| requests.iter().filter(|r| r.op == op).count() as u64;
        let sum = |f: &dyn Fn(&Row) -> usize| rows.iter().map(f).sum::<usize>() as u64;
        let of_units = |f: &dyn Fn(usize, usize) -> usize| {
            sum(&|r| {
                r.evictions
                    .iter()
                    .map(|e| f(e.flush.len(), e.drop.len()))
                    .sum()
            })
        };
        for (got, wanted) in [
            (c.requests, requests.len() as u64),
            (c.read_requests, number(Op::Read)),
            (c.write_requests, number(Op::Write)),
            (c.trim_requests, number(Op::Trim)),
            (c.flush_requests, number(Op::Flush)),
            (c.page_accesses, c.read_pages + c.write_pages),
            (c.page_hits, c.read_page_hits + c.write_page_hits),
            (c.sectors, c.read_sectors + c.write_sectors),
            (c.sector_hits, c.read_sector_hits + c.write_sector_hits),
            (c.page_accesses, sum(&|r| r.hits.len())),
            (c.page_hits, sum(&|r| r.hits.iter().filter(|&&h| h).count())),
            (c.evictions, sum(&|r| r.evictions.len())),
            (c.flash_writes_host, sum(&|r| r.programs.len())),
            (c.flash_reads_host, sum(&|r| r.reads.len())),
            (c.discarded_pages, sum(&|r| r.discards.len())),
            (c.remaps, sum(&|r| r.remaps.len())),
            (c.evicted_pages, of_units(&|flush, drop| flush + drop)),
            (c.flushed_pages, of_units(&|flush, _| flush)),
            (c.dirty_evictions, of_units(&|flush, _| flush.min(1))),
        ] {
            assert_eq!(got, wanted, "{c:?}");
        }
        assert!(c.page_hits <= c.page_accesses && c.sector_hits <= c.sectors);
        assert!(c.read_request_hits <= c.read_request_hits_any);
        assert!(c.write_request_hits <= c.write_request_hits_any);
        assert!(c.read_request_hits as f64 <= c.read_hit_fraction_sum.0);
        assert!(c.write_hit_fraction_sum.0 <= c.write_request_hits_any as f64);
    }
}
