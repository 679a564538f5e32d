//! A page for each decision, and their list.

use super::Pages;
use super::tables::cells;
use std::collections::{BTreeMap, BTreeSet};

/// The rows of `docs/DECISIONS.md`.
pub struct Decisions {
    /// The lines of the page, in order.
    lines: Vec<Line>,
    /// Question of each code.
    questions: BTreeMap<String, String>,
}

enum Line {
    Text(String),
    Row { section: String, row: [String; 5] },
}

impl Decisions {
    /// Reads the rows of the page.
    pub fn read(page: &str) -> Decisions {
        let (mut lines, mut questions, mut section) = (Vec::new(), BTreeMap::new(), String::new());
        for line in page.lines() {
            match <[String; 5]>::try_from(cells(line)) {
                Ok(row) if row[0] == "code" || row[0] == "--" => {}
                Ok(row) if line.starts_with('|') => {
                    questions.insert(row[0].clone(), row[1].clone());
                    let section = section.clone();
                    lines.push(Line::Row { section, row });
                }
                _ => {
                    if let Some(title) = line.strip_prefix("## ") {
                        title.clone_into(&mut section);
                    }
                    lines.push(Line::Text(line.to_owned()));
                }
            }
        }
        Decisions { lines, questions }
    }

    /// The codes that `text` names.
    pub fn named(&self, text: &str) -> BTreeSet<&str> {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        let known = words.filter_map(|word| self.questions.get_key_value(word));
        known.map(|(code, _)| code.as_str()).collect()
    }

    /// The question.
    pub fn question(&self, code: &str) -> &str {
        self.questions.get(code).map_or("", String::as_str)
    }

    /// `text`, in which codes are links to their pages, which `folder` leads to. Code stays as it is.
    pub fn linked(&self, text: &str, folder: &str) -> String {
        let mut out = String::new();
        for (i, piece) in text.split('`').enumerate() {
            if i > 0 {
                out.push('`');
            }
            if i % 2 == 1 {
                out += piece;
                continue;
            }
            let is_in_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
            for word in piece.split_inclusive(|c| !is_in_word(c)) {
                let code = word.trim_end_matches(|c| !is_in_word(c));
                match self.questions.contains_key(code) {
                    true => out += &format!("[{code}]({folder}{code}.md){}", &word[code.len()..]),
                    false => out += word,
                }
            }
        }
        out
    }

    /// The list and the pages.
    pub fn pages(&self) -> Pages {
        let (mut pages, mut list) = (Pages::new(), String::new());
        for line in &self.lines {
            match line {
                Line::Text(text) => list += &format!("{text}\n"),
                Line::Row { section, row } => {
                    let [code, question, ..] = row;
                    list += &format!("- [{code}](decisions/{code}.md): {question}\n");
                    pages.insert(format!("decisions/{code}.md"), self.page(section, row));
                }
            }
        }
        pages.insert("DECISIONS.md".to_owned(), list);
        pages
    }

    fn page(&self, section: &str, row: &[String; 5]) -> String {
        let [code, question, answer, others, tests] = row;
        let anchor = section.to_lowercase().replace(' ', "-");
        let mut text = format!(
            "# {code}: {section}\n\n**{}**\n\n{}\n\n",
            self.linked(question, ""),
            self.linked(answer, "")
        );
        if others != "-" {
            text += &format!("Other answers are selected by {others}.\n\n");
        }
        text +=
            &format!("Tests: {tests}.\n\n[All decisions: {section}](../DECISIONS.md#{anchor})\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_a_page_and_codes_are_links() {
        let page = "# D\n\n## On reads\n\n| code | question | answer | other answers | tests |\n|--|--|--|--|--|\n\
                    | RB-1 | Why? | As D2. | `x` | `a_b` |\n| D2 | When? | Now. | - | `c` |\n";
        let decisions = Decisions::read(page);
        assert_eq!(decisions.named("(RB-1), XD2, D2-like"), ["RB-1"].into());
        assert_eq!(decisions.linked("D2, `D2`", "d/"), "[D2](d/D2.md), `D2`");
        let pages = decisions.pages();
        assert_eq!(
            pages["DECISIONS.md"],
            "# D\n\n## On reads\n\n- [RB-1](decisions/RB-1.md): Why?\n- [D2](decisions/D2.md): When?\n"
        );
        assert_eq!(
            pages["decisions/RB-1.md"],
            "# RB-1: On reads\n\n**Why?**\n\nAs [D2](D2.md).\n\nOther answers are selected by `x`.\n\n\
             Tests: `a_b`.\n\n[All decisions: On reads](../DECISIONS.md#on-reads)\n"
        );
    }
}
