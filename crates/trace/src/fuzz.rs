//! Plain functions for fuzzers: any bytes in, no panic out, and the promises of a reader kept.

use std::io::{self, Read};

use destage_types::{Nanos, Op, RequestBatch};

use crate::extent::MAX_BYTES;
use crate::{FormatInfo, LoadOptions, Mapping, Source, TraceError, load, open, table_form};

/// Gives its bytes in pieces of changing length, so that lines fall across buffer fills.
struct Pieces {
    bytes: Vec<u8>,
    at: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = &self.bytes[self.at..];
        let n = (1 + self.at % 13).min(rest.len()).min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        self.at += n;
        Ok(n)
    }
}

fn options(format: Option<&FormatInfo>, skip_bad_lines: bool) -> LoadOptions {
    LoadOptions {
        format: format.map(|f| f.name.to_owned()),
        skip_bad_lines,
        hash: false,
        ..LoadOptions::default()
    }
}

/// Everything that a batch of a reader promises.
///
/// # Panics
/// If a promise is broken.
fn check(requests: &RequestBatch) {
    let mut last = Nanos::ZERO;
    for (i, request) in requests.iter().enumerate() {
        assert!(
            i > 0 || request.head.arrival == Nanos::ZERO,
            "the first arrival is 0"
        );
        assert!(last <= request.head.arrival, "arrivals run forward");
        last = request.head.arrival;
        assert_eq!(request.extents().count() == 0, request.head.op == Op::Flush);
        for extent in request.extents() {
            assert!(extent.sectors > 0 && extent.end() <= MAX_BYTES / 512);
        }
    }
}

/// Reads `data` as `format`, with bad lines as errors and skipped, whole and in small pieces.
///
/// # Panics
/// If a reader breaks a promise; that is what a fuzzer looks for.
pub fn read_as(format: &FormatInfo, data: &[u8]) {
    for skip in [false, true] {
        read_twice(&options(Some(format), skip), data);
    }
}

/// Reads what follows the first line of `data` under the mapping in that line, if it is one.
///
/// # Panics
/// If a promise is broken, or the mapping is not read as it is printed.
pub fn read_mapped(data: &[u8]) {
    let end = memchr::memchr(b'\n', data).unwrap_or(data.len());
    let (text, table) = data.split_at(end);
    let Ok(mapping) = String::from_utf8_lossy(text).parse::<Mapping>() else {
        return;
    };
    let read = mapping.to_string().parse();
    assert_eq!(read.as_ref(), Ok(&mapping), "{mapping}");
    for skip in [false, true] {
        let mut options = options(None, skip);
        options.columns = Some(mapping.clone());
        read_twice(&options, table);
    }
    let mut shown = options(None, false);
    shown.columns = Some(mapping);
    if let Ok(form) = table_form(Source::bytes("fuzz", table.to_vec()), &shown) {
        let mapping = form.mapping.parse::<Mapping>();
        assert_eq!(mapping.map(|m| m.to_string()), Ok(form.mapping));
    }
}

fn read_twice(options: &LoadOptions, data: &[u8]) {
    let whole = load(Source::bytes("fuzz", data.to_vec()), options);
    let (bytes, at) = (data.to_vec(), 0);
    let pieces = Box::new(Pieces { bytes, at });
    let pieces = load(Source::Stream("fuzz".to_owned(), pieces), options);
    match (whole, pieces) {
        (Ok(whole), Ok(pieces)) => {
            check(&whole.requests);
            assert_eq!(whole.requests.records(), pieces.requests.records());
            assert_eq!(whole.meta, pieces.meta);
        }
        (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string()),
        (a, b) => panic!("whole: {:?}, in pieces: {:?}", a.err(), b.err()),
    }
}

