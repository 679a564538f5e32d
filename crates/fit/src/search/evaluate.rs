//! The differences of a candidate: its cells are simulated on several threads.

use super::journal::FitJournal;
use super::step::Differences;
use crate::FitError;
use crate::measurements::DriveCell;
use crate::model::{DriveModel, Values};
use crate::parallel;
use crate::residual::{Entry, entries};
use crate::simulate::{CellSimulator, SimulatedCell};
use destage_device::config::DeviceConfig;

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

    /// The differences of values, from the journal if they are known. Impossible values have none: they make no device, or
    /// a device without room for its data.
    ///
    /// # Errors
    /// A load cannot be sent, or the journal cannot be written.
    pub fn differences(
        &self,
        model: &DriveModel,
        values: &Values,
        journal: &mut FitJournal,
    ) -> Result<Differences, FitError> {
        let (seed, settings) = (self.simulator.seed(), model.settings(values).join("; "));
        let settings = format!("seed {seed}; {settings}");
        if let Some(known) = journal.get(&settings) {
            return Ok(known.clone());
        }
        let device = model.scaled(values);
        let found = match device.and_then(|device| self.entries(&device)) {
            Ok(entries) => Differences::of(&entries),
            Err(FitError::Device(_) | FitError::Simulation(_)) => Differences::default(),
            Err(other) => return Err(other),
        };
        journal.add(settings, found.clone())?;
        Ok(found)
    }
}
