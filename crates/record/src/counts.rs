//! Counters of a run, under the names of the result record.

use schemars::JsonSchema;

/// Everything that is counted over the measured part of a run. The schema of the record takes the meaning of
/// its counters from here.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq)]
pub struct Counts {
    /// Host requests of any kind.
    pub requests: u64,
    /// Read requests.
    pub read_requests: u64,
    /// Write requests.
    pub write_requests: u64,
    /// TRIM requests.
    pub trim_requests: u64,
    /// FLUSH requests.
    pub flush_requests: u64,
    /// Pages read or written by requests.
    pub page_accesses: u64,
    /// Pages read by requests.
    pub read_pages: u64,
    /// Pages written by requests.
    pub write_pages: u64,
    /// Page accesses that hit (decided before any state change).
    pub page_hits: u64,
    /// Read pages whose requested sectors were all valid.
    pub read_page_hits: u64,
    /// Written pages that were cached.
    pub write_page_hits: u64,
    /// Read requests of which every page hit.
    pub read_request_hits: u64,
    /// Write requests of which every page hit.
    pub write_request_hits: u64,
    /// Read requests of which at least one page hit.
    pub read_request_hits_any: u64,
    /// Write requests of which at least one page hit.
    pub write_request_hits_any: u64,
    /// Sum over read requests of hit pages / pages.
    pub read_hit_fraction_sum: f64,
    /// Sum over write requests of hit pages / pages.
    pub write_hit_fraction_sum: f64,
    /// Sectors read by requests.
    pub read_sectors: u64,
    /// Sectors written by requests.
    pub write_sectors: u64,
    /// Read sectors that were valid.
    pub read_sector_hits: u64,
    /// Written sectors that were valid before.
    pub write_sector_hits: u64,
    /// Make-room rounds: each removed one victim unit.
    pub evictions: u64,
    /// Pages removed by evictions.
    pub evicted_pages: u64,
    /// Evictions that removed a dirty page.
    pub dirty_evictions: u64,
    /// Dirty evictions to a chip in GC state at the decision.
    pub dirty_gc_evictions: u64,
    /// Dirty pages removed by evictions: each is programmed, or its write-back is in flight.
    pub flushed_pages: u64,
    /// Host pages sent to flash by an admission decision.
    pub bypassed_pages: u64,
    /// Pages removed without a flush because newer data exist.
    pub discarded_pages: u64,
    /// Cached pages and ghosts renamed by CAC.
    pub remaps: u64,
    /// Flash reads for the host: read misses, read-modify-write, padding.
    pub flash_reads_host: u64,
    /// Flash programs for the host: evictions, bypass, FLUSH, background write-back, padding.
    pub flash_writes_host: u64,
    /// Flash reads that complete partial pages before they are programmed (D2, `rmw`).
    pub flash_reads_rmw: u64,
    /// Flash reads of pages that complete a block that is evicted (padding).
    pub flash_reads_padding: u64,
    /// Programs of host data past the cache: no cache, or an admission decision.
    pub flash_writes_bypass: u64,
    /// Programs of FLUSH.
    pub flash_writes_flush: u64,
    /// Programs of pages that are clean or not cached and complete a block that is evicted (padding).
    pub flash_writes_padding: u64,
    /// Flash reads of garbage collection.
    pub flash_reads_gc: u64,
    /// Flash programs of garbage collection.
    pub flash_writes_gc: u64,
    /// Programs of summary and mapping pages.
    pub flash_writes_meta: u64,
    /// Mapping units of padding in program units that were closed before they were full.
    pub padded_places: u64,
    /// Block erases.
    pub erases: u64,
    /// Copybacks among the reads and programs of garbage collection.
    pub copybacks: u64,
    /// Blocks that garbage collection chose, wear levelling left out.
    pub gc_victims: u64,
    /// Valid pages in them.
    pub gc_victim_pages: u64,
    /// Reads of the flash region that holds the cache: by read hits, and before cached pages are
    /// programmed outside. In no other count of flash reads.
    pub cache_reads: u64,
    /// Programs of that region: writes of the host to the cache, and read misses that enter it. In
    /// no other count of flash programs and in no write amplification.
    pub cache_programs: u64,
    /// How often reads of the host suspended erases.
    pub erase_suspensions: u64,
    /// How often they suspended programs, copybacks included.
    pub program_suspensions: u64,
    /// Background write-backs that were programmed.
    pub background_writes: u64,
    /// Background write-backs cancelled before they started.
    pub background_cancels: u64,
    /// Background write-backs whose page was rewritten during the flight.
    pub background_stale: u64,
    /// Pages evicted while their write-back was in flight.
    pub inflight_evictions: u64,
    /// Reads of pages that flash does not hold.
    pub unmapped_reads: u64,
    /// Requests of a modelled file system's cleaning; in no other count of requests.
    pub lfs_clean_requests: u64,
    /// Blocks that cleaning read.
    pub lfs_clean_read_blocks: u64,
    /// Blocks that cleaning wrote.
    pub lfs_clean_write_blocks: u64,
    /// Segments (sections, if they are larger) that were cleaned.
    pub lfs_segments_cleaned: u64,
    /// Blocks that a modelled file system updated where they are.
    pub lfs_inplace_writes: u64,
    /// Requests that crossed the end of the device and were wrapped.
    pub wrapped_requests: u64,
}

