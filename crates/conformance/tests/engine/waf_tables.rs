//! Write amplification against the tables of an independent simulator (SSD-iq, PVLDB 2025), which the
//! variable `DESTAGE_DRIVES` finds.

use destage_conformance::suites::is_full;
use destage_device::config::{GcPolicy, GcStreams};
use destage_sim::waf::{WafPattern, WafSpec, WritePattern};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

/// Rows of a table of numbers, if there is the folder.
fn rows(name: &str) -> Option<Vec<Vec<f64>>> {
    let Some(folder) = std::env::var_os("DESTAGE_DRIVES").map(PathBuf::from) else {
        println!("SKIPPED: DESTAGE_DRIVES does not name the folder of measured drives");
        return None;
    };
    let path = folder.join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let row = |line: &str| line.split(',').map(|cell| cell.parse().unwrap()).collect();
    Some(text.lines().skip(1).map(row).collect())
}

fn spec(at: WafPattern, fill: f64, streams: GcStreams) -> WafSpec {
    WafSpec {
        pattern: WritePattern {
            at,
            sequential: 0.0,
        },
        blocks: 2048,
        pages_per_block: 512,
        fill,
        streams,
        policy: GcPolicy::Greedy,
        choices: 10,
        buffer: 0,
        warmup: 1,
        overwrites: 10,
        seed: 1,
    }
}

/// Runs a point and says what it gives beside the table; the error in parts.
fn error(what: &str, spec: &WafSpec, expected: f64) -> f64 {
    let point = spec.run(&AtomicU64::new(0)).unwrap();
    let found = point.write_amplification();
    let error = found / expected - 1.0;
    let formulas = (point.analytic.unwrap(), point.optimum.unwrap());
    println!(
        "{what}: {found:.4}, table {expected:.4}, {:+.2} %; formula {:.4}, known lifetimes {:.4}",
        100.0 * error,
        formulas.0,
        formulas.1
    );
    error.abs()
}

#[test]
fn uniform_writes_are_as_in_the_table() {
    let Some(rows) = rows("gc-simulator-fill.csv") else {
        return;
    };
    let (mut compared, every) = (0, if is_full() { 10 } else { 20 });
    for row in rows.iter().filter(|row| row[0] >= 0.495).step_by(every) {
        let spec = spec(WafPattern::Uniform, row[0], GcStreams::Shared);
        let error = error(&format!("fill {}", row[0]), &spec, row[1]);
        assert!(error < 0.01, "fill {}", row[0]);
        compared += 1;
    }
    assert_eq!(compared, if is_full() { 5 } else { 3 });
}

/// 16 GiB: 2,048 blocks of 2,048 pages, behind an LRU buffer of 734 pages.
/// Minutes of processor time, and 2 GiB of memory.
#[test]
#[ignore = "slow: eight runs over 16 GiB"]
fn zipf_writes_behind_a_buffer_are_as_in_the_table() {
    let Some(rows) = rows("gc-simulator-zipf.csv") else {
        return;
    };
    let points: Vec<(String, WafSpec, f64)> = [0.5, 0.8, 0.9, 1.0]
        .iter()
        .flat_map(|&theta| {
            let row = rows.iter().find(|row| row[0] == theta).unwrap();
            [(GcStreams::InPlace, row[1]), (GcStreams::TwoRegion, row[3])].map(|(streams, waf)| {
                let spec = WafSpec {
                    pages_per_block: 2048,
                    buffer: 734,
                    ..spec(WafPattern::Zipf(theta), 0.875, streams)
                };
                (format!("exponent {theta}, {streams}"), spec, waf)
            })
        })
        .collect();
    let off = |(what, spec, waf): &(String, WafSpec, f64)| error(what, spec, *waf) >= 0.01;
    let wrong: Vec<&str> = std::thread::scope(|scope| {
        let runs: Vec<_> = points.iter().map(|p| scope.spawn(move || off(p))).collect();
        let each = points.iter().zip(runs);
        let wrong = each.filter_map(|(point, run)| {
            let off = run.join().expect("a run does not fail");
            off.then_some(&*point.0)
        });
        wrong.collect()
    });
    assert!(wrong.is_empty(), "more than 1 % off: {wrong:?}");
}
