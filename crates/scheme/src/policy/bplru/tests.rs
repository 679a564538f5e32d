//! Every option and decision of BPLRU, and its lists over random runs.

use super::*;
use crate::testing::{STILL, TestCache};

type Cache = TestCache<Groups<Bplru>>;

/// With blocks of four pages.
fn cache(capacity: u32, options: &str, requests: &str) -> Cache {
    let mut cache = Cache::new(&format!("bplru(block-pages=4{options})"), capacity);
    cache.run(requests);
    cache
}

/// Block numbers, newest first.
fn order(cache: &Cache) -> Vec<u64> {
    let policy = cache.scheme.policy();
    let blocks = policy.blocks.order.from_head(0);
    blocks.map(|n| policy.blocks.number(n)).collect()
}

#[test]
fn the_worked_example() {
    let mut cache = cache(8, "", "W0-1 W4 W8-11 W5");
    assert_eq!(order(&cache), [1, 0, 2], "block 2 was written in order");
    cache.write(12);
    assert_eq!(
        (cache.said().as_str(), cache.unit.id),
        ("flush{8,9,10,11}", 2)
    );
    assert_eq!(cache.unit.placement, Placement::SingleBlock);
    assert_eq!(cache.run("W16 W1"), "MH");
    cache.run("W20-21 W24");
    assert_eq!(cache.said(), "flush{4,5}");
    assert_eq!(order(&cache), [6, 5, 0, 4, 3]);
    assert_eq!(cache.metadata_bytes(), 5 * 24);
}

#[test]
fn padding_reads_what_is_missing_and_takes_clean_pages_along() {
    let mut cache = cache(4, ",padding=true", "W1 F W2 W4-5 W8");
    assert_eq!(
        (&cache.unit.pad, cache.unit.whole),
        (&vec![Lpn(0), Lpn(3)], true)
    );
    assert_eq!(cache.unit.slots.len(), 2);
    // A block without a dirty page is dropped.
    cache.run("F W12-13");
    assert_eq!(
        (cache.said().as_str(), cache.unit.whole),
        ("drop{4,5}", false)
    );
    assert!(cache.unit.pad.is_empty());
}

#[test]
fn bp_2_what_moves_a_block() {
    for (options, steps) in [
        (
            ",compensation=half",
            &[
                (
                    "W0 W7 W5",
                    vec![0, 1],
                    "two page writes in a row, in any order",
                ),
                ("W2", vec![0, 1], "one page write"),
                ("W6", vec![1, 0], "the row was broken"),
            ][..],
        ),
        (",compensation=off", &[("W0 W4-7", vec![1, 0], "BP-2")]),
        ("", &[("W0 W4 R0", vec![1, 0], "a read moves nothing")]),
        (
            ",read-touch=true",
            &[("W0 W4 R0", vec![0, 1], "unless told so")],
        ),
        (
            "",
            &[
                ("W0-3 W4-7", vec![0, 1], "both were written in order"),
                ("W5", vec![1, 0], "a rewritten block is used again"),
                (
                    "W8-9 T8 W10-11",
                    vec![2, 1, 0],
                    "a TRIM ends a sequential fill",
                ),
                ("T9-11 W8-11", vec![1, 0, 2], "a new block begins anew"),
            ],
        ),
    ] {
        let mut cache = cache(12, options, "");
        for (requests, blocks, why) in steps {
            cache.run(requests);
            assert_eq!(order(&cache), *blocks, "{options}: {why}");
        }
    }
}

#[test]
fn bp_3_the_block_being_written() {
    for (protect, evicted) in [(false, "flush{0}"), (true, "flush{4,5,6}")] {
        let cache = cache(4, &format!(",protect-current={protect}"), "W0 W4-6 W1");
        assert_eq!(cache.said(), evicted);
    }
    let mut cache = Cache::new("bplru(block-pages=8,protect-current=true)", 4);
    cache.run("W0-3 W4");
    assert_eq!(
        cache.said(),
        "flush{0,1,2,3}",
        "it leaves if it is the only one"
    );
    assert_eq!(order(&cache), [0]);
}

#[test]
fn a_renamed_page_joins_the_other_block() {
    let mut cache = cache(8, "", "W0-1 W8");
    assert!(cache.rename(1, 5) && !cache.rename(77, 78));
    assert_eq!(order(&cache), [1, 2, 0]);
    let policy = cache.scheme.policy();
    let next =
        |block: u32| policy.next[policy.blocks.find(Lpn(4 * u64::from(block))).unwrap() as usize];
    assert_eq!((next(0), next(1)), (Some(2), Some(0)));
}

#[test]
fn random_runs_keep_blocks_and_pages_together() {
    for (seed, capacity) in [(1, 4), (2, 7), (3, 20)] {
        let mut cache = cache(capacity, "", "");
        cache.random(seed, 20_000, STILL, |cache| {
            let held = cache.scheme.policy().blocks.validate(&cache.frames);
            assert_eq!(held, cache.frames.used());
        });
    }
}
