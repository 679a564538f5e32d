//! Whatever is set, the printed device is the device.

use super::*;
use proptest::prelude::*;

fn settings_strategy() -> impl Strategy<Value = Vec<String>> {
    fn word(key: &'static str, words: &'static [&'static str]) -> BoxedStrategy<String> {
        proptest::sample::select(words)
            .prop_map(move |w| format!("{key}={w}"))
            .boxed()
    }
    fn number(key: &'static str, range: std::ops::Range<u32>) -> BoxedStrategy<String> {
        range.prop_map(move |n| format!("{key}={n}")).boxed()
    }
    fn time(key: &'static str) -> BoxedStrategy<String> {
        (0..10_000_000u64)
            .prop_map(move |ps| format!("{key}={ps}ps"))
            .boxed()
    }
    let fill = (any::<bool>(), 0..=1000u32)
        .prop_map(|(trace, fill)| format!("precondition={{trace={trace},fill=0.{fill:04}}}"));
    let one = prop_oneof![
        number("channels", 1..9),
        number("chips_per_channel", 1..5),
        number("dies_per_chip", 1..5),
        number("planes_per_die", 1..5),
        number("blocks_per_plane", 40..300),
        number("pages_per_block", 16..600),
        number("sector_bytes", 512..600),
        (0..8u32).prop_map(|n| format!("page_bytes={}", 512 << n)),
        (63_000_000..900_000_000u32).prop_map(|n| format!("op=0.{n:09}")),
        (0..999_999_999u32).prop_map(|n| format!("gc_threshold=0.{n:09}")),
        time("t_read"),
        time("t_program"),
        time("t_erase"),
        time("t_cmd"),
        time("t_cmd_read"),
        time("t_cmd_program"),
        time("t_cmd_erase"),
        time("t_ready"),
        time("t_byte"),
        time("t_dram"),
        word("dram", &["per_request", "per_page"]),
        word("frontier", &["plane", "die"]),
        word("queue_per", &["chip", "die"]),
        word("queue", &["fifo", "read-first"]),
        word("allocation", &["static", "dynamic"]),
        word("copyback", &["on", "off"]),
        word(
            "gc_policy",
            &["none", "greedy", "cost-benefit", "d-choices", "random"]
        ),
        word("gc_mode", &["foreground", "background", "off", "false"]),
        word("gc_preempt", &["off", "page"]),
        number("gc_choices", 1..1000),
        number("wear_threshold", 1..1000),
        word("die_interleave", &["on", "off"]),
        (0..2_000_000u32).prop_map(|n| format!("e_program={n}nJ")),
        (0..9_000u32).prop_map(|n| format!("e_byte={n}pJ")),
        word("gc_threshold_base", &["total", "spare"]),
        word("gc_unit", &["plane", "die", "chip"]),
        word("wear_levelling", &["off", "dynamic", "static", "false"]),
        word("summary_page", &["on", "off", "true"]),
        word("evict_wait", &["program_done", "transfer_done", "issue"]),
        word("evict_wait_read", &["issue", "same"]),
        word("read_fill", &["page", "requested"]),
        word("rmw", &["true", "off"]),
        word(
            "allocation_order",
            &["plane,die,chip,channel", "die,channel,plane,chip"]
        ),
        word("precondition", &["trace"]),
        fill,
        (1..5000u32).prop_map(|n| format!("cache={n}KiB")),
        (1..5000u32, any::<bool>()).prop_map(|(n, read)| format!(
            "cache_region={{size=\"{n}MiB\",t_read=\"{n}ns\",t_program=\"{n}ps\",\
             evict_read={read}}}"
        )),
        "[ -~]{1,12}"
            .prop_filter("not blank", |s| !s.trim().is_empty())
            .prop_map(|s| format!("name=x{s}")),
    ];
    proptest::collection::vec(one, 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn printed_values_parse_back(index in 0..6usize, mut list in settings_strategy()) {
        // One frontier per chip does not go with a queue per die, whatever the preset says.
        list.push("frontier=plane".to_owned());
        // Nor a cache in flash with addresses that have no chip.
        if list.iter().any(|set| set.starts_with("cache_region")) {
            list.push("allocation=static".to_owned());
        }
        let name = preset_names().nth(index).unwrap();
        let device = EffectiveDevice::from_preset(name, &list).unwrap();
        let config = device.config();
        let plain = EffectiveDevice::from_text("x.toml", &config.toml_text(), &[]).unwrap();
        prop_assert_eq!(plain.config(), config);
        let full = EffectiveDevice::from_text("x.toml", &device.toml_text(), &[]).unwrap();
        prop_assert_eq!(full.config(), config);
        prop_assert!(full.settings().iter().all(|s| s.origin == Origin::File("x.toml".into())));
    }
}
