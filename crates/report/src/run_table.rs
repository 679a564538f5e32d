//! The table of `run`: a row for each run, the best of each cache size marked, and sizes against schemes
//! where there are several of both.

use crate::distinct;
use crate::distinctions::{DataUnit, Distinctions, common_settings};
use crate::figures::{TableColumn, figures, nothing_collected};
use crate::formats::format_lines;
use crate::readings::Readings;
use crate::readings::settings_line;
use crate::table::{TextTable, cache, plain};
use destage_console::terminal::{Screen, harmless};
use destage_record::ResultRecord;
use destage_scheme::{Expr, Role};
use unicode_width::UnicodeWidthStr;

/// Follows the best value of its size.
const BEST: &str = " <";
/// Follows the others in such a column.
const NOT_BEST: &str = "  ";

/// The columns of the figures: those that were asked for, or all that the records have.
fn columns(records: &[&ResultRecord], asked: &[String]) -> Vec<TableColumn> {
    match asked {
        [] => figures(records.iter().copied())
            .map(TableColumn::Figure)
            .collect(),
        // Checked before the first run.
        asked => asked
            .iter()
            .filter_map(|name| TableColumn::parse(name).ok())
            .collect(),
    }
}

/// Is it a scheme that a device could have? One that knows the future is the bound, never the best, and
/// no cache at all is what the others are better than.
fn competes(record: &ResultRecord) -> bool {
    let role = Expr::parse(&record.scheme).map(|expr| expr.scheme().role);
    !matches!(role, Ok(Role::Offline | Role::None))
}

/// The scheme of a row with what is to be known of it.
fn scheme(record: &ResultRecord, readings: &Readings<'_>) -> String {
    let role = Expr::parse(&record.scheme).map(|expr| expr.scheme().role);
    let bound = if role == Ok(Role::Offline) {
        " (bound)"
    } else {
        ""
    };
    format!("{}{}{bound}", record.scheme, readings.mark(record))
}

/// Are runs compared with each other?
fn is_beside(a: &ResultRecord, b: &ResultRecord) -> bool {
    (&a.trace, &a.device, a.cache_bytes, a.page_bytes)
        == (&b.trace, &b.device, b.cache_bytes, b.page_bytes)
}

/// Is the value of `record` the best among runs beside it, of which there are others?
fn is_best(records: &[&ResultRecord], record: &ResultRecord, column: &TableColumn) -> bool {
    let Some(own) = column.rank(record).filter(|_| competes(record)) else {
        return false;
    };
    let others = records
        .iter()
        .copied()
        .filter(|r| competes(r) && is_beside(r, record) && column.compares(r, record));
    let ranks: Vec<f64> = others.filter_map(|r| column.rank(r)).collect();
    let best = ranks.iter().all(|&rank| rank <= own);
    // Where all are equal none is best.
    best && ranks.iter().any(|&rank| rank < own)
}

/// Sorts `records` by the column `name`, the best first; where no value is better, the largest. Those without a value
/// come last. Stable: equal rows stay in their order.
pub fn sort(records: &mut [ResultRecord], name: &str) {
    // Checked before the first run.
    let Ok(column) = TableColumn::parse(name) else {
        return;
    };
    records.sort_by(|a, b| column.compare(a, b));
}

/// The table of `records` with its reading line and the settings that are not built in. In what runs differ beside
/// trace, scheme and cache size has a column, and runs are compared where settings are alike.
pub fn text(records: &[ResultRecord], asked: &[String], screen: &Screen) -> String {
    let mut rows = TableRows::of(records);
    let mut columns = columns(&rows.records, asked);
    let mut table = rows.table(&columns);
    let is_too_wide = |table: &TextTable| screen.width.is_some_and(|w| table.width() > w);
    // A trace that is that of all rows is named below.
    rows.has_trace = !is_too_wide(&table) || rows.traces().len() > 1;
    if !rows.has_trace {
        table = rows.table(&columns);
    }
    let mut left_out = Vec::new();
    while columns.len() > 1 && asked.is_empty() && is_too_wide(&table) {
        left_out.extend(columns.pop());
        table = rows.table(&columns);
    }
    let mut text = table.lines(screen.colours) + "\n";
    text += &rows.pivots(asked, screen);
    let mut below = Vec::new();
    if !rows.has_trace {
        below.push(format!("trace: {}", harmless(rows.traces()[0])));
    }
    below.extend(rows.readings.lines());
    below.extend(format_lines(records));
    if text.contains(BEST) {
        let left = match records.iter().any(|r| r.dirty_pages_left > 0) {
            true => ", writes with the dirty pages that are left",
            false => "",
        };
        below.push(format!("{}: best of its cache size{left}", BEST.trim()));
    }
    below.extend(
        columns
            .iter()
            .filter_map(TableColumn::note)
            .map(str::to_owned),
    );
    let is_waf = |c: &TableColumn| ["waf", "ratios.waf"].contains(&c.name());
    if columns.iter().any(is_waf) {
        below.extend(nothing_collected(records));
    }
    if !left_out.is_empty() {
        let names = left_out.iter().rev().map(|column| column.head(rows.unit));
        let names = names.collect::<Vec<_>>().join(", ");
        below.push(format!(
            "too wide for the terminal: {names} (--columns, --details)"
        ));
    }
    below.extend(settings_line(&common_settings(records)));
    for line in below {
        text += &wrapped(&line, screen.width);
        text.push('\n');
    }
    text
}

