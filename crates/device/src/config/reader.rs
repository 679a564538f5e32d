//! Reads typed values out of the layers and notes every fault instead of stopping at the first.

use super::error::{DeviceFault, Reason};
use super::keys::position;
use super::layers::{LayerValue, Layers};
use super::values::{NUMBER, Word};
use super::written::toml_string;
use super::{Ratio, nearest_known};
use destage_types::{Axis, ByteSize, Energy, PageSize, Picos};
use std::ops::RangeInclusive;
use toml::Value;

/// Longest time a key takes: far beyond any flash operation, and sums stay within 64 bits.
const LONGEST: Picos = Picos(1_000_000_000_000_000);

/// The values a key takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ValueType {
    /// Any text that is not empty.
    Text,
    /// An integer.
    Integer(RangeInclusive<u32>),
    /// An integer or a word.
    IntegerOr(RangeInclusive<u32>, &'static str),
    /// A power of two of bytes.
    PageSize,
    /// A decimal number.
    Ratio(RangeInclusive<Ratio>),
    /// A time with its unit.
    Time,
    /// A time, or one for each page of a word line.
    Times,
    /// An energy with its unit.
    Energy,
    /// Bytes with their unit.
    Size,
    /// On or off.
    Flag,
    /// One of these words, each with what it means.
    Words(Vec<(&'static str, &'static str)>),
    /// The four axes in some order.
    Axes,
    /// A table with these fields.
    Table(&'static [TableField]),
    /// A list of such tables.
    Tables(&'static [TableField]),
}

/// A field of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableField {
    /// Its name.
    pub name: &'static str,
    /// Its meaning.
    pub about: &'static str,
}

/// The range that a key allows, if its type alone does not say it.
pub(super) type Allowed<T> = Option<RangeInclusive<T>>;

/// A type that keys have.
pub(super) trait KeyValue: Sized {
    /// Name of the type in the error about a value of another type.
    const EXPECTED: &'static str;

    /// Is `off` a value, and not the same as none?
    const TAKES_OFF: bool = false;

    /// The value of `key`, which is written as `value`. After a fault it is a harmless one.
    fn read(from: &mut KeyReader, key: &str, value: &Value, allowed: Allowed<Self>) -> Self;

    /// The value as TOML, if there is one.
    fn toml(&self) -> Option<String>;

    /// The values there are, of those that are allowed.
    fn value_type(allowed: Allowed<Self>) -> ValueType;
}

/// Reads keys. After a fault the result is thrown away.
pub(super) struct KeyReader<'a> {
    values: &'a [Option<LayerValue>],
    faults: &'a mut Vec<DeviceFault>,
}

impl<'a> KeyReader<'a> {
    pub fn new(layers: &'a mut Layers) -> KeyReader<'a> {
        KeyReader {
            values: &layers.values,
            faults: &mut layers.faults,
        }
    }

    /// Number of faults so far.
    pub fn faults(&self) -> usize {
        self.faults.len()
    }

    /// The value of a key, `fallback` where no layer gives it.
    pub fn key<T: KeyValue>(&mut self, key: &str, allowed: Allowed<T>, fallback: Option<T>) -> T {
        match &self.values[position(key)] {
            Some(given) => T::read(self, key, &given.value, allowed),
            None => fallback.expect("the default preset gives every key without a fallback"),
        }
    }

    /// The value of a field of a table.
    pub fn value<T: KeyValue>(&mut self, key: &str, value: &Value, allowed: Allowed<T>) -> T {
        T::read(self, key, value, allowed)
    }

    /// Notes a fault of `key`. A rule between keys may blame one that no layer gives.
    pub fn fault(&mut self, key: &str, reason: Reason) {
        let top = key.split('.').next().unwrap_or(key);
        let given = self.values.get(position(top)).and_then(Option::as_ref);
        self.faults.push(DeviceFault {
            key: key.to_owned(),
            value: given.map_or_else(String::new, |given| given.value.to_string()),
            origin: given.map(|given| given.origin.clone()),
            line: None,
            reason,
        });
    }

    pub fn impossible(&mut self, key: &str, why: String) {
        self.fault(key, Reason::Impossible(why));
    }

    /// A value of another type, for which `instead` is returned.
    pub fn wrong_type<T: KeyValue>(&mut self, key: &str, instead: T) -> T {
        let expected = T::EXPECTED.to_owned();
        self.fault(key, Reason::Type { expected });
        instead
    }

    pub fn unknown_field(&mut self, key: &str, field: &str, known: &'static [TableField]) {
        let nearest = nearest_known(field, known.iter().map(|known| known.name));
        self.fault(key, Reason::UnknownKey { nearest });
    }

    fn out_of_range(&mut self, key: &str, allowed: String) {
        self.fault(key, Reason::Range { allowed });
    }
}

/// A value as TOML in quotes.
fn quoted(value: impl std::fmt::Display) -> Option<String> {
    Some(format!("\"{value}\""))
}

impl KeyValue for String {
    const EXPECTED: &'static str = "a text that is not empty";

