//! Random loads: loops, scans, uniform and skewed accesses, one after the other or mixed.

use destage_scheme::rng::SplitMix64;
use destage_trace::Trace;
use destage_trace::synth::{ZipfLaw, ZipfRanks, scatter};
use destage_types::{HostRequest, Nanos, Op, RequestBatch};

enum Order {
    /// The same pages round and round.
    Loop,
    /// Pages that never come again.
    Scan,
    Uniform,
    Skewed(ZipfRanks),
}

/// Requests of one kind.
struct Source {
    order: Order,
    first: u64,
    pages: u64,
    /// Pages of the longest request.
    longest: u64,
    all_alike: bool,
    /// Percent of the requests.
    writes: u64,
    weight: u64,
    next: u64,
}

fn below(random: &mut SplitMix64, n: u64) -> u64 {
    (random.next_u64() >> 11) % n
}

impl Source {
    /// A source somewhere on `footprint` pages.
    fn draw(random: &mut SplitMix64, footprint: u64) -> Source {
        let mut pick = |n| below(random, n);
        let pages = (footprint >> pick(4)).max(64);
        let skew = 0.2 * (1 + pick(7)) as f64;
        Source {
            order: match pick(4) {
                0 => Order::Loop,
                1 => Order::Scan,
                2 => Order::Uniform,
                _ => Order::Skewed(ZipfRanks::new(pages as u32, ZipfLaw::of(skew))),
            },
            first: pick(footprint),
            pages,
            longest: 1 << pick(6),
            all_alike: pick(2) == 0,
            writes: 25 * pick(5),
            weight: 1 + pick(8),
            next: 0,
        }
    }

    fn request(&mut self, random: &mut SplitMix64, at: Nanos) -> HostRequest {
        let pages = match self.all_alike {
            true => self.longest,
            false => 1 + below(random, self.longest),
        };
        let first = match &self.order {
            Order::Loop => self.next % self.pages,
            // Beyond what other sources touch.
            Order::Scan => self.next + ((self.first + 1) << 24),
            Order::Uniform => below(random, self.pages),
            Order::Skewed(ranks) => scatter(ranks.draw(random), self.pages),
        };
        self.next += pages;
        let op = match below(random, 100) < self.writes {
            true => Op::Write,
            false => Op::Read,
        };
        HostRequest::new(at, op, 8 * (self.first + first), 8 * pages as u32)
    }
}

/// A load of about so many page accesses, most of them on 2^10 to 2^15 pages.
pub fn drawn_load(seed: u64, accesses: u64) -> Trace {
    let mut random = SplitMix64::new(seed);
    let footprint = 1 << (10 + below(&mut random, 6));
    let count = 1 + below(&mut random, 4);
    let draw = |_| Source::draw(&mut random, footprint);
    let mut sources: Vec<Source> = (0..count).map(draw).collect();
    let one_after_the_other = below(&mut random, 2) == 0;
    let weights: Vec<u64> = sources.iter().map(|source| source.weight).collect();
    let mut batch = RequestBatch::new();
    let mut done = 0;
    while done < accesses {
        // Each phase comes twice.
        let which = match one_after_the_other {
            true => (2 * count * done / accesses) % count,
            false => {
                let mut left = below(&mut random, weights.iter().sum());
                let chosen = weights.iter().position(|&weight| {
                    let here = left < weight;
                    left = left.saturating_sub(weight);
                    here
                });
                chosen.expect("weights add up to their sum") as u64
            }
        };
        let at = Nanos(1_000 * batch.len() as u64);
        let request = sources[which as usize].request(&mut random, at);
        done += u64::from(request.sectors) / 8;
        batch.push(request);
    }
    let mut trace = destage_trace::synth::demo(1);
    trace.meta.requests = batch.len() as u64;
    trace.meta.name = format!("drawn{seed}");
    trace.requests = batch;
    trace
}
