//! How flat the optimum is: what the residual becomes when one value is changed.

use super::Found;
use super::evaluate::Evaluator;
use super::journal::FitJournal;
use super::step::{Differences, Quadratic};
use crate::FitError;
use crate::model::{Parameter, Values};

/// Factor by which each value is changed alone. A value that is called determined is known to a tenth.
pub const CHANGED_BY: f64 = 1.1;
/// The data determine a value if the residual rises by at least this share either way.
const RISES: f64 = 0.02;

/// The residual's dependence on one value.
#[derive(Clone, Debug)]
pub struct Sensitivity {
    /// The parameter.
    pub parameter: &'static Parameter,
    /// Its fitted value.
    pub value: f64,
    /// Relative rise of the residual with the value divided and multiplied by [`CHANGED_BY`]. `None` where the value does
    /// not change by that, at a bound or as a small whole number.
    pub rises: [Option<f64>; 2],
    /// The same if the values of other keys then become the best ones: little where values make up for each other.
    pub together: f64,
}

impl Sensitivity {
    /// Whether the measurements determine the value, from below and from above.
    #[must_use]
    pub fn determined(&self) -> [bool; 2] {
        self.rises
            .map(|rise| rise.is_some_and(|rise| rise >= RISES && self.together >= RISES))
    }

    /// The verdict on the value in a device file.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match self.determined() {
            [true, true] => "determined",
            [true, false] => "at least this",
            [false, true] => "at most this",
            [false, false] => "undetermined",
        }
    }
}

/// The sensitivity of each value of `found`, as far as all draws of the load agree on it. None of them should be that of the
/// search: the values are the best ones there by chance, too.
///
/// # Errors
/// Those of [`Evaluator::differences`].
pub fn sensitivities(
    draws: &[Evaluator],
    journal: &mut FitJournal,
    found: &Found,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Sensitivity>, FitError> {
    let free = found.model.free().into_iter();
    let free = free.filter(|p| found.values.contains_key(p.name));
    let free: Vec<&'static Parameter> = free.collect();
    if free.is_empty() {
        return Ok(Vec::new());
    }
    let mut simulate = |values: &Values| -> Result<Vec<Differences>, FitError> {
        let of_draw = |draw: &Evaluator| draw.differences(&found.model, values, journal);
        draws.iter().map(of_draw).collect()
    };
    let drawn = simulate(&found.values)?;
    let here = Differences::mean(&drawn);
    let least = here.residual().max(f64::MIN_POSITIVE);
    let (mut all, mut pairs) = (Vec::new(), Vec::new());
    for parameter in free {
        tell(parameter.name);
        let value = found.values[parameter.name];
        let (mut rises, mut pair) = ([None, None], [here.clone(), here.clone()]);
        for (side, factor) in [1.0 / CHANGED_BY, CHANGED_BY].into_iter().enumerate() {
            let changed = parameter.rounded(value * factor);
            if changed != value {
                let mut values = found.values.clone();
                values.insert(parameter.name, changed);
                pair[side] = Differences::agreed(&drawn, &simulate(&values)?);
                rises[side] = Some(pair[side].residual() / least - 1.0);
            }
        }
        let [down, up] = pair;
        let steps = rises.iter().flatten().count().max(1) as f64;
        pairs.push((steps, down, up));
        all.push(Sensitivity {
            parameter,
            value,
            rises,
            together: 0.0,
        });
    }
    let around = Quadratic::new(&here, &pairs);
    let keys: Vec<&str> = all.iter().map(|s| s.parameter.key()).collect();
    for (at, s) in all.iter_mut().enumerate() {
        let of_its_key = |other: usize| other != at && keys[other] == keys[at];
        s.together = around.rise(at, of_its_key) / least;
    }
    Ok(all)
}
