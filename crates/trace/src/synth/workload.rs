//! Generated workloads: a mix of parts, and when their requests arrive.

use std::convert::Infallible;
use std::io;

use destage_types::{HostRequest, Nanos, Picos, RequestBatch, RequestRef, SECTOR_BYTES};

use super::part::{At, SynthPart};
use super::random::Distributions;
use super::rates::{PoissonArrivals, generators};
use super::source::PartSource;
use super::zipf::PER_RANK;
use crate::writers::RequestPasses;
use crate::{Trace, TraceMeta, Volume};
use destage_types::rng::SplitMix64;

/// When requests arrive; the mean time between two is `gap` in any case.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Arrival {
    /// `constant`: always the same time apart.
    Constant,
    /// `poisson`: exponentially distributed times, rounded to ns.
    Poisson,
    /// `bursts(N,TIME)`: N requests that are TIME apart, then an exponentially distributed pause.
    Bursts {
        /// Requests of a burst, at least 2.
        requests: u64,
        /// Time between two of them, less than the mean.
        apart: Nanos,
    },
}

impl Arrival {
    /// Reads `constant`, `poisson` or `bursts(16,20us)`.
    ///
    /// # Errors
    /// The fault and the allowed values.
    pub fn parse(text: &str) -> Result<Arrival, String> {
        let wrong = || format!("`{text}` is none of constant, poisson, bursts(N,TIME)");
        match text {
            "constant" => return Ok(Arrival::Constant),
            "poisson" => return Ok(Arrival::Poisson),
            _ => {}
        }
        let inner = text.strip_prefix("bursts(");
        let inner = inner.and_then(|t| t.strip_suffix(')'));
        let (requests, apart) = inner.and_then(|t| t.split_once(',')).ok_or_else(wrong)?;
        let apart = Picos::parse(apart).map_err(|e| e.to_string())?.times(1);
        match requests.parse() {
            Ok(requests) if (2..=1 << 32).contains(&requests) => {
                Ok(Arrival::Bursts { requests, apart })
            }
            _ => Err(format!("`{requests}`: a burst has 2 to 2^32 requests")),
        }
    }
}

/// The fault of times beyond 64 bits of ns.
const TOO_LONG: &str = "the last request may come after 584 years";

/// A workload that can be generated.
#[derive(Clone, PartialEq, Debug)]
pub struct Synth {
    /// Name of the trace.
    pub name: String,
    /// Its parts, at least one.
    pub parts: Vec<SynthPart>,
    /// Number of requests, at least 1.
    pub requests: u64,
    /// When they arrive; without meaning if the parts have rates.
    pub arrival: Arrival,
    /// Mean time between two requests; without meaning if the parts have rates.
    pub gap: Nanos,
    /// Seed of all draws.
    pub seed: u64,
}

impl RequestPasses for Synth {
    fn pass(&self, f: &mut dyn FnMut(RequestRef<'_>) -> io::Result<()>) -> io::Result<()> {
        self.each(|head| f(RequestRef::new(&head)))
    }
}

impl Synth {
    /// Checks what the parts cannot know by themselves.
    ///
    /// # Errors
    /// The fault of the settings.
    pub fn check(&self) -> Result<(), String> {
        if self.parts.is_empty() || self.requests == 0 {
            return Err("a workload needs at least one part and one request".to_owned());
        }
        if self.has_rates() {
            return self.check_rates();
        }
        if let Arrival::Bursts { apart, .. } = self.arrival
            && apart >= self.gap
        {
            let (apart, gap) = (apart.0, self.gap.0);
            return Err(format!(
                "requests of a burst are {apart} ns apart, which must be less than the mean of \
                 {gap} ns"
            ));
        }
        // Exponential gaps may be up to 37 times the mean.
        let gaps = self.gap.0.checked_mul(64);
        let total = gaps.and_then(|gap| gap.checked_mul(self.requests));
        total.map(|_| ()).ok_or_else(|| TOO_LONG.to_owned())
    }

    /// Do its parts say by themselves how often they send requests?
    pub fn has_rates(&self) -> bool {
        self.parts.iter().any(|part| part.rate.is_some())
    }

    fn check_rates(&self) -> Result<(), String> {
        let (mut slowest, mut fastest) = (f64::INFINITY, 0.0f64);
        for (i, part) in self.parts.iter().enumerate() {
            let Some(rate) = part.rate else {
                return Err(format!(
                    "part {} of {} has no rate=; give it to every part, or to none",
                    i + 1,
                    self.parts.len()
                ));
            };
            (slowest, fastest) = (slowest.min(rate), fastest.max(rate));
        }
        // Exponential gaps may be up to 37 times the mean. The slowest part draws a gap beyond the last request.
        let longest = 64e9 * (self.requests as f64 / fastest + 1.0 / slowest);
        let fits = longest < u64::MAX as f64;
        fits.then_some(()).ok_or_else(|| TOO_LONG.to_owned())
    }

