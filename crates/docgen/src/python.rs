//! The functions of the Python package that build schemes, one for each that there is.

use crate::PYTHON_GENERATED;
use destage_scheme::SchemeInfo;
use destage_scheme::describe::{ParamRecord, SchemeRecord, record};
use destage_scheme::registry::SCHEMES;

/// Columns of a line of text.
const WIDTH: usize = 110;

/// The module `destage._schemes`.
pub fn schemes() -> String {
    let records: Vec<SchemeRecord> = SCHEMES.iter().map(|info| record(info)).collect();
    let mut text = format!(
        "\"\"\"Functions that build schemes, one for each.\"\"\"\n\n{PYTHON_GENERATED}\n\
         from __future__ import annotations\n\nfrom destage._scheme import Scheme, SchemeLike, Value, layer, policy\n\n\
         __all__ = [\n"
    );
    for record in &records {
        text += &format!("    \"{}\",\n", name(record.name));
    }
    text += "]\n";
    for (record, info) in records.iter().zip(SCHEMES) {
        text += &function(record, info);
    }
    text
}

/// A name of Python: `2q` is `two_q`, `from` is `from_`.
fn name(text: &str) -> String {
    let name = text.replace('-', "_");
    let keyword = [
        "lambda", "from", "in", "is", "as", "with", "class", "global",
    ]
    .contains(&text);
    match name.strip_prefix('2') {
        Some(rest) => format!("two_{rest}"),
        None if keyword => name + "_",
        None => name,
    }
}

fn function(record: &SchemeRecord, info: &SchemeInfo) -> String {
    let mut arguments = Vec::new();
    if record.layer {
        arguments.push("inner: SchemeLike = \"lru\"".to_owned());
    }
    let chooses = !info.members.is_empty();
    match (chooses, record.params.is_empty()) {
        (true, _) => arguments.push("*members: SchemeLike".to_owned()),
        (false, false) => arguments.push("*".to_owned()),
        (false, true) => {}
    }
    let params = record.params.iter();
    arguments.extend(params.map(|param| format!("{}: Value | None = None", name(param.key))));
    let mut text = format!("\n\ndef {}(\n", name(record.name));
    if arguments.is_empty() {
        text = format!("\n\ndef {}() -> Scheme:\n", name(record.name))
    } else {
        for argument in &arguments {
            text += &format!("    {argument},\n");
        }
        text += ") -> Scheme:\n";
    }
    text += &format!("    \"\"\"{}\n\n", escaped(record.summary));
    let role = format!(
        "`{}`: {} {}. {}",
        record.name,
        record.role_letter,
        record.role,
        source(info)
    );
    text += &wrapped(&escaped(&role), "    ");
    if !record.params.is_empty() {
        text += "\n    Parameters\n    ----------\n";
        for param in &record.params {
            text += &format!("    {}:\n", name(param.key));
            text += &wrapped(&escaped(&about(param)), "        ");
        }
    }
    text += "    \"\"\"\n";
    let given: Vec<String> = record
        .params
        .iter()
        .map(|param| format!("        \"{}\": {},\n", param.key, name(param.key)))
        .collect();
    let given = if given.is_empty() {
        "{}".to_owned()
    } else {
        format!("{{\n{}    }}", given.concat())
    };
    text += &match (record.layer, chooses) {
        (true, _) => format!("    return layer(\"{}\", inner, {given})\n", record.name),
        (false, true) => format!("    return policy(\"{}\", {given}, members)\n", record.name),
        (false, false) => format!("    return policy(\"{}\", {given})\n", record.name),
    };
    text
}

fn source(info: &SchemeInfo) -> String {
    format!(
        "Source: {}.",
        destage_scheme::describe::source(info).trim_end_matches('.')
    )
}

fn about(param: &ParamRecord) -> String {
    let unit = match param.unit {
        "" => String::new(),
        unit => format!(", in {unit}"),
    };
    format!(
        "{}; {}{unit}; default: {}.",
        param.note, param.range, param.default
    )
}

/// Text inside a string of three quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "'")
}

/// Lines of at most [`WIDTH`] columns that begin with `indent`.
fn wrapped(text: &str, indent: &str) -> String {
    let (mut lines, mut line) = (String::new(), indent.to_owned());
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH && line.len() > indent.len() {
            lines += &(line.trim_end().to_owned() + "\n");
            line = indent.to_owned();
        }
        line += word;
        line.push(' ');
    }
    lines + line.trim_end() + "\n"
}
