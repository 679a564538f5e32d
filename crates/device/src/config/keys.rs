//! The keys of a device: one table that says all there is to say of each.

use super::reader::{KeyReader, KeyValue, ValueType};
use super::{
    Allocation, Buffer, CachePersistence, CacheRegion, CommandOrder, Dram, EvictWait,
    EvictWaitRead, FlashUnit, FrameRelease, Ftl, GcMode, GcPolicy, GcStop, GcStreams, GcTrigger,
    HandlePlacement, HostLink, Isolation, MapEvict, MappingTable, PageTimes, Precondition,
    ProgramPause, ProgramPlanes, QueueOrder, Ratio, ReadRetry, ReadTransfer, Rewrite, SlcDynamic,
    SlcFull, SlcIdle, Suspend, ThresholdBase, ThresholdUnit, WearLevelling, WritePace, checks,
};
use destage_types::{Axis, ByteSize, Energy, Geometry, PageSize, Picos, QueuePer};

/// One key of a device file.
#[derive(Clone, Copy, Debug)]
pub struct DeviceKey {
    /// Name in a device file.
    pub name: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// The key whose value it takes where it is not given. Keys without one are given by the
    /// built-in preset.
    pub fallback: Option<&'static str>,
    value_type: fn() -> ValueType,
    show: fn(&DeviceConfig) -> Option<String>,
}

impl DeviceKey {
    /// The values it takes.
    pub fn value_type(&self) -> ValueType {
        (self.value_type)()
    }

    /// Its value in a device as TOML, if it has one.
    pub fn show(&self, config: &DeviceConfig) -> Option<String> {
        (self.show)(config)
    }
}

/// All keys, in the order in which devices are printed and faults reported.
pub fn keys() -> &'static [DeviceKey] {
    KEYS
}

/// Position of a key, or the end for an unknown one.
pub(super) fn position(name: &str) -> usize {
    KEYS.iter()
        .position(|key| key.name == name)
        .unwrap_or(KEYS.len())
}

/// `None` of nothing and `Some` of an expression.
macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

/// A row of [`KEYS`].
macro_rules! key {
    ($name:expr, [$($doc:literal)+], $type:ty, $allowed:expr, $fallback:expr, $show:expr) => {
        DeviceKey {
            name: $name,
            meaning: concat!($($doc),+).trim_ascii(),
            fallback: $fallback,
            value_type: || <$type>::value_type($allowed),
            show: $show,
        }
    };
}

