//! Random operations on random compositions, as long as `DESTAGE_FUZZ_SECONDS` says (default 1):
//! every call is checked against the contract, every step against the slow model.

use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::suites::{Case, compositions, random};
use std::time::{Duration, Instant};

#[test]
fn scheme_operations_keep_the_contract() {
    let seconds = std::env::var("DESTAGE_FUZZ_SECONDS")
        .ok()
        .and_then(|s| s.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(1));
    let shapes = compositions();
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
