//! Every option and decision of ProCache.

use super::*;
use crate::testing::{TestCache, sectors};

type Cache = TestCache<ProCache<Boxed>>;

/// Admits every eligible request, of at most two pages unless `options` say otherwise.
fn sure(capacity: u32, options: &str) -> Cache {
    Cache::new(&format!("procache(lru,p=1{options})"), capacity)
}

/// Refuses whatever is tested from now on.
fn never(cache: &mut Cache) {
    cache.scheme.thresholds = vec![0];
}

/// The statistics as (updates, admitted, refused by draw, refused by size).
fn stats(cache: &Cache) -> (u64, u64, u64, u64) {
    let s = cache.scheme.stats;
    (s.updates, s.hot, s.cold, s.cold_size)
}

#[test]
fn pc_1_a_request_of_exactly_c() {
    let mut cache = sure(8, "");
    cache.run("W0-1 W4-6");
    assert_eq!(cache.cached(), [0, 1], "gt: c itself is eligible");
    let mut cache = sure(8, ",cmp=ge");
    cache.run("W0-1 W4");
    assert_eq!(
        (cache.cached(), stats(&cache)),
        (vec![4], (0, 1, 0, 1)),
        "ge: c is cold"
    );
    // The size is in bytes, not pages: two halves of two pages.
    cache.write(sectors(84..=91));
    assert_eq!(cache.cached(), [4, 10, 11]);
}

#[test]
fn overlap_goes_first_and_pages_enter_together() {
    let mut cache = sure(4, ",c=1m");
    cache.run("W1 W5-7");
    for (requests, result, said, state) in [
        // PC-7: an admitted request hits nowhere. Room is made after the overlap went.
        ("W1-2", "MM", "inval{1} flush{5}", "[2* 1* 7* 6*]"),
        ("W6-7", "HH", "-", "[7* 6* 2* 1*]"), // an update touches ascending
        // More pages than frames: cold.
        ("W0-4", "MMMMM", "inval{1,2} bypass{0,1,2,3,4}", "[7* 6*]"),
    ] {
        assert_eq!(cache.run(requests), result);
        assert_eq!(
            (cache.said().as_str(), cache.state().as_str()),
            (said, state)
        );
    }
    assert_eq!(stats(&cache), (1, 3, 0, 1));
}

#[test]
fn a_bypass_of_some_sectors_leaves_the_others() {
    let mut cache = sure(4, "");
    cache.write(1);
    never(&mut cache);
    cache.write(sectors(12..=19));
    let slot = cache.slot(1).unwrap();
    assert_eq!(cache.frames.valid(slot).count(), 4);
    let hit = cache.write(sectors(12..=15));
    assert_eq!(hit, "H", "a page with any valid sector is present");
    cache.write(1..=2);
    assert!(cache.cached().is_empty());
}

#[test]
fn pc_2_all_any_or_page() {
    for (rule, requests, result, cached, counts) in [
        ("all", "W1-2", "MM", vec![], (0, 1, 1, 0)),
        ("any", "W1-2", "HM", vec![1, 2], (1, 1, 0, 0)),
        ("page", "W1-2", "HM", vec![1], (1, 1, 1, 0)),
        // The size of the whole request is tested.
        ("page", "W0-2", "MHM", vec![1], (1, 1, 0, 2)),
    ] {
        let mut cache = sure(8, &format!(",hit-rule={rule}"));
        cache.write(1);
        never(&mut cache);
        assert_eq!(cache.run(requests), result);
        assert_eq!((cache.cached(), stats(&cache)), (cached, counts), "{rule}");
    }
}

