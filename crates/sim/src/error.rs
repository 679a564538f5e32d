//! Why runs fail.

use destage_device::map::DeviceFull;
use destage_scheme::Refusal;
use destage_scheme::store::page_index::CHUNK;
use destage_types::{ByteSize, Nanos};

/// Why a run cannot start or end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A log of the run could not be written.
    #[error("cannot write the log of the run: {0}")]
    Log(#[from] std::io::Error),
    /// The trace could not be read again.
    #[error("{0}")]
    Trace(#[from] destage_trace::TraceError),
    /// Completions need time, and there is no device.
    #[error("closed-loop replay needs a device: without one no request takes time")]
    ClosedLoop,
    /// A scheme or a cache that does not go with the units of a device.
    #[error("{0}")]
    Units(String),
    /// A setting for traces, or a device that cannot be fed by hand.
    #[error("a live device takes no {0}")]
    NotLive(String),
    /// The expression breaks a rule of composition.
    #[error("{0}")]
    Refused(Refusal),
    /// The last request would arrive too late for a clock of 64 bits.
    #[error(
        "the last request would arrive after {} years ({last} ns), and times must stay below {} years \
         (2^{limit_bits} ns): wrong times in the trace, a large --time-scale or many warm-up passes",
        years(*last), years(1 << limit_bits)
    )]
    TooLate {
        /// Its arrival in ns.
        last: u128,
        /// Times stay below two to the power of this in ns.
        limit_bits: u32,
    },
    /// There is no such window of the run to watch.
    #[error("{0}")]
    Watch(String),
    /// The trace addresses more than the device has.
    #[error(
        "request {request} of the trace ends at sector {sector}, beyond the {sectors} sectors \
         that device {device} exports; choose a larger device, `--addresses fit` to move the touched \
         regions together, or `--addresses wrap` to take addresses modulo its size"
    )]
    BeyondDevice {
        /// Index of the request, from 0.
        request: u64,
        /// Its last sector.
        sector: u64,
        /// Name of the device.
        device: String,
        /// Sectors the device exports.
        sectors: u64,
    },
    /// The program has come to take more memory than it may.
    #[error(
        "after request {request} of the trace (from 0, warm-up passes included) the program takes \
         {bytes} bytes of memory, more than {limit}"
    )]
    Memory {
        /// Requests served before, over all passes.
        request: u64,
        /// Memory that the program takes.
        bytes: u64,
        /// Memory that it may take.
        limit: u64,
    },
    /// Nobody waits for the run any more.
    #[error("the run was interrupted")]
    Cancelled,
    /// The timeline takes too much memory.
    #[error("at {at} ns of simulated time the timeline takes more than {limit} bytes of memory")]
    TimelineMemory {
        /// Memory that the timeline may take, in bytes.
        limit: u64,
        /// How far the run was.
        at: Nanos,
    },
    /// An index of pages cannot tell so many apart.
    #[error(
        "the trace touches {chunks} neighbourhoods of {CHUNK} pages, more than the {most} that an index \
         of pages holds"
    )]
    IndexFull {
        /// Neighbourhoods that the trace touches.
        chunks: u64,
        /// Neighbourhoods that there may be.
        most: u64,
    },
    /// There is no memory for so many pages.
    #[error(
        "the tables of a cache of {slots} pages, as many as the trace touches or the cache holds, take \
         {bytes} bytes at least, which the system does not provide; choose a smaller cache or a larger page"
    )]
    CacheMemory {
        /// Pages that the cache can come to hold.
        slots: u32,
        /// Memory they take at least.
        bytes: u64,
    },
    /// The device is too small for what it is to hold before the run.
    #[error("preconditioning device {device} failed: {full}")]
    Precondition {
        /// Name of the device.
        device: String,
        /// The part of the device that was full.
        full: Box<DeviceFull>,
    },
    /// The device ran out of space.
    #[error("request {request} of the trace (from 0, warm-up passes included) found the {full}")]
    DeviceFull {
        /// Requests served before, over all passes.
        request: u64,
        /// The part of the device that was full.
        full: Box<DeviceFull>,
    },
    /// Cache and device disagree about the page.
    #[error("--page {page} does not fit device {device}, whose page has {device_page}")]
    PageOfDevice {
        /// Page asked for.
        page: ByteSize,
        /// Name of the device.
        device: String,
        /// Page of the device.
        device_page: ByteSize,
    },
    /// The cache is larger than the device.
    #[error("a cache of {cache} is larger than device {device}, which exports {exported} bytes")]
    CacheBeyondDevice {
        /// Cache size.
        cache: ByteSize,
        /// Name of the device.
        device: String,
        /// Bytes the host can address.
        exported: u64,
    },
    /// The cache is larger than the region of flash that holds it.
    #[error(
        "a cache of {cache} does not fit into the flash region of device {device} that holds it, \
         {region} (cache_region.size)"
    )]
    CacheBeyondRegion {
        /// Cache size.
        cache: ByteSize,
        /// Name of the device.
        device: String,
        /// Size of the region.
        region: ByteSize,
    },
    /// The scheme must know the future, and the run is too long for that.
    #[error("{0}")]
    Future(#[from] destage_scheme::policy::FutureTooLong),
    /// The cache has no page.
    #[error("a cache of {cache} holds no page of {page} bytes; it needs at least one")]
    NoPage {
        /// Cache size.
        cache: ByteSize,
        /// Page size in bytes.
        page: u64,
    },
    /// The cache has no page beside its metadata.
    #[error(
        "a cache of {cache} has no room for a page beside the metadata that {expr} needs for one, \
         {metadata} bytes: it takes at least {least} bytes"
    )]
    NoPageBesideMetadata {
        /// Cache size.
        cache: ByteSize,
        /// The scheme.
        expr: String,
        /// Metadata of a cache of one page.
        metadata: u64,
        /// Bytes of the smallest cache that holds both.
        least: u64,
    },
    /// Metadata that grows with the trace cannot be set aside.
    #[error(
        "the metadata of {expr} cannot be charged to the cache, it grows without bound: give \
         `max-nonres` of lirs a number of pages"
    )]
    UnboundedMetadata {
        /// The scheme.
        expr: String,
    },
    /// The cache has too many pages.
    #[error("a cache of {cache} has more than 2^32 - 2 pages of {page} bytes")]
    TooManyPages {
        /// Cache size.
        cache: ByteSize,
        /// Page size in bytes.
        page: u64,
    },
    /// Nothing is left to measure.
    #[error(
        "a warm-up of {warmup} requests covers the trace of {requests} requests; shorten the warm-up"
    )]
    WarmupCoversTrace {
        /// Requests of the warm-up.
        warmup: u64,
        /// Requests of the trace.
        requests: u64,
    },
}

