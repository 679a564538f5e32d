//! The fields of a result record as Python's type checkers read them.

use crate::PYTHON_GENERATED;
use destage_report::columns::{resolved, type_word};
use serde_json::Value;

/// The module `destage._record`: a class for each part of a record, in the order in which they are needed.
pub fn classes() -> String {
    let schema = destage_record::result::json_schema();
    let schema: Value = serde_json::from_str(&schema).expect("a schema is plain JSON");
    let mut text = format!(
        "\"\"\"The fields of records, from their JSON Schema.\"\"\"\n\n{PYTHON_GENERATED}\n\
         from __future__ import annotations\n\nfrom typing import Any\n\nfrom destage._fields import Fields\n"
    );
    let parts = schema["$defs"].as_object().into_iter().flatten();
    for (name, part) in parts.filter(|(_, part)| part["properties"].is_object()) {
        text += &class(name, part, &schema);
    }
    text + &class("Record", &schema, &schema)
}

fn class(name: &str, node: &Value, root: &Value) -> String {
    let about = node["description"].as_str().unwrap_or(name);
    let about = about.lines().next().unwrap_or(name);
    let mut text =
        format!("\n\nclass {name}(Fields):\n    \"\"\"{about}\"\"\"\n\n    __slots__ = ()\n\n");
    for (field, value) in node["properties"].as_object().into_iter().flatten() {
        text += &format!("    {field}: {}\n", type_of(value, root));
    }
    text
}

/// The type of a field that is there. A part that a run does not have is no attribute of its record, so parts are
/// never None; numbers can be.
fn type_of(value: &Value, root: &Value) -> String {
    let parts = value["anyOf"].as_array().into_iter().flatten();
    let reference = parts.chain([value]).find_map(|part| part["$ref"].as_str());
    let node = resolved(value, root);
    if node["properties"].is_object()
        && let Some(name) = reference.and_then(|path| path.rsplit('/').next())
    {
        return name.to_owned();
    }
    let plain = match type_word(node) {
        "integer" => "int",
        "number" => "float",
        "string" => "str",
        "boolean" => "bool",
        "array" => return "list[Any]".to_owned(),
        "object" => return "Fields".to_owned(),
        _ => return "Any".to_owned(),
    };
    let nullable = |node: &Value| {
        let words = node["type"].as_array().into_iter().flatten();
        words.into_iter().any(|word| word == "null")
    };
    match nullable(value) || nullable(node) {
        true => format!("{plain} | None"),
        false => plain.to_owned(),
    }
}
