//! The table of `run`.

use super::Readings;
use crate::run::Settings;
use crate::terminal::harmless;
use destage_sim::ResultRecord;
use destage_sim::record::ConfigEntry;
use destage_types::ByteSize;
use unicode_width::UnicodeWidthStr;

/// Rows of cells, in columns as wide as they need to be.
pub struct TextTable {
    rows: Vec<Vec<String>>,
    /// Columns at the left that are text; the others are numbers, and end below each other.
    text_columns: usize,
}

/// A table with a header, numbers from column `numbers` on.
pub fn plain(header: &[&str], numbers: usize) -> TextTable {
    let header = header.iter().map(|head| (*head).to_owned());
    TextTable {
        rows: vec![header.collect()],
        text_columns: numbers,
    }
}

impl TextTable {
    /// Appends a row; cells that are left out are empty.
    pub fn add_row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        // Escapes take their place before widths are reckoned; a cell has one line.
        let cell = |cell: String| harmless(&cell).replace('\n', "\\n");
        self.rows
            .push(cells.into_iter().map(Into::into).map(cell).collect());
    }
}

/// The lines of a table without blanks at their ends, with a line feed at the end of the text.
pub fn lines(table: &TextTable) -> String {
    let mut widths = vec![0; table.rows[0].len()];
    for row in &table.rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.width().max(*width);
        }
    }
    let mut text = String::new();
    for row in &table.rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let blanks = " ".repeat(width - cell.width());
            line += &match column < table.text_columns {
                true => format!("{cell}{blanks}  "),
                false => format!("{blanks}{cell}  "),
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// A ratio in percent.
pub fn percent(ratio: Option<f64>) -> Option<String> {
    ratio.map(|r| format!("{:.2}", 100.0 * r))
}

/// A number with as many decimals.
pub fn number(value: Option<f64>, decimals: usize) -> Option<String> {
    value.map(|v| format!("{v:.decimals$}"))
}

/// A number of things.
pub fn count(n: u64) -> Option<String> {
    Some(n.to_string())
}

/// A time in ns, in ms; an energy in nJ, in mJ.
pub fn ms(ns: Option<f64>) -> Option<String> {
    number(ns.map(|ns| ns / 1e6), 3)
}

/// [`ms`] of a whole number.
pub fn whole_ms(ns: Option<u64>) -> Option<String> {
    ms(ns.map(|ns| ns as f64))
}

/// A cell, or `-` without a value.
pub fn or_dash(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "-".to_owned())
}

/// A figure of the main table: its head there and in a report, and its cell.
pub struct Figure {
    /// Head in a text.
    pub head: &'static str,
    /// Head in a report.
    pub report: &'static str,
    cell: fn(&ResultRecord) -> Option<String>,
}

impl Figure {
    const fn new(head: &'static str, cell: fn(&ResultRecord) -> Option<String>) -> Figure {
        let report = head;
        Figure { head, report, cell }
    }

    /// The cell of a row.
    pub fn cell(&self, record: &ResultRecord) -> String {
        or_dash((self.cell)(record))
    }
}

const UNTIMED: usize = 6;
const FIGURES: &[Figure; UNTIMED + 3] = &[
    Figure::new("page hit %", |r| percent(r.ratios.page_hit_ratio)),
    Figure::new("read hit %", |r| percent(r.ratios.read_page_hit_ratio)),
    Figure::new("write hit %", |r| percent(r.ratios.write_page_hit_ratio)),
    Figure::new("evictions", |r| count(r.counts.evictions)),
    Figure {
        report: "pages / eviction",
        ..Figure::new("pages/eviction", |r| number(r.evict_pages_mean, 2))
    },
    Figure::new("flash writes", |r| count(r.counts.flash_writes_host)),
    Figure::new("mean ms", |r| ms(r.latency_ns?.all.mean)),
    Figure::new("p99 ms", |r| whole_ms(r.latency_ns?.all.p99)),
    Figure {
        report: "write amplif.",
        ..Figure::new("write amplification", |r| number(r.ratios.waf, 3))
    },
];

/// The figures of `records`: those of time only if one of them has a time.
pub fn figures<'a>(records: impl IntoIterator<Item = &'a ResultRecord>) -> &'static [Figure] {
    match records.into_iter().any(|r| r.latency_ns.is_some()) {
        true => FIGURES,
        false => &FIGURES[..UNTIMED],
    }
}

/// The table of `records` with its reading line and the settings that are not built in.
pub fn text(records: &[ResultRecord]) -> String {
    let readings = Readings::of(records);
    let figures = figures(records);
    let mut header = vec!["trace", "scheme", "cache"];
    header.extend(figures.iter().map(|figure| figure.head));
    let mut table = plain(&header, 2);
    for r in records {
        let scheme = format!("{}{}", r.scheme, readings.mark(r));
        let mut row = vec![r.trace.name.clone(), scheme, cache(r)];
        row.extend(figures.iter().map(|figure| figure.cell(r)));
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
