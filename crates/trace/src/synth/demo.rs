//! The workload of `destage demo`: what the schemes of this field were made for, in one stream.
//!
//! | part | requests | what it is |
//! |--|--|--|
//! | hot writes | 48 % | 4-16 KiB, skewed over 96 MiB: a few pages are rewritten again and again |
//! | streams | 17 % | three writers at a time, each 512 KiB to 4 MiB in requests of 8-32 KiB |
//! | local reads | 32 % | 4-16 KiB where the hot writes go, some of them what was written lately |
//! | cold reads | 3 % | 16-64 KiB anywhere on 4 GiB |
//!
//! Everything is whole 4 KiB pages. Requests come in bursts with pauses between them, 300 us apart
//! on average (about 9 MiB/s of writes), which loads an SSD of a few dozen dies without
//! overloading it.

use super::random::Distributions;
use crate::{Source, Trace, Workload, write_bin};
use destage_types::rng::SplitMix64;
use destage_types::{HostRequest, Nanos, Op, RequestBatch};
use std::io;
use std::path::{Path, PathBuf};

/// Requests of the workload.
pub const DEMO_REQUESTS: u64 = 200_000;

/// Sectors of a page.
const PAGE: u64 = 8;
/// Pages of the region that small requests go to; a power of two times three, see [`scatter`].
const HOT_PAGES: u64 = 24_576;
/// First page of the region that streams write.
const STREAM_START: u64 = HOT_PAGES;
/// Pages of that region; streams wrap around in it.
const STREAM_PAGES: u64 = 262_144;
/// Pages of the whole device.
const ALL_PAGES: u64 = 1 << 20;
/// Writers of long runs at the same time.
const STREAMS: usize = 3;
/// Recent small writes that reads like to come back to.
const RECENT: usize = 512;

/// Sizes of small requests: weight and pages.
const SMALL: [(u64, u64); 4] = [(6, 1), (2, 2), (1, 3), (1, 4)];

/// Share of small requests, in percent, that go to the first fifth of any part of the region.
const SKEW: u64 = 60;

struct Stream {
    page: u64,
    left: u64,
}

struct Generator {
    random: SplitMix64,
    now: u64,
    /// Requests left in the burst.
    burst: u64,
    streams: [Stream; STREAMS],
    recent: [u64; RECENT],
    written: usize,
}

/// The workload, `DEMO_REQUESTS` requests. The same seed gives the same trace.
pub fn demo(seed: u64) -> Trace {
    let mut generator = Generator {
        random: SplitMix64::new(seed),
        now: 0,
        burst: 0,
        streams: std::array::from_fn(|_| Stream { page: 0, left: 0 }),
        recent: [0; RECENT],
        written: 0,
    };
    let mut requests = RequestBatch::with_capacity(DEMO_REQUESTS as usize);
    for i in 0..DEMO_REQUESTS {
        if i > 0 {
            generator.wait();
        }
        let (op, page, pages, stream) = generator.next();
        let (start, sectors) = (page * PAGE, (pages * PAGE) as u32);
        let mut request = HostRequest::new(Nanos(generator.now), op, start, sectors);
        request.stream = stream;
        requests.push(request);
    }
    Trace::generated("demo", requests)
}

/// The workload with seed 1 as a file of `destage-bin`, for all that read traces.
fn demo_file() -> io::Result<Vec<u8>> {
    let trace = demo(1);
    let mut file = Vec::new();
    let (workload, meta) = (Workload::from(&trace), &trace.meta);
    write_bin(&workload, &meta.volumes, meta.timed, &mut file)?;
    Ok(file)
}

/// The name of the built-in workload where a trace is named.
pub const DEMO: &str = "demo";

/// Does a trace argument mean the built-in workload? A file of that name is that file.
pub fn is_demo(arg: &Path) -> bool {
    arg.as_os_str() == DEMO && !is_there(arg)
}

/// The path of the trace `name` in `folder`. The built-in workload is in none.
pub fn trace_in(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    match is_demo(Path::new(name)) && !is_there(&path) {
        true => PathBuf::from(DEMO),
        false => path,
    }
}

/// Can it be read? A folder cannot.
fn is_there(path: &Path) -> bool {
    path.exists() && !path.is_dir()
}

impl Source {
    /// The source that a trace argument means: `-` is standard input, and `demo` the built-in workload ([`is_demo`]).
    pub fn from_arg(arg: impl AsRef<Path>) -> Source {
        match arg.as_ref() {
            path if path.as_os_str() == "-" => Source::Stdin,
            path if is_demo(path) => Source::Made(DEMO, demo_file),
            path => Source::Path(path.to_owned()),
        }
    }
}

