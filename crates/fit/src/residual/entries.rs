//! The differences between a model and a drive, one by one.

use super::knees::{KNEE_RISE, RateCurve};
use super::series::{at_cliff, falls_behind, offered_writes, series};
use crate::measurements::{DriveCell, LatencyTable};
use crate::simulate::{ServiceTimes, SimulatedCell};
use destage_types::Op;

/// Weight of a quantile, and the factor from which on a difference grows linearly.
struct QuantileRule {
    share: f64,
    weight: [f64; 2],
    scale: [f64; 2],
}

const fn rule(share: f64, weight: [f64; 2], scale: [f64; 2]) -> QuantileRule {
    QuantileRule {
        share,
        weight,
        scale,
    }
}

/// Weights of the quantiles: reads, then writes. The median and the 99th percentile decide how a
/// drive feels. The 99.9th of reads rests on few requests.
const QUANTILES: [QuantileRule; 9] = [
    rule(0.10, [0.5, 0.5], [0.15, 0.15]),
    rule(0.25, [0.5, 0.5], [0.15, 0.15]),
    rule(0.50, [2.0, 2.0], [0.15, 0.08]),
    rule(0.75, [0.7, 0.7], [0.25, 0.25]),
    rule(0.90, [0.7, 1.0], [0.25, 0.40]),
    rule(0.95, [0.7, 1.0], [0.30, 0.50]),
    rule(0.99, [2.0, 2.0], [0.35, 0.60]),
    rule(0.995, [0.5, 0.7], [0.40, 0.60]),
    rule(0.999, [0.5, 1.5], [0.50, 0.70]),
];
/// Rate of a cell that shows the cliff.
const CLIFF: (f64, f64) = (24.0, 0.03);
/// Rate of a load in a closed loop.
const CLOSED_RATE: (f64, f64) = (3.0, 0.05);
/// Rate at which a percentile rises.
const KNEE: (f64, f64) = (2.0, 0.10);
/// Times of a drive that cannot follow are those of a queue, and count less.
const BEHIND: f64 = 0.4;

/// The quantity of an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compared {
    /// Requests a second.
    Rate(Op),
    /// A quantile of service times, in us.
    Quantile(Op, f64),
    /// The rate of writes at which a quantile rises by more than three times.
    Knee(Op, f64),
    /// A quantile in us beside such a rise, which has no weight of its own.
    Edge {
        /// Reads or writes.
        op: Op,
        /// The quantile.
        share: f64,
        /// Relative difference of the rate at which it rises; of two rises the larger one.
        rate_error: f64,
    },
}

/// One value of the drive beside that of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Position of the cell; of a knee, of the cell behind the rise.
    pub cell: usize,
    /// The quantity.
    pub of: Compared,
    /// The drive.
    pub measured: f64,
    /// The model.
    pub model: f64,
    /// The weight of the difference.
    pub weight: f64,
    /// Logarithm of the factor from which on the difference grows linearly.
    pub scale: f64,
}

impl Entry {
    /// Logarithm of model / drive.
    #[must_use]
    pub fn log_ratio(&self) -> f64 {
        libm::log(self.model.max(1e-9) / self.measured)
    }

    /// The number of the quantity among all cells.
    #[must_use]
    pub fn number(&self) -> u32 {
        let (kind, op, share) = match self.of {
            Compared::Rate(op) => (0, op, 0.0),
            Compared::Quantile(op, share) => (1, op, share),
            Compared::Knee(op, share) => (2, op, share),
            Compared::Edge { op, share, .. } => (3, op, share),
        };
        let of_share = libm::round(share * 1e4) as u32 * 8;
        self.cell as u32 * 100_000 + of_share + 2 * kind + u32::from(op == Op::Write)
    }

    /// The weighted difference: quadratic near zero, linear far away, so that a value that the model cannot reach
    /// does not decide over the others.
    #[must_use]
    pub fn loss(&self) -> f64 {
        let x = self.log_ratio() / self.scale;
        self.weight * (libm::sqrt(1.0 + x * x) - 1.0)
    }

    /// The factor between model and drive, at least 1.
    #[must_use]
    pub fn factor(&self) -> f64 {
        libm::exp(libm::fabs(self.log_ratio()))
    }
}

