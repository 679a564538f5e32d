//! Reads generated MSR lines from memory and prints lines per CPU second.
//!
//! `bench_reader [LINES]`, default 20 million.

use std::fmt::Write;
use std::io::{self, Read};
use std::sync::Arc;

use cpu_time::ThreadTime;
use destage_trace::{LoadOptions, Source, open};
use destage_types::RequestBatch;

/// The same lines again and again: the file would not fit into memory.
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
fn lines(count: u64) -> Arc<[u8]> {
    let mut text = String::new();
    let mut state = 1u64;
    let mut time = 128_166_372_003_061_629u64;
    for _ in 0..count {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let random = state >> 20;
        time += random % 100_000;
        let kind = if random & 256 == 0 { "Read" } else { "Write" };
        let offset = (random >> 9) % (1 << (24 + random % 15)) * 512;
        let size = 512 << (random % 8);
        writeln!(
            text,
            "{time},hm,0,{kind},{offset},{size},{}",
            random % 100_000
        )
        .expect("writing to a string cannot fail");
    }
    text.into_bytes().into()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count: u64 = std::env::args()
        .nth(1)
        .map_or(Ok(20_000_000), |arg| arg.parse())?;
    let block = lines(100_000);
    let passes = count.div_ceil(100_000);
    let bytes = block.len() as u64 * passes;
    for run in 0..3 {
        let source = Repeat {
            lines: block.clone(),
            at: 0,
            left: bytes,
        };
        let options = LoadOptions {
            hash: false,
            ..LoadOptions::default()
        };
        let start = ThreadTime::now();
        let mut reader = open(
            Source::Stream("memory".to_owned(), Box::new(source)),
            &options,
        )?;
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
        let lines = reader.finish()?.requests;
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "run {run}: {lines} lines, {sectors} sectors, {:.1} M lines/s, {:.0} MB/s of CPU time",
            lines as f64 / seconds / 1e6,
            bytes as f64 / seconds / 1e6,
        );
    }
    Ok(())
}
