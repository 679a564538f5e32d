//! A drive that was filled in order beside one whose mapping units were written one by one: the same to the last list.

use crate::config::{DeviceConfig, Overwrite, Ratio};
use crate::map::drawn::{common_keys, device, pick};
use crate::map::{FlashMap, Preconditioning, UnitMap};
use destage_types::Lpn;
use destage_types::rng::SplitMix64;

fn random_drive(rng: &mut SplitMix64) -> (DeviceConfig, String) {
    let all = rng.below(2) == 0;
    let unit = match rng.below(3) {
        0 => "drive",
        1 if !all => "plane",
        _ => "die",
    };
    let frontier = match (unit, all) {
        ("drive", true) | ("die", _) => "die",
        _ => "plane",
    };
    let low = 1 + rng.below(2);
    let word_line = 1 + rng.below(3);
    let keys = [
        common_keys(rng),
        format!("blocks_per_plane={} op=0.4", 24 + rng.below(20)),
        format!(
            "program_pages={word_line} pages_per_block={}",
            word_line * (2 + rng.below(4))
        ),
        format!(
            "page_bytes=16384 mapping_bytes={}",
            pick(rng, &["4096", "8192", "16384"])
        ),
        format!("program_planes={}", if all { "all" } else { "one" }),
        format!("frontier={frontier} gc_unit={unit} queue_per=die gc_mode=paced"),
        format!("gc_low={low} gc_high={}", low + 1 + rng.below(3)),
        format!("gc_streams={}", pick(rng, &["own", "shared"])),
        format!("wear_levelling={}", pick(rng, &["off", "dynamic"])),
        format!(
            "allocation={}",
            if unit == "drive" {
                "dynamic"
            } else {
                pick(rng, &["static", "dynamic"])
            }
        ),
    ]
    .join(" ");
    let device = device(&keys).unwrap_or_else(|e| panic!("{e}: {keys}"));
    (device, keys)
}

/// All that a later request can depend on.
fn state(map: &UnitMap) -> (Vec<Option<u32>>, String) {
    let places = (0..map.logical_pages()).map(|lpn| map.places.get(Lpn(lpn)));
    let all = map.shape().all_places();
    let pages = (0..all).map(|place| Some(map.put_at(place).0 as u32));
    let ended = (0..all).map(|place| map.is_programmed(place));
    let ended: Vec<bool> = ended.collect();
    let more = format!(
        "{} {:?} {ended:?}",
        map.places().mapped(),
        map.places.blocks
    );
    (places.chain(pages).collect(), more)
}

#[test]
fn a_fill_by_formula_is_a_fill_by_table() {
    let mut by_formula = 0;
    for seed in 0..300 {
        let mut rng = SplitMix64::new(seed);
        let (config, keys) = random_drive(&mut rng);
        let share = Ratio::from_f64([0.3, 0.77, 1.0][rng.below(3) as usize]).unwrap();
        let (mut formula, mut table) = (UnitMap::new(&config, seed), UnitMap::new(&config, seed));
        let last = share.of(table.logical_pages());
        formula.fill(share, &mut |_| {}).unwrap();
        table.map_trace(&mut (0..last).map(Lpn)).unwrap();
        by_formula += u64::from(formula.memory_bytes() < table.memory_bytes());
        let same = |formula: &UnitMap, table: &UnitMap, when: &str| {
            assert!(state(formula) == state(table), "seed {seed} {when}: {keys}");
        };
        same(&formula, &table, "filled");
        if rng.below(2) == 0 {
            formula.freeze();
            let mut copy = formula.clone();
            copy.trim(Lpn(0));
            same(&formula, &table, "copied");
        }
        for turn in 0..4 {
            let amount = Overwrite::Times(Ratio::from_f64(0.1 * (1 << turn) as f64).unwrap());
            let mut trims: Vec<u64> = (0..40).map(|_| rng.below(table.logical_pages())).collect();
            let first = rng.below(table.logical_pages());
            trims.extend(first..first + rng.below(table.logical_pages() - first));
            for map in [&mut formula, &mut table] {
                trims.iter().for_each(|&lpn| map.trim(Lpn(lpn)));
                map.overwrite(share, amount, seed + turn, &mut |_| {})
                    .unwrap();
            }
            same(&formula, &table, "overwritten");
        }
        formula.thaw();
        same(&formula, &table, "thawed");
    }
    assert!(
        by_formula > 200,
        "{by_formula} drives were filled by formula"
    );
}

#[test]
fn a_trim_of_a_whole_filled_drive_takes_no_memory() {
    for seed in 0..40 {
        let (config, keys) = random_drive(&mut SplitMix64::new(seed));
        let mut map = UnitMap::new(&config, seed);
        map.fill(Ratio::ONE, &mut |_| {}).unwrap();
        let before = map.memory_bytes();
        (0..map.logical_pages()).for_each(|lpn| map.trim(Lpn(lpn)));
        assert_eq!(map.places().mapped(), 0, "{keys}");
        assert!(map.memory_bytes() <= before + 128, "{keys}");
    }
}
