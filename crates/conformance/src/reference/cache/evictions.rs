//! Evictions (D5, D6), and what the slow cache reads from flash and programs.

use super::{Evicted, SlowCache};
use crate::reference::flash::{SlowCause, SlowWrite};

impl SlowCache {
    /// Evicts until the scheme has room for a page.
    pub(super) fn make_room(&mut self, incoming: u64) {
        while (self.scheme.as_ref()).is_some_and(|s| s.full(incoming, &self.store)) {
            self.evict(incoming);
        }
    }

    fn evict(&mut self, incoming: u64) {
        self.store.current = incoming;
        self.evict_for(Some(incoming));
    }

    /// Evicts one victim unit, for a page that is to enter or for nobody.
    pub(super) fn evict_for(&mut self, incoming: Option<u64>) {
        let (scheme, store) = self.scheme();
        let mut unit = scheme.victim(incoming, store);
        let (place, block) = (scheme.unit(), scheme.whole_block());
        unit.sort_unstable();
        assert!(!unit.is_empty(), "a victim unit holds a page");
        let (inflight, rest) = self.adopt_flights(&unit);
        let (flush, drop): (Vec<u64>, Vec<u64>) =
            rest.iter().partition(|&&lpn| self.store.dirty(lpn));
        let pages = self.store.flash.pages();
        let absent = |x: &u64| !self.store.has(*x) && *x < pages;
        let pad: Vec<u64> = block.clone().into_iter().flatten().filter(absent).collect();
        let mut programs = match block {
            Some(_) => rest.clone(),
            None => flush.clone(),
        };
        programs.extend(&pad);
        programs.sort_unstable();
        let waits = self.program_unit(&programs, &flush, place);
        let evicted = Evicted { flush, drop };
        self.log_eviction(&evicted, &waits, &inflight, &pad);
        for lpn in &unit {
            let frame = self.store.frames.remove(lpn);
            assert!(frame.is_some(), "victim {lpn} is not resident");
            let dirty = frame.is_some_and(|f| f.dirty != 0);
            self.know(|ahead| ahead.left(*lpn, dirty));
            // On eviction the ART entry is deleted, even if the page comes back at once.
            if let Some(art) = &mut self.art {
                art.map.remove(lpn);
            }
        }
        self.counts.evictions += 1;
        self.counts.evicted_pages += unit.len() as u64;
        let flushed = evicted.flush.len() + inflight.len();
        self.counts.dirty_evictions += u64::from(flushed > 0);
        self.counts.flushed_pages += flushed as u64;
        self.device_counts.inflight_evictions += inflight.len() as u64;
        self.row.evictions.push(evicted);
    }

    /// Splits a victim unit: pages whose newest data are in flight already, and the others.
    fn adopt_flights(&mut self, unit: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let (mut inflight, mut rest) = (Vec::new(), Vec::new());
        for &lpn in unit {
            match self.release(lpn) {
                Some(token) => inflight.push((lpn, token)),
                None => rest.push(lpn),
            }
        }
        for &(_, token) in &inflight {
            let device = self.store.flash.device();
            device.expect("only a device has flights").adopt(token);
        }
        (inflight.into_iter().map(|flight| flight.0).collect(), rest)
    }

    /// Programs pages of a victim unit; those of `flush` are dirty. Returns what the log says of waiting.
    fn program_unit(&mut self, pages: &[u64], flush: &[u64], place: Option<u64>) -> String {
        let mut waits = String::new();
        for &lpn in pages {
            let valid = self.store.frames.get(&lpn).map_or(0, |f| f.valid);
            if valid == 0 {
                self.pad(lpn, place);
                continue;
            }
            let cause = match flush.contains(&lpn) {
                true => SlowCause::Eviction,
                false => SlowCause::Padding,
            };
            if let Some(wait) = self.program(lpn, valid, cause, place) {
                waits += &format!("@chip{} wait {wait}", self.store.chip(lpn));
            }
        }
        waits
    }

    fn log_eviction(&mut self, evicted: &Evicted, waits: &str, inflight: &[u64], pad: &[u64]) {
        for (word, pages, tail) in [
            ("flush", &evicted.flush, waits),
            ("drop", &evicted.drop, ""),
        ] {
            if !pages.is_empty() {
                let names: Vec<String> = pages.iter().map(u64::to_string).collect();
                self.log
                    .push(format!("{word}{{{}}}{tail}", names.join(",")));
            }
        }
        for lpn in inflight {
            self.log.push(format!("inflight{{{lpn}}}"));
        }
        if !pad.is_empty() {
            let names: Vec<String> = pad.iter().map(u64::to_string).collect();
            self.log.push(format!("pad-read{{{}}}", names.join(",")));
        }
    }

    /// Was there anything to read?
    pub(super) fn flash_read(&mut self, lpn: u64, sectors: u32) -> bool {
        let mapped = self.store.flash.mapped(lpn);
        if !mapped {
            self.device_counts.unmapped_reads += 1;
            return false;
        }
        self.counts.flash_reads_host += 1;
        self.row.reads.push(lpn);
        self.store.flash.fetch(lpn, sectors);
        true
    }

    /// Programs a page that the cache does not hold, as part of its block.
    fn pad(&mut self, lpn: u64, unit: Option<u64>) {
        self.program_page(SlowWrite {
            lpn,
            cause: SlowCause::Padding,
            unit,
            read_first: self.store.flash.mapped(lpn),
            cached: false,
        });
    }

    /// Programs a page. The cache holds the sectors `held`; the others are read first.
    pub(super) fn program(
        &mut self,
        lpn: u64,
        held: u128,
        cause: SlowCause,
        unit: Option<u64>,
    ) -> Option<u64> {
        let partial = self.rmw && held != self.store.full();
        self.program_page(SlowWrite {
            lpn,
            cause,
            unit,
            read_first: partial && self.store.flash.mapped(lpn),
            cached: cause != SlowCause::Own,
        })
    }

    /// Counts a program, and the read before it if there is one, and hands it to the flash.
    fn program_page(&mut self, write: SlowWrite) -> Option<u64> {
        if write.read_first {
            self.counts.flash_reads_host += 1;
            self.row.reads.push(write.lpn);
        }
        self.counts.flash_writes_host += 1;
        self.row.programs.push(write.lpn);
        self.store.flash.write(&write)
    }
}
