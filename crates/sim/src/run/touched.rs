//! Memory that the pages of a trace take during runs, known before the runs start.

use crate::RunError;
use crate::cache::page_span;
use crate::run::spec::RunSpec;
use destage_device::config::{DeviceConfig, Overwrite, Precondition, Ratio};
use destage_device::map::PIECE;
use destage_scheme::Role;
use destage_scheme::store::PageIndex;
use destage_scheme::store::page_index::{CHUNK, MOST_CHUNKS};
use destage_trace::{TraceError, Workload};
use destage_types::{Extent, Op, PageSize, RequestRef};

/// Bytes per page frame: address, masks and flags 45 B, lists and marks of a scheme about as much.
const PER_FRAME: u64 = 96;
/// Bytes per neighbourhood of pages in an index: a chunk of it, and its part of the directory.
const PER_CHUNK: u64 = (CHUNK * size_of::<u32>()) as u64 + 1024;
/// Bytes per page that the trace touches: history of a scheme.
const PER_PAGE: u64 = 8;
/// Bytes per page access of a run, for schemes that know the future.
const PER_ACCESS: u64 = 4;
/// Bytes per mapped flash page, in each direction of the map.
const PER_FLASH_PAGE: u64 = 4;
/// Bytes that the operating system provides at once.
const OS_PAGE: u64 = 4096;
/// Bytes per page of a request on its way through the device: its operation there and here, in tables
/// that double (230 B were measured).
const PER_OP: u64 = 256;
/// The same of a page of a cache in flash: its operations in the region as well (805 B were measured).
const PER_REGION_OP: u64 = 896;
/// Bytes per flash block.
const PER_BLOCK: u64 = 16;
/// Bytes per page of which a version is not on flash, in a live device: who wrote it, its program, what is told of it.
const PER_VERSION: u64 = 768;
/// Bytes of the response times that a live device keeps exactly.
const LIVE_TIMES: u64 = 24 << 20;
/// Bytes per page that a curve of all sizes of LRU goes over: its number, its place in the stack, and
/// the sizes at which it changes.
const PER_CURVE_PAGE: u64 = 96;
/// Bytes per access to a page of a sample: a request of its own, or an extent of one.
const PER_SAMPLED: u64 = 48;
/// Sectors of a neighbourhood of pages of 4 KiB.
const SECTORS_OF_CHUNK: u64 = CHUNK as u64 * 8;
/// Bytes per part while parts are collected: twice as many before they are joined, in a list with room for
/// as many more.
const PER_PART: u64 = 32;
/// Neighbourhoods that the index of a cache keeps in any case, and requests between two looks at it.
const KEPT: u64 = 8_192;
const BLOCK: u64 = 32;

/// Pages that a trace touches, and the neighbourhoods of [`CHUNK`] pages in which they lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touched {
    accesses: u64,
    /// Pages touched, at most.
    pub pages: u64,
    chunks: u64,
    /// Neighbourhoods of the longest request.
    longest: u64,
    /// Pages of the longest request.
    longest_pages: u64,
}

/// Memory that a live device of `run` takes at most, in bytes, whatever its requests touch. Its cache and what
/// it has on its way hold `versions` pages that are not on flash, at most.
pub fn of_live(run: &RunSpec, versions: u64) -> u64 {
    let pages = run.device.as_ref().map_or(0, |d| d.logical_pages());
    let all = Touched {
        accesses: 0,
        pages,
        chunks: pages / CHUNK as u64 + 1,
        longest: 1,
        longest_pages: 0,
    };
    let frames = u64::from(run.capacity().unwrap_or(0)).min(pages);
    let history = match run.metadata_bytes(frames) {
        Some(bytes) => bytes,
        None => pages * PER_PAGE,
    };
    // Beside its device a run is counted with the history of every page.
    let tables = all.of_run(run) - pages * PER_PAGE + history;
    tables + versions.saturating_mul(PER_VERSION) + LIVE_TIMES
}

