//! `docs/DECISIONS.md` against the sources: every decision that is cited has a row, and the rows
//! name options and tests that exist.

use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = "docs/DECISIONS.md";

/// Every text but this one.
fn texts() -> BTreeMap<String, String> {
    let mut texts = crate::texts();
    assert!(texts.remove(file!()).is_some(), "{} is not there", file!());
    texts
}

fn page(texts: &mut BTreeMap<String, String>) -> String {
    texts.remove(PAGE).expect("the page of decisions")
}

/// Words of letters, digits, `_` and `-`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-';
    text.split(ends).filter(|word| !word.is_empty())
}

fn is_number(text: &str) -> bool {
    matches!(text.len(), 1 | 2) && text.bytes().all(|b| b.is_ascii_digit())
}

/// `[DX][0-9]{1,2}` or `[A-Z]{2,3}-[0-9]{1,2}`, except the names of encodings.
fn is_code(word: &str) -> bool {
    let of_rule = word.strip_prefix(['D', 'X']).is_some_and(is_number);
    let of_paper = word.split_once('-').is_some_and(|(paper, number)| {
        let capitals = paper.bytes().all(|b| b.is_ascii_uppercase());
        matches!(paper.len(), 2 | 3) && capitals && is_number(number)
    });
    of_rule || (of_paper && !matches!(word, "UTF-8" | "UTF-16"))
}

/// A code without its number, and the number.
fn parts(code: &str) -> (&str, u32) {
    let digits = code.trim_start_matches(|c: char| !c.is_ascii_digit());
    let family = &code[..code.len() - digits.len()];
    (family, digits.parse().expect("codes end in a number"))
}

/// Codes that a text cites; `X0 to X16` and `D1-D12` cite all between.
fn cited(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut last: [&str; 2] = [""; 2];
    for word in words(text) {
        let (from, to) = match word.split_once('-') {
            Some((from, to)) if is_code(from) && is_code(to) => (from, to),
            _ if last[1] == "to" && is_code(last[0]) && is_code(word) => (last[0], word),
            _ => (word, word),
        };
        if is_code(from) {
            let ((family, first), (other, end)) = (parts(from), parts(to));
            assert_eq!(family, other, "{from} to {to} is no range");
            found.extend((first..=end).map(|n| format!("{family}{n}")));
        }
        last = [last[1], word];
    }
    found
}

/// Cells of the rows of the page that begin with a code.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let cells = |line| str::split(line, '|').map(str::trim).collect::<Vec<_>>();
    let rows = page.lines().filter(|line| line.starts_with('|')).map(cells);
    rows.filter(|row| is_code(row[1])).collect()
}

/// The texts between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn every_code_has_one_row_and_every_row_is_cited() {
    let mut texts = texts();
    let page = page(&mut texts);
    let mut known = BTreeSet::new();
    for row in rows(&page) {
        assert!(known.insert(row[1]), "{} has two rows", row[1]);
    }
    let mut seen = BTreeSet::new();
    for (path, text) in &texts {
        for code in cited(text) {
            assert!(
                known.contains(&*code),
                "{path} cites {code}: no row in {PAGE}"
            );
            if !path.ends_with(".md") {
                seen.insert(code);
            }
        }
    }
    let unseen: Vec<_> = known.iter().filter(|&&code| !seen.contains(code)).collect();
    assert!(unseen.is_empty(), "no source cites {unseen:?}");
}

#[test]
fn rows_are_complete_and_name_options_and_tests_that_exist() {
    let mut texts = texts();
    let page = page(&mut texts);
    let code = texts.iter().filter(|(path, _)| path.ends_with(".rs"));
    let code: Vec<&String> = code.map(|(_, text)| text).collect();
    let sources: BTreeSet<String> = code
        .iter()
        .flat_map(|text| words(text))
        .map(|word| word.replace('_', "-"))
        .collect();
    let mut tests = BTreeSet::new();
    for text in &code {
        for after in text.split("#[test]").skip(1) {
            let name = after
                .split("fn ")
                .nth(1)
                .and_then(|rest| rest.split('(').next());
            tests.extend(name);
        }
    }
    for row in rows(&page) {
        let ["", code, question, answer, options, named, ""] = row[..] else {
            panic!("{}: a row has five cells", row[1]);
        };
        assert!(!question.is_empty() && !answer.is_empty(), "{code}");
        assert!(options == "-" || options.contains('`'), "{code}: {options}");
        for option in quoted(options) {
            let word = option.trim_start_matches('-').replace('_', "-");
            assert!(sources.contains(&word), "{code}: no option {option}");
        }
        assert!(quoted(named).next().is_some(), "{code}: no test");
        for test in quoted(named) {
            assert!(tests.contains(test), "{code}: no test {test}");
        }
    }
}

/// Readers of the sources have nothing but the sources and the papers.
#[test]
fn no_file_cites_documents_that_are_not_here() {
    for (path, text) in texts() {
        let lower = text.to_ascii_lowercase();
        let words: Vec<&str> = words(&lower).collect();
        for pair in words.windows(2) {
            let numbered = pair[1].len() == 2 && is_number(pair[1]);
            let cites = match pair[0] {
                "spec" | "specs" | "specification" => numbered || pair[1] == "section",
                "design" => numbered || pair[1] == "section",
                _ => false,
            };
            assert!(!cites, "{path} cites {} {}", pair[0], pair[1]);
        }
    }
}

#[test]
fn codes_and_ranges_are_recognised() {
    let text = "(D2, RB-5) of ECR-4; X0 to X2, D11-D12, but ecr-64g, DX1, D123, A-1, UTF-8.";
    let codes: Vec<String> = cited(text).into_iter().collect();
    let wanted = ["D11", "D12", "D2", "ECR-4", "RB-5", "X0", "X1", "X2"];
    assert_eq!(codes, wanted);
}

/// Tests that the ledger of claims names.
#[test]
fn tests_that_hold_claims_of_papers_exist() {
    let texts = texts();
    let files = texts
        .iter()
        .filter(|(path, _)| path.ends_with("claims.toml"));
    let mut named = 0;
    for (path, text) in files {
        for line in text.lines().filter(|line| line.starts_with("held-by = ")) {
            let test = line.trim_start_matches("held-by = ").trim_matches('"');
            let function = format!("fn {test}(");
            let exists = texts
                .iter()
                .any(|(p, text)| p.ends_with(".rs") && text.contains(&function));
            assert!(exists, "{path}: no test {test}");
            named += 1;
        }
    }
    assert!(named >= 5, "claims are held by tests");
}
