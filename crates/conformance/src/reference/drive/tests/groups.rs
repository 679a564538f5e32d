//! Orders by address.

use super::super::groups::Groups;
use super::*;

fn circle(scan: bool) -> Groups {
    let mut groups = Groups::new(4, scan);
    [20, 0, 41, 9]
        .into_iter()
        .for_each(|page| groups.comes_in(page));
    groups
}

#[test]
fn the_pointer_skips_groups_that_were_hit_and_clears_their_bits() {
    let mut groups = circle(false);
    // Group 5 came first, and the pointer is on it.
    assert_eq!(groups.in_order(), [5, 10, 0, 2]);
    groups.is_hit(20);
    groups.is_hit(0);
    assert_eq!(groups.in_order(), [10, 2, 5, 0]);
    groups.take(41);
    // The bit of group 5 has been cleared, that of group 0 has not.
    assert_eq!(groups.in_order(), [10, 2, 5, 0]);
    groups.leaves(41);
    assert_eq!(groups.in_order(), [2, 5, 0]);
    groups.take(9);
    assert_eq!(groups.in_order(), [2, 5, 0]);
    groups.is_hit(9);
    assert_eq!(groups.in_order(), [5, 0, 2]);
}

#[test]
fn a_group_that_comes_in_at_the_pointer_stands_behind_it() {
    let mut groups = circle(false);
    groups.take(41);
    groups.comes_in(32);
    assert_eq!(groups.in_order(), [10, 0, 2, 5, 8]);
    // A miss in a group that is there changes nothing.
    groups.comes_in(33);
    assert_eq!(groups.in_order(), [10, 0, 2, 5, 8]);
}

#[test]
fn cscan_ignores_the_bit() {
    let mut groups = circle(true);
    groups.is_hit(20);
    assert_eq!(groups.in_order(), [5, 10, 0, 2]);
}

#[test]
fn drain_takes_pages_in_the_order_of_the_pointer() {
    let mut config = DriveConfig::small(16);
    config.order = Order::Cscan(4);
    let (low, high) = (0.25, 0.25);
    config.drain = Some(Drain {
        low,
        high,
        depth: Some(1),
    });
    // Page 40 comes first; the fifth page starts the drain with it, and 0 to 2 follow the end.
    let o = run(config, &["0 W 40 1", "0 W 0 3", "0 W 44 4"]);
    let written: Vec<usize> = (0..64).filter(|&lpn| o.mapping[lpn].is_some()).collect();
    assert_eq!(written, [40, 44, 45, 46]);
    assert_eq!(o.dirty_left, 4);
}