#[test]
fn pc_3_size_classes() {
    let mut cache = Cache::new("procache(lru,pv=[1.0,0.5,0.0,1.0],size-unit=4k)", 32);
    let sizes = [1, 4095, 4096, 4097, 8192, 12288, 16384, 16385, 32768, 32769];
    let classes = sizes.map(|bytes| cache.scheme.class(bytes));
    assert_eq!(classes, [0, 0, 0, 1, 1, 2, 2, 3, 3, 4]);
    for (bytes, threshold) in [
        (8192, Some(1 << 52)),
        (16384, Some(0)), // tested, never admitted
        (32768, Some(1 << 53)),
        (32769, None), // beyond 2^(N-1) units
    ] {
        assert_eq!(cache.scheme.threshold(bytes), threshold);
    }
    let plain = Cache::new("procache(lru,p=0.25,c=4p)", 8).scheme;
    assert_eq!(
        (plain.thresholds, plain.cutoff),
        (vec![1 << 51], Some(16 << 10))
    );
    cache.run("W0-3 W0-7 W0-8");
    assert_eq!(stats(&cache), (0, 1, 1, 1));
}

#[test]
fn pc_4_trials_until_admission() {
    // Mean 1/p (Eq. 1) and share that is still out after three trials (1 - p)^3 (Eq. 2).
    for (p, out) in [(0.1, 0.729), (0.05, 0.857)] {
        let mut cache = Cache::new(&format!("procache(lru,p={p})"), 4);
        let (runs, mut trials, mut after_three) = (20_000u32, 0u32, 0u32);
        for _ in 0..runs {
            let mut k = 0;
            while cache.cached().is_empty() {
                cache.write(0);
                k += 1;
            }
            trials += k;
            after_three += u32::from(k > 3);
            cache.trim(0);
        }
        let (runs, trials) = (f64::from(runs), f64::from(trials));
        let mean = trials / runs;
        assert!((mean * p - 1.0).abs() < 0.02, "mean {mean}");
        assert!((f64::from(after_three) / runs - out).abs() < 0.01);
    }
}

#[test]
fn pc_5_everything_eligible_until_the_cache_was_full() {
    let mut cache = sure(2, ",p-schedule=occupancy");
    never(&mut cache);
    cache.run("W0 W4-8 W1 W2"); // 4 to 8 are cold by size all the same
    assert_eq!((cache.cached(), stats(&cache)), (vec![0, 1], (0, 2, 1, 1)));
    cache.run("T0-1 W2");
    assert!(cache.cached().is_empty(), "once full is enough");
    // Page by page, the cache may be full in the middle of a request.
    let mut cache = sure(2, ",p-schedule=occupancy,hit-rule=page,c=1m");
    never(&mut cache);
    cache.run("W0-3");
    assert_eq!((cache.cached(), stats(&cache)), (vec![0, 1], (0, 2, 2, 0)));
}

#[test]
fn a_read_refreshes_only_if_asked() {
    for (read_touch, after) in [(true, "[1* 2*]"), (false, "[2* 1*]")] {
        let mut cache = sure(4, &format!(",read-touch={read_touch}"));
        assert_eq!(cache.run("W1-2 R1 R7"), "MMHM");
        assert_eq!(cache.state(), after);
        cache.write(1);
        assert_eq!(cache.state(), "[1* 2*]", "a write always does");
    }
}

#[test]
fn one_draw_per_tested_request_and_seed() {
    let mut cache = Cache::new("procache(lru,p=0.5,seed=1)", 8);
    let first = 0.566_561_575_172_280_9;
    cache.run("W0-7 W0"); // cold by size: no draw
    assert_eq!(stats(&cache), (0, 0, 1, 1), "first draw {first} >= 0.5");
    assert_eq!(
        cache.notes(),
        format!("cold(size)->NAND cold(r={first:?})->NAND")
    );
    let mut rng = SplitMix64::new(1);
    rng.next_53();
    assert_eq!(cache.scheme.uniform.next().bits, rng.next_53());
}

#[test]
fn the_words_of_the_worked_examples() {
    let env = Env {
        draws: Some(vec![0.2, 0.7, 0.5, 0.0]),
        ..Env::cache_only(4)
    };
    let mut cache = Cache::with("procache(lru,c=2p,p=0.5)", &env);
    cache.run("W1-2 W4 W4 W5 W1-2 W7-9");
    let words = "hot(r=0.2)->cache cold(r=0.7)->NAND cold(r=0.5)->NAND hot(r=0.0)->cache update \
                 cold(size)->NAND";
    assert_eq!(cache.notes(), words);
    assert_eq!(cache.state(), "[2* 1* 5*]");
}
