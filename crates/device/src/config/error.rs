//! Faults of a device: the key, the value, its origin, and the allowed values.

use super::layers::{MAX_FILE_BYTES, Origin};
use destage_types::{ByteSize, UnitError};
use thiserror::Error;

/// Why a device cannot be loaded.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No preset has this name.
    #[error(
        "unknown device preset `{name}`; did you mean `{nearest}`? `destage presets` says what each is: \
         {known} (a device file ends in `.toml`)"
    )]
    UnknownPreset {
        /// The name given.
        name: String,
        /// The preset for drives of its kind, or else with the nearest name.
        nearest: &'static str,
        /// All presets.
        known: String,
    },
    /// The device file cannot be read.
    #[error("device file `{path}` cannot be read: {reason}")]
    Unreadable {
        /// The path as given.
        path: String,
        /// Message of the operating system.
        reason: String,
    },
    /// The device file is too large to be one.
    #[error(
        "device file `{path}` is larger than {}, the largest that is read",
        ByteSize(MAX_FILE_BYTES)
    )]
    TooLarge {
        /// The path as given.
        path: String,
    },
    /// The device file is not TOML.
    #[error("device file `{path}`, line {line}, column {column}: {reason}")]
    Syntax {
        /// The path as given.
        path: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// Message of the parser.
        reason: String,
    },
    /// Values are wrong: every one of them, in the order of the keys.
    #[error("device `{device}`: {}{}", count(.faults.len()), list(.faults))]
    Faults {
        /// Preset or path as given.
        device: String,
        /// Never empty.
        faults: Vec<DeviceFault>,
    },
}

fn count(n: usize) -> String {
    if n == 1 {
        String::new()
    } else {
        format!("{n} faults")
    }
}

fn list(faults: &[DeviceFault]) -> String {
    match faults {
        [one] => one.to_string(),
        many => many.iter().map(|fault| format!("\n  {fault}")).collect(),
    }
}

/// A value with its place.
fn given(value: &str, origin: Option<&Origin>, line: Option<usize>) -> String {
    let line = line.map_or_else(String::new, |line| format!(", line {line}"));
    match origin {
        Some(origin) => format!(" = {value} ({origin}{line})"),
        None => " (not given)".to_owned(),
    }
}

/// One wrong value.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{key}`{}: {reason}", given(.value, .origin.as_ref(), *.line))]
pub struct DeviceFault {
    /// The key; of a fault between several keys, the first of them.
    pub key: String,
    /// The value as TOML; empty if no layer gives it.
    pub value: String,
    /// Which layer gave it.
    pub origin: Option<Origin>,
    /// The line of the device file that gave it.
    pub line: Option<usize>,
    /// The fault.
    pub reason: Reason,
}

/// The fault of a value.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Reason {
    /// No such key.
    #[error("unknown key; did you mean `{nearest}`?")]
    UnknownKey {
        /// The nearest known key.
        nearest: &'static str,
    },
    /// The key exists but cannot be given there.
    #[error("{0}")]
    NotHere(&'static str),
    /// Another type is expected.
    #[error("wrong type: {expected} is expected")]
    Type {
        /// The expected type, with an example.
        expected: String,
    },
    /// A size or time that cannot be read.
    #[error("{0}")]
    Unit(UnitError),
    /// A number outside its range.
    #[error("out of range; allowed: {allowed}")]
    Range {
        /// The allowed range.
        allowed: String,
    },
    /// A word that the key does not know.
    #[error("unknown value; did you mean `{nearest}`? allowed: {allowed}")]
    Word {
        /// The nearest allowed word.
        nearest: &'static str,
        /// All allowed words.
        allowed: String,
    },
    /// A feature that is not available.
    #[error("not available yet; available: {available}")]
    NotAvailable {
        /// Values that are available instead.
        available: String,
    },
    /// The same option gives the key again.
    #[error("it is given twice; leave out one of them")]
    Twice,
    /// The value does not go together with others.
    #[error("{0}")]
    Impossible(String),
    /// Not of the form `key=value`.
    #[error("a setting has the form `key=value`, such as `t_read=25us`")]
    NotASetting,
}
