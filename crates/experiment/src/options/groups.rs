//! Groups of options that several commands have.

use crate::memory::MemoryLimit;
use crate::options::readers::{one_of, read_write, whole};
use crate::options::values::{
    CacheSizeArg, FORMAT_OUT, FormatOut, READ_ALLOC, READ_FILL, VolumesArg, page_size, page_text,
    warmup_text,
};
use destage_device::config::DeviceConfig;
use destage_scheme::{DRAINED_LRU, ReadAlloc};
use destage_sim::{ReadFill, Warmup};
use destage_trace::{
    BlkEvent, LoadOptions, Mapping, Restarts, TagSet, TimeUnit, Volumes, format_by_name,
};
use destage_types::{ByteSize, PageSize};

crate::declare_options! {
    /// How traces are read.
    InputArgs in Stream {
        /// Trace format, a named mapping of columns such as `baleen`, or FILE.toml:NAME for a mapping of your own
        #[option(value = "NAME")]
        format: Option<String>, word "detected", shown "detected from the content";
        /// Read only the first N requests of each trace. With `--volumes only=NAME` the limit counts
        /// requests of that volume, with `--volumes split` those of the whole file
        #[option(value = "N")]
        limit: Option<u64> = whole(1..=u64::MAX), word "none", shown "";
        /// Count malformed lines and continue, instead of stopping at the first
        skip_bad_lines: bool;
        /// Keep only requests of these kinds, separated by commas: reads and writes by their tag
        /// (data, node, meta, gc, none), discard, flush
        #[option(value = "KINDS")]
        tags: Option<TagSet>, word "all", shown "";
        /// How to read a trace with several volumes: `stack` places one after the other,
        /// `only=VOLUME` reads one, `split` makes each a separate trace, `overlay` places all at the
        /// same addresses
        #[option(value = "stack|only=VOLUME|split|overlay")]
        volumes: Option<VolumesArg>, default "stack";
        /// Event of a blkparse or perf-script trace that counts as a request: Q (queued), G
        /// (allocated), I (inserted), D (issued), or C (completed)
        #[option(value = "Q|G|I|D|C")]
        event: Option<BlkEvent>, word "Q", shown "Q, or D for perf-script";
        /// Unit of the trace's times, for files that deviate from their format, such as SSDsim files
        /// in us
        #[option(value = "s|ms|us|100ns|ns")]
        time_unit: Option<TimeUnit>, word "as the format says",
            shown "the unit of the format";
        /// Columns of a table, by name or number from 1, with unit, factor and words, such as
        /// `time=ts:us,op=kind:1=R,0=W,offset=lba*512,size=n:sectors,volume=dev,separator=;`
        #[option(value = "time=COLUMN,op=COLUMN,...")]
        trace_columns: Option<Mapping>, word "detected", shown "detected from the names and values of the columns";
        /// What to do where the clock of a trace starts again, as where files were joined or a counter wrapped:
        /// `raise` gives the requests the last time before, `continue` lets the clock go on, `refuse` stops
        #[option(value = "raise|continue|refuse")]
        restarts: Option<Restarts>, default "raise";
    }
}

crate::declare_options! {
    /// Which caches.
    CacheArgs in Run {
        /// Cache schemes, such as `lru` or `lru,arc,cac(prober(lirs))`, or `all` schemes with their
        /// defaults; repeatable
        #[option(value = "EXPR,...", each = true, commas = true)]
        scheme: Vec<String>, default "lru",
            shown "lru, or drain(lru,low=0.25,high=0.25) on a device with a bounded buffer";
        /// Cache sizes with a unit, such as `4MiB,16MiB`, or as a share of the pages that the trace
        /// touches, such as 10% or 0.1; repeatable
        #[option(value = "SIZE|SHARE,...", each = true, commas = true)]
        cache: Vec<CacheSizeArg>, default "16MiB",
            shown "the cache size of the device, or 16MiB without one";
    }
}

impl CacheArgs {
    /// The schemes on `device`: those given, or the usual one of such a device.
    pub fn schemes_on(&self, device: Option<&DeviceConfig>) -> Vec<String> {
        match self.scheme.is_empty() && device.is_some_and(DeviceConfig::is_bounded) {
            true => vec![DRAINED_LRU.to_owned()],
            false => self.scheme(),
        }
    }
}

