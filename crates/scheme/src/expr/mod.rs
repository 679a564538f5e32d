//! Expressions: compositions of schemes with their parameters, such as `cac(awb(prober(lirs)))`.
//!
//! [`Expr::parse`] reads, checks and types an expression; whatever it returns is a legal
//! composition whose parameters are declared and in range. [`check_run`] adds the rules that need
//! the run's configuration. Rules have codes X0 to X16, see [`Code`].

mod catalogue;
mod check;
mod drained;
#[cfg(any(test, feature = "conformance"))]
pub mod fuzz;
mod number;
mod parse;
mod refusal;
mod run;
mod scaled;
mod value;

use std::fmt;

use destage_types::{Nanos, PageSize};

use crate::WriteBackRules;
use crate::info::{
    DefaultValue, MetadataBound, MetadataContext, ParamInfo, Role, SchemeInfo, Size,
};
pub use catalogue::Catalogue;
pub use check::{Broken, Composition};
pub use refusal::{Code, Refusal, Warning};
pub use run::{ReadAlloc, RunContext, RunDevice, check_run};
use value::Value;

/// The scheme of a device with a bounded buffer where nobody names one: what docs/BUFFER.md recommends for every load.
/// Pages that may be written again fill a quarter of the buffer, and three quarters are left for bursts.
pub const DRAINED_LRU: &str = "drain(lru,low=0.25,high=0.25)";

/// A legal composition: one scheme, its given parameters, and the scheme inside it.
///
/// Printing gives the canonical form: lower case, no spaces, the inner scheme first, then the
/// given parameters in alphabetical order, one spelling for each value.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    info: &'static SchemeInfo,
    given: Vec<Given>,
    inner: Option<Box<Expr>>,
    /// Policies that a policy chooses among.
    members: Vec<Expr>,
}

/// A parameter that stands in the expression.
#[derive(Clone, PartialEq, Debug)]
struct Given {
    key: &'static str,
    value: Value,
}

impl Expr {
    /// Reads an expression of schemes of a catalogue, and checks it as far as that is possible without a run.
    ///
    /// # Errors
    /// The first rule that fails, in the order X0; per layer from the outside in X14, X11, X10;
    /// for the whole chain X4, X5, X2 of neighbours, X2 and X1, X15, X12, X6.
    pub fn parse_in(catalogue: &Catalogue<'_>, text: &str) -> Result<Expr, Refusal> {
        let raw = parse::parse(text).map_err(|why| Refusal::new(Code::Syntax, text, why))?;
        let refuse = |(code, why): (Code, String)| Refusal::new(code, text, why);
        let layers = check::layers(&raw, catalogue).map_err(refuse)?;
        check::chain(&layers).map_err(refuse)?;
        let nest = |inner: Option<Expr>, mut layer: Expr| {
            layer.inner = inner.map(Box::new);
            Some(layer)
        };
        let whole = layers.into_iter().rev().fold(None, nest);
        Ok(whole.expect("a parsed expression has at least one layer"))
    }

