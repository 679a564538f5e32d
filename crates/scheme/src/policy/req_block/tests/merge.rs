//! Blocks that leave together with a divided block (RB-5).

use super::*;

/// Serves writes of pages `(first, last)` at the given times.
fn serve(cache: &mut Cache, writes: &[(u64, u64, u64)]) {
    for &(first, last, at) in writes {
        cache.at(at).write(first..=last);
        validate(cache);
    }
}

/// The unit of the block whose creation number is `born`.
fn unit_of(cache: &Cache, born: u64) -> Vec<u64> {
    let policy = cache.scheme.policy();
    let mut all = [IRL, SRL, DRL]
        .into_iter()
        .flat_map(|l| policy.blocks.newest_first(l));
    let b = all.find(|&b| policy.blocks.get(b).born == born).unwrap();
    let mut unit = Unit::default();
    policy.collect(b, &cache.view(), &mut unit);
    assert_eq!(unit.id, born);
    let mut pages = cache.lpns(unit.slots);
    pages.sort_unstable();
    pages
}

#[test]
fn rb_5_root_direct_or_no_origin() {
    for (origin, born, pages) in [
        ("root", 3, vec![0, 1, 5, 6, 7, 8, 9]), // the first ancestor
        ("root", 2, vec![2, 3, 4, 5, 6, 7, 8, 9]),
        ("root", 1, vec![5, 6, 7, 8, 9]), // an IRL block leaves alone
        ("direct", 3, vec![0, 1]),        // b2 is not in IRL
        ("direct", 2, vec![2, 3, 4, 5, 6, 7, 8, 9]),
        ("none", 2, vec![2, 3, 4]),
    ] {
        // A large block in IRL, divided twice: b2 from b1, b3 from b2.
        let mut cache = cache(16, &format!("delta=1,origin={origin}"));
        serve(
            &mut cache,
            &[(0, 9, 1), (0, 4, 2), (0, 1, 3), (20, 25, 1000)],
        );
        assert_eq!(cache.frames.used(), 16);
        assert_eq!(unit_of(&cache, born), pages, "{origin}: b{born}");
    }
}

#[test]
fn rb_5_first_or_all_origins() {
    let run = |merge: &str, origin: &str| {
        let mut cache = cache(32, &format!("delta=2,merge={merge},origin={origin}"));
        // b1, b2, b3 from both, b4 from b3.
        serve(&mut cache, &[(0, 4, 1), (5, 9, 2), (3, 6, 3), (3, 3, 4)]);
        cache
    };
    for (merge, origin, born, pages) in [
        ("first", "root", 3, vec![0, 1, 2, 4, 5, 6]),
        ("all", "root", 3, vec![0, 1, 2, 4, 5, 6, 7, 8, 9]),
        ("all", "root", 4, vec![0, 1, 2, 3, 7, 8, 9]), // the set goes on to a second division
        ("all", "direct", 4, vec![3]),                 // b3 is not in IRL
        ("all", "direct", 3, vec![0, 1, 2, 4, 5, 6, 7, 8, 9]),
        ("all", "none", 3, vec![4, 5, 6]),
    ] {
        assert_eq!(
            unit_of(&run(merge, origin), born),
            pages,
            "{merge}, {origin}: b{born}"
        );
    }
    // Two pages are left of b1, so the next hit takes it out of IRL and out of the set.
    let mut cache = run("all", "root");
    serve(&mut cache, &[(0, 1, 5), (2, 2, 6)]);
    assert_eq!(unit_of(&cache, 3), [4, 5, 6, 7, 8, 9]);
    // And when the whole of b2 is trimmed, its node may hold another block.
    cache.trim(7..=9);
    serve(&mut cache, &[(20, 24, 7)]);
    assert_eq!(unit_of(&cache, 3), [4, 5, 6]);
}

#[test]
fn rb_5_neighbours() {
    let mut cache = cache(32, "delta=2,merge=neighbour,origin=none");
    // b1 beside 3; b2, hit below; b3 beside 4; b4 and b5 not beside.
    serve(
        &mut cache,
        &[(1, 2, 1), (3, 4, 2), (5, 9, 3), (11, 12, 4), (0, 0, 4)],
    );
    serve(&mut cache, &[(3, 3, 5)]);
    assert_eq!(unit_of(&cache, 2), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(unit_of(&cache, 1), [1, 2], "an IRL block leaves alone");
    serve(&mut cache, &[(6, 8, 6)]); // b6 from b3, which stays beside it on both sides
    assert_eq!(
        unit_of(&cache, 6),
        [5, 6, 7, 8, 9],
        "a block beside two pages goes once"
    );
    serve(&mut cache, &[(1, 1, 7)]);
    assert_eq!(unit_of(&cache, 2), [3, 4, 5, 9], "b1 is in SRL now");
}
