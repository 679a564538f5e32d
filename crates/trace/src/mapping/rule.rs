//! One column of a mapping: where a value of a request is, its unit, its words.

use std::fmt;

use super::ColumnRole;
use super::date::DateOrder;
use crate::text::spelling::{EventKind, letters_kind, word_kind};
use crate::time_unit::TimeUnit;

/// A column by its name, or by its number from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum MappedColumn {
    Name(String),
    Number(usize),
}

/// The unit of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ColumnUnit {
    Time(TimeUnit),
    /// Dates with a time of day, or times of day.
    Date(DateOrder),
    Bytes,
    /// 512 B.
    Sectors,
    /// 4 KiB.
    Blocks,
    /// Bytes in hexadecimal digits, with 0x in front or without.
    Hex,
    /// Sectors or blocks, which the numbers tell.
    SomeBlocks,
}

const DATES: [(ColumnUnit, &str); 3] = [
    (ColumnUnit::Date(DateOrder::Year), "date"),
    (ColumnUnit::Date(DateOrder::Month), "date-mdy"),
    (ColumnUnit::Date(DateOrder::Day), "date-dmy"),
];
const SIZES: [(ColumnUnit, &str); 4] = [
    (ColumnUnit::Bytes, "bytes"),
    (ColumnUnit::Sectors, "sectors"),
    (ColumnUnit::Blocks, "blocks"),
    (ColumnUnit::Hex, "hex"),
];

impl ColumnUnit {
    /// Bytes of one unit of addresses and sizes.
    pub fn bytes(self) -> u64 {
        match self {
            ColumnUnit::Sectors | ColumnUnit::SomeBlocks => 512,
            ColumnUnit::Blocks => 4_096,
            _ => 1,
        }
    }

    fn parse(role: ColumnRole, text: &str) -> Result<ColumnUnit, String> {
        let is_time = role == ColumnRole::Time;
        let names = if is_time { &DATES[..] } else { &SIZES };
        if let Some((unit, _)) = names.iter().find(|row| row.1 == text) {
            return Ok(*unit);
        }
        if is_time {
            let unit = text.parse().map(ColumnUnit::Time);
            return unit.map_err(|why| why + ", date, date-mdy, date-dmy");
        }
        const NONE: &str = "is none of the units bytes, sectors, blocks (4 KiB), hex";
        Err(format!("`{text}` {NONE}"))
    }
}

impl fmt::Display for ColumnUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = match self {
            ColumnUnit::SomeBlocks => &ColumnUnit::Sectors,
            unit => unit,
        };
        let named = DATES.iter().chain(&SIZES).find(|row| row.0 == *known);
        match (self, named) {
            (ColumnUnit::Time(unit), _) => unit.fmt(f),
            (_, named) => f.write_str(named.map_or("", |row| row.1)),
        }
    }
}

/// What a column of sizes tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Until {
    #[default]
    Size,
    /// The first byte, sector or block behind the request.
    End,
    /// The last one of the request.
    Last,
    /// One of the two, which the numbers tell.
    Open,
}

/// Where a value of a request is: `COLUMN%N*N+N:UNIT`, or `=VALUE` for all rows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Rule {
    /// One column; for volumes and times any number of them; none for a constant.
    pub columns: Vec<MappedColumn>,
    pub constant: Option<String>,
    /// Numbers are taken modulo this, times that, plus the last.
    pub modulo: Option<u64>,
    pub factor: u64,
    pub plus: u64,
    pub unit: Option<ColumnUnit>,
    pub until: Until,
    /// Words of kinds; `None` for rows that are no request; `*` is any other word.
    pub words: Vec<(String, Option<EventKind>)>,
}

impl Rule {
    /// A column as it is.
    pub fn of(column: MappedColumn) -> Rule {
        Rule {
            columns: vec![column],
            factor: 1,
            ..Rule::default()
        }
    }

