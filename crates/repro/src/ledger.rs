//! The ledger: what each paper says, what came out, on what evidence, and the verdict.

use crate::judge::{LedgerRow, ReadingResult, Verdict};
use crate::loads::{Evidence, median_written_mib};
use crate::{Reproduction, Scale, figure};
use destage_console::failure::Failure;
use destage_console::print::pretty_json;
use destage_experiment::options::value_name;
use destage_report::html::page;
use destage_report::html::page::{Cell, ReportPage, escaped};
use destage_report::table::{lines, plain};
use serde_json::json;
use std::path::Path;

/// What the words of the ledger mean; also the head of `docs/PAPERS.md`.
const HEAD: &str = "\
Every row is a statement of a paper. Evidence, never mixed:

- **original**: the paper's own traces, whole; **printed**: a generated load that the paper describes. Only these
  decide: *holds* at every point (load and cache size), *holds in part* at more than half, *does not hold* else.
- **live**: a load that the paper describes, run on a real file system on `destage serve`, on a device of a part of the
  paper's size, and given with `--live`: a direction, as of cuts.
- **cut**: other real traces, mostly short, with the cache scaled as below. They show a direction: at k of n points,
  with median, mean, range and a two-sided sign test (p: how often chance alone is so one-sided; points of one trace are not
  independent, so take it as an order of magnitude).
- **twin**: generated likenesses of the paper's traces ([TWINS.md](TWINS.md)), with `--twins`. They have rows of their own,
  which decide nothing.
- **exact**: follows from the rules alone and is held by the test named.
- **open**: nothing here decides; the row says what is missing.

Changes are in percent of what is compared with, unless the row says otherwise. Readings are what the paper leaves open: all
were run and stand with their median; named are the one that comes nearest to the published number and those under which the answer changes sides.
";

/// How the page comes about, and what looks closer.
const WHENCE: &str = "\
`destage repro all --scale SCALE --traces TRACES --live RUNS` writes this page as `ledger.md`, with figures, all points (`claims.json`) and a report;
`papers/NAME/claims.toml` has the claims, what is run for them, and the readings. [CAC.md](CAC.md) and
[the README of ECR](../papers/ecr/README.md) look closer at two of them.

";

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
const COLUMNS: [&str; 7] = [
    "figure",
    "claim",
    "paper",
    "here",
    "evidence",
    "verdict",
    "readings and reasons",
];

fn cells(row: &LedgerRow) -> [String; COLUMNS.len()] {
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

/// How large caches are on traces that are not the paper's.
fn rule(of: &Reproduction) -> String {
    let scaled = match of.paper.original.is_empty() {
        true => String::new(),
        false => format!(
            "Cache on cuts{}: the paper's size times (MiB of different pages that the trace writes) / {:.0}, the median \
             over the paper's traces ({}). ",
            match of.twins.iter().any(Option::is_some) && of.scale == Scale::Small {
                true => " and twins",
                false => "",
            },
            median_written_mib(&of.paper),
            of.paper.footprints
        ),
    };
    let scale = match of.scale {
        Scale::Small => "the first 20,000 requests of each trace",
        Scale::Full => "whole traces",
    };
    format!("{scaled}Run over {scale}.")
}

/// The rows of a ledger: each claim, and right behind it what twins give.
fn shown_rows(of: &Reproduction) -> impl Iterator<Item = &LedgerRow> {
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
    let rows = || all.iter().flat_map(|of| &of.rows);
    let count = |verdict: Verdict| rows().filter(|row| row.verdict == verdict).count();
    text + &format!(
        "{} claims: {} exact, {} hold, {} in part, {} do not, {} a direction only, {} open\n",
        rows().count(),
        count(Verdict::Exact),
        count(Verdict::Holds),
        count(Verdict::HoldsInPart),
        count(Verdict::DoesNotHold),
        count(Verdict::Direction),
        count(Verdict::Open)
    )
}

/// The last line of the command.
pub fn where_it_is(out: &Path, report: &Path) -> String {
    format!(
        "readings, reasons and points: ledger.md and claims.json in {}; charts: {}\n",
        out.display(),
        report.display()
    )
}

/// The ledgers as a document.
pub fn markdown(all: &[Reproduction]) -> String {
    let mut text = String::from("# Claims of the papers\n\n");
    text += "<!-- Generated by `destage repro`; do not edit. -->\n\n";
    let scale = all.first().map_or(Scale::Small, |of| of.scale);
    text += &WHENCE.replace("SCALE", &value_name(scale));
    text += HEAD;
    for of in all {
        text += &format!(
            "\n## {}\n\n{}. {}\n",
            of.paper.name,
            of.paper.title,
            rule(of)
        );
        text += &format!(
            "
| {} |
{}|
",
            COLUMNS.join(" | "),
            "|--".repeat(COLUMNS.len())
        );
        for row in shown_rows(of) {
            let cells = cells(row).map(|cell| cell.replace('|', "\\|"));
            text += &format!("| {} |\n", cells.join(" | "));
        }
        if !of.left_out.is_empty() {
            text += "\nLeft out:\n\n";
            for (experiments, line) in &of.left_out {
                text += &format!("- {line} ({experiments})\n");
            }
        }
        if !of.warnings.is_empty() {
            text += "\nChanged before the runs:\n\n";
            of.warnings
                .iter()
                .for_each(|line| text += &format!("- {line}\n"));
        }
    }
    text
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
            "rule": rule(of),
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
    page.html(&format!("<pre>{}</pre>\n", escaped(&plain_text(HEAD))));
    for of in all {
        page.section(of.paper.name, &format!("{}. {}", of.paper.title, rule(of)));
        figure::charts(of)
            .iter()
            .for_each(|chart| page.chart(chart));
        let row = |row: &LedgerRow| cells(row).map(|cell| Cell::of(plain_text(&cell))).to_vec();
        let rows: Vec<Vec<Cell>> = shown_rows(of).map(row).collect();
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
