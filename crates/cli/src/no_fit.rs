//! In place of `fit` in a build without the feature of that name.

use destage_console::failure::Failure;

/// In place of `destage fit-device`.
pub mod fit_device {
    use crate::args::FitDeviceArgs;
    use destage_console::failure::Failure;

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn run(_: &FitDeviceArgs) -> Result<(), Failure> {
        super::refused("fit-device")
    }
}

/// In place of `destage probe`.
pub mod probe {
    use crate::args::ProbeArgs;
    use destage_console::failure::Failure;

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn run(_: &ProbeArgs) -> Result<(), Failure> {
        super::refused("probe")
    }
}

fn refused(command: &str) -> Result<(), Failure> {
    Err(Failure::usage(format!(
        "{command}: this destage was built without the feature `fit`; build it with `--features fit` to fit devices \
         to measured drives"
    )))
}
