//! The table of `run`.

use super::Readings;
use crate::run::Settings;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use destage_sim::ResultRecord;
use destage_sim::record::ConfigEntry;
use destage_types::ByteSize;

/// An empty table: columns as wide as they need to be, numbers to the right from column `numbers`.
pub fn plain(header: &[&str], numbers: usize) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().copied());
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if i >= numbers {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// The lines of a table without blanks at their ends, with a line feed at the end of the text.
pub fn lines(table: &Table) -> String {
    let lines: Vec<String> = table.lines().map(|l| l.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

/// A ratio in percent, or `-` without a denominator.
pub fn percent(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |r| format!("{:.2}", 100.0 * r))
}

/// The table of `records` with its reading line and the settings that are not built in.
pub fn text(records: &[ResultRecord]) -> String {
    let readings = Readings::of(records);
    let timed = records.iter().any(|r| r.latency_ns.is_some());
    let mut header = vec![
        "trace",
        "scheme",
        "cache",
        "page hit %",
        "read hit %",
        "write hit %",
        "evictions",
        "pages/eviction",
        "flash writes",
    ];
    if timed {
        header.extend(["mean ms", "p99 ms", "write amplification"]);
    }
    let mut table = plain(&header, 2);
    for r in records {
        let mean = r.evict_pages_mean;
        let mut row = vec![
            r.trace.name.clone(),
            format!("{}{}", r.scheme, readings.mark(r)),
            cache(r),
            percent(r.ratios.page_hit_ratio),
            percent(r.ratios.read_page_hit_ratio),
            percent(r.ratios.write_page_hit_ratio),
            r.counts.evictions.to_string(),
            mean.map_or_else(|| "-".to_owned(), |m| format!("{m:.2}")),
            r.counts.flash_writes_host.to_string(),
        ];
        if timed {
            row.extend(times(r));
        }
        table.add_row(row);
    }
    let mut text = lines(&table) + "\n";
    let mut below = readings.lines();
    below.extend(Settings::line(&common(records)));
    for line in below {
        text += &line;
        text.push('\n');
    }
    text
}

/// The settings that all runs have in common; a run file may give each its own.
fn common(records: &[ResultRecord]) -> Vec<ConfigEntry> {
    let first = records.first().map_or(&[][..], |r| &r.config);
    let all = |s: &&ConfigEntry| records.iter().all(|r| r.config.contains(s));
    first.iter().filter(all).cloned().collect()
}

/// The cache size of a row; `-` without a cache.
pub fn cache(record: &ResultRecord) -> String {
    match record.cache_pages {
        0 => "-".to_owned(),
        _ => ByteSize(record.cache_bytes).to_string(),
    }
}

/// Mean and 99th percentile of the response time, and write amplification.
pub fn times(record: &ResultRecord) -> [String; 3] {
    let ms = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), |n| format!("{:.3}", n / 1e6));
    let all = record.latency_ns.as_ref().map(|l| &l.all);
    [
        ms(all.and_then(|l| l.mean)),
        ms(all.and_then(|l| l.p99).map(|p| p as f64)),
        record
            .ratios
            .waf
            .map_or_else(|| "-".to_owned(), |w| format!("{w:.3}")),
    ]
}
