//! The real core against the slow models, step by step on random streams, invariants included.

use destage_conformance::reference::SlowCounts;
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::suites::{
    Case, is_full, on_all_processors, random, schemes, seed_of, selected,
};
use destage_scheme::Expr;
use destage_scheme::info::Role;
use std::cell::RefCell;

/// Runs the composition beside its slow model, if it has one, and gives what both counted.
fn compare(expr: &Expr, seed: u64, length: usize) -> Option<SlowCounts> {
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
    let seeds = if is_full() { 40 } else { 10 };
    for expr in schemes() {
        let compared = (0..seeds).filter_map(|seed| compare(&expr, seed, 400));
        let compared = compared.count() as u64;
        assert!(
            [0, seeds].contains(&compared),
            "{expr}: a model now and then"
        );
        if compared == 0 {
            println!("{expr}: experimental, no slow model");
        }
    }
}

#[test]
fn compositions_with_random_parameters_agree_with_their_models() {
    let (shapes, settings) = (selected(), if is_full() { 3 } else { 1 });
    let cases: Vec<_> = shapes
        .iter()
        .flat_map(|shape| {
            let mut rng = SplitMix64::new(seed_of(shape));
            (0..settings).map(move |_| (random(shape, &mut rng), shape, rng.next_u64()))
        })
        .collect();
    let counts = on_all_processors(&cases, |(expr, shape, seed)| {
        let counts = compare(expr, *seed, 200);
        let known = counts.is_none() && Case::random(shape, 0, 0).has_model();
        assert!(!known, "no model of {expr}");
        counts
    });
    let compared = cases.iter().zip(counts);
    let compared: Vec<_> = compared.filter_map(|(c, n)| Some((c, n?))).collect();
    println!("{} of {} runs beside a model", compared.len(), cases.len());
    let mapped = compared
        .iter()
        .filter(|(c, _)| c.0.scheme().role == Role::Mapping);
    let remaps: Vec<u64> = mapped.map(|(_, counts)| counts.remaps).collect();
    let (runs, all) = (remaps.len(), remaps.iter().sum::<u64>());
    assert!(
        runs == 0 || all > runs as u64,
        "{all} renames in {runs} runs"
    );
}