impl Touched {
    /// All pages of the largest device, if every run has one: what lies beyond is refused.
    pub fn at_most(runs: &[RunSpec]) -> Option<Touched> {
        // The memory of offline schemes grows with the accesses, and a request that wraps may be
        // longer than its device.
        if runs.iter().any(|run| is_offline(run) || run.wrap) {
            return None;
        }
        let pages = |run: &RunSpec| run.device.as_ref().map(|device| device.logical_pages());
        let pages = runs.iter().map(pages).collect::<Option<Vec<_>>>()?;
        let pages = pages.into_iter().max()?;
        let chunks = pages / CHUNK as u64 + 1;
        Some(Touched {
            accesses: 0,
            pages,
            chunks,
            longest: chunks,
            longest_pages: pages,
        })
    }

    /// All pages below a sector. Its accesses are not known.
    pub fn below(end_sector: u64, page: PageSize) -> Touched {
        let pages = end_sector.div_ceil(u64::from(page.sectors()));
        let chunks = pages.div_ceil(CHUNK as u64);
        Touched {
            accesses: 0,
            pages,
            chunks,
            longest: chunks,
            longest_pages: pages,
        }
    }

    /// Pages that the requests of `workload` touch. Goes through them once.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn by(workload: Workload<'_>, page: PageSize) -> Result<Touched, TraceError> {
        let mut count = TouchedCount::new(page);
        workload.try_each(|_, request| {
            count.add(request);
            Ok::<(), TraceError>(())
        })?;
        Ok(count.touched())
    }

    /// Memory of a run beside its trace, in bytes.
    pub fn of_run(self, run: &RunSpec) -> u64 {
        let frames = u64::from(run.capacity().unwrap_or(0)).min(self.pages);
        let on_its_way = match run.device {
            Some(_) if run.cache_region().is_some() => {
                self.longest_pages.saturating_mul(PER_REGION_OP)
            }
            Some(_) => self.longest_pages.saturating_mul(PER_OP),
            None => 0,
        };
        let flash = self.of_device(run).saturating_add(on_its_way);
        let kept = 2 * frames + KEPT + BLOCK.saturating_mul(self.longest);
        let index = self.chunks.min(kept) * PER_CHUNK;
        let future = if is_offline(run) {
            self.accesses.saturating_mul(PER_ACCESS) + self.chunks * PER_CHUNK
        } else {
            0
        };
        let known = frames * PER_FRAME + index + self.pages * PER_PAGE;
        known.saturating_add(future).saturating_add(flash)
    }

    /// Memory of the device of a run, in bytes.
    pub fn of_device(self, run: &RunSpec) -> u64 {
        run.device.as_ref().map_or(0, |device| {
            let (geometry, piece) = (&device.geometry, PIECE as u64);
            let pages = geometry.pages() * u64::from(device.mapping_units_per_page());
            let blocks = geometry.pages() / u64::from(geometry.pages_per_block);
            let filled = self.in_tables(device, pages);
            let touched = self.pages.min(self.chunks * (CHUNK as u64 / piece));
            let pieces = (touched + filled.div_ceil(piece)).min(pages.div_ceil(piece));
            let tables = (pieces * piece + self.pages.max(filled)) * PER_FLASH_PAGE;
            // Both lists of pieces have 4 bytes a piece, and are there where they are touched.
            let list_parts = self.chunks + filled / piece + u64::from(geometry.planes());
            let lists = list_parts.saturating_mul(OS_PAGE).min(8 * pages / piece);
            tables + lists + blocks * PER_BLOCK
        })
    }

    /// Of the `pages` mapping units of a device, those whose places are in tables though the trace does not touch them.
    /// What a fill wrote is not, until collection moves it: once the trace has used up what is free.
    fn in_tables(self, device: &DeviceConfig, pages: u64) -> u64 {
        let Precondition {
            fill, overwrite, ..
        } = device.precondition;
        let overwrites = overwrite != Overwrite::Times(Ratio::ZERO);
        let filled = match overwrites && fill == Ratio::ZERO {
            true => pages,
            false => (pages as f64 * fill.as_f64()) as u64,
        };
        let free = pages - fill.of(device.logical_pages());
        let collected_from = match device.has_units() || !device.collects() {
            true => 0,
            false => {
                device.gc_threshold_pages() * u64::from(device.shape().count_of(device.gc_unit))
            }
        };
        let moves = overwrites || self.accesses >= free;
        match moves {
            true => filled,
            // A device of pages is filled page by page from its threshold on.
            false => filled.saturating_sub(pages - pages.min(collected_from)),
        }
    }

    /// Whether an index of pages can tell apart what the trace touches.
    ///
    /// # Errors
    /// It has room for fewer neighbourhoods.
    pub fn fits_index(self) -> Result<(), RunError> {
        self.fits_index_of(MOST_CHUNKS)
    }

    fn fits_index_of(self, most: u64) -> Result<(), RunError> {
        let chunks = self.chunks;
        if chunks <= most {
            Ok(())
        } else {
            Err(RunError::IndexFull { chunks, most })
        }
    }

    /// Memory of counting the pages exactly, in bytes.
    pub fn of_count(self) -> u64 {
        self.chunks * PER_CHUNK
    }

    /// Memory of the curve from a sample of that share of the pages beside the trace, in bytes.
    pub fn of_sample(self, rate: f64) -> u64 {
        let part = |all: u64| libm::ceil(all as f64 * rate) as u64;
        let (accesses, pages) = (part(self.accesses), part(self.pages));
        let index = self.chunks.min(pages).saturating_mul(PER_CHUNK);
        let known = accesses.saturating_mul(PER_SAMPLED);
        known.saturating_add(index + pages * PER_CURVE_PAGE)
    }

    /// Memory of moving together the parts of `part` sectors that the trace touches, in bytes; they are
    /// given up once they are more than `space` sectors.
    pub fn of_packing(self, part: u64, space: u64) -> u64 {
        let of_chunks = self.chunks.saturating_mul(SECTORS_OF_CHUNK / part);
        self.pages.min(of_chunks).min(space / part) * PER_PART
    }

    /// Memory of one pass for the curve of a scheme beside the trace, in bytes.
    pub fn of_curve(self) -> u64 {
        self.chunks * PER_CHUNK + self.pages * PER_CURVE_PAGE
    }
}

