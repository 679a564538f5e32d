//! The real core against the slow models, step by step on random streams, invariants included.

use destage_conformance::reference::Counts;
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::suites::{Case, random, schemes, selected};
use destage_scheme::Expr;
use destage_scheme::info::Role;
use std::cell::RefCell;

/// Runs the composition beside its slow model, if it has one, and gives what both counted.
fn compare(expr: &Expr, seed: u64, length: usize) -> Option<Counts> {
    let case = Case::random(expr, seed, length);
    if !case.has_model() {
        return None;
    }
    let counts = RefCell::default();
    case.must(|case| {
        counts.replace(case.compare()?);
        Ok(())
    });
    Some(counts.into_inner())
}

/// Every scheme, what wraps around LRU, with default parameters.
#[test]
fn every_scheme_agrees_with_its_model() {
    for expr in schemes() {
        let compared = (0..40).filter_map(|seed| compare(&expr, seed, 400)).count();
        assert!([0, 40].contains(&compared), "{expr}: a model now and then");
        if compared == 0 {
            println!("{expr}: experimental, no slow model");
        }
    }
}

#[test]
fn compositions_with_random_parameters_agree_with_their_models() {
    let mut rng = SplitMix64::new(11);
    let (mut compared, mut without, mut remaps, mut mapped) = (0, 0, 0, 0);
    for round in 0..3 {
        for (i, shape) in selected().iter().enumerate() {
            let expr = random(shape, &mut rng);
            mapped += u64::from(shape.scheme().role == Role::Mapping);
            match compare(&expr, 5000 + round * 997 + i as u64, 200) {
                Some(counts) => (compared, remaps) = (compared + 1, remaps + counts.remaps),
                None if Case::random(shape, 0, 0).has_model() => panic!("no model of {expr}"),
                None => without += 1,
            }
        }
    }
    println!("{compared} runs, {without} without a model, {remaps} renames");
    assert!(
        remaps > mapped * 5,
        "renames were exercised: {remaps} in {mapped} runs"
    );
}
