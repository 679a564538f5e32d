//! Reads typed values out of the layers and notes every fault instead of stopping at the first.

use super::error::{Fault, Reason, nearest};
use super::keys::position;
use super::layers::{Entry, Layers};
use super::values::{NUMBER, Word};
use super::{Energy, Ratio};
use destage_types::{Axis, ByteSize, Picos};
use std::ops::RangeInclusive;
use toml::Value;

/// Longest time a key takes: far beyond any flash operation, and sums stay within 64 bits.
const LONGEST: Picos = Picos(1_000_000_000_000_000);

/// Reads keys. After a fault a harmless value is returned, and the result is thrown away.
pub(super) struct Reading<'a> {
    entries: &'a [Option<Entry>],
    faults: &'a mut Vec<Fault>,
}

impl<'a> Reading<'a> {
    pub fn new(layers: &'a mut Layers) -> Reading<'a> {
        Reading {
            entries: &layers.entries,
            faults: &mut layers.faults,
        }
    }

    /// Number of faults so far.
    pub fn faults(&self) -> usize {
        self.faults.len()
    }

    pub fn entry(&self, key: &str) -> &'a Entry {
        let entry = self.entries[position(key)].as_ref();
        entry.expect("the default preset names every key but those asked for with `is_given`")
    }

    pub fn is_given(&self, key: &str) -> bool {
        self.entries[position(key)].is_some()
    }

    pub fn fault(&mut self, key: &str, reason: Reason) {
        let top = key
            .split('.')
            .next()
            .expect("split gives one part at least");
        let entry = self.entry(top);
        self.faults.push(Fault {
            key: key.to_owned(),
            value: entry.value.to_string(),
            origin: entry.origin.clone(),
            reason,
        });
    }

    pub fn impossible(&mut self, key: &str, why: String) {
        self.fault(key, Reason::Impossible(why));
    }

    fn wrong_type(&mut self, key: &str, expected: impl Into<String>) {
        self.fault(
            key,
            Reason::Type {
                expected: expected.into(),
            },
        );
    }

    pub fn text(&mut self, key: &str) -> String {
        match &self.entry(key).value {
            Value::String(text) if !text.trim().is_empty() => text.clone(),
            _ => {
                self.wrong_type(key, "a text that is not empty");
                String::new()
            }
        }
    }

    pub fn count(&mut self, key: &str, allowed: RangeInclusive<u32>) -> u32 {
        let (low, high) = (*allowed.start(), *allowed.end());
        match &self.entry(key).value {
            Value::Integer(n) => match u32::try_from(*n) {
                Ok(n) if allowed.contains(&n) => return n,
                _ => self.fault(
                    key,
                    Reason::Range {
                        allowed: format!("{low} to {high}"),
                    },
                ),
            },
            Value::String(text) if ByteSize::parse(text).is_ok() => {
                let ByteSize(bytes) = ByteSize::parse(text).unwrap_or_default();
                self.wrong_type(key, format!("an integer without unit, here {bytes},"));
            }
            _ => self.wrong_type(key, format!("an integer, {low} to {high},")),
        }
        low
    }

    pub fn time(&mut self, key: &str) -> Picos {
        self.time_value(key, &self.entry(key).value)
    }

    /// As [`Reading::time`], for a value inside a table.
    pub fn time_value(&mut self, key: &str, value: &Value) -> Picos {
        let parsed = match value {
            Value::String(text) => Picos::parse(text),
            // A bare number: the parser of times says what is missing.
            number @ (Value::Integer(_) | Value::Float(_)) => Picos::parse(&number.to_string()),
            _ => {
                self.wrong_type(key, "a time such as \"25us\"");
                return Picos::default();
            }
        };
        match parsed {
            Ok(time) if time <= LONGEST => return time,
            Ok(_) => self.fault(
                key,
                Reason::Range {
                    allowed: format!("0 to {LONGEST}"),
                },
            ),
            Err(error) => self.fault(key, Reason::Unit(error)),
        }
        Picos::default()
    }

    pub fn energy(&mut self, key: &str) -> Energy {
        let text = match &self.entry(key).value {
            Value::String(text) => text.clone(),
            number @ (Value::Integer(_) | Value::Float(_)) => number.to_string(),
            _ => {
                self.wrong_type(key, "an energy such as \"40uJ\"");
                return Energy::default();
            }
        };
        Energy::parse(&text).unwrap_or_else(|why| {
            self.impossible(key, why);
            Energy::default()
        })
    }

    pub fn size(&mut self, key: &str) -> ByteSize {
        self.size_value(key, &self.entry(key).value)
    }

