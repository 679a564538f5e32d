//! Answers of the drive to a run.

use super::Drive;
use crate::device::DeviceCore;
use crate::flash::FlashReport;
use destage_types::Nanos;

impl FlashReport for Drive {
    fn core(&self) -> Option<&DeviceCore> {
        Some(&self.core)
    }

    fn core_mut(&mut self) -> Option<&mut DeviceCore> {
        Some(&mut self.core)
    }

    fn next_event(&self) -> Nanos {
        self.next_instant()
    }
}
