//! The ledger: what each paper says, what came out, on what evidence, and the verdict.

use crate::judge::{LedgerRow, ReadingResult, Verdict};
use crate::loads::{Evidence, median_written_mib};
use crate::pages::{OVERVIEW, WORDS, counts};
use crate::paper::Paper;
use crate::{Reproduction, Scale, figure};
use destage_console::failure::Failure;
use destage_console::print::pretty_json;
use destage_experiment::options::command_line::value_name;
use destage_report::html::page;
use destage_report::html::page::{HtmlCell, ReportPage, escaped};
use destage_report::table::{lines, plain};
use serde_json::json;
use std::path::Path;

/// The number of a claim in a few digits.
fn number(x: f64, change: bool) -> String {
    let text = match x.abs() {
        a if a >= 1e6 => format!("{x:.3e}"),
        a if a >= 1000.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    };
    match change && x > 0.0 {
        true => format!("+{text}"),
        false => text,
    }
}

fn here(row: &LedgerRow) -> String {
    let Some(first) = row.readings.first() else {
        return "-".to_owned();
    };
    let show = |x: f64| number(x, row.change);
    match first.points.len() {
        1 => show(first.mean),
        _ => format!(
            "median {}, mean {}, {} to {}",
            show(first.median),
            show(first.mean),
            show(first.range.0),
            show(first.range.1)
        ),
    }
}

fn verdict(row: &LedgerRow) -> String {
    let first = row.readings.first();
    let counts = first.map(|r| (r.holds, r.points.len()));
    let (k, n) = counts.unwrap_or_default();
    match row.verdict {
        Verdict::Exact => "exact".to_owned(),
        Verdict::Holds => format!("holds ({k} of {n})"),
        Verdict::HoldsInPart => format!("holds in part ({k} of {n})"),
        Verdict::DoesNotHold => format!("does not hold ({k} of {n})"),
        Verdict::Direction => {
            let p = first.and_then(|r| r.sign_test).filter(|_| n > 1);
            let p = p.map_or_else(String::new, |p| format!(", p {}", probability(p)));
            format!("direction holds in {k} of {n}{p}")
        }
        Verdict::Open if n > 0 => format!("open ({k} of {n})"),
        Verdict::Open => "open".to_owned(),
    }
}

fn probability(p: f64) -> String {
    match p < 0.001 {
        true => "< 0.001".to_owned(),
        false => format!("{p:.3}"),
    }
}

fn evidence(row: &LedgerRow) -> String {
    let word = match row.evidence {
        None => return row.held_by.as_ref().map_or("-", |_| "the rules").to_owned(),
        Some(Evidence::Original) => "original",
        Some(Evidence::Printed) => "printed",
        Some(Evidence::Live) => "live",
        Some(Evidence::Cut) => "cut",
        Some(Evidence::Twin) => "twin",
    };
    let points = row.readings.first().map_or(&[][..], |r| &r.points);
    let mut loads: Vec<&str> = points.iter().map(|p| p.load.as_str()).collect();
    loads.dedup();
    let factors = || points.iter().map(|p| p.factor);
    let (least, most) = (
        factors().fold(f64::INFINITY, f64::min),
        factors().fold(0.0, f64::max),
    );
    let scaled = match row.evidence {
        Some(Evidence::Live) if least < 1.0 => {
            format!(
                ", device, cache and load 1/{:.0} of the paper's",
                1.0 / least
            )
        }
        Some(Evidence::Cut | Evidence::Twin) if least < 1.0 || most > 1.0 => {
            format!(
                ", cache {} to {} % of the paper's",
                number(100.0 * least, false),
                number(100.0 * most, false)
            )
        }
        _ => String::new(),
    };
    match loads[..] {
        [one] => format!("{word}: {one}{scaled}"),
        _ => format!("{word}: {} loads{scaled}", loads.len()),
    }
}

fn notes(row: &LedgerRow) -> String {
    let mut parts = Vec::new();
    let named = |name: &str| match name {
        "" => "as run".to_owned(),
        name => name.to_owned(),
    };
    let others = row.readings.iter().skip(1);
    let others: Vec<String> = others.map(|r| other(r, row.change)).collect();
    if !others.is_empty() {
        parts.push(format!("readings: {}", others.join("; ")));
    }
    parts.extend(
        row.nearest
            .as_ref()
            .map(|n| format!("nearest: {}", named(n))),
    );
    if !row.hangs_on.is_empty() {
        parts.push(format!(
            "**changes sides under {}**",
            row.hangs_on.join(", ")
        ));
    }
    parts.extend(row.held_by.as_ref().map(|test| format!("test `{test}`")));
    parts.extend(row.needs.as_ref().map(|what| format!("needs {what}")));
    parts.extend(row.because.clone());
    parts.join(". ")
}

fn other(reading: &ReadingResult, change: bool) -> String {
    format!(
        "{} {} ({} of {})",
        reading.name,
        number(reading.median, change),
        reading.holds,
        reading.points.len()
    )
}

/// The columns of a ledger; a terminal has no room for the last.
pub const COLUMNS: [&str; 7] = [
    "figure",
    "claim",
    "paper",
    "here",
    "evidence",
    "verdict",
    "readings and reasons",
];