/// Where page number `rank` of the hot region lies, so that hot pages are not neighbours.
/// A bijection of `0..HOT_PAGES`: the factor has no divisor in common with the size.
fn scatter(rank: u64) -> u64 {
    rank * 10_007 % HOT_PAGES
}

impl Generator {
    /// Moves the clock: 20-80 us inside a burst of 8 to 64 requests, 2-16 ms between bursts.
    fn wait(&mut self) {
        self.now += match self.burst.checked_sub(1) {
            Some(left) => {
                self.burst = left;
                20_000 + self.random.below(60_000)
            }
            None => {
                self.burst = 8 + self.random.below(57);
                2_000_000 + self.random.below(14_000_000)
            }
        };
    }

    /// Kind, first page, number of pages, and stream number.
    fn next(&mut self) -> (Op, u64, u64, u32) {
        match self.random.below(100) {
            0..48 => {
                let (page, pages) = self.small();
                self.recent[self.written % RECENT] = page;
                self.written += 1;
                (Op::Write, page, pages, 0)
            }
            48..65 => self.stream(),
            65..97 => {
                let (page, pages) = self.small();
                let again = self.random.chance(25) && self.written > 0;
                let known = self.written.min(RECENT) as u64;
                let page = match again {
                    true => self.recent[self.random.below(known) as usize],
                    false => page,
                };
                (Op::Read, page.min(HOT_PAGES - pages), pages, 0)
            }
            _ => {
                let pages = 4 + self.random.below(13);
                let page = self.random.below(ALL_PAGES - pages);
                (Op::Read, page, pages, 1 + STREAMS as u32)
            }
        }
    }

    fn small(&mut self) -> (u64, u64) {
        let pages = self.random.weighted(&SMALL);
        let page = scatter(self.random.skewed(HOT_PAGES, SKEW));
        (page.min(HOT_PAGES - pages), pages)
    }

    /// The next piece of one of the long runs.
    fn stream(&mut self) -> (Op, u64, u64, u32) {
        let number = self.random.below(STREAMS as u64) as usize;
        let pages = self.random.weighted(&[(2, 2), (3, 4), (1, 8)]);
        if self.streams[number].left == 0 {
            let length = 128 + self.random.below(897);
            let start = self.random.below(STREAM_PAGES - 1024 - 8);
            self.streams[number] = Stream {
                page: STREAM_START + start,
                left: length,
            };
        }
        let stream = &mut self.streams[number];
        let pages = pages.min(stream.left);
        let page = stream.page;
        stream.page += pages;
        stream.left -= pages;
        (Op::Write, page, pages, 1 + number as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadOptions, load};

    #[test]
    fn the_same_seed_gives_the_same_requests() {
        let (a, b, c) = (demo(1), demo(1), demo(2));
        assert_eq!(a.requests.records(), b.requests.records());
        assert_ne!(a.requests.records(), c.requests.records());
        assert_eq!(a.meta.requests, a.requests.len() as u64);
    }

    /// The built-in trace is read as a file is, whatever reads it.
    #[test]
    fn the_name_demo_is_read() {
        let read = |limit| {
            let options = LoadOptions {
                limit,
                ..LoadOptions::default()
            };
            load(Source::from_arg(DEMO), &options).unwrap()
        };
        let (whole, made) = (read(None), demo(1));
        assert_eq!(whole.requests.records(), made.requests.records());
        assert_eq!(whole.meta.name, made.meta.name);
        assert!(whole.meta.sha256.is_some_and(|hash| hash.len() == 64));
        let nine = read(Some(9));
        assert_eq!(nine.requests.records(), &made.requests.records()[..9]);
    }

    #[test]
    fn it_is_what_it_says() {
        let trace = demo(1);
        let records = trace.requests.records();
        assert!(records.windows(2).all(|w| w[0].arrival <= w[1].arrival));
        for r in records {
            assert!(r.start_sector % PAGE == 0 && u64::from(r.sectors) % PAGE == 0);
            assert!(r.sectors > 0);
            assert!(r.start_sector + u64::from(r.sectors) <= ALL_PAGES * PAGE);
        }
        let writes = records.iter().filter(|r| r.op == Op::Write).count();
        assert!((128_000..132_000).contains(&writes), "{writes} writes");
        let span = records[records.len() - 1].arrival.0 / DEMO_REQUESTS;
        assert!((250_000..350_000).contains(&span), "{span} ns apart");
    }

    #[test]
    fn scatter_is_a_bijection() {
        let mut seen = vec![false; HOT_PAGES as usize];
        for rank in 0..HOT_PAGES {
            let place = scatter(rank) as usize;
            assert!(!std::mem::replace(&mut seen[place], true));
        }
    }
}
