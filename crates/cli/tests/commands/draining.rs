//! `docs/DRAINING.md` and `docs/DRAINING_SCHEMES.md`: their tables are made again from the sweeps `papers/draining.toml`
//! and `papers/draining-all.toml`. `DESTAGE_BLESS=1` writes them.

mod buffer;

use crate::common::{Bench, objects, root, trace};
use serde_json::Value;
use std::path::Path;

const PAGES: [&str; 2] = ["docs/DRAINING.md", "docs/DRAINING_SCHEMES.md"];
/// Of the papers' schemes, and of all schemes.
const SWEEPS: [&str; 2] = ["papers/draining.toml", "papers/draining-all.toml"];
const DRIVES: [&str; 4] = [
    "enterprise-tlc-1t",
    "consumer-tlc-1t",
    "sata-tlc-500g",
    "qlc-2t",
];

/// Models of measured drives.
const MEASURED: [&str; 5] = [
    "samsung-pm9a3-960",
    "micron-7450-pro-960",
    "solidigm-p5520-1920",
    "kioxia-cm7r-3840",
    "wd-dc-960",
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

/// On drives on sale a plain staging buffer stands for no cache.
const NO_CACHE: [Pair; 2] = [("none", "drain(lru)"), ("drain(fifo)", "drain(fifo)")];

/// The devices that stand in one line of the gains.
const DEVICES: [&str; 3] = ["the paper's", "four on sale", "five measured"];

/// A paper's claim of its scheme against a baseline.
struct Gain {
    what: &'static str,
    paper: &'static str,
    /// The `[[run]]`s of the paper's preset, of the drives on sale, and of the measured drives.
    runs: [&'static str; 3],
    scheme: Pair,
    /// On the paper's preset, and on drives.
    baselines: [Pair; 2],
    value: fn(&Value) -> Option<f64>,
}

const GAINS: [Gain; 9] = [
    Gain {
        what: "Req-block, mean response",
        paper: "-23.8 %",
        runs: ["req-block", "drives", "measured"],
        scheme: REQ_BLOCK,
        baselines: [LRU; 2],
        value: mean,
    },
    Gain {
        what: "Req-block, flash bytes",
        paper: "-8.6 %",
        runs: ["req-block", "drives", "measured"],
        scheme: REQ_BLOCK,
        baselines: [LRU; 2],
        value: |record| Some(flash(record)),
    },
    Gain {
        what: "Prober with active write-back, mean response",
        paper: "-25.1 %",
        runs: ["prober", "drives", "measured"],
        scheme: ("awb(prober(lru))", "drain(prober(lru))"),
        baselines: [LRU; 2],
        value: mean,
    },
    Gain {
        what: "CAC, mean write response",
        paper: "-92.4 %",
        runs: ["cac", "drives-lfs", "measured-lfs"],
        scheme: CAC,
        baselines: [LRU; 2],
        value: write_mean,
    },
    Gain {
        what: "CAC, mean read response",
        paper: "-14.5 %",
        runs: ["cac", "drives-lfs", "measured-lfs"],
        scheme: CAC,
        baselines: [LRU; 2],
        value: read_mean,
    },
    Gain {
        what: "CAC, flash bytes",
        paper: "-90.8 %",
        runs: ["cac", "drives-lfs", "measured-lfs"],
        scheme: CAC,
        baselines: [LRU; 2],
        value: |record| Some(flash(record)),
    },
    Gain {
        what: "ECR, mean response",
        paper: "-26.3 to -59.6 %",
        runs: ["ecr", "drives-static", "measured-static"],
        scheme: ECR,
        baselines: [LRU; 2],
        value: mean,
    },
    Gain {
        what: "ProCache against no cache, mean response",
        paper: "-7.6 %",
        runs: ["procache", "drives", "measured"],
        scheme: PROCACHE,
        baselines: NO_CACHE,
        value: mean,
    },
    Gain {
        what: "ProCache against no cache, flash bytes",
        paper: "-19.3 %",
        runs: ["procache", "drives", "measured"],
        scheme: PROCACHE,
        baselines: NO_CACHE,
        value: |record| Some(flash(record)),
    },
];

fn mean(record: &Value) -> Option<f64> {
    record["latency_ns"]["all"]["mean"].as_f64()
}

fn write_mean(record: &Value) -> Option<f64> {
    record["latency_ns"]["write"]["mean"].as_f64()
}

fn read_mean(record: &Value) -> Option<f64> {
    record["latency_ns"]["read"]["mean"].as_f64()
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
            1 => &DRIVES.map(Some),
            _ => &MEASURED.map(Some),
        };
        let mut changes = [const { Vec::new() }; 3];
        for device in devices {
            let records = self.of_run(gain.runs[at], *device);
            for trace in traces(&records) {
                let value = |scheme| find(&records, trace, scheme).and_then(gain.value);
                let (scheme, base) = (gain.scheme, gain.baselines[at.min(1)]);
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
            for (at, device) in DEVICES.into_iter().enumerate() {
                let changes = self.changes(gain, at).map(summary).join(" | ");
                let (what, paper) = (gain.what, gain.paper);
                text += &format!("| {what} | {paper} | {device} | {changes} |\n");
            }
        }
        text
    }

    /// One line a scheme: medians over the traces.
    fn medians(&self, run: &str, device: &str) -> String {
        let records = self.of_run(run, Some(device));
        let mut text = "| scheme | on demand: mean us | p99 | p99.9 | flash MiB | under drain: mean us | p99 | p99.9 | \
                        flash MiB |\n|--|--|--|--|--|--|--|--|--|\n"
            .to_owned();
        for scheme in schemes(&records) {
            let drained = match scheme.strip_prefix("cac(") {
                Some(inner) => format!("cac(drain({inner})"),
                None => format!("drain({scheme})"),
            };
            let cells = [scheme, &drained].map(|s| median_cells(&records, s));
            text += &format!("| `{scheme}` | {} |\n", cells.join(" | "));
        }
        text
    }

    fn made(&self, name: &str) -> String {
        if let [run, device] = name.split(' ').collect::<Vec<_>>()[..] {
            return self.medians(run, device);
        }
        let head = "trace | scheme | on demand: mean us | p99 | p99.9 | flash MiB | under drain: mean us | p99 | p99.9 | \
                    flash MiB |\n";
        let rule = "--|".repeat(10);
        let pairs: &[Pair] = match name {
            "gains" => return self.gains(),
            "drives" | "measured" => {
                let devices: &[&str] = match name {
                    "drives" => &DRIVES,
                    _ => &MEASURED,
                };
                let table = |device: &&str| self.table(name, Some(device), &[LRU]);
                let tables: String = devices.iter().map(table).collect();
                return format!("| device | {head}|--|{rule}\n{tables}");
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

/// Names of the schemes that do not drain, in their order.
fn schemes<'a>(records: &[&'a Value]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for record in records {
        let name = record["scheme"].as_str().unwrap();
        if !names.contains(&name) && !name.contains("drain(") {
            names.push(name);
        }
    }
    names
}

/// Medians over the traces.
fn median_cells(records: &[&Value], scheme: &str) -> String {
    let own: Vec<&&Value> = records.iter().filter(|r| r["scheme"] == scheme).collect();
    if own.is_empty() {
        return "- | - | - | -".to_owned();
    }
    let of = |value: &dyn Fn(&Value) -> f64| median(own.iter().map(|r| value(r)).collect());
    let us = |key: &'static str| {
        let time = move |r: &Value| r["latency_ns"]["all"][key].as_f64().unwrap() / 1e3;
        format!("{:.0}", of(&time))
    };
    let mib = of(&flash) / f64::from(1 << 20);
    let times = ["mean", "p99", "p999"].map(us).join(" | ");
    format!("{times} | {mib:.1}")
}

fn median(mut values: Vec<f64>) -> f64 {
    assert!(!values.is_empty(), "no points");
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() % 2 {
        0 => (values[half - 1] + values[half]) / 2.0,
        _ => values[half],
    }
}

/// The median of changes, and how many are lower, however little.
fn summary(changes: Vec<f64>) -> String {
    if changes.is_empty() {
        return "no points".to_owned();
    }
    let count = changes.len();
    let lower = changes.iter().filter(|change| **change < 0.0).count();
    let median = median(changes);
    // Not `-0.0`.
    let median = if median.abs() < 0.05 { 0.0 } else { median };
    format!("{median:+.1} %, lower in {lower} of {count}")
}

/// The page with its tables made again.
fn again(page: &str, made: &dyn Fn(&str) -> String) -> String {
    let (mut text, mut lines) = (String::new(), page.lines().peekable());
    while let Some(line) = lines.next() {
        text += &format!("{line}\n");
        let name = line.strip_prefix("<!-- table: ");
        if let Some(name) = name.and_then(|rest| rest.strip_suffix(" -->")) {
            text += &format!("\n{}\n", made(name));
            while lines
                .next_if(|l| l.is_empty() || l.starts_with('|'))
                .is_some()
            {}
        }
    }
    text
}

/// Runs a sweep file on the traces in `folder`.
fn sweep(text: &str, folder: &Path) -> Swept {
    let bench = Bench::new();
    bench.file("sweep.toml", text);
    let line = format!(
        "sweep sweep.toml --trace-dir {} --out swept",
        folder.display()
    );
    bench.destage(line).ok();
    Swept(objects(&bench.read("swept/results.jsonl")))
}

fn text(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap()
}

/// The table from these sweeps: those of a run and a device from the second.
fn made_of(swept: &[Swept; 2], name: &str) -> String {
    swept[usize::from(name.contains(' '))].made(name)
}

/// Is the page another one than was `made`? With DESTAGE_BLESS it is written.
fn is_stale(page: &str, made: &str) -> bool {
    if std::env::var_os("DESTAGE_BLESS").is_some() {
        std::fs::write(root().join(page), made).unwrap();
    }
    text(page) != made
}

/// Where the traces are.
fn folder() -> Option<std::path::PathBuf> {
    let first = trace("msr-prxy_0-first20k.csv.zst")?;
    Some(first.parent().unwrap_or(Path::new(".")).to_owned())
}

#[test]
#[ignore = "minutes; `cargo xtask draining` runs it"]
fn the_pages_of_draining_are_what_the_sweeps_say() {
    let Some(folder) = folder() else {
        return;
    };
    let swept = SWEEPS.map(|file| sweep(&text(file), &folder));
    for page in PAGES {
        let made = again(&text(page), &|name| made_of(&swept, name));
        assert!(
            !is_stale(page, &made),
            "{page} is stale: run this test with DESTAGE_BLESS=1"
        );
    }
}

#[test]
fn every_lower_value_of_a_gain_is_counted() {
    assert_eq!(summary(vec![-0.01, 0.0, 2.0]), "+0.0 %, lower in 1 of 3");
    assert_eq!(
        summary(vec![-0.04, -0.02, 0.04, 0.0]),
        "+0.0 %, lower in 2 of 4"
    );
}

/// A small cut: the page can be made, and its tables have all figures. The sweep of all schemes can be planned.
#[test]
fn the_page_of_draining_can_be_made() {
    let Some(folder) = folder() else {
        return;
    };
    let [papers, all] = SWEEPS.map(text);
    let (before, rest) = papers.split_once("trace = [").unwrap();
    let (_, after) = rest.split_once(']').unwrap();
    let cut = format!("{before}trace = [\"msr-prxy_0-first20k.csv.zst\"]{after}");
    let (requests, after) = cut.split_once("limit = ").unwrap();
    let (_, after) = after.split_once('\n').unwrap();
    let cut = format!("{requests}limit = 50\n{after}").replace("\"0.1\"", "\"4MiB\"");
    let swept = [sweep(&cut, &folder), Swept(Vec::new())];
    let page = text(PAGES[0]);
    let made = again(&page, &|name| made_of(&swept, name));
    let count = |text: &str| text.lines().filter(|l| l.starts_with("| ")).count();
    // One trace of five in the tables of the drives.
    let drives = DRIVES.len() + MEASURED.len();
    assert_eq!(count(&page) - count(&made), 4 * drives);
    assert!(!made.contains("| - |"), "no figures: {made}");
    let bench = Bench::new();
    bench.file("sweep.toml", all);
    let plan = format!(
        "sweep sweep.toml --trace-dir {} --out swept --plan",
        folder.display()
    );
    bench.destage(plan).ok();
}
