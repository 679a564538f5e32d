//! Random small drives under random loads.

use super::*;
use crate::reference::rng::SplitMix64;
use crate::suites::is_full;

/// All runs of a seed; the configuration stands in the message of a failure.
fn check(seed: u64) {
    let mut rng = SplitMix64::new(seed);
    let mut config = random_drive(&mut rng);
    config.flush_at_end = rng.chance(50);
    let mut model = DriveModel::new(config.clone()).expect("legal keys");
    let exported = model.exported() as u64;
    let filled = if rng.chance(60) { exported as usize } else { 0 };
    let overwrites: Vec<usize> = (0..exported * rng.below(3))
        .map(|_| rng.below(exported) as usize)
        .collect();
    let requests = random_load(&mut rng, &config, exported, 600);
    let mut again = DriveModel::new(config.clone()).expect("legal keys");
    for model in [&mut model, &mut again] {
        let written = model.precondition(0..filled, &overwrites);
        written.unwrap_or_else(|e| panic!("seed {seed}: {e}: {config:#?}"));
    }
    let outcome = model.run(&requests);
    let outcome = outcome.unwrap_or_else(|e| panic!("seed {seed}: {e}: {config:#?}"));
    assert_eq!(again.run(&requests).as_ref(), Ok(&outcome), "seed {seed}");
    super::laws::hold(&config, &outcome, seed);
}

#[test]
fn random_drives_keep_the_laws_and_never_stop() {
    let seeds = if is_full() { 400 } else { 60 };
    for seed in 0..seeds {
        check(seed);
    }
}

#[test]
#[ignore = "minutes: cargo test --release -p destage-conformance --lib drive -- --ignored many"]
fn many_random_drives_keep_the_laws() {
    for seed in 1_000..4_000 {
        check(seed);
    }
}
