//! Parameters of schemes: type, range, default, unit and source of each.

use destage_types::{Nanos, PageSize};

/// Type and range of a parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// A whole number from `min` to `max`, both allowed.
    Integer {
        /// Smallest value.
        min: u64,
        /// Largest value.
        max: u64,
    },
    /// A whole number of events, or a time with its unit; both at least `min` (events or ns).
    IntegerOrTime {
        /// Smallest value.
        min: u64,
    },
    /// A real number.
    Real(Range),
    /// A size with a unit of bytes (`k`, `m`, `g`) or in pages (`p`), not 0.
    Size,
    /// A time with its unit (`ns`, `us`, `ms`), a whole number of nanoseconds.
    Time,
    /// `true` or `false`.
    Bool,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of real numbers, each in the range.
    Reals(Range),
}

/// An interval of real numbers; each end belongs to it or not.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    /// Lower end.
    pub min: f64,
    /// Upper end; infinity if there is none.
    pub max: f64,
    /// Whether `min` itself is refused.
    pub min_open: bool,
    /// Whether `max` itself is refused.
    pub max_open: bool,
}

impl Range {
    /// `[0, 1]`.
    pub const UNIT: Range = Range {
        min: 0.0,
        max: 1.0,
        min_open: false,
        max_open: false,
    };
    /// `(0, 1]`.
    pub const UNIT_NOT_ZERO: Range = Range {
        min_open: true,
        ..Range::UNIT
    };
    /// `(0, 1)`.
    pub const UNIT_INSIDE: Range = Range {
        max_open: true,
        ..Range::UNIT_NOT_ZERO
    };
    /// `[0, 1)`.
    pub const UNIT_NOT_ONE: Range = Range {
        max_open: true,
        ..Range::UNIT
    };
    /// `(0, inf)`.
    pub const POSITIVE: Range = Range {
        min: 0.0,
        max: f64::INFINITY,
        min_open: true,
        max_open: true,
    };

    /// Whether `x` lies in the interval.
    pub fn contains(&self, x: f64) -> bool {
        let above = if self.min_open {
            x > self.min
        } else {
            x >= self.min
        };
        let below = if self.max_open {
            x < self.max
        } else {
            x <= self.max
        };
        above && below
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let open = if self.min_open { '(' } else { '[' };
        let close = if self.max_open { ')' } else { ']' };
        write!(f, "{open}{}, {}{close}", self.min, self.max)
    }
}