/// All differences of simulated cells. `cells` and `models` belong together.
#[must_use]
pub fn entries(cells: &[DriveCell], models: &[SimulatedCell]) -> Vec<Entry> {
    let (mut all, limit) = (Vec::new(), at_cliff(cells));
    for row in series(cells) {
        for &at in &row {
            rates(cells, models, at, limit.contains(&at), &mut all);
        }
        for op in [Op::Read, Op::Write] {
            for rule in &QUANTILES {
                quantiles(cells, models, &row, op, rule, &mut all);
            }
        }
    }
    all
}

fn rates(
    cells: &[DriveCell],
    models: &[SimulatedCell],
    at: usize,
    is_limit: bool,
    out: &mut Vec<Entry>,
) {
    let (cell, model) = (&cells[at], &models[at]);
    let (weight, scale) = match offered_writes(cell) {
        _ if is_limit => CLIFF,
        None => CLOSED_RATE,
        // A drive that follows does what it is asked for. A model that does not shows that in its times.
        Some(_) => return,
    };
    let sides = [
        (Op::Write, cell.measured.writes_per_s, model.writes_per_s),
        (Op::Read, cell.measured.reads_per_s, model.reads_per_s),
    ];
    for (op, measured, model) in sides {
        let measured = measured.filter(|&rate| rate > 0.0);
        // The cliff is one of writes: reads are behind it or not, as the times of reads show.
        if let Some(measured) = measured.filter(|_| op == Op::Write || weight == CLOSED_RATE.0) {
            out.push(Entry {
                cell: at,
                of: Compared::Rate(op),
                measured,
                model,
                weight,
                scale,
            });
        }
    }
}

fn tables(cell: &DriveCell, op: Op) -> &LatencyTable {
    match op {
        Op::Read => &cell.measured.read,
        _ => &cell.measured.write,
    }
}

fn times(cell: &SimulatedCell, op: Op) -> &ServiceTimes {
    match op {
        Op::Read => &cell.read,
        _ => &cell.write,
    }
}

fn quantiles(
    cells: &[DriveCell],
    models: &[SimulatedCell],
    row: &[usize],
    op: Op,
    rule: &QuantileRule,
    out: &mut Vec<Entry>,
) {
    let side = usize::from(op == Op::Write);
    let known = |&at: &usize| {
        let measured = tables(&cells[at], op)
            .at(rule.share)
            .filter(|&us| us > 0.0)?;
        Some((at, measured, times(&models[at], op).at(rule.share)?))
    };
    let known: Vec<(usize, f64, f64)> = row.iter().filter_map(known).collect();
    // The error of the rate, for the cells beside a rise.
    let mut rises: Vec<Option<f64>> = vec![None; known.len()];
    let rate = |at: usize| offered_or_done(&cells[at]);
    let drive = RateCurve::new(known.iter().map(|k| (rate(k.0), k.1)));
    let model = RateCurve::new(known.iter().map(|k| (rate(k.0), k.2)));
    for i in 1..known.len() {
        let (before, behind) = (known[i - 1].1, known[i].1);
        if behind <= KNEE_RISE * before {
            continue;
        }
        let level = libm::sqrt(before * behind);
        if let Some((measured, model)) = drive.reaches(level).zip(model.reaches_or_ends(level)) {
            let error = libm::fabs(model / measured - 1.0);
            for rise in &mut rises[i - 1..=i] {
                *rise = Some(rise.map_or(error, |other| other.max(error)));
            }
            out.push(Entry {
                cell: known[i].0,
                of: Compared::Knee(op, rule.share),
                measured,
                model,
                weight: KNEE.0 * rule.weight[side],
                scale: KNEE.1,
            });
        }
    }
    for (&(at, measured, model), rise) in known.iter().zip(rises) {
        let behind = if falls_behind(&cells[at]) {
            BEHIND
        } else {
            1.0
        };
        let share = rule.share;
        let (of, weight) = match rise {
            None => (Compared::Quantile(op, share), rule.weight[side] * behind),
            Some(rate_error) => {
                let edge = Compared::Edge {
                    op,
                    share,
                    rate_error,
                };
                (edge, 0.0)
            }
        };
        out.push(Entry {
            cell: at,
            of,
            measured,
            model,
            weight,
            scale: rule.scale[side],
        });
    }
}

/// The rate of writes that a cell stands at: what the drive did, which is less than it was asked for beyond the cliff.
fn offered_or_done(cell: &DriveCell) -> f64 {
    let done = cell.measured.writes_per_s;
    match (offered_writes(cell), done) {
        (Some(offered), Some(done)) => offered.min(done).max(1.0),
        (offered, done) => offered.or(done).unwrap_or(1.0).max(1.0),
    }
}