    fn read(from: &mut KeyReader, key: &str, value: &Value, _: Allowed<Self>) -> Self {
        match value {
            Value::String(text) if !text.trim().is_empty() => text.clone(),
            _ => from.wrong_type(key, String::new()),
        }
    }

    fn toml(&self) -> Option<String> {
        Some(toml_string(self))
    }

    fn value_type(_: Allowed<Self>) -> ValueType {
        ValueType::Text
    }
}

impl KeyValue for u32 {
    const EXPECTED: &'static str = "an integer";

    fn read(from: &mut KeyReader, key: &str, value: &Value, allowed: Allowed<Self>) -> Self {
        let allowed = allowed.unwrap_or(1..=u32::MAX);
        let (low, high) = (*allowed.start(), *allowed.end());
        let expected = match value {
            Value::Integer(n) => match u32::try_from(*n) {
                Ok(n) if allowed.contains(&n) => return n,
                _ => {
                    from.out_of_range(key, format!("{low} to {high}"));
                    return low;
                }
            },
            Value::String(text) if ByteSize::parse(text).is_ok() => {
                let ByteSize(bytes) = ByteSize::parse(text).unwrap_or_default();
                format!("{} without unit, here {bytes},", u32::EXPECTED)
            }
            _ => format!("{}, {low} to {high},", u32::EXPECTED),
        };
        from.fault(key, Reason::Type { expected });
        low
    }

    fn toml(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn value_type(allowed: Allowed<Self>) -> ValueType {
        ValueType::Integer(allowed.unwrap_or(1..=u32::MAX))
    }
}

impl KeyValue for PageSize {
    const EXPECTED: &'static str = u32::EXPECTED;

    fn read(from: &mut KeyReader, key: &str, value: &Value, _: Allowed<Self>) -> Self {
        let before = from.faults();
        let bytes: u32 = from.value(key, value, None);
        let page = PageSize::new(u64::from(bytes));
        if page.is_none() && from.faults() == before {
            from.out_of_range(key, "a power of two, 512 to 65536".to_owned());
        }
        page.unwrap_or(PageSize::KIB4)
    }

    fn toml(&self) -> Option<String> {
        Some(self.bytes().to_string())
    }

    fn value_type(_: Allowed<Self>) -> ValueType {
        ValueType::PageSize
    }
}

impl KeyValue for Picos {
    const EXPECTED: &'static str = "a time such as \"25us\"";

    fn read(from: &mut KeyReader, key: &str, value: &Value, _: Allowed<Self>) -> Self {
        let parsed = match value {
            Value::String(text) => Picos::parse(text),
            // A bare number: the parser of times says what is missing.
            number @ (Value::Integer(_) | Value::Float(_)) => Picos::parse(&number.to_string()),
            _ => return from.wrong_type(key, Picos::default()),
        };
        match parsed {
            Ok(time) if time <= LONGEST => return time,
            Ok(_) => from.out_of_range(key, format!("0 to {LONGEST}")),
            Err(error) => from.fault(key, Reason::Unit(error)),
        }
        Picos::default()
    }

    fn toml(&self) -> Option<String> {
        quoted(self)
    }

    fn value_type(_: Allowed<Self>) -> ValueType {
        ValueType::Time
    }
}

impl KeyValue for Energy {
    const EXPECTED: &'static str = "an energy such as \"40uJ\"";

    fn read(from: &mut KeyReader, key: &str, value: &Value, _: Allowed<Self>) -> Self {
        let parsed = match value {
            Value::String(text) => Energy::parse(text),
            number @ (Value::Integer(_) | Value::Float(_)) => Energy::parse(&number.to_string()),
            _ => return from.wrong_type(key, Energy::default()),
        };
        parsed.unwrap_or_else(|why| {
            from.impossible(key, why);
            Energy::default()
        })
    }

    fn toml(&self) -> Option<String> {
        quoted(self)
    }

    fn value_type(_: Allowed<Self>) -> ValueType {
        ValueType::Energy
    }
}

impl KeyValue for ByteSize {
    const EXPECTED: &'static str = "a size such as \"16MiB\"";

    fn read(from: &mut KeyReader, key: &str, value: &Value, _: Allowed<Self>) -> Self {
        let parsed = match value {
            Value::String(text) => ByteSize::parse(text),
            Value::Integer(n) => ByteSize::parse(&n.to_string()),
            _ => return from.wrong_type(key, ByteSize::default()),
        };
        parsed.unwrap_or_else(|error| {
            from.fault(key, Reason::Unit(error));
            ByteSize::default()
        })
    }

    fn toml(&self) -> Option<String> {
        quoted(self)
    }

    fn value_type(_: Allowed<Self>) -> ValueType {
        ValueType::Size
    }
}

impl KeyValue for Ratio {
    const EXPECTED: &'static str = "a number such as 0.1";

