//! The sentences of a report.

use crate::distinctions::MIB;
use crate::figures::Better;
use crate::html::chart::ChartUnit;
use crate::html::figures::{
    AMPLIFICATION, HITS, P99, READ_HITS, RESPONSE, ReportFigure, WRITE_HITS, WRITES,
};
use crate::html::group::{RunGroup, ShownScheme};
use crate::html::page::escaped;
use crate::html::undrained;
use crate::style::SeriesLook;

/// The answers about `group`, tiles, and sentences.
pub fn of_group(group: &RunGroup<'_>) -> String {
    answers(group).unwrap_or_default() + &tiles(group) + &sentences(group)
}

/// A sentence for each question, at the size in the middle.
fn answers(group: &RunGroup<'_>) -> Option<String> {
    let size = group.sizes[group.sizes.len() / 2];
    let (base, decisive) = (group.base()?, decisive(group));
    let values = group.contestants();
    let values: Vec<_> = values
        .filter_map(|s| Some((s, group.value(s, size, decisive)?)))
        .collect();
    if values.len() < 2 {
        return None;
    }
    let (winner, value) = values
        .into_iter()
        .reduce(|a, b| if beats(decisive, b.1, a.1) { b } else { a })?;
    let which = format!(
        "{}: at {} it has the {} {}, {}.",
        winner.name,
        RunGroup::size_text(size),
        degree(decisive),
        decisive.name,
        shown(group, decisive, value)
    );
    let change = |figure: &ReportFigure| {
        let (now, before) = (
            group.value(winner, size, figure)?,
            group.value(base, size, figure)?,
        );
        let (now_text, before_text) = (shown(group, figure, now), shown(group, figure, before));
        Some(format!(
            "{} {now_text} instead of {before_text}{}",
            figure.name(group.unit),
            difference(figure, now, before)
        ))
    };
    let listed = |figures: &[ReportFigure]| {
        let texts: Vec<String> = figures.iter().filter_map(change).collect();
        format!("Against {}: {}.", base.name, texts.join("; "))
    };
    let (gains, costs) = match winner.name == base.name {
        true => {
            let none = format!(
                "{} is what the others are compared with, and none is better.",
                base.name
            );
            let writes = shown(group, &WRITES, group.value(base, size, &WRITES)?);
            (none, format!("{} {writes}.", WRITES.name(group.unit)))
        }
        false => (listed(&[RESPONSE, HITS]), listed(&[WRITES, AMPLIFICATION])),
    };
    let questions = [
        ("Which scheme?", which),
        ("What does it gain?", gains),
        ("What does it write to flash?", costs),
    ];
    let rows: String = questions
        .iter()
        .map(|(question, answer)| format!("<dt>{question}</dt><dd>{}</dd>\n", escaped(answer)))
        .collect();
    Some(format!("<dl class=\"answers\">\n{rows}</dl>\n"))
}

/// The figure that decides: response time where there is a device.
fn decisive(group: &RunGroup<'_>) -> &'static ReportFigure {
    match group.runs.iter().any(|run| run.record.latency_ns.is_some()) {
        true => &RESPONSE,
        false => &HITS,
    }
}

/// The best of four figures at the size in the middle, each with its scheme.
fn tiles(group: &RunGroup<'_>) -> String {
    let size = group.sizes[group.sizes.len() / 2];
    let figures = match group.runs.iter().any(|run| run.record.latency_ns.is_some()) {
        true => [&HITS, &RESPONSE, &P99, &WRITES],
        false => [&HITS, &READ_HITS, &WRITE_HITS, &WRITES],
    };
    let tile = |figure: &&ReportFigure| {
        let values = group.contestants();
        let values = values.filter_map(|s| Some((s.name.as_str(), group.value(s, size, figure)?)));
        let values: Vec<_> = values.collect();
        let value = best_value(figure, &values)?;
        let names = with_value(&values, value);
        let base = group.base().filter(|b| !names.contains(&&*b.name));
        let against = base.and_then(|base| Some((base, group.value(base, size, figure)?)));
        let against = against.map_or(String::new(), |(base, before)| {
            format!(", {} {}", base.name, shown(group, figure, before))
        });
        Some(format!(
            "<div class=\"tile\"><span>{} {}, {}</span><b>{}</b><span>{}</span></div>\n",
            degree(figure),
            escaped(&figure.name(group.unit)),
            RunGroup::size_text(size),
            escaped(&shown(group, figure, value)),
            escaped(&(enumerated(&names) + &against))
        ))
    };
    let tiles: String = figures.iter().filter_map(tile).collect();
    format!("<div class=\"tiles\">\n{tiles}</div>\n")
}

/// The best of the values of schemes.
fn best_value(figure: &ReportFigure, values: &[(&str, f64)]) -> Option<f64> {
    let values = values.iter().map(|value| value.1);
    values.reduce(|a, b| if beats(figure, b, a) { b } else { a })
}

/// The schemes that have `value`.
fn with_value<'a>(values: &[(&'a str, f64)], value: f64) -> Vec<&'a str> {
    let with = values.iter().filter(|other| other.1 == value);
    with.map(|other| other.0).collect()
}

/// Names as a sentence has them: of many, the first ones and how many others.
fn enumerated(names: &[&str]) -> String {
    match names {
        [all @ .., last] if (1..3).contains(&all.len()) => {
            format!("{} and {last}", all.join(", "))
        }
        [first, second, others @ ..] => format!("{first}, {second} and {} others", others.len()),
        _ => names.concat(),
    }
}