crate::declare_options! {
    /// Which pages.
    PageArgs in Device {
        /// Page size with a unit, 512B to 64KiB
        #[option(value = "SIZE")]
        page: Option<PageSize> = read_write(page_size, page_text), default "4KiB",
            shown "the page size of the device, or 4KiB without one";
    }
}

crate::declare_options! {
    /// How hits are counted.
    HitArgs in Run {
        /// Read allocation: whether a page that missed on a read is inserted into the cache
        #[option(value = "WHEN")]
        read_alloc: Option<ReadAlloc> = one_of(READ_ALLOC), default "scheme",
            shown "scheme, as each scheme declares";
        /// Sectors that a read miss loads into the cache: those of the whole page, or the requested ones
        #[option(value = "WHAT")]
        read_fill: Option<ReadFill> = one_of(READ_FILL), default "page",
            shown "as the device declares, or page without one";
        /// Warm-up before the measured part: a number of requests, percent (`10%`), or whole passes
        /// (`passes=1`)
        #[option(value = "N|N%|passes=K")]
        warmup: Option<Warmup> = read_write(Warmup::parse, warmup_text), word "none", shown "";
    }
}

crate::declare_options! {
    /// How much memory.
    LimitArgs in Machine {
        /// Memory limit of the program; a run that would exceed it is refused
        #[option(value = "SIZE")]
        memory: Option<ByteSize> = ByteSize::parse,
            word "70 % of the memory of the machine, its cgroup, or its address space";
    }
}

crate::declare_options! {
    /// How much memory for traces.
    MemoryArgs in Machine {
        /// Memory for the requests of one trace; a larger trace is decoded into a temporary file,
        /// which every run streams
        #[option(value = "SIZE")]
        trace_memory: Option<ByteSize> = ByteSize::parse, word "a quarter of --memory, at most 1GiB";
    }
}

crate::declare_options! {
    /// The seed of random numbers.
    SeedArgs in Run {
        /// Seed of schemes that draw random numbers
        #[option(value = "N")]
        seed: Option<u64> = whole(0..=u64::MAX), default "1";
    }
}

crate::declare_options! {
    /// How many threads.
    JobsArgs in Machine {
        /// Runs at the same time
        #[option(value = "N")]
        jobs: Option<u16> = whole(1..=u16::MAX), word "all processors";
    }
}

crate::declare_options! {
    /// How results are written.
    FormatOutArgs in Results {
        /// Format of the results
        #[option(value = "FORMAT")]
        format_out: Option<FormatOut> = one_of(FORMAT_OUT), default "table";
    }
}

impl InputArgs {
    /// The options of the reader; `hash`: is the hash of the file wanted?
    pub fn options(&self, hash: bool) -> LoadOptions {
        // A run is known by what a mapping says, not by its name.
        let named = self.format.as_deref().map(format_by_name);
        let (format, columns) = match named {
            Some(Ok((format, mapping))) => (Some(format.name.to_owned()), mapping),
            _ => (self.format.clone(), None),
        };
        LoadOptions {
            format,
            limit: self.limit,
            skip_bad_lines: self.skip_bad_lines,
            hash,
            volumes: match self.volumes() {
                VolumesArg::Read(volumes) => volumes,
                // Placed by the split.
                VolumesArg::Split => Volumes::Stack,
            },
            event: self.event,
            tags: self.tags,
            time_unit: self.time_unit,
            columns: self.trace_columns.clone().or(columns),
            restarts: self.restarts.unwrap_or_default(),
        }
    }

    /// Does every volume become a trace of its own?
    pub fn split(&self) -> bool {
        self.volumes == Some(VolumesArg::Split)
    }
}

impl LimitArgs {
    /// Memory that the program may take.
    pub fn limit(&self) -> MemoryLimit {
        MemoryLimit::new(self.memory)
    }
}

impl MemoryArgs {
    /// Bytes of memory for the requests of one trace.
    pub fn of_requests(&self, limit: MemoryLimit) -> u64 {
        let given = self.trace_memory.map(|given| given.0);
        given.unwrap_or_else(|| limit.of_requests())
    }
}

impl JobsArgs {
    /// Threads to use.
    pub fn resolve(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.map_or_else(all, usize::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::OptionGroup;

    #[test]
    fn help_names_the_scheme_of_bounded_buffers() {
        let declared = CacheArgs::declared().iter().find(|o| o.field == "scheme");
        assert!(declared.is_some_and(|option| option.help.contains(DRAINED_LRU)));
    }
}
