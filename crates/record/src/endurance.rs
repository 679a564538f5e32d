//! How long the flash of a device lasts at the rate of a run.

use crate::counts::{Counts, ratio};
use crate::device_report::EraseCounts;
use destage_types::{Nanos, SECTOR_BYTES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Seconds of a year of 365.25 days.
const YEAR_S: f64 = 365.25 * 86_400.0;

/// Endurance as if all blocks wore alike and the measured part went on for ever. The rated cycles of a
/// block are the setting `pe_cycles`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct Endurance {
    /// Bytes programmed to flash in the measured part for any cause, padding and metadata included.
    pub flash_bytes: u64,
    /// Coefficient of variation of the erases of a block, `erase_counts.std` / `erase_counts.mean`; null
    /// if nothing was erased.
    pub erase_cv: Option<f64>,
    /// Bytes that the host can write until all blocks have their rated cycles (TBW): raw bytes of the flash x
    /// `pe_cycles` / `ratios.waf`. Null if the host wrote nothing, or nothing was programmed.
    pub tbw_bytes: Option<f64>,
    /// Years of 365.25 days until then, at the bytes that the host wrote in `utilisation.elapsed_ns`.
    /// Null as `tbw_bytes`, or if no time passed.
    pub years: Option<f64>,
    /// Life used since the device was new, in rated cycles: with an SLC cache the erases of a block in each mode / the
    /// cycles of that mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life_used: Option<LifeUsed>,
}

/// Life used, 1 for all rated cycles.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct LifeUsed {
    /// Of the most worn block.
    pub worst: f64,
    /// Mean over the blocks.
    pub mean: f64,
}

impl LifeUsed {
    /// That of blocks which have so many rated cycles as native ones and in SLC mode, from (native erases, erases in SLC mode,
    /// blocks erased so often).
    pub fn new([native, slc]: [u32; 2], blocks: &[(u32, u32, u64)]) -> Option<LifeUsed> {
        let of = |row: &(u32, u32, u64)| {
            f64::from(row.0) / f64::from(native) + f64::from(row.1) / f64::from(slc)
        };
        let all: u64 = blocks.iter().map(|row| row.2).sum();
        let sum: f64 = blocks.iter().map(|row| of(row) * row.2 as f64).sum();
        Some(LifeUsed {
            worst: blocks.iter().map(of).reduce(f64::max)?,
            mean: sum / all as f64,
        })
    }
}

/// The rating of a device.
#[derive(Clone, Copy, Debug)]
pub struct RatedFlash {
    /// Bytes of all its pages.
    pub raw_bytes: u64,
    /// Program/erase cycles of a block.
    pub pe_cycles: u32,
}

impl Endurance {
    /// That of `flash`, for the counts of a measured part that took `elapsed`; pages have `page_bytes`.
    pub fn new(
        flash: RatedFlash,
        counts: &Counts,
        page_bytes: u64,
        elapsed: Nanos,
        erases: &EraseCounts,
    ) -> Endurance {
        let flash_bytes = counts.flash_programs() * page_bytes;
        let host_bytes = (counts.write_sectors * SECTOR_BYTES) as f64;
        let waf = ratio(flash_bytes as f64, host_bytes);
        let rated_bytes = flash.raw_bytes as f64 * f64::from(flash.pe_cycles);
        let tbw_bytes = waf.and_then(|waf| ratio(rated_bytes, waf));
        let bytes_per_s = ratio(host_bytes * 1e9, elapsed.0 as f64);
        let seconds = tbw_bytes.zip(bytes_per_s);
        Endurance {
            flash_bytes,
            erase_cv: ratio(erases.std, erases.mean),
            tbw_bytes,
            years: seconds.and_then(|(bytes, rate)| ratio(bytes / YEAR_S, rate)),
            life_used: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLASH: RatedFlash = RatedFlash {
        raw_bytes: 1 << 30,
        pe_cycles: 3_000,
    };

    #[test]
    fn it_is_what_a_hand_computes() {
        // 4 MiB of the host, four pages of metadata and padding, 6 MiB in all, in 1 s: amplification 1.5.
        let counts = Counts {
            write_sectors: 8192,
            flash_writes_host: 1024,
            flash_writes_gc: 508,
            flash_writes_meta: 3,
            padded_places: 1,
            ..Counts::default()
        };
        // Half of the blocks once, half of them three times: mean 2, deviation 1.
        let erases = EraseCounts::new(&[(1, 8), (3, 8)]);
        let second = Nanos(1_000_000_000);
        let endurance = Endurance::new(FLASH, &counts, 4096, second, &erases);
        assert_eq!(endurance.flash_bytes, 6 << 20);
        assert_eq!(endurance.erase_cv, Some(0.5));
        // 1 GiB x 3000 / 1.5 = 2000 GiB, at 4 MiB a second 512000 s.
        assert_eq!(endurance.tbw_bytes, Some(2000.0 * 1_073_741_824.0));
        let years = 512_000.0 / (365.25 * 86_400.0);
        assert!((endurance.years.unwrap() / years - 1.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_written_gives_no_life() {
        let erases = EraseCounts::new(&[(0, 16)]);
        let new = |counts: &Counts, elapsed| Endurance::new(FLASH, counts, 4096, elapsed, &erases);
        assert_eq!(new(&Counts::default(), Nanos(5)), Endurance::default());
        // The cache absorbed everything.
        let written = Counts {
            write_sectors: 8,
            ..Counts::default()
        };
        assert_eq!(new(&written, Nanos(5)), Endurance::default());
        let programmed = Counts {
            flash_writes_host: 1,
            ..written
        };
        let still = new(&programmed, Nanos::ZERO);
        assert_eq!(still.tbw_bytes, Some(3000.0 * 1_073_741_824.0));
        assert_eq!((still.years, still.erase_cv), (None, None));
    }
}
