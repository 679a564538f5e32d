//! What the flash of a device says at the end of a run: wear and energy, as the record has them.

use crate::flash::FlashState;
use destage_device::config::DeviceConfig;
use destage_device::nand::{ChipStats, Kind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Erases of the blocks of a device since it was new, preconditioning included.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct EraseCounts {
    /// Fewest.
    pub min: u64,
    /// Most.
    pub max: u64,
    /// Mean.
    pub mean: f64,
    /// Population standard deviation.
    pub std: f64,
    /// (erases, blocks erased so often), ascending.
    pub histogram: Vec<(u64, u64)>,
}

impl EraseCounts {
    /// The distribution of `state`.
    pub fn new(state: &FlashState) -> EraseCounts {
        let rows = state.wear.blocks_by_erases.iter();
        let histogram: Vec<(u64, u64)> = rows.map(|&(n, blocks)| (u64::from(n), blocks)).collect();
        let blocks: u64 = histogram.iter().map(|row| row.1).sum();
        let mean = histogram.iter().map(|&(n, b)| (n * b) as f64).sum::<f64>() / blocks as f64;
        let square = |&(n, b): &(u64, u64)| (n as f64 - mean) * (n as f64 - mean) * b as f64;
        let variance = histogram.iter().map(square).sum::<f64>() / blocks as f64;
        EraseCounts {
            min: histogram.first().map_or(0, |row| row.0),
            max: histogram.last().map_or(0, |row| row.0),
            mean,
            std: variance.sqrt(),
            histogram,
        }
    }
}

/// Energy of the measured part: of all operations that its counters count, also those that start
/// after the last arrival.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct EnergyNj {
    /// Array reads, those of copybacks included.
    pub read: f64,
    /// Array programs, those of copybacks included.
    pub program: f64,
    /// Erases.
    pub erase: f64,
    /// Data on the channels.
    pub transfer: f64,
    /// Everything.
    pub total: f64,
    /// Everything, by chip.
    pub chips: Vec<f64>,
}

impl EnergyNj {
    /// What the chips of `state` spent; `None` if the device knows no energies.
    pub fn new(config: &DeviceConfig, state: &FlashState) -> Option<EnergyNj> {
        let each = [
            config.e_read,
            config.e_program,
            config.e_erase,
            config.e_byte,
        ]
        .map(|e| u128::from(e.0));
        if each == [0; 4] {
            return None;
        }
        let of_chip = |chip: &ChipStats| {
            let copies = chip.of(Kind::Copyback);
            let counts = [
                chip.of(Kind::Read) + copies,
                chip.of(Kind::Program) + copies,
                chip.of(Kind::Erase),
                chip.bytes_read + chip.bytes_programmed,
            ];
            std::array::from_fn::<u128, 4, _>(|i| u128::from(counts[i]) * each[i])
        };
        let chips: Vec<[u128; 4]> = state.chips.iter().map(of_chip).collect();
        let nj = |pj: u128| pj as f64 / 1000.0;
        let part = |i: usize| nj(chips.iter().map(|chip| chip[i]).sum());
        Some(EnergyNj {
            read: part(0),
            program: part(1),
            erase: part(2),
            transfer: part(3),
            total: nj(chips.iter().flatten().sum()),
            chips: chips.iter().map(|chip| nj(chip.iter().sum())).collect(),
        })
    }
}
