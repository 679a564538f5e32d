//! `docs/DRAINING.md`: its tables are made again from the sweep `papers/draining.toml`. `DESTAGE_BLESS=1` writes them.

use crate::common::{Bench, objects, root, trace};
use serde_json::Value;
use std::path::Path;

const PAGE: &str = "docs/DRAINING.md";
const SWEEP: &str = "papers/draining.toml";
const DRIVES: [&str; 4] = [
    "enterprise-tlc-1t",
    "consumer-tlc-1t",
    "sata-tlc-500g",
    "qlc-2t",
];

/// A scheme on demand and under `drain`; empty where there is none.
type Pair = (&'static str, &'static str);

const LRU: Pair = ("lru", "drain(lru)");
const REQ_BLOCK: Pair = ("req-block", "drain(req-block)");
const PROBER: Pair = ("prober(lru)", "drain(prober(lru))");
const ACTIVE: Pair = ("awb(prober(lru))", "");
const CAC: Pair = ("cac(lru)", "cac(drain(lru))");
const ECR: Pair = ("ecr(lru)", "drain(ecr(lru))");
const PROCACHE: Pair = ("procache(lru)", "drain(procache(lru))");

/// What a paper claims of its scheme against a baseline.
struct Gain {
    what: &'static str,
    paper: &'static str,
    /// The `[[run]]`s of the paper's preset and of the drives on sale.
    runs: [&'static str; 2],
    schemes: [Pair; 2],
    baseline: Pair,
    value: fn(&Value) -> f64,
}

const GAINS: [Gain; 9] = [
    Gain {
        what: "Req-block, mean response",
        paper: "-23.8 %",
        runs: ["req-block", "drives-on-demand"],
        schemes: [REQ_BLOCK; 2],
        baseline: LRU,
        value: mean,
    },
    Gain {
        what: "Req-block, flash bytes",
        paper: "-8.6 %",
        runs: ["req-block", "drives-on-demand"],
        schemes: [REQ_BLOCK; 2],
        baseline: LRU,
        value: flash,
    },
    Gain {
        what: "Prober with active write-back, mean response",
        paper: "-25.1 %",
        runs: ["prober", "drives-on-demand"],
        // On the drives without active write-back, which does not program in units.
        schemes: [("awb(prober(lru))", "drain(prober(lru))"), PROBER],
        baseline: LRU,
        value: mean,
    },
    Gain {
        what: "CAC, mean write response",
        paper: "-92.4 %",
        runs: ["cac", "drives-lfs"],
        schemes: [CAC; 2],
        baseline: LRU,
        value: write_mean,
    },
    Gain {
        what: "CAC, mean read response",
        paper: "-14.5 %",
        runs: ["cac", "drives-lfs"],
        schemes: [CAC; 2],
        baseline: LRU,
        value: read_mean,
    },
    Gain {
        what: "CAC, flash bytes",
        paper: "-90.8 %",
        runs: ["cac", "drives-lfs"],
        schemes: [CAC; 2],
        baseline: LRU,
        value: flash,
    },
    Gain {
        what: "ECR, mean response",
        paper: "-26.3 to -59.6 %",
        runs: ["ecr", "drives-on-demand"],
        schemes: [ECR; 2],
        baseline: LRU,
        value: mean,
    },
    Gain {
        what: "ProCache against no cache, mean response",
        paper: "-7.6 %",
        runs: ["procache", "drives-on-demand"],
        schemes: [PROCACHE; 2],
        baseline: ("none", "drain(lru)"),
        value: mean,
    },
    Gain {
        what: "ProCache against no cache, flash bytes",
        paper: "-19.3 %",
        runs: ["procache", "drives-on-demand"],
        schemes: [PROCACHE; 2],
        baseline: ("none", "drain(lru)"),
        value: flash,
    },
];

fn mean(record: &Value) -> f64 {
    record["latency_ns"]["all"]["mean"].as_f64().unwrap()
}

fn write_mean(record: &Value) -> f64 {
    record["latency_ns"]["write"]["mean"].as_f64().unwrap()
}

fn read_mean(record: &Value) -> f64 {
    record["latency_ns"]["read"]["mean"].as_f64().unwrap()
}

/// Bytes programmed for any cause, and those of dirty pages that are still to be programmed.
fn flash(record: &Value) -> f64 {
    let count = |value: &Value| value.as_u64().unwrap_or(0) as f64;
    let counts = &record["counts"];
    let programs = count(&counts["flash_writes_host"])
        + count(&counts["flash_writes_gc"])
        + count(&counts["flash_writes_meta"])
        + count(&counts["padded_places"]);
    (programs + count(&record["dirty_pages_left"])) * count(&record["page_bytes"])
}

fn cells(record: Option<&Value>) -> String {
    let Some(record) = record else {
        return "- | - | - | -".to_owned();
    };
    let all = &record["latency_ns"]["all"];
    let us = |key: &str| format!("{:.0}", all[key].as_f64().unwrap() / 1e3);
    let mib = flash(record) / f64::from(1 << 20);
    let times = ["mean", "p99", "p999"].map(us).join(" | ");
    format!("{times} | {mib:.1}")
}

/// The results of the sweep.
struct Swept(Vec<Value>);

impl Swept {
    fn of_run(&self, run: &str, device: Option<&str>) -> Vec<&Value> {
        // The scheme `cac` has a `[[run]]` of its own, as not all presets can have it.
        let is_run = |r: &&Value| matches!(r["run_name"].as_str(), Some(name) if name == run || run == "cac" && name == "cac-itself");
        let on = |r: &&Value| device.is_none_or(|device| r["device"] == device);
        self.0.iter().filter(is_run).filter(on).collect()
    }

