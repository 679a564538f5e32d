use super::*;
use destage_types::rng::SplitMix64;
use destage_types::{Axis, ByteSize, Picos};
use std::io::{self, Read};

mod gc;
mod inside;
mod region;
mod roundtrip;
mod rules;
mod units;

fn sets(list: &[&str]) -> Vec<String> {
    list.iter().map(|&s| s.to_owned()).collect()
}

fn preset(name: &str) -> EffectiveDevice {
    EffectiveDevice::from_preset(name, &[]).unwrap()
}

fn faults(preset: &str, list: &[&str]) -> Vec<String> {
    match EffectiveDevice::from_preset(preset, &sets(list)) {
        Err(ConfigError::Faults { faults, .. }) => {
            faults.iter().map(DeviceFault::to_string).collect()
        }
        other => panic!("faults expected, not {other:?}"),
    }
}

fn only_fault(list: &[&str]) -> String {
    let found = faults("default", list);
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

fn with(list: &[&str]) -> EffectiveDevice {
    EffectiveDevice::from_preset("default", &sets(list)).unwrap()
}

fn notices(base: &[&str], more: &[&str]) -> String {
    with(&[base, more].concat()).notices().join("\n")
}

#[track_caller]
fn says(text: &str, part: &str) {
    assert!(text.contains(part), "{text}");
}

/// A setting and a part of what is said of it in every line.
fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let cells = table.lines().filter_map(|row| row.split_once('|'));
    cells.map(|(set, part)| (set.trim(), part.trim()))
}

#[test]
fn presets_have_the_sizes_of_the_tables() {
    let gib = |n: f64| (n * (1u64 << 30) as f64) as u64;
    for (name, raw, logical) in [
        ("default", 32.0, 29.76),
        ("classroom-128m", 0.125, 0.1),
        ("req-block-128g", 128.0, 115.2),
        ("prober-512g", 1024.0, 716.8),
        ("cac-128g", 128.0, 115.2),
        ("ecr-64g", 64.0, 54.4),
        ("ecr-64g-background", 64.0, 54.4),
        ("procache-32g", 32.0, 29.76),
        ("procache-emu", 32.0, 29.76),
        ("procache-emu-uniform", 32.0, 29.76),
        ("enterprise-tlc-1t", 1026.0, 895.698),
        ("consumer-tlc-1t", 1026.0, 933.147),
        ("sata-tlc-500g", 576.0, 447.552),
        ("qlc-2t", 2048.0, 1787.904),
    ] {
        let device = preset(name);
        let config = device.config();
        assert_eq!(config.name, name);
        assert_eq!(config.geometry.raw_bytes(), gib(raw), "{name}");
        let bytes = config.logical_pages() * config.mapping().bytes();
        let whole = gib(logical) / config.mapping().bytes() * config.mapping().bytes();
        assert_eq!(bytes, whole, "{name}");
    }
}

#[test]
fn older_names_stand_for_presets_of_today() {
    for (older, name) in [
        ("tlc-nvme-1t", "enterprise-tlc-1t"),
        ("qlc-nvme-2t", "qlc-2t"),
    ] {
        assert_eq!(preset(older).config(), preset(name).config());
        assert!(preset_names().all(|known| known != older));
    }
}

#[test]
fn the_default_names_every_key_and_presets_give_the_sources_of_theirs() {
    for preset in presets() {
        let table: toml::Table = preset.text.parse().unwrap();
        let config = self::preset(preset.name).into_config();
        for key in keys() {
            let given = table.contains_key(key.name);
            // The default leaves out what falls back. Other presets may leave all but their name to it or to a base.
            let left_out = key.name == "base" || key.fallback.is_some();
            let must = preset.name == DEFAULT_PRESET || key.name == "name";
            assert!(given || left_out || !must, "{}: {}", preset.name, key.name);
            let source = preset.source(key.name);
            assert_eq!(source.is_some_and(|s| !s.is_empty()), given, "{}", key.name);
            let of_base = preset.base().map(|base| base.text.parse().unwrap());
            let in_base = of_base.is_some_and(|base: toml::Table| base.contains_key(key.name));
            let given = given || in_base;
            let shown = key.show(&config).is_some();
            assert_eq!(
                shown,
                key.name != "base" && (given || key.fallback != Some("None"))
            );
        }
        assert!(table.keys().all(|key| keys().iter().any(|k| k.name == key)));
    }
}

