//! Text of users and files in TOML: it never becomes more than the value or the comment that it stands in.

use toml::Value;

/// `text` as a TOML string, with its quotes.
#[must_use]
pub fn toml_string(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

/// `text` as one comment, without `#`: control characters, which TOML forbids there or which end it, are escapes such as
/// `\u{a}`.
#[must_use]
pub fn toml_comment(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => safe.extend(c.escape_unicode()),
            false => safe.push(c),
        }
    }
    safe
}
