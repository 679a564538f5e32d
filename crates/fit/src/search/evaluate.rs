//! The residual of a candidate: its cells are simulated on several threads.

use super::journal::FitJournal;
use crate::FitError;
use crate::measurements::DriveCell;
use crate::model::{DriveModel, Values};
use crate::parallel;
use crate::residual::{Entry, entries, residual};
use crate::simulate::{CellSimulator, SimulatedCell};
use destage_device::config::DeviceConfig;

/// The residual of values that make no device, or a device without room for its data.
const IMPOSSIBLE: f64 = 1e3;

/// Cells to simulate, and how.
pub struct Evaluator {
    /// The simulator.
    pub simulator: CellSimulator,
    /// The cells.
    pub cells: Vec<DriveCell>,
    /// Requests of a cell, about.
    pub requests: u64,
    /// Threads.
    pub workers: usize,
}

impl Evaluator {
    /// The results of a device in all cells.
    ///
    /// # Errors
    /// A load cannot be sent, or a simulation fails.
    pub fn simulate(&self, device: &DeviceConfig) -> Result<Vec<SimulatedCell>, FitError> {
        // Cells at high rates take longest, and they stand last.
        parallel::map(&self.cells, self.workers, |cell| {
            self.simulator.run(device, cell, self.requests)
        })
    }

    /// The differences of a device.
    ///
    /// # Errors
    /// Those of [`Evaluator::simulate`].
    pub fn entries(&self, device: &DeviceConfig) -> Result<Vec<Entry>, FitError> {
        Ok(entries(&self.cells, &self.simulate(device)?))
    }

    /// The residual of values, from the journal if it is known. Impossible values have a large one.
    ///
    /// # Errors
    /// A load cannot be sent, or the journal cannot be written.
    pub fn residual(
        &self,
        model: &DriveModel,
        values: &Values,
        journal: &mut FitJournal,
    ) -> Result<f64, FitError> {
        let settings = model.settings(values).join("; ");
        if let Some(known) = journal.get(&settings) {
            return Ok(known);
        }
        let found = match model.scaled(values) {
            Ok(device) => match self.entries(&device) {
                Ok(entries) => residual(&entries),
                Err(FitError::Simulation(_)) => IMPOSSIBLE,
                Err(other) => return Err(other),
            },
            Err(FitError::Device(_)) => IMPOSSIBLE,
            Err(other) => return Err(other),
        };
        journal.add(settings, found)?;
        Ok(found)
    }
}
