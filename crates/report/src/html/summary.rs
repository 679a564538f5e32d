//! The sentences of a report.

use crate::answers::{ComparedRun, Finding, answers};
use crate::html::figures::HITS;
use crate::html::group::RunGroup;
use crate::html::page::escaped;
use crate::html::undrained;
use crate::style::SeriesLook;

/// The answers about `group`: tiles at the size in the middle, and sentences.
pub fn of_group(group: &RunGroup<'_>) -> String {
    tiles(group) + &sentences(group)
}

/// The answers about the runs with a cache of `size` bytes.
pub fn answers_at(group: &RunGroup<'_>, size: u64) -> Vec<Finding> {
    let runs = group.schemes.iter().filter_map(|s| group.run(s, size));
    let runs: Vec<ComparedRun> = runs.map(|run| (&run.record).into()).collect();
    answers(&runs)
}

/// The best values at the size in the middle, each with its schemes.
fn tiles(group: &RunGroup<'_>) -> String {
    let size = group.sizes[group.sizes.len() / 2];
    let tile = |answer: Finding| {
        format!(
            "<div class=\"tile\"><span>{}, {}</span><b>{}</b><span>{}</span></div>\n",
            answer.topic.title(),
            RunGroup::size_text(size),
            escaped(&answer.value),
            escaped(&answer.who)
        )
    };
    let tiles: String = answers_at(group, size).into_iter().map(tile).collect();
    format!("<div class=\"tiles\">\n{tiles}</div>\n")
}

/// The sentences about `group`, as a list.
fn sentences(group: &RunGroup<'_>) -> String {
    let mut lines = Vec::new();
    for &size in shown_sizes(&group.sizes) {
        let mut said = answers_at(group, size)
            .iter()
            .map(Finding::to_string)
            .collect::<Vec<_>>();
        said.extend(bound(group, size));
        lines.push(format!(
            "At {}: {}",
            RunGroup::size_text(size),
            said.join(" ")
        ));
    }
    lines.extend(undrained::sentence(group));
    if group.runs.iter().any(|run| run.charts.is_none()) {
        lines.push(
            "Runs whose records were read from a file are not in the charts over time, of response times and of \
             chips; `destage run --report`, with --fresh where --out has the runs, collects them."
                .to_owned(),
        );
    }
    let items = lines.iter().map(|l| format!("<li>{}</li>\n", escaped(l)));
    format!(
        "<ul class=\"summary\">\n{}</ul>\n",
        items.collect::<String>()
    )
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

/// A sentence on the hit ratio of a scheme that knows the future.
fn bound(group: &RunGroup<'_>, size: u64) -> Option<String> {
    let bound = group.schemes.iter().find(|s| s.look == SeriesLook::Bound)?;
    let record = &group.run(bound, size)?.record;
    let alloc = if record.reading.read_alloc {
        "with"
    } else {
        "without"
    };
    Some(format!(
        "{}, which knows the future, hits {:.2} % {alloc} read allocation.",
        bound.name,
        100.0 * (HITS.of)(record)?
    ))
}
