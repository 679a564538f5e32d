//! The data of a chart, as the script of the page reads them.

use crate::figures::Better;
use crate::style::SeriesLook;
use destage_console::terminal::harmless;
use serde::{Serialize, Serializer};

/// How a chart is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChartKind {
    /// A line per series over numbers.
    Lines,
    /// Bars of all series beside each other, for each label.
    Bars,
    /// Bars of all series on top of each other, for each label.
    Stack,
    /// Areas of all series on top of each other, over numbers.
    Areas,
    /// Response times; the numbers of the horizontal axis are the shares of slower requests.
    Tail,
    /// A point of each series: its number on the horizontal axis, and its value.
    Scatter,
    /// Cells in columns (series) and rows (labels).
    Heat,
    /// Pairs of bars, and the range of the second as a line.
    Beside,
}

/// How a number is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChartUnit {
    /// A ratio, in percent.
    Percent,
    /// Nanoseconds, in the unit that suits.
    Ns,
    /// A size in bytes; doublings are equally far apart.
    Bytes,
    /// How many.
    Count,
    /// As it is.
    Ratio,
}

/// An axis of a chart.
#[derive(Clone, Debug, Serialize)]
pub struct ChartAxis {
    /// Its name.
    pub name: String,
    /// How its numbers are shown.
    pub unit: ChartUnit,
}

impl ChartAxis {
    /// An axis of numbers that are shown in `unit`.
    pub fn new(name: &str, unit: ChartUnit) -> ChartAxis {
        let name = name.to_owned();
        ChartAxis { name, unit }
    }
}

/// A chart.
#[derive(Clone, Debug, Serialize)]
pub struct Chart {
    /// The title.
    pub title: String,
    /// Its meaning, in a sentence; may be empty.
    pub about: String,
    /// How it is drawn.
    pub kind: ChartKind,
    /// The axis of labels or numbers.
    pub x: ChartAxis,
    /// The axis of values.
    pub y: ChartAxis,
    /// Which value of a row is marked as the best one of its table.
    #[serde(serialize_with = "word")]
    pub better: Better,
    /// A value to compare with, as 1 where values are relative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<f64>,
    /// Are its series others than those of the charts around it?
    pub own_legend: bool,
    /// Number of the panel that is shown first.
    pub chosen: usize,
    /// One of them is shown at a time.
    pub panels: Vec<ChartPanel>,
}

/// The part of a chart that is shown at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChartPanel {
    /// The label by which it is chosen.
    pub label: String,
    /// Numbers of the horizontal axis; empty for a chart over labels.
    #[serde(serialize_with = "places")]
    pub x: Vec<f64>,
    /// Texts of the horizontal axis, if it has any.
    pub labels: Vec<String>,
    /// The series.
    pub series: Vec<ChartSeries>,
}

/// Values under one name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChartSeries {
    /// The name.
    pub name: String,
    /// The look: a number, or nothing for a bound.
    #[serde(serialize_with = "number")]
    pub look: SeriesLook,
    /// As many as the panel has numbers or labels.
    #[serde(serialize_with = "rounded_or_null")]
    pub y: Vec<Option<f64>>,
    /// Least and most, if the values have a range.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub range: Vec<Option<(f64, f64)>>,
}

impl ChartSeries {
    /// A series without ranges.
    pub fn new(name: &str, look: SeriesLook, y: Vec<Option<f64>>) -> ChartSeries {
        ChartSeries {
            name: harmless(name).into_owned(),
            look,
            y,
            range: Vec::new(),
        }
    }

    /// Is there a value at all?
    pub fn has_value(&self) -> bool {
        self.y.iter().any(Option::is_some)
    }
}

impl ChartPanel {
    /// A panel of the series that have a value.
    pub fn new(label: &str, x: Vec<f64>, labels: Vec<String>, series: Vec<ChartSeries>) -> Self {
        let labels = labels.iter().map(|l| harmless(l).into_owned());
        ChartPanel {
            label: harmless(label).into_owned(),
            x,
            labels: labels.collect(),
            series: series.into_iter().filter(ChartSeries::has_value).collect(),
        }
    }
}

impl Chart {
    /// A chart without panels, with its title and axes alone.
    pub fn new(kind: ChartKind, title: &str, about: &str, x: ChartAxis, y: ChartAxis) -> Chart {
        Chart {
            title: title.to_owned(),
            about: about.to_owned(),
            kind,
            x,
            y,
            better: Better::Neither,
            baseline: None,
            own_legend: false,
            chosen: 0,
            panels: Vec::new(),
        }
    }

    /// The chart, if it has anything to show.
    pub fn with_panels(mut self, panels: Vec<ChartPanel>) -> Option<Chart> {
        self.panels = panels;
        self.panels.retain(|panel| !panel.series.is_empty());
        self.chosen = self.chosen.min(self.panels.len().saturating_sub(1));
        (!self.panels.is_empty()).then_some(self)
    }

    /// The chart with one panel, if that has anything to show.
    pub fn with_panel(
        self,
        x: Vec<f64>,
        labels: Vec<String>,
        series: Vec<ChartSeries>,
    ) -> Option<Chart> {
        self.with_panels(vec![ChartPanel::new("", x, labels, series)])
    }

    /// Does it take the width of the page?
    pub fn is_wide(&self) -> bool {
        let places = self
            .panels
            .iter()
            .map(|p| p.labels.len() * p.series.len())
            .max();
        self.kind != ChartKind::Lines && places.unwrap_or(0) > 40
            || self.panels.iter().any(|p| p.labels.len() > 6)
    }

    /// The chart in words, for those who do not see it.
    pub fn spoken(&self) -> String {
        let names: Vec<&str> = self.panels[0].series.iter().map(|s| &*s.name).collect();
        format!(
            "{}: {} over {}, of {}. The table below it has all values.",
            self.title,
            self.y.name,
            self.x.name,
            names.join(", ")
        )
    }
}

fn word<S: Serializer>(better: &Better, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match better {
        Better::Larger => "more",
        Better::Smaller => "less",
        Better::Neither => "neither",
    })
}

fn number<S: Serializer>(look: &SeriesLook, serializer: S) -> Result<S::Ok, S::Error> {
    match look {
        SeriesLook::Number(i) => serializer.serialize_some(i),
        SeriesLook::Bound => serializer.serialize_none(),
    }
}

/// Counts are exact; of other values seven digits are more than is seen.
fn short(value: f64) -> serde_json::Value {
    if value.fract() == 0.0 {
        exact(value)
    } else {
        exact(format!("{value:.6e}").parse().unwrap_or(value))
    }
}

fn places<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|v| exact(*v)))
}

/// A place on an axis is not rounded.
fn exact(value: f64) -> serde_json::Value {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        (value as i64).into()
    } else {
        value.into()
    }
}

fn rounded_or_null<S: Serializer>(values: &[Option<f64>], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(values.iter().map(|v| v.map(short)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_names_harmless() {
        let values = vec![Some(0.123_456_789), Some(1e6), Some(1_234_567.0), None];
        let series = ChartSeries::new("a\u{1b}[2J", SeriesLook::Bound, values);
        let text = serde_json::to_string(&series).unwrap();
        let expected = r#"{"name":"a\\u{1b}[2J","look":null,"y":[0.1234568,1000000,1234567,null]}"#;
        assert_eq!(text, expected);
    }
}
