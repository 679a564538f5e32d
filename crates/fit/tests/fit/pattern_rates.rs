//! A pattern of writes on a simulated drive beside `destage waf`.

use destage_device::config::{EffectiveDevice, GcPolicy, GcStreams};
use destage_fit::measurements::{MeasuredPlace, PARTS, PatternRun, PlacePart};
use destage_fit::simulate::CellSimulator;
use destage_sim::waf::{WafPattern, WafSpec, WafZone, WritePattern};
use destage_types::rng::SplitMix64;
use std::sync::atomic::AtomicU64;

/// Where nothing else limits a simulated drive, the rates of its tenths are those of its prices and of the write amplification
/// that `destage waf` gives for the same pattern.
#[test]
fn a_simulated_drive_has_the_rates_of_its_prices() {
    let mut rng = SplitMix64::new(0xD17);
    let zone = |space, writes| WafZone { space, writes };
    let mut from = |low: f64, high: f64| low + (high - low) * rng.below(1001) as f64 / 1000.0;
    let cases = if super::is_full() { 12 } else { 3 };
    for case in 0..cases {
        let (op, host, moved) = (from(0.1, 0.2), from(4000.0, 9000.0), from(4000.0, 9000.0));
        let pattern = match case % 3 {
            0 => WafPattern::Uniform,
            1 => WafPattern::Zipf(from(0.2, 0.9)),
            _ => WafPattern::Zones(vec![zone(0.6, 0.0), zone(0.4, 1.0)]),
        };
        let run = PatternRun {
            drive: "known".to_owned(),
            name: "pattern".to_owned(),
            pattern,
            span: 100 << 30,
            rates: [1.0; PARTS],
            volume: 2.0,
            drop_after: None,
            fresh: None,
            place: MeasuredPlace {
                file: "known.csv".into(),
                part: PlacePart::Line(2),
            },
        };
        let sets = [
            "channels=2".to_owned(),
            "chips_per_channel=2".to_owned(),
            "blocks_per_plane=400".to_owned(),
            "pages_per_block=12".to_owned(),
            "t_program=40us".to_owned(),
            "t_erase=40us".to_owned(),
            format!("op={op:.3}"),
            format!("write_pace={{ host = \"{host:.0}ns\", moved = \"{moved:.0}ns\" }}"),
        ];
        let device = EffectiveDevice::from_preset("enterprise-tlc-1t", &sets).unwrap();
        let simulator = CellSimulator::new(5).unwrap();
        let rates = simulator
            .pattern_rates(device.config(), &run, 1.0, 2.0)
            .unwrap();
        let spec = WafSpec {
            pattern: WritePattern {
                at: run.pattern.clone(),
                zipf_pages: Some(run.span / 4096),
                sequential: 0.0,
            },
            blocks: 1600,
            pages_per_block: 96,
            fill: 1.0 - op,
            streams: GcStreams::Own,
            policy: GcPolicy::Greedy,
            choices: 8,
            buffer: 0,
            warmup: 0,
            overwrites: 2,
            seed: 3,
        };
        let point = spec.run(&AtomicU64::new(0)).unwrap();
        for (tenth, (rate, w)) in rates.iter().zip(point.tenths).enumerate() {
            let expected = 1e9 / (host + moved * (w - 1.0).max(0.0));
            let off = rate / expected - 1.0;
            // Collection begins in the first tenth, and the marks of a device hold some of its spare space back.
            let most = if tenth == 0 { 0.25 } else { 0.12 };
            assert!(
                off.abs() < most,
                "case {case}, tenth {tenth}: {off:+.3}, {run:?}, {sets:?}"
            );
        }
    }
}
