//! Runs the checks that hold for every scheme. `DESTAGE_SCHEME=NAME` runs them on what contains that scheme
//! alone.

use destage_conformance::building::ways;
use destage_conformance::drive::TestDevice;
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::suites::contract::{CHECKS, on_shapes, shapes};
use destage_conformance::suites::{Case, every_selected, is_full, is_selected, random};
use destage_scheme::Expr;
use destage_scheme::registry::{SCHEMES, STATIC};
use destage_types::Nanos;

macro_rules! suite {
    ($($check:ident)*) => {
        mod every_scheme {
            $(
                #[test]
                fn $check() {
                    super::check(stringify!($check));
                }
            )*
        }

        #[test]
        fn every_check_is_a_test() {
            let checks: Vec<&str> = CHECKS.iter().map(|check| check.0).collect();
            assert_eq!(checks, [$(stringify!($check)),*]);
        }
    };
}

suite! {
    random_streams_keep_the_contract
    every_size_of_cache_works
    short_traces_work
    a_trim_of_everything_empties_the_cache
    a_flush_leaves_no_dirty_page
    runs_are_equal_however_a_scheme_is_built
    metadata_fits_beside_the_pages
    the_next_victim_may_leave_unasked
    slots_used_before_are_as_new
    trimmed_pages_are_new
    renamed_pages_are_the_same
}

fn check(name: &str) {
    let check = CHECKS.iter().find(|check| check.0 == name);
    let (_, check) = check.expect("a check of this name");
    on_shapes(&shapes(), *check);
}

#[test]
fn every_scheme_of_the_registry_is_in_the_suite() {
    let shapes = shapes();
    let named = |name: &str| Expr::parse(name).expect("a name is an expression");
    let names = SCHEMES.iter().map(|info| info.name);
    for name in names.chain(STATIC.iter().copied()) {
        let expr = named(name);
        let tested = shapes
            .iter()
            .any(|shape| shape.expr.shape() == expr.shape());
        assert!(tested || !is_selected(&expr), "the suite lacks {name}");
    }
    println!("{} shapes", shapes.len());
}

#[test]
fn every_legal_composition_keeps_the_contract() {
    let mut rng = SplitMix64::new(23);
    let shapes = every_selected();
    for (i, shape) in shapes.iter().enumerate() {
        let expr = random(shape, &mut rng);
        let mut case = Case::random(&expr, 40_000 + i as u64, 200);
        for &boxed in ways(&expr) {
            case.config.boxed = boxed;
            case.must(|case| {
                case.run();
                Ok(())
            });
        }
    }
    println!("{} compositions", shapes.len());
}

/// On a device with time: completions, waits, and background work where a layer does some.
#[test]
fn every_legal_composition_runs_on_a_device() {
    let mut rng = SplitMix64::new(29);
    for (i, shape) in every_selected().iter().enumerate() {
        let rounds = match shape.has_background() && is_full() {
            true => 3,
            false => 1,
        };
        for round in 0..rounds {
            let expr = random(shape, &mut rng);
            let seed = 50_000 + 7 * i as u64 + round;
            let case = Case::random(&expr, seed, 200);
            let device = TestDevice {
                read: Nanos(rng.below(100_000)),
                program: Nanos(1 + rng.below(1_000_000)),
                dram: Nanos(rng.below(2000)),
            };
            case.must(|case| {
                case.run_timed(device);
                Ok(())
            });
        }
    }
}
