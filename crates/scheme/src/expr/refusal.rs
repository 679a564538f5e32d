//! Why an expression was refused, or what a run should be warned of.

use std::fmt;

/// The rule that was broken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Code {
    /// X0: the text does not match the grammar.
    Syntax,
    /// X1: layers nest as mapping, background, admission, classifier, victim filter, policy.
    RoleOrder,
    /// X2: one scheme per role.
    Duplicate,
    /// X4: no layer stands over `none`. There is no rule of number 3.
    NoCache = 4,
    /// X5: belady cannot stand inside a layer or run online.
    Offline,
    /// X6: a scheme below `cac` cannot rename.
    Ghost,
    /// X7: victim choice by chip needs static allocation.
    Dynamic,
    /// X8: clean-first without clean pages (warning).
    Read,
    /// X9: the cache is too small.
    Limit,
    /// X10: unknown parameter or value out of range.
    Param,
    /// X11: too many inner schemes, or arguments to an alias.
    Arity,
    /// X12: `awb` without a classifier has no large sequential data.
    Awb,
    /// X13: padding needs the single-block placement.
    Ftl,
    /// X14: no such scheme.
    Unknown,
    /// X15: no candidate order where one is needed.
    Candidates,
    /// X16: read allocation on a write buffer.
    ReadAlloc,
}

impl Code {
    /// Number of the rule, 0 to 16.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Name of the rule.
    pub const fn name(self) -> &'static str {
        match self {
            Code::Syntax => "SYNTAX",
            Code::RoleOrder => "ROLE_ORDER",
            Code::Duplicate => "DUPLICATE",
            Code::NoCache => "NO_CACHE",
            Code::Offline => "OFFLINE",
            Code::Ghost => "GHOST",
            Code::Dynamic => "DYNAMIC",
            Code::Read => "READ",
            Code::Limit => "LIMIT",
            Code::Param => "PARAM",
            Code::Arity => "ARITY",
            Code::Awb => "AWB",
            Code::Ftl => "FTL",
            Code::Unknown => "UNKNOWN",
            Code::Candidates => "CANDIDATES",
            Code::ReadAlloc => "READ_ALLOC",
        }
    }
}

impl fmt::Display for Code {
    /// `X10 PARAM`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "X{} {}", self.number(), self.name())
    }
}

/// A refused expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The rule.
    pub code: Code,
    /// The expression as it was given (very long ones cut).
    pub expr: String,
    /// The fault, and a right form.
    pub reason: String,
}

/// Characters of an expression, or of a piece of one, that a message repeats.
const SHOWN: usize = 200;

impl Refusal {
    /// A refusal of `expr`.
    pub fn new(code: Code, expr: &str, reason: impl Into<String>) -> Refusal {
        Refusal {
            code,
            expr: shorten(expr.trim()),
            reason: reason.into(),
        }
    }
}

/// `text`, cut so that a message stays readable.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { code, expr, reason } = self;
        write!(f, "cannot compose {expr}: {reason} ({code})")
    }
}

impl std::error::Error for Refusal {}

/// Something a run should say before it starts; the run is allowed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// The rule, if it has a number.
    pub code: Option<Code>,
    /// The setting that will have no effect, or behave like another one.
    pub reason: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "{} ({code})", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}
