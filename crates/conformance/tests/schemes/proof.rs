//! The proofs that `destage schemes` shows for a scheme are those that run here.

use destage_conformance::figures::states;
use destage_conformance::proof::proven;

#[test]
fn the_recorded_states_are_those_of_the_schemes() {
    let recorded = include_str!("../../../docgen/src/site/states.txt");
    assert_eq!(states(), recorded, "run `cargo xtask docs`");
}

#[test]
fn the_recorded_proofs_are_those_that_run() {
    let recorded = include_str!("../../../scheme/src/proven.txt");
    assert_eq!(
        proven(),
        recorded,
        "run `cargo xtask docs`, with DESTAGE_SPEC and DESTAGE_GOLDEN set if you have them"
    );
}
