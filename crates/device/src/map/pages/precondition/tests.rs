//! A device that was filled in order beside one whose pages were written one by one: the same to the last list.

use super::*;
use crate::config::{DeviceConfig, Ratio};
use crate::map::FlashMap;
use crate::map::GcWork;
use crate::map::drawn::{common_keys, device, pick};
use crate::map::groups::UnitMembers;
use destage_types::rng::SplitMix64;

fn random_device_of_pages(rng: &mut SplitMix64) -> (DeviceConfig, String) {
    let (units, per) = (["plane", "die", "chip"], ["die", "chip"]);
    let frontier = pick(rng, &units);
    let queue = match frontier {
        "chip" => "chip",
        _ => pick(rng, &per),
    };
    let keys = [
        common_keys(rng),
        format!(
            "blocks_per_plane={} pages_per_block={}",
            16 + rng.below(20),
            3 + rng.below(6)
        ),
        format!("op={}", pick(rng, &["0.3", "0.4"])),
        format!(
            "frontier={frontier} queue_per={queue} gc_unit={}",
            pick(rng, &units)
        ),
        format!(
            "gc_mode={}",
            pick(rng, &["off", "foreground", "background"])
        ),
        format!("gc_threshold={}", pick(rng, &["0.1", "0.25", "0.4", "0.8"])),
        format!("gc_threshold_unit={}", pick(rng, &["pages", "blocks"])),
        format!("gc_threshold_base={}", pick(rng, &["total", "spare"])),
        format!("gc_stop={}", pick(rng, &["one", "watermark"])),
        format!(
            "wear_levelling={}",
            pick(rng, &["off", "dynamic", "static"])
        ),
        format!("summary_page={}", rng.below(2) == 0),
    ]
    .join(" ");
    match device(&keys) {
        Ok(device) => (device, keys),
        // Not all of them go together.
        Err(_) => random_device_of_pages(rng),
    }
}

/// All that a later request can depend on.
fn state_of_pages(map: &PageMap) -> String {
    let cells = UnitMembers::of(0, 1, map.groups.cells);
    let places: Vec<_> = (0..map.logical_pages())
        .map(|lpn| map.places.get(Lpn(lpn)))
        .collect();
    let owners: Vec<_> = (0..map.pages())
        .map(|ppn| map.places.owner(ppn as u32))
        .collect();
    let lists = map.places.blocks.in_lists(cells);
    let frontiers = (0..map.groups.frontiers).map(|unit| {
        let at = &map.frontiers;
        let next = at.next_plane(unit, &map.places.blocks);
        (at.free(unit), at.slots(unit), at.open_free(unit), next)
    });
    let frontiers: Vec<_> = frontiers.collect();
    let chips: Vec<_> = (0..map.groups.chips)
        .map(|chip| {
            let chip = ChipId(chip);
            let room = map.chips_with_free_space(chip, 1);
            (
                room,
                map.chip_free_pages(chip),
                map.chip_frontier_free_pages(chip),
                map.chip_victim_valid_pages(chip),
            )
        })
        .collect();
    format!(
        "{places:?} {owners:?} {lists:?} {frontiers:?} {chips:?} {} {:?}",
        map.free_pages(),
        map.gc
    )
}

#[test]
fn a_fill_by_formula_is_a_fill_by_table_of_pages() {
    let (mut by_formula, mut collected) = (0, 0);
    for seed in 0..300 {
        let mut rng = SplitMix64::new(seed);
        let (config, keys) = random_device_of_pages(&mut rng);
        let share = Ratio::from_f64([0.3, 0.77, 1.0][rng.below(3) as usize]).unwrap();
        let (mut formula, mut table) = (PageMap::new(&config, seed), PageMap::new(&config, seed));
        let last = share.of(table.logical_pages());
        assert_eq!(formula.fill(share, &mut |_| {}), Ok(last));
        table.map_trace(&mut (0..last).map(Lpn)).unwrap();
        by_formula += u64::from(formula.memory_bytes() < table.memory_bytes());
        for turn in 0..4 {
            let (of_formula, of_table) = (state_of_pages(&formula), state_of_pages(&table));
            assert!(
                of_formula == of_table,
                "seed {seed} turn {turn}: {keys}\n{of_formula}\n{of_table}"
            );
            let [mut one, mut other] = [GcWork::default(), GcWork::default()];
            for _ in 0..100 << turn {
                let lpn = Lpn(rng.below(table.logical_pages()));
                if rng.below(4) == 0 {
                    assert_eq!(formula.trim(lpn), table.trim(lpn), "{keys}");
                    continue;
                }
                let placed = formula.host_write(lpn, None, &mut one);
                assert_eq!(placed, table.host_write(lpn, None, &mut other), "{keys}");
            }
            assert_eq!(format!("{one:?}"), format!("{other:?}"), "{keys}");
            collected += one.blocks.len();
        }
    }
    assert!(
        by_formula > 200,
        "{by_formula} devices were filled by formula"
    );
    assert!(collected > 1000, "{collected} blocks were collected");
}
