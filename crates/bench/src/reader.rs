//! Reading MSR lines from memory.

use destage_trace::{LoadOptions, Source, open};
use destage_types::RequestBatch;
use destage_types::rng::SplitMix64;
use std::fmt::Write;
use std::io::{self, Read};
use std::sync::Arc;

/// Lines that are generated; the stream repeats them, because all would not fit into memory.
const BLOCK: u64 = 100_000;

struct Repeat {
    lines: Arc<[u8]>,
    at: usize,
    left: u64,
}

impl Read for Repeat {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.lines.len() {
            self.at = 0;
        }
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let n = (self.lines.len() - self.at).min(buffer.len()).min(left);
        buffer[..n].copy_from_slice(&self.lines[self.at..self.at + n]);
        self.at += n;
        self.left -= n as u64;
        Ok(n)
    }
}

/// Lines as in the volumes: times that grow, mixed kinds, offsets of 8 to 12 digits.
fn lines(count: u64) -> String {
    let mut text = String::new();
    let mut random = SplitMix64::new(1);
    let mut time = 128_166_372_003_061_629u64;
    for _ in 0..count {
        let r = random.next_u64() >> 20;
        time += r % 100_000;
        let kind = if r & 256 == 0 { "Read" } else { "Write" };
        let offset = (r >> 9) % (1 << (24 + r % 15)) * 512;
        let (size, latency) = (512 << (r % 8), r % 100_000);
        writeln!(text, "{time},hm,0,{kind},{offset},{size},{latency}")
            .expect("writing to a string cannot fail");
    }
    text
}

/// A stream of lines that is ready to be read.
pub struct Lines {
    source: Source,
}

impl Lines {
    /// At least `count` lines, whole blocks.
    pub fn new(count: u64) -> Lines {
        let block = count.min(BLOCK);
        let lines: Arc<[u8]> = lines(block).into_bytes().into();
        let left = lines.len() as u64 * count.div_ceil(block);
        let stream = Repeat { lines, at: 0, left };
        Lines {
            source: Source::Stream("memory".to_owned(), Box::new(stream)),
        }
    }

    /// Decodes everything batch by batch and gives the number of requests.
    ///
    /// # Errors
    /// A line was refused.
    pub fn read(self) -> anyhow::Result<u64> {
        let options = LoadOptions {
            hash: false,
            ..LoadOptions::default()
        };
        let mut reader = open(self.source, &options)?;
        let mut batch = RequestBatch::new();
        let mut sectors = 0u64;
        while reader.next_batch(&mut batch)? > 0 {
            sectors += batch
                .records()
                .iter()
                .map(|r| u64::from(r.sectors))
                .sum::<u64>();
            batch.clear();
        }
        anyhow::ensure!(sectors > 0, "the lines name sectors");
        Ok(reader.finish()?.requests)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_line_becomes_a_request() {
        assert_eq!(super::Lines::new(1000).read().unwrap(), 1000);
    }
}
