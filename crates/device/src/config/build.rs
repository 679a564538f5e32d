//! From layers to a device: ranges, what goes together, and what is not available yet.

use super::error::{Reason, nearest};
use super::layers::{Layers, Origin};
use super::reading::Reading;
use super::{DeviceConfig, GcPolicy, Overwrite, Precondition, Ratio, Unit};
use destage_types::{Geometry, PageSize, Picos, QueuePer};
use toml::Value;

/// Is there garbage collection? Until there is, presets that need it are preconditioned by trace.
const GC_AVAILABLE: bool = false;

/// Most planes of a device: each has a write frontier, which exists from the start.
const MAX_PLANES: u64 = 1 << 16;
/// A physical page number has 32 bits.
const MAX_PAGES: u64 = 1 << 32;
const MAX_BLOCKS_PER_PLANE: u32 = 1 << 24;
/// Pages are counted in 16 bits inside a block.
const MAX_PAGES_PER_BLOCK: u32 = 65535;

/// The device that the layers describe, `None` after a fault, and notices.
pub(super) fn build(layers: &mut Layers) -> (Option<DeviceConfig>, Vec<String>) {
    let mut read = Reading::new(layers);
    let geometry = geometry(&mut read);
    let mut config = values(&mut read, geometry.unwrap_or(ONE_PAGE));
    precondition(&mut read, &mut config);
    if geometry.is_some() {
        space(&mut read, &config);
    }
    units(&mut read, &config);
    let mut notices = Vec::new();
    if !GC_AVAILABLE {
        without_gc(&mut read, &mut config, &mut notices);
    }
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
        host_link: read.word("host_link"),
        ftl: read.word("ftl"),
        allocation: read.word("allocation"),
        allocation_order: read.axes("allocation_order"),
        frontier: read.word("frontier"),
        queue_per: read.word("queue_per"),
        queue: read.word("queue"),
        multi_plane: read.flag_not_available("multi_plane"),
        copyback: read.flag_not_available("copyback"),
        gc_policy: read.word("gc_policy"),
        gc_mode: read.word("gc_mode"),
        gc_threshold: read.ratio("gc_threshold", share),
        gc_threshold_base: read.word("gc_threshold_base"),
        gc_unit: read.word("gc_unit"),
        wear_levelling: read.word("wear_levelling"),
        summary_page: read.flag("summary_page"),
        precondition: Precondition::TRACE,
        cache: read.size("cache"),
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

/// What a device asks of GC while there is none.
fn without_gc(read: &mut Reading, config: &mut DeviceConfig, notices: &mut Vec<String>) {
    if config.gc_policy != GcPolicy::None {
        notices.push(format!(
            "gc_policy = {}: there is no garbage collection yet; a run that uses up the free \
             pages of a {} ends with an error",
            config.gc_policy, config.frontier
        ));
    }
    if !config.precondition.needs_gc() {
        return;
    }
    let entry = read.entry("precondition");
    let from_preset = matches!(entry.origin, Origin::BuiltIn | Origin::Preset(_));
    if !from_preset {
        let available = "overwrite = 0 (more needs garbage collection)".to_owned();
        return read.fault("precondition.overwrite", Reason::NotAvailable { available });
    }
    notices.push(format!(
        "precondition = {} is what {} asks for; until there is garbage collection the device runs \
         with {}",
        config.precondition,
        entry.origin,
        Precondition::TRACE
    ));
    config.precondition = Precondition::TRACE;
}