    /// The declaration of the outermost scheme.
    pub fn scheme(&self) -> &'static SchemeInfo {
        self.info
    }

    /// The scheme inside; every layer has one (`lru` if none was written).
    pub fn inner(&self) -> Option<&Expr> {
        self.inner.as_deref()
    }

    /// The policies that this one chooses among.
    pub fn members(&self) -> &[Expr] {
        &self.members
    }

    /// All layers, outermost first, and the policies that the policy chooses among.
    pub fn schemes(&self) -> impl Iterator<Item = &Expr> {
        self.chain()
            .flat_map(|layer| std::iter::once(layer).chain(&layer.members))
    }

    /// All layers, outermost first, the policy last.
    pub fn chain(&self) -> impl Iterator<Item = &Expr> {
        std::iter::successors(Some(self), |layer| layer.inner())
    }

    /// The most metadata the scheme can come to have; `None`: there is no bound.
    pub fn metadata(&self, context: &MetadataContext) -> Option<MetadataBound> {
        (self.info.metadata)(self, context)
    }

    /// The policy.
    pub fn policy(&self) -> &Expr {
        self.chain().last().unwrap_or(self)
    }

    /// Whether a layer of this name (canonical spelling) occurs.
    pub fn contains(&self, name: &str) -> bool {
        self.schemes().any(|scheme| scheme.info.name == name)
    }

    /// Is there a layer of this role?
    pub fn has_role(&self, role: Role) -> bool {
        self.chain().any(|layer| layer.info.role == role)
    }

    /// When the scheme is asked for write-backs, if a layer, or the policy itself, ever is. No more than one
    /// of them is (X2).
    pub fn write_back_rules(&self) -> Option<WriteBackRules> {
        self.chain().find_map(|layer| layer.info.write_back_rules())
    }

    /// Does a layer, or the policy itself, write pages back?
    pub fn has_background(&self) -> bool {
        self.write_back_rules().is_some()
    }

    /// Canonical names alone, without parameters: `cac(prober(lirs))`.
    pub fn shape(&self) -> String {
        let name = |layer: &Expr| {
            if layer.members.is_empty() {
                layer.info.name.to_owned()
            } else {
                let members: Vec<&str> = layer.members.iter().map(|m| m.info.name).collect();
                format!("{}({})", layer.info.name, members.join(","))
            }
        };
        let names: Vec<String> = self.chain().map(name).collect();
        names.join("(") + &")".repeat(names.len() - 1)
    }

    /// Whether a read miss allocates by default: not if any layer is a write buffer.
    pub fn default_read_alloc(&self) -> bool {
        !self.schemes().any(|scheme| scheme.info.write_buffer)
    }

    /// Whether the scheme can run without knowing the future.
    ///
    /// # Errors
    /// X5 for an offline policy.
    pub fn check_online(&self) -> Result<(), Refusal> {
        if self
            .chain()
            .any(|l| l.info.role == crate::info::Role::Offline)
        {
            Err(Refusal::new(
                Code::Offline,
                &self.to_string(),
                "offline policy: it needs the whole trace beforehand and cannot run online",
            ))
        } else {
            Ok(())
        }
    }

    /// Whether parameter `key` stands in the expression.
    ///
    /// # Panics
    /// Here and in every getter: the scheme declares no parameter `key`, or one of another type.
    pub fn is_given(&self, key: &str) -> bool {
        self.lookup(key).0.is_some()
    }

    /// A whole number. Panics too if it is a word or has no fixed default, see [`Expr::uint_opt`].
    pub fn uint(&self, key: &str) -> u64 {
        self.uint_opt(key)
            .unwrap_or_else(|| panic!("{}.{key} has no fixed value", self.info.name))
    }

    /// A whole number, or `None` if the default depends on something else, or if the value is a
    /// word such as `inf` ([`Expr::is_word`]) or a time ([`Expr::time_opt`]).
    pub fn uint_opt(&self, key: &str) -> Option<u64> {
        match self.value(key) {
            Some(Value::Uint(n)) => Some(n),
            _ if is_integer(self.lookup(key).1) => None,
            _ => self.mistyped(key),
        }
    }

    /// A number of frames: as given, or its default for a cache of `capacity` pages; `None` if
    /// the value is a word such as `inf`.
    pub fn frames(&self, key: &str, capacity: u64) -> Option<u64> {
        match (self.uint_opt(key), self.lookup(key)) {
            (Some(n), _) => Some(n),
            (None, (Some(_), _)) => None,
            (None, (None, param)) => param.default.frames(capacity),
        }
    }

    /// Whether the value of a number parameter is this word (`inf`, `adaptive`).
    pub fn is_word(&self, key: &str, word: &str) -> bool {
        matches!(self.value(key), Some(Value::Word(w)) if w == word)
    }

    /// A real number.
    pub fn real(&self, key: &str) -> f64 {
        match self.value(key) {
            Some(Value::Real(x)) => x,
            _ => self.mistyped(key),
        }
    }

    /// A size in bytes or in pages, as given.
    pub fn size(&self, key: &str) -> Size {
        match self.value(key) {
            Some(Value::Size(size)) => size,
            _ => self.mistyped(key),
        }
    }

    /// A size in bytes, on pages of `page`.
    pub fn size_bytes(&self, key: &str, page: PageSize) -> u64 {
        self.size(key).bytes(page)
    }

    /// A time.
    pub fn time(&self, key: &str) -> Nanos {
        self.time_opt(key).unwrap_or_else(|| self.mistyped(key))
    }

    /// A time, or `None` where the value is a number of events ([`Expr::uint_opt`]).
    pub fn time_opt(&self, key: &str) -> Option<Nanos> {
        match self.value(key) {
            Some(Value::Time(t)) => Some(t),
            Some(Value::Uint(_)) => None,
            _ => self.mistyped(key),
        }
    }

    /// One of the declared words.
    pub fn word(&self, key: &str) -> &'static str {
        match self.value(key) {
            Some(Value::Word(word)) => word,
            _ => self.mistyped(key),
        }
    }

    /// A switch.
    pub fn flag(&self, key: &str) -> bool {
        match self.value(key) {
            Some(Value::Bool(b)) => b,
            _ => self.mistyped(key),
        }
    }

    /// A list of numbers; `None` if it was not given.
    pub fn vector(&self, key: &str) -> Option<&[f64]> {
        match self.lookup(key) {
            (Some(Value::Reals(numbers)), _) => Some(numbers),
            (None, param) if param.default == DefaultValue::Nothing => None,
            _ => self.mistyped(key),
        }
    }

    /// Pages of a logical block: `block-pages` as given, else those of the device, else 64.
    pub fn block_pages(&self, device: Option<u32>) -> u64 {
        let given = self.uint_opt("block-pages");
        given.unwrap_or(u64::from(device.unwrap_or(64)))
    }

    fn new(info: &'static SchemeInfo) -> Expr {
        Expr {
            info,
            given: Vec::new(),
            inner: None,
            members: Vec::new(),
        }
    }

    /// The value as given, or the default if it is one value.
    fn value(&self, key: &str) -> Option<Value> {
        let (given, param) = self.lookup(key);
        let default = || match param.default {
            DefaultValue::Uint(n) => Some(Value::Uint(n)),
            DefaultValue::Real(x) => Some(Value::Real(x)),
            DefaultValue::Bytes(n) => Some(Value::Size(Size::Bytes(n))),
            DefaultValue::Time(t) => Some(Value::Time(t)),
            DefaultValue::Bool(b) => Some(Value::Bool(b)),
            DefaultValue::Word(word) => Some(Value::Word(word)),
            DefaultValue::Inside {
                layer,
                then,
                otherwise,
            } => {
                if self.contains(layer) {
                    Some(Value::Word(then))
                } else {
                    Some(Value::Word(otherwise))
                }
            }
            DefaultValue::Nothing | DefaultValue::Frames { .. } | DefaultValue::Computed(_) => None,
        };
        given.cloned().or_else(default)
    }

    fn lookup(&self, key: &str) -> (Option<&Value>, &'static ParamInfo) {
        let Some(param) = self.info.param(key) else {
            panic!("scheme {} declares no parameter {key}", self.info.name);
        };
        let given = self.given.iter().find(|g| g.key == key);
        (given.map(|g| &g.value), param)
    }

    fn mistyped(&self, key: &str) -> ! {
        panic!("parameter {key} of {} has another type", self.info.name)
    }
}

fn is_integer(param: &ParamInfo) -> bool {
    use crate::info::Kind;
    matches!(
        param.kind,
        Kind::Integer { .. } | Kind::IntegerOrTime { .. }
    )
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info.name)?;
        let inner = self.inner().into_iter().chain(&self.members);
        let inner = inner.map(Expr::to_string);
        let given = self.given.iter().map(|g| format!("{}={}", g.key, g.value));
        let arguments: Vec<String> = inner.chain(given).collect();
        if arguments.is_empty() {
            Ok(())
        } else {
            write!(f, "({})", arguments.join(","))
        }
    }
}

#[cfg(test)]
mod tests;
