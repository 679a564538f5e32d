//! Percentiles, intervals, and bounded memory.

use super::*;
use destage_types::rng::SplitMix64;

#[test]
fn percentiles_equal_those_of_the_sorted_list() {
    for usual in [0u64, 5, 50, 99] {
        let mut stats = LatencyStats::new(Nanos(usual));
        let mut all: Vec<u64> = (0..997).map(|i| (i * 37) % 100).collect();
        all.iter().for_each(|&t| stats.add(Nanos(t)));
        all.sort_unstable();
        let s = stats.summary();
        let rank = |p: f64| all[(p * 997.0).ceil() as usize - 1];
        assert_eq!(s.p50, Some(rank(0.5)));
        assert_eq!(s.p95, Some(rank(0.95)));
        assert_eq!(s.p99, Some(rank(0.99)));
        assert_eq!(s.p999, Some(rank(0.999)));
        assert_eq!(s.max, Some(99));
        let mean = all.iter().sum::<u64>() as f64 / 997.0;
        let var = all.iter().map(|&t| (t as f64 - mean).powi(2)).sum::<f64>() / 997.0;
        assert!((s.std.unwrap() - var.sqrt()).abs() < 1e-9);
    }
}

/// Wherever an interval begins, and however long its times are, its figures are those of its times alone.
#[test]
fn an_interval_has_its_own_figures() {
    let mut rng = SplitMix64::new(7);
    for round in 0..60 {
        let usual = 1 << rng.below(20);
        let mut stats = LatencyStats::new(Nanos(usual));
        for _ in 0..8 {
            let mark = stats.mark();
            let mut alone = LatencyStats::new(Nanos(usual));
            for _ in 0..rng.below(150) {
                let time = match rng.below(3) {
                    0 => usual,
                    _ => rng.below(1 << 40) >> rng.below(40),
                };
                stats.add(Nanos(time));
                alone.add(Nanos(time));
            }
            assert_eq!(stats.since(mark).summary(), alone.summary(), "{round}");
        }
    }
}

#[test]
fn the_tail_is_that_of_the_sorted_list() {
    for n in [0u64, 1, 7, 1000, 2_000_003] {
        let mut stats = LatencyStats::new(Nanos(40));
        let mut all: Vec<u64> = (0..n).map(|i| i * 7919 % 1_000_003).collect();
        all.iter().for_each(|&time| stats.add(Nanos(time)));
        all.sort_unstable();
        let at = |ppm: &u32| {
            let slower = n * u64::from(*ppm) / 1_000_000;
            (slower > 0).then(|| all[(n - slower - 1) as usize])
        };
        assert_eq!(stats.tail(), SLOWER_PPM.iter().map(at).collect::<Vec<_>>());
    }
}

#[test]
fn percentiles_of_times_of_every_length() {
    let mut rng = SplitMix64::new(1);
    for n in [1u64, 2, 3, 999, 1000, 1001, 20_000] {
        let mut stats = LatencyStats::new(Nanos(1000));
        let time = |_| rng.below(1 << 54) >> rng.below(54);
        let mut all: Vec<u64> = (0..n).map(time).collect();
        all[0] = 1 << 54;
        all.iter().for_each(|&t| stats.add(Nanos(t)));
        all.sort_unstable();
        let s = stats.summary();
        let rank = |share: u64| Some(all[(n * share).div_ceil(10_000) as usize - 1]);
        let found = [s.p50, s.p95, s.p99, s.p999, s.p9999, s.max];
        let shares = [5000, 9500, 9900, 9990, 9999, 10_000];
        assert_eq!(found, shares.map(rank), "{n}");
    }
}

#[test]
fn requests_of_several_classes_are_summed_up_together() {
    let parts = [0u64, 1, 2].map(|class| {
        let mut stats = LatencyStats::new(Nanos(7));
        let times = (0..200).map(|i| (i * 31 + class * 17) % 50 * (class + 1));
        times.for_each(|t| stats.add(Nanos(t)));
        stats
    });
    let mut whole = LatencyStats::new(Nanos(7));
    for class in 0..3u64 {
        let times = (0..200).map(|i| (i * 31 + class * 17) % 50 * (class + 1));
        times.for_each(|t| whole.add(Nanos(t)));
    }
    assert_eq!(LatencyStats::summary_of_all(&parts), whole.summary());
}

/// Usual times that differ, times of more than 32 bits, and folded ones beside exact ones.
#[test]
fn every_rank_is_that_of_the_sorted_list() {
    let mut rng = SplitMix64::new(11);
    for requests in [1, 10, 300] {
        let classes = [7u64, 7, 5_000_000_000].map(|usual| {
            let mut stats = LatencyStats::new(Nanos(usual));
            if rng.below(2) == 0 {
                stats.bound(40);
            }
            for _ in 0..requests {
                let time = rng.below(1 << 36) >> rng.below(36);
                let time = if rng.below(3) == 0 { usual } else { time };
                stats.add(Nanos(time));
            }
            stats
        });
        let (together, mut all) = (Together(&classes), Vec::new());
        together.each(|time, often| all.extend((0..often).map(|_| time)));
        all.sort_unstable();
        assert_eq!(all.len() as u64, 3 * requests);
        for first in 1..=all.len() as u64 - 2 {
            let ranks = [first, first + 1, first + 1, all.len() as u64];
            let wanted = ranks.map(|rank| all[rank as usize - 1]);
            assert_eq!(together.at_ranks(ranks), wanted, "{first} of {requests}");
        }
    }
}

#[test]
fn deviation_of_an_overloaded_device() {
    let mut stats = LatencyStats::new(Nanos(1));
    // A million requests that wait for up to ten days.
    (0..1_000_000u64).for_each(|i| stats.add(Nanos(i * 864_000_000)));
    let step = 864_000_000.0;
    let wanted = step * ((1e12 - 1.0) / 12.0f64).sqrt();
    let got = stats.summary().std.unwrap();
    assert!((got / wanted - 1.0).abs() < 1e-12, "{got} {wanted}");
}

#[test]
fn bounded_times_are_nearly_exact() {
    let (mut exact, mut bounded) = (LatencyStats::new(Nanos(5)), LatencyStats::new(Nanos(5)));
    bounded.bound(1000);
    let mut rng = SplitMix64::new(3);
    for n in 0..50_000 {
        if n == 900 {
            assert_eq!(bounded.summary(), exact.summary(), "none is folded yet");
        }
        let time = Nanos(rng.below(1 << 40) >> rng.below(40));
        exact.add(time);
        bounded.add(time);
        assert!(bounded.short.len() + bounded.long.len() <= 1000 + LAST);
    }
    let (exact, bounded) = (exact.summary(), bounded.summary());
    assert_eq!((exact.mean, exact.max), (bounded.mean, bounded.max));
    for (e, b) in [(exact.p50, bounded.p50), (exact.p99, bounded.p99)] {
        let (e, b) = (e.unwrap(), b.unwrap());
        assert!(b <= e && e - b <= e / 500, "{e} {b}");
    }
    let (e, b) = (exact.std.unwrap(), bounded.std.unwrap());
    assert!((b / e - 1.0).abs() < 0.004, "{e} {b}");
}

#[test]
fn nothing_is_null() {
    assert_eq!(LatencyStats::new(Nanos(1)).summary(), Latency::default());
    assert_eq!(MeanTime::default().summary().mean, None);
}
