//! Formats that `mappings.toml` declares: mappings whose columns have their places.

use std::sync::LazyLock;

use super::columns::{BYTES, Holds, KindWord, OFFSET, SECTOR, SECTORS, word_number};
use super::{FormatInfo, Separator, TraceColumn};
use crate::mapping::cut::Cut;
use crate::mapping::named::{NamedMapping, named_mappings};
use crate::mapping::rule::{ColumnUnit, MappedColumn, Rule};
use crate::mapping::{ColumnRole, Mapping};
use crate::text::gap::Gap;
use crate::text::numbers::{NO_DECIMAL, looks_like_decimal};
use crate::text::spelling::{EventKind, word_kind};

/// The declared formats.
pub(super) static DECLARED: LazyLock<Vec<FormatInfo>> = LazyLock::new(|| {
    let all = named_mappings().iter();
    all.filter_map(|(name, named)| format(name, named)?.ok())
        .collect()
});

/// The format that a mapping is, if its columns have names in their order.
pub(crate) fn format(
    name: &'static str,
    named: &'static NamedMapping,
) -> Option<Result<FormatInfo, String>> {
    let names = named.names.as_ref()?;
    let info = named.columns.parse::<Mapping>().and_then(|mapping| {
        let columns = names.split_whitespace().map(|word| column(&mapping, word));
        let example = named.example.trim_ascii_start();
        let name_of = |text: &'static str| text.split([',', ' ', ':']).next();
        let header = usize::from(name_of(example) == name_of(names));
        let aliases = named.aliases.iter().map(String::as_str);
        Ok(FormatInfo {
            name,
            aliases: aliases.collect::<Vec<_>>().leak(),
            about: &named.about,
            source: &named.source,
            separator: match mapping.layout.cut {
                Some(Cut::Gap(Gap::Blanks)) => Separator::Blank,
                _ => Separator::Comma,
            },
            columns: columns.collect::<Result<Vec<_>, _>>()?.leak(),
            timed: mapping.rule(ColumnRole::Time).is_some(),
            volumes: mapping.rule(ColumnRole::Volume).is_some(),
            example: example.as_bytes(),
            example_requests: (example.lines().count() - header) as u64,
            only: named.only,
            dates: named.dates.as_ref().map(|unit| unit.parse()).transpose()?,
            open_end: named.open_end,
            ..FormatInfo::BASE
        })
    });
    Some(info)
}

/// The role of a column, and its place among those of that.
fn role_of(mapping: &Mapping, name: &str) -> Option<(ColumnRole, usize)> {
    let column = MappedColumn::Name(name.to_owned());
    ColumnRole::ALL.into_iter().find_map(|role| {
        let mut columns = mapping.rule(role)?.columns.iter();
        Some((role, columns.position(|known| *known == column)?))
    })
}

/// The column `NAME:WHAT` of a format.
fn column(mapping: &Mapping, text: &'static str) -> Result<TraceColumn, String> {
    let (name, what) = text.split_once(':').unwrap_or((text, ""));
    let role = role_of(mapping, name);
    let rule = role.and_then(|(role, _)| mapping.rule(role));
    let unit = rule.and_then(|rule| rule.unit);
    let (holds, allowed) = match (role, unit) {
        (Some((ColumnRole::Time, _)), Some(ColumnUnit::Time(unit))) => match what {
            "whole" => (Holds::Ticks(unit), format!("a whole number of {unit}")),
            _ => {
                let allowed = format!("{unit}, digits behind the ns dropped");
                (Holds::Decimal(unit), allowed)
            }
        },
        (Some((ColumnRole::Op, _)), _) => {
            let (words, allowed) = words(rule);
            (Holds::Kind(words), allowed)
        }
        (Some((ColumnRole::Offset, _)), unit) => {
            let unit = unit.unwrap_or(ColumnUnit::Bytes);
            let allowed = match unit {
                ColumnUnit::Sectors => SECTOR,
                ColumnUnit::Blocks => BLOCK,
                _ => OFFSET,
            };
            (Holds::Start(unit), allowed.to_owned())
        }
        (Some((ColumnRole::Size, _)), unit) => {
            let unit = unit.unwrap_or(ColumnUnit::Bytes);
            let allowed = match unit {
                ColumnUnit::Sectors => SECTORS,
                ColumnUnit::Blocks => "blocks, 1 to 536870911",
                _ => BYTES,
            };
            (Holds::Length(unit), allowed.to_owned())
        }
        (Some((ColumnRole::Volume, place)), _) => volume(mapping, what, place),
        _ => unused(what).ok_or_else(|| format!("`{text}`: what is `{what}`?"))?,
    };
    let allowed = allowed.leak();
    Ok(TraceColumn {
        name,
        allowed,
        holds,
    })
}

