//! Reading lines of several formats from memory.

use anyhow::Context;
use destage_trace::{LoadOptions, Source, open};
use destage_types::RequestBatch;
use destage_types::rng::SplitMix64;
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

/// A request as formats of text write it.
struct Row {
    us: u64,
    write: bool,
    sector: u64,
    sectors: u64,
    latency: u64,
}

impl Row {
    fn kind(&self) -> &'static str {
        if self.write { "Write" } else { "Read" }
    }
}

/// A format: its name, its first line, and a line of it.
type Dialect = (&'static str, &'static str, fn(&Row) -> String);

#[rustfmt::skip]
const DIALECTS: [Dialect; 7] = [
    ("msr", "", |r| {
        let (time, offset, size) = (128_166_372_003_061_629 + r.us * 10, r.sector * 512, r.sectors * 512);
        format!("{time},hm,0,{},{offset},{size},{}\n", r.kind(), r.latency)
    }),
    ("csv", "time_us,op,lba,nr_sectors,disk,latency\n", |r| {
        format!("{},{},{},{},sda,{}\n", r.us, r.kind(), r.sector, r.sectors, r.latency)
    }),
    ("json", "", |r| {
        let (us, kind, lba, n) = (r.us, r.kind(), r.sector, r.sectors);
        format!("{{\"time_us\": {us}, \"op\": \"{kind}\", \"lba\": {lba}, \"nr_sectors\": {n}}}\n")
    }),
    ("blkparse", "", |r| {
        let (s, us, kind) = (r.us / 1_000_000, r.us % 1_000_000, &r.kind()[..1]);
        format!("  8,0    1 {:>8} {s:>5}.{us:06}000 18615  Q  {kind}S {} + {} [java]\n", r.us % 77, r.sector, r.sectors)
    }),
    ("perf-script", "", |r| {
        let (s, us, kind) = (r.us / 1_000_000, r.us % 1_000_000, &r.kind()[..1]);
        let (lba, n) = (r.sector, r.sectors);
        format!("fio 28997 [039] {s}.{us:06}: block:block_rq_issue: 8,0 {kind} 4096 () {lba} + {n} [fio]\n")
    }),
    ("biosnoop", "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n", |r| {
        let (s, us, kind) = (r.us / 1_000_000, r.us % 1_000_000, &r.kind()[..1]);
        format!("{s}.{us:06}    supervise      1950    xvda1     {kind} {} {} 0.74\n", r.sector, r.sectors * 512)
    }),
    ("etw", "BeginHeader\n DiskRead, TimeStamp\nEndHeader\n", |r| {
        let (kind, offset, size) = (r.kind(), r.sector * 512, r.sectors * 512);
        format!(" Disk{kind}, {}, System (   4), 96, 0xfffffa80, {offset:#014x}, {size:#010x}, 4000, 4, 0x43\n", r.us)
    }),
];

/// Lines as in the volumes of MSR: times that grow, mixed kinds, offsets of 8 to 12 digits.
fn lines(dialect: &Dialect, count: u64) -> String {
    let mut text = dialect.1.to_owned();
    let mut random = SplitMix64::new(1);
    let mut us = 3_061_629u64;
    for _ in 0..count {
        let r = random.next_u64() >> 20;
        us += r % 10_000;
        text += &(dialect.2)(&Row {
            us,
            write: r & 256 != 0,
            sector: (r >> 9) % (1 << (24 + r % 15)),
            sectors: 1 << (r % 8),
            latency: r % 100_000,
        });
    }
    text
}

/// Lines in memory that can be read.
pub struct Lines {
    lines: Arc<[u8]>,
    /// Bytes to be read.
    bytes: u64,
    /// The name of the format, unless it is told by the lines.
    format: Option<String>,
}

impl Lines {
    /// At least `count` lines of a format, whole blocks.
    ///
    /// # Errors
    /// There is no such format.
    pub fn new(format: &str, count: u64, detect: bool) -> anyhow::Result<Lines> {
        let block = count.min(BLOCK);
        let dialect = DIALECTS.iter().find(|dialect| dialect.0 == format);
        let dialect = dialect.with_context(|| format!("no lines of {format} are made"))?;
        let lines: Arc<[u8]> = lines(dialect, block).into_bytes().into();
        let table = matches!(format, "csv" | "json");
        let format = if table { "table" } else { format };
        Ok(Lines {
            bytes: lines.len() as u64 * count.div_ceil(block),
            lines,
            format: (!detect).then(|| format.to_owned()),
        })
    }

    /// Decodes everything batch by batch and gives the number of requests.
    ///
    /// # Errors
    /// A line was refused.
    pub fn read(&self) -> anyhow::Result<u64> {
        let options = LoadOptions {
            hash: false,
            format: self.format.clone(),
            ..LoadOptions::default()
        };
        let stream = Repeat {
            lines: self.lines.clone(),
            at: 0,
            left: self.bytes,
        };
        let source = Source::Stream("memory".to_owned(), Box::new(stream));
        let mut reader = open(source, &options)?;
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
        for (format, ..) in super::DIALECTS {
            assert_eq!(
                super::Lines::new(format, 1000, true)
                    .unwrap()
                    .read()
                    .unwrap(),
                1000,
                "{format}"
            );
        }
    }
}
