//! The glossary: its terms lead somewhere, and the words of the pages of drives are in it.

use crate::common::Bench;
use crate::documents::page;
use destage_docgen::examples;

/// Options, fields and keys that the glossary sends its reader to are there, and each term once, in order.
#[test]
fn the_glossary_leads_somewhere() {
    let glossary = page("docs/GLOSSARY.md");
    let bench = Bench::new();
    let helps = ["run", "mrc", "trace info"].map(|c| bench.shown(format!("{c} --help")));
    let others = ["docs/OUTPUT.md", "docs/DEVICES.md", "docs/SCHEMES.md"].map(page);
    let commands: Vec<String> = examples().into_iter().map(|of| of.command).collect();
    let mut terms = Vec::new();
    for row in glossary
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(1)
    {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        terms.push(cells[1].to_lowercase());
        for word in cells[3].split('`').skip(1).step_by(2) {
            let known = match word {
                option if option.starts_with("--") => helps
                    .iter()
                    .any(|help| help.split([' ', '\n', ',']).any(|w| w == option)),
                command if command.starts_with("destage") => commands.contains(&word.to_owned()),
                field => others
                    .iter()
                    .any(|page| page.contains(&format!("`{field}`"))),
            };
            assert!(known, "{row}: {word}");
        }
    }
    assert!(terms.len() > 40 && terms.is_sorted(), "{terms:?}");
    terms.dedup();
    assert_eq!(
        terms.len(),
        glossary.lines().filter(|l| l.starts_with("| ")).count() - 1
    );
}

/// Pages of drives, and where their words are explained.
const PAGES: [&str; 6] = [
    "docs/DRIVES.md",
    "docs/SLC.md",
    "docs/CALIBRATION.md",
    "docs/DRAINING.md",
    "docs/DEVICE_MODEL.md",
    "docs/LIVE.md",
];

/// Words of these pages that a reader of textbooks does not know, or knows in another sense.
const TERMS: [&str; 27] = [
    "bounded buffer",
    "cliff",
    "credit",
    "cut",
    "determined",
    "drain",
    "fit",
    "frontier",
    "FUA",
    "hand over",
    "host's side",
    "mapping unit",
    "marks",
    "near",
    "on demand",
    "open unit",
    "pace",
    "paced collection",
    "padding",
    "pause",
    "place",
    "residual",
    "scaled down",
    "SLC cache",
    "staging buffer",
    "suspend",
    "word line",
];

/// What the pages emphasise and is no term: titles, columns, and groups of rows.
const NO_TERMS: [&str; 14] = [
    "ssd-iq",
    "sata",
    "write p50",
    "p99, p99.9, read",
    "at least this",
    "at most this",
    "flash mib",
    "drives on sale",
    "measured drives",
    "papers' presets",
    "fitted",
    "predicted",
    "not known",
    "not checked",
];

/// What stands between single asterisks, without ends of sentences, in lower case.
fn emphasised(page: &str) -> Vec<String> {
    // Blocks of code stand between the odd fences.
    let text: String = page.split("```").step_by(2).collect();
    let lines = text.lines().filter(|line| !line.starts_with("* "));
    let parts = lines.flat_map(|line| {
        // So does code within a line.
        let line: String = line.split('`').step_by(2).collect();
        let line = line.replace("**", "");
        let parts: Vec<String> = line.split('*').map(str::to_lowercase).collect();
        parts.into_iter().skip(1).step_by(2)
    });
    parts.filter(|part| !part.ends_with('.')).collect()
}

#[test]
fn the_glossary_has_the_words_of_drives() {
    let glossary = page("docs/GLOSSARY.md");
    let rows = glossary.lines().filter(|line| line.starts_with("| "));
    let cells = rows.map(|row| row.split('|').nth(1).unwrap_or_default().to_lowercase());
    let known: Vec<String> = cells
        .flat_map(|cell| {
            cell.split(',')
                .map(|term| term.trim().to_owned())
                .collect::<Vec<_>>()
        })
        .collect();
    let text = PAGES.map(page).concat().to_lowercase().replace('\n', " ");
    for term in TERMS.map(str::to_lowercase) {
        assert!(known.contains(&term), "GLOSSARY.md has no `{term}`");
        // `hand over` is `handed over` as well.
        let word = term.split(' ').next().unwrap_or_default();
        assert!(text.contains(word), "no page has `{term}`");
    }
    let found: Vec<String> = PAGES[..3]
        .iter()
        .flat_map(|path| emphasised(&page(path)))
        .collect();
    assert!(found.len() > 8, "{found:?}");
    for term in found
        .iter()
        .filter(|term| !NO_TERMS.contains(&term.as_str()))
    {
        assert!(
            known.contains(term),
            "`{term}` is emphasised, and not in GLOSSARY.md"
        );
    }
}
