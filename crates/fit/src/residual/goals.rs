//! Figures that say how far a model is from its drive, over the cells up to the cliff.

use super::entries::{Compared, Entry};
use super::series::{at_cliff, cliff, falls_behind};
use crate::measurements::DriveCell;
use crate::simulate::SimulatedCell;
use destage_types::Op;

/// A value beside another is near if the factor between them is at most this.
pub const NEAR: f64 = 3.0;
/// A value beside a rise is near, too, if the rate at which it rises is within this share.
pub const NEAR_KNEE: f64 = 0.05;
/// The values that are counted for [`FitFigures::near`].
const COUNTED: [(Op, f64); 5] = [
    (Op::Write, 0.5),
    (Op::Write, 0.99),
    (Op::Write, 0.999),
    (Op::Read, 0.5),
    (Op::Read, 0.99),
];

/// How far a model is from its drive. A field is `None` where the measurements do not have it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FitFigures {
    /// Median over cells of |model / drive - 1| of the median write.
    pub write_p50_error: Option<f64>,
    /// Median factor of the 99th percentile of writes.
    pub write_p99: Option<f64>,
    /// Median factor of the 99.9th percentile of writes.
    pub write_p999: Option<f64>,
    /// Median factor of the median read.
    pub read_p50: Option<f64>,
    /// Median factor of the 99th percentile of reads.
    pub read_p99: Option<f64>,
    /// Of the medians and tails, so many are within a factor of 3; beside a rise it suffices that its rate is within 5 %.
    pub near: usize,
    /// All of those.
    pub counted: usize,
    /// Cliff of the model / cliff of the drive - 1.
    pub cliff_error: Option<f64>,
}

impl FitFigures {
    /// The figures of a comparison. Cells that the drive cannot follow count for the cliff alone.
    #[must_use]
    pub fn of(cells: &[DriveCell], models: &[SimulatedCell], entries: &[Entry]) -> FitFigures {
        let follows = |entry: &&Entry| !falls_behind(&cells[entry.cell]);
        let factors = |op: Op, share: f64| {
            let of = entries.iter().filter(follows);
            let of = of.filter(move |e| e.of == Compared::Quantile(op, share));
            median(of.map(Entry::factor).collect())
        };
        let errors = entries.iter().filter(follows);
        let errors = errors.filter(|e| e.of == Compared::Quantile(Op::Write, 0.5));
        let errors = errors.map(|e| libm::fabs(e.model / e.measured - 1.0));
        let (mut near, mut counted) = (0, 0);
        for entry in entries {
            let (value, rate_error) = match entry.of {
                Compared::Quantile(op, share) => ((op, share), f64::INFINITY),
                Compared::Edge {
                    op,
                    share,
                    rate_error,
                } => ((op, share), rate_error),
                Compared::Rate(_) | Compared::Knee(..) => continue,
            };
            if !COUNTED.contains(&value) || falls_behind(&cells[entry.cell]) {
                continue;
            }
            let is_near = entry.factor() <= NEAR || rate_error <= NEAR_KNEE;
            counted += 1;
            near += usize::from(is_near);
        }
        FitFigures {
            write_p50_error: median(errors.collect()),
            write_p99: factors(Op::Write, 0.99),
            write_p999: factors(Op::Write, 0.999),
            read_p50: factors(Op::Read, 0.5),
            read_p99: factors(Op::Read, 0.99),
            near,
            counted,
            cliff_error: cliff_error(cells, models),
        }
    }
}

fn cliff_error(cells: &[DriveCell], models: &[SimulatedCell]) -> Option<f64> {
    let drive = cliff(cells)?;
    let limit = at_cliff(cells).into_iter();
    let model = limit
        .map(|at| models[at].writes_per_s)
        .max_by(f64::total_cmp)?;
    Some(model / drive - 1.0)
}

/// The median, of two the mean.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    match n {
        0 => None,
        _ if n % 2 == 1 => Some(values[n / 2]),
        _ => Some((values[n / 2 - 1] + values[n / 2]) / 2.0),
    }
}
