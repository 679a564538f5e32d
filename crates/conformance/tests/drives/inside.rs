//! Drives with handles and with a mapping table on flash: counts beside those of the slow model.

use super::check;
use destage_conformance::reference::drive::{
    DriveOutcome, random_handles_drive, random_inside_drive,
};
use destage_conformance::suites::is_full;
use destage_sim::ResultRecord;

/// Where the counts differ.
pub fn compare(record: &ResultRecord, slow: &DriveOutcome) -> Result<(), String> {
    let (counted, map) = (&record.counts, &slow.map);
    let counts = [
        ("map_hits", counted.map_hits, map.hits),
        ("hmb_hits", counted.hmb_hits, map.hmb_hits),
        ("map_misses", counted.map_misses, map.misses),
        ("map_joined", counted.map_joined, map.joined),
        ("map_loads", counted.map_loads, map.loads),
        ("map_evict_reads", counted.map_evict_reads, map.evict_reads),
        (
            "map_evict_places",
            counted.map_evict_places,
            map.evict_places,
        ),
        ("map_gc_reads", counted.map_gc_reads, map.gc_reads),
        ("map_gc_places", counted.map_gc_places, map.gc_places),
        ("map_moved_places", counted.map_moved_places, map.moved),
    ];
    for (name, fast, slow) in counts {
        if fast.unwrap_or(0) != slow {
            return Err(format!("{name}: {fast:?}, not {slow}"));
        }
    }
    let Some(rows) = &record.handles else {
        return Ok(());
    };
    for (row, slow) in rows.iter().zip(&slow.handles) {
        let fast = [
            row.host_places,
            row.moved_places,
            row.units_opened,
            row.units_erased,
            row.valid_at_erase,
        ];
        let slow = [
            slow.host,
            slow.moved,
            slow.units_opened,
            slow.units_erased,
            slow.valid_at_erase,
        ];
        if fast != slow {
            return Err(format!("handle {:?}: {fast:?}, not {slow:?}", row.handle));
        }
    }
    Ok(())
}

#[test]
#[ignore = "some differ: a collector does not look when a handle is written with first"]
fn drives_with_handles_agree_with_their_model() {
    let seeds = if is_full() { 5_000 } else { 150 };
    for seed in 0..seeds {
        if let Err(difference) = check(seed, random_handles_drive) {
            panic!("seed {seed}: {difference}");
        }
    }
}

#[test]
#[ignore = "some drives whose collectors move many translation pages differ"]
fn drives_with_cached_mappings_agree_with_their_model() {
    let seeds = if is_full() { 10_000 } else { 200 };
    let mut differ = Vec::new();
    for seed in 0..seeds {
        if let Err(difference) = check(seed, random_inside_drive) {
            differ.push(format!("seed {seed}: {difference}"));
        }
    }
    assert!(differ.is_empty(), "{}: {}", differ.len(), differ[0]);
}