/// The runs of a table, and what is to be known to show them.
struct TableRows<'a> {
    records: Vec<&'a ResultRecord>,
    readings: Readings<'a>,
    distinctions: Distinctions,
    unit: DataUnit,
    /// Is there a column with the traces?
    has_trace: bool,
}

impl<'a> TableRows<'a> {
    fn of(records: &'a [ResultRecord]) -> TableRows<'a> {
        let all: Vec<&ResultRecord> = records.iter().collect();
        TableRows {
            readings: Readings::of(records),
            distinctions: Distinctions::of_runs(&all),
            unit: DataUnit::of(records),
            records: all,
            has_trace: true,
        }
    }

    fn traces(&self) -> Vec<&str> {
        distinct(self.records.iter().map(|r| r.trace.name.as_str()))
    }

    /// Is run number `number` the best in `column` among those that it is compared with?
    fn is_best(&self, number: usize, column: &TableColumn) -> bool {
        let alike = self.records.iter().enumerate();
        let alike = alike.filter(|(i, _)| self.distinctions.same_settings(*i, number));
        let alike: Vec<&ResultRecord> = alike.map(|(_, record)| *record).collect();
        is_best(&alike, self.records[number], column)
    }

    fn table(&self, columns: &[TableColumn]) -> TextTable {
        let runs = 0..self.records.len();
        let of = |c: &TableColumn| runs.clone().map(|i| self.is_best(i, c)).collect();
        let ranked: Vec<Vec<bool>> = columns.iter().map(of).collect();
        let marked: Vec<bool> = ranked.iter().map(|best| best.contains(&true)).collect();
        let pad = |text: &str, i: usize, best: bool| match (marked[i], best) {
            (true, true) => format!("{text}{BEST}"),
            (true, false) => format!("{text}{NOT_BEST}"),
            (false, _) => text.to_owned(),
        };
        let heads = columns.iter().enumerate();
        let heads = heads.map(|(i, c)| pad(&c.head(self.unit), i, false));
        let heads: Vec<String> = heads.collect();
        let skipped = usize::from(!self.has_trace);
        let mut header = vec!["trace", "scheme"];
        header.drain(..skipped);
        header.extend(self.distinctions.heads());
        let text_columns = header.len();
        header.push("cache");
        let first = header.len();
        header.extend(heads.iter().map(String::as_str));
        let mut table = plain(&header, text_columns);
        for (number, r) in self.records.iter().enumerate() {
            let mut row = vec![r.trace.name.clone(), scheme(r, &self.readings)];
            row.drain(..skipped);
            row.extend(self.distinctions.cells(number).map(str::to_owned));
            row.push(cache(r));
            let cells = columns.iter().enumerate();
            row.extend(cells.map(|(i, c)| pad(&c.cell(r, self.unit), i, ranked[i][number])));
            table.add_row(row);
            for (i, best) in ranked.iter().enumerate() {
                if best[number] {
                    table.highlight(first + i);
                }
            }
        }
        table
    }

    /// Sizes against schemes, for each trace, run and device that ran with several of both. Settings that differ
    /// leave none.
    fn pivots(&self, asked: &[String], screen: &Screen) -> String {
        if self.distinctions.has_settings() {
            return String::new();
        }
        let telling = |column: &TableColumn| match column {
            TableColumn::Figure(figure) => !asked.is_empty() || TELLING.contains(&figure.id),
            TableColumn::Field(_) => true,
        };
        let place = |i: usize| (&*self.records[i].trace.name, self.distinctions.label(i));
        let mut text = String::new();
        for of in distinct((0..self.records.len()).map(place)) {
            let rows = (0..self.records.len()).filter(|&i| place(i) == of);
            let rows: Vec<&ResultRecord> = rows.map(|i| self.records[i]).collect();
            let title = match of {
                (trace, label) if label.is_empty() => trace.to_owned(),
                (trace, label) => format!("{trace}, {label}"),
            };
            for column in columns(&rows, asked).iter().filter(|c| telling(c)) {
                let pivot = self.pivot(&title, &rows, column, screen);
                text += &pivot.unwrap_or_default();
            }
        }
        text
    }

    /// Sizes against schemes of one trace; none where a scheme ran twice with one size, or only one ran.
    fn pivot(
        &self,
        title: &str,
        records: &[&ResultRecord],
        column: &TableColumn,
        screen: &Screen,
    ) -> Option<String> {
        let name = |r: &ResultRecord| scheme(r, &self.readings);
        let schemes = distinct(records.iter().copied().map(name));
        let mut sizes = distinct(
            records
                .iter()
                .map(|r| r.cache_bytes)
                .filter(|&size| size > 0),
        );
        sizes.sort_unstable();
        let single = |scheme: &String, size: u64| {
            let mut found = records
                .iter()
                .copied()
                .filter(|r| name(r) == *scheme && [size, 0].contains(&r.cache_bytes));
            (found.next(), found.next())
        };
        let twice = |scheme: &String| sizes.iter().any(|&size| single(scheme, size).1.is_some());
        if schemes.len() < 2 || sizes.len() < 2 || schemes.iter().any(twice) {
            return None;
        }
        let pivot = Pivot {
            corner: format!("{title}: {}", column.head(self.unit)),
            records,
            schemes,
            column,
            unit: self.unit,
            single: &single,
        };
        let mut text = String::new();
        let mut left = &sizes[..];
        while !left.is_empty() {
            // As many sizes as the terminal has room for.
            let fits = (1..=left.len()).rev().find(|&n| {
                n == 1
                    || screen
                        .width
                        .is_none_or(|width| pivot.table(&left[..n]).width() <= width)
            });
            let (now, later) = left.split_at(fits.unwrap_or(1));
            text += &pivot.table(now).lines(screen.colours);
            text.push('\n');
            left = later;
        }
        Some(text)
    }
}

/// The figures that are shown as sizes against schemes, unless columns were asked for.
const TELLING: [&str; 2] = ["page-hit", "mean"];

/// The runs of a scheme with a size.
type Found<'a> = (Option<&'a ResultRecord>, Option<&'a ResultRecord>);

/// Sizes against schemes in one figure.
struct Pivot<'a, 'b> {
    corner: String,
    records: &'b [&'a ResultRecord],
    schemes: Vec<String>,
    column: &'b TableColumn,
    unit: DataUnit,
    single: &'b dyn Fn(&String, u64) -> Found<'a>,
}