impl Counts {
    /// Flash reads of read misses.
    pub fn flash_reads_miss(&self) -> u64 {
        self.flash_reads_host - self.flash_reads_rmw - self.flash_reads_padding
    }

    /// Programs of dirty pages that were evicted.
    pub fn flash_writes_evict(&self) -> u64 {
        let others = self.flash_writes_bypass + self.flash_writes_flush;
        self.flash_writes_host - others - self.flash_writes_padding - self.background_writes
    }

    /// Programs for any cause, padding and metadata included, in pages of the record.
    pub fn flash_programs(&self) -> u64 {
        self.flash_writes_host + self.flash_writes_gc + self.flash_writes_meta + self.padded_places
    }

    /// Takes over what flash did beside host data.
    pub fn add_traffic(&mut self, traffic: &Traffic) {
        self.flash_reads_gc = traffic.reads_gc;
        self.flash_writes_gc = traffic.writes_gc;
        self.flash_writes_meta = traffic.writes_meta;
        self.padded_places = traffic.padded_places;
        self.erases = traffic.erases;
        self.copybacks = traffic.copybacks;
        self.gc_victims = traffic.victims;
        self.gc_victim_pages = traffic.victim_pages;
        self.cache_reads = traffic.cache_reads;
        self.cache_programs = traffic.cache_programs;
        self.erase_suspensions = traffic.erase_suspensions;
        self.program_suspensions = traffic.program_suspensions;
    }

    /// Takes back what a request counted as one of the host; what it did to flash stays.
    pub fn restore_requests(&mut self, before: &Counts) {
        macro_rules! restore {
            ($($field:ident)*) => { $(self.$field = before.$field;)* };
        }
        restore! {
            read_requests write_requests page_accesses read_pages write_pages page_hits
            read_page_hits write_page_hits read_request_hits write_request_hits
            read_request_hits_any write_request_hits_any read_hit_fraction_sum
            write_hit_fraction_sum read_sectors write_sectors read_sector_hits write_sector_hits
        }
    }

    /// The same of what else a request counts by what it is.
    pub fn restore_kinds(&mut self, before: &Counts) {
        self.trim_requests = before.trim_requests;
        self.flush_requests = before.flush_requests;
        self.wrapped_requests = before.wrapped_requests;
        self.lfs_clean_requests = before.lfs_clean_requests;
        self.lfs_clean_read_blocks = before.lfs_clean_read_blocks;
        self.lfs_clean_write_blocks = before.lfs_clean_write_blocks;
        self.lfs_segments_cleaned = before.lfs_segments_cleaned;
        self.lfs_inplace_writes = before.lfs_inplace_writes;
    }

    /// Sectors read and written.
    pub fn sectors(&self) -> u64 {
        self.read_sectors + self.write_sectors
    }

    /// Sectors that hit.
    pub fn sector_hits(&self) -> u64 {
        self.read_sector_hits + self.write_sector_hits
    }
}

/// Work of flash besides reading and programming host data, counted when it is submitted; reads
/// before background programs when they start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Pages read by garbage collection and wear levelling, copybacks included.
    pub reads_gc: u64,
    /// Pages programmed by them, copybacks included.
    pub writes_gc: u64,
    /// Copybacks among both.
    pub copybacks: u64,
    /// Summary pages programmed.
    pub writes_meta: u64,
    /// Mapping units of padding.
    pub padded_places: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Blocks that garbage collection chose.
    pub victims: u64,
    /// Valid pages in them.
    pub victim_pages: u64,
    /// Reads of the region of flash that holds the cache.
    pub cache_reads: u64,
    /// Programs of that region.
    pub cache_programs: u64,
    /// How often reads of the host suspended erases.
    pub erase_suspensions: u64,
    /// The same of programs and copybacks.
    pub program_suspensions: u64,
}

/// `part / whole`, or `None` without a denominator.
pub fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole != 0.0).then(|| part / whole)
}
