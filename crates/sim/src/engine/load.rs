//! Busy times of channels and dies, for their utilisation.

use super::Engine;
use crate::load::BusyTimes;
use destage_types::{ChannelId, ChipId, Nanos};

impl Engine {
    /// Busy times since the device began to work; the end is that of the operations in service,
    /// which is exact once nothing waits.
    fn busy_so_far(&self) -> BusyTimes {
        let chips = || (0..self.nand.chips()).map(ChipId);
        let dies = chips().flat_map(|chip| (0..self.gc.dies).map(move |die| (chip, die)));
        BusyTimes {
            elapsed: self.nand.end_of_work(),
            channels: (0..self.nand.channels())
                .map(|channel| self.nand.bus_time(ChannelId(channel)))
                .collect(),
            dies: dies
                .map(|(chip, die)| self.nand.die_stats(chip, die).busy)
                .collect(),
        }
    }

    /// The measured part begins now.
    pub(super) fn start_load(&mut self) {
        self.busy_before = BusyTimes {
            elapsed: self.now,
            ..self.busy_so_far()
        };
    }

    /// Busy times of the measured part.
    pub(super) fn load_since(&self) -> BusyTimes {
        let (all, before) = (self.busy_so_far(), &self.busy_before);
        let since = |all: Vec<Nanos>, before: &[Nanos]| {
            let before = before.iter().copied().chain(std::iter::repeat(Nanos::ZERO));
            all.into_iter().zip(before).map(|(a, b)| a - b).collect()
        };
        BusyTimes {
            elapsed: all.elapsed.since(before.elapsed),
            channels: since(all.channels, &before.channels),
            dies: since(all.dies, &before.dies),
        }
    }
}