#[test]
fn every_key_is_told_apart_and_explained() {
    for (i, key) in keys().iter().enumerate() {
        assert!(key.meaning.len() > 10, "{}", key.name);
        assert!(
            keys()[..i].iter().all(|k| k.name != key.name),
            "{}",
            key.name
        );
        let fallback = key.fallback.filter(|&name| name != "None");
        assert!(fallback.is_none_or(|name| keys().iter().any(|k| k.name == name)));
    }
}

#[test]
fn values_of_two_presets() {
    let device = preset("ecr-64g");
    let ecr = device.config();
    assert_eq!(
        (ecr.t_read.mean(), ecr.t_program.of_types()),
        (Nanos(25_000), vec![Nanos(200_000)])
    );
    assert_eq!(ecr.page_transfer(), Nanos(105_600), "8 x 528 B x 25 ns");
    assert_eq!(
        (ecr.frontier, ecr.gc_unit, ecr.queue_per),
        (FlashUnit::Chip, FlashUnit::Chip, QueuePer::Chip)
    );
    assert!(ecr.summary_page);
    assert_eq!(ecr.data_pages_per_block(), 63);
    // 5 % of 8 x 512 blocks is 204.8: at 204 free blocks a chip collects until 206 are free.
    assert_eq!(ecr.gc_threshold_unit, ThresholdUnit::Blocks);
    assert_eq!(ecr.gc_threshold_pages(), 204 * 64);
    assert_eq!(ecr.gc_threshold_pages_per_chip(), 204 * 64);
    assert_eq!(ecr.gc_watermark(), Some(205));
    assert_eq!(
        (
            ecr.gc_trigger,
            preset("ecr-64g-background").config().gc_trigger
        ),
        (GcTrigger::Operation, GcTrigger::Immediate)
    );
    assert_eq!(ecr.cache, ByteSize(32 << 20));
    let device = preset("req-block-128g");
    let rb = device.config();
    assert_eq!(rb.page_transfer(), Nanos(40_960));
    assert_eq!(
        rb.t_cmd_erase,
        Picos(70_000),
        "t_cmd is the default of all three"
    );
    // 10 % of the spare tenth of a plane of 8192 x 64 pages: 5242.88, four planes per chip.
    assert_eq!(rb.gc_threshold_pages(), 5_243);
    assert_eq!(rb.gc_threshold_pages_per_chip(), 4 * 5_243);
}

#[test]
fn presets_are_preconditioned_as_their_papers_ask() {
    for (name, fill, until_gc) in [
        ("ecr-64g", 1, true),
        ("ecr-64g-background", 1, true),
        ("prober-512g", 1, true),
        ("cac-128g", 0, false),
    ] {
        let device = preset(name);
        let wanted = device.config().precondition;
        assert_eq!(wanted.fill, Ratio::whole(fill), "{name}");
        assert_eq!(wanted.overwrite == Overwrite::UntilGc, until_gc, "{name}");
        assert!(device.notices().is_empty(), "{:?}", device.notices());
    }
    for off in ["gc_policy=none", "gc_mode=off"] {
        let device = with(&[off]);
        assert!(!device.config().collects());
        assert!(device.notices()[0].contains("no garbage collection"));
    }
    let never = ["gc_threshold_base=total", "precondition.fill=1"];
    let device = EffectiveDevice::from_preset("req-block-128g", &sets(&never)).unwrap();
    assert!(
        device.notices()[0].contains("a plane never has more free pages than the threshold of"),
        "{:?}",
        device.notices()
    );
}

