//! The table of `run`.

use super::Readings;
use crate::run::Settings;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use destage_sim::ResultRecord;
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
    let header = [
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
    let mut table = plain(&header, 2);
    for r in records {
        let mean = r.evict_pages_mean;
        table.add_row([
            r.trace.name.clone(),
            format!("{}{}", r.scheme, readings.mark(r)),
            cache(r),
            percent(r.ratios.page_hit_ratio),
            percent(r.ratios.read_page_hit_ratio),
            percent(r.ratios.write_page_hit_ratio),
            r.counts.evictions.to_string(),
            mean.map_or_else(|| "-".to_owned(), |m| format!("{m:.2}")),
            r.counts.flash_writes_host.to_string(),
        ]);
    }
    let mut text = lines(&table) + "\n";
    let mut below = readings.lines();
    below.extend(records.first().and_then(|r| Settings::line(&r.config)));
    for line in below {
        text += &line;
        text.push('\n');
    }
    text
}

/// The cache size of a row; `-` without a cache.
pub fn cache(record: &ResultRecord) -> String {
    match record.cache_pages {
        0 => "-".to_owned(),
        _ => ByteSize(record.cache_bytes).to_string(),
    }
}