    pub fn parse(role: ColumnRole, text: &str) -> Result<Rule, String> {
        let text = text.trim();
        let mut rule = Rule {
            factor: 1,
            ..Rule::default()
        };
        let (column, rest) = match outside(text, ':') {
            Some(at) => (&text[..at], Some(&text[at + 1..])),
            None => (text, None),
        };
        if let Some(constant) = column.strip_prefix('=') {
            rule.constant = Some(unquoted(constant)?);
        } else {
            let column = rule.take_arithmetic(column)?;
            rule.columns = columns(column)?;
        }
        if rule.columns.len() > 1 && !matches!(role, ColumnRole::Volume | ColumnRole::Time) {
            return Err("only time= and volume= join columns by &".to_owned());
        }
        match (role, rest) {
            (_, None) => {}
            (ColumnRole::Op, Some(words)) => {
                for word in split(words, ',') {
                    rule.words.push(parse_word(word)?);
                }
            }
            (ColumnRole::Volume | ColumnRole::Fua | ColumnRole::Preflush, Some(unit)) => {
                return Err(format!("{} has no unit `{unit}`", role.key()));
            }
            (_, Some(unit)) => rule.unit = Some(ColumnUnit::parse(role, unit.trim())?),
        }
        Ok(rule)
    }

    /// Takes `%N`, `*N` and `+N` off the end of a column.
    fn take_arithmetic<'a>(&mut self, mut column: &'a str) -> Result<&'a str, String> {
        for sign in ['+', '*', '%'] {
            let Some((rest, n)) = column.rsplit_once(sign) else {
                continue;
            };
            let (rest, Ok(n)) = (rest.trim_end(), n.trim().parse::<u64>()) else {
                continue;
            };
            if rest.is_empty() {
                continue;
            }
            column = rest;
            match sign {
                '+' => self.plus = n,
                _ if n == 0 => return Err(format!("`{sign}0`: zero is no factor")),
                '*' => self.factor = n,
                _ => self.modulo = Some(n),
            }
        }
        Ok(column)
    }

    /// Is a number of the column a value as it is, but for the unit?
    pub fn is_plain(&self) -> bool {
        (self.modulo, self.factor, self.plus) == (None, 1, 0)
    }

    /// The value of a number of the column, without its unit.
    pub fn compute(&self, number: u128) -> Option<u128> {
        let modulo = self.modulo.map_or(u128::MAX, u128::from);
        let product = (number % modulo).checked_mul(self.factor.into())?;
        product.checked_add(self.plus.into())
    }

    /// Bytes of one unit of addresses or sizes.
    pub fn bytes(&self) -> u64 {
        self.unit.map_or(1, ColumnUnit::bytes)
    }

    /// Bytes of a number of the column.
    pub fn to_bytes(&self, number: u64) -> Result<u64, &'static str> {
        if self.is_plain() && self.unit.is_none() {
            return Ok(number);
        }
        let number = self.compute(number.into());
        let bytes = number.and_then(|n| n.checked_mul(self.bytes().into()));
        let bytes = bytes.and_then(|n| u64::try_from(n).ok());
        bytes.ok_or("does not fit 64 bits of bytes")
    }

    /// Bytes of one number of the column, where fractions of it may be whole bytes.
    pub fn scale(&self) -> Option<u64> {
        let scale = self.factor.checked_mul(self.bytes())?;
        (self.modulo.is_none() && self.plus == 0 && scale > 1).then_some(scale)
    }

    /// The size of a request at byte `start` of which the column tells `bytes`.
    pub fn size(&self, start: u64, bytes: u64) -> Result<u64, &'static str> {
        let end = match self.until {
            Until::Size => return Ok(bytes),
            Until::End | Until::Open => Some(bytes),
            Until::Last => bytes.checked_add(self.factor * self.bytes()),
        };
        let size = end.and_then(|end| end.checked_sub(start));
        size.ok_or("is before the address")
    }

    /// The kind of request of a word: `Some(None)` for rows that are none.
    pub fn kind(&self, text: &[u8], number: Option<u64>) -> Option<Option<EventKind>> {
        let find = |wanted: &[u8]| {
            let row = self.words.iter().find(|row| row.0.as_bytes() == wanted);
            row.map(|row| row.1)
        };
        let number = || find(self.compute(number?.into())?.to_string().as_bytes());
        let letters = || letters_kind(text).map(|kind| Some(kind).filter(EventKind::is_request));
        // A list of words for all kinds excludes no usual one.
        find(text)
            .or_else(number)
            .or_else(|| word_kind(text).map(Some))
            .or_else(|| find(b"*"))
            .or_else(letters)
    }
}

/// Where a character is that stands outside of quotes, which begin where a name may.
fn outside(text: &str, wanted: char) -> Option<usize> {
    let mut quote = None;
    let mut before = wanted;
    for (at, c) in text.char_indices() {
        match (c, quote) {
            ('"' | '\'', None) if ",=:&\"'".contains(before) => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            (_, None) if c == wanted => return Some(at),
            _ => {}
        }
        if c != ' ' {
            before = c;
        }
    }
    None
}