impl RunError {
    /// Does it concern the scheme and the cache of one run, so that other runs over the same trace may
    /// succeed?
    pub fn is_of_one_run(&self) -> bool {
        match self {
            RunError::Refused(_)
            | RunError::Watch(_)
            | RunError::TimelineMemory { .. }
            | RunError::CacheMemory { .. }
            | RunError::DeviceFull { .. }
            | RunError::CacheBeyondDevice { .. }
            | RunError::CacheBeyondRegion { .. }
            | RunError::Future(_)
            | RunError::NoPage { .. }
            | RunError::NoPageBesideMetadata { .. }
            | RunError::UnboundedMetadata { .. }
            | RunError::TooManyPages { .. } => true,
            RunError::Log(_)
            | RunError::Trace(_)
            | RunError::ClosedLoop
            | RunError::Units(_)
            | RunError::NotLive(_)
            | RunError::TooLate { .. }
            | RunError::BeyondDevice { .. }
            | RunError::Memory { .. }
            | RunError::Cancelled
            | RunError::IndexFull { .. }
            | RunError::Precondition { .. }
            | RunError::PageOfDevice { .. }
            | RunError::WarmupCoversTrace { .. } => false,
        }
    }
}

/// Whole years of 365 days in `ns`.
fn years(ns: u128) -> u128 {
    ns / (365 * 86_400 * 1_000_000_000)
}
