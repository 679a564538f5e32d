//! Bars relative to one scheme, as papers draw them.

use crate::distinct;
use crate::html::chart::{Chart, ChartAxis, ChartKind, ChartPanel, ChartSeries, ChartUnit};
use crate::html::figures::{FIGURES, ReportFigure};
use crate::html::group::{RunGroup, ShownScheme};

/// Over the cache sizes of one group: a panel for each figure.
pub fn over_sizes(group: &RunGroup<'_>) -> Option<Chart> {
    let base = group.base().filter(|_| group.schemes.len() > 1)?;
    let labels = group.size_labels();
    let places = group.sizes.iter().map(|&size| Place { group, size });
    let places: Vec<_> = places.collect();
    let panel = |figure| panel(figure, figure.name, base, &group.schemes, &places, &labels);
    bars(
        &format!("relative to {}", base.name),
        &format!("Each value over that of {} with the same cache.", base.name),
        ChartAxis::new("cache size", ChartUnit::Bytes),
        FIGURES.iter().filter(|f| f.relative).map(panel).collect(),
    )
}

/// Over the traces: a panel for each figure, cache size, and device with settings.
pub fn over_traces(all: &[RunGroup<'_>]) -> Option<Chart> {
    let base = all.first()?.base()?;
    if distinct(all.iter().map(|g| &g.first().trace)).len() < 2 {
        return None;
    }
    let mut sizes: Vec<u64> = all.iter().flat_map(|g| g.sizes.iter().copied()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let schemes = distinct(all.iter().flat_map(|group| group.schemes.iter().copied()));
    let mut panels = Vec::new();
    for figure in FIGURES.iter().filter(|figure| figure.relative) {
        for label in distinct(all.iter().map(|g| &g.label)) {
            let groups: Vec<_> = all.iter().filter(|g| g.label == *label).collect();
            let traces = groups.iter().map(|g| g.first().trace.name.clone());
            let traces: Vec<String> = traces.collect();
            for &size in &sizes {
                let places = groups.iter().map(|&group| Place { group, size });
                let places: Vec<_> = places.collect();
                let mut name = format!("{}, {}", figure.name, RunGroup::size_text(size));
                if !label.is_empty() {
                    name += &format!(", {label}");
                }
                panels.push(panel(figure, &name, base, &schemes, &places, &traces));
            }
        }
    }
    bars(
        &format!("all traces, relative to {}", base.name),
        &format!("Each value over that of {} on the same trace.", base.name),
        ChartAxis::new("trace", ChartUnit::Ratio),
        panels,
    )
}

/// A place along the axis.
struct Place<'a> {
    group: &'a RunGroup<'a>,
    /// Of the cache.
    size: u64,
}

/// `figure` of each scheme over that of `base` at `places`.
fn panel<'a>(
    figure: &ReportFigure,
    name: &str,
    base: &ShownScheme,
    schemes: &[&'a ShownScheme],
    places: &[Place<'a>],
    labels: &[String],
) -> ChartPanel {
    let of = |scheme: &&ShownScheme| {
        let part = |&Place { group, size }: &Place<'a>| {
            let whole = group.value(base, size, figure).filter(|v| *v != 0.0)?;
            Some(group.value(scheme, size, figure)? / whole)
        };
        ChartSeries::new(&scheme.name, scheme.look, places.iter().map(part).collect())
    };
    ChartPanel::new(
        name,
        Vec::new(),
        labels.to_vec(),
        schemes.iter().map(of).collect(),
    )
}

fn bars(title: &str, about: &str, x: ChartAxis, mut panels: Vec<ChartPanel>) -> Option<Chart> {
    // Times first where there are any: they are what it is about.
    panels.sort_by_key(|panel| !panel.label.starts_with("mean response time"));
    let y = ChartAxis::new("ratio", ChartUnit::Ratio);
    Chart {
        baseline: Some(1.0),
        ..Chart::new(ChartKind::Bars, title, about, x, y)
    }
    .with_panels(panels)
}
