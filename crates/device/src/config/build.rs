//! From layers to a device: ranges, what goes together, and what is not available yet.

use super::error::{Reason, nearest};
use super::layers::Layers;
use super::reading::Reading;
use super::region::read_region;
use super::{DeviceConfig, Overwrite, Precondition, Ratio, Unit};
use destage_types::{Geometry, PageSize, Picos, QueuePer};
use toml::Value;

/// Most planes of a device: each has a write frontier, which exists from the start.
const MAX_PLANES: u64 = 1 << 16;
/// Planes of an operation are counted in 8 bits.
const MAX_PLANES_OF_COMMAND: u32 = 255;
/// A physical page number has 32 bits.
const MAX_PAGES: u64 = 1 << 32;
/// Blocks are numbered in 32 bits, and one number says "none".
const MAX_BLOCKS: u64 = (1 << 32) - 1;
const MAX_BLOCKS_PER_PLANE: u32 = 1 << 24;
/// Pages are counted in 16 bits inside a block.
const MAX_PAGES_PER_BLOCK: u32 = 65535;

/// The device that the layers describe, `None` after a fault, and notices.
pub(super) fn build(layers: &mut Layers) -> (Option<DeviceConfig>, Vec<String>) {
    let mut read = Reading::new(layers);
    let geometry = geometry(&mut read);
    let mut config = values(&mut read, geometry.unwrap_or(ONE_PAGE));
    precondition(&mut read, &mut config);
    read_region(&mut read, &mut config);
    if geometry.is_some() {
        space(&mut read, &config);
    }
    units(&mut read, &config);
    interleave(&mut read, &config);
    planes(&mut read, &config);
    if read.faults() == 0 && config.collects() {
        room_for_gc(&mut read, &config);
    }
    let notices = notices(&config);
    ((read.faults() == 0).then_some(config), notices)
}

/// Stands in for a geometry that is wrong, while the other keys are checked.
const ONE_PAGE: Geometry = Geometry {
    channels: 1,
    chips_per_channel: 1,
    dies_per_chip: 1,
    planes_per_die: 1,
    blocks_per_plane: 1,
    pages_per_block: 1,
    page: PageSize::KIB4,
};

