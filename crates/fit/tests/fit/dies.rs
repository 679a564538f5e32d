//! Dies that reads need, beside drives whose dies are known.

use super::{is_full, load, model_with};
use destage_device::config::DeviceConfig;
use destage_fit::dies;
use destage_fit::measurements::{
    CellResult, DriveCell, LatencyTable, LoadArrivals, LoadPattern, MeasuredPlace, PlacePart,
    Quantile,
};
use destage_fit::simulate::CellSimulator;
use destage_types::rng::SplitMix64;

const SHARES: [f64; 7] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];

/// What `device` does with a loop of reads.
fn measured(device: &DeviceConfig, bytes: u64, depth: u32, pattern: LoadPattern) -> DriveCell {
    let mut load = load(1.0);
    load.streams.truncate(1);
    load.overwrites = 0.0;
    let stream = &mut load.streams[0];
    (stream.threads, stream.reads, stream.bytes, stream.depth) = (1, 1.0, bytes, depth);
    (stream.pattern, stream.arrivals, stream.measured) = (pattern, LoadArrivals::Closed, true);
    let mut cell = DriveCell {
        drive: "known".to_owned(),
        load,
        measured: CellResult::default(),
        place: MeasuredPlace {
            file: "known.csv".into(),
            part: PlacePart::Line(2),
        },
    };
    let simulator = CellSimulator::new(77).unwrap();
    let done = simulator.run(device, &cell, 12_000).unwrap();
    let quantile = |&share: &f64| done.read.at(share).map(|us| Quantile { share, us });
    cell.measured.reads_per_s = Some(done.reads_per_s);
    cell.measured.read = LatencyTable {
        mean_us: None,
        quantiles: SHARES.iter().filter_map(quantile).collect(),
    };
    cell
}

/// Loops of reads tell the dies of any drive, if most of the dies are busy, and never more than it has.
#[test]
fn deep_loops_of_reads_tell_how_many_dies_there_are() {
    let mut rng = SplitMix64::new(0xD1E5);
    let cases = if is_full() { 60 } else { 3 };
    for case in 0..cases {
        let (channels, chips) = (1 + rng.below(4), 1 + rng.below(6));
        let known = (channels * chips) as f64;
        let us = 30 + rng.below(70);
        let sets = [
            format!("channels={channels}"),
            format!("chips_per_channel={chips}"),
            format!(
                "t_read=[\"{us}us\",\"{}us\",\"{}us\"]",
                us + rng.below(9),
                us + rng.below(40)
            ),
            "host_link=unlimited".to_owned(),
            "command_cores=16".to_owned(),
            format!("t_command={}us", 1 + rng.below(15)),
        ];
        let device = model_with(sets.to_vec()).start().unwrap();
        let deep = (3 + rng.below(10)) as u32 * (channels * chips) as u32;
        let loops = [
            measured(&device, 4096, 1, LoadPattern::Random),
            measured(&device, 4096, deep.max(16), LoadPattern::Random),
        ];
        let found = dies(&loops, &device) / known;
        assert!(
            (0.8..1.11).contains(&found),
            "case {case}: {found} of {known} dies, {sets:?}"
        );
        // A loop in which reads do not wait tells nothing.
        assert_eq!(dies(&loops[..1], &device), 0.0, "case {case}");
        let in_order = measured(&device, 131_072, 64, LoadPattern::Sequential);
        let found = dies(&[loops[0].clone(), in_order], &device) / known;
        assert!(
            found < 1.11,
            "case {case}: {found} of {known} dies in order, {sets:?}"
        );
    }
}
