//! What a report says in sentences.

use crate::distinctions::MIB;
use crate::figures::Better;
use crate::html::chart::ChartUnit;
use crate::html::figures::{HITS, RESPONSE, ReportFigure, WRITES};
use crate::html::group::{RunGroup, ShownScheme};
use crate::html::page::escaped;
use crate::style::SeriesLook;

/// The sentences about `group`, as a list.
pub fn of_group(group: &RunGroup<'_>) -> String {
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
    if group.runs.iter().any(|run| run.charts.is_none()) {
        lines.push(
            "Runs that an earlier command did are not in the charts over time, of response times and of chips; \
             --fresh repeats them."
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

/// Who is best in `figure` at `size`, and by how much against the scheme that all are compared with.
fn best(group: &RunGroup<'_>, size: u64, figure: &ReportFigure) -> Option<String> {
    let of = |s: &ShownScheme| group.value(s, size, figure);
    let values: Vec<(&ShownScheme, f64)> = group
        .contestants()
        .filter_map(|s| Some((s, of(s)?)))
        .collect();
    let better = |a: f64, b: f64| match figure.better {
        Better::Larger => a > b,
        _ => a < b,
    };
    let (_, top) = values
        .iter()
        .copied()
        .reduce(|a, b| if better(b.1, a.1) { b } else { a })?;
    if values.len() < 2 {
        return Some(format!("{} {}", figure.name, shown(group, figure, top)));
    }
    let names: Vec<&str> = values
        .iter()
        .filter(|v| v.1 == top)
        .map(|v| v.0.name.as_str())
        .collect();
    let degree = match (figure.better, figure.unit) {
        (Better::Larger, _) => "highest",
        (_, ChartUnit::Ns) => "shortest",
        _ => "fewest",
    };
    if names.len() == values.len() {
        return Some(format!(
            "{} {} for all",
            figure.name,
            shown(group, figure, top)
        ));
    }
    let who = match &names[..] {
        [one] => (*one).to_owned(),
        [all @ .., last] if all.len() < 3 => format!("{} and {last}", all.join(", ")),
        [first, second, others @ ..] => format!("{first}, {second} and {} others", others.len()),
        [] => return None,
    };
    let base = group.base().and_then(|base| Some((base, of(base)?)));
    let against = base.filter(|(base, value)| base.name != who && *value != 0.0);
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
        "{degree} {}: {who} ({}{})",
        figure.name,
        shown(group, figure, top),
        against.unwrap_or_default()
    ))
}

/// What a scheme that knows the future reaches.
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