/// The value a parameter has when it is not given.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum DefaultValue {
    /// A whole number.
    Uint(u64),
    /// A real number.
    Real(f64),
    /// Bytes.
    Bytes(u64),
    /// A time.
    Time(Nanos),
    /// `true` or `false`.
    Bool(bool),
    /// A word.
    Word(&'static str),
    /// Nothing: the feature is off.
    Nothing,
    /// A share of the capacity C in frames: max(`min`, floor(C * `times` / `per`)).
    Frames {
        /// Factor.
        times: u64,
        /// Divisor.
        per: u64,
        /// Least value.
        min: u64,
    },
    /// Depends on another parameter or on the device; the rule in words.
    Computed(&'static str),
    /// `then` if the layer named `layer` is inside, else `otherwise`.
    Inside {
        /// Name of the scheme looked for.
        layer: &'static str,
        /// Value with it.
        then: &'static str,
        /// Value without it.
        otherwise: &'static str,
    },
}

impl DefaultValue {
    /// The default of a parameter counted in frames, for a cache of `capacity` pages.
    pub const fn frames(self, capacity: u64) -> Option<u64> {
        match self {
            DefaultValue::Frames { times, per, min } => {
                let share = (capacity as u128 * times as u128 / per as u128) as u64;
                Some(if share > min { share } else { min })
            }
            _ => None,
        }
    }

    /// The default as an expression would write it, or the rule in words.
    pub fn text(self) -> String {
        match self {
            DefaultValue::Uint(n) => n.to_string(),
            DefaultValue::Real(x) => x.to_string(),
            DefaultValue::Bytes(n) => size_text(n),
            DefaultValue::Time(t) => time_text(t),
            DefaultValue::Bool(b) => b.to_string(),
            DefaultValue::Word(w) => w.to_owned(),
            DefaultValue::Nothing => "none".to_owned(),
            DefaultValue::Frames { times, per, min } => frames_text(times, per, min),
            DefaultValue::Computed(rule) => rule.to_owned(),
            DefaultValue::Inside {
                layer,
                then,
                otherwise,
            } => format!("{then} with {layer} inside, else {otherwise}"),
        }
    }
}

fn size_text(bytes: u64) -> String {
    for (shift, unit) in [(30, "g"), (20, "m"), (10, "k")] {
        if bytes != 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    format!("{bytes} B")
}

fn time_text(t: Nanos) -> String {
    match t.0 % 1000 {
        0 => format!("{}us", t.0 / 1000),
        _ if t.0 < 1000 => format!("{}ns", t.0),
        rest => {
            let fraction = format!("{rest:03}");
            format!("{}.{}us", t.0 / 1000, fraction.trim_end_matches('0'))
        }
    }
}

fn frames_text(times: u64, per: u64, min: u64) -> String {
    let share = match (times, per) {
        (1, 1) => "C".to_owned(),
        (n, 1) => format!("{n}C"),
        (1, d) => format!("C/{d}"),
        (n, d) => format!("{n}C/{d}"),
    };
    match min {
        0 => share,
        min => format!("{share}, at least {min}"),
    }
}

/// One parameter of a scheme.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ParamInfo {
    /// Name inside the scheme's parentheses, with `-` between words.
    pub key: &'static str,
    /// Type and range.
    pub kind: Kind,
    /// A word allowed beside the numbers, such as `inf`.
    pub or_word: Option<&'static str>,
    /// Unit of the number, empty for words.
    pub unit: &'static str,
    /// Value when not given.
    pub default: DefaultValue,
    /// The effect of the parameter.
    pub note: &'static str,
    /// Paper section or decision the default and range come from.
    pub source: &'static str,
}

impl ParamInfo {
    const fn new(kind: Kind, default: DefaultValue) -> ParamInfo {
        ParamInfo {
            key: "",
            kind,
            or_word: None,
            unit: "",
            default,
            note: "",
            source: "",
        }
    }

    /// A whole number of at least `min` (at most 2^32 - 1: tables are indexed with 32 bits).
    pub const fn count(min: u64, default: u64) -> ParamInfo {
        ParamInfo::integer(min, u32::MAX as u64, default)
    }

    /// A whole number in `min..=max`.
    pub const fn integer(min: u64, max: u64, default: u64) -> ParamInfo {
        let kind = Kind::Integer { min, max };
        ParamInfo::new(kind, DefaultValue::Uint(default))
    }

    /// Frames, by default max(`min`, C * `times` / `per`); a given value is at least `min_given`.
    pub const fn frames(min_given: u64, times: u64, per: u64, min: u64) -> ParamInfo {
        let max = u32::MAX as u64;
        let kind = Kind::Integer {
            min: min_given,
            max,
        };
        ParamInfo::new(kind, DefaultValue::Frames { times, per, min })
    }

    /// A real number in `range`.
    pub const fn real(range: Range, default: f64) -> ParamInfo {
        ParamInfo::new(Kind::Real(range), DefaultValue::Real(default))
    }

    /// A size; the default in bytes.
    pub const fn size(default_bytes: u64) -> ParamInfo {
        ParamInfo::new(Kind::Size, DefaultValue::Bytes(default_bytes))
    }

    /// A time; the default in nanoseconds.
    pub const fn time(default_ns: u64) -> ParamInfo {
        ParamInfo::new(Kind::Time, DefaultValue::Time(Nanos(default_ns)))
    }

    /// A switch.
    pub const fn flag(default: bool) -> ParamInfo {
        ParamInfo::new(Kind::Bool, DefaultValue::Bool(default))
    }

    /// One of `choices`, the first of which is the default.
    pub const fn word(choices: &'static [&'static str]) -> ParamInfo {
        ParamInfo::new(Kind::Word(choices), DefaultValue::Word(choices[0]))
    }

    /// A list of numbers, absent by default.
    pub const fn reals(range: Range) -> ParamInfo {
        ParamInfo::new(Kind::Reals(range), DefaultValue::Nothing)
    }

    /// The same parameter with another type.
    pub const fn kind(self, kind: Kind) -> ParamInfo {
        ParamInfo { kind, ..self }
    }

    /// The same parameter with another default.
    pub const fn default(self, default: DefaultValue) -> ParamInfo {
        ParamInfo { default, ..self }
    }

    /// The same parameter, allowing one word beside the numbers.
    pub const fn or_word(self, word: &'static str) -> ParamInfo {
        ParamInfo {
            or_word: Some(word),
            ..self
        }
    }

    /// The same parameter with the unit of its number.
    pub const fn unit(self, unit: &'static str) -> ParamInfo {
        ParamInfo { unit, ..self }
    }

    /// The same parameter with the paper section or decision it comes from.
    pub const fn source(self, source: &'static str) -> ParamInfo {
        ParamInfo { source, ..self }
    }

    /// The same parameter with its name and what it does.
    #[doc(hidden)]
    pub const fn named(self, key: &'static str, note: &'static str) -> ParamInfo {
        ParamInfo { key, note, ..self }
    }

    /// [`ParamInfo::range`] for those who were refused: with the most that 32 bits hold, which
    /// listings leave out.
    pub fn exact_range(&self) -> String {
        match self.kind {
            Kind::Integer { min, max } => {
                let open = format!("{min} or more");
                self.range().replace(&open, &format!("{min} to {max}"))
            }
            _ => self.range(),
        }
    }

    /// The allowed values in words: `1 or more`, `(0, 1]`, `ge or gt`.
    pub fn range(&self) -> String {
        let most = u64::from(u32::MAX);
        let numbers = match self.kind {
            Kind::Integer { min, max } if max >= most => format!("integer, {min} or more"),
            Kind::Integer { min, max } => format!("integer, {min} to {max}"),
            Kind::IntegerOrTime { min } => {
                format!("integer, {min} or more, or a time (ns, us, ms)")
            }
            Kind::Real(range) => format!("number in {range}"),
            Kind::Size => "size above 0 with a unit (k, m, g, or p for pages)".to_owned(),
            Kind::Time => "time with a unit (ns, us, ms)".to_owned(),
            Kind::Bool => "true or false".to_owned(),
            Kind::Word(choices) => choices.join(", "),
            Kind::Reals(range) => format!("list [a,b,...] of numbers in {range}"),
        };
        match self.or_word {
            Some(word) => format!("{numbers}, or {word}"),
            None => numbers,
        }
    }
}

/// A size given in bytes or in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// Bytes.
    Bytes(u64),
    /// Pages of the cache.
    Pages(u64),
}

impl Size {
    /// The size in bytes, at most 2^64 - 1.
    pub const fn bytes(self, page: PageSize) -> u64 {
        match self {
            Size::Bytes(n) => n,
            Size::Pages(n) => n.saturating_mul(page.bytes()),
        }
    }
}
