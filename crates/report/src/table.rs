//! Text in columns.

use destage_console::terminal::harmless;
use destage_record::ResultRecord;
use destage_types::ByteSize;
use unicode_width::UnicodeWidthStr;

/// Rows of cells, in columns as wide as they need to be.
pub struct TextTable {
    rows: Vec<Vec<String>>,
    /// Columns at the left that are text; the others are numbers, and end below each other.
    text_columns: usize,
    /// Rows and columns of cells that stand out where there are colours.
    highlights: Vec<(usize, usize)>,
}

/// A table with a header, numbers from column `numbers` on.
pub fn plain(header: &[&str], numbers: usize) -> TextTable {
    let header = header.iter().map(|head| (*head).to_owned());
    TextTable {
        rows: vec![header.collect()],
        text_columns: numbers,
        highlights: Vec::new(),
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

/// Between two columns.
const GAP: &str = "  ";
/// Bold and green, and as before.
const HIGHLIGHT: (&str, &str) = ("\u{1b}[1;32m", "\u{1b}[0m");

impl TextTable {
    /// Lets a cell of the row that was added last stand out.
    pub fn highlight(&mut self, column: usize) {
        self.highlights.push((self.rows.len() - 1, column));
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.rows[0].len()];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.width().max(*width);
            }
        }
        widths
    }

    /// Columns on a screen that its longest line takes.
    pub fn width(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
    }

    /// Its lines without blanks at their ends, with a line feed at the end of the text.
    pub fn lines(&self, colours: bool) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for (i, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let blanks = " ".repeat(width - cell.width());
                let (before, after) = if colours && self.highlights.contains(&(i, column)) {
                    HIGHLIGHT
                } else {
                    ("", "")
                };
                line += &if column < self.text_columns {
                    format!("{before}{cell}{after}{blanks}{GAP}")
                } else {
                    format!("{blanks}{before}{cell}{after}{GAP}")
                };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

/// The lines of a table in one colour.
pub fn lines(table: &TextTable) -> String {
    table.lines(false)
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

/// The cache size of a row; `-` without a cache.
pub fn cache(record: &ResultRecord) -> String {
    match record.cache_pages {
        0 => "-".to_owned(),
        _ => ByteSize(record.cache_bytes).to_string(),
    }
}