/// The cells of a claim.
pub fn cells(row: &LedgerRow) -> [String; COLUMNS.len()] {
    [
        row.id.clone(),
        row.what.clone(),
        row.paper.clone(),
        here(row),
        evidence(row),
        verdict(row),
        notes(row),
    ]
}

/// How large caches are on traces that are not the paper's, and how much of each trace is run.
pub fn rule(paper: &Paper, scale: Scale, twins: bool) -> String {
    let scaled = match paper.original.is_empty() {
        true => String::new(),
        false => format!(
            "On cuts{}, the cache is the paper's size times W / {:.0}. W is the amount of different pages that the \
             trace writes, in MiB, and {1:.0} is the median of W over the paper's traces ({}). ",
            match twins && scale == Scale::Small {
                true => " and twins",
                false => "",
            },
            median_written_mib(paper),
            paper.footprints
        ),
    };
    let scale = match scale {
        Scale::Small => "The first 20,000 requests of each trace were run.",
        Scale::Full => "Whole traces were run.",
    };
    format!("{scaled}{scale}")
}

fn rule_of(of: &Reproduction) -> String {
    rule(&of.paper, of.scale, of.twins.iter().any(Option::is_some))
}

/// The rows of a ledger: each claim, and right behind it what twins give.
pub fn shown_rows(of: &Reproduction) -> impl Iterator<Item = &LedgerRow> {
    let rows = of.rows.iter().zip(&of.twins);
    rows.flat_map(|(row, twin)| [Some(row), twin.as_ref()].into_iter().flatten())
}

/// The ledgers for a terminal.
pub fn text(all: &[Reproduction]) -> String {
    let mut text = String::new();
    for of in all {
        text += &format!("{}: {}\n", of.paper.name, of.paper.title);
        let shown = COLUMNS.len() - 1;
        let mut table = plain(&COLUMNS[..shown], shown);
        for row in shown_rows(of) {
            table.add_row(cells(row).into_iter().take(shown));
        }
        text += &lines(&table);
        text.push('\n');
    }
    let counts = counts(all.iter().flat_map(|of| &of.rows));
    let [exact, hold, in_part, do_not, direction, open] = counts;
    text + &format!(
        "{} claims: {exact} exact, {hold} hold, {in_part} in part, {do_not} do not, {direction} a direction only, \
         {open} open\n",
        counts.iter().sum::<usize>()
    )
}

/// The last line of the command.
pub fn where_it_is(out: &Path, report: &Path) -> String {
    format!(
        "readings, reasons and points: {OVERVIEW} and claims.json in {}; charts: {}\n",
        out.display(),
        report.display()
    )
}

/// The ledgers with all points, for programs.
///
/// # Errors
/// A number has no JSON form.
pub fn json(all: &[Reproduction]) -> Result<String, Failure> {
    let papers = all.iter().map(|of| {
        json!({
            "paper": of.paper.name,
            "title": of.paper.title,
            "scale": value_name(of.scale),
            "rule": rule_of(of),
            "left_out": of.left_out,
            "warnings": of.warnings,
            "claims": of.rows,
            "twins": of.twins.iter().flatten().collect::<Vec<_>>(),
        })
    });
    pretty_json(&papers.collect::<Vec<_>>())
}

/// Text of the document without its marks for weight and code, which a page has not.
fn plain_text(text: &str) -> String {
    text.replace(['*', '`'], "")
}

/// The ledgers with their figures as one page that needs nothing else.
pub fn page(all: &[Reproduction]) -> ReportPage {
    let mut page = ReportPage::new("Claims of the papers");
    page.html(&format!("<pre>{}</pre>\n", escaped(&plain_text(WORDS))));
    for of in all {
        page.section(
            of.paper.name,
            &format!("{}. {}", of.paper.title, rule_of(of)),
        );
        figure::charts(of)
            .iter()
            .for_each(|chart| page.chart(chart));
        let row = |row: &LedgerRow| {
            cells(row)
                .map(|cell| HtmlCell::of(plain_text(&cell)))
                .to_vec()
        };
        let rows: Vec<Vec<HtmlCell>> = shown_rows(of).map(row).collect();
        let caption = format!("claims of {}", of.paper.name);
        let text = page::table(&caption, &COLUMNS, &rows, COLUMNS.len());
        page.html(&text.replace("class=\"data\"", "class=\"data text\""));
        let lines = of
            .left_out
            .iter()
            .map(|(which, line)| format!("left out: {line} ({which})"));
        let lines: Vec<String> = lines.chain(of.warnings.iter().cloned()).collect();
        if !lines.is_empty() {
            page.html_if_room(&format!("<pre>{}</pre>\n", escaped(&lines.join("\n"))));
        }
        page.end_section();
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_few_digits_and_changes_a_sign() {
        assert_eq!(number(12.345, true), "+12.3");
        assert_eq!(number(-0.5, true), "-0.50");
        assert_eq!(number(1234.5, false), "1234");
        assert_eq!(probability(0.0004), "< 0.001");
    }
}
