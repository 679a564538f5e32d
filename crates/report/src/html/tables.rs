//! The tables of one group of runs, and what the figures mean.

use crate::distinctions::common_settings;
use crate::figures::{figures, nothing_collected};
use crate::formats::read_as;
use crate::html::figures::HITS;
use crate::html::group::RunGroup;
use crate::html::page::{HtmlCell, ReportPage, escaped, table};
use crate::readings::Readings;
use crate::readings::settings_line;
use crate::style::{is_bound, shown_name};
use crate::{details as output_details, table as main_table};
use destage_record::ResultRecord;

/// The records of `group` by cache size.
fn records<'a>(group: &RunGroup<'a>) -> Vec<&'a ResultRecord> {
    let mut records: Vec<&ResultRecord> = group.runs.iter().map(|run| &run.record).collect();
    // Stable: schemes keep their order within a size.
    records.sort_by_key(|r| r.cache_bytes);
    records
}

/// Puts the tables of details on the page, folded.
pub fn details(page: &mut ReportPage, group: &RunGroup<'_>, readings: &Readings<'_>) {
    let records = records(group);
    for part in output_details::tables(&records, group.unit) {
        let mut heads = vec!["scheme", "cache"];
        heads.extend(part.header.iter().map(String::as_str));
        let row = |(number, cells): &(usize, Vec<String>)| {
            let mut row = run_cells(records[*number], readings);
            row.extend(cells.iter().map(HtmlCell::of));
            row
        };
        let rows: Vec<Vec<HtmlCell>> = part.rows.iter().map(row).collect();
        let text = table(&part.title, &heads, &rows, 2 + part.text_columns);
        page.folded(&part.title, &text);
    }
}

fn run_cells(record: &ResultRecord, readings: &Readings<'_>) -> Vec<HtmlCell> {
    vec![
        HtmlCell::of(format!(
            "{}{}",
            shown_name(&record.scheme),
            readings.mark(record)
        )),
        HtmlCell {
            sort: Some(record.cache_bytes),
            ..HtmlCell::of(main_table::cache(record))
        },
    ]
}

/// The table of all runs of `group`.
pub fn main(group: &RunGroup<'_>, readings: &Readings<'_>) -> String {
    let records = records(group);
    let figures = figures(records.iter().copied()).collect::<Vec<_>>();
    let names: Vec<String> = figures.iter().map(|f| f.head_in(group.unit)).collect();
    let mut heads = vec!["scheme", "cache"];
    heads.extend(names.iter().map(String::as_str));
    let row = |record: &&ResultRecord| {
        let mut row = run_cells(record, readings);
        let cells = figures.iter().map(|f| f.cell(record, group.unit));
        row.extend(cells.map(HtmlCell::of));
        row[2].best = has_most_hits(group, record);
        row
    };
    let rows: Vec<Vec<HtmlCell>> = records.iter().map(row).collect();
    table(
        "all runs; the best page hit ratio of each size is bold",
        &heads,
        &rows,
        2,
    )
}

/// Among those that read alike. A bound is no contestant.
fn has_most_hits(group: &RunGroup<'_>, record: &ResultRecord) -> bool {
    let peers = group
        .contestants()
        .filter_map(|s| group.run(s, record.cache_bytes));
    let reading = |r: &ResultRecord| (r.reading.read_alloc, r.reading.read_fill.clone());
    let peers = peers.filter(|run| reading(&run.record) == reading(record));
    let best = peers
        .filter_map(|run| (HITS.of)(&run.record))
        .fold(0.0, f64::max);
    !is_bound(&record.scheme) && (HITS.of)(record).is_some_and(|hit| hit > 0.0 && hit >= best)
}

/// The meaning and the source of the figures.
pub fn provenance(groups: &[RunGroup<'_>], readings: &Readings<'_>) -> String {
    let mut notes = readings.lines();
    let runs = groups.iter().flat_map(|g| &g.runs);
    notes.extend(settings_line(&common_settings(runs.map(|run| &run.record))));
    notes.push(
        "page, read and write hit: hit pages / accessed pages\n\
         pages/eviction: pages removed by one eviction; flash writes: programs for the host\n\
         mean, p99: response time of all requests; write amplification: bytes programmed / bytes written by the host"
            .to_owned(),
    );
    let runs = groups.iter().flat_map(|g| &g.runs);
    notes.extend(nothing_collected(runs.map(|run| &run.record)));
    let text = format!("<pre>{}</pre>\n", escaped(&notes.join("\n")));
    let row = |group: &RunGroup<'_>| {
        let r = group.first();
        let texts = [
            group.title(),
            read_as(&r.trace.format, r.trace.time_unit.as_deref()),
            r.trace.sha256.clone().unwrap_or_else(|| "-".to_owned()),
            r.device.clone(),
        ];
        let numbers = [
            r.trace.requests,
            r.reading.warmup_requests,
            r.page_bytes,
            r.seed,
        ];
        let numbers = numbers.map(|n| n.to_string());
        texts.into_iter().chain(numbers).map(HtmlCell::of).collect()
    };
    let heads = [
        "trace", "format", "SHA-256", "device", "requests", "warm-up", "page B", "seed",
    ];
    let rows: Vec<Vec<HtmlCell>> = groups.iter().map(row).collect();
    text + &table("traces", &heads, &rows, 4)
}

/// Puts the settings of each group on the page, folded.
pub fn settings(page: &mut ReportPage, groups: &[RunGroup<'_>]) {
    for group in groups {
        let config = &group.first().config;
        let row = |e: &destage_record::ConfigEntry| {
            [&e.key, &e.value, &e.origin].map(HtmlCell::of).to_vec()
        };
        let rows: Vec<Vec<HtmlCell>> = config.iter().map(row).collect();
        let title = format!("settings of the first run over {}", group.title());
        let text = table(&title, &["setting", "value", "origin"], &rows, 3);
        page.folded(&title, &text);
    }
}
