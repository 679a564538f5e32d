//! Overwriting until garbage collection runs everywhere, on devices of every kind.

use super::devices::{SHAPES, any_collecting_device};
use destage_conformance::reference::pagemap::SlowMap;
use destage_conformance::timed::runs::device_of;
use destage_device::config::{DeviceConfig, Overwrite, Ratio};
use destage_device::map::{FlashMap, PageMap, Preconditioning};
use proptest::prelude::*;
use std::collections::BTreeSet;

#[test]
fn preconditioning_reaches_the_threshold_of_every_unit() {
    let config = device_of(&format!(
        "{} gc_threshold=0.2 gc_threshold_base=total",
        SHAPES[5]
    ));
    let mut map = PageMap::new(&config, 1);
    map.fill(Ratio::ONE, &mut |_| {}).unwrap();
    assert_eq!(map.gc_units_reached().0, 0);
    let written = map
        .overwrite(Ratio::ONE, Overwrite::UntilGc, 1, &mut |_| {})
        .unwrap();
    let (reached, units) = map.gc_units_reached();
    assert_eq!((reached, units), (8, 8));
    assert!(written > 0 && map.places().mapped() == map.logical_pages());
    let twice = Overwrite::Times(Ratio::from_f64(2.5).unwrap());
    let times = map.overwrite(Ratio::ONE, twice, 1, &mut |_| {}).unwrap();
    assert_eq!(times, map.logical_pages() * 5 / 2);
}

fn until_gc(config: &DeviceConfig, fill: f64) -> (PageMap, u64) {
    let mut map = PageMap::new(config, 1);
    let share = Ratio::from_f64(fill).unwrap();
    map.fill(share, &mut |_| {}).unwrap();
    let written = map
        .overwrite(share, Overwrite::UntilGc, 7, &mut |_| {})
        .unwrap();
    (map, written)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// It ends, whatever the threshold, and every unit that is written to has collected.
    #[test]
    fn overwriting_until_gc_ends(config in any_collecting_device(), fill in prop_oneof![
        Just(0.0), Just(0.01), Just(0.3), Just(1.0)
    ]) {
        let (map, _) = until_gc(&config, fill);
        let logical = map.logical_pages();
        let range = match Ratio::from_f64(fill).unwrap().of(logical) {
            0 => logical,
            filled => filled,
        };
        let (reached, units) = map.gc_units_reached();
        let slow = SlowMap::new(&config, 1);
        let written_to: BTreeSet<u64> = (0..range).map(|lpn| slow.static_gc_unit(lpn)).collect();
        prop_assert!(reached as usize >= written_to.len() && reached <= units);
        prop_assert!(map.places().mapped() <= range);
    }
}

#[test]
fn thresholds_that_are_never_met_end_as_well() {
    let one = "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=2 \
               blocks_per_plane=12 pages_per_block=32 op=0.3 gc_threshold=0.1";
    for (frontier, unit) in [("plane", "plane"), ("plane", "chip"), ("chip", "plane")] {
        let config = device_of(&format!(
            "{one} queue_per=chip frontier={frontier} gc_unit={unit}"
        ));
        let (map, written) = until_gc(&config, 1.0);
        let (reached, units) = map.gc_units_reached();
        assert_eq!(reached, units, "{frontier} {unit}");
        assert!(
            written < 4 * map.logical_pages(),
            "{frontier} {unit}: {written}"
        );
    }
}

/// The frontier of a chip opens blocks where some are free, which may be one plane for ever.
#[test]
fn planes_that_a_frontier_leaves_alone_end_as_well() {
    let one = "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=4 \
               blocks_per_plane=4 pages_per_block=4 op=0.5 queue_per=chip frontier=chip";
    for threshold in ["0", "0.1", "1"] {
        let config = device_of(&format!("{one} gc_unit=plane gc_threshold={threshold}"));
        for page in 1..=4 {
            let share = f64::from(page) / config.logical_pages() as f64;
            let (map, _) = until_gc(&config, share);
            assert!(map.gc_units_reached().0 >= page, "{threshold} {page}");
        }
    }
}

#[test]
fn only_units_that_are_written_to_count() {
    let config = device_of(&format!(
        "{} gc_threshold=0.2 gc_threshold_base=total",
        SHAPES[5]
    ));
    // The first page alone is filled and overwritten.
    let (map, written) = until_gc(&config, 1.0 / config.logical_pages() as f64);
    assert_eq!(map.gc_units_reached().0, 1);
    assert_eq!((map.places().mapped(), written > 0), (1, true));
}
