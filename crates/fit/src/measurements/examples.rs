//! Cells for tests of this crate.

use super::*;

/// Random writes of 4 KiB from one stream of depth 64 on a full drive that was overwritten three times. The drive did
/// `rate` of them a second, with these `(share, us)` of their latencies.
pub(crate) fn random_writes(
    arrivals: LoadArrivals,
    rate: f64,
    quantiles: &[(f64, f64)],
) -> DriveCell {
    let quantiles = quantiles.iter().map(|&(share, us)| Quantile { share, us });
    DriveCell {
        drive: "d".to_owned(),
        load: CellLoad {
            streams: vec![LoadStream {
                threads: 1,
                reads: 0.0,
                bytes: 4096,
                pattern: LoadPattern::Random,
                arrivals,
                depth: 64,
                measured: true,
            }],
            fill: 1.0,
            overwrites: 3.0,
            seconds: None,
        },
        measured: CellResult {
            writes_per_s: Some(rate),
            write: LatencyTable {
                mean_us: None,
                quantiles: quantiles.collect(),
            },
            ..CellResult::default()
        },
        place: MeasuredPlace {
            file: "d.csv".into(),
            part: PlacePart::Line(2),
        },
    }
}
