//! Write amplification of a pattern of writes, without a trace and without time: `destage waf`.
//!
//! A run fills the logical pages once in ascending order, warms up with some physical capacities of
//! the pattern, and then measures some overwrites of the logical pages. Write amplification is pages
//! programmed, by the host and by collection, per page that the host writes. A write that hits the LRU
//! buffer counts as a host write and costs nothing. A page of the buffer is written when it leaves;
//! until then its old version on flash stays valid (WF-4). A warm-up counts the pages that reach the flash,
//! since hits bring it no nearer to its steady state; [`WafPoint::is_steady`] says whether it got there.
//!
//! Beside the measured value stand two figures that need no run, see [`analytic`].

pub mod analytic;
mod buffer;
mod pattern;
mod point;
#[cfg(test)]
mod tests;

pub use analytic::RateGroup;
pub use pattern::{PatternWriter, WafPattern, WafZone, WritePattern};
pub use point::WafPoint;

use buffer::{LruBuffer, Written};
use destage_device::config::{GcPolicy, GcStreams};
use destage_device::map::pool::{BlockPool, PoolCounts, PoolError, PoolRules, PoolShape};
use destage_types::rng::SplitMix64;
use point::{PIECES, halves, parts};
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;

/// Writes that are counted at a time.
const TOGETHER: u64 = 1 << 16;
/// A warm-up ends after so many host writes for each page that is to reach the flash: a buffer may take all writes.
const HOST_WRITES: u64 = 20;

/// One point: a pattern, a pool of blocks, and how long it runs.
#[derive(Clone, PartialEq, Debug)]
pub struct WafSpec {
    /// Which pages the host writes.
    pub pattern: WritePattern,
    /// Blocks.
    pub blocks: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Share of the pages that the host can write, above 0 and below 1.
    pub fill: f64,
    /// Assignment of blocks to host writes and garbage collection.
    pub streams: GcStreams,
    /// Choice of the victim.
    pub policy: GcPolicy,
    /// Blocks that `d-choices` draws.
    pub choices: u32,
    /// Pages of the LRU buffer in front; 0 for none. Fewer than logical pages.
    pub buffer: u32,
    /// Warm-up, in physical capacities that reach the flash.
    pub warmup: u32,
    /// Measured part, in overwrites of the logical pages; at least 1.
    pub overwrites: u32,
    /// Of all random numbers.
    pub seed: u64,
}

/// A point that cannot be run.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum WafError {
    /// The share of logical pages.
    #[error("a fill of {0}: allowed is a number above 0 and below 1")]
    Fill(f64),
    /// The blocks.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The buffer holds everything.
    #[error("a buffer of {buffer} pages: allowed are fewer than the {logical} logical pages")]
    Buffer {
        /// Pages of the buffer.
        buffer: u32,
        /// Logical pages.
        logical: u32,
    },
    /// The pattern.
    #[error("{0}")]
    Pattern(String),
    /// Nothing is measured.
    #[error("0 overwrites: at least 1 is needed")]
    NoOverwrite,
}

impl WafSpec {
    /// All pages.
    fn pages(&self) -> u64 {
        u64::from(self.blocks) * u64::from(self.pages_per_block)
    }

    /// Pages that the host can write: the share of all pages, rounded to the nearest.
    pub fn logical_pages(&self) -> u32 {
        libm::round(self.fill * self.pages() as f64) as u32
    }

    /// Bytes that a run takes at most.
    pub fn memory(&self) -> u64 {
        let logical = u64::from(self.logical_pages());
        let pattern = logical * self.pattern.bytes_per_page();
        let buffer = if self.buffer > 0 { 4 * logical } else { 0 };
        // Both tables of the mapping have 4 bytes for a page, and 4 for 32 pages.
        8 * self.pages() + self.pages() / 4 + 64 * u64::from(self.blocks) + pattern + buffer
    }

    fn shape(&self) -> PoolShape {
        PoolShape {
            blocks: self.blocks,
            pages_per_block: self.pages_per_block,
            logical: self.logical_pages(),
        }
    }

    /// Checks everything that needs no memory of the size of the pool.
    ///
    /// # Errors
    /// A value is out of its range, or two do not go together.
    pub fn check(&self) -> Result<(), WafError> {
        if !(self.fill > 0.0 && self.fill < 1.0) {
            return Err(WafError::Fill(self.fill));
        }
        let shape = self.shape();
        shape.check(self.streams, self.policy)?;
        let logical = shape.logical;
        if self.buffer >= logical {
            let buffer = self.buffer;
            return Err(WafError::Buffer { buffer, logical });
        }
        self.pattern.check(logical).map_err(WafError::Pattern)?;
        match self.overwrites {
            0 => Err(WafError::NoOverwrite),
            _ => Ok(()),
        }
    }

    /// Pages that reach the flash in the warm-up, if the buffer lets them.
    fn warmup_pages(&self) -> u64 {
        u64::from(self.warmup) * self.pages()
    }

