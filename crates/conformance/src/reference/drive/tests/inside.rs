//! Laws on random drives with handles or a mapping table on flash.

use super::*;
use crate::reference::rng::SplitMix64;

fn check(seed: u64) -> DriveOutcome {
    let mut rng = SplitMix64::new(seed);
    let mut config = random_inside_drive(&mut rng);
    config.flush_at_end = rng.chance(50);
    let mut model = DriveModel::new(config.clone()).expect("legal keys");
    let exported = model.exported() as u64;
    let device = config.device().expect("legal keys");
    assert_eq!(exported, device.logical_pages(), "seed {seed}");
    let pages = model.ftl.geometry.translation_pages() as u64;
    assert_eq!(pages, device.translation_pages(), "seed {seed}");
    let filled = if rng.chance(50) { exported as usize } else { 0 };
    let overwrites: Vec<usize> = (0..exported * rng.below(2))
        .map(|_| rng.below(exported) as usize)
        .collect();
    let requests = random_load(&mut rng, &config, exported, 400);
    let written = model.precondition(0..filled, &overwrites);
    written.unwrap_or_else(|e| panic!("seed {seed}: {e}: {config:#?}"));
    let outcome = model.run(&requests);
    let outcome = outcome.unwrap_or_else(|e| panic!("seed {seed}: {e}: {config:#?}"));
    super::laws::hold(&config, &outcome, seed);
    let map = &outcome.map;
    assert_eq!(outcome.map_places, map.evict_places + map.gc_places);
    let rows = outcome.handles.iter();
    let (host, moved) = rows.fold((0, 0), |sum, row| (sum.0 + row.host, sum.1 + row.moved));
    assert_eq!(host, outcome.host_units, "seed {seed}");
    let all_moved = outcome.moved + outcome.folded;
    assert_eq!(moved, all_moved, "seed {seed}");
    outcome
}

#[test]
fn random_drives_keep_the_laws_and_never_stop() {
    let mut runs = [0; 6];
    for seed in 0..60 {
        let o = check(seed);
        let happened = [
            o.handles.len() > 2 && o.handles[1].host > 0,
            o.map.evict_places > 0,
            o.map.gc_places > 0,
            o.map.moved > 0,
            o.map.hmb_hits > 0,
            o.folded > 0 && o.map.loads > 0,
        ];
        for (sum, happened) in runs.iter_mut().zip(happened) {
            *sum += u64::from(happened);
        }
    }
    assert!(runs.iter().all(|&runs| runs > 2), "{runs:?}");
}

#[test]
#[ignore = "minutes: cargo test --release -p destage-conformance --lib drive -- --ignored many"]
fn many_random_drives_keep_the_laws() {
    for seed in 1_000..3_000 {
        check(seed);
    }
}
