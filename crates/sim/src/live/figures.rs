//! Figures of a live device so far that are quick to make: for observers that look every second.

use super::LiveDevice;
use crate::engine::latency::total_of;
use serde::Serialize;

/// Figures at one moment. Counters begin with the statistics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LiveFigures {
    /// Requests of the device before the statistics began: another number, other statistics.
    pub begun_after: u64,
    /// Host requests.
    pub requests: u64,
    /// Pages read by them.
    pub read_pages: u64,
    /// Pages written by them.
    pub write_pages: u64,
    /// Read pages that hit.
    pub read_page_hits: u64,
    /// Written pages that hit.
    pub write_page_hits: u64,
    /// Completed reads and writes.
    pub responses: u64,
    /// Sum of their response times in ns.
    pub response_ns: u64,
    /// Evictions.
    pub evictions: u64,
    /// Pages removed by them.
    pub evicted_pages: u64,
    /// Flash reads for the host.
    pub flash_reads_host: u64,
    /// Flash programs for the host.
    pub flash_writes_host: u64,
    /// Flash reads of garbage collection and wear levelling.
    pub flash_reads_gc: u64,
    /// Flash programs of them.
    pub flash_writes_gc: u64,
    /// Places of program units that were filled with padding.
    pub padded_places: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Blocks that garbage collection chose.
    pub collections: u64,
    /// Frames of the cache.
    pub cache_pages: u64,
    /// Pages in the cache now.
    pub cached_pages: u64,
    /// Dirty ones among them.
    pub dirty_pages: u64,
    /// How much the scheme's own lists hold now.
    pub lists: Vec<(&'static str, u64)>,
    /// Operations of the host that wait or are served, by chip.
    pub queues: Vec<u32>,
}

impl LiveDevice {
    /// Pages that operations of the host move which wait or are served.
    pub fn pages_on_their_way(&self) -> u64 {
        self.cache.pages_on_their_way()
    }

    /// The figures now.
    pub fn figures(&self) -> LiveFigures {
        let mut counts = self.cache.counts();
        counts.add_traffic(&self.cache.flash().traffic());
        let responses = match &self.front {
            Some(front) => Some(front.response_times()),
            None => self.cache.flash().response_times(),
        };
        let responses = responses.map(total_of).unwrap_or_default();
        let (cached_pages, dirty_pages) = self.cache.held();
        LiveFigures {
            begun_after: self.measured_from,
            requests: counts.requests,
            read_pages: counts.read_pages,
            write_pages: counts.write_pages,
            read_page_hits: counts.read_page_hits,
            write_page_hits: counts.write_page_hits,
            responses: responses.count,
            response_ns: u64::try_from(responses.sum).unwrap_or(u64::MAX),
            evictions: counts.evictions,
            evicted_pages: counts.evicted_pages,
            flash_reads_host: counts.flash_reads_host,
            flash_writes_host: counts.flash_writes_host,
            flash_reads_gc: counts.flash_reads_gc,
            flash_writes_gc: counts.flash_writes_gc,
            padded_places: counts.padded_places,
            erases: counts.erases,
            collections: counts.gc_victims,
            cache_pages: u64::from(self.capacity.frames),
            cached_pages,
            dirty_pages,
            lists: self.cache.lists(),
            queues: self.cache.waiting_operations(),
        }
    }
}
