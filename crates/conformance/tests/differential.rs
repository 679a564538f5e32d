//! The real core against the slow models, step by step on random streams.

use destage_conformance::drive::is_built;
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::suites::{Case, compositions, random};
use destage_scheme::Expr;
use destage_scheme::registry::SCHEMES;

fn compare(expr: &Expr, seed: u64, length: usize) -> bool {
    let case = Case::random(expr, seed, length);
    if !case.has_model() {
        return false;
    }
    case.must(Case::compare);
    true
}

/// Every scheme, wrappers around LRU, with default parameters.
#[test]
fn every_scheme_agrees_with_its_model() {
    let mut without = Vec::new();
    for info in SCHEMES {
        let expr = Expr::parse(info.name).expect("a scheme's name is an expression");
        assert_eq!(
            info.proof.model,
            expr.unavailable().is_none(),
            "{}: its claim",
            info.name
        );
        if !expr.unavailable().is_none() {
            continue;
        }
        for seed in 0..40 {
            if !compare(&expr, seed, 400) {
                without.push(info.name);
                break;
            }
        }
    }
    assert!(without.is_empty(), "no slow model of {without:?}");
}

#[test]
fn compositions_with_random_parameters_agree_with_their_models() {
    let mut rng = SplitMix64::new(11);
    let shapes = compositions();
    let mut compared = 0;
    for round in 0..3 {
        for (i, shape) in shapes.iter().enumerate() {
            let expr = random(shape, &mut rng);
            compared += usize::from(compare(&expr, 5000 + round * 997 + i as u64, 200));
        }
    }
    println!("{} shapes, {compared} runs", shapes.len());
    assert!(compared >= shapes.len(), "only {compared} runs");
}