/// Reads `data` as whatever it is, in batches.
///
/// # Errors
/// Those of a trace that cannot be read, which most inputs are.
pub fn read_any(data: &[u8]) -> Result<u64, TraceError> {
    let mut reader = open(Source::bytes("fuzz", data.to_vec()), &options(None, true))?;
    let mut batch = RequestBatch::new();
    while reader.next_batch(&mut batch)? > 0 {
        batch.clear();
    }
    Ok(reader.finish()?.requests)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::{Duration, Instant};

    use destage_types::rng::SplitMix64;

    use super::*;
    use crate::{CompressedWriter, Container, FORMATS};

    #[rustfmt::skip]
    const WORDS: [&[u8]; 14] = [
        b",", b"\n", b"\r\n", b"-1", b"0", b"18446744073709551616", b"281474976710656", b"#", b";", b"Read,", b"\0",
        b"4294967295", b" ", b"\xff\xfe",
    ];

    fn mutate(data: &mut Vec<u8>, random: &mut SplitMix64) {
        let mut below = |n: usize| random.below(n.max(1) as u64) as usize;
        for _ in 0..=below(4) {
            let at = below(data.len() + 1);
            match below(5) {
                0 => data.truncate(at),
                1 => {
                    let word = WORDS[below(WORDS.len())];
                    data.splice(at..at, word.iter().copied());
                }
                2 if at < data.len() => data[at] = below(256) as u8,
                3 if at < data.len() => {
                    data.remove(at);
                }
                _ => {
                    let end = (at + below(60)).min(data.len());
                    let copy = data[at..end].to_vec();
                    let to = below(data.len() + 1);
                    data.splice(to..to, copy);
                }
            }
        }
    }

    /// Runs `target` on mutations of `seed` for its share of the time in `DESTAGE_FUZZ_SECONDS`, default 1 s, when
    /// `seeds` of them have that time together.
    fn run(seed: &[u8], seeds: usize, target: impl Fn(&[u8])) {
        let seconds = std::env::var("DESTAGE_FUZZ_SECONDS").ok();
        let seconds = seconds.map_or(1.0, |s| s.parse().expect("DESTAGE_FUZZ_SECONDS: seconds"));
        let seconds: f64 = seconds / seeds as f64;
        let (start, mut random, mut runs) = (Instant::now(), SplitMix64::new(1), 0);
        while runs < 200 || start.elapsed() < Duration::from_secs_f64(seconds) {
            let mut data = seed.to_vec();
            mutate(&mut data, &mut random);
            target(&data);
            runs += 1;
        }
    }

    #[test]
    fn readers_keep_their_promises_on_mutated_examples() {
        for &format in FORMATS.iter() {
            let seed = format.example.repeat(3);
            run(&seed, FORMATS.len(), |data| read_as(format, data));
        }
    }

    #[test]
    fn mappings_and_tables_survive_mutations() {
        const TABLES: [&[u8]; 4] = [
            b"time=ts:us,op=kind:1=R,0=W,offset=lba*512,size=n*512,volume=dev,separator=;\nts;kind;lba;n;dev\n1;1;8;8;a\n2,5;0;9;1;b\n",
            b"time=1:date,op=2,offset=3%64+1:blocks,size==4096,separator=blank,header=no\n09:00:00.5 R 7\n09:00:01 FWS 0x8\n",
            b"time=t,op=op,offset=o,size=s,separator=json\n{\"t\": 1.5, \"op\": \"read\", \"o\": 4096.0, \"s\": 512}\n",
            b"time=t:s,op=op,offset=o,size=s,line=\"<t> <> x <op> <o> + <s> \"\n1.5 a b x R 8 + 8 z\nelse\n",
        ];
        for seed in TABLES {
            run(seed, TABLES.len(), read_mapped);
        }
    }

    #[test]
    fn detection_and_containers_survive_mutations() {
        let text = FORMATS[0].example;
        assert!(read_any(text).is_ok());
        let packed = [Container::Gzip, Container::Zstd, Container::Xz].map(|container| {
            let mut out = Vec::new();
            let mut writer = CompressedWriter::new(container, &mut out).unwrap();
            writer.write_all(text).unwrap();
            writer.finish().unwrap();
            out
        });
        for seed in packed.iter().map(Vec::as_slice).chain([text]) {
            run(seed, 4, |data| {
                let _ = read_any(data);
            });
        }
    }
}