fn is_offline(run: &RunSpec) -> bool {
    run.expr.scheme().role == Role::Offline
}

/// Counts what requests touch while they come by.
pub struct TouchedCount {
    page: PageSize,
    /// A bit for each neighbourhood.
    seen: PageIndex<u64>,
    accesses: u64,
    chunks: u64,
    longest: u64,
    longest_pages: u64,
}

impl TouchedCount {
    /// Nothing is touched yet.
    pub fn new(page: PageSize) -> TouchedCount {
        TouchedCount {
            page,
            seen: PageIndex::new(0),
            accesses: 0,
            chunks: 0,
            longest: 0,
            longest_pages: 0,
        }
    }

    /// Counts a request.
    pub fn add(&mut self, request: RequestRef<'_>) {
        // A TRIM adds no pages.
        if !matches!(request.head.op, Op::Read | Op::Write) {
            return;
        }
        let before = self.accesses;
        let of_request = match request.only_extent() {
            Some(only) => self.extent(only),
            None => request.extents().map(|extent| self.extent(extent)).sum(),
        };
        self.longest = self.longest.max(of_request);
        let pages = self.accesses.saturating_sub(before);
        self.longest_pages = self.longest_pages.max(pages);
    }

    /// Pages that the requests so far touch.
    pub fn touched(&self) -> Touched {
        Touched {
            accesses: self.accesses,
            pages: self.accesses.min(self.chunks * CHUNK as u64),
            chunks: self.chunks,
            longest: self.longest,
            longest_pages: self.longest_pages,
        }
    }

    /// Counts an extent and says in how many neighbourhoods it lies.
    fn extent(&mut self, extent: Extent) -> u64 {
        let (first, pages) = page_span(&extent, self.page);
        self.accesses = self.accesses.saturating_add(u64::from(pages));
        let last = first.0 + u64::from(pages) - 1;
        let (first, last) = (first.0 / CHUNK as u64, last / CHUNK as u64);
        if first == last {
            self.touch(first);
        } else {
            (first..=last).for_each(|chunk| self.touch(chunk));
        }
        last - first + 1
    }

    #[inline(always)]
    fn touch(&mut self, chunk: u64) {
        let (word, bit) = (self.seen.at(chunk / 64), 1 << (chunk % 64));
        // Hardly ever.
        if *word & bit == 0 {
            self.chunks += 1;
            *word |= bit;
        }
    }
}

#[cfg(test)]
mod tests;
