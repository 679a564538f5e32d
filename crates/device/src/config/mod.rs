//! Device files and presets: what a device is, where each value comes from, and what is wrong
//! with it.
//!
//! Layers, later ones win: built-in `default` preset < `base` preset < device file < `--set`.
//! All faults are collected before loading fails. Nothing here reads files: the caller does.

mod build;
mod energy;
mod error;
mod keys;
mod layers;
mod presets;
mod ratio;
mod reading;
mod region;
mod values;

#[cfg(test)]
mod roundtrip;
#[cfg(test)]
mod tests;

pub use crate::ftl::GcPolicy;
pub use energy::Energy;
pub use error::{ConfigError, Fault, Reason};
pub use layers::{EffectiveDevice, Origin, Setting};
pub use presets::{DEFAULT_PRESET, Preset, preset_names, presets};
pub use ratio::Ratio;
pub use region::CacheRegion;
pub use values::{
    Allocation, Dram, EvictWait, EvictWaitRead, Ftl, GcMode, GcPreempt, HostLink, Overwrite,
    Precondition, QueueOrder, ReadFill, ThresholdBase, Unit, WearLevelling,
};

use destage_types::{Axis, ByteSize, Geometry, Nanos, Picos, QueuePer, SECTOR_BYTES, StaticLayout};
use values::Word;

/// A device, every value valid. Times are kept in picoseconds and rounded up to nanoseconds where
/// they are used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceConfig {
    /// How results name the device.
    pub name: String,
    /// Counts of every level, and the page size.
    pub geometry: Geometry,
    /// Share of the raw pages that is not exported, `0..1`.
    pub op: Ratio,
    /// Array time of a read.
    pub t_read: Picos,
    /// Array time of a program.
    pub t_program: Picos,
    /// Array time of an erase.
    pub t_erase: Picos,
    /// Command and address phase on the channel; default of the three below.
    pub t_cmd: Picos,
    /// Command phase of a read.
    pub t_cmd_read: Picos,
    /// Command phase of a program.
    pub t_cmd_program: Picos,
    /// Command phase of an erase.
    pub t_cmd_erase: Picos,
    /// Added to every array read.
    pub t_ready: Picos,
    /// Bus time of one byte.
    pub t_byte: Picos,
    /// Bytes a sector moves on the bus, spare bytes included.
    pub sector_bytes: u32,
    /// DRAM service.
    pub t_dram: Picos,
    /// How often `t_dram` is charged.
    pub dram: Dram,
    /// Energy of an array read.
    pub e_read: Energy,
    /// Energy of an array program.
    pub e_program: Energy,
    /// Energy of an erase.
    pub e_erase: Energy,
    /// Energy of one byte on a channel.
    pub e_byte: Energy,
    /// Bandwidth between host and device.
    pub host_link: HostLink,
    /// Translation layer.
    pub ftl: Ftl,
    /// Who chooses the plane of a page.
    pub allocation: Allocation,
    /// Axes over which consecutive pages are spread, first one first.
    pub allocation_order: [Axis; 4],
    /// Unit with one write frontier.
    pub frontier: Unit,
    /// Unit with its own queue.
    pub queue_per: QueuePer,
    /// Order of host operations in a queue.
    pub queue: QueueOrder,
    /// Do pages of one request that lie on one die in different planes go into one multi-plane
    /// read or program? Without effect with one plane per die.
    pub multi_plane: bool,
    /// Must they be the same page of the same block in their planes? Looked at with `multi_plane`.
    pub plane_aligned: bool,
    /// Does GC copy inside a plane without the bus?
    pub copyback: bool,
    /// Do the dies of a chip work at the same time where they share a queue?
    pub die_interleave: bool,
    /// How GC chooses its victim.
    pub gc_policy: GcPolicy,
    /// Blocks that the policy `d-choices` draws.
    pub gc_choices: u32,
    /// When GC runs.
    pub gc_mode: GcMode,
    /// What may pass a foreground GC job.
    pub gc_preempt: GcPreempt,
    /// GC is scheduled when the free pages of a unit fall below this share of the base.
    pub gc_threshold: Ratio,
    /// What `gc_threshold` is a share of.
    pub gc_threshold_base: ThresholdBase,
    /// Unit with one GC victim choice.
    pub gc_unit: Unit,
    /// Choice of free blocks by wear.
    pub wear_levelling: WearLevelling,
    /// Spread of erases in a plane above which static wear levelling moves data.
    pub wear_threshold: u32,
    /// Is the last page of every block kept for a summary of the block (ECR section 3.1)?
    pub summary_page: bool,
    /// What flash holds before the run.
    pub precondition: Precondition,
    /// Cache size the device is meant for.
    pub cache: ByteSize,
    /// The part of the flash that holds the cache; `None`: it is in DRAM.
    pub cache_region: Option<CacheRegion>,
    /// When a program counts as done.
    pub evict_wait: EvictWait,
    /// Whether a read waits for the page that it displaced.
    pub evict_wait_read: EvictWaitRead,
    /// What a read miss transfers.
    pub read_fill: ReadFill,
    /// Does programming a page whose sectors are not all cached read the old page first?
    pub rmw: bool,
}

