//! How fast MSR lines are decoded.

use super::Bench;
use super::program::median;
use super::table::{Table, figure};
use anyhow::Result;

/// Lines per CPU-second of one core.
pub fn lines(bench: &Bench) -> Result<Vec<Table>> {
    let lines = bench.sizes.lines.to_string();
    let cost = median(bench.sizes.runs, || {
        bench.program.measure(&["reader", "--lines", &lines])
    })?;
    let title = format!("Reading: {} lines of MSR CSV from memory", cost.count);
    let mut table = Table::new(title, &["format", "M lines/s", "goal", "MiB more"]);
    table.row(vec![
        "msr".to_owned(),
        figure(Some(cost.rate())),
        "20.0".to_owned(),
        figure(cost.extra_mib()),
    ]);
    Ok(vec![table])
}
