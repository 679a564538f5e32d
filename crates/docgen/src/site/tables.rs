//! Tables of sentences become sections, since a table that is wider than the screen is hard to read.

use std::collections::BTreeSet;

/// A table with a row of so many bytes does not fit a screen.
const TOO_WIDE: usize = 240;

/// The cells of a row.
pub fn cells(row: &str) -> Vec<String> {
    let row = row.trim().trim_start_matches('|').trim_end_matches('|');
    let whole = row.replace("\\|", "\u{1}");
    let cells = whole.split('|');
    cells
        .map(|cell| cell.trim().replace('\u{1}', "|"))
        .collect()
}

/// Makes a section of each row of tables that are too wide. The first cell is its heading, and the second its text.
pub fn narrow(text: &str) -> String {
    let (mut out, mut level, mut is_code) = (String::new(), 1, false);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        is_code ^= line.trim_start().starts_with("```");
        if !is_code && line.starts_with('#') {
            level = line.bytes().take_while(|byte| *byte == b'#').count();
        }
        if is_code || !line.starts_with('|') {
            out += line;
            out.push('\n');
            continue;
        }
        let mut table = vec![line];
        while let Some(row) = lines.next_if(|line| line.starts_with('|')) {
            table.push(row);
        }
        let widest = table.iter().map(|row| row.len()).max();
        if widest < Some(TOO_WIDE) || cells(line).len() < 3 {
            out += &table.join("\n");
            out.push('\n');
        } else {
            out += &sections(&table, level + 1);
        }
    }
    out
}

fn sections(table: &[&str], level: usize) -> String {
    let head = table.first().map(|row| cells(row)).unwrap_or_default();
    let rows: Vec<Vec<String>> = table.iter().skip(2).map(|row| cells(row)).collect();
    let names: BTreeSet<&str> = rows
        .iter()
        .filter_map(|row| row.first().map(String::as_str))
        .collect();
    let mut text = String::new();
    for row in &rows {
        let [name, about, rest @ ..] = &row[..] else {
            continue;
        };
        let marks = "#".repeat(level);
        // Rows of the same name differ in the second cell.
        text += &if names.len() == rows.len() {
            format!("{marks} {name}\n\n{about}\n\n")
        } else {
            format!("{marks} {name}: {about}\n\n")
        };
        for (title, cell) in head.iter().skip(2).zip(rest) {
            if !cell.is_empty() && cell != "-" {
                text += &format!("- **{title}**: {cell}\n");
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_table_becomes_sections_and_others_stay() {
        let narrow_one = "| a | b | c |\n|--|--|--|\n| 1 | 2 | 3 |\n";
        assert_eq!(narrow(narrow_one), narrow_one);
        let long = "x".repeat(TOO_WIDE);
        let table =
            format!("## T\n\n| key | meaning | values |\n|--|--|--|\n| `k` | {long} | 1 \\| 2 |\n");
        let sections = format!("## T\n\n### `k`\n\n{long}\n\n- **values**: 1 | 2\n\n");
        assert_eq!(narrow(&table), sections);
        let twice = format!("{table}| `k` | m | - |\n");
        assert!(narrow(&twice).ends_with("### `k`: m\n\n\n"));
    }
}
