//! The table of `run`: a row for each run, the best of each cache size marked, and sizes against schemes
//! where there are several of both.

use super::distinct;
use super::figures::{Figure, TableColumn, figures};
use super::formats::format_lines;
use super::reading::Readings;
use super::table::{TextTable, cache, plain};
use crate::run::Settings;
use crate::terminal::Screen;
use destage_scheme::{Expr, Role};
use destage_sim::ResultRecord;
use destage_sim::record::ConfigEntry;

/// Follows the best value of its size.
const BEST: &str = " <";
/// Follows the others in such a column.
const NOT_BEST: &str = "  ";

/// The columns of the figures: those that were asked for, or all that the records have.
fn columns(records: &[ResultRecord], asked: &[String]) -> Vec<TableColumn> {
    match asked {
        [] => figures(records).map(TableColumn::Figure).collect(),
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
fn is_best(
    records: &[&ResultRecord],
    record: &ResultRecord,
    rank: &dyn Fn(&ResultRecord) -> Option<f64>,
) -> bool {
    let Some(own) = rank(record).filter(|_| competes(record)) else {
        return false;
    };
    let others = records
        .iter()
        .copied()
        .filter(|r| competes(r) && is_beside(r, record));
    let ranks: Vec<f64> = others.filter_map(rank).collect();
    let best = ranks.iter().all(|&rank| rank <= own);
    // Where all are equal none is best.
    best && ranks.iter().any(|&rank| rank < own)
}

/// The table of `records` with its reading line and the settings that are not built in.
pub fn text(records: &[ResultRecord], asked: &[String], screen: &Screen) -> String {
    with_labels(records, asked, &[], screen)
}

/// The same for runs that differ in more than trace, scheme and cache size: what else was given to each, and is
/// not the same for all, has a column, and runs are compared where that is alike.
pub fn text_of_sweep(records: &[ResultRecord], screen: &Screen) -> String {
    let labels = labels(records);
    match labels.iter().all(String::is_empty) {
        true => text(records, &[], screen),
        false => with_labels(records, &[], &labels, screen),
    }
}

/// What was given to each run and is not the same for all.
fn labels(records: &[ResultRecord]) -> Vec<String> {
    let given = |record: &ResultRecord| -> Vec<(String, String)> {
        let all = record.config.iter().filter(|s| Settings::is_given(s));
        let all = all.filter(|s| !matches!(s.key.as_str(), "scheme" | "cache"));
        all.map(|s| (s.key.clone(), s.value.clone())).collect()
    };
    let all: Vec<Vec<(String, String)>> = records.iter().map(given).collect();
    let common: Vec<(String, String)> = match all.split_first() {
        Some((first, others)) => {
            let shared = first
                .iter()
                .filter(|s| others.iter().all(|o| o.contains(s)));
            shared.cloned().collect()
        }
        None => Vec::new(),
    };
    let label = |given: &Vec<(String, String)>| {
        let own = given.iter().filter(|setting| !common.contains(setting));
        // A device gives text as its file does.
        own.map(|(key, value)| format!("{key}={}", value.trim_matches('"')))
            .collect::<Vec<_>>()
            .join(" ")
    };
    all.iter().map(label).collect()
}

fn with_labels(
    records: &[ResultRecord],
    asked: &[String],
    labels: &[String],
    screen: &Screen,
) -> String {
    let readings = Readings::of(records);
    let mut columns = columns(records, asked);
    let mut table = rows((records, labels), &readings, &columns);
    let mut left_out = Vec::new();
    while columns.len() > 1 && asked.is_empty() && screen.width.is_some_and(|w| table.width() > w) {
        left_out.extend(columns.pop());
        table = rows((records, labels), &readings, &columns);
    }
    let mut text = table.lines(screen.colours) + "\n";
    text += &pivots(records, &readings, screen);
    let mut below = readings.lines();
    below.extend(format_lines(records));
    if text.contains(BEST) {
        below.push(format!("{}: best of its cache size", BEST.trim()));
    }
    below.extend(
        columns
            .iter()
            .filter_map(TableColumn::note)
            .map(str::to_owned),
    );
    if !left_out.is_empty() {
        let names: Vec<&str> = left_out.iter().rev().map(TableColumn::head).collect();
        let names = names.join(", ");
        below.push(format!(
            "too wide for the terminal: {names} (--columns, --details)"
        ));
    }
    below.extend(Settings::line(&common(records)));
    for line in below {
        text += &line;
        text.push('\n');
    }
    text
}

fn rows(
    (records, labels): (&[ResultRecord], &[String]),
    readings: &Readings<'_>,
    columns: &[TableColumn],
) -> TextTable {
    // Those that a run is compared with have its label.
    let alike = |number: usize| -> Vec<&ResultRecord> {
        let all = records.iter().enumerate();
        let alike = all.filter(|(i, _)| labels.get(*i) == labels.get(number));
        alike.map(|(_, record)| record).collect()
    };
    let ranked: Vec<Vec<bool>> = columns
        .iter()
        .map(|c| {
            let best = |(i, r)| is_best(&alike(i), r, &|r| c.rank(r));
            records.iter().enumerate().map(best).collect()
        })
        .collect();
    let marked: Vec<bool> = ranked.iter().map(|best| best.contains(&true)).collect();
    let pad = |text: &str, i: usize, best: bool| match (marked[i], best) {
        (true, true) => format!("{text}{BEST}"),
        (true, false) => format!("{text}{NOT_BEST}"),
        (false, _) => text.to_owned(),
    };
    let heads = columns
        .iter()
        .enumerate()
        .map(|(i, c)| pad(c.head(), i, false));
    let heads: Vec<String> = heads.collect();
    let mut header = vec!["trace", "scheme", "cache"];
    if !labels.is_empty() {
        header.push("settings");
    }
    let first = header.len();
    header.extend(heads.iter().map(String::as_str));
    let mut table = plain(&header, 2);
    for (number, r) in records.iter().enumerate() {
        let mut row = vec![r.trace.name.clone(), scheme(r, readings), cache(r)];
        row.extend(labels.get(number).cloned());
        let cells = columns.iter().enumerate();
        row.extend(cells.map(|(i, c)| pad(&c.cell(r), i, ranked[i][number])));
        table.add_row(row);
        for (i, best) in ranked.iter().enumerate() {
            if best[number] {
                table.highlight(first + i);
            }
        }
    }
    table
}

/// What is shown as sizes against schemes.
const TELLING: [&str; 2] = ["page-hit", "mean"];

/// Sizes against schemes, for each trace that ran with several of both.
fn pivots(records: &[ResultRecord], readings: &Readings<'_>, screen: &Screen) -> String {
    fn place(record: &ResultRecord) -> (&str, &str) {
        (&record.trace.name, &record.device)
    }
    let mut text = String::new();
    for of in distinct(records.iter().map(place)) {
        let rows = records.iter().filter(|r| place(r) == of);
        let rows: Vec<ResultRecord> = rows.cloned().collect();
        for figure in figures(&rows).filter(|figure| TELLING.contains(&figure.id)) {
            text += &pivot(&rows, figure, readings, screen).unwrap_or_default();
        }
    }
    text
}

/// Sizes against schemes of one trace; none where a scheme ran twice with one size, or only one ran.
fn pivot(
    records: &[ResultRecord],
    figure: &'static Figure,
    readings: &Readings<'_>,
    screen: &Screen,
) -> Option<String> {
    let name = |r: &ResultRecord| scheme(r, readings);
    let schemes = distinct(records.iter().map(name));
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
            .filter(|r| name(r) == *scheme && [size, 0].contains(&r.cache_bytes));
        (found.next(), found.next())
    };
    let twice = |scheme: &String| sizes.iter().any(|&size| single(scheme, size).1.is_some());
    if schemes.len() < 2 || sizes.len() < 2 || schemes.iter().any(twice) {
        return None;
    }
    let column = TableColumn::Figure(figure);
    let mut text = String::new();
    let mut left = &sizes[..];
    while !left.is_empty() {
        // As many sizes as the terminal has room for.
        let fits = (1..=left.len()).rev().find(|&n| {
            let table = part(records, &schemes, &left[..n], &column, &single);
            n == 1 || screen.width.is_none_or(|width| table.width() <= width)
        });
        let (now, later) = left.split_at(fits.unwrap_or(1));
        text += &part(records, &schemes, now, &column, &single).lines(screen.colours);
        text.push('\n');
        left = later;
    }
    Some(text)
}

/// The runs of a scheme with a size.
type Found<'a> = (Option<&'a ResultRecord>, Option<&'a ResultRecord>);

fn part<'a>(
    records: &[ResultRecord],
    schemes: &[String],
    sizes: &[u64],
    column: &TableColumn,
    single: &dyn Fn(&String, u64) -> Found<'a>,
) -> TextTable {
    let trace = &records[0].trace.name;
    let sizes_of = sizes
        .iter()
        .map(|&size| destage_types::ByteSize(size).to_string() + NOT_BEST);
    let sizes_of: Vec<String> = sizes_of.collect();
    let corner = format!("{trace}: {}", column.head());
    let mut header = vec![corner.as_str()];
    header.extend(sizes_of.iter().map(String::as_str));
    let mut table = plain(&header, 1);
    for scheme in schemes {
        let found: Vec<Option<&ResultRecord>> =
            sizes.iter().map(|&s| single(scheme, s).0).collect();
        let all: Vec<&ResultRecord> = records.iter().collect();
        let best = |r: &ResultRecord| is_best(&all, r, &|r| column.rank(r));
        let mark = |r: &ResultRecord| if best(r) { BEST } else { NOT_BEST };
        let cell = |r: &Option<&ResultRecord>| {
            r.map_or_else(|| format!("-{NOT_BEST}"), |r| column.cell(r) + mark(r))
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

/// The settings that all runs have in common; a run file may give each its own.
fn common(records: &[ResultRecord]) -> Vec<ConfigEntry> {
    let first = records.first().map_or(&[][..], |r| &r.config);
    let all = |s: &&ConfigEntry| records.iter().all(|r| r.config.contains(s));
    first.iter().filter(all).cloned().collect()
}
