//! The ledger as documents: an overview of all papers, and a page for each.

use crate::judge::{LedgerRow, Verdict};
use crate::ledger::{COLUMNS, cells, rule, shown_rows};
use crate::paper::Paper;
use crate::{Reproduction, Scale};
use destage_experiment::options::command_line::value_name;
use destage_experiment::ownership::ledger_head;

/// File of the overview, in the folder of `--out` and in `docs`.
pub const OVERVIEW: &str = "PAPERS.md";

/// Verdicts with their columns in the overview.
const VERDICTS: [(Verdict, &str); 6] = [
    (Verdict::Exact, "exact"),
    (Verdict::Holds, "hold"),
    (Verdict::HoldsInPart, "hold in part"),
    (Verdict::DoesNotHold, "do not hold"),
    (Verdict::Direction, "direction"),
    (Verdict::Open, "open"),
];

/// The words of the ledger.
pub const WORDS: &str = "\
The evidence of a row limits its verdict. Different kinds of evidence are never mixed:

- **original**: the paper's own traces, whole. **printed**: a generated load that the paper describes. Only these
  decide. The claim *holds* if it is true at every point, *holds in part* if it is true at more than half of the
  points, and otherwise *does not hold*. A point is a load with a cache size.
- **live**: a load that the paper describes, run on a real file system on `destage serve` and given with `--live`.
  The device is smaller than the paper's. The load shows a *direction*.
- **cut**: other real traces, mostly short, with a scaled cache. They show a *direction*: the claim is true at k of n
  points. The median, the mean, and the range of all points follow.
- **twin**: generated likenesses of the paper's traces ([TWINS.md](TWINS.md)), run with `--twins`. They have rows of
  their own, which decide nothing.
- **exact**: the claim follows from the rules alone. The named test holds it.
- **open**: nothing here decides. The row names the missing evidence.

The p of a direction is that of a two-sided sign test: the probability that chance alone is so one-sided. Points of the
same trace are not independent, so p is an order of magnitude.

Changes are in percent of the value that they are compared with, unless the row says otherwise. A reading answers a
question that the paper leaves open. All readings were run, and each has its median. A row names the reading nearest to
the published number, and the readings under which the answer changes sides.
";

/// Path of the page of `paper` from the overview.
pub fn page_of(paper: &str) -> String {
    format!("papers/{paper}.md")
}

/// How many claims have each of [`VERDICTS`].
pub fn counts<'a>(rows: impl Iterator<Item = &'a LedgerRow>) -> [usize; VERDICTS.len()] {
    let mut counts = [0; VERDICTS.len()];
    for row in rows {
        let column = VERDICTS.iter().position(|v| v.0 == row.verdict);
        counts[column.expect("every verdict has a column")] += 1;
    }
    counts
}

/// The overview: how many claims of each paper hold, and the meaning of the words.
pub fn overview(all: &[Reproduction]) -> String {
    let scale = all.first().map_or(Scale::Small, |of| of.scale);
    let papers: Vec<_> = all
        .iter()
        .map(|of| PaperCounts {
            paper: &of.paper,
            counts: counts(of.rows.iter()),
        })
        .collect();
    overview_of(scale, &papers)
}

/// How many claims of a paper have each of [`VERDICTS`].
struct PaperCounts<'a> {
    paper: &'a Paper,
    counts: [usize; VERDICTS.len()],
}