    /// Bytes that the tables of its parts take while they are made.
    pub fn memory(&self) -> u64 {
        let zipf = self.parts.iter().filter(|p| matches!(p.at, At::Zipf(_)));
        zipf.map(|part| part.units() * PER_RANK).sum()
    }

    /// The requests, in memory.
    ///
    /// # Panics
    /// If [`Synth::check`] fails.
    pub fn generate(&self) -> Trace {
        let mut requests = RequestBatch::with_capacity(self.requests as usize);
        let made = self.each(|request| {
            requests.push(request);
            Ok::<(), Infallible>(())
        });
        made.expect("nothing can fail");
        Trace::generated(&self.name, requests)
    }

    /// Facts about the requests without making them.
    pub fn meta(&self) -> TraceMeta {
        let end_of = |part: &SynthPart| (part.start + part.space) / SECTOR_BYTES;
        let stream = |stream: u32, requests, end_sector| Volume {
            stream,
            name: stream.to_string(),
            requests,
            end_sector,
            start_sector: 0,
        };
        let streams = match self.has_rates() {
            true => {
                let mut counts = vec![0; self.parts.len()];
                self.arrivals().for_each(|(part, _)| counts[part] += 1);
                let parts = self.parts.iter().zip(counts).zip(0..);
                let sent = parts.filter(|((_, count), _)| *count > 0);
                sent.map(|((part, count), n)| stream(n, count, end_of(part)))
                    .collect()
            }
            false => {
                let end = self.parts.iter().map(end_of).max().unwrap_or(0);
                vec![stream(0, self.requests, end)]
            }
        };
        TraceMeta::generated(&self.name, self.requests, streams)
    }

    /// Part and time of each request, if the parts have rates.
    fn arrivals(&self) -> impl Iterator<Item = (usize, Nanos)> {
        let arrivals = PoissonArrivals::new(&self.parts, self.seed);
        arrivals.zip(0..self.requests).map(|(arrival, _)| arrival)
    }

    /// Makes the requests one after the other.
    ///
    /// # Errors
    /// The first of `f`.
    ///
    /// # Panics
    /// If [`Synth::check`] fails.
    pub fn each<E>(&self, f: impl FnMut(HostRequest) -> Result<(), E>) -> Result<(), E> {
        assert_eq!(
            self.check(),
            Ok(()),
            "a workload is checked before it is generated"
        );
        match self.has_rates() {
            true => self.each_of_rates(f),
            false => self.each_of_mix(f),
        }
    }

