//! Write amplification of a pattern of writes, without a trace and without time: `destage waf`.
//!
//! A run fills the logical pages once in ascending order, warms up with some physical capacities of
//! the pattern, and then measures some overwrites of the logical pages. Write amplification is pages
//! programmed, by the host and by collection, per page that the host writes. A write that hits the LRU
//! buffer counts as a host write and costs nothing. A page of the buffer is written when it leaves;
//! until then its old version on flash stays valid (WF-4).
//!
//! Beside the measured value stand two figures that need no run, see [`analytic`].

pub mod analytic;
mod buffer;
mod pattern;
#[cfg(test)]
mod tests;

pub use analytic::RateGroup;
pub use pattern::{WafPattern, WafZone, WritePattern};

use buffer::{LruBuffer, Written};
use destage_device::config::{GcPolicy, GcStreams};
use destage_device::ftl::pool::{BlockPool, PoolCounts, PoolError, PoolRules, PoolShape};
use destage_types::rng::SplitMix64;
use pattern::PatternWriter;
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;

/// Writes that are counted at a time.
const TOGETHER: u64 = 1 << 16;

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
    /// Warm-up, in physical capacities.
    pub warmup: u32,
    /// Measured part, in overwrites of the logical pages; at least 1.
    pub overwrites: u32,
    /// Of all random numbers.
    pub seed: u64,
}

/// Result of one simulation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WafPoint {
    /// Pages that the host can write.
    pub logical_pages: u32,
    /// Pages that the host wrote in the measured part.
    pub write_pages: u64,
    /// Those that hit the buffer.
    pub buffer_hits: u64,
    /// Work of the flash in the measured part.
    pub flash: PoolCounts,
    /// Value of [`analytic::fifo`]; `None` for a pattern whose writes depend on those before them.
    pub analytic: Option<f64>,
    /// Value of [`analytic::separated`], where lifetimes are known.
    pub optimum: Option<f64>,
}

impl WafPoint {
    /// Pages programmed per page that the host wrote.
    pub fn write_amplification(&self) -> f64 {
        (self.flash.host + self.flash.copied) as f64 / self.write_pages as f64
    }
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
        8 * self.pages() + 64 * u64::from(self.blocks) + pattern + buffer
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

    /// Pages that the host writes in a run after the fill.
    pub fn writes(&self) -> u64 {
        let measured = u64::from(self.overwrites) * u64::from(self.logical_pages());
        u64::from(self.warmup) * self.pages() + measured
    }

    /// Fills, warms up, and measures. `done` counts the writes, some thousands at a time.
    ///
    /// # Errors
    /// As [`WafSpec::check`].
    pub fn run(&self, done: &AtomicU64) -> Result<WafPoint, WafError> {
        self.check()?;
        let logical = self.logical_pages();
        let mut seeds = SplitMix64::new(self.seed);
        let rules = PoolRules {
            streams: self.streams,
            policy: self.policy,
            choices: self.choices,
            seed: seeds.next_u64(),
        };
        let mut pool = BlockPool::new(self.shape(), rules)?;
        let mut writer = PatternWriter::new(&self.pattern, logical, &mut seeds);
        let mut buffer = (self.buffer > 0).then(|| LruBuffer::new(self.buffer, logical));
        for lpn in 0..logical {
            pool.write(lpn, &mut |_| ());
        }
        let mut hits = 0;
        let mut write = |count: u64| {
            for n in 1..=count {
                if n % TOGETHER == 0 {
                    done.fetch_add(TOGETHER, Ordering::Relaxed);
                }
                let lpn = writer.next_page();
                let Some(buffer) = &mut buffer else {
                    pool.write(lpn, &mut |_| ());
                    continue;
                };
                match buffer.write(lpn) {
                    Written::Hit => hits += 1,
                    Written::Missed(None) => {}
                    Written::Missed(Some(evicted)) => {
                        pool.write(evicted, &mut |_| ());
                    }
                }
            }
            (pool.counts(), hits)
        };
        let write_pages = u64::from(self.overwrites) * u64::from(logical);
        let (before, hits_before) = write(u64::from(self.warmup) * self.pages());
        let (after, hits) = write(write_pages);
        let (analytic, optimum) = self.figures().unzip();
        Ok(WafPoint {
            logical_pages: logical,
            write_pages,
            buffer_hits: hits - hits_before,
            flash: PoolCounts {
                host: after.host - before.host,
                copied: after.copied - before.copied,
                erases: after.erases - before.erases,
            },
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
