//! Law of `destage waf`: a figure that is called steady stands another warm-up of the same length.

use destage_conformance::suites::is_full;
use destage_device::config::{GcPolicy, GcStreams};
use destage_sim::waf::{WafPattern, WafPoint, WafSpec, WafZone, WritePattern};
use destage_types::rng::SplitMix64;
use std::sync::atomic::AtomicU64;

fn run(spec: &WafSpec) -> WafPoint {
    spec.run(&AtomicU64::new(0)).unwrap()
}

fn one_of<T: Copy>(rng: &mut SplitMix64, all: &[T]) -> T {
    all[rng.below(all.len() as u64) as usize]
}

fn pattern(rng: &mut SplitMix64) -> WafPattern {
    match rng.below(4) {
        0 => WafPattern::Uniform,
        1 => {
            let space = one_of(rng, &[0.01, 0.05, 0.2, 0.5]);
            let writes = one_of(rng, &[0.5, 0.8, 0.95, 1.0]);
            let zone = |space, writes| WafZone { space, writes };
            WafPattern::Zones(vec![zone(space, writes), zone(1.0 - space, 1.0 - writes)])
        }
        _ => WafPattern::Zipf(0.1 * rng.below(21) as f64),
    }
}

/// A point of any load, size and rule.
fn draw(rng: &mut SplitMix64) -> WafSpec {
    let streams = one_of(
        rng,
        &[
            GcStreams::Shared,
            GcStreams::Own,
            GcStreams::InPlace,
            GcStreams::TwoRegion,
        ],
    );
    let policies = [
        GcPolicy::Greedy,
        GcPolicy::CostBenefit,
        GcPolicy::DChoices,
        GcPolicy::Random,
    ];
    let (blocks, pages_per_block) = (one_of(rng, &[64, 256, 1024]), one_of(rng, &[8, 32, 64]));
    let fill = 0.2 + 0.01 * rng.below(70) as f64;
    let logical = (fill * f64::from(blocks * pages_per_block)) as u32;
    WafSpec {
        pattern: WritePattern {
            at: pattern(rng),
            sequential: one_of(rng, &[0.0, 0.0, 0.1, 1.0]),
            zipf_pages: None,
        },
        blocks,
        pages_per_block,
        fill,
        streams,
        policy: match streams {
            GcStreams::TwoRegion => GcPolicy::Greedy,
            _ => one_of(rng, &policies),
        },
        choices: 5,
        buffer: one_of(
            rng,
            &[0, logical / 500, logical / 50, logical / 5, logical / 2],
        ),
        warmup: one_of(rng, &[0, 1, 1, 2, 5]),
        overwrites: one_of(rng, &[2, 5, 10, 10, 20]),
        seed: rng.next_u64(),
    }
}

#[test]
fn a_steady_figure_stands_another_warm_up() {
    let (mut rng, mut steady, mut checked) = (SplitMix64::new(1), 0, 0);
    let mut broken = Vec::new();
    for case in 0..if is_full() { 600 } else { 60 } {
        let spec = draw(&mut rng);
        if spec.check().is_err() {
            continue;
        }
        checked += 1;
        let point = run(&spec);
        if !point.is_steady() {
            continue;
        }
        steady += 1;
        let twice = WafSpec {
            warmup: 2 * spec.warmup,
            ..spec.clone()
        };
        let (once, twice) = (
            point.write_amplification(),
            run(&twice).write_amplification(),
        );
        let change = (twice / once - 1.0).abs();
        if change > 0.02 {
            broken.push(format!(
                "case {case}: {once} becomes {twice}, drift {}: {spec:?}",
                point.drift()
            ));
        }
    }
    println!("{steady} of {checked} points are steady");
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(
        4 * steady > checked,
        "too few points are steady: {steady} of {checked}"
    );
}

/// The point of the report: exponent 1.2, fill 0.7, a buffer of 125 pages.
#[test]
fn a_figure_that_rises_is_not_called_steady() {
    let zipf = WafSpec {
        pattern: WritePattern {
            at: WafPattern::Zipf(1.2),
            sequential: 0.0,
            zipf_pages: None,
        },
        blocks: 256,
        pages_per_block: 128,
        fill: 0.7,
        streams: GcStreams::Shared,
        policy: GcPolicy::Greedy,
        choices: 10,
        buffer: 125,
        warmup: 1,
        overwrites: 10,
        seed: 1,
    };
    let point = run(&zipf);
    println!(
        "{} {:?} {}",
        point.write_amplification(),
        point.halves,
        point.drift()
    );
    assert!(!point.is_steady() && point.is_warm());
}
