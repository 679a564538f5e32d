//! Random operations on random compositions, as long as `DESTAGE_FUZZ_SECONDS` says (default 1):
//! every call is checked against the contract, every step against the slow model.

use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::suites::{Case, every_selected, operations, random};
use std::time::{Duration, Instant};

/// When a fuzz test ends.
fn end() -> Instant {
    let seconds = std::env::var("DESTAGE_FUZZ_SECONDS").ok();
    let seconds = seconds.map_or(1.0, |s| s.parse().expect("DESTAGE_FUZZ_SECONDS: seconds"));
    Instant::now() + Duration::from_secs_f64(seconds)
}

#[test]
fn scheme_operations_keep_the_contract() {
    let end = end();
    let shapes = every_selected();
    // The sequence is the same in every run; a longer run only goes further.
    let mut rng = SplitMix64::new(77);
    let mut cases = 0u64;
    while cases == 0 || Instant::now() < end {
        let shape = &shapes[(rng.next_u64() % shapes.len() as u64) as usize];
        let case = Case::random(&random(shape, &mut rng), 1_000_000 + cases, 150);
        if case.has_model() {
            case.must(Case::compare);
        }
        cases += 1;
    }
    println!("{cases} compositions");
}

/// The function that fuzzers call, on bytes without a guide.
#[test]
fn any_bytes_are_a_run() {
    let end = end();
    let mut rng = SplitMix64::new(78);
    let (mut runs, mut modelled) = (0u64, 0u64);
    assert!(operations(&[]), "no bytes are an empty run");
    while runs < 20 || Instant::now() < end {
        let length = rng.below(600) as usize;
        let data: Vec<u8> = (0..length).map(|_| rng.next_u64() as u8).collect();
        modelled += u64::from(operations(&data));
        runs += 1;
    }
    println!("{runs} runs, {modelled} of them beside a model");
    assert!(modelled * 2 > runs);
}
