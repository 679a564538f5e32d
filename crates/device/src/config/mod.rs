//! Device files and presets: what a device is, where each value comes from, and what is wrong
//! with it.
//!
//! Layers, later ones win: built-in `default` preset < `base` preset < device file < `--set`.
//! All faults are collected before loading fails. Nothing here reads files: the caller does.

mod checks;
mod drive;
mod error;
mod handles;
mod keys;
mod layers;
mod lines;
mod link;
mod mapping;
mod pace;
mod page_times;
mod pause;
mod presets;
mod ratio;
mod read_retry;
mod reader;
mod slc;
mod tables;
#[cfg(test)]
mod tests;
mod values;
mod written;

pub use error::{ConfigError, DeviceFault, Reason};
pub use handles::{HandlePlacement, PlacementRule, WritesOf};
pub use keys::{DeviceConfig, DeviceKey, keys};
pub use layers::{EffectiveDevice, EffectiveValue, MAX_FILE_BYTES, Origin, given_twice};
pub use lines::key_lines;
pub use link::{HostLink, bytes_per_second};
pub use pace::{WritePace, WritePrice};
pub use page_times::PageTimes;
pub use pause::ProgramPause;
pub use presets::{DEFAULT_PRESET, Preset, preset_names, presets};
pub use ratio::Ratio;
pub use read_retry::{ReadRetry, RetryStep};
pub use reader::{TableField, ValueType};
pub use slc::{SlcDynamic, SlcIdle, SlcTimes};
pub use tables::{CacheRegion, Overwrite, Precondition};
pub use values::{
    Allocation, Buffer, CachePersistence, CommandOrder, Dram, EvictWait, EvictWaitRead, FlashUnit,
    FrameRelease, Ftl, GcMode, GcPolicy, GcStop, GcStreams, GcTrigger, Isolation, MapEvict,
    MappingTable, PauseWhileWritesWait, ProgramPlanes, QueueOrder, ReadTransfer, Rewrite, SlcFull,
    Suspend, ThresholdBase, ThresholdUnit, WearLevelling,
};
pub use written::{toml_comment, toml_string};

use destage_types::{Nanos, QueuePer, SECTOR_BYTES, StaticLayout, nearest};

