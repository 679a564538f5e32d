//! Random small devices, drawn from the table of keys: a new key is drawn without a word here.

use destage_conformance::reference::rng::SplitMix64;
use destage_device::config::{DeviceKey, EffectiveDevice, TableField, ValueType, keys};

/// Keys that say how large a device is, or what it is called; the rest is drawn from its type.
const OWN: [&str; 11] = [
    "name",
    "base",
    "channels",
    "chips_per_channel",
    "dies_per_chip",
    "planes_per_die",
    "blocks_per_plane",
    "pages_per_block",
    "page_bytes",
    "op",
    "cache",
];

/// Keys that are drawn together.
const INSIDE: [&str; 11] = [
    "handles",
    "placement",
    "isolation",
    "mapping",
    "mapping_entry_bytes",
    "map_cache",
    "map_evict",
    "map_evict_depth",
    "map_sram",
    "t_hmb",
    "parity",
];

const AXES: [&str; 5] = [
    "channel,chip,die,plane",
    "plane,die,chip,channel",
    "die,channel,plane,chip",
    "chip,plane,channel,die",
    "plane,channel,die,chip",
];

/// Lists of tables: steps of reading again.
const RETRIES: [&str; 2] = [
    "[{share=0.3,time=\"40us\"},{share=0.5,time=\"0ns\"}]",
    "[{share=1,time=\"7us\"}]",
];

/// The device that these settings make of the built-in one, if it is legal.
pub fn legal(sets: &[String]) -> Option<EffectiveDevice> {
    EffectiveDevice::from_preset("default", sets).ok()
}

/// Settings of a random legal device with pages of `page` bytes.
pub fn draw(rng: &mut SplitMix64, page: u64) -> Vec<String> {
    let percent = rng.pick(&[3, 10, 30]);
    let mut sets = match rng.chance(35) {
        true => units(rng, page),
        false => shape(rng, page),
    };
    let others = [&OWN[..], &INSIDE].concat();
    for key in keys().iter().filter(|key| !others.contains(&key.name)) {
        if !rng.chance(percent) {
            continue;
        }
        let before = sets.len();
        sets.extend(value(rng, key));
        // A key that contradicts those before it is left out, so that many keys can be drawn.
        if legal(&sets).is_none() {
            sets.truncate(before);
        }
    }
    sets
}

/// Counts of a device of some hundred or thousand pages with room for garbage collection.
fn shape(rng: &mut SplitMix64, page: u64) -> Vec<String> {
    let count = |rng: &mut SplitMix64| rng.pick(&[1, 1, 2, 2, 3]);
    let set = |key: &str, value: u64| format!("{key}={value}");
    let mut sets = vec![
        set("channels", count(rng)),
        set("chips_per_channel", count(rng)),
        set("dies_per_chip", count(rng)),
        set("planes_per_die", count(rng)),
        set("blocks_per_plane", rng.pick(&[6, 9, 20, 64])),
        set("pages_per_block", rng.pick(&[3, 4, 8, 32])),
        set("page_bytes", page),
    ];
    sets.push(format!("op={}", rng.pick(&["0.4", "0.5", "0.75"])));
    sets
}

/// A drive with units, most of whose keys must go together. Its pages hold one or more mapping units of `page` bytes.
fn units(rng: &mut SplitMix64, page: u64) -> Vec<String> {
    let count = |rng: &mut SplitMix64| rng.pick(&[1, 1, 2]);
    let set = |key: &str, value: u64| format!("{key}={value}");
    let (per_page, pages, low) = (
        rng.pick(&[1, 2, 4]),
        rng.pick(&[1, 1, 2, 3]),
        rng.pick(&[2, 3]),
    );
    let planes = rng.pick(&["one", "all"]);
    let unit = match planes {
        "all" => "die",
        _ => rng.pick(&["die", "plane"]),
    };
    let (planes_per_die, words) = (count(rng), rng.pick(&[2, 4, 9]));
    let high = low + rng.pick(&[1, 3]);
    let mut sets = vec![
        set("channels", count(rng)),
        set("chips_per_channel", count(rng)),
        set("dies_per_chip", count(rng)),
        set("planes_per_die", planes_per_die),
        set("blocks_per_plane", rng.pick(&[24, 64])),
        set("pages_per_block", pages * words),
        set("page_bytes", page * per_page),
        set("mapping_bytes", page),
        set("program_pages", pages),
        format!("program_planes={planes}"),
        format!("frontier={unit}"),
        format!("gc_unit={unit}"),
        format!("op={}", rng.pick(&["0.5", "0.75"])),
        "queue_per=die".to_owned(),
        "gc_mode=paced".to_owned(),
        set("gc_low", low),
        set("gc_high", high),
    ];
    let bits = match (pages, words) {
        (1, 9) => 3,
        (1, _) => 2,
        _ => pages,
    };
    let has_slc = rng.chance(30) && words % bits == 0;
    let inside = rng.chance(40);
    if has_slc || inside || rng.chance(70) {
        sets.push("allocation=dynamic".to_owned());
    }
    if has_slc || inside || rng.chance(70) {
        sets.push("buffer=bounded".to_owned());
    }
    if has_slc {
        sets.extend(slc(rng, bits, planes_per_die, high));
    }
    if inside {
        sets.extend(handles_and_mapping(rng, page, has_slc));
    }
    // A large page holds fewer mapping units.
    match legal(&sets) {
        Some(_) => sets,
        None => shape(rng, page),
    }
}

