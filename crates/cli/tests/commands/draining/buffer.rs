//! `docs/BUFFER.md`: the tables of write buffers, from the sweep `papers/buffer.toml`.

use super::{Swept, again, flash, folder, is_stale, sweep, text};
use serde_json::Value;

const PAGE: &str = "docs/BUFFER.md";
const SWEEP: &str = "papers/buffer.toml";

/// Baselines: of response times, and of bytes to flash.
const DRAINED: &str = "drain(lru)";
const ON_DEMAND: &str = "lru";
const SCHEMES: [&str; 5] = [
    ON_DEMAND,
    DRAINED,
    "drain(lru,high=0.25,low=0.25)",
    "drain(lru,high=0.5,low=0.5)",
    "reserve",
];

/// Ratios of a scheme at a point: mean and 99.9th percentile to those of `drain(lru)`, bytes to those of `lru` and of the
/// bound.
type Ratios = [f64; 4];

fn key(record: &Value) -> [String; 3] {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    [
        text(&record["run_name"]),
        text(&record["device"]),
        text(&record["trace"]["name"]),
    ]
}

/// The ratios of a scheme at all points with `value` in part `by` of their key.
fn ratios(records: &[Value], scheme: &str, by: usize, value: &str) -> Vec<Ratios> {
    let runs = |scheme: &str| {
        let own = records.iter().filter(move |r| r["scheme"] == scheme);
        own.cloned().collect::<Vec<Value>>()
    };
    let (own, drained, demand) = (runs(scheme), runs(DRAINED), runs(ON_DEMAND));
    let bounds = records.iter().filter(|r| r["run_name"] == "bound");
    let bounds: Vec<&Value> = bounds.collect();
    let time = |r: &Value, key: &str| r["latency_ns"]["all"][key].as_f64().unwrap();
    let mut found = Vec::new();
    for r in own.iter().filter(|r| key(r)[by] == value) {
        let same = |other: &&Value| key(other) == key(r);
        let drained = drained.iter().find(same).expect("each point is drained");
        let demand = demand.iter().find(same).expect("each point has lru");
        let bound = bounds.iter().find(|b| {
            b["trace"]["name"] == r["trace"]["name"] && b["cache_bytes"] == r["cache_bytes"]
        });
        let bound = bound.expect("each trace has its bound");
        found.push([
            time(r, "mean") / time(drained, "mean"),
            time(r, "p999") / time(drained, "p999"),
            flash(r) / flash(demand),
            flash(r) / flash(bound),
        ]);
    }
    found
}

fn geometric_mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    (values.map(f64::ln).sum::<f64>() / count).exp()
}

/// One line for each scheme and value of part `by` of the key.
fn table(records: &[Value], by: usize) -> String {
    let mut values: Vec<String> = Vec::new();
    for record in records.iter().filter(|r| r["run_name"] != "bound") {
        let value = key(record)[by].clone();
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let head = ["load", "drive", "trace"][by];
    let mut text = format!(
        "| {head} | scheme | points | mean | worst | p99.9 | worst | bytes | worst | to bound |\n|--|{}\n",
        "--|".repeat(9)
    );
    for value in values {
        for scheme in SCHEMES {
            let points = ratios(records, scheme, by, &value);
            let mut cells = Vec::new();
            for part in 0..4 {
                let values = points.iter().map(|ratios| ratios[part]);
                cells.push(format!("{:.3}", geometric_mean(values.clone())));
                if part < 3 {
                    cells.push(format!("{:.2}", values.fold(0.0, f64::max)));
                }
            }
            let count = points.len();
            text += &format!(
                "| {value} | `{scheme}` | {count} | {} |\n",
                cells.join(" | ")
            );
        }
    }
    text
}

fn made(swept: &Swept, name: &str) -> String {
    let parts = ["loads", "drives", "traces"];
    let by = parts.iter().position(|part| *part == name);
    table(&swept.0, by.unwrap_or_else(|| panic!("no table `{name}`")))
}

#[test]
#[ignore = "minutes; `cargo xtask draining` runs it"]
fn the_page_of_buffers_is_what_the_sweep_says() {
    let Some(folder) = folder() else {
        return;
    };
    let swept = sweep(&text(SWEEP), &folder);
    let made = again(&text(PAGE), &|name| made(&swept, name));
    assert!(
        !is_stale(PAGE, &made),
        "{PAGE} is stale: run this test with DESTAGE_BLESS=1"
    );
}

/// Two points, worked by hand: twice and half the time are as fast, and the worst is the slower one.
#[test]
fn ratios_are_geometric_means_and_the_worst_is_the_largest() {
    let run = |scheme: &str, load: &str, trace: &str, ns: f64, pages: u64| {
        serde_json::json!({
            "scheme": scheme, "run_name": load, "device": "drive", "trace": {"name": trace}, "cache_bytes": 4096,
            "latency_ns": {"all": {"mean": ns, "p999": 2.0 * ns}}, "page_bytes": 4096, "dirty_pages_left": 1,
            "counts": {"flash_writes_host": pages - 1},
        })
    };
    let mut records = Vec::new();
    for (trace, ns) in [("a", 20.0), ("b", 5.0)] {
        for scheme in SCHEMES {
            let time = if scheme == "reserve" { ns } else { 10.0 };
            let pages = if scheme == DRAINED { 8 } else { 4 };
            records.push(run(scheme, "traced", trace, time, pages));
        }
        records.push(run("belady(next-of=overwrite)", "bound", trace, 1.0, 2));
    }
    let text = table(&records, 0);
    let row = |scheme: &str| {
        text.lines()
            .find(|l| l.contains(scheme))
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        row("reserve"),
        "| traced | `reserve` | 2 | 1.000 | 2.00 | 1.000 | 2.00 | 1.000 | 1.00 | 2.000 |"
    );
    assert_eq!(
        row("drain(lru)"),
        "| traced | `drain(lru)` | 2 | 1.000 | 1.00 | 1.000 | 1.00 | 2.000 | 2.00 | 4.000 |"
    );
}
