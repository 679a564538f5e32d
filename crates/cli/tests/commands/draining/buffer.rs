//! The tables of `docs/BUFFER.md`: what to build into a write buffer, as ratios.

use super::{LOADS, beside, bound, flash, geometric_mean, load};
use serde_json::Value;

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

/// What the lines of a table differ in.
fn value<'a>(record: &'a Value, by: &str) -> &'a str {
    match by {
        "loads" => load(record),
        "drives" => record["device"].as_str().unwrap(),
        "traces" => record["trace"]["name"].as_str().unwrap(),
        _ => panic!("no table `{by}`"),
    }
}

/// Of each point: mean and 99.9th percentile to those of `drain(lru)`, bytes to those of `lru` and of the bound.
fn ratios(records: &[Value], own: &[&Value]) -> [Vec<f64>; 4] {
    let time = |r: &Value, key: &str| r["latency_ns"]["all"][key].as_f64().unwrap();
    let mut ratios = [const { Vec::new() }; 4];
    for r in own {
        let drained = beside(records, r, DRAINED).expect("each point is drained");
        let demand = beside(records, r, ON_DEMAND).expect("each point has lru");
        let point = [
            time(r, "mean") / time(drained, "mean"),
            time(r, "p999") / time(drained, "p999"),
            flash(r) / flash(demand),
            flash(r) / flash(bound(records, r)),
        ];
        for (list, ratio) in ratios.iter_mut().zip(point) {
            list.push(ratio);
        }
    }
    ratios
}

/// One line for each scheme and load, drive or trace.
pub fn table(records: &[Value], by: &str) -> String {
    let drives = || records.iter().filter(|r| r["run_name"] == "drives");
    let mut values: Vec<&str> = if by == "loads" {
        LOADS.to_vec()
    } else {
        Vec::new()
    };
    for record in drives() {
        let value = value(record, by);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let mut text = format!(
        "| {} | scheme | points | mean | worst | p99.9 | worst | bytes | worst | to bound |\n|{}\n",
        by.trim_end_matches('s'),
        "--|".repeat(10)
    );
    for value_ in values {
        for scheme in SCHEMES {
            let own: Vec<&Value> = drives()
                .filter(|r| r["scheme"] == scheme && value(r, by) == value_)
                .collect();
            let ratios = ratios(records, &own).map(|list| {
                let worst = list.iter().copied().fold(0.0, f64::max);
                (geometric_mean(list.into_iter()), worst)
            });
            let [mean, tail, bytes] =
                [0, 1, 2].map(|at| format!("{:.3} | {:.2}", ratios[at].0, ratios[at].1));
            let (points, to_bound) = (own.len(), ratios[3].0);
            text += &format!(
                "| {value_} | `{scheme}` | {points} | {mean} | {tail} | {bytes} | {to_bound:.3} |\n"
            );
        }
    }
    text
}

/// Two points, worked by hand: twice and half the time are as fast, and the worst is the slower one.
#[test]
fn ratios_are_geometric_means_and_the_worst_is_the_largest() {
    let run = |scheme: &str, run: &str, trace: &str, ns: f64, pages: u64| {
        serde_json::json!({
            "scheme": scheme, "run_name": run, "device": "drive", "trace": {"name": trace}, "cache_bytes": 4096,
            "config": [{"key": "closed-loop", "value": "", "origin": ""}, {"key": "time-scale", "value": "1", "origin": ""}],
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
    let text = table(&records, "drives");
    let row = |scheme: &str| {
        text.lines()
            .find(|l| l.contains(scheme))
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        row("reserve"),
        "| drive | `reserve` | 2 | 1.000 | 2.00 | 1.000 | 2.00 | 1.000 | 1.00 | 2.000 |"
    );
    assert_eq!(
        row("drain(lru)"),
        "| drive | `drain(lru)` | 2 | 1.000 | 1.00 | 1.000 | 1.00 | 2.000 | 2.00 | 4.000 |"
    );
}