/// An SLC cache, whose keys need each other.
fn slc(rng: &mut SplitMix64, bits: u64, planes: u64, high: u64) -> Vec<String> {
    let keys: [(&str, &[&str]); 8] = [
        ("slc_dynamic", &["1", "3", "all"]),
        ("slc_full", &["direct", "fold"]),
        ("slc_idle", &["off", "40us", "3ms"]),
        ("slc_keep", &["0", "1"]),
        ("t_program_slc", &["0ns", "7us", "200us"]),
        ("t_read_slc", &["0ns", "25us"]),
        ("t_erase_slc", &["1ns", "3ms"]),
        ("pe_cycles_slc", &["1", "90000"]),
    ];
    let mut sets: Vec<String> = keys
        .iter()
        .map(|(key, values)| format!("{key}={}", rng.pick(values)))
        .collect();
    sets.extend([
        "pe_cycles=3000".to_owned(),
        format!("cell_bits={bits}"),
        format!("slc_blocks={}", planes * rng.pick(&[0, 1])),
        format!("slc_reserve={}", high + rng.pick(&[0, 2])),
    ]);
    sets
}

/// Handles, a mapping table on flash, or parity; whose keys need each other.
fn handles_and_mapping(rng: &mut SplitMix64, page: u64, has_slc: bool) -> Vec<String> {
    let mut sets = Vec::new();
    if rng.chance(50) {
        sets.push("handles=2".to_owned());
        let placement = [
            "[]",
            "[{stream=0,handle=1},{from=\"0 B\",to=\"1MiB\",handle=0}]",
            "[{tag=\"node\",handle=1},{from=\"100KiB\",to=\"4MiB\",handle=1}]",
        ];
        sets.push(format!("placement={}", rng.pick(&placement)));
        sets.push(format!(
            "isolation={}",
            rng.pick(&["initial", "persistent"])
        ));
    }
    if rng.chance(50) {
        let slots = rng.pick(&[1, 3, 40]);
        let (kind, bytes) = rng.pick(&[("entry", 8), ("page", page)]);
        sets.extend([
            format!("mapping={kind}"),
            format!("mapping_entry_bytes={}", rng.pick(&[8, 64, page])),
            format!("map_cache={}B", slots * bytes),
            format!("map_evict={}", rng.pick(&["one", "batch"])),
            format!("map_evict_depth={}", rng.pick(&[1, 2, 9])),
            format!("map_sram={}B", rng.pick(&[0, slots / 2, slots]) * bytes),
            format!("t_hmb={}", rng.pick(&["0ns", "1us", "40us"])),
        ]);
    }
    if !has_slc && rng.chance(30) {
        sets.push(format!("parity={}", rng.pick(&[1, 3, 30])));
    }
    sets
}

/// Random settings of one key.
fn value(rng: &mut SplitMix64, key: &DeviceKey) -> Vec<String> {
    let text = match key.value_type() {
        ValueType::Text | ValueType::PageSize | ValueType::Size => return Vec::new(),
        ValueType::Integer(range) => {
            let (least, most) = (u64::from(*range.start()), u64::from(*range.end()));
            let near = rng.pick(&[0, 1, 2, 7]);
            (least + near).min(most).to_string()
        }
        ValueType::IntegerOr(_, word) => rng.pick(&["1", "2", "5", word]).to_owned(),
        ValueType::Ratio(_) => rng.pick(&["0", "0.05", "0.25", "0.5", "1"]).to_owned(),
        ValueType::Time => rng
            .pick(&["0ns", "1ns", "0.83ns", "40ns", "7us", "600us", "3ms"])
            .to_owned(),
        ValueType::Times => rng
            .pick(&["0ns", "200us", "40ns,7us", "600us,3ms,1ms"])
            .to_owned(),
        ValueType::Energy => rng.pick(&["0pJ", "7pJ", "3nJ", "2uJ"]).to_owned(),
        ValueType::Flag => rng.pick(&["true", "false"]).to_owned(),
        ValueType::Words(words) => rng.pick(&words).0.to_owned(),
        ValueType::Axes => rng.pick(&AXES).to_owned(),
        ValueType::Tables(_) => rng.pick(&RETRIES).to_owned(),
        ValueType::Table(fields) => return table(rng, key.name, fields),
    };
    vec![format!("{}={text}", key.name)]
}

/// Fields of a table: each has few values worth trying.
fn table(rng: &mut SplitMix64, key: &str, fields: &[TableField]) -> Vec<String> {
    let field = |field: &TableField| {
        let field = field.name;
        let values: &[&str] = match field {
            "trace" | "evict_read" => &["true", "false"],
            "fill" => &["0", "0.3", "1"],
            "overwrite" => &["0", "0.5", "2", "until_gc"],
            "size" => &["16MiB", "1GiB"],
            "read" | "write" => &["600MB/s", "3GB/s"],
            "t_read" => &["0ns", "20us"],
            "t_program" => &["0ns", "200us"],
            "host" => &["1ns", "2us"],
            "moved" => &["0ns", "500ns", "40us"],
            "most" => &["off", "90us"],
            "window" => &["1", "8"],
            "every" => &["1", "40", "1000"],
            "time" => &["0ns", "3us", "2ms"],
            "while_writes_wait" => &["begin", "put_off"],
            other => panic!("{key}.{other}: no values are known to draw from"),
        };
        format!("{key}.{field}={}", rng.pick(values))
    };
    fields.iter().map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn devices_are_legal_and_every_key_is_drawn() {
        let mut drawn = BTreeSet::new();
        for seed in 0..600 {
            let sets = draw(&mut SplitMix64::new(seed), 4096);
            assert!(legal(&sets).is_some(), "{sets:?}");
            let names = sets.iter().filter_map(|s| s.split(['=', '.']).next());
            drawn.extend(names.map(str::to_owned));
        }
        let unused = ["name", "base", "cache"];
        for key in keys().iter().filter(|key| !unused.contains(&key.name)) {
            assert!(drawn.contains(key.name), "{} is never drawn", key.name);
        }
    }
}
