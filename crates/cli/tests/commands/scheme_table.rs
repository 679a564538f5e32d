//! `docs/MEASURED.md`, the tables of all schemes, made again from real traces. `DESTAGE_BLESS=1` writes the page.

use crate::common::{Bench, is_full, objects, options, root, scheme_names, trace};
use serde_json::Value;
use std::collections::BTreeMap;

const TRACES: [&str; 5] = [
    "msr-prxy_0-first20k.csv.zst",
    "msr-cut-w80-10k.replay.zst",
    "umass-financial1-first10k.ssdsim.zst",
    "desktop-mayun2-87k.msr.csv.zst",
    "cloudphysics-114k.msr.csv.zst",
];
const DEVICES: [&str; 2] = ["default", "req-block-128g"];
const SETTINGS: &str = "--limit 20000 --cache 0.1 --read-alloc off";
const PAGE: &str = "docs/MEASURED.md";

/// Host pages and collected pages that were programmed, and those of meta-data.
fn programs(record: &Value) -> u64 {
    let parts = ["flash_writes_host", "flash_writes_gc", "flash_writes_meta"];
    let count = |key: &&str| record["counts"][*key].as_u64().unwrap();
    parts.iter().map(count).sum()
}

fn mean_ns(record: &Value) -> f64 {
    record["latency_ns"]["all"]["mean"].as_f64().unwrap()
}

/// Milliseconds with three digits that count.
fn ms(ns: f64) -> String {
    let ms = ns / 1e6;
    let digits = (2 - ms.log10().floor() as i32).clamp(0, 4) as usize;
    format!("{ms:.digits$}")
}

/// Of one scheme: the hit ratio, then response times and programs on each device.
fn row(scheme: &str, on_devices: &[&Value]) -> String {
    let hits = 100.0 * on_devices[0]["ratios"]["page_hit_ratio"].as_f64().unwrap();
    let mut cells = vec![format!("`{scheme}`"), format!("{hits:.2}")];
    for record in on_devices {
        let p99 = record["latency_ns"]["all"]["p99"].as_f64().unwrap();
        let times = [mean_ns(record), p99].map(ms);
        cells.extend(times);
        cells.push(programs(record).to_string());
    }
    format!("| {} |\n", cells.join(" | "))
}

fn section(name: &str, schemes: &[&str], records: &[Value]) -> String {
    let mut of_scheme: BTreeMap<usize, Vec<&Value>> = BTreeMap::new();
    for (i, record) in records.iter().enumerate() {
        of_scheme.entry(i % schemes.len()).or_default().push(record);
    }
    let mut rows: Vec<(usize, Vec<&Value>)> = of_scheme.into_iter().collect();
    rows.sort_by(|a, b| mean_ns(a.1[0]).total_cmp(&mean_ns(b.1[0])));
    let mut text = format!("## {name}\n\n| scheme | page hits, % |");
    for device in DEVICES {
        text += &format!(" {device}: mean ms | p99 ms | programs |");
    }
    text += "\n|--|--|--|--|--|--|--|--|\n";
    rows.iter()
        .for_each(|(i, on)| text += &row(schemes[*i], on));
    text + "\n"
}

/// `ci` makes the sections of the two shortest traces again, `full` the page.
#[test]
fn the_table_of_schemes_is_what_the_program_says() {
    let blesses = std::env::var_os("DESTAGE_BLESS").is_some();
    let some = |name: &&str| blesses || is_full() || name.contains("10k.");
    let paths: Option<Vec<_>> = TRACES
        .iter()
        .filter(|name| some(name))
        .map(|name| trace(name))
        .collect();
    let Some(paths) = paths else { return };
    let bench = Bench::new();
    let schemes = scheme_names();
    let head = format!(
        "# All schemes on five traces\n\n\
         <!-- Made by the test `scheme_table`; do not edit. -->\n\n\
         These tables show how schemes differ on short samples. They do not show which scheme is best elsewhere: run your own\n\
         trace. Each table comes from `destage run TRACE --device DEVICE --scheme ... {SETTINGS}`.\n\n\
         - The traces are the first 20,000 requests of five public samples.\n\
         - The cache has a tenth of the pages that the trace touches. No page that a read missed enters the cache.\n\
         - Layers stand over `lru`.\n\
         - Rows are in the order of the mean response on the first device. The hit ratio is that on the first device, too.\n\
         - `programs` counts the pages programmed for any cause.\n\n"
    );
    let mut sections = Vec::new();
    for path in &paths {
        let mut records = Vec::new();
        for device in DEVICES {
            let line = format!(
                "run {} --device {device} {}",
                path.display(),
                options(&schemes)
            );
            records.extend(objects(
                &bench.shown(format!("{line} {SETTINGS} --format-out jsonl")),
            ));
        }
        assert_eq!(records.len(), schemes.len() * DEVICES.len());
        let name = records[0]["trace"]["name"].as_str().unwrap();
        sections.push(section(name, &schemes, &records));
    }
    let file = root().join(PAGE);
    let text = head.clone() + sections.concat().trim_end() + "\n";
    if blesses {
        std::fs::write(&file, &text).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap();
    let same = match is_full() {
        true => written == text,
        false => {
            written.starts_with(&head) && sections.iter().all(|s| written.contains(s.trim_end()))
        }
    };
    assert!(same, "{PAGE} is stale: run this test with DESTAGE_BLESS=1");
}
