//! `destage trace compare`: a trace beside its twin.

use crate::trace::twin::{each, load};
use destage_console::failure::Failure;
use destage_console::print::{print, print_json};
use destage_experiment::memory::MemoryLimit;
use destage_experiment::options::InputArgs;
use destage_report::table::{lines, plain};
use destage_twin::{CURVE_MIB, Likeness, LikenessCount, curve_error};
use serde_json::{Map, Value, json};
use std::path::Path;

/// A figure of both traces: its name, its values, and whether it is a share, with decimals if not.
struct Row {
    name: String,
    key: String,
    values: [Option<f64>; 2],
    share: bool,
}

/// Counts both traces and prints what they have in common.
///
/// # Errors
/// Bad input, or too little memory.
pub fn run(
    paths: [&Path; 2],
    options: &InputArgs,
    limit: MemoryLimit,
    as_json: bool,
) -> Result<(), Failure> {
    let mut found = Vec::new();
    for path in paths {
        let trace = load(path, options)?;
        let mut count = LikenessCount::new();
        each(&trace, limit, &mut |_, r| {
            count.add(r.arrival, r.op, r.start_sector, r.sectors);
        })?;
        found.push((trace.meta().name.clone(), count.finish()));
    }
    let rows = rows([&found[0].1, &found[1].1]);
    let errors = errors([&found[0].1, &found[1].1]);
    let names = [&found[0].0, &found[1].0];
    match as_json {
        true => print_json(&object(names, &rows, errors)),
        false => print(&text(names, &rows, errors)),
    }
}

fn rows(traces: [&Likeness; 2]) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut row = |name: &str, key: &str, share: bool, value: &dyn Fn(&Likeness) -> Option<f64>| {
        rows.push(Row {
            name: name.to_owned(),
            key: key.to_owned(),
            values: traces.map(value),
            share,
        });
    };
    let hundredth = |percent: f64| percent / 100.0;
    for (i, mib) in CURVE_MIB.into_iter().enumerate() {
        row(
            &format!("write hits, write buffer of {mib} MiB"),
            &format!("write_hit_{mib}mib"),
            true,
            &|t| t.write_curve.map(|c| hundredth(c[i])),
        );
    }
    for (i, mib) in CURVE_MIB.into_iter().enumerate() {
        row(
            &format!("hits, cache of {mib} MiB"),
            &format!("hit_{mib}mib"),
            true,
            &|t| t.curve.map(|c| hundredth(c[i])),
        );
    }
    row("updates", "update_share", true, &|t| t.update_share);
    row("reads after writes", "read_after_write_share", true, &|t| {
        t.read_after_write_share
    });
    row("large sequential writes", "lwdata_share", true, &|t| {
        t.large_share
    });
    row("Frequent R", "frequent_share", true, &|t| t.frequent_share);
    row("live large sets", "large_sets", false, &|t| t.large_sets);
    row("CV of gaps", "gap_variation", false, &|t| t.gap_variation);
    row("peak/mean second", "peak_to_mean", false, &|t| {
        t.peak_to_mean
    });
    row("footprint, MiB", "footprint_mib", false, &|t| {
        Some(t.footprint as f64 / 256.0)
    });
    row("requests", "requests", false, &|t| Some(t.requests as f64));
    rows
}

/// Mean absolute errors of both curves, in points.
fn errors(traces: [&Likeness; 2]) -> [Option<f64>; 2] {
    let error = |of: fn(&Likeness) -> Option<[f64; 7]>| {
        let both = of(traces[0]).zip(of(traces[1]));
        both.map(|(a, b)| curve_error(a, b))
    };
    [error(|t| t.write_curve), error(|t| t.curve)]
}

fn text(names: [&String; 2], rows: &[Row], errors: [Option<f64>; 2]) -> String {
    let mut table = plain(&["", names[0], names[1], "error"], 1);
    for row in rows {
        let cell = |value: Option<f64>| match (value, row.share) {
            (None, _) => "-".to_owned(),
            (Some(value), true) => format!("{:.1} %", 100.0 * value),
            (Some(value), false) => format!("{value:.1}"),
        };
        let error = match (row.values, row.share) {
            ([Some(a), Some(b)], true) => format!("{:+.1}", 100.0 * (b - a)),
            _ => String::new(),
        };
        table.add_row([
            row.name.clone(),
            cell(row.values[0]),
            cell(row.values[1]),
            error,
        ]);
    }
    let mut text = lines(&table);
    let curves = ["write hits", "hits"];
    for (curve, error) in curves.iter().zip(errors) {
        if let Some(error) = error {
            text += &format!("mean absolute error of {curve}: {error:.2} points\n");
        }
    }
    text
}

fn object(names: [&String; 2], rows: &[Row], errors: [Option<f64>; 2]) -> Value {
    let side = |i: usize| {
        let values = rows
            .iter()
            .map(|row| (row.key.clone(), json!(row.values[i])));
        let mut side = Map::from_iter([("trace".to_owned(), json!(names[i]))]);
        side.extend(values);
        side
    };
    json!({
        "a": side(0),
        "b": side(1),
        "write_curve_error_points": errors[0],
        "curve_error_points": errors[1],
    })
}
