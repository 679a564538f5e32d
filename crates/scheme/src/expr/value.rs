//! Values: a written value becomes a typed one, checked against its parameter's range, and is
//! printed in one spelling however it was written.

use std::fmt;

use destage_types::Nanos;

use super::parse::RawValue;
use super::refusal::shorten;
use crate::info::{Kind, ParamInfo, Range, Size};

/// A value of the type its parameter asks for.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    /// Whole number.
    Uint(u64),
    /// Real number.
    Real(f64),
    /// Bytes or pages.
    Size(Size),
    /// Time.
    Time(Nanos),
    /// Switch.
    Bool(bool),
    /// Word, as declared.
    Word(&'static str),
    /// Numbers.
    Reals(Vec<f64>),
}

impl fmt::Display for Value {
    /// The canonical form, which reads back as the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Uint(n) => write!(f, "{n}"),
            // `4`, but `[1.0,0.5]`: as the worked examples have them.
            Value::Real(x) => f.write_str(format!("{x:?}").trim_end_matches(".0")),
            Value::Size(Size::Pages(n)) => write!(f, "{n}p"),
            Value::Size(Size::Bytes(n)) => {
                let units = [(30, "g"), (20, "m"), (10, "k")];
                let whole = units.iter().find(|u| n.is_multiple_of(1 << u.0));
                let (shift, unit) = whole.expect("no unit is below k");
                write!(f, "{}{unit}", n >> shift)
            }
            Value::Time(time) => {
                let units = [(1_000_000, "ms"), (1_000, "us")];
                match units.iter().find(|u| time.0 >= u.0) {
                    Some((ns, unit)) => {
                        let digits = ns.ilog10() as usize;
                        let fraction = format!("{:0digits$}", time.0 % ns);
                        let fraction = match fraction.trim_end_matches('0') {
                            "" => String::new(),
                            rest => format!(".{rest}"),
                        };
                        write!(f, "{}{fraction}{unit}", time.0 / ns)
                    }
                    None => write!(f, "{}ns", time.0),
                }
            }
            Value::Bool(b) => write!(f, "{b}"),
            Value::Word(word) => f.write_str(word),
            Value::Reals(numbers) => {
                let texts: Vec<String> = numbers.iter().map(|x| format!("{x:?}")).collect();
                write!(f, "[{}]", texts.join(","))
            }
        }
    }
}

/// The value as it was written.
fn text(raw: &RawValue) -> String {
    match raw {
        RawValue::Number(number, unit) => format!("{number}{}", unit.unwrap_or("")),
        RawValue::Word(word) => word.clone(),
        RawValue::List(numbers) => format!("[{}]", numbers.join(",")),
    }
}

/// Types `raw` for `param`.
///
/// # Errors
/// The fault of the value and the allowed values.
pub(super) fn resolve(param: &ParamInfo, raw: &RawValue) -> Result<Value, String> {
    let typed = match (param.kind, raw) {
        (Kind::Word(choices), RawValue::Word(word)) => {
            choose(choices, word).map(Value::Word).ok_or_else(|| {
                let nearest = destage_types::nearest(word, choices.iter().copied());
                format!("nearest is {}", nearest.expect("choices are not empty"))
            })
        }
        (_, RawValue::Word(word)) if param.or_word == Some(word) => {
            Ok(Value::Word(param.or_word.expect("just compared")))
        }
        (Kind::Bool, RawValue::Word(word)) => match word.as_str() {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => Err(String::new()),
        },
        (Kind::Reals(range), RawValue::List(numbers)) => reals(range, numbers),
        (_, RawValue::Number(number, unit)) => numeric(param.kind, number, *unit),
        _ => Err(String::new()),
    };
    typed.map_err(|why| {
        let why = if why.is_empty() {
            why
        } else {
            format!(" ({why})")
        };
        let (value, allowed) = (shorten(&text(raw)), param.exact_range());
        format!(
            "out of range: {}={value}{why}; allowed: {allowed}",
            param.key
        )
    })
}

fn choose(choices: &'static [&'static str], word: &str) -> Option<&'static str> {
    choices.iter().copied().find(|c| *c == word)
}

fn numeric(kind: Kind, number: &str, unit: Option<&str>) -> Result<Value, String> {
    match (kind, unit) {
        (Kind::Size, None) => Err("a size needs a unit".to_owned()),
        (Kind::Size, Some(unit)) => size(number, unit).map(Value::Size),
        (Kind::Time, None) => Err("a time needs a unit".to_owned()),
        (Kind::Time, Some(unit)) => time(number, unit).map(Value::Time),
        (Kind::IntegerOrTime { min }, Some(unit)) => match time(number, unit)? {
            t if t.0 >= min => Ok(Value::Time(t)),
            _ => Err(String::new()),
        },
        (Kind::IntegerOrTime { min }, None) => integer(number, min, u64::MAX),
        (Kind::Integer { min, max }, None) => integer(number, min, max),
        (Kind::Real(range), None) => real(range, number).map(Value::Real),
        (Kind::Integer { .. } | Kind::Real(_), Some(unit)) => {
            Err(format!("a plain number, not {unit}"))
        }
        (Kind::Bool | Kind::Word(_) | Kind::Reals(_), _) => Err(String::new()),
    }
}

fn whole(number: &str) -> Result<u64, String> {
    if number.bytes().all(|b| b.is_ascii_digit()) {
        number.parse().map_err(|_| "more than 2^64".to_owned())
    } else {
        Err("not a whole number of 0 or more".to_owned())
    }
}

fn integer(number: &str, min: u64, max: u64) -> Result<Value, String> {
    match whole(number)? {
        n if (min..=max).contains(&n) => Ok(Value::Uint(n)),
        _ => Err(String::new()),
    }
}

fn real(range: Range, number: &str) -> Result<f64, String> {
    let x: f64 = number.parse().map_err(|_| "not a number".to_owned())?;
    if x.is_finite() && range.contains(x) {
        // -0.0 becomes 0.0
        Ok(x + 0.0)
    } else {
        Err(String::new())
    }
}

fn reals(range: Range, numbers: &[String]) -> Result<Value, String> {
    let most = 64;
    if numbers.len() > most {
        return Err(format!("more than {most} numbers"));
    }
    let all: Result<Vec<f64>, String> = numbers.iter().map(|n| real(range, n)).collect();
    all.map(Value::Reals)
}

fn size(number: &str, unit: &str) -> Result<Size, String> {
    let n = whole(number)?;
    let shift = match unit {
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "p" if n > 0 => return Ok(Size::Pages(n)),
        "p" => return Err(String::new()),
        _ => return Err("not a unit of size".to_owned()),
    };
    match n.checked_mul(1 << shift) {
        None => Err("more than 2^64 bytes".to_owned()),
        Some(0) => Err(String::new()),
        Some(bytes) => Ok(Size::Bytes(bytes)),
    }
}

fn time(number: &str, unit: &str) -> Result<Nanos, String> {
    let digits: usize = match unit {
        "ns" => 0,
        "us" => 3,
        "ms" => 6,
        _ => return Err("not a unit of time".to_owned()),
    };
    let (before, after) = number.split_once('.').unwrap_or((number, ""));
    let after = after.trim_end_matches('0');
    if after.len() > digits {
        return Err("not a whole number of nanoseconds".to_owned());
    }
    whole(&format!("{before}{after:0<digits$}")).map(Nanos)
}