    /// Those of parts with rates, each part from generators of its own.
    fn each_of_rates<E>(&self, mut f: impl FnMut(HostRequest) -> Result<(), E>) -> Result<(), E> {
        let sources = self.parts.iter().map(PartSource::new);
        let generators = generators(self.seed).map(|part| part.requests);
        let mut sources: Vec<(PartSource<'_>, SplitMix64)> = sources.zip(generators).collect();
        for (part, now) in self.arrivals() {
            let (source, random) = &mut sources[part];
            let mut request = source.request(now, random);
            request.stream = part as u32;
            f(request)?;
        }
        Ok(())
    }

    /// Those of parts with weights, all from one generator.
    fn each_of_mix<E>(&self, mut f: impl FnMut(HostRequest) -> Result<(), E>) -> Result<(), E> {
        let mut random = SplitMix64::new(self.seed);
        let mut sources: Vec<PartSource<'_>> = self.parts.iter().map(PartSource::new).collect();
        let weights = self.parts.iter().zip(0..).map(|(p, i)| (p.weight, i));
        let weights: Vec<(u64, usize)> = weights.collect();
        let mut now = 0;
        for i in 0..self.requests {
            if i > 0 {
                now += self.next_gap(i, &mut random);
            }
            let source = match weights.len() {
                1 => 0,
                _ => random.weighted(&weights),
            };
            f(sources[source].request(Nanos(now), &mut random))?;
        }
        Ok(())
    }

    /// Time from request `i - 1` to request `i`.
    fn next_gap(&self, i: u64, random: &mut SplitMix64) -> u64 {
        let exponential = |mean: u64, random: &mut SplitMix64| {
            libm::round(random.exponential() * mean as f64) as u64
        };
        match self.arrival {
            Arrival::Constant => self.gap.0,
            Arrival::Poisson => exponential(self.gap.0, random),
            Arrival::Bursts { requests, apart } if i.is_multiple_of(requests) => {
                // With the times inside the burst, this makes the mean what it should be.
                let pause = requests * self.gap.0 - (requests - 1) * apart.0;
                exponential(pause, random)
            }
            Arrival::Bursts { apart, .. } => apart.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::Op;

    fn synth(parts: &[&str]) -> Synth {
        Synth {
            name: "test".to_owned(),
            parts: parts.iter().map(|p| SynthPart::parse(p).unwrap()).collect(),
            requests: 20_000,
            arrival: Arrival::Poisson,
            gap: Nanos(100_000),
            seed: 1,
        }
    }

    fn pages(trace: &Trace) -> Vec<u64> {
        let records = trace.requests.records().iter();
        records.map(|r| r.start_sector / 8).collect()
    }

    #[test]
    fn uniform_and_normal_places() {
        let trace = synth(&["space=4MiB,start=1GiB,writes=0.2"]).generate();
        let records = trace.requests.records();
        let mut seen = vec![0u32; 1024];
        for page in pages(&trace) {
            seen[(page - (1 << 18)) as usize] += 1;
        }
        assert!(seen.iter().all(|n| (3..50).contains(n)));
        let writes = records.iter().filter(|r| r.op == Op::Write).count();
        assert!((3_800..4_200).contains(&writes), "{writes}");
        let trace = synth(&["at=normal(100),space=256MiB"]).generate();
        let off = pages(&trace).into_iter().map(|p| p as f64 + 0.5 - 32_768.0);
        let off: Vec<f64> = off.collect();
        let mean = off.iter().sum::<f64>() / 20_000.0;
        let std = (off.iter().map(|x| x * x).sum::<f64>() / 20_000.0).sqrt();
        let near = mean.abs() < 3.0 && (98.0..102.0).contains(&std);
        assert!(near, "{mean} {std}");
        // A place outside is drawn again: nearly uniform, and inside.
        let trace = synth(&["at=normal(5000),space=4MiB"]).generate();
        assert!(pages(&trace).iter().all(|&p| p < 1024));
    }

    #[test]
    fn sequential_runs() {
        let trace = synth(&["at=sequential,space=40KiB,size=8KiB"]).generate();
        assert_eq!(pages(&trace)[..7], [0, 2, 4, 6, 8, 0, 2]);
        let part = "at=sequential,space=4MiB,streams=2,run=64KiB,size=16KiB";
        let pages = pages(&synth(&[part]).generate());
        for half in [0, 512] {
            let own = pages
                .iter()
                .copied()
                .filter(|p| (half..half + 512).contains(p));
            let own: Vec<u64> = own.collect();
            assert!((9_500..10_500).contains(&own.len()));
            let goes_on = own.windows(2).filter(|w| w[1] == w[0] + 4).count();
            // Three of four go on; the fourth jumps, and runs end at the end of the space.
            assert!((7_000..7_700).contains(&goes_on), "{goes_on}");
        }
    }

    #[test]
    fn mixes_sizes_and_places_inside_units() {
        let parts = [
            "weight=3,unit=64KiB,inside=4KiB,space=1MiB,size=4KiB:1+64KiB:1",
            "weight=1,start=1TiB,writes=0",
        ];
        let trace = synth(&parts).generate();
        let records = trace.requests.records();
        let (far, near): (Vec<&HostRequest>, Vec<_>) =
            records.iter().partition(|r| r.start_sector >= 1 << 31);
        assert!((4_800..5_200).contains(&far.len()) && far.iter().all(|r| r.op == Op::Read));
        let inside = |r: &&HostRequest| r.start_sector + u64::from(r.sectors) <= 2048;
        assert!(near.iter().all(inside));
        let large = near.iter().filter(|r| r.sectors == 128).count();
        assert!((7_300..7_700).contains(&large), "{large}");
        let odd = |r: &&&HostRequest| !r.start_sector.is_multiple_of(128);
        let odd = near.iter().filter(odd).count();
        assert!(odd > 13_000, "{odd}");
    }

    #[test]
    fn arrivals_have_their_mean() {
        let apart = Nanos(1_000);
        let bursts = Arrival::Bursts {
            requests: 10,
            apart,
        };
        for arrival in [Arrival::Constant, Arrival::Poisson, bursts] {
            let trace = Synth {
                arrival,
                ..synth(&["writes=1"])
            };
            let trace = trace.generate();
            let records = trace.requests.records();
            assert_eq!(records[0].arrival, Nanos::ZERO);
            let last = records[records.len() - 1].arrival.0;
            let near = (1_900_000_000..2_100_000_000).contains(&last);
            assert!(near, "{arrival:?} {last}");
            let apart = |w: &&[HostRequest]| w[1].arrival.0 - w[0].arrival.0 == 1_000;
            let same = records.windows(2).filter(apart);
            assert!(arrival != bursts || same.count() >= 18_000);
        }
        assert_eq!(Arrival::parse("bursts(10,1us)"), Ok(bursts));
        let wrong = ";bursts;bursts(1,1us);bursts(4,5);bursts(4);weibull";
        for wrong in wrong.split(';') {
            assert!(Arrival::parse(wrong).is_err(), "{wrong}");
        }
        let mut never = synth(&["writes=1"]);
        (never.arrival, never.gap) = (bursts, apart);
        assert!(never.check().unwrap_err().contains("less than the mean"));
        (never.arrival, never.requests) = (Arrival::Constant, u64::MAX);
        assert!(never.check().is_err());
    }
}
