//! The access stream of the cache benches: Zipf(0.9) over pages of 4 KiB, one whole page a request.

use destage_trace::Trace;
use destage_trace::synth::{ZipfLaw, ZipfRanks, scatter};
use destage_types::rng::SplitMix64;
use destage_types::{HostRequest, Nanos, Op, RequestBatch};
use std::io::{self, Write};

/// Sectors of a page.
const SECTORS: u32 = 8;
const THETA: f64 = 0.9;
/// Requests arrive 10 us apart.
const GAP: u64 = 10_000;

/// Shape of the stream of accesses.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Shape {
    /// Page accesses.
    #[arg(long, default_value_t = 20_000_000)]
    pub accesses: u64,
    /// Pages the accesses are spread over.
    #[arg(long, default_value_t = 2_000_000)]
    pub universe: u32,
    /// Per cent of the accesses that write.
    #[arg(long, default_value_t = 0)]
    pub writes: u64,
}

impl Shape {
    /// Page of every access, in order.
    pub fn pages(&self) -> impl Iterator<Item = u32> {
        let n = u64::from(self.universe);
        let zipf = ZipfRanks::new(self.universe, ZipfLaw::of(THETA));
        let mut random = SplitMix64::new(1);
        (0..self.accesses).map(move |_| scatter(zipf.draw(&mut random), n) as u32)
    }

    /// The stream as a decoded trace.
    pub fn trace(&self) -> Trace {
        let mut requests = RequestBatch::with_capacity(self.accesses as usize);
        let mut kind = SplitMix64::new(2);
        for (i, page) in self.pages().enumerate() {
            let write = self.writes > 0 && kind.below(100) < self.writes;
            let op = if write { Op::Write } else { Op::Read };
            let sector = u64::from(page) * u64::from(SECTORS);
            let at = Nanos(i as u64 * GAP);
            requests.push(HostRequest::new(at, op, sector, SECTORS));
        }
        Trace::generated("zipf", requests)
    }

    /// Writes the stream as libCacheSim's `oracleGeneral`: u32 time, u64 object, u32 size and
    /// i64 index of the next access (-1 = none), little-endian without padding. Every object has
    /// size 1, so that cache sizes are counted in pages.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn oracle_general(&self, mut out: impl Write) -> io::Result<()> {
        let pages: Vec<u32> = self.pages().collect();
        let mut next = vec![-1i64; pages.len()];
        let mut last = vec![-1i64; self.universe as usize];
        for (i, &page) in pages.iter().enumerate().rev() {
            next[i] = std::mem::replace(&mut last[page as usize], i as i64);
        }
        for (i, (&page, next)) in pages.iter().zip(next).enumerate() {
            let mut record = [0; 24];
            record[..4].copy_from_slice(&((i / 1000) as u32).to_le_bytes());
            record[4..12].copy_from_slice(&u64::from(page).to_le_bytes());
            record[12..16].copy_from_slice(&1u32.to_le_bytes());
            record[16..].copy_from_slice(&next.to_le_bytes());
            out.write_all(&record)?;
        }
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape {
        accesses: 5000,
        universe: 300,
        writes: 70,
    };

    #[test]
    fn both_forms_hold_the_same_stream() {
        let trace = SHAPE.trace();
        let mut bytes = Vec::new();
        SHAPE.oracle_general(&mut bytes).unwrap();
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let page = |i: usize| word(24 * i + 4);
        for (i, r) in trace.requests.records().iter().enumerate() {
            assert_eq!(r.start_sector, page(i) * 8);
            let next = (i + 1..5000).find(|&j| page(j) == page(i));
            assert_eq!(word(24 * i + 16) as i64, next.map_or(-1, |j| j as i64));
        }
        let writes = trace
            .requests
            .records()
            .iter()
            .filter(|r| r.op == Op::Write);
        assert!((3300..3700).contains(&writes.count()), "about 70 %");
    }
}
