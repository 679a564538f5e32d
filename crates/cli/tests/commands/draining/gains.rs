//! The tables of `docs/DRAINING.md`: the papers' gains, and flash bytes.

use super::{FORMS, LOADS, beside, bound, flash, forms, geometric_mean, load};
use serde_json::Value;

/// What the papers' schemes run under on drives.
const PAPERS_LOADS: [&str; 2] = [LOADS[0], LOADS[3]];

/// A paper's claim of its scheme against a baseline.
struct Gain {
    what: &'static str,
    paper: &'static str,
    /// The `[[run]]`s of the paper's preset, and of drives.
    runs: [&'static str; 2],
    scheme: &'static str,
    /// In place of the scheme on demand.
    on_demand: Option<&'static str>,
    baseline: Baseline,
    value: fn(&Value) -> f64,
}

#[derive(Clone, Copy)]
enum Baseline {
    /// `lru` in the form of the scheme.
    Lru,
    /// On the paper's preset no cache, or `lru` that drains. On drives, where a run without frames is none, a plain staging
    /// buffer.
    NoCache,
}

const GAINS: [Gain; 9] = [
    gain(
        "Req-block, mean response",
        "-23.8 %",
        ["req-block", "groups"],
        "req-block",
        mean,
    ),
    gain(
        "Req-block, flash bytes",
        "-8.6 %",
        ["req-block", "groups"],
        "req-block",
        flash,
    ),
    Gain {
        on_demand: Some("awb(prober(lru))"),
        ..gain(
            "Prober with active write-back, mean response",
            "-25.1 %",
            ["prober", "drives"],
            "prober(lru)",
            mean,
        )
    },
    gain(
        "CAC, mean write response",
        "-92.4 %",
        ["cac", "lfs"],
        "cac(lru)",
        write_mean,
    ),
    gain(
        "CAC, mean read response",
        "-14.5 %",
        ["cac", "lfs"],
        "cac(lru)",
        read_mean,
    ),
    gain(
        "CAC, flash bytes",
        "-90.8 %",
        ["cac", "lfs"],
        "cac(lru)",
        flash,
    ),
    gain(
        "ECR, mean response",
        "-26.3 to -59.6 %",
        ["ecr", "static"],
        "ecr(lru)",
        mean,
    ),
    Gain {
        baseline: Baseline::NoCache,
        ..gain(
            "ProCache against no cache, mean response",
            "-7.6 %",
            ["procache", "drives"],
            "procache(lru)",
            mean,
        )
    },
    Gain {
        baseline: Baseline::NoCache,
        ..gain(
            "ProCache against no cache, flash bytes",
            "-19.3 %",
            ["procache", "drives"],
            "procache(lru)",
            flash,
        )
    },
];

const fn gain(
    what: &'static str,
    paper: &'static str,
    runs: [&'static str; 2],
    scheme: &'static str,
    value: fn(&Value) -> f64,
) -> Gain {
    Gain {
        what,
        paper,
        runs,
        scheme,
        on_demand: None,
        baseline: Baseline::Lru,
        value,
    }
}

fn mean(record: &Value) -> f64 {
    mean_of(record, "all")
}

fn write_mean(record: &Value) -> f64 {
    mean_of(record, "write")
}

fn read_mean(record: &Value) -> f64 {
    mean_of(record, "read")
}

/// NaN if there is no request of the kind.
fn mean_of(record: &Value, kind: &str) -> f64 {
    record["latency_ns"][kind]["mean"]
        .as_f64()
        .unwrap_or(f64::NAN)
}

impl Gain {
    fn schemes(&self) -> [String; 4] {
        let [on_demand, zero, quarter, half] = forms(self.scheme);
        [
            self.on_demand.map_or(on_demand, str::to_owned),
            zero,
            quarter,
            half,
        ]
    }

    fn baselines(&self, on_drives: bool) -> [String; 4] {
        let [lru, zero, quarter, half] = forms("lru");
        match (self.baseline, on_drives) {
            (Baseline::Lru, _) => [lru, zero, quarter, half],
            (Baseline::NoCache, false) => ["none".to_owned(), zero, quarter, half],
            (Baseline::NoCache, true) => [const { "drain(fifo)" }; 4].map(str::to_owned),
        }
    }

    /// Changes to the baseline in percent, of the runs `run` under a load.
    fn changes(&self, records: &[Value], run: &str, load_: &str, of: [&str; 2]) -> Vec<f64> {
        let [scheme, baseline] = of;
        let own = records
            .iter()
            .filter(|r| r["run_name"] == run && r["scheme"] == scheme && load(r) == load_);
        let change = |r: &Value| {
            let base = beside(records, r, baseline).expect("each point has its baseline");
            100.0 * ((self.value)(r) / (self.value)(base) - 1.0)
        };
        own.map(change).filter(|change| !change.is_nan()).collect()
    }

    fn row(&self, records: &[Value], on_drives: bool, load: &str) -> String {
        let run = self.runs[usize::from(on_drives)];
        let compared = self.schemes().into_iter().zip(self.baselines(on_drives));
        let cells = compared
            .map(|(scheme, base)| summary(self.changes(records, run, load, [&scheme, &base])));
        let cells = cells.collect::<Vec<String>>().join(" | ");
        let place = if on_drives {
            load
        } else {
            "the paper's preset"
        };
        format!("| {} | {} | {place} | {cells} |\n", self.what, self.paper)
    }
}

/// One line for a gain on its paper's preset, and one for each load that papers' schemes run under on drives.
pub fn gains(records: &[Value]) -> String {
    let mut text = format!("| gain | paper | where | {FORMS} |\n|{}\n", "--|".repeat(7));
    for gain in &GAINS {
        text += &gain.row(records, false, LOADS[0]);
        for load in PAPERS_LOADS {
            text += &gain.row(records, true, load);
        }
    }
    text
}

/// Bytes to flash on drives, as ratios to `lru` on demand, and those of the first column to the fewest possible.
pub fn bytes(records: &[Value]) -> String {
    let mut text = format!(
        "| scheme | load | {FORMS} | on demand to bound |\n|{}\n",
        "--|".repeat(7)
    );
    for (scheme, on_demand, run, loads) in [
        ("lru", "lru", "drives", LOADS.as_slice()),
        ("req-block", "req-block", "groups", &PAPERS_LOADS),
        ("prober(lru)", "awb(prober(lru))", "drives", &PAPERS_LOADS),
        ("procache(lru)", "procache(lru)", "drives", &PAPERS_LOADS),
        ("cac(lru)", "cac(lru)", "lfs", &PAPERS_LOADS),
    ] {
        for load_ in loads {
            let of = |form: &str, base: &dyn Fn(&Value) -> f64| {
                let own = records
                    .iter()
                    .filter(|r| r["run_name"] == run && r["scheme"] == form && load(r) == *load_);
                let ratios: Vec<f64> = own.map(|r| flash(r) / base(r)).collect();
                format!("{:.3}", geometric_mean(ratios.into_iter()))
            };
            let lru = |r: &Value| flash(beside(records, r, "lru").expect("each point has lru"));
            let [_, zero, quarter, half] = forms(scheme);
            let cells = [on_demand, &zero, &quarter, &half]
                .map(|form| of(form, &lru))
                .join(" | ");
            // What renames save is not written again, which the bound does not know.
            let to_bound = match run {
                "lfs" => "none".to_owned(),
                _ => of(on_demand, &|r| flash(bound(records, r))),
            };
            text += &format!("| `{on_demand}` | {load_} | {cells} | {to_bound} |\n");
        }
    }
    text
}

fn median(mut values: Vec<f64>) -> f64 {
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
        return "-".to_owned();
    }
    let count = changes.len();
    let lower = changes.iter().filter(|change| **change < 0.0).count();
    let median = median(changes);
    // Not `-0.0`.
    let median = if median.abs() < 0.05 { 0.0 } else { median };
    format!("{median:+.1} %, {lower} of {count}")
}

#[test]
fn every_lower_value_of_a_gain_is_counted() {
    assert_eq!(summary(vec![-0.01, 0.0, 2.0]), "+0.0 %, 1 of 3");
    assert_eq!(summary(vec![-0.04, -0.02, 0.04, 0.0]), "+0.0 %, 2 of 4");
}
