//! The tables of `docs/DRAINING.md`: response times and flash bytes of papers' schemes against those of `lru` in the same form.

use super::{FORMS, LOADS, beside, bound, flash, forms, geometric_mean, load};
use serde_json::Value;

/// Loads of papers' schemes on drives.
const PAPERS_LOADS: [&str; 2] = [LOADS[0], LOADS[2]];
/// Where a run is on the preset of its paper, under a load of its own.
const PRESET: &str = "the paper's preset";

/// A scheme of a paper, and the `[[run]]`s of its preset and of drives.
struct Compared {
    scheme: &'static str,
    /// In place of the scheme on demand.
    on_demand: &'static str,
    runs: [&'static str; 2],
    /// In place of `lru`, on the preset and on drives.
    baselines: [Option<&'static str>; 2],
}

const REQ_BLOCK: Compared = Compared {
    scheme: "req-block",
    on_demand: "req-block",
    runs: ["req-block", "papers"],
    baselines: [None; 2],
};
const PROBER: Compared = Compared {
    scheme: "prober(lru)",
    on_demand: "awb(prober(lru))",
    runs: ["prober", "papers"],
    ..REQ_BLOCK
};
/// Streams give up the page that was written first.
const PROBER_HEAD: Compared = Compared {
    scheme: "prober(lru,ldr-evict=head)",
    on_demand: "prober(lru,ldr-evict=head)",
    ..PROBER
};
const CAC: Compared = Compared {
    scheme: "cac(lru)",
    on_demand: "cac(lru)",
    runs: ["cac", "lfs"],
    ..REQ_BLOCK
};
const ECR: Compared = Compared {
    scheme: "ecr(lru)",
    on_demand: "ecr(lru)",
    runs: ["ecr", "static"],
    ..REQ_BLOCK
};
/// Against no cache, and on drives, where a run without frames is none, against a plain staging buffer.
const PROCACHE: Compared = Compared {
    scheme: "procache(lru)",
    on_demand: "procache(lru)",
    runs: ["procache", "papers"],
    baselines: [Some("none"), Some("drain(fifo)")],
};

/// What the paper says, and by which response time.
const GAINS: [(&str, &str, &Compared, &str); 6] = [
    ("Req-block, mean", "-23.8 %", &REQ_BLOCK, "all"),
    (
        "Prober with active write-back, mean",
        "-25.1 %",
        &PROBER,
        "all",
    ),
    ("CAC, mean of writes", "-92.4 %", &CAC, "write"),
    ("CAC, mean of reads", "-14.5 %", &CAC, "read"),
    ("ECR, mean", "-26.3 to -59.6 %", &ECR, "all"),
    (
        "ProCache against no cache, mean",
        "-7.6 %",
        &PROCACHE,
        "all",
    ),
];
const BYTES: [(&str, &Compared); 5] = [
    ("-8.6 %", &REQ_BLOCK),
    ("none", &PROBER),
    ("none", &PROBER_HEAD),
    ("-90.8 %", &CAC),
    ("-19.3 %", &PROCACHE),
];

impl Compared {
    /// Ratios of the scheme in `form` to its baseline in that form, one for each trace on each device.
    fn ratios(
        &self,
        records: &[Value],
        place: &str,
        form: usize,
        value: &dyn Fn(&Value) -> f64,
    ) -> Vec<f64> {
        let on_drives = usize::from(place != PRESET);
        let mut scheme = forms(self.scheme);
        scheme[0] = self.on_demand.to_owned();
        let mut base = forms("lru")[form].clone();
        match self.baselines[on_drives] {
            Some(none) if form == 0 || on_drives == 1 => none.clone_into(&mut base),
            _ => {}
        }
        let own = records.iter().filter(|r| {
            let is_own = r["run_name"] == self.runs[on_drives] && r["scheme"] == scheme[form];
            is_own && (on_drives == 0 || load(r) == place)
        });
        let ratio = |r: &Value| {
            value(r) / value(beside(records, r, &base).expect("each point has its baseline"))
        };
        own.map(ratio).filter(|ratio| !ratio.is_nan()).collect()
    }
}

fn places() -> impl Iterator<Item = &'static str> {
    [PRESET].into_iter().chain(PAPERS_LOADS)
}

/// Changes of mean response times: medians, and how many are lower.
pub fn gains(records: &[Value]) -> String {
    let mut text = format!("| gain | paper | where | {FORMS} |\n|{}\n", "--|".repeat(7));
    for (what, paper, compared, kind) in GAINS {
        // NaN if there is no request of the kind.
        let mean = |r: &Value| r["latency_ns"][kind]["mean"].as_f64().unwrap_or(f64::NAN);
        for place in places() {
            let cells =
                [0, 1, 2, 3].map(|form| summary(compared.ratios(records, place, form, &mean)));
            text += &format!("| {what} | {paper} | {place} | {} |\n", cells.join(" | "));
        }
    }
    text
}

/// Bytes to flash: of `lru` against `lru` on demand, of the others against `lru` in the same form.
pub fn bytes(records: &[Value]) -> String {
    let mut text = format!(
        "| scheme | paper | where | {FORMS} | fewest possible |\n|{}\n",
        "--|".repeat(8)
    );
    for load_ in LOADS {
        let cell = |value: &dyn Fn(&Value, &Value) -> f64, form: &str| {
            let own = records
                .iter()
                .filter(|r| r["run_name"] == "drives" && r["scheme"] == form && load(r) == load_);
            let ratio =
                |r: &Value| value(r, beside(records, r, "lru").expect("each point has lru"));
            format!(
                "{:.3}",
                geometric_mean(&own.map(ratio).collect::<Vec<f64>>())
            )
        };
        let cells = forms("lru").map(|form| cell(&|r, lru| flash(r) / flash(lru), &form));
        let fewest = cell(&|_, lru| flash(bound(records, lru)) / flash(lru), "lru");
        text += &format!(
            "| `lru` | none | {load_} | {} | {fewest} |\n",
            cells.join(" | ")
        );
    }
    for (paper, compared) in BYTES {
        for place in places() {
            let cells = [0, 1, 2, 3].map(|form| {
                let ratios = compared.ratios(records, place, form, &flash);
                format!("{:.3}", geometric_mean(&ratios))
            });
            if cells[0] != "NaN" {
                let scheme = compared.on_demand;
                text += &format!(
                    "| `{scheme}` | {paper} | {place} | {} | as `lru` |\n",
                    cells.join(" | ")
                );
            }
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

/// The median change in percent, and how many are lower, however little.
fn summary(ratios: Vec<f64>) -> String {
    let (count, lower) = (
        ratios.len(),
        ratios.iter().filter(|ratio| **ratio < 1.0).count(),
    );
    if count == 0 {
        return "-".to_owned();
    }
    let median = 100.0 * (median(ratios) - 1.0);
    // Not `-0.0`.
    let median = if median.abs() < 0.05 { 0.0 } else { median };
    format!("{median:+.1} %, {lower} of {count}")
}

#[test]
fn every_lower_value_of_a_gain_is_counted() {
    assert_eq!(summary(vec![0.9999, 1.0, 1.02]), "+0.0 %, 1 of 3");
    assert_eq!(summary(vec![0.9996, 0.9998, 1.0004, 1.0]), "+0.0 %, 2 of 4");
}