fn overview_of(scale: Scale, papers: &[PaperCounts<'_>]) -> String {
    let mut text = ledger_head("the papers");
    text += "`destage repro` runs the experiments of papers, and compares each claim of a paper with its own result:\n\n";
    let columns = VERDICTS.map(|(_, column)| column).join(" | ");
    text += &format!("| paper | claims | {columns} |\n|--|--|");
    text += &"--|".repeat(VERDICTS.len());
    let mut sums = [0; VERDICTS.len()];
    let line = |name: &str, counts: &[usize]| {
        let sum: usize = counts.iter().sum();
        let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
        format!("\n| {name} | {sum} | {} |", counts.join(" | "))
    };
    for PaperCounts { paper, counts } in papers {
        let name = paper.name;
        text += &line(&format!("[{name}]({})", page_of(name)), counts);
        (sums.iter_mut().zip(counts)).for_each(|(sum, count)| *sum += count);
    }
    text += &line("all", &sums);
    text += "\n\nA direction comes from other traces than the paper's. It shows a tendency and decides nothing.\n";
    text += "\n## Evidence and verdicts\n\n";
    text += WORDS;
    text += &format!(
        "
## How these pages are made

`destage repro all --scale {} --traces TRACES --live RUNS --out DIR` writes this page, a page for each paper, figures,
all points (`claims.json`), and a report. `papers/NAME/claims.toml` holds the claims of a paper, the runs for them, and
the readings. [CAC.md](CAC.md) and [the README of ECR](../papers/ecr/README.md) study two of the papers more closely.
",
        value_name(scale)
    );
    text
}

/// The beginning of the page of a paper.
fn head(paper: &Paper, scale: Scale, twins: bool) -> String {
    format!(
        "{}{}.\n\n[{OVERVIEW}](../{OVERVIEW}) explains evidence, verdicts, and readings. {}\n",
        ledger_head(paper.name),
        paper.title,
        rule(paper, scale, twins)
    )
}

/// The claims of a paper.
pub fn page(of: &Reproduction) -> String {
    let mut text = head(&of.paper, of.scale, of.twins.iter().any(Option::is_some));
    let lines = "|--".repeat(COLUMNS.len());
    text += &format!("\n| {} |\n{lines}|\n", COLUMNS.join(" | "));
    for row in shown_rows(of) {
        let cells = cells(row).map(|cell| cell.replace('|', "\\|"));
        text += &format!("| {} |\n", cells.join(" | "));
    }
    if !of.left_out.is_empty() {
        text += "\n## Traces left out\n\n";
        for (experiments, line) in &of.left_out {
            text += &format!("- {line} ({experiments})\n");
        }
    }
    if !of.warnings.is_empty() {
        text += "\n## Traces changed before the runs\n\n";
        for line in &of.warnings {
            text += &format!("- {line}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::papers;
    use std::path::Path;

    fn committed(page: &str) -> String {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        std::fs::read_to_string(docs.join(page)).expect(page)
    }

    /// The cells of the claims of a page.
    fn claims(page: &str) -> Vec<Vec<String>> {
        let rows = page.lines().filter(|line| line.starts_with("| ")).skip(1);
        let cells = |row: &str| {
            let row = row.replace("\\|", "\0");
            let cells = row.split('|').skip(1).take(COLUMNS.len());
            cells.map(|cell| cell.trim().replace('\0', "|")).collect()
        };
        rows.map(cells).collect()
    }

    fn verdict_of(cell: &str) -> Verdict {
        match cell {
            "exact" => Verdict::Exact,
            "open" => Verdict::Open,
            cell if cell.starts_with("holds (") => Verdict::Holds,
            cell if cell.starts_with("holds in part (") => Verdict::HoldsInPart,
            cell if cell.starts_with("does not hold (") => Verdict::DoesNotHold,
            cell if cell.starts_with("direction holds in ") => Verdict::Direction,
            cell => panic!("{cell} is no verdict"),
        }
    }

    /// The runs of the committed pages take hours. All else is compared: their words, claims, and sums.
    #[test]
    fn the_committed_pages_have_the_claims_and_sums_of_the_papers() {
        let papers = papers("all").expect("five papers");
        let mut counted = Vec::new();
        for paper in &papers {
            let text = committed(&page_of(paper.name));
            let head = head(paper, Scale::Full, false);
            assert!(text.starts_with(&head), "{}: {head}", paper.name);
            let rows = claims(&text);
            let said: Vec<[&str; 3]> = rows.iter().map(|r| [&*r[0], &*r[1], &*r[2]]).collect();
            let claims = paper.claim.iter();
            let claims: Vec<[&str; 3]> = claims.map(|c| [&*c.id, &*c.what, &*c.paper]).collect();
            assert_eq!(said, claims, "{}", paper.name);
            let mut counts = [0; VERDICTS.len()];
            for row in &rows {
                let verdict = verdict_of(&row[5]);
                let column = VERDICTS.iter().position(|v| v.0 == verdict);
                counts[column.expect("a column")] += 1;
            }
            counted.push(PaperCounts { paper, counts });
        }
        assert_eq!(committed(OVERVIEW), overview_of(Scale::Full, &counted));
    }
}
