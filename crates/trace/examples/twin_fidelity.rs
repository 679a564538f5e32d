//! Fits a twin to each trace, generates it with two seeds, and prints what differs as a table.
//!
//! `twin_fidelity TRACE...`

use destage_trace::twin::{Likeness, LikenessCount, Twin, TwinFit, curve_error};
use destage_trace::{LoadOptions, Source, load};
use destage_types::{HostRequest, Nanos, Op};
use std::convert::Infallible;

const SEEDS: [u64; 2] = [1, 2];
/// Share of writes below which a trace is left out of the mean.
const FEW: f64 = 0.02;

fn likeness(requests: &[HostRequest]) -> Likeness {
    let mut count = LikenessCount::new();
    for r in requests {
        if matches!(r.op, Op::Read | Op::Write) {
            count.add(r.arrival, r.op, r.start_sector, r.sectors);
        }
    }
    count.finish()
}

/// Mean differences of the curves of the twins, in points.
fn curve(trace: &Likeness, twins: &[Likeness], of: fn(&Likeness) -> Option<[f64; 7]>) -> String {
    let Some(trace) = of(trace) else {
        return "-".to_owned();
    };
    let n = twins.len() as f64;
    let mean = |i: usize| {
        twins
            .iter()
            .filter_map(of)
            .map(|twin| twin[i] - trace[i])
            .sum::<f64>()
            / n
    };
    let cells: Vec<String> = (0..7).map(|i| format!("{:+.1}", mean(i))).collect();
    cells.join(" ")
}

/// A figure of the trace and of the twins in the mean.
fn pair(trace: &Likeness, twins: &[Likeness], of: fn(&Likeness) -> Option<f64>) -> String {
    let cell = |value: Option<f64>| match value {
        None => "-".to_owned(),
        Some(value) if value < 1.0 => format!("{value:.2}"),
        Some(value) => format!("{value:.1}"),
    };
    let all: Vec<f64> = twins.iter().filter_map(of).collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    format!(
        "{}/{}",
        cell(of(trace)),
        cell((!all.is_empty()).then_some(mean))
    )
}

fn row(path: &std::ffi::OsStr) -> Result<Option<f64>, Box<dyn std::error::Error>> {
    let trace = load(Source::from_arg(path), &LoadOptions::default())?;
    let records = trace.requests.records();
    let mut fit = TwinFit::new(records.last().map_or(Nanos::ZERO, |r| r.arrival));
    for r in records
        .iter()
        .filter(|r| matches!(r.op, Op::Read | Op::Write))
    {
        fit.add(r.arrival, r.op, r.start_sector, r.sectors);
    }
    let (mut parameters, accuracy) = fit.finish()?.calibrate(|_, _| Ok::<(), Infallible>(()))?;
    let original = likeness(records);
    let twins = SEEDS.map(|seed| {
        parameters.seed = seed;
        let name = trace.meta.name.clone();
        let parameters = parameters.clone();
        likeness(Twin { name, parameters }.generate().requests.records())
    });
    let error = |twin: &Likeness| Some(curve_error(twin.write_curve?, original.write_curve?));
    let errors: Vec<f64> = twins.iter().filter_map(error).collect();
    let error = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
    let figures: [fn(&Likeness) -> Option<f64>; 7] = [
        |t| t.update_share,
        |t| t.read_after_write_share,
        |t| t.large_share,
        |t| t.large_sets,
        |t| t.frequent_share,
        |t| t.gap_variation,
        |t| t.peak_to_mean,
    ];
    let cells = figures.map(|of| pair(&original, &twins, of)).join(" | ");
    println!(
        "| {}{} | {error:.1} | {} | {} | {cells} |",
        trace.meta.name,
        if accuracy.kept { "" } else { " (u)" },
        curve(&original, &twins, |t| t.write_curve),
        curve(&original, &twins, |t| t.curve),
    );
    let writes = records.iter().filter(|r| r.op == Op::Write).count();
    Ok((writes as f64 >= FEW * records.len() as f64).then_some(error))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "| trace | mean | write hit ratio | read+write hit ratio | updates | read after write | LWdata \
         | large sets | Frequent R | CV | peak |"
    );
    println!("|--|--|--|--|--|--|--|--|--|--|--|");
    let mut errors = Vec::new();
    for path in std::env::args_os().skip(1) {
        errors.extend(row(&path)?);
    }
    let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
    println!(
        "\nMean of the {} of which 2 % are writes: {mean:.1} points.",
        errors.len()
    );
    Ok(())
}
