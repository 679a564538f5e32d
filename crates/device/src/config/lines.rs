//! Lines of the keys of a TOML file, for messages.

use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// The line of every key of `text`, from 1. Names of tables and numbers of the items of lists stand in front of a
/// key, as in `run.1.cache`; the item itself has a line, too.
pub fn key_lines(text: &str) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    // Syntax errors are reported where the values are read.
    let (table, _) = DeTable::parse_recoverable(text);
    add(table.get_ref(), "", text, &mut lines);
    lines
}

fn add(table: &DeTable<'_>, outer: &str, text: &str, lines: &mut BTreeMap<String, usize>) {
    for (key, value) in table {
        let name = match outer {
            "" => key.get_ref().to_string(),
            _ => format!("{outer}.{}", key.get_ref()),
        };
        lines.insert(name.clone(), line_at(text, key.span().start));
        match value.get_ref() {
            DeValue::Table(inner) => add(inner, &name, text, lines),
            DeValue::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    let name = format!("{name}.{i}");
                    lines.insert(name.clone(), line_at(text, item.span().start));
                    if let DeValue::Table(inner) = item.get_ref() {
                        add(inner, &name, text, lines);
                    }
                }
            }
            _ => {}
        }
    }
}

fn line_at(text: &str, byte: usize) -> usize {
    let before = text.as_bytes().iter().take(byte);
    before.filter(|byte| **byte == b'\n').count() + 1
}
