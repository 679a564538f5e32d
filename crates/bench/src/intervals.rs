//! How many intervals of sampled curves contain the truth.

use anyhow::Context;
use destage_scheme::Expr;
use destage_sim::curve::{Curve, CurveError, SampleSize, Sampling};
use destage_sim::{RunSpec, SweepProgress, Unmetered};
use destage_trace::{LoadOptions, Source, Trace, load};
use destage_types::ByteSize;
use serde_json::{Value, json};
use std::path::Path;

const RATES: [f64; 3] = [0.1, 0.01, 0.001];
const SIZES: [ByteSize; 4] = [
    ByteSize(1 << 20),
    ByteSize(4 << 20),
    ByteSize(16 << 20),
    ByteSize(64 << 20),
];

/// Sums over the intervals of one rate.
#[derive(Default)]
struct Intervals {
    points: u32,
    covered: u32,
    error: f64,
    width: f64,
}

impl Intervals {
    fn json(&self, trace: &str, rate: f64) -> Value {
        let mean = |sum: f64| sum / f64::from(self.points);
        json!({
            "trace": trace,
            "rate": rate,
            "points": self.points,
            "covered": mean(f64::from(self.covered)),
            "mean_error": mean(self.error),
            "mean_width": mean(self.width),
        })
    }

    fn add(&mut self, other: &Intervals) {
        self.points += other.points;
        self.covered += other.covered;
        self.error += other.error;
        self.width += other.width;
    }
}

/// LRU curves of the traces in `folder` from samples of `seeds` seeds, against the exact ones.
pub fn intervals(folder: &Path, seeds: u64) -> anyhow::Result<Value> {
    let mut rows = Vec::new();
    let mut all = RATES.map(|_| Intervals::default());
    let entries = std::fs::read_dir(folder).context("no folder of traces")?;
    let mut paths: Vec<_> = entries
        .map(|e| e.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    paths.sort();
    for path in paths.iter().filter(|path| path.is_file()) {
        // A folder of traces has other files, too.
        let Ok(trace) = load(Source::from_arg(path), &LoadOptions::default()) else {
            continue;
        };
        for (rate, sum) in RATES.into_iter().zip(&mut all) {
            let found = of_trace(&trace, rate, seeds)?;
            if found.points > 0 {
                rows.push(found.json(&trace.meta.name, rate));
            }
            sum.add(&found);
        }
    }
    let sums = all.iter().zip(RATES);
    rows.extend(sums.map(|(sum, rate)| sum.json("all", rate)));
    Ok(json!(rows))
}

fn of_trace(trace: &Trace, rate: f64, seeds: u64) -> anyhow::Result<Intervals> {
    let base = RunSpec::cache_only(Expr::parse("lru")?, SIZES[0]);
    let curve = Curve {
        trace: trace.into(),
        base: &base,
        sizes: &SIZES,
        jobs: 1,
        progress: &SweepProgress::default(),
        meter: &Unmetered,
    };
    let exact = curve.exact()?;
    let mut found = Intervals::default();
    for seed in 1..=seeds {
        let size = SampleSize::Rate(rate);
        let sampled = match curve.sampled(&Sampling { size, seed }) {
            Err(CurveError::EmptySample { .. }) => continue,
            sampled => sampled?,
        };
        for (sampled, exact) in sampled.points.iter().zip(&exact) {
            let truth = exact.counts.page_hit_ratio();
            let (Some(estimate), Some(truth)) = (sampled.page_hit_ratio, truth) else {
                continue;
            };
            found.points += 1;
            found.covered += u32::from((estimate.low..=estimate.high).contains(&truth));
            found.error += (estimate.value - truth).abs();
            found.width += estimate.high - estimate.low;
        }
    }
    Ok(found)
}
