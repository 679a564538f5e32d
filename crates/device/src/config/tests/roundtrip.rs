//! A printed device reads back as the same device, whatever is set.

use super::*;
use proptest::prelude::*;

/// A value of a key as `--set` takes it. Where the values of several keys have to go together, only
/// those are drawn that go with any other.
fn setting(key: &'static DeviceKey) -> Option<BoxedStrategy<String>> {
    let name = key.name;
    let number = |range: std::ops::RangeInclusive<u32>| range.prop_map(|n| n.to_string()).boxed();
    let share = |range: std::ops::Range<u32>| range.prop_map(|n| format!("0.{n:09}")).boxed();
    let word = |words: &[&'static str]| {
        let word = proptest::sample::select(words.to_vec());
        word.prop_map(str::to_owned).boxed()
    };
    let value = match (name, key.value_type()) {
        ("base", _) => return None,
        ("name", _) => "[ -~]{1,12}"
            .prop_filter("not blank", |s| !s.trim().is_empty())
            .prop_map(|s| format!("x{s}"))
            .boxed(),
        ("channels", _) => number(1..=8),
        ("chips_per_channel" | "dies_per_chip" | "planes_per_die", _) => number(1..=4),
        ("blocks_per_plane", _) => number(40..=299),
        ("pages_per_block", _) => number(16..=599),
        ("op", _) => share(63_000_000..900_000_000),
        ("frontier", _) => word(&["plane", "die"]),
        ("gc_unit", _) => word(&["plane", "die", "chip"]),
        ("gc_mode", ValueType::Words(words)) => {
            let words = words.iter().map(|(word, _)| *word);
            word(&words.filter(|&word| word != "paced").collect::<Vec<_>>())
        }
        ("precondition", _) => {
            let table = (any::<bool>(), 0..=1000u32)
                .prop_map(|(trace, fill)| format!("{{trace={trace},fill=0.{fill:04}}}"));
            prop_oneof![Just("trace".to_owned()), table].boxed()
        }
        ("cache_region", _) => (1..5000u32, any::<bool>())
            .prop_map(|(n, read)| {
                format!(
                    "{{size=\"{n}MiB\",t_read=\"{n}ns\",t_program=\"{n}ps\",evict_read={read}}}"
                )
            })
            .boxed(),
        (_, ValueType::Integer(range)) => number(range),
        (_, ValueType::IntegerOr(range, word)) => {
            let given = proptest::bool::ANY.prop_map(move |_| word.to_owned());
            prop_oneof![number(range), given].boxed()
        }
        (_, ValueType::Ratio(_)) => share(0..999_999_999),
        (_, ValueType::PageSize) => (0..8u32).prop_map(|n| (512 << n).to_string()).boxed(),
        (_, ValueType::Time) => (0..10_000_000u64).prop_map(|n| format!("{n}ps")).boxed(),
        (_, ValueType::Times) => proptest::collection::vec(0..10_000_000u64, 1..=5)
            .prop_map(|times| {
                let times: Vec<String> = times.iter().map(|n| format!("{n}ps")).collect();
                times.join(",")
            })
            .boxed(),
        (_, ValueType::Energy) => (0..2_000_000u32, proptest::sample::select(vec!["nJ", "pJ"]))
            .prop_map(|(n, unit)| format!("{n}{unit}"))
            .boxed(),
        (_, ValueType::Size) => (1..5000u32).prop_map(|n| format!("{n}KiB")).boxed(),
        (_, ValueType::Flag) => word(&["on", "off", "true", "false"]),
        (_, ValueType::Words(words)) => {
            let mut words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            words.extend(words.contains(&"off").then_some("false"));
            word(&words)
        }
        (_, ValueType::Axes) => word(&["plane,die,chip,channel", "die,channel,plane,chip"]),
        ("program_pause", _) => (1..1_000_000u32, 0..10_000_000u64, any::<bool>())
            .prop_map(|(every, n, puts_off)| {
                let waits = if puts_off { "put_off" } else { "begin" };
                format!("{{every={every},time=\"{n}ps\",while_writes_wait={waits:?}}}")
            })
            .boxed(),
        ("write_pace", _) => (0..9000u32, 0..9000u32, any::<bool>())
            .prop_map(|(host, moved, table)| match table {
                true => format!("{{host=\"{}ns\",moved=\"{moved}ns\"}}", host + 1),
                false => (host + 1).to_string(),
            })
            .boxed(),
        ("host_link", _) => (1..9000u32)
            .prop_map(|n| format!("{{read=\"{n}MB/s\"}}"))
            .boxed(),
        ("placement", _) => {
            let row = proptest::sample::select(vec![
                "{stream=4294967295,handle=1}",
                "{tag=\"node\",handle=0}",
                "{from=\"0B\",to=\"4097B\",handle=1}",
                "{from=\"1MiB\",to=\"16TiB\",handle=0}",
            ]);
            proptest::collection::vec(row, 1..=3)
                .prop_map(|rows| format!("[{}]", rows.join(",")))
                .boxed()
        }
        (_, ValueType::Tables(_)) => {
            let step = (share(0..999_999_999), 0..10_000_000u64)
                .prop_map(|(share, n)| format!("{{share={share},time=\"{n}ps\"}}"));
            proptest::collection::vec(step, 1..=3)
                .prop_map(|steps| format!("[{}]", steps.join(",")))
                .boxed()
        }
        (_, other) => panic!("{name} takes {other:?}, of which nothing is drawn"),
    };
    Some(
        value
            .prop_map(move |value| format!("{name}={value}"))
            .boxed(),
    )
}

