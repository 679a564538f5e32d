//! Counters of a run: one line each in the table at the end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The part of the simulator that counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// The cache, by what a request of the host asks for. A request that does not count as one takes it back.
    Request,
    /// The same, but requests of a file system's cleaning count too.
    Kind,
    /// The cache, by what it does.
    Cache,
    /// The flash, when it is submitted; reads before background programs when they start.
    Flash,
}

/// A counter of [`CountFields`].
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// Its name.
    pub name: &'static str,
    /// Its meaning, a sentence.
    pub meaning: &'static str,
    /// The runs that have it, a sentence; empty: all.
    pub condition: &'static str,
    /// Its value, if the run has it.
    pub of: fn(&CountFields) -> Option<u64>,
}

/// Makes all that there is of counters from one line for each: its meaning, its name, and who counts it. Those that
/// only some runs have are in parts with the condition.
macro_rules! counters {
    (
        always { $($(#[doc = $a_doc:literal])+ $a:ident: $a_by:ident,)+ }
        derived { $($(#[doc = $d_doc:literal])+ $d:ident,)+ }
        sums { $($(#[doc = $s_doc:literal])+ $s:ident,)+ }
        $(
            $(#[doc = $part_doc:literal])+
            $part:ident: $condition:literal { $($(#[doc = $c_doc:literal])+ $c:ident: $by:ident,)+ }
        )+
    ) => {
        /// Everything that is counted over the measured part of a run, or a part of it.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Counts {
            $($(#[doc = $a_doc])+ pub $a: u64,)+
            $($(#[doc = $s_doc])+ pub $s: f64,)+
            $($($(#[doc = $c_doc])+ pub $c: u64,)+)+
        }

        impl Counts {
            #[inline(always)]
            fn take(&mut self, by: By, from: &Counts) {
                $(if By::$a_by == by { self.$a = from.$a; })+
                $($(if By::$by == by { self.$c = from.$c; })+)+
            }

            /// Takes over what flash did beside host data.
            pub fn add_traffic(&mut self, flash: &Counts) {
                self.take(By::Flash, flash);
            }

            /// Takes back what a request counted as one of the host; what it did to flash stays.
            pub fn restore_requests(&mut self, before: &Counts) {
                self.take(By::Request, before);
                $(self.$s = before.$s;)+
            }

            /// The same of what else a request counts by what it is.
            pub fn restore_kinds(&mut self, before: &Counts) {
                self.take(By::Kind, before);
            }
        }

        /// Counters that not every run has.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct CountParts {
            $($(#[doc = $part_doc])+ pub $part: bool,)+
        }

        /// Counters; those that need a device are absent without one, those of a cache in flash
        /// without that.
        #[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
        pub struct CountFields {
            $($(#[doc = $a_doc])+ pub $a: u64,)+
            $($(#[doc = $d_doc])+ pub $d: u64,)+
            $($(#[doc = $s_doc])+ pub $s: f64,)+
            /// Arrivals before that of the request in front, which were raised to it.
            pub arrival_corrections: u64,
            /// Victim decisions of a chip-aware scheme with all CQCT 0.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub zero_cqct_decisions: Option<u64>,
            $($(
                $(#[doc = $c_doc])+
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $c: Option<u64>,
            )+)+
        }

        impl CountFields {
            /// The counters of a run; `parts` adds those that not every run has.
            pub fn new(c: &Counts, arrival_corrections: u64, parts: CountParts) -> CountFields {
                CountFields {
                    $($a: c.$a,)+
                    $($d: c.$d(),)+
                    $($s: c.$s,)+
                    arrival_corrections,
                    zero_cqct_decisions: None,
                    $($($c: parts.$part.then_some(c.$c),)+)+
                }
            }
        }

        /// All counters, in the order of the record.
        pub static COUNTERS: &[Counter] = &[
            $(Counter {
                name: stringify!($a),
                meaning: concat!($($a_doc),+).trim_ascii(),
                condition: "",
                of: |c| Some(c.$a),
            },)+
            $(Counter {
                name: stringify!($d),
                meaning: concat!($($d_doc),+).trim_ascii(),
                condition: "",
                of: |c| Some(c.$d),
            },)+
            $($(Counter {
                name: stringify!($c),
                meaning: concat!($($c_doc),+).trim_ascii(),
                condition: $condition,
                of: |c| c.$c,
            },)+)+
        ];
    };
}

counters! {
    always {
        /// Host requests of any kind.
        requests: Cache,
        /// Read requests.
        read_requests: Request,
        /// Write requests.
        write_requests: Request,
        /// TRIM requests.
        trim_requests: Kind,
        /// FLUSH requests.
        flush_requests: Kind,
        /// Pages read or written by requests.
        page_accesses: Request,
        /// Pages read by requests.
        read_pages: Request,
        /// Pages written by requests.
        write_pages: Request,
        /// Page accesses that hit (decided before any state change).
        page_hits: Request,
        /// Read pages whose requested sectors were all valid.
        read_page_hits: Request,
        /// Written pages that were cached.
        write_page_hits: Request,
        /// Read requests whose pages all hit.
        read_request_hits: Request,
        /// Write requests whose pages all hit.
        write_request_hits: Request,
        /// Read requests with a page that hit.
        read_request_hits_any: Request,
        /// Write requests with a page that hit.
        write_request_hits_any: Request,
        /// Sectors read by requests.
        read_sectors: Request,
        /// Sectors written by requests.
        write_sectors: Request,
        /// Read sectors that were valid.
        read_sector_hits: Request,
        /// Written sectors that were valid before.
        write_sector_hits: Request,
        /// Make-room rounds: each removed one victim unit.
        evictions: Cache,
        /// Pages removed by evictions.
        evicted_pages: Cache,
        /// Evictions that removed a dirty page.
        dirty_evictions: Cache,
        /// Dirty pages removed by evictions: each is programmed, or its write-back is in flight.
        flushed_pages: Cache,
        /// Host pages sent to flash by an admission decision.
        bypassed_pages: Cache,
        /// Pages removed without a flush because newer data exist.
        discarded_pages: Cache,
        /// Cached pages and ghosts renamed by CAC.
        remaps: Cache,
        /// Flash reads for the host: read misses, read-modify-write, padding.
        flash_reads_host: Cache,
        /// Flash programs for the host: evictions, bypass, FLUSH, background write-back, padding.
        flash_writes_host: Cache,
        /// Flash reads that complete partial pages before they are programmed (D2, `rmw`).
        flash_reads_rmw: Cache,
        /// Flash reads of pages that complete a block that is evicted (padding).
        flash_reads_padding: Cache,
        /// Programs of host data past the cache: no cache, or an admission decision.
        flash_writes_bypass: Cache,
        /// Programs of FLUSH.
        flash_writes_flush: Cache,
        /// Programs of pages that are clean or not cached and complete a block that is evicted (padding).
        flash_writes_padding: Cache,
    }
    derived {
        /// Flash reads of read misses.
        flash_reads_miss,
        /// Programs of dirty pages that were evicted.
        flash_writes_evict,
        /// Sectors read and written that hit.
        sector_hits,
        /// Sectors read and written.
        sectors,
    }
    sums {
        /// Sum over read requests of hit pages / pages.
        read_hit_fraction_sum,
        /// Sum over write requests of hit pages / pages.
        write_hit_fraction_sum,
    }
    /// Those that need a device.
    timed: "Only with a device." {
        /// Dirty evictions to a chip in GC state at the decision.
        dirty_gc_evictions: Cache,
        /// Flash reads of garbage collection.
        flash_reads_gc: Flash,
        /// Flash programs of garbage collection.
        flash_writes_gc: Flash,
        /// Programs of summary and mapping pages.
        flash_writes_meta: Flash,
        /// Block erases.
        erases: Flash,
        /// Copybacks among the reads and programs of garbage collection.
        copybacks: Flash,
        /// Blocks that garbage collection chose, wear levelling left out.
        gc_victims: Flash,
        /// Valid pages in the blocks that garbage collection chose.
        gc_victim_pages: Flash,
        /// Background write-backs that were programmed.
        background_writes: Cache,
        /// Background write-backs cancelled before they started.
        background_cancels: Cache,
        /// Background write-backs whose page was rewritten during the flight.
        background_stale: Cache,
        /// Pages evicted while their write-back was in flight.
        inflight_evictions: Cache,
        /// Reads of pages that flash does not hold.
        unmapped_reads: Cache,
        /// Requests that crossed the end of the device and were wrapped.
        wrapped_requests: Kind,
    }
    /// Those of a cache in a region of flash.
    region: "Only with a cache in flash." {
        /// Reads of the flash region that holds the cache: by read hits, and before cached pages are
        /// programmed outside. In no other count of flash reads.
        cache_reads: Flash,
        /// Programs of the flash region that holds the cache: writes of the host to the cache, and read misses that enter it. In
        /// no other count of flash programs and in no write amplification.
        cache_programs: Flash,
    }
    /// Those of a device with units of its own.
    units: "Only with a device with units of its own." {
        /// Mapping units of padding in program units that were closed before they were full.
        padded_places: Flash,
    }
    /// Those of a device with an SLC cache.
    slc: "Only with an SLC cache." {
        /// Mapping units of the host that went to SLC blocks.
        slc_host_places: Flash,
        /// Mapping units moved out of SLC blocks, among those of garbage collection.
        folded_places: Flash,
        /// Programs of units in SLC blocks, each of one page in each plane of a unit.
        slc_programs: Flash,
        /// Block erases in SLC mode, among all.
        slc_erases: Flash,
    }
    /// Those of a device with parity.
    parity: "Only with parity." {
        /// Mapping units of parity, in units of their own.
        parity_places: Flash,
    }
    /// Those of a device whose mapping table is cached.
    mapping: "Only with a cached mapping." {
        /// Questions for entries of the mapping table that were in memory.
        map_hits: Flash,
        /// Questions for entries that were not.
        map_misses: Flash,
        /// Those among them for which no read was begun, because it was under way or the entry was asked for already.
        map_joined: Flash,
        /// Reads of translation pages for entries that were asked for.
        map_loads: Flash,
        /// Hits of entries in memory of the host.
        hmb_hits: Flash,
        /// Reads of translation pages for entries that leave memory.
        map_evict_reads: Flash,
        /// Translation pages written for entries that leave memory, among the programs of metadata.
        map_evict_places: Flash,
        /// Reads of translation pages that garbage collection changes.
        map_gc_reads: Flash,
        /// Translation pages that garbage collection changes, among the programs of metadata.
        map_gc_places: Flash,
        /// Translation pages that garbage collection moves, among the programs of metadata.
        map_moved_places: Flash,
    }
    /// Those of a device on which reads suspend other operations.
    suspends: "Only with a device that suspends." {
        /// How often reads of the host suspended erases.
        erase_suspensions: Flash,
        /// How often reads of the host suspended programs, copybacks included.
        program_suspensions: Flash,
    }
    /// Those of a host file system's model.
    modelled: "Only with a modelled file system." {
        /// Requests of a modelled file system's cleaning; in no other count of requests.
        lfs_clean_requests: Kind,
        /// Blocks that cleaning read.
        lfs_clean_read_blocks: Kind,
        /// Blocks that cleaning wrote.
        lfs_clean_write_blocks: Kind,
        /// Segments (sections, if they are larger) that were cleaned.
        lfs_segments_cleaned: Kind,
        /// Blocks that a modelled file system updated where they are.
        lfs_inplace_writes: Kind,
    }
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
        let own = self.flash_writes_host + self.flash_writes_gc + self.flash_writes_meta;
        own + self.padded_places + self.parity_places
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

impl CountFields {
    /// Programs for any cause, as [`Counts::flash_programs`].
    pub fn flash_programs(&self) -> u64 {
        let beside = [
            self.flash_writes_gc,
            self.flash_writes_meta,
            self.padded_places,
            self.parity_places,
        ];
        self.flash_writes_host + beside.into_iter().flatten().sum::<u64>()
    }
}

/// `part / whole`, or `None` without a denominator.
pub fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole != 0.0).then(|| part / whole)
}
