//! The comment at the head of a source, as Markdown.

/// Words with which sentences begin that have a line of their own on a page.
const LABELS: [&str; 10] = [
    "Source",
    "Sources",
    "Parameters",
    "State",
    "Order",
    "Order of victims",
    "Ties",
    "Cost",
    "Memory",
    "Departures",
];
/// The words that begin the list of questions that are left open.
const SILENT: [&str; 3] = [
    "Where the paper is silent:",
    "Where the source is silent:",
    "Where the abstract is silent:",
];

/// The rule of a scheme, and the list of what its paper leaves open.
pub fn of(source: &str) -> (String, String) {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let (mut rule, mut silent, mut is_silent) = (String::new(), String::new(), false);
    for line in lines.map(|line| line.strip_prefix(' ').unwrap_or(line)) {
        if SILENT.contains(&line.trim()) {
            is_silent = true;
            continue;
        }
        is_silent &= line.starts_with(['-', ' ']) || silent.is_empty();
        append(if is_silent { &mut silent } else { &mut rule }, line);
    }
    let mut rule = without_links(rule.trim());
    for label in LABELS {
        for before in [". ", "; ", ".\n", "\n"] {
            let sentence = format!("{before}{label}: ");
            let item = format!("{}\n\n- **{label}**: ", before.trim_end());
            rule = rule.replace(&sentence, &item);
        }
    }
    (rule, without_links(silent.trim()))
}

/// Adds a line, so that a paragraph and an item of a list become one line each.
fn append(to: &mut String, line: &str) {
    let is_item = line.starts_with("- ");
    let follows_item = to
        .rsplit('\n')
        .next()
        .is_some_and(|last| last.starts_with("- "));
    if line.is_empty() {
        to.push_str("\n\n");
    } else if is_item {
        to.push_str(if follows_item { "\n" } else { "\n\n" });
    } else if !to.is_empty() && !to.ends_with('\n') {
        to.push(' ');
    }
    to.push_str(line.trim());
}

/// Links to items of the source keep their names alone.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    for (i, piece) in text.split("](").enumerate() {
        let rest = piece.split_once(')').filter(|_| i > 0);
        out += rest.map_or(piece, |(_, rest)| rest);
    }
    out.replace("[`", "`").replace("`]", "`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_a_head_become_lines_and_open_questions_a_list() {
        let source = "//! X: what it\n//! does.\n//!\n//! Source: A, see [`B`](crate::b::B). Cost: O(1).\n//!\n\
                      //! Rules:\n//! - one\n//! - two, which\n//!   goes on\n//!\n\
                      //! Where the paper is silent:\n//! - [`c`] is 1.\n//! - d is 2.\nuse e;\n";
        let rule = "X: what it does.\n\n\n- **Source**: A, see `B.\n\n- **Cost**: O(1).\n\nRules:\n\n- one\n- two, which goes on";
        let (own, silent) = of(source);
        assert_eq!(own, rule.replace("`B.", "`B`."));
        assert_eq!(silent, "- `c` is 1.\n- d is 2.");
    }
}
