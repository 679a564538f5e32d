//! Clocks that start again: joined files, and counters that wrap.

use destage_trace::{LoadOptions, Restarts, Trace};
use destage_types::rng::SplitMix64;

use crate::common::{arrivals, overlay, read_with, says};

fn lines(times: &[u64]) -> String {
    let line = |(i, time)| format!("{time} 0 {} 8 0\n", i * 8);
    times.iter().enumerate().map(line).collect()
}

fn read(text: &str, restarts: Restarts) -> Result<Trace, String> {
    let options = LoadOptions {
        restarts,
        ..overlay()
    };
    read_with("ssdsim", text, &options).map_err(|error| error.to_string())
}

/// Times of parts, each of a clock of its own that begins near `first`.
fn parts(random: &mut SplitMix64, first: u64) -> Vec<Vec<u64>> {
    let part = |random: &mut SplitMix64| {
        let mut time = first + random.below(5);
        let times = (0..20 + random.below(40)).map(|_| {
            let now = time;
            time += 50 + random.below(1_000);
            now
        });
        times.collect()
    };
    (0..1 + random.below(4)).map(|_| part(random)).collect()
}

#[test]
fn joined_parts_go_on_where_the_one_before_ends() {
    for seed in 0..300 {
        let random = &mut SplitMix64::new(seed);
        let first = random.below(3) * 1_000_000_000;
        let parts = parts(random, first);
        let text = lines(&parts.concat());
        let (mut wanted, mut base) = (Vec::new(), 0);
        for part in &parts {
            wanted.extend(part.iter().map(|time| base + time - part[0]));
            base = *wanted.last().unwrap();
        }
        let trace = read(&text, Restarts::Continue).unwrap();
        assert_eq!(arrivals(&trace.requests), wanted, "seed {seed}");
        let restarts = parts.len() as u64 - 1;
        let counts = (trace.meta.restarts, trace.meta.arrival_corrections);
        assert_eq!(counts, (restarts, 0), "seed {seed}");
        let raised = read(&text, Restarts::Raise).unwrap();
        let at = parts[0].len() as u64 + 1;
        assert_eq!(raised.meta.restarts > 0, restarts > 0, "seed {seed}");
        match read(&text, Restarts::Refuse) {
            Ok(trace) => assert_eq!((trace.meta.restarts, restarts), (0, 0), "seed {seed}"),
            Err(error) => {
                says(&error, &format!("line {at}, column 1 (time)"));
                says(&error, "the clock starts again; --restarts continue");
                assert_eq!(raised.meta.first_restart, at);
            }
        }
    }
}

#[test]
fn counters_that_wrap_go_on() {
    for seed in 0..100 {
        let random = &mut SplitMix64::new(seed);
        let end = 1u64 << [31, 32][random.below(2) as usize];
        let mut time = end - 400_000_000.min(end / 200);
        let mut step = |_| {
            time += random.below(200_000);
            time
        };
        let true_times: Vec<u64> = (0..400).map(&mut step).collect();
        let wrapped: Vec<u64> = true_times.iter().map(|time| time % end).collect();
        let trace = read(&lines(&wrapped), Restarts::Continue).unwrap();
        let wanted: Vec<u64> = true_times.iter().map(|time| time - true_times[0]).collect();
        assert_eq!(arrivals(&trace.requests), wanted, "seed {seed}");
    }
}

#[test]
fn late_requests_and_single_wrong_times_start_no_clock() {
    for seed in 0..300 {
        let random = &mut SplitMix64::new(seed);
        let mut times: Vec<u64> = (0..200).map(|i| i * 1_000 + random.below(4_000)).collect();
        if random.below(2) == 0 {
            times[20 + random.below(170) as usize] += 3_600_000_000_000;
        }
        for how in [Restarts::Continue, Restarts::Refuse, Restarts::Raise] {
            let trace = read(&lines(&times), how).unwrap();
            assert_eq!(trace.meta.restarts, 0, "seed {seed}: {times:?}");
            assert!(trace.meta.arrival_corrections > 0);
        }
    }
}