/// Makes [`DeviceConfig`], [`KEYS`] and [`read`] of one row per key: its meaning, its name, the
/// field where that has another name, its type, the allowed range, and the key whose value it takes
/// where it is not given.
macro_rules! device_keys {
    (
        $(#[doc = $name_doc:literal])+
        name,
        $(#[doc = $base_doc:literal])+
        base,
        geometry {
            $(
                $(#[doc = $level_doc:literal])+
                $level:ident as $field:ident: $level_type:ty $([$counts:expr])?,
            )+
        }
        $(
            $(#[doc = $doc:literal])+
            $key:ident: $type:ty $([$allowed:expr])? $(= $fallback:expr)?,
        )+
    ) => {
        /// A device, every value valid. Times are kept in picoseconds and rounded up to nanoseconds
        /// where they are used.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct DeviceConfig {
            $(#[doc = $name_doc])+
            pub name: String,
            /// Counts of every level, and the page size.
            pub geometry: Geometry,
            $(
                $(#[doc = $doc])+
                pub $key: $type,
            )+
        }

        pub(super) static KEYS: &[DeviceKey] = &[
            key!("name", [$($name_doc)+], String, None, None, |c| c.name.toml()),
            key!("base", [$($base_doc)+], String, None, None, |_| None),
            $(key!(
                stringify!($level), [$($level_doc)+], $level_type, optional!($($counts)?), None,
                |c| c.geometry.$field.toml()
            ),)+
            $(key!(
                stringify!($key), [$($doc)+], $type, optional!($($allowed)?),
                optional!($(stringify!($fallback))?), |c| c.$key.toml()
            ),)+
        ];

        /// The device that the layers describe, to be thrown away after a fault, and whether its
        /// geometry is possible. All values are read before they are compared, so that every wrong
        /// one is reported.
        pub(super) fn read(from: &mut KeyReader) -> (DeviceConfig, bool) {
            let before = from.faults();
            let geometry = Geometry {
                $($field: from.key(stringify!($level), optional!($($counts)?), None),)+
            };
            let possible = from.faults() == before && checks::geometry(from, &geometry);
            let geometry = if possible { geometry } else { checks::ONE_PAGE };
            let name = from.key("name", None, None);
            $(let $key: $type = from.key(
                stringify!($key), optional!($($allowed)?), optional!($($fallback)?)
            );)+
            (DeviceConfig { name, geometry, $($key),+ }, possible)
        }
    };
}

device_keys! {
    /// How results name the device.
    name,
    /// The preset below a device file: it gives what the file does not.
    base,
    geometry {
        /// Channels, each with a bus of its own.
        channels as channels: u32 [1..=checks::MAX_PLANES],
        /// Chips (packages) on every channel.
        chips_per_channel as chips_per_channel: u32 [1..=checks::MAX_PLANES],
        /// Dies in every chip.
        dies_per_chip as dies_per_chip: u32 [1..=checks::MAX_PLANES],
        /// Planes of every die.
        planes_per_die as planes_per_die: u32 [1..=checks::MAX_PLANES],
        /// Blocks of every plane.
        blocks_per_plane as blocks_per_plane: u32 [1..=checks::MAX_BLOCKS_PER_PLANE],
        /// Pages of every block.
        pages_per_block as pages_per_block: u32 [1..=checks::MAX_PAGES_PER_BLOCK],
        /// Bytes of a page: the unit of mapping, of transfers and of the cache.
        page_bytes as page: PageSize,
    }
    /// Over-provisioning: share of the raw pages that is not exported, `0..1`.
    op: Ratio [Ratio::ZERO..=Ratio::ONE],
    /// Array time of a read; a list gives it by page of a word line, as for `t_program`. A list needs a drive with
    /// units.
    t_read: PageTimes,
    /// Array time of a program; a list gives it by page of a word line, LSB first, and page `i` of a
    /// block is of type `i` modulo its length (NF-2). A multi-plane program takes the longest of its
    /// pages'.
    t_program: PageTimes,
    /// Array time of an erase.
    t_erase: Picos,
    /// Command and address phase on the channel.
    t_cmd: Picos,
    /// Command phase of a read.
    t_cmd_read: Picos = t_cmd,
    /// Command phase of a program.
    t_cmd_program: Picos = t_cmd,
    /// Command phase of an erase.
    t_cmd_erase: Picos = t_cmd,
    /// Added to every array read.
    t_ready: Picos,
    /// Bus time of one byte.
    t_byte: Picos,
    /// Bytes a sector moves on the bus, spare bytes included.
    sector_bytes: u32 [512..=4096],
    /// DRAM service.
    t_dram: Picos,
    /// How often `t_dram` is charged.
    dram: Dram,
    /// Energy of an array read.
    e_read: Energy,
    /// Energy of an array program.
    e_program: Energy,
    /// Energy of an erase.
    e_erase: Energy,
    /// Energy of one byte on a channel.
    e_byte: Energy,
    /// Bandwidth between host and device.
    host_link: HostLink,
    /// Translation layer.
    ftl: Ftl,
    /// Chooser of the plane of a page.
    allocation: Allocation,
    /// Axes over which consecutive pages are spread, first one first.
    allocation_order: [Axis; 4],
    /// Unit with one write frontier.
    frontier: FlashUnit,
    /// Unit with its own queue.
    queue_per: QueuePer,
    /// Order of host operations in a queue.
    queue: QueueOrder,
    /// Operations that pause in their array phase for a host read that is next in the queue. They
    /// go on once no such read is left (NF-1).
    suspend: Suspend,
    /// Added to what is left of a program or erase each time it goes on after a suspension.
    t_resume: Picos,
    /// Do pages of one request that lie on one die in different planes go into one multi-plane
    /// read or program? Without effect with one plane per die.
    multi_plane: bool,
    /// Does GC copy inside a plane without the bus?
    copyback: bool,
    /// How GC chooses its victim.
    gc_policy: GcPolicy,
    /// Blocks that the policy `d-choices` draws.
    gc_choices: u32 [1..=1024],
    /// When GC runs.
    gc_mode: GcMode,
    /// The event at which a unit at its threshold collects in the foreground (ECR-7).
    gc_trigger: GcTrigger,
    /// How much a unit collects once it has come to its threshold (ECR-7).
    gc_stop: GcStop,
    /// A collection to the watermark ends when more is free than the threshold and so many blocks. With
    /// `gc_threshold_unit = blocks` at least one block more than that is free then.
    gc_stop_blocks: u32 [0..=65535],
    /// A unit is at its threshold when one more program would leave fewer free pages than this share of
    /// the base, or, where blocks are counted, when its free blocks are at most this share, rounded down.
    gc_threshold: Ratio [Ratio::ZERO..=Ratio::ONE],
    /// The quantity that `gc_threshold` counts in a unit.
    gc_threshold_unit: ThresholdUnit,
    /// The base of the share `gc_threshold`.
    gc_threshold_base: ThresholdBase,
    /// Unit with one GC victim choice.
    gc_unit: FlashUnit,
    /// Choice of free blocks by wear.
    wear_levelling: WearLevelling,
    /// Spread of erases in a plane above which static wear levelling moves data.
    wear_threshold: u32 [1..=1_000_000],
    /// Is the last page of every block kept for a summary of the block (ECR section 3.1)?
    summary_page: bool,
    /// Data on flash before the run; the word `trace` is short for `{ trace = true }`.
    precondition: Precondition,
    /// Cache size the device is meant for.
    cache: ByteSize,
    /// The part of the flash that holds the cache; `false`, or not given: it is in DRAM.
    cache_region: Option<CacheRegion> = None,
    /// When a program counts as done.
    evict_wait: EvictWait,
    /// Whether a read waits for the page that it displaced.
    evict_wait_read: EvictWaitRead,
    /// Data that a read miss transfers.
    read_fill: ReadTransfer,
    /// Does programming a page whose sectors are not all cached read the old page first?
    rmw: bool,
    /// Unit of mapping and of the cache: a part of a page, of which a page holds 16 at most. Not given: a
    /// page.
    mapping_bytes: Option<PageSize> = None,
    /// Pages of a plane that are programmed at once: 1 if not given.
    program_pages: Option<u32> [Some(1)..=Some(4)] = None,
    /// Planes that a program goes to at once.
    program_planes: Option<ProgramPlanes> = None,
    /// A unit of the host that has been open for so long is closed with padding; never if not given.
    unit_hold: Option<Picos> = None,
    /// Whether the cache frees frames on demand or keeps them until their data are on flash.
    buffer: Option<Buffer> = None,
    /// The part of the cache that a power cut leaves: nothing if not given.
    cache_persistence: Option<CachePersistence> = None,
    /// Where a write goes whose page was handed over and is not on flash. Looked at with `buffer = bounded`.
    rewrite: Option<Rewrite> = None,
    /// When a frame whose data were handed over is free. Looked at with `buffer = bounded`.
    frame_release: Option<FrameRelease> = None,
    /// Free blocks of a GC unit below which paced collection works. Needs `gc_mode = paced`.
    gc_high: Option<u32> [Some(1)..=Some(1 << 24)] = None,
    /// Free blocks of a GC unit that the host leaves to paced collection. Needs `gc_mode = paced`.
    gc_low: Option<u32> [Some(1)..=Some(1 << 24)] = None,
    /// Most places that paced collection moves for each place that the host writes, before the factor of
    /// the marks: 16 if not given.
    gc_ratio_max: Option<u32> [Some(1)..=Some(1024)] = None,
    /// Places that paced collection may owe before programs of the host wait: 4 units if not given.
    gc_credit: Option<u32> [Some(1)..=Some(1 << 24)] = None,
    /// Places that paced collection moves before a program of the host goes first: a unit if not given.
    gc_burst: Option<u32> [Some(1)..=Some(1 << 24)] = None,
    /// Do programs of the host wait while paced collection moves a burst of `gc_burst` places? Those that waited at its
    /// end start before the next burst.
    gc_hold: Option<bool> = None,
    /// Which data share a block under paced collection: `shared` or `own`; `own` if not given. The others are rules of
    /// `destage waf` alone.
    gc_streams: Option<GcStreams> = None,
    /// From the decision to suspend an operation to the start of the read; 0 if not given.
    t_suspend: Option<Picos> = None,
    /// Steps of array reads that are repeated, the collector's too. One draw from the seed of the run decides for each
    /// array read how many steps it takes.
    read_retry: Option<ReadRetry> = None,
    /// The same of reads on a die that has suspended a program or an erase; those of `read_retry` if not given.
    read_retry_suspended: Option<ReadRetry> = None,
    /// After so many mapping units, programs of the host that have not started wait for so long, on all dies; reads
    /// and collection go on (DR-8).
    program_pause: Option<ProgramPause> = None,
    /// Time that the processing of a command takes; 0 if not given.
    t_command: Option<Picos> = None,
    /// Processors of commands, with one queue: 1 if not given.
    command_cores: Option<u32> [Some(1)..=Some(64)] = None,
    /// Commands inside the device; others wait in the queue of their stream. Without limit if not given.
    command_slots: Option<u32> [Some(1)..=Some(1 << 20)] = None,
    /// Whether a command that waits holds those behind it.
    command_order: Option<CommandOrder> = None,
    /// How fast writes are let in: mapping units a second, or a table of what a mapping unit costs, with what collection
    /// moves for it; without limit if not given.
    write_pace: Option<WritePace> = None,
    /// Mapping units that are let in at once: 4 if not given.
    write_pace_burst: Option<u32> [Some(1)..=Some(1 << 20)] = None,
    /// Program/erase cycles that a block is rated for. With it the record has `endurance`: the bytes that
    /// the host can write, and years.
    pe_cycles: Option<u32> [Some(1)..=Some(u32::MAX)] = None,
    /// Bits of a native cell; a block in SLC mode uses one of them. 3 if not given, or `program_pages` if that is above 1.
    cell_bits: Option<u32> [Some(2)..=Some(5)] = None,
    /// Blocks of a GC unit that are always in SLC mode: the last ones of each group of planes.
    slc_blocks: Option<u32> [Some(0)..=Some(1 << 24)] = None,
    /// Most other blocks of a GC unit that are in SLC mode at a time, or `all`: none if not given.
    slc_dynamic: Option<SlcDynamic> = None,
    /// Free blocks of a GC unit that are not taken in SLC mode: `gc_high` if not given, and at least that.
    slc_reserve: Option<u32> [Some(1)..=Some(1 << 24)] = None,
    /// Where data of the host go while the SLC cache is full: `direct` if not given.
    slc_full: Option<SlcFull> = None,
    /// Time from the end of the last command inside the device to the folding of SLC blocks, or `off`: 1 s if not given.
    slc_idle: Option<SlcIdle> = None,
    /// Full SLC blocks of a GC unit that an idle device does not fold: 0 if not given.
    slc_keep: Option<u32> [Some(0)..=Some(1 << 24)] = None,
    /// Array time of a program in a block in SLC mode: 200 us if not given.
    t_program_slc: Option<Picos> = None,
    /// Array time of a read of a block in SLC mode: 25 us if not given.
    t_read_slc: Option<Picos> = None,
    /// Array time of an erase of a block in SLC mode: `t_erase` if not given.
    t_erase_slc: Option<Picos> = None,
    /// Program/erase cycles that a block is rated for in SLC mode: 30 times `pe_cycles` if not given.
    pe_cycles_slc: Option<u32> [Some(1)..=Some(u32::MAX)] = None,
    /// Handles: writes of each have open units and blocks of their own. 1 if not given.
    handles: Option<u32> [Some(1)..=Some(super::handles::MAX_HANDLES)] = None,
    /// The handle of a write: the first row that fits decides, and handle 0 is taken if none does. Not given: the number
    /// of its stream modulo `handles`.
    placement: Option<HandlePlacement> = None,
    /// Whether collected data stay apart by handle: `initial` if not given.
    isolation: Option<Isolation> = None,
    /// The part of the mapping table that the device keeps in memory: `full` if not given.
    mapping: Option<MappingTable> = None,
    /// Bytes of an entry of the mapping table on flash: 8 if not given.
    mapping_entry_bytes: Option<u32> [Some(1)..=Some(65_536)] = None,
    /// Memory for the mapping table. With `mapping = entry` an entry takes 8 bytes, and with `page` a page a mapping unit.
    map_cache: Option<ByteSize> = None,
    /// Entries that are clean once a translation page is written back: `one` if not given.
    map_evict: Option<MapEvict> = None,
    /// Most translation pages that are written back at a time for room in the map cache: the number of dies if not given.
    map_evict_depth: Option<u32> [Some(1)..=Some(1 << 16)] = None,
    /// The part of `map_cache` that is in the device, and not in memory of the host: all if not given.
    map_sram: Option<ByteSize> = None,
    /// Time that a request takes longer if an entry that it needs is in memory of the host: 1 us if not given.
    t_hmb: Option<Picos> = None,
    /// Program units for each unit of parity; 0, or not given: there is none.
    parity: Option<u32> [Some(0)..=Some(255)] = None,
}
