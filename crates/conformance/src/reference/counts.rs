//! Counters that need no device, under the names of the result record.

/// A sum of fractions, which depends in its last digits on their order: equal within 1e-9.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(pub f64);

impl PartialEq for Sum {
    fn eq(&self, other: &Sum) -> bool {
        (self.0 - other.0).abs() <= 1e-9
    }
}

/// Counters since the start of the run.
#[derive(Clone, PartialEq, Debug, Default)]
#[allow(missing_docs)] // the names are those of the result record
pub struct SlowCounts {
    pub requests: u64,
    pub read_requests: u64,
    pub write_requests: u64,
    pub trim_requests: u64,
    pub flush_requests: u64,
    pub page_accesses: u64,
    pub read_pages: u64,
    pub write_pages: u64,
    pub page_hits: u64,
    pub read_page_hits: u64,
    pub write_page_hits: u64,
    pub read_request_hits: u64,
    pub write_request_hits: u64,
    pub read_request_hits_any: u64,
    pub write_request_hits_any: u64,
    pub read_hit_fraction_sum: Sum,
    pub write_hit_fraction_sum: Sum,
    pub sectors: u64,
    pub read_sectors: u64,
    pub write_sectors: u64,
    pub sector_hits: u64,
    pub read_sector_hits: u64,
    pub write_sector_hits: u64,
    pub evictions: u64,
    pub evicted_pages: u64,
    pub dirty_evictions: u64,
    pub flushed_pages: u64,
    pub bypassed_pages: u64,
    pub discarded_pages: u64,
    pub remaps: u64,
    pub flash_reads_host: u64,
    pub flash_writes_host: u64,
}

impl SlowCounts {
    /// A data request was served: `hits` has one entry per page, `sector_hits` of `sectors` were
    /// in the cache (D12).
    pub fn served(&mut self, write: bool, hits: &[bool], sectors: u64, sector_hits: u64) {
        let pages = hits.len() as u64;
        let hit = hits.iter().filter(|&&h| h).count() as u64;
        let fraction = hit as f64 / pages as f64;
        self.page_accesses += pages;
        self.page_hits += hit;
        self.sectors += sectors;
        self.sector_hits += sector_hits;
        if write {
            self.write_pages += pages;
            self.write_page_hits += hit;
            self.write_request_hits += u64::from(hit == pages);
            self.write_request_hits_any += u64::from(hit > 0);
            self.write_hit_fraction_sum.0 += fraction;
            self.write_sectors += sectors;
            self.write_sector_hits += sector_hits;
        } else {
            self.read_pages += pages;
            self.read_page_hits += hit;
            self.read_request_hits += u64::from(hit == pages);
            self.read_request_hits_any += u64::from(hit > 0);
            self.read_hit_fraction_sum.0 += fraction;
            self.read_sectors += sectors;
            self.read_sector_hits += sector_hits;
        }
    }
}