fn volume(mapping: &Mapping, what: &str, place: usize) -> (Holds, String) {
    let columns = mapping
        .rule(ColumnRole::Volume)
        .map_or(&[][..], |rule| &rule.columns);
    let joined = columns.len() > 1;
    let number = |most: u32| format!("a number, 0 to {most}");
    let devices = columns.first() == Some(&MappedColumn::Name("major".to_owned()));
    match (joined, devices, place) {
        (false, ..) => (Holds::Stream, number(u32::MAX)),
        (_, true, 0) => (Holds::Major, number(4_095)),
        (_, true, _) => (Holds::Minor, number(1_048_575)),
        _ if what == "text" => (Holds::Host, HOST.to_owned()),
        _ => (Holds::Disk, number(65_535)),
    }
}

const BLOCK: &str = "4 KiB block, the request ending at or below 256 TiB";
const HOST: &str = "a name, at most 1024 different ones";

fn unused(what: &str) -> Option<(Holds, String)> {
    const NO_HASH: &str = "is no hash in hexadecimal digits";
    let (holds, allowed) = match what {
        "whole" => (Holds::Whole, "a whole number"),
        "counter" => (Holds::Counter, "number of the line"),
        "zero" => (Holds::Unused(|text| text == b"0", "is not 0"), "0"),
        "real" => (Holds::Unused(is_real, NO_DECIMAL), "a number"),
        "real-or-empty" => {
            let fits = |text: &[u8]| text.is_empty() || looks_like_decimal(text);
            (Holds::Unused(fits, NO_DECIMAL), "a number or empty")
        }
        "text" => (Holds::Unused(|_| true, ""), "a word"),
        "text?" => (Holds::Optional(|_| true, ""), "optional"),
        "hash?" => {
            let fits = |text: &[u8]| text.iter().all(u8::is_ascii_hexdigit);
            let allowed = "optional: a hash in hexadecimal digits";
            (Holds::Optional(fits, NO_HASH), allowed)
        }
        _ => return None,
    };
    Some((holds, format!("{allowed}, not used")))
}

/// Small durations may come with an exponent.
fn is_real(text: &[u8]) -> bool {
    let text = std::str::from_utf8(text).unwrap_or("");
    text.parse::<f64>().is_ok_and(|s| s.is_finite() && s >= 0.0)
}

/// The words of the kinds, and what a message says of them.
fn words(rule: Option<&Rule>) -> (&'static [KindWord], String) {
    let words = rule.map_or(&[][..], |rule| &rule.words).iter();
    let said = words.clone().map(|(word, kind)| {
        let op = kind.and_then(|kind| kind.op);
        match op {
            // Such lines are counted (TR-4).
            None => "empty".to_owned(),
            Some(_) if word_kind(word.as_bytes()) == *kind => word.clone(),
            Some(op) => format!("{word} ({op:?})").to_lowercase(),
        }
    });
    let said: Vec<String> = said.collect();
    let op = |kind: &Option<EventKind>| kind.and_then(|kind| kind.op);
    let words = words.map(|(word, kind)| (word_number(word.as_bytes()), op(kind)));
    let words: Vec<KindWord> = words.collect();
    (words.leak(), said.join(", "))
}
