//! Groups of one trace side by side: a series for each device with its settings.

use crate::distinct;
use crate::html::chart::{Chart, ChartAxis, ChartKind, ChartPanel, ChartSeries, ChartUnit};
use crate::html::figures::{FIGURES, HITS, RESPONSE, ReportFigure};
use crate::html::group::{RunGroup, ShownScheme};
use crate::style::SeriesLook;

/// The groups of one trace, if there are several.
struct Rivals<'a, 'b> {
    trace: &'b str,
    groups: Vec<&'b RunGroup<'a>>,
}

fn rivals<'a, 'b>(all: &'b [RunGroup<'a>]) -> Vec<Rivals<'a, 'b>> {
    let traces = distinct(all.iter().map(|g| g.first().trace.name.as_str()));
    let of = |trace: &'b str| Rivals {
        trace,
        groups: all
            .iter()
            .filter(|g| g.first().trace.name == trace)
            .collect(),
    };
    let rivals = traces.into_iter().map(of);
    rivals.filter(|rivals| rivals.groups.len() > 1).collect()
}

/// A description of the compared groups.
pub fn about(all: &[RunGroup<'_>]) -> String {
    let labels = distinct(all.iter().map(|g| g.label.as_str()));
    let labels = labels.iter().map(|label| {
        if label.is_empty() {
            "as built in"
        } else {
            label
        }
    });
    labels.collect::<Vec<_>>().join("; ")
}

/// A chart for each figure, with a panel for each trace and cache size that several groups have.
pub fn charts(all: &[RunGroup<'_>]) -> Vec<Chart> {
    let labels = distinct(all.iter().map(|g| g.label.as_str()));
    let rivals = rivals(all);
    let several = distinct(all.iter().map(|g| &g.first().trace)).len() > 1;
    let chart = |figure: &ReportFigure| {
        let panels = rivals
            .iter()
            .flat_map(|r| r.panels(figure, &labels, several));
        let (name, unit) = (figure.name(all[0].unit), figure.unit(all[0].unit));
        Chart {
            own_legend: true,
            better: figure.better,
            ..Chart::new(
                ChartKind::Bars,
                &name,
                figure.about,
                ChartAxis::new("scheme", ChartUnit::Ratio),
                ChartAxis::new(&name, unit),
            )
        }
        .with_panels(panels.collect())
    };
    // The figures that the top of a report answers come first.
    let mut figures: Vec<&ReportFigure> = FIGURES.iter().collect();
    figures.sort_by_key(|figure| ![HITS.name, RESPONSE.name].contains(&figure.name));
    figures.into_iter().filter_map(chart).collect()
}

/// A scheme at a cache size.
type Place<'a> = (&'a ShownScheme, u64);

impl<'a> Rivals<'a, '_> {
    /// Its panels: a name, and the schemes and sizes along the axis. Where no size is that of several groups, there is
    /// one panel with all sizes.
    fn places(&self) -> Vec<(String, Vec<Place<'a>>)> {
        let schemes = distinct(self.groups.iter().flat_map(|g| g.schemes.iter().copied()));
        let mut sizes = distinct(self.groups.iter().flat_map(|g| g.sizes.iter().copied()));
        sizes.sort_unstable();
        let groups_with = |size: &u64| {
            self.groups
                .iter()
                .filter(|g| g.sizes.contains(size))
                .count()
        };
        let along = |size: u64| schemes.iter().map(move |scheme| (*scheme, size));
        let common: Vec<u64> = sizes
            .iter()
            .copied()
            .filter(|s| groups_with(s) > 1)
            .collect();
        if common.is_empty() {
            let all = schemes
                .iter()
                .flat_map(|s| sizes.iter().map(move |&size| (*s, size)));
            vec![(String::new(), all.collect())]
        } else {
            let panel = |size| (RunGroup::size_text(size), along(size).collect());
            common.into_iter().map(panel).collect()
        }
    }

    /// The panels of `figure`; `labels` are those of all groups in order, and `several`: are there other traces?
    fn panels(&self, figure: &ReportFigure, labels: &[&str], several: bool) -> Vec<ChartPanel> {
        let panel = |(size, places): (String, Vec<Place<'a>>)| {
            let series = self.groups.iter().map(|group| {
                let look = labels.iter().position(|label| *label == group.label);
                let values = places
                    .iter()
                    .map(|&(scheme, size)| group.value(scheme, size, figure));
                let name = if group.label.is_empty() {
                    "as built in"
                } else {
                    &group.label
                };
                ChartSeries::new(
                    name,
                    SeriesLook::Number(look.unwrap_or(0)),
                    values.collect(),
                )
            });
            let names = places.iter().map(|(scheme, bytes)| {
                if size.is_empty() {
                    format!("{}, {}", scheme.name, RunGroup::size_text(*bytes))
                } else {
                    scheme.name.clone()
                }
            });
            let name = match (several, size.is_empty()) {
                (false, _) => size.clone(),
                (true, true) => self.trace.to_owned(),
                (true, false) => format!("{}, {size}", self.trace),
            };
            ChartPanel::new(&name, Vec::new(), names.collect(), series.collect())
        };
        self.places().into_iter().map(panel).collect()
    }
}