/// The known word nearest to one that is given.
fn nearest_known(given: &str, known: impl IntoIterator<Item = &'static str>) -> &'static str {
    nearest(given, known).expect("every list of known words has one")
}

impl DeviceConfig {
    /// Mapping units the host can address: those of the raw pages without the over-provisioning, rounded
    /// down. Static SLC blocks have none of them. Parity takes its share.
    pub fn logical_pages(&self) -> u64 {
        let units = u64::from(self.mapping_units_per_page());
        let pages = self.geometry.pages() - self.static_slc_pages();
        let (data, all) = match self.parity.unwrap_or(0) {
            0 => (1, 1),
            of_stripe => (u64::from(of_stripe), u64::from(of_stripe) + 1),
        };
        self.op.rest().of(pages * units * data) / all
    }

    /// Pages of a block that take data: all, or all but the summary page.
    pub fn data_pages_per_block(&self) -> u32 {
        self.geometry.pages_per_block - u32::from(self.summary_page)
    }

    /// Is there garbage collection?
    pub fn collects(&self) -> bool {
        self.gc_policy != GcPolicy::None && self.gc_mode != GcMode::Off
    }

    /// Is garbage collected on idle chips?
    pub fn collects_in_background(&self) -> bool {
        self.collects() && self.gc_mode == GcMode::Background
    }

    /// Are the pages of this device and of `other` mapped alike? Says so of devices that differ in no more
    /// than their names, the times of their operations, what a request or a program waits for, and rated cycles.
    pub fn maps_like(&self, other: &DeviceConfig) -> bool {
        let alike = DeviceConfig {
            name: other.name.clone(),
            t_read: other.t_read.clone(),
            read_retry: other.read_retry.clone(),
            read_retry_suspended: other.read_retry_suspended.clone(),
            t_program: other.t_program.clone(),
            t_erase: other.t_erase,
            t_suspend: other.t_suspend,
            t_dram: other.t_dram,
            host_link: other.host_link,
            t_command: other.t_command,
            command_cores: other.command_cores,
            command_slots: other.command_slots,
            command_order: other.command_order,
            write_pace: other.write_pace,
            write_pace_burst: other.write_pace_burst,
            cache: other.cache,
            frame_release: other.frame_release,
            gc_burst: other.gc_burst,
            gc_hold: other.gc_hold,
            program_pause: other.program_pause,
            evict_wait: other.evict_wait,
            evict_wait_read: other.evict_wait_read,
            pe_cycles: other.pe_cycles,
            slc_idle: other.slc_idle,
            t_program_slc: other.t_program_slc,
            t_read_slc: other.t_read_slc,
            t_erase_slc: other.t_erase_slc,
            pe_cycles_slc: other.pe_cycles_slc,
            placement: other.placement.clone(),
            map_cache: other.map_cache,
            map_evict: other.map_evict,
            map_evict_depth: other.map_evict_depth,
            map_sram: other.map_sram,
            t_hmb: other.t_hmb,
            ..self.clone()
        };
        alike == *other && self.has_units() == other.has_units()
    }

    /// Where static allocation puts every page.
    pub fn layout(&self) -> StaticLayout {
        StaticLayout::new(&self.geometry, self.allocation_order, self.queue_per)
            .expect("a valid configuration names each axis once")
            .with_units(self.mapping_units_per_page())
    }

    /// Planes of one `unit`.
    pub fn planes_per(&self, unit: FlashUnit) -> u32 {
        match unit {
            FlashUnit::Plane => 1,
            FlashUnit::Die => self.geometry.planes_per_die,
            FlashUnit::Chip => self.geometry.dies_per_chip * self.geometry.planes_per_die,
            FlashUnit::Drive => self.geometry.planes(),
        }
    }

    /// Planes of one unit with its own queue.
    pub fn planes_per_queue(&self) -> u32 {
        self.planes_per(match self.queue_per {
            QueuePer::Chip => FlashUnit::Chip,
            QueuePer::Die => FlashUnit::Die,
        })
    }

    /// GC is scheduled when a `gc_unit` has fewer free pages than this, or, where free blocks are
    /// counted, no more free blocks than make this many pages.
    ///
    /// A share of pages is rounded up: free pages are whole, so they are below the share iff they are
    /// below this. A share of blocks is rounded down.
    pub fn gc_threshold_pages(&self) -> u64 {
        self.gc_threshold_of(self.planes_per(self.gc_unit))
    }

    /// Free pages that a GC unit has at least whenever something is written: each of its frontiers
    /// keeps what the copies of one block take. A unit that is only a part of a frontier may have
    /// the page alone that is written.
    pub fn gc_least_free_pages(&self) -> u64 {
        let (unit, frontier) = (
            self.planes_per(self.gc_unit),
            self.planes_per(self.frontier),
        );
        let kept = u64::from(self.geometry.pages_per_block - 1);
        match unit / frontier {
            0 => 1,
            frontiers => u64::from(frontiers) * kept,
        }
    }

    /// May a GC unit collect for a frontier without room and never come to its threshold? So it is
    /// with a threshold below what is always free, and may be where the frontiers of a unit would all
    /// have to run out at the same time.
    pub fn collects_before_threshold(&self) -> bool {
        self.planes_per(self.gc_unit) > self.planes_per(self.frontier)
            || self.is_threshold_below_reserve()
    }

    /// Is the threshold a number of free pages that a GC unit always has?
    pub(crate) fn is_threshold_below_reserve(&self) -> bool {
        self.gc_threshold_unit == ThresholdUnit::Pages
            && self.gc_threshold_pages() < self.gc_least_free_pages()
    }

    /// Free pages, or blocks where these are counted, that a GC unit has more than when it has
    /// collected enough; `None` if one block is always enough.
    pub fn gc_watermark(&self) -> Option<u64> {
        let (unit, more) = match self.gc_threshold_unit {
            ThresholdUnit::Pages => (1, u64::from(self.geometry.pages_per_block)),
            ThresholdUnit::Blocks => (u64::from(self.geometry.pages_per_block), 1),
        };
        let watermark = self.gc_threshold_pages() / unit + u64::from(self.gc_stop_blocks) * more;
        (self.gc_stop == GcStop::Watermark).then_some(watermark)
    }

    /// The threshold of one queue unit (N_mfp of ECR Eq. 2): the sum over its GC units, or its
    /// share of a GC unit that is larger.
    pub fn gc_threshold_pages_per_chip(&self) -> u64 {
        let (queue, unit) = (self.planes_per_queue(), self.planes_per(self.gc_unit));
        if unit > queue {
            return self.gc_threshold_of(queue);
        }
        self.gc_threshold_pages() * u64::from(queue / unit)
    }

    fn gc_threshold_of(&self, planes: u32) -> u64 {
        let g = &self.geometry;
        let blocks = u64::from(planes) * u64::from(g.blocks_per_plane);
        let pages = u64::from(g.pages_per_block);
        match (self.gc_threshold_unit, self.gc_threshold_base) {
            (ThresholdUnit::Pages, ThresholdBase::Total) => self.gc_threshold.of_up(blocks * pages),
            (ThresholdUnit::Pages, ThresholdBase::Spare) => {
                self.gc_threshold.of_product_up(self.op, blocks * pages)
            }
            (ThresholdUnit::Blocks, ThresholdBase::Total) => self.gc_threshold.of(blocks) * pages,
            (ThresholdUnit::Blocks, ThresholdBase::Spare) => {
                self.gc_threshold.of_product(self.op, blocks) * pages
            }
        }
    }

    /// Bus time of `sectors` sectors.
    pub fn transfer(&self, sectors: u32) -> Nanos {
        self.t_byte
            .times(u64::from(sectors) * u64::from(self.sector_bytes))
    }

    /// Bus time of a whole page.
    pub fn page_transfer(&self) -> Nanos {
        self.transfer((self.geometry.page.bytes() / SECTOR_BYTES) as u32)
    }

    /// Every key that has a value, in the order of [`keys()`], with it as TOML.
    pub fn entries(&self) -> impl Iterator<Item = (&'static str, String)> {
        let value = |key: &DeviceKey| Some((key.name, key.show(self)?));
        keys().iter().filter_map(value)
    }

    /// A device file that gives this device again.
    pub fn toml_text(&self) -> String {
        self.entries()
            .map(|(key, value)| format!("{key} = {value}\n"))
            .collect()
    }
}
