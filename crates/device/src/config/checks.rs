//! Checks of combinations of a device's values, and notices for its user.

use super::reader::KeyReader;
use super::{
    Allocation, DeviceConfig, EvictWait, FlashUnit, GcMode, GcTrigger, Overwrite, Ratio,
    ThresholdUnit,
};
use destage_types::{Geometry, PageSize, QueuePer};

/// Most planes of a device: each has a write frontier, which exists from the start.
pub(super) const MAX_PLANES: u32 = 1 << 16;
/// Most planes of one operation, whose bytes are counted in 32 bits.
const MAX_PLANES_OF_COMMAND: u32 = 255;
/// A physical page number has 32 bits.
const MAX_PAGES: u64 = 1 << 32;
/// Blocks are numbered in 32 bits, and one number says "none".
const MAX_BLOCKS: u64 = (1 << 32) - 1;
/// Pages are counted in 16 bits inside a block.
pub(super) const MAX_PAGES_PER_BLOCK: u32 = 65535;
/// Blocks of a plane: as many as give the largest device in one plane of blocks of 256 pages.
pub(super) const MAX_BLOCKS_PER_PLANE: u32 = 1 << 24;

/// Stands in for a geometry that is wrong, while the other keys are checked.
pub(super) const ONE_PAGE: Geometry = Geometry {
    channels: 1,
    chips_per_channel: 1,
    dies_per_chip: 1,
    planes_per_die: 1,
    blocks_per_plane: 1,
    pages_per_block: 1,
    page: PageSize::KIB4,
};

/// Do the counts multiply to a device that can be numbered?
pub(super) fn geometry(read: &mut KeyReader, g: &Geometry) -> bool {
    let before = read.faults();
    let levels = [
        g.channels,
        g.chips_per_channel,
        g.dies_per_chip,
        g.planes_per_die,
    ];
    let product = |n: u64, &count: &u32| n.saturating_mul(u64::from(count));
    let planes = levels.iter().fold(1, product);
    let pages = u128::from(planes) * u128::from(g.blocks_per_plane) * u128::from(g.pages_per_block);
    if planes > u64::from(MAX_PLANES) {
        let why = format!(
            "impossible geometry: channels x chips_per_channel x dies_per_chip x planes_per_die \
             are {planes} planes, at most {MAX_PLANES} are allowed"
        );
        read.impossible("channels", why);
    }
    if pages > u128::from(MAX_PAGES) {
        let why = format!(
            "impossible geometry: the counts multiply to {pages} pages, at most 2^32 = \
             {MAX_PAGES} are allowed (larger pages or fewer blocks)"
        );
        read.impossible("blocks_per_plane", why);
    }
    if planes.saturating_mul(u64::from(g.blocks_per_plane)) > MAX_BLOCKS {
        let why = format!("impossible geometry: at most {MAX_BLOCKS} blocks are allowed");
        read.impossible("blocks_per_plane", why);
    }
    read.faults() == before
}

/// Values that are right by themselves, compared with each other. A wrong geometry is not compared.
pub(super) fn together(read: &mut KeyReader, config: &DeviceConfig, geometry: bool) {
    if config.cache_region.is_some() && config.allocation != Allocation::Static {
        let why = format!(
            "impossible: a cached page is on the chip of its address, and allocation = \"{}\" \
             gives addresses no chip (allocation = static, or cache_region = false)",
            config.allocation
        );
        read.impossible("cache_region", why);
    }
    if config.cache_region.is_some() && config.pe_cycles.is_some() {
        let why = "impossible: the wear of a cache in flash is not simulated, so the device has no rated \
                   endurance (leave out pe_cycles, or cache_region = false)";
        read.impossible("pe_cycles", why.to_owned());
    }
    if geometry {
        space(read, config);
    }
    units(read, config);
    super::pace::checks(read, config);
    super::drive::checks(read, config);
    if read.faults() == 0 && config.collects() && !config.has_units() {
        room_for_gc(read, config);
    }
}

/// Does the geometry hold the logical space, summary pages included?
fn space(read: &mut KeyReader, config: &DeviceConfig) {
    let g = &config.geometry;
    let logical = config.logical_pages();
    if logical == 0 {
        let why = format!(
            "impossible: of {} pages none is left to the host",
            g.pages()
        );
        return read.impossible("op", why);
    }
    if logical >= MAX_PAGES {
        let why = format!("impossible: a device of {MAX_PAGES} pages needs spare pages");
        return read.impossible("op", why);
    }
    if !config.summary_page {
        return;
    }
    if g.pages_per_block == 1 {
        let why = "impossible: a block of one page has no room beside its summary page";
        return read.impossible("pages_per_block", why.to_owned());
    }
    let blocks = u64::from(g.planes()) * u64::from(g.blocks_per_plane);
    let data = blocks * u64::from(config.data_pages_per_block());
    if logical > data {
        let why = format!(
            "impossible: {logical} logical pages, but beside the summary pages only {data} pages \
             take data; op must be {} at least",
            1.0 / f64::from(g.pages_per_block)
        );
        read.impossible("op", why);
    }
}

/// Do frontiers, queues, dies and planes go together?
fn units(read: &mut KeyReader, config: &DeviceConfig) {
    if config.frontier == FlashUnit::Chip && config.queue_per == QueuePer::Die {
        let why = "impossible: one frontier for all dies of a chip, but queue_per = \"die\": a \
                   page would not stay on the die that its address belongs to";
        read.impossible("frontier", why.to_owned());
    }
    if config.frontier == FlashUnit::Drive {
        let why = "impossible: one frontier would write on one die at a time (frontier = plane or die; gc_unit takes drive)";
        read.impossible("frontier", why.to_owned());
    }
    let together = [
        ("multi_plane", config.multi_plane, "off"),
        ("program_planes", config.programs_all_planes(), "one"),
    ];
    for (key, given, other) in together {
        if given && config.geometry.planes_per_die > MAX_PLANES_OF_COMMAND {
            let why = format!(
                "impossible: an operation on {} planes of a die, at most {MAX_PLANES_OF_COMMAND} are allowed \
                 (fewer planes_per_die, or {key} = {other})",
                config.geometry.planes_per_die
            );
            read.impossible(key, why);
        }
    }
}

