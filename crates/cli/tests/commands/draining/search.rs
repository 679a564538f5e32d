//! The choices of a search on traces that it has not seen: paired ratios with intervals.

use super::{beside, flash};
use serde_json::Value;
use std::collections::BTreeMap;

/// The default of drives, which all are compared with.
const DEFAULT: &str = "drain(lru,high=0.25,low=0.25)";
const CHOSEN: [(&str, &str); 5] = [
    ("drain(lru,high=0.6,low=0.4)", "two marks, fewest bytes"),
    ("drain(lru,high=0.3,low=0.3)", "two marks, shortest tail"),
    ("drain(cflru,high=0.25,low=0.25)", "orders, both"),
    ("reserve", "reserve, fewest bytes"),
    ("reserve(start=0.75)", "reserve, shortest tail"),
];

pub fn table(records: &[Value]) -> String {
    let time = |key: &'static str| move |r: &Value| r["latency_ns"]["all"][key].as_f64().unwrap();
    let mut text =
        "| scheme | chosen for | mean | p99.9 | bytes | bytes, collecting |\n|--|--|--|--|--|--|\n"
            .to_owned();
    for (scheme, why) in CHOSEN {
        let of = |run: &str, value: &dyn Fn(&Value) -> f64| {
            interval(&by_trace(records, run, scheme, value))
        };
        let cells = [
            of("test", &time("mean")),
            of("test", &time("p999")),
            of("test", &flash),
            of("test-collecting", &flash),
        ];
        text += &format!("| `{scheme}` | {why} | {} |\n", cells.join(" | "));
    }
    text
}

/// Of each trace the mean of the logarithms of its ratios to the default.
fn by_trace(records: &[Value], run: &str, scheme: &str, value: &dyn Fn(&Value) -> f64) -> Vec<f64> {
    let mut logs: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for r in records
        .iter()
        .filter(|r| r["run_name"] == run && r["scheme"] == scheme)
    {
        let default = beside(records, r, DEFAULT).expect("each point has the default");
        let log = (value(r) / value(default)).ln();
        logs.entry(r["trace"]["name"].as_str().unwrap())
            .or_default()
            .push(log);
    }
    let mean = |logs: &Vec<f64>| logs.iter().sum::<f64>() / logs.len() as f64;
    logs.values().map(mean).collect()
}

/// The geometric mean, and the interval that holds it in 95 of 100 samples of as many traces: Student's t with one degree of
/// freedom less than traces.
fn interval(logs: &[f64]) -> String {
    const T: [f64; 6] = [0.0, 12.706, 4.303, 3.182, 2.776, 2.571];
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let variance =
        logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    let half = T[logs.len() - 1] * (variance / count).sqrt();
    let [low, mid, high] = [mean - half, mean, mean + half].map(f64::exp);
    format!("{mid:.3} ({low:.3} to {high:.3})")
}

/// Worked by hand: two traces with ratios e and 1/e have the deviation sqrt(2), so the interval is 12.706 wide on each side.
#[test]
fn an_interval_is_that_of_student() {
    assert_eq!(interval(&[0.02, 0.02]), "1.020 (1.020 to 1.020)");
    assert_eq!(interval(&[0.01, -0.01]), "1.000 (0.881 to 1.135)");
}
