//! The real core against the slow models, step by step on random streams.

use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::suites::{Case, random, schemes, selected};
use destage_scheme::Expr;

/// Runs the composition beside its slow model, if it has one.
fn compare(expr: &Expr, seed: u64, length: usize) -> bool {
    let case = Case::random(expr, seed, length);
    if !case.has_model() {
        return false;
    }
    case.must(Case::compare);
    true
}

/// Every scheme, what wraps around LRU, with default parameters.
#[test]
fn every_scheme_agrees_with_its_model() {
    for expr in schemes() {
        let compared = (0..40).filter(|&seed| compare(&expr, seed, 400)).count();
        assert!([0, 40].contains(&compared), "{expr}: a model now and then");
        if compared == 0 {
            println!("{expr}: experimental, no slow model");
        }
    }
}

#[test]
fn compositions_with_random_parameters_agree_with_their_models() {
    let mut rng = SplitMix64::new(11);
    let (mut compared, mut without) = (0, 0);
    for round in 0..3 {
        for (i, shape) in selected().iter().enumerate() {
            let expr = random(shape, &mut rng);
            match compare(&expr, 5000 + round * 997 + i as u64, 200) {
                true => compared += 1,
                false if Case::random(shape, 0, 0).has_model() => panic!("no model of {expr}"),
                false => without += 1,
            }
        }
    }
    println!("{compared} runs, {without} without a model");
}