/// Can GC always make room? The host leaves one free block per frontier to the copies, and every
/// page but one must be able to be valid beside it.
fn room_for_gc(read: &mut KeyReader, config: &DeviceConfig) {
    let g = &config.geometry;
    let planes = u64::from(config.planes_per(config.frontier));
    let blocks = planes * u64::from(g.blocks_per_plane);
    let data = u64::from(config.data_pages_per_block());
    if blocks < 2 {
        let why = format!(
            "impossible: garbage collection moves data to another block, but a {} has {blocks} \
             (more blocks, a larger `frontier`, or gc_mode = off)",
            config.frontier
        );
        return read.impossible("blocks_per_plane", why);
    }
    let most = match data {
        0 => return,
        1 => blocks - 1,
        _ => data * (blocks - 1) - 1,
    };
    // Static allocation spreads the logical pages evenly over planes.
    let logical = config.logical_pages().div_ceil(u64::from(g.planes())) * planes;
    if logical > most {
        let raw = blocks * u64::from(g.pages_per_block);
        let why = format!(
            "impossible: over-provisioning leaves no space to garbage collection: a {} holds up to \
             {logical} logical pages, with one block free it takes {most}; op must be about {:.4} \
             at least (or gc_mode = off)",
            config.frontier,
            1.0 - most as f64 / raw as f64
        );
        read.impossible("op", why);
    }
}

/// Notices about limits that a user of the device may not expect.
pub(super) fn notices(config: &DeviceConfig) -> Vec<String> {
    let mut notices = Vec::new();
    if !config.collects() {
        notices.push(format!(
            "there is no garbage collection (gc_policy = {}, gc_mode = {}); a run that uses up the \
             free pages of a {} ends with an error",
            config.gc_policy, config.gc_mode, config.frontier
        ));
    }
    if config.evict_wait == EvictWait::Issue {
        notices.push(
            "evict_wait = issue: a write does not wait for the program of the page that it displaces, so \
             the device acts as a write buffer without end, and response times and rates may lie beyond \
             what its flash can do; evict_wait = program_done waits"
                .to_owned(),
        );
    }
    let before = &config.precondition;
    if before.fill == Ratio::ZERO && before.overwrite != Overwrite::Times(Ratio::ZERO) {
        notices.push(
            "precondition.overwrite with precondition.fill = 0 writes to all of the logical space, which leaves an \
             empty device filled at random; precondition.fill = 1 fills it in order before, a smaller share also says \
             how much is overwritten"
                .to_owned(),
        );
    }
    let g = &config.geometry;
    if config.multi_plane && g.planes_per_die == 1 {
        notices.push("multi_plane has no effect: a die has one plane (planes_per_die)".to_owned());
    } else if config.multi_plane && config.frontier != FlashUnit::Plane {
        notices.push(format!(
            "multi_plane joins reads, but hardly any programs: the frontier of a {} fills one block \
             after the other, which is in one plane (frontier = plane)",
            config.frontier
        ));
    }
    let unit = u64::from(config.planes_per(config.gc_unit))
        * u64::from(g.blocks_per_plane)
        * u64::from(g.pages_per_block);
    let filled = config.precondition.fill.of(config.logical_pages());
    let valid =
        filled.div_ceil(u64::from(g.planes())) * u64::from(config.planes_per(config.gc_unit));
    if config.collects() && !config.has_units() {
        gc_notices(config, unit, valid, &mut notices);
    }
    notices.extend(super::drive::few_spare_blocks(config));
    notices
}

/// The same of when a GC unit of `unit` pages collects, `valid` of which are filled from the start.
fn gc_notices(config: &DeviceConfig, unit: u64, valid: u64, notices: &mut Vec<String>) {
    let threshold = config.gc_threshold_pages();
    let share = format!("{} of {}", config.gc_threshold, config.gc_threshold_base);
    let filled = config.precondition.fill;
    if threshold + valid >= unit {
        notices.push(format!(
            "gc_threshold = {share}: with the device filled to {filled} a {} never has more free pages \
             than the threshold of {threshold}, so every program that finds a block to collect collects \
             one",
            config.gc_unit
        ));
    }
    let page = u64::from(config.geometry.pages_per_block);
    let pages = |watermark| match config.gc_threshold_unit {
        ThresholdUnit::Pages => watermark,
        ThresholdUnit::Blocks => watermark * page,
    };
    if let Some(watermark) = config.gc_watermark().map(pages)
        && watermark + valid >= unit
    {
        notices.push(format!(
            "gc_stop = watermark: with the device filled to {filled} a {} never has more free pages than \
             the watermark of {watermark}, so every collection goes on until no block has an invalid page",
            config.gc_unit
        ));
    }
    if config.is_threshold_below_reserve() {
        notices.push(format!(
            "gc_threshold = {share} has no effect: a {} always has more free pages than the threshold of \
             {threshold}, as it keeps {} for the copies of garbage collection",
            config.gc_unit,
            config.gc_least_free_pages()
        ));
    }
    if config.gc_mode == GcMode::Background && config.gc_trigger != GcTrigger::Program {
        notices.push(format!(
            "gc_trigger = {} has no effect: with gc_mode = background a unit at its threshold \
             collects whenever its chip has nothing else to do",
            config.gc_trigger
        ));
    }
}