    fn read(from: &mut KeyReader, key: &str, value: &Value, allowed: Allowed<Self>) -> Self {
        let allowed = allowed.unwrap_or(Ratio::ZERO..=Ratio::ONE);
        let (low, high) = (*allowed.start(), *allowed.end());
        let number = match value {
            Value::Integer(n) => *n as f64,
            Value::Float(x) => *x,
            _ => return from.wrong_type(key, low),
        };
        match Ratio::from_f64(number) {
            Some(ratio) if allowed.contains(&ratio) => ratio,
            _ => {
                from.out_of_range(key, format!("{low} to {high}, nine decimals at most"));
                low
            }
        }
    }

    fn toml(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn value_type(allowed: Allowed<Self>) -> ValueType {
        ValueType::Ratio(allowed.unwrap_or(Ratio::ZERO..=Ratio::ONE))
    }
}

impl KeyValue for bool {
    const EXPECTED: &'static str = "true or false (or \"on\" or \"off\")";

    fn read(from: &mut KeyReader, key: &str, value: &Value, _: Allowed<Self>) -> Self {
        match (value, value.as_str()) {
            (Value::Boolean(flag), _) => *flag,
            (_, Some("on")) => true,
            (_, Some("off")) => false,
            _ => from.wrong_type(key, false),
        }
    }

    fn toml(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn value_type(_: Allowed<Self>) -> ValueType {
        ValueType::Flag
    }
}

impl KeyValue for [Axis; 4] {
    const EXPECTED: &'static str = "[\"channel\", \"chip\", \"die\", \"plane\"] in any order";

    fn read(from: &mut KeyReader, key: &str, value: &Value, _: Allowed<Self>) -> Self {
        let given: Vec<&str> = match value {
            Value::Array(items) => items.iter().map(|v| v.as_str().unwrap_or("")).collect(),
            Value::String(text) => {
                let inner = text.trim_start_matches('[').trim_end_matches(']');
                inner.split(',').map(str::trim).collect()
            }
            _ => Vec::new(),
        };
        let known = |word: &&str| Axis::WORDS.iter().find(|(axis, _)| axis == word);
        let axes: Vec<Axis> = given
            .iter()
            .filter_map(known)
            .map(|found| found.1)
            .collect();
        let usual = Axis::WORDS.iter().map(|found| found.1);
        let complete = usual.clone().all(|axis| axes.contains(&axis));
        match <[Axis; 4]>::try_from(axes) {
            Ok(axes) if complete && given.len() == 4 => axes,
            _ => from.wrong_type(key, [Axis::Channel, Axis::Chip, Axis::Die, Axis::Plane]),
        }
    }

    fn toml(&self) -> Option<String> {
        let words = self.map(|axis| format!("\"{}\"", axis.word()));
        Some(format!("[{}]", words.join(", ")))
    }

    fn value_type(_: Allowed<Self>) -> ValueType {
        ValueType::Axes
    }
}

impl<W: Word> KeyValue for W {
    const EXPECTED: &'static str = "one of the words";

    fn read(from: &mut KeyReader, key: &str, value: &Value, _: Allowed<Self>) -> Self {
        let words = || W::WORDS.iter().map(|(word, _)| *word);
        let allowed = || words().collect::<Vec<_>>().join(", ");
        let given = match value {
            Value::String(word) => word.as_str(),
            // `off` = false.
            Value::Boolean(false) => "off",
            Value::Boolean(true) => "on",
            _ => {
                let expected = format!("{} {}", W::EXPECTED, allowed());
                from.fault(key, Reason::Type { expected });
                return W::WORDS[0].1;
            }
        };
        if let Some((_, value)) = W::WORDS.iter().find(|(known, _)| *known == given) {
            return *value;
        }
        let number = given.starts_with(|c: char| c.is_ascii_digit());
        let unavailable = |&known: &&str| known == given || (number && known == NUMBER);
        let reason = if W::UNAVAILABLE.iter().any(unavailable) {
            Reason::NotAvailable {
                available: allowed(),
            }
        } else {
            Reason::Word {
                nearest: nearest_known(given, words()),
                allowed: allowed(),
            }
        };
        from.fault(key, reason);
        W::WORDS[0].1
    }

    fn toml(&self) -> Option<String> {
        quoted(self.word())
    }

    fn value_type(_: Allowed<Self>) -> ValueType {
        const { assert!(W::WORDS.len() == W::MEANINGS.len()) };
        let words = W::WORDS.iter().map(|(word, _)| *word);
        ValueType::Words(words.zip(W::MEANINGS.iter().copied()).collect())
    }
}

/// A key that may be left out: `false` and `"off"` say so too.
impl<T: KeyValue + Clone> KeyValue for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn read(from: &mut KeyReader, key: &str, value: &Value, allowed: Allowed<Self>) -> Self {
        match value {
            Value::Boolean(false) => None,
            Value::String(word) if word == "off" && !T::TAKES_OFF => None,
            _ => Some(T::read(from, key, value, of_given(allowed))),
        }
    }

    fn toml(&self) -> Option<String> {
        self.as_ref().and_then(T::toml)
    }

    fn value_type(allowed: Allowed<Self>) -> ValueType {
        T::value_type(of_given(allowed))
    }
}

fn of_given<T>(allowed: Allowed<Option<T>>) -> Allowed<T> {
    let (low, high) = allowed?.into_inner();
    Some(low?..=high?)
}
