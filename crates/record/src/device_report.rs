//! Figures of a device at the end of a run, as the record has them: utilisation, wear and energy.

use crate::counts::ratio;
use destage_types::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shares of the time from the start of the measured part to the end of the last operation that was
/// submitted by the last arrival, in which channels and dies were busy, between 0 and 1. Of an operation that was under way when the
/// measured part began, what came after that counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Utilisation {
    /// Length of that time in ns.
    pub elapsed_ns: u64,
    /// Mean over the channels; null if no time passed.
    pub channel_mean: Option<f64>,
    /// The busiest channel.
    pub channel_max: Option<f64>,
    /// Mean over the dies.
    pub die_mean: Option<f64>,
    /// The busiest die.
    pub die_max: Option<f64>,
    /// Each channel: share of the time its bus carried commands or data.
    pub channels: Vec<f64>,
    /// Each unit with a queue of its own: a die, or a chip (`queue_per`).
    pub dies: Vec<f64>,
}

impl Utilisation {
    /// The shares of `elapsed` in which each channel and each die was busy.
    pub fn new(elapsed: Nanos, channels: &[Nanos], dies: &[Nanos]) -> Utilisation {
        let share = |time: &Nanos| ratio(time.0 as f64, elapsed.0 as f64);
        let all = |times: &[Nanos]| times.iter().filter_map(share).collect::<Vec<f64>>();
        let (channels, dies) = (all(channels), all(dies));
        let mean = |shares: &[f64]| ratio(shares.iter().sum(), shares.len() as f64);
        let most = |shares: &[f64]| shares.iter().copied().reduce(f64::max);
        Utilisation {
            elapsed_ns: elapsed.0,
            channel_mean: mean(&channels),
            channel_max: most(&channels),
            die_mean: mean(&dies),
            die_max: most(&dies),
            channels,
            dies,
        }
    }
}

/// What one handle wrote and what became of it (S-3 of the specification), in mapping units and in reclaim units, which are blocks of
/// a GC unit.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct HandleFigures {
    /// Its number; absent for units of the collector that hold data of all handles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<u32>,
    /// Places that the host wrote.
    pub host_places: u64,
    /// Places that garbage collection moved out of its units.
    pub moved_places: u64,
    /// Its units that were opened.
    pub units_opened: u64,
    /// Its units that were erased.
    pub units_erased: u64,
    /// Valid places in its units when garbage collection chose them.
    pub valid_at_erase: u64,
}

/// Erases of the blocks of a device since it was new, preconditioning included. As in `erases`, an
/// erase counts when garbage collection has chosen the block, be it that it waits.
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
    /// The distribution of (erases, blocks erased so often), ascending.
    pub fn new(blocks_by_erases: &[(u32, u64)]) -> EraseCounts {
        let rows = blocks_by_erases.iter();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_the_time() {
        let (channels, dies) = ([50, 100].map(Nanos), [0, 200, 40].map(Nanos));
        let u = Utilisation::new(Nanos(200), &channels, &dies);
        assert_eq!(
            (&*u.channels, &*u.dies),
            (&[0.25, 0.5][..], &[0.0, 1.0, 0.2][..])
        );
        assert_eq!((u.channel_mean, u.channel_max), (Some(0.375), Some(0.5)));
        assert_eq!((u.die_max, u.elapsed_ns), (Some(1.0), 200));
        let still = Utilisation::new(Nanos::ZERO, &[], &[]);
        assert_eq!((still.channel_mean, still.die_max), (None, None));
    }
}
