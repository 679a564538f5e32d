//! Calibration of a fitted twin: three multipliers, found by generating and counting.

use super::likeness::{LruCurve, add_to, curve_error, large_sets};
use super::maker::Maker;
use super::parameters::TwinParameters;
use destage_types::Op;

/// Requests that a twin is calibrated on, and the first ones of the trace that it is held to.
pub const CALIBRATED: u64 = 200_000;
/// Every multiplier is looked for that often.
const ROUNDS: u32 = 3;
/// Twins that are generated each time.
const GENERATIONS: u32 = 7;
/// Points by which a calibrated twin's curve may be worse before the multipliers are dropped.
const WORSE: f64 = 1.0;

/// The target of a multiplier.
struct Aim {
    /// Where it stands among the multipliers.
    multiplier: usize,
    /// Exponents of e that it lies between.
    range: (f64, f64),
    tolerance: f64,
}

/// In the order in which they are looked for: large writes, updates, pages read again.
const AIMS: [Aim; 3] = [
    Aim {
        multiplier: 0,
        range: (-0.7, 4.0),
        tolerance: 0.02,
    },
    Aim {
        multiplier: 1,
        range: (-2.3, 2.3),
        tolerance: 0.01,
    },
    Aim {
        multiplier: 2,
        range: (-2.3, 2.3),
        tolerance: 0.015,
    },
];

/// Figures that a twin must meet.
#[derive(Clone, Copy, Debug)]
pub struct Targets {
    /// Shares of large writes, of updates, of read pages accessed before; `None` without any.
    pub shares: [Option<f64>; 3],
    curve: Option<[f64; 7]>,
}

impl Targets {
    /// From sectors written and those in large sets, page accesses by operation and what the page
    /// was, and the curve.
    pub fn new(large: [u64; 2], accesses: [[u64; 3]; 2], curve: Option<[f64; 7]>) -> Targets {
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let [reads, writes] = accesses;
        let all = |a: [u64; 3]| a.iter().sum();
        let shares = [
            share(large[1], large[0]),
            share(writes[1], all(writes)),
            share(reads[1] + reads[2], all(reads)),
        ];
        Targets { shares, curve }
    }

    /// The figures of the first `most` requests of a twin; with the curve if it is `asked` for.
    pub fn of(parameters: &TwinParameters, asked: bool, most: u64) -> Targets {
        let mut requests = Maker::new(parameters);
        let (mut curve, mut sets, mut large) = (LruCurve::of_writes(), large_sets(), [0; 2]);
        for _ in 0..parameters.requests.min(most) {
            let (op, start, sectors) = requests.next();
            if asked {
                curve.add(op, start, sectors);
            }
            if op == Op::Write {
                large[0] += u64::from(sectors);
                large[1] += add_to(&mut sets, start, sectors);
            }
        }
        Targets::new(large, requests.accesses(), curve.percent())
    }
}

/// Mean absolute errors of the write curve, in points; `None` of a trace without writes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Accuracy {
    /// With all multipliers 1.
    pub plain: Option<f64>,
    /// With the multipliers that were found.
    pub calibrated: Option<f64>,
    /// Were they kept?
    pub kept: bool,
}

impl Accuracy {
    /// The error of the twin as it is.
    pub fn error(&self) -> Option<f64> {
        if self.kept {
            self.calibrated
        } else {
            self.plain
        }
    }
}

/// The counts of a trace, and the figures that a twin of it must meet.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// As counted.
    pub parameters: TwinParameters,
    /// Pages that were written.
    pub written: u64,
    pub(super) targets: Targets,
}

impl Fitted {
    /// Finds the multipliers and keeps them if the write curve is not much worse for them. Calls
    /// `step` with the generations that were made and the most there are.
    ///
    /// # Errors
    /// The first of `step`.
    pub fn calibrate<E>(
        self,
        mut step: impl FnMut(u64, u64) -> Result<(), E>,
    ) -> Result<(TwinParameters, Accuracy), E> {
        let (plain, targets) = (self.parameters, self.targets);
        let most = u64::from(ROUNDS * GENERATIONS) * 3 + 2;
        let mut made = 0;
        let mut generate = |parameters: &TwinParameters, asked| {
            made += 1;
            step(made, most)?;
            Ok(Targets::of(parameters, asked, CALIBRATED))
        };
        let mut found = plain.clone();
        for _ in 0..ROUNDS {
            for aim in &AIMS {
                if let Some(target) = targets.shares[aim.multiplier] {
                    look_for(aim, target, &mut found, &mut generate)?;
                }
            }
        }
        let mut error = |parameters: &TwinParameters| {
            let curve = generate(parameters, true)?.curve;
            Ok(targets.curve.zip(curve).map(|(a, b)| curve_error(a, b)))
        };
        let (before, after) = (error(&plain)?, error(&found)?);
        let kept = before.zip(after).is_none_or(|(b, a)| a <= b + WORSE);
        let accuracy = Accuracy {
            plain: before,
            calibrated: after,
            kept,
        };
        Ok((if kept { found } else { plain }, accuracy))
    }
}

/// Bisection, from the multiplier as it is.
fn look_for<E>(
    aim: &Aim,
    target: f64,
    found: &mut TwinParameters,
    generate: &mut impl FnMut(&TwinParameters, bool) -> Result<Targets, E>,
) -> Result<(), E> {
    let (mut low, mut high) = aim.range;
    let mut at = libm::log(found.multipliers[aim.multiplier] as f64 / 1e6);
    for generation in 0..GENERATIONS {
        if generation > 0 {
            at = f64::midpoint(low, high);
            found.multipliers[aim.multiplier] = libm::round(libm::exp(at) * 1e6) as u64;
        }
        let share = generate(found, false)?.shares[aim.multiplier].unwrap_or(target);
        if (share - target).abs() <= aim.tolerance {
            break;
        }
        if share < target { low = at } else { high = at }
    }
    Ok(())
}