    /// One line a trace and scheme.
    fn table(&self, run: &str, device: Option<&str>, pairs: &[Pair]) -> String {
        let records = self.of_run(run, device);
        let mut text = String::new();
        for trace in traces(&records) {
            for pair in pairs {
                let [demand, drain] = [pair.0, pair.1].map(|s| cells(find(&records, trace, s)));
                let device = device.map_or(String::new(), |device| format!("`{device}` | "));
                text += &format!("| {device}{trace} | `{}` | {demand} | {drain} |\n", pair.0);
            }
        }
        text
    }

    /// Changes of a gain in percent: on demand, under `drain`, and the scheme on demand against a drained baseline.
    fn changes(&self, gain: &Gain, at: usize) -> [Vec<f64>; 3] {
        let devices: &[Option<&str>] = match at {
            0 => &[None],
            _ => &DRIVES.map(Some),
        };
        let mut changes = [const { Vec::new() }; 3];
        for device in devices {
            let records = self.of_run(gain.runs[at], *device);
            for trace in traces(&records) {
                let value = |scheme| find(&records, trace, scheme).map(gain.value);
                let (scheme, base) = (gain.schemes[at], gain.baseline);
                let compared = [(scheme.0, base.0), (scheme.1, base.1), (scheme.0, base.1)];
                for (list, (of, against)) in changes.iter_mut().zip(compared) {
                    if let (Some(of), Some(against)) = (value(of), value(against)) {
                        list.push(100.0 * (of / against - 1.0));
                    }
                }
            }
        }
        changes
    }

    fn gains(&self) -> String {
        let mut text = "| gain | paper | device | on demand | under `drain` | on demand against `drain(lru)` |\n\
                        |--|--|--|--|--|--|\n"
            .to_owned();
        for gain in &GAINS {
            for (at, device) in ["the paper's", "four on sale"].into_iter().enumerate() {
                let changes = self.changes(gain, at).map(summary).join(" | ");
                let (what, paper) = (gain.what, gain.paper);
                text += &format!("| {what} | {paper} | {device} | {changes} |\n");
            }
        }
        text
    }

    fn made(&self, name: &str) -> String {
        let head = "trace | scheme | on demand: mean us | p99 | p99.9 | flash MiB | under drain: mean us | p99 | p99.9 | \
                    flash MiB |\n";
        let rule = "--|".repeat(10);
        let pairs: &[Pair] = match name {
            "gains" => return self.gains(),
            "drives" => {
                let tables = DRIVES.map(|device| self.table("drives", Some(device), &[LRU]));
                return format!("| device | {head}|--|{rule}\n{}", tables.concat());
            }
            "req-block" => &[LRU, REQ_BLOCK],
            "prober" => &[LRU, PROBER, ACTIVE],
            "cac" => &[LRU, CAC],
            "ecr" => &[LRU, ECR],
            "procache" => &[("none", ""), LRU, PROCACHE],
            _ => panic!("no table `{name}`"),
        };
        format!("| {head}|{rule}\n{}", self.table(name, None, pairs))
    }
}

/// Names of the traces, in their order.
fn traces<'a>(records: &[&'a Value]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for record in records {
        let name = record["trace"]["name"].as_str().unwrap();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn find<'a>(records: &[&'a Value], trace: &str, scheme: &str) -> Option<&'a Value> {
    let is = |r: &&&Value| r["trace"]["name"] == trace && r["scheme"] == scheme;
    records.iter().find(is).copied()
}

/// The median of changes, and how many are lower.
fn summary(mut changes: Vec<f64>) -> String {
    assert!(!changes.is_empty(), "no points");
    changes.sort_by(f64::total_cmp);
    let half = changes.len() / 2;
    let median = match changes.len() % 2 {
        0 => (changes[half - 1] + changes[half]) / 2.0,
        _ => changes[half],
    };
    // Less than half of the last digit is no change.
    let lower = changes.iter().filter(|change| **change < -0.05).count();
    let median = if median.abs() < 0.05 { 0.0 } else { median };
    format!("{median:+.1} %, lower in {lower} of {}", changes.len())
}

/// The page with its tables made again.
fn again(page: &str, swept: &Swept) -> String {
    let (mut text, mut lines) = (String::new(), page.lines().peekable());
    while let Some(line) = lines.next() {
        text += &format!("{line}\n");
        let name = line.strip_prefix("<!-- table: ");
        if let Some(name) = name.and_then(|rest| rest.strip_suffix(" -->")) {
            text += &format!("\n{}\n", swept.made(name));
            while lines
                .next_if(|l| l.is_empty() || l.starts_with('|'))
                .is_some()
            {}
        }
    }
    text
}

#[test]
#[ignore = "minutes; `cargo xtask draining` runs it"]
fn the_page_of_draining_is_what_the_sweep_says() {
    let Some(first) = trace("msr-prxy_0-first20k.csv.zst") else {
        return;
    };
    let folder = first.parent().unwrap_or(Path::new("."));
    let (bench, sweep) = (Bench::new(), root().join(SWEEP));
    let line = format!(
        "sweep {} --trace-dir {} --out swept",
        sweep.display(),
        folder.display()
    );
    bench.destage(line).ok();
    let swept = Swept(objects(&bench.read("swept/results.jsonl")));
    let file = root().join(PAGE);
    let written = std::fs::read_to_string(&file).unwrap();
    let made = again(&written, &swept);
    if std::env::var_os("DESTAGE_BLESS").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let now = std::fs::read_to_string(&file).unwrap();
    assert!(
        now == made,
        "{PAGE} is stale: run this test with DESTAGE_BLESS=1"
    );
}
