//! Reading values of options from text, wherever it comes from.

use crate::options::Takes;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use toml::Value;

/// The form of the values of an option.
#[derive(Clone)]
pub enum TextForm {
    /// Any text.
    Text,
    /// The path of a file or folder.
    Path,
    /// One of these words, each with its meaning.
    Words(Vec<(&'static str, &'static str)>),
}

/// Reads values of one type.
pub trait ReadValue: Send + Sync + 'static {
    /// The type.
    type Value: Clone;

    /// Reads a value.
    ///
    /// # Errors
    /// The fault and the allowed values.
    fn read(&self, text: &OsStr) -> Result<Self::Value, String>;

    /// The text of a value, as records show it.
    fn text(&self, value: &Self::Value) -> String;

    /// The form of values.
    fn form(&self) -> TextForm {
        TextForm::Text
    }
}

fn utf8(text: &OsStr) -> Result<&str, String> {
    text.to_str()
        .ok_or_else(|| format!("{} is not UTF-8", text.display()))
}

/// Reads by `FromStr` and writes by `Display`.
pub struct FromText<T>(PhantomData<fn() -> T>);

impl<T> Default for FromText<T> {
    fn default() -> FromText<T> {
        FromText(PhantomData)
    }
}

impl<T> ReadValue for FromText<T>
where
    T: FromStr<Err: Display> + Display + Clone + 'static,
{
    type Value = T;

    fn read(&self, text: &OsStr) -> Result<T, String> {
        utf8(text)?
            .parse()
            .map_err(|error: T::Err| error.to_string())
    }

    fn text(&self, value: &T) -> String {
        value.to_string()
    }
}

/// A function that reads values.
impl<T, E, F> ReadValue for F
where
    F: Fn(&str) -> Result<T, E> + Send + Sync + 'static,
    T: Clone + Display,
    E: Display,
{
    type Value = T;

    fn read(&self, text: &OsStr) -> Result<T, String> {
        self(utf8(text)?).map_err(|error| error.to_string())
    }

    fn text(&self, value: &T) -> String {
        value.to_string()
    }
}

/// Two functions that read and write values.
pub struct ReadWrite<T, E> {
    read: fn(&str) -> Result<T, E>,
    write: fn(T) -> String,
}

/// Reads by `read` and writes by `write`.
pub fn read_write<T, E>(read: fn(&str) -> Result<T, E>, write: fn(T) -> String) -> ReadWrite<T, E> {
    ReadWrite { read, write }
}

impl<T: Clone + 'static, E: Display + 'static> ReadValue for ReadWrite<T, E> {
    type Value = T;

    fn read(&self, text: &OsStr) -> Result<T, String> {
        (self.read)(utf8(text)?).map_err(|error| error.to_string())
    }

    fn text(&self, value: &T) -> String {
        (self.write)(value.clone())
    }
}

/// Reads a whole number of a range.
pub fn whole<T>(allowed: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: FromStr + PartialOrd + Display + Clone,
{
    move |text| match text.parse() {
        Ok(number) if allowed.contains(&number) => Ok(number),
        _ => Err(format!(
            "allowed: a whole number from {} to {}",
            allowed.start(),
            allowed.end()
        )),
    }
}

/// Reads a number for which `is_allowed` holds, never `nan` or `inf`; `range` says in words what is allowed.
pub fn real(
    is_allowed: fn(f64) -> bool,
    range: &'static str,
) -> impl Fn(&str) -> Result<f64, String> + Clone {
    move |text| match text.parse::<f64>() {
        Ok(number) if number.is_finite() && is_allowed(number) => Ok(number),
        _ => Err(format!("allowed: a number {range}")),
    }
}

/// Reads a share, 0 to 1.
///
/// # Errors
/// The text is no number from 0 to 1.
pub fn share(text: &str) -> Result<f64, String> {
    real(|x| (0.0..=1.0).contains(&x), "from 0 to 1")(text)
}

/// Reads a path, which need not be text.
pub struct PathReader;

impl ReadValue for PathReader {
    type Value = PathBuf;

    fn read(&self, text: &OsStr) -> Result<PathBuf, String> {
        match text.is_empty() {
            true => Err("it is empty; allowed: a path".to_owned()),
            false => Ok(PathBuf::from(text)),
        }
    }

    fn text(&self, value: &PathBuf) -> String {
        value.display().to_string()
    }

    fn form(&self) -> TextForm {
        TextForm::Path
    }
}

/// Words for the values of an option, each with what it means.
pub type OptionWords<T> = [(T, &'static str, &'static str)];

/// Reads one of some words.
pub struct OneOf<T: 'static>(&'static OptionWords<T>);

/// Reads one of `words`.
pub fn one_of<T>(words: &'static OptionWords<T>) -> OneOf<T> {
    OneOf(words)
}