/// Keys that need others: they are drawn by themselves, on a device that has those.
const OF_UNITS: &[&str] = &[
    "mapping_bytes",
    "program_pages",
    "program_planes",
    "unit_hold",
    "buffer",
    "rewrite",
    "frame_release",
    "gc_high",
    "gc_low",
    "gc_ratio_max",
    "gc_credit",
    "gc_burst",
    "t_suspend",
    "t_read",
    "read_retry",
    "read_retry_suspended",
    "program_pause",
    "gc_streams",
    "gc_hold",
    "cache_persistence",
];

/// Keys of an SLC cache, which presets have.
const OF_SLC: &[&str] = &[
    "cell_bits",
    "slc_blocks",
    "slc_dynamic",
    "slc_reserve",
    "slc_full",
    "slc_idle",
    "slc_keep",
    "t_program_slc",
    "t_read_slc",
    "t_erase_slc",
    "pe_cycles_slc",
];

/// Keys of what is inside a drive: frontiers of its own, and a mapping table on flash.
const INSIDE: &[&str] = &[
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

fn settings() -> impl Strategy<Value = Vec<String>> {
    let free = keys().iter().filter(|key| {
        let needs_others = [OF_UNITS, OF_SLC, INSIDE];
        !needs_others.iter().any(|keys| keys.contains(&key.name))
    });
    let one = proptest::strategy::Union::new(free.filter_map(setting));
    proptest::collection::vec(one, 0..30)
}

/// Presets that map, program and collect whole pages.
fn of_pages() -> impl Strategy<Value = &'static str> {
    let names = preset_names().filter(|name| !preset(name).config().has_units());
    proptest::sample::select(names.collect::<Vec<_>>())
}

