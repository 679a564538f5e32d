//! The tables of `docs/BUFFER.md`: what to build into a write buffer, as ratios.

use super::{LOADS, beside, bound, flash, geometric_mean, load};
use serde_json::Value;
use std::collections::BTreeSet;

/// Baselines: of response times, and of bytes to flash.
const DRAINED: &str = "drain(lru)";
const ON_DEMAND: &str = "lru";
pub const SCHEMES: [&str; 5] = [
    ON_DEMAND,
    DRAINED,
    "drain(lru,high=0.25,low=0.25)",
    "drain(lru,high=0.5,low=0.5)",
    "reserve",
];
/// Of tables whose lines are many, those that can be recommended.
pub const RECOMMENDED: &[&str] = SCHEMES.split_at(2).1;

/// Mean and 99.9th percentile to those of `drain(lru)`, bytes to those of `lru` and to the fewest possible.
pub struct Point {
    pub mean: f64,
    pub tail: f64,
    pub bytes: f64,
    pub to_bound: f64,
}

pub fn point(records: &[Value], record: &Value) -> Point {
    let time = |r: &Value, key: &str| r["latency_ns"]["all"][key].as_f64().unwrap();
    let drained = beside(records, record, DRAINED).expect("each point is drained");
    let demand = beside(records, record, ON_DEMAND).expect("each point has lru");
    Point {
        mean: time(record, "mean") / time(drained, "mean"),
        tail: time(record, "p999") / time(drained, "p999"),
        bytes: flash(record) / flash(demand),
        to_bound: flash(record) / flash(bound(records, record)),
    }
}

pub fn is_collecting(record: &Value) -> bool {
    record["run_name"] == "collecting"
}

/// What the lines of a table differ in.
fn value(record: &Value, by: &str) -> String {
    let text = match (by, is_collecting(record)) {
        ("loads", true) => return format!("collecting, {}", load(record)),
        ("loads", false) => load(record),
        ("drives", _) => record["device"].as_str().unwrap(),
        ("traces", _) => record["trace"]["name"].as_str().unwrap(),
        ("ablation", true) => "collecting",
        ("ablation", false) => "not collecting",
        _ => panic!("no table `{by}`"),
    };
    text.to_owned()
}

fn cells(points: &[Point]) -> String {
    let of = |value: fn(&Point) -> f64| {
        let values: Vec<f64> = points.iter().map(value).collect();
        let worst = values.iter().copied().fold(0.0, f64::max);
        (geometric_mean(&values), worst)
    };
    let [mean, tail, bytes] = [of(|p| p.mean), of(|p| p.tail), of(|p| p.bytes)]
        .map(|(mean, worst)| format!("{mean:.3} | {worst:.2}"));
    let to_bound = of(|p| p.to_bound).0;
    format!(
        "{} | {mean} | {tail} | {bytes} | {to_bound:.3}",
        points.len()
    )
}

/// One line for each scheme and load, drive or trace; of the ablation, for each scheme without collection and with it.
pub fn table(records: &[Value], by: &str) -> String {
    let (mut schemes, runs): (Vec<&str>, &[&str]) = match by {
        "loads" => (SCHEMES.to_vec(), &["drives", "collecting"]),
        "ablation" => (Vec::new(), &["drives", "collecting"]),
        _ => (RECOMMENDED.to_vec(), &["drives"]),
    };
    let own: Vec<&Value> = records
        .iter()
        .filter(|r| runs.iter().any(|run| r["run_name"] == *run))
        .collect();
    if by == "ablation" {
        schemes = variants(&own);
    }
    let mut values: Vec<String> = own.iter().map(|r| value(r, by)).collect();
    values.sort_by_key(|value| (LOADS.iter().position(|load| value == load), value.clone()));
    values.dedup();
    if by == "loads" {
        let collecting = values.partition_point(|value| value.starts_with("collecting"));
        values.rotate_left(collecting);
    }
    let mut text = format!(
        "| {} | scheme | points | mean | worst | p99.9 | worst | bytes | worst | to bound |\n|{}\n",
        by.trim_end_matches('s'),
        "--|".repeat(10)
    );
    for value_ in values {
        for scheme in &schemes {
            let of_line = own
                .iter()
                .filter(|r| r["scheme"] == *scheme && value(r, by) == value_);
            // Variants run on some points alone, and what they are compared with counts there alone.
            let of_line = of_line.filter(|r| {
                by != "ablation" || schemes.iter().all(|s| beside(records, r, s).is_some())
            });
            let points: Vec<Point> = of_line.map(|r| point(records, r)).collect();
            text += &format!("| {value_} | `{scheme}` | {} |\n", cells(&points));
        }
    }
    text
}

/// `reserve`, and each of its variants that was run.
fn variants<'a>(own: &[&'a Value]) -> Vec<&'a str> {
    let all = own.iter().map(|r| r["scheme"].as_str().unwrap());
    let found: BTreeSet<&str> = all.filter(|scheme| scheme.starts_with("reserve")).collect();
    found.into_iter().collect()
}

/// Two points, worked by hand: twice and half the time are as fast, and the worst is the slower one.
#[test]
fn ratios_are_geometric_means_and_the_worst_is_the_largest() {
    let run = |scheme: &str, run: &str, trace: &str, ns: f64, pages: u64| {
        serde_json::json!({
            "scheme": scheme, "run_name": run, "device": "drive", "trace": {"name": trace}, "cache_bytes": 4096,
            "config": [{"key": "closed_loop", "value": "off", "origin": ""}, {"key": "time_scale", "value": "1", "origin": ""}],
            "latency_ns": {"all": {"mean": ns, "p999": 2.0 * ns}}, "page_bytes": 4096, "dirty_pages_left": 1,
            "counts": {"flash_writes_host": pages - 1},
        })
    };
    let mut records = Vec::new();
    for (trace, ns) in [("a", 20.0), ("b", 5.0)] {
        for scheme in SCHEMES {
            let time = if scheme == "reserve" { ns } else { 10.0 };
            let pages = if scheme == DRAINED { 8 } else { 4 };
            records.push(run(scheme, "drives", trace, time, pages));
        }
        records.push(run("belady(next-of=overwrite)", "bound", trace, 1.0, 2));
    }
    let text = table(&records, "loads");
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