#[test]
fn later_layers_win_and_values_keep_their_origin() {
    let file = "base = \"cac-128g\"\nt_read = \"30us\"\nt_cmd = \"1us\"\nt_cmd_erase = \"2us\"\n";
    let set = sets(&[
        "t_program=1.5ms",
        "precondition.fill=0.25",
        "allocation_order=plane,die,chip,channel",
    ]);
    let device = EffectiveDevice::from_text("dir/mine.toml", file, &set).unwrap();
    let config = device.config();
    assert_eq!(config.name, "mine");
    assert_eq!(config.geometry.channels, 8);
    assert_eq!(config.t_read, Picos(30_000_000).into());
    assert_eq!(
        (config.t_cmd_read, config.t_cmd_erase),
        (Picos(1_000_000), Picos(2_000_000))
    );
    assert!(config.precondition.trace, "the other fields stay");
    assert_eq!(config.precondition.fill.to_string(), "0.25");
    assert_eq!(config.allocation_order[0], Axis::Plane);
    let origin = |key: &str| {
        let found = device.settings().iter().find(|s| s.key == key).unwrap();
        found.origin.to_string()
    };
    assert_eq!(origin("channels"), "preset cac-128g");
    assert_eq!(origin("t_read"), "file dir/mine.toml");
    assert_eq!(origin("t_cmd_read"), "file dir/mine.toml");
    assert_eq!(origin("t_program"), "--set");
    assert_eq!(origin("precondition"), "--set");
    let plain = EffectiveDevice::from_text("a.toml", "op = 0.2", &[]).unwrap();
    assert!(
        plain
            .settings()
            .iter()
            .any(|s| s.key == "t_read" && s.origin == Origin::BuiltIn)
    );
}

/// Whatever else is given, and in whatever order: a key that is given twice is a fault, and nothing else is.
#[test]
fn no_setting_is_given_twice() {
    let known = [
        "op=0.1",
        "t_read=20us",
        "precondition.fill=0.5",
        "t_program=200us",
        "rmw=true",
    ];
    let mut rng = SplitMix64::new(29);
    let mut draw = |below: usize| (rng.next_u64() % below as u64) as usize;
    for _ in 0..300 {
        let sets: Vec<String> = (0..1 + draw(5))
            .map(|_| known[draw(5)].to_owned())
            .collect();
        let mut different = sets.clone();
        different.sort();
        different.dedup();
        let again = sets.len() - different.len();
        assert_eq!(given_twice(&sets).len(), again, "{sets:?}");
        let loaded =
            EffectiveDevice::load("default", &sets, |_| -> std::io::Result<std::io::Empty> {
                Err(std::io::ErrorKind::NotFound.into())
            });
        match again {
            0 => assert!(loaded.is_ok(), "{sets:?}"),
            _ => says(&loaded.unwrap_err().to_string(), "given twice"),
        }
    }
    let again = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        given_twice(&sets).len()
    };
    assert_eq!(again(&["precondition=trace", "precondition.fill=1"]), 0);
    assert_eq!(again(&["precondition.fill=1", "precondition=trace"]), 1);
    assert_eq!(again(&["op = 0.1", "op=0.2", "op=0.2"]), 2);
}

#[test]
fn all_faults_are_reported_in_order_of_keys() {
    let found = faults(
        "default",
        &[
            "rmw=maybe",
            "t_raed=25us",
            "t_read=75",
            "channels=0",
            "op=1.5",
            "queue=lifo",
            "oops",
        ],
    );
    let text = found.join("\n");
    let starts: Vec<&str> = found.iter().map(|f| f.split('`').nth(1).unwrap()).collect();
    assert_eq!(
        starts,
        ["channels", "op", "t_read", "queue", "rmw", "t_raed", "oops"],
        "{text}"
    );
    says(&found[0], "= 0 (--set): out of range; allowed: 1 to 65536");
    says(&found[1], "allowed: 0 to 1");
    says(&found[2], "a time needs a unit (ps, ns, us, ms, s)");
    says(&found[3], "did you mean `fifo`? allowed: fifo, read-first");
    says(&found[4], "true or false");
    says(&found[5], "unknown key; did you mean `t_read`?");
    says(&found[6], "key=value");
}