/// Keys of a device that maps, programs and collects in units.
fn units() -> impl Strategy<Value = Vec<String>> {
    let one = proptest::strategy::Union::new(keys().iter().filter_map(|key| {
        let fixed: &[&str] = match key.name {
            name if OF_SLC.contains(&name) => return None,
            "mapping_bytes" => &["4096", "8192", "16384"],
            "program_pages" => &["1", "2", "4"],
            "program_planes" => &["one", "all"],
            "unit_hold" => &["1ns", "2.5ms"],
            "buffer" => &["bounded"],
            "gc_high" => &["10", "20"],
            // With marks that are far enough apart, whatever is drawn besides.
            "gc_hold" => &["true", "false"],
            "gc_low" => &["5", "6"],
            "gc_streams" => &["shared", "own"],
            "placement" | "isolation" | "t_hmb" | "map_evict" => return setting(key),
            "handles" => &["2", "3"],
            "mapping" => &["entry", "page"],
            "map_cache" | "map_sram" => &["64B", "1MiB"],
            "mapping_entry_bytes" => &["8", "64"],
            "map_evict_depth" => &["1", "9"],
            "parity" => &["0", "7"],
            name if OF_UNITS.contains(&name) => return setting(key),
            _ => return None,
        };
        let value = proptest::sample::select(fixed);
        Some(
            value
                .prop_map(|value| format!("{}={value}", key.name))
                .boxed(),
        )
    }));
    proptest::collection::vec(one, 0..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn printed_values_parse_back(name in of_pages(), mut list in settings()) {
        // One frontier per chip does not go with a queue per die, whatever the preset says.
        list.push("frontier=plane".to_owned());
        // Nor a cache in flash with addresses that have no chip.
        let in_flash = preset(name).config().cache_region.is_some();
        if in_flash || list.iter().any(|set| set.starts_with("cache_region")) {
            list.push("allocation=static".to_owned());
            // The wear of a cache in flash is not simulated.
            list.retain(|set| !set.starts_with("pe_cycles"));
        }
        prints_back(&EffectiveDevice::from_preset(name, &list).unwrap())?;
    }

    #[test]
    fn printed_units_parse_back(mut list in units(), joined in any::<bool>(), inside in any::<bool>()) {
        let key = |set: &String| set.split('=').next().unwrap_or_default().to_owned();
        if inside {
            list.retain(|set| set != "gc_streams=shared");
            list.splice(0..0, ["handles=2", "mapping=page", "map_cache=4KiB"].map(str::to_owned));
        } else {
            list.retain(|set| !INSIDE.contains(&key(set).as_str()));
        }
        if joined {
            let planes = list.iter().rev().find(|set| set.starts_with("program_planes="));
            let all = planes.is_some_and(|set| set.ends_with("all"));
            list.push("gc_unit=drive".to_owned());
            list.push(format!("frontier={}", if all { "die" } else { "plane" }));
        }
        let needed = [
            "page_bytes=16384", "pages_per_block=48", "blocks_per_plane=400", "op=0.2", "queue_per=die", "allocation=dynamic",
            "frontier=die", "gc_unit=die", "gc_mode=paced", "buffer=bounded", "gc_high=10", "gc_low=5",
        ];
        let list: Vec<String> = needed.map(str::to_owned).into_iter().chain(list).collect();
        prints_back(&EffectiveDevice::from_preset("default", &list).unwrap())?;
    }
}

proptest! {
    /// Text of users and files sets nothing beside its own value, and ends no comment.
    #[test]
    fn text_stays_in_its_value_and_its_comment(text in any::<String>()) {
        let file = format!("# {}\nname = {}\n", toml_comment(&text), toml_string(&text));
        let table: toml::Table = file.parse().unwrap();
        prop_assert_eq!(table.len(), 1);
        prop_assert_eq!(table["name"].as_str(), Some(&*text));
        // A device is named by its file, and its values by the path of that.
        let path = format!("{text}.toml.toml");
        let device = EffectiveDevice::from_text(&path, "base = \"default\"\n", &[]).unwrap();
        let again = EffectiveDevice::from_text("x.toml", &device.toml_text(), &[]).unwrap();
        prop_assert_eq!(again.config(), device.config());
    }
}

fn prints_back(device: &EffectiveDevice) -> Result<(), TestCaseError> {
    let config = device.config();
    let plain = EffectiveDevice::from_text("x.toml", &config.toml_text(), &[]).unwrap();
    prop_assert_eq!(plain.config(), config);
    let full = EffectiveDevice::from_text("x.toml", &device.toml_text(), &[]).unwrap();
    prop_assert_eq!(full.config(), config);
    prop_assert!(
        full.settings()
            .iter()
            .all(|s| s.origin == Origin::File("x.toml".into()))
    );
    Ok(())
}
