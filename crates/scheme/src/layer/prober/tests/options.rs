//! One test or more for every parameter and decision of Prober.

use super::*;

#[test]
fn pr1_a_node_of_age_rip_is_outdated_under_ge_only() {
    for (cmp, large, most) in [("ge", 0, 2), ("gt", 1, 3)] {
        let mut cache = cache(16, &format!(",rip=2,rip-cmp={cmp}"));
        cache.run("W0-1 W25 W2");
        assert_eq!(cache.stat("large_write_requests"), large);
        for i in 0..50 {
            cache.write(sectors(200 + 20 * i..=200 + 20 * i));
            assert!(cache.scheme.queue.len() <= most);
        }
        assert_eq!(cache.scheme.queue.len(), most);
    }
}

#[test]
fn pr2_reads_age_the_queue_if_asked() {
    for (counts, large) in [("writes", 1), ("all", 0)] {
        let mut cache = cache(16, &format!(",rip=3,asn-counts={counts}"));
        cache.run("W0-1 R25 R25 W2");
        assert_eq!(cache.stat("large_write_requests"), large);
    }
}

#[test]
fn pr4_tail_or_head_leaves_first() {
    for (evict, order) in [("tail", [2, 1, 0, 20, 25]), ("head", [0, 1, 2, 20, 25])] {
        let mut cache = cache(5, &format!(",ldr-evict={evict}"));
        cache.run("W20 W25");
        cache.run(STREAM);
        assert_eq!(cache.order(), order);
        cache.run("W50");
        assert_eq!(cache.said(), format!("flush{{{}}}", order[0]));
    }
    let mut cache = cache(16, ",ldr-evict=head");
    cache.run("W0 W25-26 W27 W1-2");
    assert_eq!(
        cache.order(),
        [25, 26, 27, 0, 1, 2],
        "the page that was pushed first"
    );
}

#[test]
fn pr4_bypass_sends_large_writes_to_flash_and_drops_cached_copies() {
    let mut cache = cache(16, ",ldr=bypass");
    cache.run("W2 W0");
    assert_eq!(cache.write(1), "M", "joins both neighbours to three pages");
    assert_eq!(cache.said(), "bypass{1}");
    assert_eq!(ldr(&cache), [0, 2], "migration stays as it is");
    cache.run("W10 W9");
    assert_eq!(
        cache.write(10..=12),
        "MMM",
        "the copy of page 10 is a miss too"
    );
    assert_eq!(cache.slot(10), None);
}

#[test]
fn pr6_demand_eviction_spares_half_filled_pages_if_asked() {
    for (skip, victims) in [(false, [3, 2, 1]), (true, [2, 1, 0])] {
        let mut cache = cache(4, &format!(",ldr-skip-partial={skip}"));
        cache.run(STREAM);
        cache.write(sectors(12..=12));
        for (page, victim) in [50, 52, 54].into_iter().zip(victims) {
            assert_eq!(cache.order()[0], victim);
            cache.write(page);
            assert_eq!(cache.said(), format!("flush{{{victim}}}"));
        }
        if skip {
            let last = "then the base, the spared page at last";
            assert_eq!(cache.order(), [50, 52, 54, 3], "{last}");
        }
    }
    let mut cache = cache(2, ",ldr-skip-partial=true,ssp=1k,rip=100");
    for page in [0, 16, 32] {
        cache.write(sectors(page..=page + 2));
    }
    assert_eq!(
        cache.said(),
        "flush{4}",
        "all of LDR is spared, the base is empty"
    );
}

#[test]
fn reads_leave_ldr_alone_or_promote() {
    for (read_hit, kept, called) in [
        ("stay", vec![0, 1, 2], ""),
        ("promote", vec![0, 2], "miss 1 W, insert 1 W, hit 1 R"),
    ] {
        let mut cache = cache(16, &format!(",ldr-read-hit={read_hit}"));
        cache.run(STREAM);
        calls(&cache);
        assert_eq!(cache.read(1), "H");
        assert_eq!((ldr(&cache), calls(&cache).as_str()), (kept, called));
    }
}

#[test]
fn pr12_updates_that_hit_through_a_rename_can_be_exempt() {
    for (updates, held) in [("classify", vec![0, 1, 2, 3]), ("exempt", vec![0, 1, 2])] {
        let mut cache = cache(16, &format!(",cac-updates={updates}"));
        cache.run("W100");
        cache.run(STREAM);
        cache.rename(100, 3);
        assert_eq!(cache.write(3), "H");
        assert_eq!(ldr(&cache), held);
        // The queue was fed as always: the next page continues the large set.
        cache.run("W4");
        assert!(ldr(&cache).contains(&4));
    }
}

#[test]
fn pr12_exempt_pages_are_not_bypassed_and_ghosts_are_no_hits() {
    let mut cache = cache(16, ",cac-updates=exempt,ldr=bypass");
    cache.run("W100");
    cache.run(STREAM);
    for (from, to, requests, result, said) in [
        (100, 3, "W3-4", "HM", "bypass{4}"),
        (777, 5, "W5", "M", "bypass{5}"),
    ] {
        cache.rename(from, to);
        assert_eq!(cache.run(requests), result);
        assert_eq!(cache.said(), said);
    }
}