impl Pivot<'_, '_> {
    fn table(&self, sizes: &[u64]) -> TextTable {
        let sizes_of = sizes
            .iter()
            .map(|&size| destage_types::ByteSize(size).to_string() + NOT_BEST);
        let sizes_of: Vec<String> = sizes_of.collect();
        let mut header = vec![&*self.corner];
        header.extend(sizes_of.iter().map(String::as_str));
        let mut table = plain(&header, 1);
        for scheme in &self.schemes {
            let found = sizes.iter().map(|&size| (self.single)(scheme, size).0);
            let found: Vec<Option<&ResultRecord>> = found.collect();
            let best = |r: &ResultRecord| is_best(self.records, r, self.column);
            let mark = |r: &ResultRecord| if best(r) { BEST } else { NOT_BEST };
            let cell = |r: &Option<&ResultRecord>| {
                r.map_or_else(
                    || format!("-{NOT_BEST}"),
                    |r| self.column.cell(r, self.unit) + mark(r),
                )
            };
            let cells = found.iter().map(cell);
            table.add_row([scheme.clone()].into_iter().chain(cells));
            for (i, r) in found.iter().enumerate() {
                if r.is_some_and(best) {
                    table.highlight(1 + i);
                }
            }
        }
        table
    }
}

/// A line in as many as the terminal needs: later ones are indented, and a word that is too long has its own.
pub fn wrapped(line: &str, width: Option<usize>) -> String {
    let Some(width) = width.filter(|&width| line.width() > width) else {
        return line.to_owned();
    };
    let (mut text, mut used) = (String::new(), 0);
    for word in line.split(' ') {
        if used > 0 && used + 1 + word.width() > width {
            text += "\n  ";
            used = 2;
        } else if used > 0 {
            text.push(' ');
            used += 1;
        }
        text += word;
        used += word.width();
    }
    text
}
