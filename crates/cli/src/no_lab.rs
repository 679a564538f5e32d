//! In place of `lab` in a build without the feature of that name.

use crate::args::LabArgs;
use destage_console::failure::Failure;

/// Refuses.
///
/// # Errors
/// Always.
pub fn run(_: &LabArgs) -> Result<(), Failure> {
    Err(Failure::usage(
        "lab: this destage was built without the feature `lab`; build it with `--features lab` to run file \
         systems in simulated time",
    ))
}