impl DeviceConfig {
    /// Pages the host can address: the raw pages without the over-provisioning, rounded down.
    pub fn logical_pages(&self) -> u64 {
        self.op.rest().of(self.geometry.pages())
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

    /// Does the choice of victims depend on when data were written?
    pub(crate) fn gc_uses_age(&self) -> bool {
        self.gc_policy == GcPolicy::CostBenefit
    }

    /// Where static allocation puts every page.
    pub fn layout(&self) -> StaticLayout {
        StaticLayout::new(&self.geometry, self.allocation_order, self.queue_per)
            .expect("a valid configuration names each axis once")
    }

    /// Planes of one `unit`.
    pub fn planes_per(&self, unit: Unit) -> u32 {
        match unit {
            Unit::Plane => 1,
            Unit::Die => self.geometry.planes_per_die,
            Unit::Chip => self.geometry.dies_per_chip * self.geometry.planes_per_die,
        }
    }

    /// Planes of one unit with its own queue.
    pub fn planes_per_queue(&self) -> u32 {
        self.planes_per(match self.queue_per {
            QueuePer::Chip => Unit::Chip,
            QueuePer::Die => Unit::Die,
        })
    }

    /// GC is scheduled when a `gc_unit` has fewer free pages than this.
    ///
    /// Rounded up: free pages are whole, so they are below the share iff they are below this.
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
            || self.gc_threshold_pages() < self.gc_least_free_pages()
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
        let pages =
            u64::from(planes) * u64::from(g.blocks_per_plane) * u64::from(g.pages_per_block);
        match self.gc_threshold_base {
            ThresholdBase::Total => self.gc_threshold.of_up(pages),
            ThresholdBase::Spare => self.gc_threshold.of_product_up(self.op, pages),
        }
    }

    /// Bytes that `sectors` sectors move on the bus.
    pub fn bus_bytes(&self, sectors: u32) -> u64 {
        u64::from(sectors) * u64::from(self.sector_bytes)
    }

    /// Bus time of `sectors` sectors.
    pub fn transfer(&self, sectors: u32) -> Nanos {
        self.t_byte.times(self.bus_bytes(sectors))
    }

    /// Bus time of a whole page.
    pub fn page_transfer(&self) -> Nanos {
        self.transfer((self.geometry.page.bytes() / SECTOR_BYTES) as u32)
    }

    /// Every key in the order of the preset tables with its value as TOML; the region of the cache
    /// only if there is one.
    pub fn entries(&self) -> Vec<(&'static str, String)> {
        let region = self
            .cache_region
            .map(|region| (region::KEY, region.to_string()));
        let mut all: Vec<_> = self.other_entries().into_iter().chain(region).collect();
        all.sort_by_key(|(key, _)| keys::position(key));
        all
    }

    fn other_entries(&self) -> Vec<(&'static str, String)> {
        let g = &self.geometry;
        let time = |t: Picos| format!("\"{t}\"");
        let order: Vec<String> = self.allocation_order.map(Word::toml).into();
        vec![
            ("name", toml::Value::String(self.name.clone()).to_string()),
            ("channels", g.channels.to_string()),
            ("chips_per_channel", g.chips_per_channel.to_string()),
            ("dies_per_chip", g.dies_per_chip.to_string()),
            ("planes_per_die", g.planes_per_die.to_string()),
            ("blocks_per_plane", g.blocks_per_plane.to_string()),
            ("pages_per_block", g.pages_per_block.to_string()),
            ("page_bytes", g.page.bytes().to_string()),
            ("op", self.op.to_string()),
            ("t_read", time(self.t_read)),
            ("t_program", time(self.t_program)),
            ("t_erase", time(self.t_erase)),
            ("t_cmd", time(self.t_cmd)),
            ("t_cmd_read", time(self.t_cmd_read)),
            ("t_cmd_program", time(self.t_cmd_program)),
            ("t_cmd_erase", time(self.t_cmd_erase)),
            ("t_ready", time(self.t_ready)),
            ("t_byte", time(self.t_byte)),
            ("sector_bytes", self.sector_bytes.to_string()),
            ("t_dram", time(self.t_dram)),
            ("dram", self.dram.toml()),
            ("e_read", self.e_read.toml()),
            ("e_program", self.e_program.toml()),
            ("e_erase", self.e_erase.toml()),
            ("e_byte", self.e_byte.toml()),
            ("host_link", self.host_link.toml()),
            ("ftl", self.ftl.toml()),
            ("allocation", self.allocation.toml()),
            ("allocation_order", format!("[{}]", order.join(", "))),
            ("frontier", self.frontier.toml()),
            ("queue_per", self.queue_per.toml()),
            ("queue", self.queue.toml()),
            ("multi_plane", self.multi_plane.to_string()),
            ("plane_aligned", self.plane_aligned.to_string()),
            ("copyback", self.copyback.to_string()),
            ("die_interleave", self.die_interleave.to_string()),
            ("gc_policy", self.gc_policy.toml()),
            ("gc_choices", self.gc_choices.to_string()),
            ("gc_mode", self.gc_mode.toml()),
            ("gc_preempt", self.gc_preempt.toml()),
            ("gc_threshold", self.gc_threshold.to_string()),
            ("gc_threshold_base", self.gc_threshold_base.toml()),
            ("gc_unit", self.gc_unit.toml()),
            ("wear_levelling", self.wear_levelling.toml()),
            ("wear_threshold", self.wear_threshold.to_string()),
            ("summary_page", self.summary_page.to_string()),
            ("precondition", self.precondition.to_string()),
            ("cache", format!("\"{}\"", self.cache)),
            ("evict_wait", self.evict_wait.toml()),
            ("evict_wait_read", self.evict_wait_read.toml()),
            ("read_fill", self.read_fill.toml()),
            ("rmw", self.rmw.to_string()),
        ]
    }

    /// A device file that gives this device again.
    pub fn toml_text(&self) -> String {
        self.entries()
            .iter()
            .map(|(key, value)| format!("{key} = {value}\n"))
            .collect()
    }
}
