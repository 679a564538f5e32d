//! How flat the optimum is: what the residual becomes when one value is changed.

use super::Found;
use super::evaluate::Evaluator;
use super::journal::FitJournal;
use crate::FitError;
use crate::model::Parameter;

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
}

impl Sensitivity {
    /// Whether the measurements determine the value, from below and from above.
    #[must_use]
    pub fn determined(&self) -> [bool; 2] {
        self.rises
            .map(|rise| rise.is_some_and(|rise| rise >= RISES))
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

/// The sensitivity of each value of `found`.
///
/// # Errors
/// Those of [`Evaluator::residual`].
pub fn sensitivities(
    evaluator: &Evaluator,
    journal: &mut FitJournal,
    found: &Found,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Sensitivity>, FitError> {
    let mut all = Vec::new();
    for parameter in found.model.free() {
        let Some(&value) = found.values.get(parameter.name) else {
            continue;
        };
        tell(parameter.name);
        let mut residuals = [None, None];
        for (residual, factor) in residuals.iter_mut().zip([1.0 / CHANGED_BY, CHANGED_BY]) {
            let changed = parameter.rounded(value * factor);
            if changed != value {
                let mut values = found.values.clone();
                values.insert(parameter.name, changed);
                *residual = Some(evaluator.residual(&found.model, &values, journal)?);
            }
        }
        let least = found.residual.max(f64::MIN_POSITIVE);
        all.push(Sensitivity {
            parameter,
            value,
            rises: residuals.map(|residual| residual.map(|residual| residual / least - 1.0)),
        });
    }
    Ok(all)
}
