//! Text to syntax tree. Nothing is known here of schemes and their parameters.
//!
//! ```text
//! scheme  = name [ "(" arg { "," arg } ")" ]
//! arg     = scheme | key "=" value
//! name    = (letter | digit) { letter | digit | "-" | "_" | "+" }
//! key     = name { "." name }
//! value   = number [unit] | word | "[" number {"," number} "]"
//! ```
//!
//! Case is ignored, `_` is `-`, white space is free between tokens. The tree lies flat in a vector
//! and open parentheses on an explicit stack, so that depth is bounded by memory and not by the
//! thread's stack.

use super::number;
use super::refusal::shorten;

/// One scheme of the tree, as written.
#[derive(Default, Debug)]
pub(super) struct RawLayer {
    /// Name, lower case, `-` for `_`.
    pub name: String,
    /// Scheme arguments: indices of their layers.
    pub inner: Vec<usize>,
    /// `key=value` arguments.
    pub params: Vec<RawParam>,
}

/// One `key=value`.
#[derive(Debug)]
pub(super) struct RawParam {
    /// Key with its prefixes, lower case, `-` for `_`.
    pub key: String,
    /// Value.
    pub value: RawValue,
}

/// A value before its parameter gives it a type.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum RawValue {
    /// Number as written, canonical unit.
    Number(String, Option<&'static str>),
    /// Word.
    Word(String),
    /// Numbers as written.
    List(Vec<String>),
}

/// Spellings of units and the canonical one of each.
const UNITS: &[(&str, &str)] = &[
    ("k", "k"),
    ("m", "m"),
    ("g", "g"),
    ("kib", "k"),
    ("mib", "m"),
    ("gib", "g"),
    ("us", "us"),
    ("ms", "ms"),
    ("ns", "ns"),
    ("p", "p"),
];

/// The part that the parser has just read.
enum State {
    /// An opening parenthesis or a comma: an argument must follow.
    Argument,
    /// The name of this layer: parentheses may follow.
    Name(usize),
    /// A complete argument.
    Done,
}

/// The layers of `text`; index 0 is the outermost one.
///
/// # Errors
/// Position (counted in characters from 1), what was expected there and what was found.
pub(super) fn parse(text: &str) -> Result<Vec<RawLayer>, String> {
    let mut cursor = Cursor { text, at: 0 };
    let mut layers = vec![RawLayer {
        name: cursor.name("the name of a scheme")?,
        ..RawLayer::default()
    }];
    let mut open: Vec<usize> = Vec::new();
    let mut state = State::Name(0);
    loop {
        state = match state {
            State::Argument => {
                let layer = *open.last().expect("arguments stand inside parentheses");
                argument(&mut cursor, &mut layers, layer)?
            }
            State::Name(layer) if cursor.take('(') => {
                open.push(layer);
                State::Argument
            }
            State::Name(_) | State::Done => {
                let named = matches!(state, State::Name(_));
                match (open.is_empty(), named) {
                    (true, _) if cursor.at_end() => return Ok(layers),
                    (true, true) => return Err(cursor.expected("`(` or the end")),
                    (true, false) => return Err(cursor.expected("the end")),
                    (false, _) if cursor.take(',') => State::Argument,
                    (false, _) if cursor.take(')') => {
                        open.pop();
                        State::Done
                    }
                    (false, true) => return Err(cursor.expected("`(`, `,` or `)`")),
                    (false, false) => return Err(cursor.expected("`,` or `)`")),
                }
            }
        };
    }
}

/// One argument of `layer`: the name of an inner scheme, or a whole `key=value`.
fn argument(
    cursor: &mut Cursor<'_>,
    layers: &mut Vec<RawLayer>,
    layer: usize,
) -> Result<State, String> {
    let mut key = cursor.name("a scheme or a parameter")?;
    let mut prefixed = false;
    while cursor.take('.') {
        prefixed = true;
        key.push('.');
        key.push_str(&cursor.name("the rest of a parameter's name")?);
    }
    if cursor.take('=') {
        let value = cursor.value()?;
        layers[layer].params.push(RawParam { key, value });
        return Ok(State::Done);
    }
    if prefixed {
        return Err(cursor.expected("`.` or `=`"));
    }
    let index = layers.len();
    layers[layer].inner.push(index);
    layers.push(RawLayer {
        name: key,
        ..RawLayer::default()
    });
    Ok(State::Name(index))
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn at_end(&mut self) -> bool {
        self.skip_space();
        self.rest().is_empty()
    }

    /// Takes `wanted` if it comes next.
    fn take(&mut self, wanted: char) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn expected(&mut self, what: &str) -> String {
        self.skip_space();
        let found = match self.rest().chars().next() {
            Some(c) => format!("`{}`", c.escape_debug()),
            None => "the end".to_owned(),
        };
        format!(
            "at position {}: expected {what}, found {found}",
            self.position()
        )
    }

    fn position(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    /// A name or word in canonical spelling.
    fn name(&mut self, what: &str) -> Result<String, String> {
        self.skip_space();
        if !self.rest().starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return Err(self.expected(what));
        }
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || "-_+".contains(c));
        Ok(name.to_ascii_lowercase().replace('_', "-"))
    }

    fn value(&mut self) -> Result<RawValue, String> {
        if self.take('[') {
            return self.list();
        }
        self.skip_space();
        if self.rest().starts_with(|c: char| c.is_ascii_alphabetic()) {
            return self.name("a value").map(RawValue::Word);
        }
        let number = self.number("a number, a word or `[`")?;
        Ok(RawValue::Number(number, self.unit()?))
    }

    fn list(&mut self) -> Result<RawValue, String> {
        let mut numbers = vec![self.number("a number")?];
        while self.take(',') {
            numbers.push(self.number("a number")?);
        }
        if self.take(']') {
            Ok(RawValue::List(numbers))
        } else {
            Err(self.expected("`,` or `]`"))
        }
    }

    fn number(&mut self, what: &str) -> Result<String, String> {
        self.skip_space();
        let Some(length) = number::length(self.rest()) else {
            return Err(self.expected(what));
        };
        let number = &self.rest()[..length];
        self.at += length;
        Ok(number.to_owned())
    }

    fn unit(&mut self) -> Result<Option<&'static str>, String> {
        self.skip_space();
        let position = self.position();
        let unit = self.take_while(|c| c.is_ascii_alphanumeric());
        if unit.is_empty() {
            return Ok(None);
        }
        let lower = unit.to_ascii_lowercase();
        if let Some(known) = UNITS.iter().find(|u| u.0 == lower) {
            return Ok(Some(known.1));
        }
        let nearest = destage_types::nearest(&lower, UNITS.iter().map(|u| u.0));
        Err(format!(
            "at position {position}: expected a unit (k, m, g, kib, mib, gib, us, ms, ns, p), \
             found `{}`, nearest is `{}`",
            shorten(unit),
            nearest.expect("there are units"),
        ))
    }
}
