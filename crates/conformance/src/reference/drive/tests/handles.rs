//! Handles: worked examples of the specification.

use super::*;

#[test]
fn i21_each_handle_has_its_own_open_unit() {
    let lines = ["0 W 0 3 0", "0 W 100 1 1", "10000 W 3 1 0", "20000 W 4 1 0"];
    let mut config = DriveConfig::small(5);
    config.set("handles", 2);
    let o = run(config, &lines);
    assert_eq!(done(&o), [1000, 1000, 11_000, 627_484]);
    let [first, second, nobody] = o.handles[..] else {
        panic!("two handles and nobody")
    };
    assert_eq!((first.host, second.host, nobody.host), (5, 1, 0));
    assert_eq!((first.units_opened, second.units_opened), (1, 1));
}

#[test]
fn i22_the_same_writes_with_one_handle() {
    let lines = ["0 W 0 3 0", "0 W 100 1 0", "10000 W 3 1 0", "20000 W 4 1 0"];
    let o = run(DriveConfig::small(5), &lines);
    assert_eq!(done(&o), [1000, 1000, 11_000, 617_484]);
}

#[test]
fn i26_each_handle_opens_its_own_slc_block() {
    let mut config = super::slc::cached(8, &[("slc_dynamic", "1")]);
    config.set("handles", 2);
    let o = run(config, &["0 W 0 4 0", "0 W 100 4 1", "10000 W 4 1 0"]);
    assert_eq!(done(&o), [1000, 1000, 117_484]);
    assert_eq!((o.slc_programs, o.programs, o.slc_host_places), (1, 1, 5));
}
