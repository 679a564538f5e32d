//! What leaves together with a divided block (RB-5).

use super::*;

/// A large block in IRL, divided twice; the victim is the block of the second division.
fn divided_twice(origin: OriginRule) -> Mini<ReqBlock> {
    let mut m = cache(16, ReqBlockParams { origin, ..small(1) });
    m.write(0, 9, 1); // b1
    m.write(0, 4, 2); // b2 from b1
    m.write(0, 1, 3); // b3 from b2
    m.write(20, 25, 1000); // b4
    assert_eq!(m.frames.used(), 16);
    m
}

/// The unit of block number `born`.
fn unit_of(m: &Mini<ReqBlock>, born: u64) -> Vec<u64> {
    let all = [IRL, SRL, DRL]
        .into_iter()
        .flat_map(|l| m.scheme.blocks.newest_first(l));
    let b = all
        .into_iter()
        .find(|&b| m.scheme.blocks.get(b).born == born)
        .unwrap();
    let mut unit = Unit::default();
    m.scheme.collect(b, &m.view(), &mut unit);
    assert_eq!(unit.id, born);
    let mut pages: Vec<u64> = unit.slots.iter().map(|&s| m.frames.lpn(s).0).collect();
    pages.sort_unstable();
    pages
}

#[test]
fn rb_5_root_direct_or_no_origin() {
    let root = divided_twice(OriginRule::Root);
    assert_eq!(
        unit_of(&root, 3),
        [0, 1, 5, 6, 7, 8, 9],
        "the first ancestor"
    );
    assert_eq!(unit_of(&root, 2), [2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(
        unit_of(&root, 1),
        [5, 6, 7, 8, 9],
        "an IRL block leaves alone"
    );
    let direct = divided_twice(OriginRule::Direct);
    assert_eq!(unit_of(&direct, 3), [0, 1], "b2 is not in IRL");
    assert_eq!(unit_of(&direct, 2), [2, 3, 4, 5, 6, 7, 8, 9]);
    let none = divided_twice(OriginRule::None);
    assert_eq!(unit_of(&none, 2), [2, 3, 4]);
}

#[test]
fn rb_5_first_or_all_origins() {
    let run = |merge, origin| {
        let mut m = cache(
            32,
            ReqBlockParams {
                merge,
                origin,
                ..small(2)
            },
        );
        m.write(0, 4, 1); // b1
        m.write(5, 9, 2); // b2
        m.write(3, 6, 3); // b3 from both
        m.write(3, 3, 4); // b4 from b3
        validate(&m);
        m
    };
    let first = run(Merge::First, OriginRule::Root);
    assert_eq!(unit_of(&first, 3), [0, 1, 2, 4, 5, 6]);
    let all = run(Merge::All, OriginRule::Root);
    assert_eq!(unit_of(&all, 3), [0, 1, 2, 4, 5, 6, 7, 8, 9]);
    assert_eq!(
        unit_of(&all, 4),
        [0, 1, 2, 3, 7, 8, 9],
        "the set goes on to a second division"
    );
    let direct = run(Merge::All, OriginRule::Direct);
    assert_eq!(unit_of(&direct, 4), [3], "b3 is not in IRL");
    assert_eq!(unit_of(&direct, 3), [0, 1, 2, 4, 5, 6, 7, 8, 9]);
    let none = run(Merge::All, OriginRule::None);
    assert_eq!(unit_of(&none, 3), [4, 5, 6]);
    // Two pages are left of b1, so the next hit takes it out of IRL and out of the set.
    let mut m = run(Merge::All, OriginRule::Root);
    m.write(0, 1, 5);
    m.write(2, 2, 6);
    assert_eq!(unit_of(&m, 3), [4, 5, 6, 7, 8, 9]);
    // And when the whole of b2 is trimmed, its node may hold another block.
    m.trim(7, 9);
    m.write(20, 24, 7);
    assert_eq!(unit_of(&m, 3), [4, 5, 6]);
    validate(&m);
}

#[test]
fn rb_5_neighbours() {
    let merge = Merge::Neighbour;
    let mut m = cache(
        32,
        ReqBlockParams {
            merge,
            origin: OriginRule::None,
            ..small(2)
        },
    );
    m.write(1, 2, 1); // b1: beside 3
    m.write(3, 4, 2); // b2: hit below
    m.write(5, 9, 3); // b3: beside 4
    m.write(11, 12, 4); // b4: not beside
    m.write(0, 0, 4); // b5: not beside
    m.write(3, 3, 5);
    assert_eq!(unit_of(&m, 2), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(unit_of(&m, 1), [1, 2], "an IRL block leaves alone");
    m.write(6, 8, 6); // b6 from b3, which stays beside it on both sides
    assert_eq!(
        unit_of(&m, 6),
        [5, 6, 7, 8, 9],
        "a block beside two pages goes once"
    );
    m.write(1, 1, 7);
    assert_eq!(unit_of(&m, 2), [3, 4, 5, 9], "b1 is in SRL now");
    validate(&m);
}