impl<T: Copy + PartialEq + Send + Sync + 'static> ReadValue for OneOf<T> {
    type Value = T;

    fn read(&self, text: &OsStr) -> Result<T, String> {
        let found = self.0.iter().find(|row| text == row.1);
        found.map(|row| row.0).ok_or_else(|| {
            let words: Vec<&str> = self.0.iter().map(|row| row.1).collect();
            format!("allowed: {}", words.join(", "))
        })
    }

    fn text(&self, value: &T) -> String {
        word_of(self.0, *value).to_owned()
    }

    fn form(&self) -> TextForm {
        TextForm::Words(self.0.iter().map(|row| (row.1, row.2)).collect())
    }
}

/// The word for `value`.
pub fn word_of<T: PartialEq>(words: &OptionWords<T>, value: T) -> &'static str {
    let found = words.iter().find(|row| row.0 == value);
    found.expect("every value has a word").1
}

/// Reads a flag.
#[derive(Default)]
pub struct FlagReader;

impl ReadValue for FlagReader {
    type Value = bool;

    fn read(&self, text: &OsStr) -> Result<bool, String> {
        match text.to_str().map(str::parse) {
            Some(Ok(on)) => Ok(on),
            _ => Err("allowed: true, false".to_owned()),
        }
    }

    fn text(&self, on: &bool) -> String {
        on.to_string()
    }
}

/// A field that keeps what was given for an option; `R` reads it.
pub trait OptionField<R> {
    /// How many values it keeps.
    const TAKES: Takes;

    /// Takes the values of `texts`, and says whether it did: a field that has a value keeps it.
    ///
    /// # Errors
    /// A text is no value, or they are too many.
    fn take(&mut self, reader: &R, texts: &[OsString]) -> Result<bool, String>;

    /// The values that were given, as text.
    fn given(&self, reader: &R) -> Option<String>;
}

impl OptionField<FlagReader> for bool {
    const TAKES: Takes = Takes::Flag;

    fn take(&mut self, reader: &FlagReader, texts: &[OsString]) -> Result<bool, String> {
        let mut is_new = false;
        for text in texts {
            is_new = reader.read(text)? && !*self;
            *self |= is_new;
        }
        Ok(is_new)
    }

    fn given(&self, reader: &FlagReader) -> Option<String> {
        self.then(|| reader.text(self))
    }
}

impl<R: ReadValue> OptionField<R> for Option<R::Value> {
    const TAKES: Takes = Takes::One;

    fn take(&mut self, reader: &R, texts: &[OsString]) -> Result<bool, String> {
        match texts {
            [text] if self.is_none() => *self = Some(reader.read(text)?),
            [_, _, ..] if self.is_none() => return Err("one value is expected".to_owned()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn given(&self, reader: &R) -> Option<String> {
        self.as_ref().map(|value| reader.text(value))
    }
}

impl<R: ReadValue> OptionField<R> for Vec<R::Value> {
    const TAKES: Takes = Takes::Many;

    fn take(&mut self, reader: &R, texts: &[OsString]) -> Result<bool, String> {
        let is_new = self.is_empty() && !texts.is_empty();
        for text in texts.iter().filter(|_| is_new) {
            self.push(reader.read(text)?);
        }
        Ok(is_new)
    }

    fn given(&self, reader: &R) -> Option<String> {
        let texts: Vec<String> = self.iter().map(|value| reader.text(value)).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }
}

/// The effect of a field's type on its option.
pub trait FieldType: Sized {
    /// Reads values where no other reader is declared.
    type Reader: Default;
    /// The value of an option that has a default.
    type Value;

    /// The values given, or else those of `unset`, a field that has the default.
    fn value(&self, unset: impl FnOnce() -> Self) -> Self::Value;
}

impl FieldType for bool {
    type Reader = FlagReader;
    type Value = bool;

    fn value(&self, _: impl FnOnce() -> bool) -> bool {
        *self
    }
}

impl<T: Clone> FieldType for Option<T> {
    type Reader = FromText<T>;
    type Value = T;

    fn value(&self, unset: impl FnOnce() -> Self) -> T {
        let value = self.clone().or_else(unset);
        value.expect("a default was read")
    }
}

impl<T: Clone> FieldType for Vec<T> {
    type Reader = FromText<T>;
    type Value = Vec<T>;

    fn value(&self, unset: impl FnOnce() -> Self) -> Vec<T> {
        match self.is_empty() {
            true => unset(),
            false => self.clone(),
        }
    }
}

/// The texts of a value of `key` in a file, or of a list of them.
///
/// # Errors
/// The value is of another type.
pub fn texts(key: &str, value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::String(text) => Ok(vec![text.clone()]),
        Value::Integer(n) => Ok(vec![n.to_string()]),
        Value::Float(x) => Ok(vec![x.to_string()]),
        Value::Array(all) => {
            let texts: Result<Vec<_>, String> = all.iter().map(|v| texts(key, v)).collect();
            Ok(texts?.concat())
        }
        other => Err(format!(
            "{key} = {other}: a text, a number or a list of them is expected"
        )),
    }
}
