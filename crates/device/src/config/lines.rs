//! Lines of the keys of a TOML file, for messages.

use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// The line of every key of `text`, from 1. Names of tables and numbers of the items of lists stand in front of a
/// key, as in `run.1.cache`; the item itself has a line, too.
pub fn key_lines(text: &str) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    // Syntax errors are reported where the values are read.
    let (table, _) = DeTable::parse_recoverable(text);
    let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    let ends: Vec<usize> = ends.map(|(at, _)| at).collect();
    add(table.get_ref(), "", &ends, &mut lines);
    lines
}

fn add(table: &DeTable<'_>, outer: &str, ends: &[usize], lines: &mut BTreeMap<String, usize>) {
    for (key, value) in table {
        let name = match outer {
            "" => key.get_ref().to_string(),
            _ => format!("{outer}.{}", key.get_ref()),
        };
        lines.insert(name.clone(), line_at(ends, key.span().start));
        match value.get_ref() {
            DeValue::Table(inner) => add(inner, &name, ends, lines),
            DeValue::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    let name = format!("{name}.{i}");
                    lines.insert(name.clone(), line_at(ends, item.span().start));
                    if let DeValue::Table(inner) = item.get_ref() {
                        add(inner, &name, ends, lines);
                    }
                }
            }
            _ => {}
        }
    }
}

/// The line of a byte, where lines end at `ends`.
fn line_at(ends: &[usize], byte: usize) -> usize {
    ends.partition_point(|&end| end < byte) + 1
}
