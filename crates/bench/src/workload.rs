//! The common workload of the device benches, as MSR lines.
//!
//! 70 % writes; sizes of 4, 8, 16, 32 and 64 KiB with probability .45, .20, .15, .12, .08; a
//! 64 KiB chunk of 2 GiB by Zipf(0.9), in it a 4 KiB block uniformly; exponential gaps.

use destage_trace::synth::{Distributions, ZipfLaw, ZipfRanks, scatter};
use destage_types::rng::SplitMix64;
use std::io::{self, Write};

const CHUNKS: u32 = 32_768;
const CHUNK_BYTES: u64 = 64 << 10;
const BLOCK_BYTES: u64 = 4 << 10;
/// Upper bound of each size in per cent, and the size in blocks.
const SIZES: [(u64, u64); 5] = [(45, 1), (65, 2), (80, 4), (92, 8), (100, 16)];
/// MSR times count 100 ns from 1601.
const TICK_NS: f64 = 100.0;
const START: u64 = 128_166_372_003_061_629;

/// Writes `requests` lines with gaps of `mean_gap_ns` in the mean.
///
/// # Errors
/// Those of `out`.
pub fn write(requests: u64, mean_gap_ns: u64, mut out: impl Write) -> io::Result<()> {
    let zipf = ZipfRanks::new(CHUNKS, ZipfLaw::of(0.9));
    let mut random = SplitMix64::new(1);
    let mut now_ns = 0.0;
    for _ in 0..requests {
        now_ns += random.exponential() * mean_gap_ns as f64;
        let time = START + (now_ns / TICK_NS) as u64;
        let kind = if random.below(100) < 70 {
            "Write"
        } else {
            "Read"
        };
        let percent = random.below(100);
        let &(_, blocks) = SIZES
            .iter()
            .find(|s| percent < s.0)
            .expect("the last bound is 100");
        let chunk = scatter(zipf.draw(&mut random), u64::from(CHUNKS));
        let offset = chunk * CHUNK_BYTES + random.below(16) * BLOCK_BYTES;
        let bytes = blocks * BLOCK_BYTES;
        writeln!(out, "{time},common,0,{kind},{offset},{bytes},0")?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_is_the_one_described() {
        let mut text = Vec::new();
        write(20_000, 1_000_000, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let (mut writes, mut pages, mut last) = (0, 0, 0u64);
        for line in text.lines() {
            let fields: Vec<&str> = line.split(',').collect();
            writes += u32::from(fields[3] == "Write");
            pages += fields[5].parse::<u64>().unwrap() / 4096;
            last = fields[0].parse().unwrap();
        }
        assert!((13_800..14_200).contains(&writes), "{writes}");
        // .45 + .4 + .6 + .96 + 1.28 = 3.69 pages a request.
        assert!((72_000..75_600).contains(&pages), "{pages}");
        let seconds = (last - START) as f64 * 1e-7;
        assert!((19.4..20.6).contains(&seconds), "{seconds}");
    }
}
