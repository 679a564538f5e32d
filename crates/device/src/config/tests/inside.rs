//! Keys of handles, of a mapping table on flash, and of parity (S-0.8, S-2, S-3, S-6).

use super::units::drive;
use super::*;
use destage_types::Tag;

fn config(sets: &[&str]) -> DeviceConfig {
    drive(sets).unwrap().into_config()
}

#[test]
fn what_does_not_go_together_is_refused_with_both_names() {
    let entry = ["mapping=entry", "map_cache=1MiB"];
    let with_entry = |set: &'static str| [entry[0], entry[1], set];
    let cases: &[(&[&str], &str, &str)] = &[
        (&["placement=[{stream=1,handle=0}]"], "placement", "handles"),
        (&["isolation=persistent"], "isolation", "handles"),
        (&["handles=2", "allocation=static"], "handles", "dynamic"),
        (&["handles=2", "gc_streams=shared"], "handles", "gc_streams"),
        (&["handles=2", "buffer=on_demand"], "handles", "bounded"),
        (&["handles=2", "copyback=on"], "copyback", "false"),
        (
            &["handles=2", "placement=[{stream=1,handle=2}]"],
            "placement",
            "names handle 2",
        ),
        (
            &["handles=2", "placement=[{stream=1,tag=\"gc\",handle=1}]"],
            "placement",
            "a stream, a tag, or",
        ),
        (
            &[
                "handles=2",
                "placement=[{from=\"1KiB\",to=\"1KiB\",handle=1}]",
            ],
            "placement",
            "no addresses",
        ),
        (
            &["handles=3", "isolation=persistent"],
            "gc_low",
            "3 frontiers",
        ),
        (&["map_cache=1MiB"], "map_cache", "mapping = entry"),
        (&["t_hmb=1us"], "t_hmb", "mapping = entry"),
        (&["mapping=entry"], "mapping", "map_cache"),
        (&with_entry("gc_low=1"), "gc_low", "and the map"),
        (
            &with_entry("mapping_entry_bytes=32768"),
            "mapping_entry_bytes",
            "larger",
        ),
        (&with_entry("allocation=static"), "mapping", "dynamic"),
        (
            &with_entry("cache_region={size=\"1GiB\",t_read=\"20us\",t_program=\"200us\"}"),
            "cache_region",
            "false",
        ),
        (&["parity=3", "gc_streams=shared"], "parity", "gc_streams"),
        (&["parity=3", "slc_dynamic=1"], "parity", "slc_dynamic"),
    ];
    for (sets, one, other) in cases {
        let message = drive(sets).unwrap_err().to_string();
        assert!(
            message.contains(one) && message.contains(other),
            "{sets:?}: {message}"
        );
    }
    assert!(drive(&with_entry("gc_low=2")).is_ok());
    assert!(drive(&["handles=3"]).is_ok());
}

/// S-0.8: a die has 400 blocks, and `op` says how many of them are spare.
#[test]
fn open_blocks_take_spare_ones() {
    let spare = |op: &str, more: &[&str]| {
        let sets = [&[op, "planes_per_die=1"], more].concat();
        drive(&sets).map(|device| device.notices().join("\n"))
    };
    // 7 of gc_high, and 128 handles with one block of the collector.
    let few = spare("op=0.33", &["handles=128"]).unwrap_err().to_string();
    says(&few, "gc_high = 7");
    says(
        &spare("op=0.35", &["handles=128"]).unwrap(),
        "140 spare blocks",
    );
    assert!(
        !spare("op=0.7", &["handles=128"])
            .unwrap()
            .contains("spare blocks")
    );
    assert!(!spare("op=0.03", &[]).unwrap().contains("spare blocks"));
}

#[test]
fn the_first_row_that_fits_names_the_handle() {
    let rows = "placement=[{stream=4,handle=2},{tag=\"node\",handle=1},{from=\"4KiB\",to=\"8KiB\",handle=3}]";
    let c = config(&["handles=4", rows]);
    assert_eq!(c.handle_of(4, Tag::Node, 4096), 2);
    assert_eq!(c.handle_of(5, Tag::Node, 4096), 1);
    assert_eq!(c.handle_of(5, Tag::Data, 4096), 3);
    assert_eq!(c.handle_of(5, Tag::Data, 8192), 0);
    let c = config(&["handles=4"]);
    assert_eq!(c.handle_of(7, Tag::Node, 4096), 3);
    assert_eq!((c.open_host_units(), c.collector_frontiers()), (4, 1));
}

#[test]
fn the_map_cache_has_slots_of_entries_or_pages() {
    let c = config(&["mapping=entry", "map_cache=1KiB", "map_sram=256B"]);
    assert_eq!((c.mapping_entries(), c.map_sram_entries()), (128, 32));
    assert_eq!(c.mapping_entries_per_page(), 2048);
    assert_eq!(c.translation_pages(), c.logical_pages().div_ceil(2048));
    let c = config(&["mapping=page", "map_cache=1KiB", "mapping_entry_bytes=64"]);
    assert_eq!((c.mapping_entries(), c.map_sram_entries()), (1, 1));
    assert_eq!(c.mapping_entries_per_page(), 256);
    assert_eq!(
        (c.t_hmb(), config(&[]).translation_pages()),
        (Nanos(1000), 0)
    );
}

#[test]
fn parity_takes_its_share_of_the_exported_units() {
    let all = config(&["op=0.2"]).geometry.pages();
    assert_eq!(config(&["parity=0"]).logical_pages(), all * 8 / 10);
    assert_eq!(config(&["parity=3"]).logical_pages(), all * 6 / 10);
}
