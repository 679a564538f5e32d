//! The list of cases; the head of `records/cases.txt` says how it is written.

use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};

/// A command line whose outputs are recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// As in the list, one choice made of each `{a|b}`: the name of the case.
    pub line: String,
    /// Arguments of the command.
    pub arguments: String,
    /// The files it writes are inputs of later cases.
    pub input: bool,
    /// Standard error is recorded, and the case may fail.
    pub messages: bool,
}

impl Case {
    /// The line as the name of a file.
    pub fn file(&self) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._=()$-".contains(c);
        let chars = self.line.chars();
        chars.map(|c| if plain(c) { c } else { '_' }).collect()
    }
}

type Names = BTreeMap<String, String>;

/// Reads the list.
///
/// # Errors
/// A name is not known, a brace is not closed, or two cases are the same.
pub fn parse(text: &str) -> Result<Vec<Case>> {
    let mut names = Names::new();
    let mut section = String::new();
    let mut cases: Vec<Case> = Vec::new();
    for line in whole_lines(text) {
        if let Some(header) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            header.clone_into(&mut section);
        } else if let Some((name, value)) = line.split_once(" = ") {
            names.insert(name.to_owned(), substitute(value, &names)?);
        } else {
            for line in choices(&line, &names)? {
                cases.push(Case {
                    arguments: substitute(&line, &names)?,
                    input: section == "inputs",
                    messages: section.ends_with("with messages"),
                    line,
                });
            }
        }
    }
    let mut files = BTreeSet::new();
    for case in &cases {
        let (file, line) = (case.file(), &case.line);
        ensure!(file.len() <= 200, "give a part of this a name: {line}");
        ensure!(files.insert(file), "two cases are too much alike: {line}");
    }
    Ok(cases)
}

/// Lines with those that go on with them, without comments and empty ones.
fn whole_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        match lines.last_mut() {
            _ if line.trim().is_empty() || line.starts_with('#') => (),
            Some(before) if line.starts_with(' ') => {
                // A list of choices may be broken behind its bar.
                let gap = if before.ends_with('|') { "" } else { " " };
                before.extend([gap, line.trim()]);
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

/// One line for each choice of each `{a|b}`, where the name of a list stands for its choices.
fn choices(line: &str, names: &Names) -> Result<Vec<String>> {
    let Some((before, rest)) = line.split_once('{') else {
        return Ok(vec![line.to_owned()]);
    };
    let (list, after) = rest.split_once('}').context("a brace is not closed")?;
    let ends = choices(after, names)?;
    let mut lines = Vec::new();
    for choice in list.split('|') {
        let named = choice
            .trim()
            .strip_prefix('$')
            .and_then(|name| names.get(name));
        let list = named.filter(|value| value.contains('|'));
        for choice in list.map_or(choice, String::as_str).split('|') {
            let choice = choice.trim();
            lines.extend(ends.iter().map(|end| format!("{before}{choice}{end}")));
        }
    }
    Ok(lines)
}

/// Puts the values of names in the place of `$name`.
fn substitute(text: &str, names: &Names) -> Result<String> {
    let mut parts = text.split('$');
    let mut done = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric());
        let (name, rest) = part.split_at(end.unwrap_or(part.len()));
        let value = names.get(name);
        done.push_str(value.with_context(|| format!("no name ${name}: {text}"))?);
        done.push_str(rest);
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(line: &str, arguments: &str) -> Case {
        Case {
            line: line.to_owned(),
            arguments: arguments.to_owned(),
            input: false,
            messages: false,
        }
    }

    #[test]
    fn a_line_stands_for_all_its_choices() {
        let text =
            "# comment\nboth = lru |\n    arc\nrun = run t.csv\n\n$run --scheme {$both|none}";
        let cases = parse(text).unwrap();
        let lines = ["lru", "arc", "none"].map(|s| {
            case(
                &format!("$run --scheme {s}"),
                &format!("run t.csv --scheme {s}"),
            )
        });
        assert_eq!(cases, lines);
        let cases = parse("small = --page 8k\nrun {a|b} {$small|}").unwrap();
        let lines: Vec<&str> = cases.iter().map(|c| c.line.as_str()).collect();
        assert_eq!(lines, ["run a $small", "run a ", "run b $small", "run b "]);
        assert_eq!(cases[0].arguments, "run a --page 8k");
    }

    #[test]
    fn sections_say_what_is_recorded() {
        let cases = parse("[inputs]\na\n[errors, with messages]\nb\n[runs]\nc").unwrap();
        let kinds: Vec<_> = cases.iter().map(|c| (c.input, c.messages)).collect();
        assert_eq!(kinds, [(true, false), (false, true), (false, false)]);
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for (text, part) in [
            ("run $t", "no name $t"),
            ("run {a|b", "not closed"),
            ("run a\nrun a", "alike"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    /// A choice or a name that was forgotten would be run as it stands.
    #[test]
    fn the_list_of_the_checkout_is_in_order() {
        let cases = parse(include_str!("../../records/cases.txt")).unwrap();
        assert!(cases.len() > 500, "{} cases", cases.len());
        for case in cases {
            assert!(
                !case.arguments.contains(['{', '}', '|', '$']),
                "{}",
                case.line
            );
        }
    }
}