    /// Pages that the host writes in the measured part.
    fn measured_pages(&self) -> u64 {
        u64::from(self.overwrites) * u64::from(self.logical_pages())
    }

    /// Pages of a run after the fill: those that reach the flash in the warm-up, and those that the host writes after it.
    pub fn writes(&self) -> u64 {
        self.warmup_pages() + self.measured_pages()
    }

    /// Fills, warms up, and measures. `done` counts up to [`WafSpec::writes`], some thousands at a time.
    ///
    /// # Errors
    /// As [`WafSpec::check`].
    pub fn run(&self, done: &AtomicU64) -> Result<WafPoint, WafError> {
        let mut run = WafRun::filled(self)?;
        let warmup_pages = run.warm_up(self.warmup_pages(), done);
        let write_pages = self.measured_pages();
        let before = run.counts();
        let pieces = std::array::from_fn(|piece| {
            let end = |piece: usize| write_pages * piece as u64 / PIECES as u64;
            let (count, before) = (end(piece + 1) - end(piece), run.counts());
            run.measure(count, done);
            (count, run.counts().since(&before).flash)
        });
        let (halves, error) = halves(&parts(&pieces));
        let measured = run.counts().since(&before);
        let (analytic, optimum) = self.figures().unzip();
        Ok(WafPoint {
            pages: self.pages(),
            logical_pages: self.logical_pages(),
            warmup_pages,
            write_pages,
            buffer_hits: measured.hits,
            flash: measured.flash,
            halves,
            tenths: parts(&pieces),
            error,
            analytic,
            optimum,
        })
    }

    /// Values of the formulas for one stream and for known lifetimes.
    fn figures(&self) -> Option<(f64, f64)> {
        let groups = self.pattern.rates(self.logical_pages())?;
        let groups = analytic::behind_lru(&groups, f64::from(self.buffer));
        let pages = self.pages() as f64;
        Some((
            analytic::fifo(&groups, pages),
            analytic::separated(&groups, pages),
        ))
    }
}

/// Counters of a run.
#[derive(Clone, Copy)]
struct Counts {
    hits: u64,
    flash: PoolCounts,
}

impl Counts {
    /// Counted after `before`.
    fn since(&self, before: &Counts) -> Counts {
        Counts {
            hits: self.hits - before.hits,
            flash: PoolCounts {
                host: self.flash.host - before.flash.host,
                copied: self.flash.copied - before.flash.copied,
                erases: self.flash.erases - before.flash.erases,
            },
        }
    }
}

/// A run under way.
struct WafRun {
    pool: BlockPool,
    writer: PatternWriter,
    buffer: Option<LruBuffer>,
    hits: u64,
}

impl WafRun {
    /// All logical pages are on flash, in ascending order.
    fn filled(spec: &WafSpec) -> Result<WafRun, WafError> {
        spec.check()?;
        let logical = spec.logical_pages();
        let mut seeds = SplitMix64::new(spec.seed);
        let rules = PoolRules {
            streams: spec.streams,
            policy: spec.policy,
            choices: spec.choices,
            seed: seeds.next_u64(),
        };
        let mut pool = BlockPool::new(spec.shape(), rules)?;
        let writer = PatternWriter::new(&spec.pattern, logical, &mut seeds);
        for lpn in 0..logical {
            pool.write(lpn, &mut |_| ());
        }
        Ok(WafRun {
            pool,
            writer,
            buffer: (spec.buffer > 0).then(|| LruBuffer::new(spec.buffer, logical)),
            hits: 0,
        })
    }

    /// Writes until `wanted` pages have reached the flash, or the buffer has taken too many; gives those that did.
    fn warm_up(&mut self, wanted: u64, done: &AtomicU64) -> u64 {
        let start = self.counts().flash.host;
        let (mut reached, mut left) = (0, HOST_WRITES * wanted);
        while reached < wanted && left > 0 {
            // Each write brings one page to the flash at most.
            let count = TOGETHER.min(wanted - reached).min(left);
            self.write(count);
            left -= count;
            let now = self.counts().flash.host - start;
            done.fetch_add(now - reached, Ordering::Relaxed);
            reached = now;
        }
        reached
    }

    fn measure(&mut self, mut count: u64, done: &AtomicU64) {
        while count > 0 {
            let together = TOGETHER.min(count);
            self.write(together);
            done.fetch_add(together, Ordering::Relaxed);
            count -= together;
        }
    }

    /// The host writes `count` pages.
    fn write(&mut self, count: u64) {
        for _ in 0..count {
            let lpn = self.writer.next_page();
            let Some(buffer) = &mut self.buffer else {
                self.pool.write(lpn, &mut |_| ());
                continue;
            };
            match buffer.write(lpn) {
                Written::Hit => self.hits += 1,
                Written::Missed(None) => {}
                Written::Missed(Some(evicted)) => {
                    self.pool.write(evicted, &mut |_| ());
                }
            }
        }
    }

    fn counts(&self) -> Counts {
        Counts {
            hits: self.hits,
            flash: self.pool.counts(),
        }
    }
}