#[test]
fn single_faults() {
    let cases = r#"
        channels=eight                               | an integer, 1 to 65536, is expected
        page_bytes=4k                                | without unit, here 4096
        page_bytes=3000                              | a power of two, 512 to 65536
        pages_per_block=70000                        | 1 to 65535
        blocks_per_plane=1000000                     | 2^32 = 4294967296
        t_read=25 weeks                              | unknown unit of time
        t_read=2000s                                 | allowed: 0 to 1000s
        t_read=true                                  | a time such as "25us"
        t_program=[]                                 | t_program` = [] (--set): out of range; allowed: 1 to 5 times
        t_program=1us,1us,1us,1us,1us,1us            | allowed: 1 to 5 times
        t_program=[["1us"]]                          | or up to 5 by page of a word line
        t_program=true                               | or up to 5 by page of a word line
        t_program=1us,5                              | a time needs a unit
        t_program=1us,2000s                          | allowed: 0 to 1000s
        t_program=1us,                               | time
        suspend=always                               | allowed: off, erase, program+erase
        suspend=program                              | allowed: off, erase, program+erase
        t_resume=5                                   | a time needs a unit
        t_resume=-1us                                | time
        cache=16MB                                   | did you mean `16MiB`
        cache=16                                     | a size needs a unit
        op=1                                         | none is left to the host
        op=ten                                       | a number such as 0.1
        ftl=bast                                     | not available yet; available: page
        ftl=1GB/s                                    | allowed: page
        host_link=600MiB/s                           | "unlimited" or a table
        allocation=random                            | allowed: static, dynamic
        multi_plane=both                             | true or false
        copyback=maybe                               | true or false
        gc_mode=backgruond                           | did you mean `background`
        gc_choices=0                                 | allowed: 1 to 1024
        wear_levelling=statik                        | did you mean `static`? allowed: off, dynamic, static
        wear_threshold=ten                           | an integer, 1 to 1000000
        e_read=5W                                    | an energy is a number with a unit (pJ, nJ, uJ, mJ)
        e_byte=true                                  | an energy such as
        gc_policy=greddy                             | did you mean `greedy`
        frontier=chip                                | queue_per = "die"
        allocation_order=["channel","channel","die","plane"] | in any order
        precondition=dirty                           | the word "trace" or a table
        precondition={fill=1.5}                      | allowed: 0 to 1
        precondition={fil=1}                         | did you mean `fill`
        precondition={overwrite=-1}                  | allowed: 0 to 1000
        precondition={overwrite="twice"}             | until_gc
        raw=128GiB                                   | derived
        base=ecr-64g                                 | only a device file has a base
        name=                                        | not empty
    "#;
    for (set, part) in rows(cases) {
        says(&only_fault(&[set]), part);
    }
    let many = only_fault(&[
        "channels=65536",
        "chips_per_channel=2",
        "blocks_per_plane=1",
        "pages_per_block=1",
    ]);
    says(&many, "planes, at most 65536");
    let summary = only_fault(&["summary_page=true", "op=0.001"]);
    says(&summary, "0.00390625 at least");
}

#[test]
fn the_largest_device_has_two_to_the_32_pages() {
    let size = [
        "channels=1",
        "chips_per_channel=1",
        "dies_per_chip=1",
        "planes_per_die=1",
        "blocks_per_plane=16777216",
        "pages_per_block=256",
    ];
    let device = with(&size);
    assert_eq!(device.config().geometry.pages(), 1 << 32);
    assert!(device.config().gc_threshold_pages() > 0);
    let full = [&size[..], &["op=0"]].concat();
    says(&only_fault(&full), "needs spare pages");
}

#[test]
fn multi_plane_commands_need_planes_and_their_frontiers() {
    let notices = |more: &[&str]| {
        let device = with(&[&["multi_plane=on", "planes_per_die=4"], more].concat());
        assert!(device.config().multi_plane);
        device.notices().join("\n")
    };
    assert_eq!(notices(&["frontier=plane"]), "");
    says(&notices(&["planes_per_die=1"]), "a die has one plane");
    says(
        &notices(&["frontier=die"]),
        "the frontier of a die fills one block",
    );
    let most = [
        "planes_per_die=255",
        "blocks_per_plane=64",
        "gc_threshold=0.3",
    ];
    assert_eq!(notices(&most), "");
    let many = only_fault(&["multi_plane=on", "planes_per_die=256"]);
    says(&many, "256 planes of a die, at most 255");
}

#[test]
fn names_and_files() {
    let no_file = |_: &str| -> io::Result<io::Empty> { Err(io::Error::other("no such file")) };
    let file = |text: &'static str| move |_: &str| Ok(text.as_bytes());
    let error = EffectiveDevice::load("ecr64g", &[], no_file)
        .unwrap_err()
        .to_string();
    says(&error, "did you mean `ecr-64g`");
    let error = EffectiveDevice::load("x.toml", &[], no_file)
        .unwrap_err()
        .to_string();
    assert_eq!(error, "device file `x.toml` cannot be read: no such file");
    let bad = file("op = 0.1\nt_read = 75us\n");
    let error = EffectiveDevice::load("x.toml", &[], bad).unwrap_err();
    assert!(
        matches!(error, ConfigError::Syntax { line: 2, .. }),
        "{error}"
    );
    let base = file("base = \"cac\"\nt_read = 75");
    let error = EffectiveDevice::load("dir/x", &[], base)
        .unwrap_err()
        .to_string();
    says(&error, "2 faults");
    says(&error, "did you mean `cac-128g`");
    let good = file("name = \"a.toml\"\nmulti_plane = \"off\"");
    assert_eq!(
        EffectiveDevice::load("a.toml", &[], good)
            .unwrap()
            .config()
            .name,
        "a.toml"
    );
}

/// `/dev/zero` has no end: no more than the largest file is asked of it.
#[test]
fn files_without_end_are_refused() {
    for byte in [0, b' ', 0xff] {
        let endless = |_: &str| Ok(io::repeat(byte).take(1 << 40));
        let error = EffectiveDevice::load("/dev/zero", &[], endless).unwrap_err();
        let text = error.to_string();
        match byte {
            0xff => assert!(text.contains("cannot be read"), "{text}"),
            _ => assert_eq!(
                text,
                "device file `/dev/zero` is larger than 1MiB, the largest that is read"
            ),
        }
    }
    let spaces = " ".repeat(MAX_FILE_BYTES as usize);
    let largest = |_: &str| Ok(spaces.as_bytes());
    assert!(EffectiveDevice::load("x.toml", &[], largest).is_ok());
}

#[test]
fn printed_devices_are_device_files_with_sources() {
    for name in preset_names() {
        let device = preset(name);
        let again = EffectiveDevice::from_text("again.toml", &device.toml_text(), &[]).unwrap();
        assert_eq!(again.config(), device.config());
    }
    let text = preset("ecr-64g").toml_text();
    says(&text, "# preset ecr-64g: Table 2 (64 chips)");
    assert!(text.starts_with("name = "), "{text}");
}

#[test]
fn program_times_are_one_or_a_list() {
    for (set, times, mean, shown) in [
        ("t_program=1.5ms", vec![1_500_000], 1_500_000, "\"1500us\""),
        (
            "t_program=500us,2ms,5ms",
            vec![500_000, 2_000_000, 5_000_000],
            2_500_000,
            "[\"500us\", \"2ms\", \"5ms\"]",
        ),
        (
            "t_program=[\"1ns\", \"2ns\"]",
            vec![1, 2],
            2,
            "[\"1ns\", \"2ns\"]",
        ),
    ] {
        let device = with(&[set]);
        let program = &device.config().t_program;
        let of_types: Vec<u64> = program.of_types().iter().map(|time| time.0).collect();
        assert_eq!((of_types, program.mean()), (times, Nanos(mean)), "{set}");
        assert_eq!(program.to_string(), shown);
        assert_eq!(program.differ(), set.contains(','));
    }
}

#[test]
fn a_pause_is_put_off_only_where_writes_wait() {
    let pause = r#"program_pause={every=8,time="1ms",while_writes_wait="put_off"}"#;
    let given = faults("enterprise-tlc-1t", &["buffer=on_demand", pause]);
    assert_eq!(given.len(), 1, "{given:?}");
    says(&given[0], "program_pause");
    says(
        &given[0],
        "while_writes_wait = put_off needs buffer = bounded",
    );
    let set = sets(&[pause]);
    let device = EffectiveDevice::from_preset("enterprise-tlc-1t", &set).unwrap();
    let shown = device.config().program_pause.unwrap().to_string();
    let expected = r#"{ every = 8, time = "1ms", while_writes_wait = "put_off" }"#;
    assert_eq!(shown, expected);
    let set = sets(&[r#"program_pause={every=8,time="1ms"}"#]);
    let device = EffectiveDevice::from_preset("enterprise-tlc-1t", &set).unwrap();
    let shown = device.config().program_pause.unwrap().to_string();
    assert_eq!(shown, r#"{ every = 8, time = "1ms" }"#);
}

#[test]
fn another_buffer_over_a_preset_drops_what_the_preset_says_of_its_own() {
    let set = sets(&["buffer=on_demand"]);
    let device = EffectiveDevice::from_preset("enterprise-tlc-1t", &set).unwrap();
    let config = device.config();
    assert!(!config.is_bounded() && config.rewrite.is_none() && config.frame_release.is_none());
    let given = faults(
        "enterprise-tlc-1t",
        &["buffer=on_demand", "rewrite=in_place"],
    );
    assert_eq!(given.len(), 1, "{given:?}");
    says(&given[0], "it needs buffer = bounded");
}
