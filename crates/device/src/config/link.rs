//! The link between host and device.

use super::reader::{Allowed, KeyReader, KeyValue, TableField, ValueType};
use std::fmt;
use toml::Value;

/// Bandwidth between host and device, in each direction (D-13).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostLink {
    read: Option<Rate>,
    write: Option<Rate>,
}

/// Bytes a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Rate(u64);

/// Units of rates, the largest first.
const UNITS: [(&str, u64); 4] = [
    ("GB/s", 1_000_000_000),
    ("MB/s", 1_000_000),
    ("kB/s", 1_000),
    ("B/s", 1),
];

impl HostLink {
    /// Bytes a second to the host; without limit if none.
    pub fn read(&self) -> Option<u64> {
        self.read.map(|rate| rate.0)
    }

    /// Bytes a second to the device; without limit if none.
    pub fn write(&self) -> Option<u64> {
        self.write.map(|rate| rate.0)
    }
}

/// Bytes a second of a text such as `6.5GB/s`.
pub fn bytes_per_second(text: &str) -> Option<u64> {
    Rate::parse(text).map(|rate| rate.0)
}

impl Rate {
    /// Reads `6.5GB/s`: at least 1 B/s, at most 1000 GB/s, with at most nine decimals.
    fn parse(text: &str) -> Option<Rate> {
        let (number, unit) = UNITS
            .iter()
            .find_map(|&(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
        let (whole, fraction) = number.trim().split_once('.').unwrap_or((number.trim(), ""));
        if fraction.len() > 9 || whole.len() > 12 {
            return None;
        }
        let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
        let bytes = digits * u128::from(unit) / 10_u128.pow(fraction.len() as u32);
        let bytes = u64::try_from(bytes).ok()?;
        (1..=1_000_000_000_000)
            .contains(&bytes)
            .then_some(Rate(bytes))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |unit: &&(&str, u64)| self.0.is_multiple_of(unit.1);
        let (name, unit) = UNITS.iter().find(whole).unwrap_or(&UNITS[3]);
        write!(f, "{}{name}", self.0 / unit)
    }
}

const FIELDS: &[TableField] = &[
    TableField {
        name: "read",
        about: "bytes a second to the host, such as `6.5GB/s`; without limit if not given",
    },
    TableField {
        name: "write",
        about: "bytes a second to the device; without limit if not given",
    },
];

impl KeyValue for HostLink {
    const EXPECTED: &'static str =
        "\"unlimited\" or a table such as { read = \"6.5GB/s\", write = \"1.5GB/s\" }";

    fn read(from: &mut KeyReader, key: &str, value: &Value, _: Allowed<Self>) -> Self {
        let table = match value {
            Value::String(word) if word == "unlimited" => return HostLink::default(),
            Value::Table(table) => table,
            _ => return from.wrong_type(key, HostLink::default()),
        };
        let mut link = HostLink::default();
        for (field, value) in table {
            let name = format!("{key}.{field}");
            let rate = value.as_str().and_then(Rate::parse);
            match field.as_str() {
                "read" => link.read = rate,
                "write" => link.write = rate,
                _ => {
                    from.unknown_field(&name, field, FIELDS);
                    continue;
                }
            }
            if rate.is_none() {
                let why = format!(
                    "impossible: {value} is no rate; allowed: 1B/s to 1000GB/s, with B/s, kB/s, MB/s or GB/s"
                );
                from.impossible(&name, why);
            }
        }
        link
    }

    fn toml(&self) -> Option<String> {
        if *self == HostLink::default() {
            return Some("\"unlimited\"".to_owned());
        }
        let field =
            |name: &str, rate: Option<Rate>| rate.map(|rate| format!("{name} = \"{rate}\""));
        let fields = [field("read", self.read), field("write", self.write)];
        let fields: Vec<String> = fields.into_iter().flatten().collect();
        Some(format!("{{ {} }}", fields.join(", ")))
    }

    fn value_type(_: Allowed<Self>) -> ValueType {
        ValueType::Table(FIELDS)
    }
}