/// Is `a` better than `b`?
fn beats(figure: &ReportFigure, a: f64, b: f64) -> bool {
    match figure.better {
        Better::Larger => a > b,
        _ => a < b,
    }
}

/// The adjective for the best value of a figure.
fn degree(figure: &ReportFigure) -> &'static str {
    match (figure.better, figure.unit) {
        (Better::Larger, _) => "highest",
        (_, ChartUnit::Ns) => "shortest",
        (_, ChartUnit::Ratio) => "lowest",
        _ => "fewest",
    }
}

/// By how much a value differs from another one, in brackets.
fn difference(figure: &ReportFigure, now: f64, before: f64) -> String {
    match figure.unit {
        ChartUnit::Percent => format!(" ({:+.2} points)", 100.0 * (now - before)),
        _ if before == 0.0 => String::new(),
        _ => format!(" ({:+.1} %)", 100.0 * (now / before - 1.0)),
    }
}

/// The sentences about `group`, as a list.
fn sentences(group: &RunGroup<'_>) -> String {
    let mut lines = Vec::new();
    for &size in shown_sizes(&group.sizes) {
        let figures = [HITS, RESPONSE, WRITES];
        let parts: Vec<String> = figures
            .iter()
            .filter_map(|f| best(group, size, f))
            .collect();
        if !parts.is_empty() {
            let bound = bound(group, size).unwrap_or_default();
            lines.push(format!(
                "At {}: {}.{bound}",
                RunGroup::size_text(size),
                parts.join("; ")
            ));
        }
    }
    let allocs = group.schemes.iter().filter(|s| s.look != SeriesLook::Bound);
    let allocs = allocs.filter_map(|s| group.run(s, *group.sizes.last()?));
    let cached = allocs.filter(|run| run.record.cache_pages > 0);
    let mut allocs: Vec<bool> = cached.map(|run| run.record.reading.read_alloc).collect();
    allocs.sort_unstable();
    allocs.dedup();
    if allocs.len() > 1 {
        lines.push(
            "The schemes differ in read allocation (see the readings at the end), so their hit ratios do not mean \
             the same."
                .to_owned(),
        );
    }
    lines.extend(undrained::sentence(group));
    if group.runs.iter().any(|run| run.charts.is_none()) {
        lines.push(
            "Runs whose records were read from a file are not in the charts over time, of response times and of \
             chips; `destage run --report`, with --fresh where --out has the runs, collects them."
                .to_owned(),
        );
    }
    let items: String = lines
        .iter()
        .map(|l| format!("<li>{}</li>\n", escaped(l)))
        .collect();
    if items.is_empty() {
        items
    } else {
        format!("<ul class=\"summary\">\n{items}</ul>\n")
    }
}

/// Of many sizes the first, the middle one and the last.
fn shown_sizes(sizes: &[u64]) -> impl Iterator<Item = &u64> {
    let n = sizes.len();
    let shown = move |i: usize| n <= 3 || [0, n / 2, n - 1].contains(&i);
    sizes
        .iter()
        .enumerate()
        .filter(move |(i, _)| shown(*i))
        .map(|(_, size)| size)
}

/// A sentence on the best scheme in `figure` at `size`, and its lead over the scheme that all are
/// compared with.
fn best(group: &RunGroup<'_>, size: u64, figure: &ReportFigure) -> Option<String> {
    let of = |s: &ShownScheme| group.value(s, size, figure);
    let values: Vec<(&str, f64)> = group
        .contestants()
        .filter_map(|s| Some((s.name.as_str(), of(s)?)))
        .collect();
    let top = best_value(figure, &values)?;
    if values.len() < 2 {
        return Some(format!("{} {}", figure.name, shown(group, figure, top)));
    }
    let names = with_value(&values, top);
    if names.len() == values.len() {
        return Some(format!(
            "{} {} for all",
            figure.name,
            shown(group, figure, top)
        ));
    }
    let who = enumerated(&names);
    let base = group.base().and_then(|base| Some((base, of(base)?)));
    let against = base.filter(|(base, value)| !names.contains(&&*base.name) && *value != 0.0);
    let against = against.map(|(base, value)| match figure.unit {
        ChartUnit::Percent => format!(
            ", {:+.2} points against {}",
            100.0 * (top - value),
            base.name
        ),
        _ => format!(
            ", {:+.1} % against {}",
            100.0 * (top / value - 1.0),
            base.name
        ),
    });
    Some(format!(
        "{} {}: {who} ({}{})",
        degree(figure),
        figure.name,
        shown(group, figure, top),
        against.unwrap_or_default()
    ))
}

/// A sentence on the hit ratio of a scheme that knows the future.
fn bound(group: &RunGroup<'_>, size: u64) -> Option<String> {
    let bound = group.schemes.iter().find(|s| s.look == SeriesLook::Bound)?;
    let value = group.value(bound, size, &HITS)?;
    let alloc = if group.run(bound, size)?.record.reading.read_alloc {
        "with"
    } else {
        "without"
    };
    Some(format!(
        " {}, which knows the future, hits {} {alloc} read allocation.",
        bound.name,
        shown(group, &HITS, value)
    ))
}

fn shown(group: &RunGroup<'_>, figure: &ReportFigure, value: f64) -> String {
    match figure.unit(group.unit) {
        ChartUnit::Percent => format!("{:.2} %", 100.0 * value),
        ChartUnit::Ns => format!("{:.3} ms", value / 1e6),
        ChartUnit::Count => format!("{value:.0}"),
        ChartUnit::Bytes => format!("{:.3} MiB", value / MIB),
        ChartUnit::Ratio => format!("{value:.3}"),
    }
}
