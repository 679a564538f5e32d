//! Mappings with names: those that the program has, and those of a file.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::Mapping;
use super::cut::Cut;
use super::guess::{self, GuessedTable};
use super::rule::MappedColumn;
use crate::error::TraceError;
use crate::readers::{self, FormatInfo, Only, Sample, mapped};
use crate::time_unit::TimeUnit;

/// Lines that patterns are tried on.
const LINES: usize = 200;

/// The mappings that the program has.
const SHIPPED: &str = include_str!("mappings.toml");

/// A mapping with a name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedMapping {
    /// What its files hold.
    #[serde(default)]
    pub about: String,
    /// Where they come from.
    #[serde(default)]
    pub source: String,
    /// The mapping as a text.
    pub columns: String,
    /// The text that such files begin with.
    first: Option<String>,
    /// Do lines that fit the mapping's pattern tell its files?
    #[serde(default)]
    fits: bool,
    /// The columns of a format, which have their places, and what they hold.
    pub(crate) names: Option<String>,
    #[serde(default)]
    pub(crate) aliases: Vec<String>,
    #[serde(default)]
    pub(crate) example: String,
    pub(crate) only: Option<Only>,
    pub(crate) dates: Option<String>,
    #[serde(default, rename = "open-end")]
    pub(crate) open_end: bool,
}

impl NamedMapping {
    /// The mapping; the columns of a format by their numbers.
    pub(crate) fn mapping(&self) -> Result<Mapping, String> {
        let mut mapping: Mapping = self.columns.parse()?;
        let names = self.names.as_deref().unwrap_or("").split_whitespace();
        let names: Vec<&str> = names
            .map(|name| name.split(':').next().unwrap_or(""))
            .collect();
        let rules = mapping.rules.iter_mut().flatten();
        for column in rules.flat_map(|rule| &mut rule.columns) {
            if let MappedColumn::Name(name) = column
                && let Some(place) = names.iter().position(|known| known == name)
            {
                *column = MappedColumn::Number(place + 1);
            }
        }
        Ok(mapping)
    }
}

type Mappings = BTreeMap<String, NamedMapping>;

/// All mappings that the program has, by their names.
pub fn named_mappings() -> &'static Mappings {
    static ALL: LazyLock<Mappings> = LazyLock::new(|| toml::from_str(SHIPPED).unwrap_or_default());
    &ALL
}

/// The format or mapping of this name, or the mapping of a file: FILE.toml:NAME.
///
/// # Errors
/// There is no such one, or the file cannot be read.
pub fn by_name(name: &str) -> Result<(&'static FormatInfo, Option<Mapping>), TraceError> {
    let refused = |reason: String| TraceError::Mapping {
        name: name.to_owned(),
        reason,
    };
    let read = |mappings: &Mappings, key: &str| {
        let mapping = mappings.get(key)?;
        let mapping = mapping.mapping().map_err(refused);
        Some(mapping.map(|mapping| (&mapped::INFO, Some(mapping))))
    };
    if let Some((file, key)) = name.split_once(".toml:") {
        let text = std::fs::read_to_string(format!("{file}.toml"));
        let text = text.map_err(|error| refused(error.to_string()))?;
        let mappings: Result<Mappings, _> = toml::from_str(&text);
        let mappings = mappings.map_err(|error| refused(error.to_string()))?;
        let known = || mappings.keys().cloned().collect::<Vec<_>>().join(", ");
        let none = || refused(format!("it has no [{key}]; it has: {}", known()));
        return read(&mappings, key).unwrap_or_else(|| Err(none()));
    }
    let named = named_mappings().get(name);
    let is_format = named.is_none_or(|named| named.names.is_some());
    match read(named_mappings(), name).filter(|_| !is_format) {
        Some(found) => found,
        None => readers::by_name(name).map(|format| (format, None)),
    }
}

/// The table of a mapping that tells its files by their first bytes or by its pattern.
pub(crate) fn detect(sample: &Sample<'_>, unit: Option<TimeUnit>) -> Option<GuessedTable> {
    let squeezed = |text: &[u8]| -> Vec<u8> {
        let bytes = text.iter().filter(|b| !b.is_ascii_whitespace());
        bytes.take(400).copied().collect()
    };
    let text = sample.text();
    let start = squeezed(text.get(..1_000).unwrap_or(text));
    named_mappings().values().find_map(|named| {
        let begins = |first: &String| start.starts_with(&squeezed(first.as_bytes()));
        let begins = named.first.as_ref().is_some_and(begins);
        if !begins && !named.fits {
            return None;
        }
        let mapping: Mapping = named.columns.parse().ok()?;
        if let (false, Some(cut @ Cut::Lines(_))) = (begins, &mapping.layout.cut) {
            let fit = |line: &&&[u8]| cut.fields(line, &[], &mut Vec::new());
            // Other events may stand between.
            let lines = &sample.lines[..sample.lines.len().min(LINES)];
            if 10 * lines.iter().filter(fit).count() < lines.len().max(1) {
                return None;
            }
        }
        guess::complete(&mapping, unit, &sample.lines).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_mappings_of_the_program_can_be_read() {
        assert!(named_mappings().len() > 20);
        for (name, named) in named_mappings() {
            let mapping = named.mapping().expect(name);
            assert_eq!(mapping.to_string().parse(), Ok(mapping), "{name}");
            let described = !named.about.is_empty() && !named.source.is_empty();
            assert!(described, "{name}");
            let is_format = readers::by_name(name).is_ok();
            assert_eq!(is_format, named.names.is_some(), "{name}");
        }
    }
}
