//! A mapping table on flash: worked examples of the specification. A translation page has 64 entries.

use super::*;

/// The small device with blocks that keep collection away; slots are entries, or pages with `page`.
fn mapped(frames: u64, table: &str, slots: u64) -> DriveConfig {
    let mut config = DriveConfig::small(frames);
    config.set("blocks_per_plane", 24);
    config.set("gc_low", 2);
    config.set("mapping", table);
    config.set("mapping_entry_bytes", 64);
    let bytes = if table == "page" { 4096 } else { 8 };
    config.set("map_cache", format!("{}B", slots * bytes));
    config
}

/// A run on a drive that is filled in part.
fn filled(config: DriveConfig, parts: usize, lines: &[&str]) -> DriveOutcome {
    let mut model = DriveModel::new(config).expect("legal keys");
    let units = 0..model.exported() / parts;
    model.precondition(units, &[]).expect("it fits");
    model.run(&trace(lines)).expect("it fits")
}

/// Hits, misses, and of these joined and loaded.
fn asked(o: &DriveOutcome) -> [u64; 4] {
    [o.map.hits, o.map.misses, o.map.joined, o.map.loads]
}

#[test]
fn i11_a_translation_is_loaded_before_the_data() {
    let lines = ["0 R 100 1", "1000000 R 100 1", "2000000 R 101 1"];
    let o = filled(mapped(4, "entry", 8), 1, &lines);
    assert_eq!(done(&o), [108_392, 1_054_196, 2_108_392]);
    assert_eq!(asked(&o), [1, 2, 0, 2]);
    let o = filled(mapped(4, "page", 8), 1, &lines);
    assert_eq!(done(&o), [108_392, 1_054_196, 2_054_196]);
    assert_eq!(asked(&o), [2, 1, 0, 1]);
}

#[test]
fn i12_units_of_a_request_share_the_load() {
    let o = filled(mapped(4, "entry", 8), 1, &["0 R 100 4"]);
    assert_eq!((done(&o), asked(&o)), (vec![120_680], [0, 4, 3, 1]));
}

#[test]
fn i14_a_second_request_joins() {
    let lines = ["0 R 100 1", "10000 R 101 1"];
    let o = filled(mapped(4, "entry", 8), 1, &lines);
    assert_eq!(done(&o), [108_392, 162_588]);
    assert_eq!(asked(&o), [0, 2, 1, 1]);
}

#[test]
fn i15_the_unit_of_a_write_that_misses_waits() {
    let lines = ["0 W 0 4", "10000 W 4 1"];
    let o = filled(mapped(4, "entry", 8), 1, &lines);
    assert_eq!((done(&o), o.map.loads), (vec![1000, 671_680], 2));
    let o = filled(DriveConfig::small(4), 1, &lines);
    assert_eq!(done(&o), [1000, 617_484]);
}

#[test]
fn i16_a_write_that_hits_does_not_wait() {
    let lines = ["0 R 0 4", "1000000 W 0 4", "1010000 W 4 1"];
    let o = filled(mapped(4, "entry", 8), 1, &lines);
    assert_eq!(done(&o), [120_680, 1_001_000, 1_617_484]);
    assert_eq!(o.map.hits, 4);
}

#[test]
fn i17_a_dirty_entry_is_written_back() {
    let lines = ["0 W 0 4", "2000000 R 100 1", "3000000 R 101 1"];
    for (evict, last, places) in [("one", 3_109_392, 2), ("batch", 3_108_392, 1)] {
        let mut config = mapped(4, "entry", 4);
        config.set("map_evict", evict);
        let o = filled(config, 1, &lines);
        assert_eq!(done(&o), [1000, 2_162_588, last], "{evict}");
        assert_eq!((o.map.evict_reads, o.map.evict_places), (1, places));
        assert_eq!(o.map.loads, 3);
    }
}

#[test]
fn i19_a_full_map_unit_is_programmed_before_the_load() {
    let lines = [
        "0 W 0 4",
        "2000000 W 64 4",
        "4000000 W 128 4",
        "6000000 W 192 4",
        "10000000 R 300 1",
    ];
    let o = filled(mapped(4, "page", 1), 1, &lines);
    let writes = [1000, 2_001_000, 4_001_000, 6_001_000];
    assert_eq!(done(&o), [&writes[..], &[10_724_876]].concat());
    assert_eq!((o.map.evict_places, o.programs), (4, 5));
}

#[test]
fn i25_an_slc_unit_waits_for_its_translation() {
    let mut config = super::slc::cached(4, &[("slc_dynamic", "8")]);
    for (key, value) in [
        ("gc_low", "2"),
        ("mapping", "entry"),
        ("mapping_entry_bytes", "64"),
        ("map_cache", "64B"),
    ] {
        config.set(key, value);
    }
    let o = filled(config, 2, &["0 W 0 4", "10000 W 4 4"]);
    assert_eq!(done(&o), [1000, 171_680]);
}

/// A block with units 5, 70, 71 and 130 valid is collected while others load some of their entries.
fn updates(table: &str, lines: &[&str]) -> DriveOutcome {
    let mut config = mapped(4, table, 4);
    config.set("gc_credit", 1000);
    let mut model = DriveModel::new(config).expect("legal keys");
    let kept = [5, 70, 71, 130];
    let others: Vec<usize> = (200..228).collect();
    let first = kept.into_iter().chain(others.clone());
    model.precondition(first, &others).expect("it fits");
    assert_eq!(model.ftl.victim(0), Some(0));
    model.collectors[0].owed = 1.0;
    model.run(&trace(lines)).expect("it fits")
}

#[test]
fn i27_collection_updates_each_translation_page_once() {
    // Entries that are being loaded are present.
    let both = ["0 R 70 2"];
    for (table, lines, pages) in [
        ("entry", &["0 R 70 1"][..], 3),
        ("entry", &both, 2),
        ("page", &both, 2),
    ] {
        let o = updates(table, lines);
        assert_eq!((o.moved, o.erases[0]), (4, 1), "{table} {lines:?}");
        assert_eq!((o.map.gc_reads, o.map.gc_places), (pages, pages));
    }
    // The entries that were present are dirty: they are written back for others.
    let more = ["0 R 70 2", "20000000 R 200 4", "30000000 R 210 4"];
    assert_eq!(updates("entry", &more).map.evict_places, 2);
}
