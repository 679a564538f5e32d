//! The size of the simulated drive: all dies, times and rates, but smaller blocks (docs/CALIBRATION.md).

use destage_device::config::{DeviceConfig, FlashUnit};

/// Blocks of a plane of a scaled-down drive. With fewer than 384 blocks of a die write amplification differs.
const BLOCKS: u32 = 400;
/// Channels of the largest controllers.
const MOST_CHANNELS: u32 = 16;
/// Most chips on the bus of a channel, beyond what the capacity of the drive needs.
const MOST_CHIPS: u32 = 8;
/// So many of the dies that reads need are enough: their number is not known better.
const NEARLY_ENOUGH: f64 = 0.9;
/// Mapping units of a block on all planes of a die, at least. Smaller blocks differ more in their valid data.
const LEAST_PLACES: u32 = 96;
/// Most mapping units of a block over all dies, which `gc_unit = drive` collects together.
const MOST_PLACES: u64 = 65_535;

/// Bytes of a drive whose name ends in its capacity in GB, as `maker-model-960` does; tables name drives so.
#[must_use]
pub fn named_capacity(name: &str) -> Option<u64> {
    let gigabytes: u64 = name.rsplit('-').next()?.parse().ok()?;
    (100..=200_000)
        .contains(&gigabytes)
        .then_some(gigabytes * 1_000_000_000)
}

/// Counts of a drive, and of the one that stands for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriveGeometry {
    channels: u32,
    chips_per_channel: u32,
    blocks_per_plane: u32,
    pages_per_block: u32,
    scaled_pages: u32,
    scaled_erase_ps: u64,
}

impl DriveGeometry {
    /// The geometry of a drive of `capacity` bytes built as `base`: one with twice the bytes has twice the dies, on twice
    /// the channels as long as these are not too many. It has at least `dies`, if its buses have room for their chips.
    pub(super) fn new(base: &DeviceConfig, capacity: Option<u64>, dies: f64) -> DriveGeometry {
        let own = base.logical_pages() * base.mapping().bytes();
        let wanted = capacity.unwrap_or(own) as f64;
        let mut channels = base.geometry.channels;
        let mut chips = f64::from(base.geometry.chips_per_channel) * wanted / own as f64;
        while chips >= 1.5 * f64::from(base.geometry.chips_per_channel)
            && 2 * channels <= MOST_CHANNELS
        {
            channels *= 2;
            chips /= 2.0;
        }
        let of_channel = f64::from(channels * base.geometry.dies_per_chip);
        let needed = libm::ceil(NEARLY_ENOUGH * dies / of_channel).min(f64::from(MOST_CHIPS));
        let chips_per_channel = libm::round(chips).max(needed).max(1.0);
        let left = chips / chips_per_channel;
        let program_pages = base.program_pages.unwrap_or(1);
        let mut pages = base.geometry.pages_per_block;
        let mut blocks = f64::from(base.geometry.blocks_per_plane) * left;
        if base.gc_unit == FlashUnit::Drive {
            let dies = u64::from(channels)
                * chips_per_channel as u64
                * u64::from(base.geometry.dies_per_chip);
            let of_page = dies
                * u64::from(base.geometry.planes_per_die)
                * u64::from(base.mapping_units_per_page());
            let most = (MOST_PLACES / of_page.max(1)) as u32 / program_pages * program_pages;
            let fitting = pages.min(most.max(program_pages));
            blocks *= f64::from(pages) / f64::from(fitting);
            pages = fitting;
        }
        let of_word_line =
            base.mapping_units_per_page() * base.geometry.planes_per_die * program_pages;
        let word_lines = LEAST_PLACES.div_ceil(of_word_line).max(1);
        let scaled_pages = (word_lines * program_pages).min(base.geometry.pages_per_block);
        DriveGeometry {
            channels,
            chips_per_channel: chips_per_channel as u32,
            blocks_per_plane: libm::round(blocks).max(1.0) as u32,
            pages_per_block: pages,
            scaled_pages,
            scaled_erase_ps: (base.t_erase.0 / u64::from(base.geometry.pages_per_block)
                * u64::from(scaled_pages))
            .max(1),
        }
    }

    /// The same with word lines of blocks multiplied: a larger drive that must give the same.
    #[must_use]
    pub fn enlarged(&self, times: u32) -> DriveGeometry {
        DriveGeometry {
            scaled_pages: self.scaled_pages * times,
            scaled_erase_ps: self.scaled_erase_ps * u64::from(times),
            ..self.clone()
        }
    }

    /// Channels.
    #[must_use]
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// `KEY=VALUE` of the drive that is simulated.
    #[must_use]
    pub fn scaled_settings(&self) -> Vec<String> {
        vec![
            format!("channels={}", self.channels),
            format!("chips_per_channel={}", self.chips_per_channel),
            format!("blocks_per_plane={BLOCKS}"),
            format!("pages_per_block={}", self.scaled_pages),
            format!("t_erase={}ps", self.scaled_erase_ps),
        ]
    }

    /// `KEY=VALUE` of the whole drive.
    #[must_use]
    pub fn whole_settings(&self) -> Vec<String> {
        vec![
            format!("channels={}", self.channels),
            format!("chips_per_channel={}", self.chips_per_channel),
            format!("blocks_per_plane={}", self.blocks_per_plane),
            format!("pages_per_block={}", self.pages_per_block),
        ]
    }
}