/// The parts of a text between characters outside of quotes.
pub(super) fn split(text: &str, between: char) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some(at) = outside(rest, between) {
        parts.push(&rest[..at]);
        rest = &rest[at + 1..];
    }
    parts.push(rest);
    parts
}

fn columns(text: &str) -> Result<Vec<MappedColumn>, String> {
    let column = |text: &str| match text.trim().parse() {
        Ok(0) => Err("columns count from 1".to_owned()),
        Ok(number) => Ok(MappedColumn::Number(number)),
        Err(_) => unquoted(text).map(MappedColumn::Name),
    };
    split(text, '&').into_iter().map(column).collect()
}

fn parse_word(text: &str) -> Result<(String, Option<EventKind>), String> {
    const ALLOWED: &str = "WORD=R, WORD=W, WORD=T (trim), WORD=F (flush), WORD=WF (FUA), WORD=FW (preflush), WORD=- (no \
                           request)";
    let parts = text.rsplit_once('=');
    let (word, means) = parts.ok_or_else(|| format!("`{text}`: allowed: {ALLOWED}"))?;
    let means = means.trim();
    let kind = word_kind(means.as_bytes()).or_else(|| letters_kind(means.as_bytes()));
    if kind.is_none() && means != "-" {
        return Err(format!("`{means}` is none of R, W, T, F, WF, FW, -"));
    }
    let kind = kind.filter(EventKind::is_request);
    Ok((unquoted(word.trim())?, kind))
}

/// A text without the quotes around it.
pub(super) fn unquoted(text: &str) -> Result<String, String> {
    let text = text.trim();
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        let name = Some(text.to_owned()).filter(|text| !text.is_empty());
        return name.ok_or_else(|| "a name is empty".to_owned());
    };
    // Quotes inside come in pairs.
    let pair = format!("{quote}{quote}");
    let closed = |inner: &&str| inner.split(&pair).all(|part| !part.contains(quote));
    let inner = text[1..].strip_suffix(quote).filter(closed);
    let inner = inner.ok_or_else(|| format!("`{text}`: the quote is not closed"))?;
    Ok(inner.replace(&pair, &quote.to_string()))
}

/// A text in quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A name, in quotes if it could be taken for something else.
fn name(text: &str) -> String {
    let special =
        |c: char| matches!(c, ',' | ':' | '"' | '\'' | '*' | '+' | '%' | '&') || c.is_control();
    let odd = text.is_empty()
        || text.trim() != text
        || text.contains(special)
        || text.starts_with('=')
        || text.bytes().all(|b| b.is_ascii_digit());
    if odd { quoted(text) } else { text.to_owned() }
}

impl fmt::Display for MappedColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MappedColumn::Name(text) => f.write_str(&name(text)),
            MappedColumn::Number(number) => number.fmt(f),
        }
    }
}

impl Rule {
    /// The calculation with a number of the column: `%N*N+N`.
    pub fn calculation(&self) -> String {
        let modulo = self.modulo.map(|n| format!("%{n}"));
        let factor = (self.factor != 1).then(|| format!("*{}", self.factor));
        let plus = (self.plus != 0).then(|| format!("+{}", self.plus));
        [modulo, factor, plus].into_iter().flatten().collect()
    }

    /// The unit of the column, or its words.
    pub fn meaning(&self) -> String {
        if let Some(unit) = self.unit {
            return unit.to_string();
        }
        let words = self.words.iter().map(|(word, kind)| {
            let letters = kind.map_or("-".to_owned(), EventKind::letters);
            let odd = word.contains([',', ':', '"', '\'', '=']) || word.trim() != word;
            let quotes = odd || word.is_empty();
            let word = if quotes { quoted(word) } else { word.clone() };
            format!("{word}={letters}")
        });
        words.collect::<Vec<String>>().join(",")
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.constant {
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => write!(f, "={digits}")?,
            Some(constant) => write!(f, "={}", name(constant))?,
            None => {
                let columns = self.columns.iter().map(MappedColumn::to_string);
                let columns: Vec<String> = columns.collect();
                f.write_str(&columns.join("&"))?;
            }
        }
        f.write_str(&self.calculation())?;
        match self.meaning() {
            meaning if meaning.is_empty() => Ok(()),
            meaning => write!(f, ":{meaning}"),
        }
    }
}
