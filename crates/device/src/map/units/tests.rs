//! Rules of drives that devices of pages have too.

use super::*;
use crate::config::{Overwrite, Ratio};
use crate::map::{FlashMap, Preconditioning, drawn};

fn drive(more: &str) -> DeviceConfig {
    let keys = format!(
        "channels=2 chips_per_channel=1 dies_per_chip=1 planes_per_die=2 blocks_per_plane=40 op=0.4 \
         pages_per_block=8 page_bytes=16384 mapping_bytes=4096 frontier=plane gc_unit=plane queue_per=die \
         gc_mode=paced gc_low=1 gc_high=3 {more}"
    );
    drawn::device(&keys).expect("a legal device")
}

/// The valid places of all blocks after skewed overwrites: most go to a small part of the drive.
fn overwritten(policy: &str) -> Vec<u32> {
    let config = drive(&format!("gc_policy={policy}"));
    let mut map = UnitMap::new(&config, 1);
    map.fill(Ratio::ONE, &mut |_| {}).unwrap();
    let [times, hot] = [2.0, 0.1].map(|share| Ratio::from_f64(share).unwrap());
    for seed in 0..4 {
        for share in [hot, Ratio::ONE] {
            map.overwrite(share, Overwrite::Times(times), seed, &mut |_| {})
                .unwrap();
        }
    }
    let blocks = 0..map.shape.all_blocks();
    blocks.map(|block| map.valid_in(block)).collect()
}

#[test]
fn policies_choose_by_their_own_rules() {
    let policies = ["greedy", "cost-benefit", "d-choices", "random"];
    let states = policies.map(overwritten);
    for (i, state) in states.iter().enumerate() {
        assert!(!states[..i].contains(state), "{}", policies[i]);
    }
}

#[test]
fn overwrites_until_gc_end_where_they_reach_one_gc_unit_of_many() {
    let part = Ratio::from_f64(0.0008).unwrap();
    for allocation in ["static", "dynamic"] {
        let mut map = UnitMap::new(&drive(&format!("allocation={allocation}")), 1);
        let logical = map.logical_pages();
        assert!(
            part.of(logical) < u64::from(map.shape.per_page),
            "less than a page"
        );
        map.fill(part, &mut |_| {}).unwrap();
        let written = map
            .overwrite(part, Overwrite::UntilGc, 1, &mut |_| {})
            .unwrap();
        let units = match allocation {
            "static" => 1,
            _ => map.gc_units(),
        };
        assert_eq!(map.before.count(), units, "{allocation}");
        assert!(
            written < 2 * map.shape.all_places(),
            "{allocation}: {written}"
        );
    }
}

/// The first two thirds of three overwrites are two overwrites.
#[test]
fn the_debt_before_the_run_is_that_of_the_last_third() {
    let overwritten = |times: f64| {
        let mut map = UnitMap::new(&drive(""), 1);
        map.fill(Ratio::ONE, &mut |_| {}).unwrap();
        let times = Overwrite::Times(Ratio::from_f64(times).unwrap());
        let written = map.overwrite(Ratio::ONE, times, 5, &mut |_| {}).unwrap();
        (written, map.before)
    };
    let ((two, before), (three, after)) = (overwritten(2.0), overwritten(3.0));
    let moved = after.moved() - before.moved();
    assert!(after.debt() > 1 << 14, "{after:?}");
    assert_eq!(after.debt(), (moved << 16) / (three - two));
    assert_eq!(overwritten(0.0).1.debt(), 0);
}
