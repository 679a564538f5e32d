//! Arrivals of parts with a rate each: independent Poisson processes, merged in order of time.

use destage_types::Nanos;
use destage_types::rng::SplitMix64;

use super::part::SynthPart;
use super::random::Distributions;

/// Generators of a part. They depend on the seed and the number of the part alone, so a part sends the
/// same requests whatever other parts there are.
pub(super) struct PartGenerators {
    pub arrivals: SplitMix64,
    pub requests: SplitMix64,
}

/// The generators of part 0, part 1 and so on.
pub(super) fn generators(seed: u64) -> impl Iterator<Item = PartGenerators> {
    let mut seeds = SplitMix64::new(seed);
    std::iter::repeat_with(move || PartGenerators {
        arrivals: SplitMix64::new(seeds.next_u64()),
        requests: SplitMix64::new(seeds.next_u64()),
    })
}

/// The arrivals of all parts without end, each with the number of its part. At equal times the part with
/// the lower number comes first.
pub(super) struct PoissonArrivals {
    processes: Vec<Process>,
}

/// The arrivals of a part: the first comes an exponentially distributed time after the start, too.
struct Process {
    mean_ns: f64,
    next_ns: u64,
    random: SplitMix64,
}

impl Process {
    fn step(&mut self) {
        self.next_ns += libm::round(self.random.exponential() * self.mean_ns) as u64;
    }
}

impl PoissonArrivals {
    /// Those of parts that all have a rate; parts without one send nothing.
    pub fn new(parts: &[SynthPart], seed: u64) -> PoissonArrivals {
        let process = |(part, generators): (&SynthPart, PartGenerators)| {
            let mut process = Process {
                mean_ns: 1e9 / part.rate?,
                next_ns: 0,
                random: generators.arrivals,
            };
            process.step();
            Some(process)
        };
        let parts = parts.iter().zip(generators(seed));
        PoissonArrivals {
            processes: parts.filter_map(process).collect(),
        }
    }
}

impl Iterator for PoissonArrivals {
    type Item = (usize, Nanos);

    fn next(&mut self) -> Option<(usize, Nanos)> {
        let processes = self.processes.iter_mut().enumerate();
        let (part, process) = processes.min_by_key(|(_, process)| process.next_ns)?;
        let now = process.next_ns;
        process.step();
        Some((part, Nanos(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Arrival, Synth, SynthPart};
    use super::*;
    use destage_types::Op;

    const REQUESTS: u64 = 200_000;

    fn load(parts: &[&str]) -> Synth {
        Synth {
            name: "load".to_owned(),
            parts: parts.iter().map(|p| SynthPart::parse(p).unwrap()).collect(),
            requests: REQUESTS,
            arrival: Arrival::Constant,
            gap: Nanos(1),
            seed: 1,
        }
    }

    /// The load of a measured drive: six parts that write, and one that reads half of the time.
    fn measured() -> Synth {
        let busy = "rate=5892.3,writes=0.99,space=64MiB";
        let watched = "rate=10000,writes=0.5,space=64MiB";
        load(&[busy, busy, busy, busy, busy, busy, watched])
    }

    #[test]
    fn each_part_is_a_poisson_process_of_its_rate() {
        let synth = measured();
        let trace = synth.generate();
        let records = trace.requests.records();
        assert_eq!(records.len() as u64, REQUESTS);
        assert!(records.windows(2).all(|w| w[0].arrival <= w[1].arrival));
        let end = records[records.len() - 1].arrival.0 as f64 / 1e9;
        let mut requests = 0;
        for (stream, part) in synth.parts.iter().enumerate() {
            let own = records.iter().filter(|r| r.stream == stream as u32);
            let count = own.clone().count() as f64;
            let rate = part.rate.unwrap();
            let near = (count / end / rate - 1.0).abs() < 0.02;
            assert!(near, "{count} in {end} s");
            let writes = own.clone().filter(|r| r.op == Op::Write).count() as f64;
            assert!((writes / count - part.writes).abs() < 0.01, "{writes}");
            // Exponential gaps are on average as long as they vary.
            let arrivals: Vec<f64> = own.map(|r| r.arrival.0 as f64).collect();
            let gaps: Vec<f64> = arrivals.windows(2).map(|w| w[1] - w[0]).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let square = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>();
            let variation = (square / gaps.len() as f64).sqrt() / mean;
            assert!((variation - 1.0).abs() < 0.03, "{variation}");
            requests += count as u64;
        }
        assert_eq!(requests, REQUESTS, "no other stream");
        // The counts known in advance are those of the generated requests.
        let counts = |volumes: &[crate::Volume]| {
            let counts = volumes.iter().map(|v| (v.stream, v.requests));
            let mut counts: Vec<(u32, u64)> = counts.collect();
            counts.sort_unstable();
            counts
        };
        assert_eq!(counts(&synth.meta().volumes), counts(&trace.meta.volumes));
    }

    #[test]
    fn a_seed_gives_the_same_requests_and_parts_do_not_disturb_each_other() {
        let requests = |synth: &Synth| synth.generate().requests.records().to_vec();
        let two = load(&["rate=3000", "rate=1000,at=zipf(0.9),space=16MiB"]);
        let both = requests(&two);
        assert_eq!(both, requests(&two));
        let other = Synth {
            seed: 2,
            ..two.clone()
        };
        assert_ne!(both, requests(&other));
        let mut first = both.clone();
        first.retain(|r| r.stream == 0);
        let alone = requests(&load(&["rate=3000"]));
        assert_eq!(first[..], alone[..first.len()]);
        assert!((149_000..151_000).contains(&first.len()), "{}", first.len());
    }

    #[test]
    fn at_equal_times_the_lower_part_comes_first() {
        let parts = ["rate=1e8", "rate=1e8"].map(|p| SynthPart::parse(p).unwrap());
        let arrivals: Vec<(usize, Nanos)> = PoissonArrivals::new(&parts, 1).take(10_000).collect();
        // In ascending order by time, then part, although a part may come twice at one time.
        let ties = arrivals.windows(2).filter(|w| w[0].1 == w[1].1);
        assert!(ties.clone().count() > 500);
        assert!(ties.clone().all(|w| w[0].0 <= w[1].0));
        assert!(arrivals.windows(2).all(|w| w[0].1 <= w[1].1));
    }

    #[test]
    fn loads_that_cannot_be() {
        let fault = |parts: &[&str]| load(parts).check().unwrap_err();
        let error = fault(&["rate=10", "rate=20", "writes=0"]);
        assert!(error.contains("part 3 of 3 has no rate="), "{error}");
        assert!(error.contains("every part"), "{error}");
        let error = fault(&["writes=0", "rate=20"]);
        assert!(error.contains("part 1 of 2 has no rate="), "{error}");
        let error = fault(&["rate=1e8", "rate=1e-9"]);
        assert!(error.contains("584 years"), "{error}");
        let error = fault(&["rate=0.000001"]);
        assert!(error.contains("584 years"), "{error}");
        assert_eq!(load(&["rate=1e8", "rate=1e-8"]).check(), Ok(()));
    }
}