fn geometry(read: &mut Reading) -> Option<Geometry> {
    let before = read.faults();
    let level = 1..=MAX_PLANES as u32;
    let channels = read.count("channels", level.clone());
    let chips_per_channel = read.count("chips_per_channel", level.clone());
    let dies_per_chip = read.count("dies_per_chip", level.clone());
    let planes_per_die = read.count("planes_per_die", level);
    let blocks_per_plane = read.count("blocks_per_plane", 1..=MAX_BLOCKS_PER_PLANE);
    let pages_per_block = read.count("pages_per_block", 1..=MAX_PAGES_PER_BLOCK);
    let page_bytes = read.count("page_bytes", 1..=u32::MAX);
    let page = PageSize::new(u64::from(page_bytes));
    if page.is_none() && read.faults() == before {
        let allowed = "a power of two, 512 to 65536".to_owned();
        read.fault("page_bytes", Reason::Range { allowed });
    }
    if read.faults() > before {
        return None;
    }
    let levels = [channels, chips_per_channel, dies_per_chip, planes_per_die];
    let planes = levels
        .iter()
        .fold(1u64, |n, &count| n.saturating_mul(u64::from(count)));
    let pages = u128::from(planes) * u128::from(blocks_per_plane) * u128::from(pages_per_block);
    if planes > MAX_PLANES {
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
    if planes * u64::from(blocks_per_plane) > MAX_BLOCKS {
        let why = format!("impossible geometry: at most {MAX_BLOCKS} blocks are allowed");
        read.impossible("blocks_per_plane", why);
    }
    (read.faults() == before).then_some(Geometry {
        channels,
        chips_per_channel,
        dies_per_chip,
        planes_per_die,
        blocks_per_plane,
        pages_per_block,
        page: page.expect("a wrong page size is a fault"),
    })
}

fn command(read: &mut Reading, key: &str, t_cmd: Picos) -> Picos {
    if read.is_given(key) {
        read.time(key)
    } else {
        t_cmd
    }
}

fn values(read: &mut Reading, geometry: Geometry) -> DeviceConfig {
    let share = Ratio::ZERO..=Ratio::ONE;
    let t_cmd = read.time("t_cmd");
    DeviceConfig {
        name: read.text("name"),
        geometry,
        op: read.ratio("op", share.clone()),
        t_read: read.time("t_read"),
        t_program: read.time("t_program"),
        t_erase: read.time("t_erase"),
        t_cmd,
        t_cmd_read: command(read, "t_cmd_read", t_cmd),
        t_cmd_program: command(read, "t_cmd_program", t_cmd),
        t_cmd_erase: command(read, "t_cmd_erase", t_cmd),
        t_ready: read.time("t_ready"),
        t_byte: read.time("t_byte"),
        sector_bytes: read.count("sector_bytes", 512..=4096),
        t_dram: read.time("t_dram"),
        dram: read.word("dram"),
        e_read: read.energy("e_read"),
        e_program: read.energy("e_program"),
        e_erase: read.energy("e_erase"),
        e_byte: read.energy("e_byte"),
        host_link: read.word("host_link"),
        ftl: read.word("ftl"),
        allocation: read.word("allocation"),
        allocation_order: read.axes("allocation_order"),
        frontier: read.word("frontier"),
        queue_per: read.word("queue_per"),
        queue: read.word("queue"),
        multi_plane: read.flag("multi_plane"),
        plane_aligned: read.flag("plane_aligned"),
        copyback: read.flag("copyback"),
        die_interleave: read.flag("die_interleave"),
        gc_policy: read.word("gc_policy"),
        gc_choices: read.count("gc_choices", 1..=1024),
        gc_mode: read.word("gc_mode"),
        gc_preempt: read.word("gc_preempt"),
        gc_threshold: read.ratio("gc_threshold", share),
        gc_threshold_base: read.word("gc_threshold_base"),
        gc_unit: read.word("gc_unit"),
        wear_levelling: read.word("wear_levelling"),
        wear_threshold: read.count("wear_threshold", 1..=1_000_000),
        summary_page: read.flag("summary_page"),
        precondition: Precondition::TRACE,
        cache: read.size("cache"),
        cache_region: None,
        evict_wait: read.word("evict_wait"),
        evict_wait_read: read.word("evict_wait_read"),
        read_fill: read.word("read_fill"),
        rmw: read.flag("rmw"),
    }
}

/// A table `{trace, fill, overwrite}`, or the word `trace`. Fields that are missing are off.
fn precondition(read: &mut Reading, config: &mut DeviceConfig) {
    const FIELDS: [&str; 3] = ["trace", "fill", "overwrite"];
    let value = &read.entry("precondition").value;
    let table = match value {
        Value::String(word) if word == "trace" => return,
        Value::Table(table) => table,
        _ => {
            let expected = "the word \"trace\" or a table such as \
                            { trace = true, fill = 0.5, overwrite = 0 }";
            read.fault(
                "precondition",
                Reason::Type {
                    expected: expected.to_owned(),
                },
            );
            return;
        }
    };
    let mut wanted = Precondition {
        trace: false,
        ..Precondition::TRACE
    };
    for (field, value) in table {
        let key = format!("precondition.{field}");
        match field.as_str() {
            "trace" => wanted.trace = read.flag_value(&key, value),
            "fill" => wanted.fill = read.ratio_value(&key, value, Ratio::ZERO..=Ratio::ONE),
            "overwrite" => {
                wanted.overwrite = match value {
                    Value::String(word) if word == "until_gc" => Overwrite::UntilGc,
                    Value::String(_) => {
                        let expected = "a multiple of the logical space or \"until_gc\"";
                        read.fault(
                            &key,
                            Reason::Type {
                                expected: expected.to_owned(),
                            },
                        );
                        Precondition::TRACE.overwrite
                    }
                    _ => {
                        let most = Ratio::whole(1000);
                        Overwrite::Times(read.ratio_value(&key, value, Ratio::ZERO..=most))
                    }
                };
            }
            _ => read.fault(
                &key,
                Reason::UnknownKey {
                    nearest: nearest(field, FIELDS),
                },
            ),
        }
    }
    config.precondition = wanted;
}

/// Does the geometry hold the logical space, summary pages included?
fn space(read: &mut Reading, config: &DeviceConfig) {
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

/// Do frontier and queue go together?
fn units(read: &mut Reading, config: &DeviceConfig) {
    if config.frontier == Unit::Chip && config.queue_per == QueuePer::Die {
        let why = "impossible: one frontier for all dies of a chip, but queue_per = \"die\": a \
                   page would not stay on the die that its address belongs to";
        read.impossible("frontier", why.to_owned());
    }
}

/// Do dies that work at the same time have their own frontiers?
fn interleave(read: &mut Reading, config: &DeviceConfig) {
    if config.die_interleave && config.frontier == Unit::Chip {
        let why = "impossible: dies that interleave cannot share the frontier of their chip";
        read.impossible("die_interleave", why.to_owned());
    }
}

/// Can a multi-plane command name all planes of a die?
fn planes(read: &mut Reading, config: &DeviceConfig) {
    if config.multi_plane && config.geometry.planes_per_die > MAX_PLANES_OF_COMMAND {
        let why = format!(
            "impossible: a multi-plane command for {} planes of a die, at most \
             {MAX_PLANES_OF_COMMAND} are allowed (fewer planes_per_die, or multi_plane = off)",
            config.geometry.planes_per_die
        );
        read.impossible("multi_plane", why);
    }
}

/// Can GC always make room? The host leaves one free block per frontier to the copies, and every
/// page but one must be able to be valid beside it.
fn room_for_gc(read: &mut Reading, config: &DeviceConfig) {
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

/// What a user of the device may not expect.
fn notices(config: &DeviceConfig) -> Vec<String> {
    let mut notices = Vec::new();
    if !config.collects() {
        notices.push(format!(
            "there is no garbage collection (gc_policy = {}, gc_mode = {}); a run that uses up the \
             free pages of a {} ends with an error",
            config.gc_policy, config.gc_mode, config.frontier
        ));
    }
    let g = &config.geometry;
    if config.plane_aligned && !config.multi_plane {
        notices.push("plane_aligned has no effect: multi_plane is off".to_owned());
    }
    if config.multi_plane && g.planes_per_die == 1 {
        notices.push("multi_plane has no effect: a die has one plane (planes_per_die)".to_owned());
    } else if config.multi_plane && config.frontier != Unit::Plane {
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
    if config.collects() && config.gc_threshold_pages() + valid >= unit {
        notices.push(format!(
            "gc_threshold = {} of {}: with the device filled to {} the threshold of {} free pages \
             is never met, so every program that finds a block to collect collects one",
            config.gc_threshold,
            config.gc_threshold_base,
            config.precondition.fill,
            config.gc_threshold_pages()
        ));
    }
    if config.collects() && config.gc_threshold_pages() < config.gc_least_free_pages() {
        notices.push(format!(
            "gc_threshold = {} of {} has no effect: the threshold of {} free pages is never met, as \
             a {} keeps {} for the copies of garbage collection",
            config.gc_threshold,
            config.gc_threshold_base,
            config.gc_threshold_pages(),
            config.gc_unit,
            config.gc_least_free_pages()
        ));
    }
    notices
}