    /// As [`Reading::size`], for a value inside a table.
    pub fn size_value(&mut self, key: &str, value: &Value) -> ByteSize {
        let parsed = match value {
            Value::String(text) => ByteSize::parse(text),
            Value::Integer(n) => ByteSize::parse(&n.to_string()),
            _ => {
                self.wrong_type(key, "a size such as \"16MiB\"");
                return ByteSize::default();
            }
        };
        parsed.unwrap_or_else(|error| {
            self.fault(key, Reason::Unit(error));
            ByteSize::default()
        })
    }

    pub fn ratio(&mut self, key: &str, allowed: RangeInclusive<Ratio>) -> Ratio {
        self.ratio_value(key, &self.entry(key).value, allowed)
    }

    /// As [`Reading::ratio`], for a value inside a table.
    pub fn ratio_value(
        &mut self,
        key: &str,
        value: &Value,
        allowed: RangeInclusive<Ratio>,
    ) -> Ratio {
        let number = match value {
            Value::Integer(n) => *n as f64,
            Value::Float(x) => *x,
            _ => {
                self.wrong_type(key, "a number such as 0.1");
                return *allowed.start();
            }
        };
        match Ratio::from_f64(number) {
            Some(ratio) if allowed.contains(&ratio) => ratio,
            _ => {
                let range = format!(
                    "{} to {}, nine decimals at most",
                    allowed.start(),
                    allowed.end()
                );
                self.fault(key, Reason::Range { allowed: range });
                *allowed.start()
            }
        }
    }

    pub fn word<W: Word>(&mut self, key: &str) -> W {
        let word = match &self.entry(key).value {
            Value::String(word) => word.as_str(),
            // `off` = false.
            Value::Boolean(false) => "off",
            Value::Boolean(true) => "on",
            _ => {
                self.wrong_type(key, format!("one of the words {}", words::<W>()));
                return W::WORDS[0].1;
            }
        };
        self.word_value(key, word)
    }

    fn word_value<W: Word>(&mut self, key: &str, word: &str) -> W {
        if let Some((_, value)) = W::WORDS.iter().find(|(known, _)| *known == word) {
            return *value;
        }
        let number = word.starts_with(|c: char| c.is_ascii_digit());
        let later = |&known: &&str| known == word || (number && known == NUMBER);
        let reason = match W::LATER.iter().any(later) {
            true => Reason::NotAvailable {
                available: words::<W>(),
            },
            false => Reason::Word {
                nearest: nearest(word, W::WORDS.iter().map(|(known, _)| *known)),
                allowed: words::<W>(),
            },
        };
        self.fault(key, reason);
        W::WORDS[0].1
    }

    pub fn flag(&mut self, key: &str) -> bool {
        self.flag_value(key, &self.entry(key).value)
    }

    /// As [`Reading::flag`], for a value inside a table.
    pub fn flag_value(&mut self, key: &str, value: &Value) -> bool {
        match value {
            Value::Boolean(flag) => return *flag,
            Value::String(word) => match word.as_str() {
                "on" => return true,
                "off" => return false,
                _ => (),
            },
            _ => (),
        }
        self.wrong_type(key, "true or false (or \"on\" or \"off\")");
        false
    }

    pub fn axes(&mut self, key: &str) -> [Axis; 4] {
        let mut given: Vec<String> = Vec::new();
        match &self.entry(key).value {
            Value::Array(items) => {
                given.extend(items.iter().filter_map(Value::as_str).map(str::to_owned));
                if given.len() < items.len() {
                    given.clear();
                }
            }
            Value::String(text) => {
                let inner = text.trim_start_matches('[').trim_end_matches(']');
                given.extend(inner.split(',').map(|axis| axis.trim().to_owned()));
            }
            _ => (),
        }
        let usual = [Axis::Channel, Axis::Chip, Axis::Die, Axis::Plane];
        let known = |word: &String| Axis::WORDS.iter().find(|(axis, _)| axis == word);
        let axes: Vec<Axis> = given
            .iter()
            .filter_map(known)
            .map(|(_, axis)| *axis)
            .collect();
        let complete = usual.iter().all(|axis| axes.contains(axis));
        match <[Axis; 4]>::try_from(axes) {
            Ok(axes) if complete && given.len() == 4 => axes,
            _ => {
                let example = "[\"channel\", \"chip\", \"die\", \"plane\"] in any order";
                self.wrong_type(key, example);
                usual
            }
        }
    }
}

/// The words of a key, for messages.
fn words<W: Word>() -> String {
    W::WORDS
        .iter()
        .map(|(word, _)| *word)
        .collect::<Vec<_>>()
        .join(", ")
}
