//! How evenly the load and the wear of a run lie on the chips of its device.

use crate::html::chart::{Chart, ChartAxis, ChartKind, ChartPanel, ChartSeries, ChartUnit};
use crate::html::group::{ReportedRun, RunGroup};
use crate::html::run_charts::data_axis;
use crate::style::SeriesLook;

/// The maps of `group`.
pub fn charts(group: &RunGroup<'_>) -> [Option<Chart>; 3] {
    let wear = "In the measured part, garbage collection included; a column for each channel, or sixteen chips a row.";
    let counts = |counts: &[u64]| counts.iter().map(|&n| n as f64).collect();
    let data = data_axis(group.unit);
    let load = heat(
        "die load",
        "Share of the time that each die was busy, a column for each channel, or sixteen chips a row.",
        "die",
        ChartUnit::Percent,
    );
    let programmed = format!("{} programmed per chip", data.name);
    let programmed = heat(&programmed, wear, "chip", data.unit);
    let erased = heat("blocks erased per chip", wear, "chip", ChartUnit::Count);
    [
        load.with_panels(panels(group, |run| {
            Some(run.record.utilisation.as_ref()?.dies.clone())
        })),
        programmed.with_panels(panels(group, |run| {
            let pages = run.charts.as_ref()?.profile.chip_programs.iter();
            let amount = |&n: &u64| group.unit.amount(&run.record, n as f64);
            Some(pages.map(amount).collect())
        })),
        erased.with_panels(panels(group, |run| {
            Some(counts(&run.charts.as_ref()?.profile.chip_erases))
        })),
    ]
}

/// A map of chips or dies, whose values are shown in `unit`.
fn heat(title: &str, about: &str, part: &str, unit: ChartUnit) -> Chart {
    let (x, y) = (
        ChartAxis::new(part, ChartUnit::Count),
        ChartAxis::new(title, unit),
    );
    Chart::new(ChartKind::Heat, title, about, x, y)
}

/// A panel for each run: its `values`, chip by chip, in a series for each channel.
fn panels(
    group: &RunGroup<'_>,
    values: impl Fn(&ReportedRun) -> Option<Vec<f64>>,
) -> Vec<ChartPanel> {
    let panel = |run: &&ReportedRun| {
        let values = values(run).filter(|all| all.iter().any(|v| *v > 0.0))?;
        let chips = run.charts.as_ref()?.profile.chip_programs.len();
        let channels = run.record.utilisation.as_ref()?.channels.len();
        let columns = columns(chips, channels, &values);
        let rows = columns.iter().map(Vec::len).max()?;
        // More than sixteen channels are folded.
        let (first, step) = if channels > MOST_COLUMNS {
            ("+", MOST_COLUMNS)
        } else {
            ("ch ", 1)
        };
        let labels = (0..rows).map(|i| (step * i).to_string()).collect();
        let series = columns.into_iter().enumerate().map(|(i, column)| {
            let column = column.into_iter().map(Some).collect();
            ChartSeries::new(&format!("{first}{i}"), SeriesLook::Number(0), column)
        });
        let name = group.run_name(run);
        Some(ChartPanel::new(&name, Vec::new(), labels, series.collect()))
    };
    group.runs.iter().filter_map(panel).collect()
}

/// Columns that a page has room for.
const MOST_COLUMNS: usize = 16;

/// `values` of chips, or of as many dies of each, in a column for each channel: chips go round the channels.
fn columns(chips: usize, channels: usize, values: &[f64]) -> Vec<Vec<f64>> {
    let count = channels.min(MOST_COLUMNS);
    let mut columns = vec![Vec::new(); count];
    let dies = (values.len() / chips.max(1)).max(1);
    for (chip, values) in values.chunks(dies).enumerate() {
        columns[chip % count].extend_from_slice(values);
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dies_stand_with_their_channel() {
        let of_two_dies = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        assert_eq!(
            columns(4, 2, &of_two_dies),
            [[1.0, 2.0, 5.0, 6.0], [3.0, 4.0, 7.0, 8.0]]
        );
        assert_eq!(columns(3, 2, &[1.0, 2.0, 3.0]), [vec![1.0, 3.0], vec![2.0]]);
        assert_eq!(columns(64, 64, &[0.5; 64]), vec![vec![0.5; 4]; 16]);
    }
}
