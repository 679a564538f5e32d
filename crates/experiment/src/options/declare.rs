//! How options are declared: each once, with its type, how its text is read, its default and what it
//! means. From that follow the flag and its help, the key of a run file, and the value that a result
//! record has if nobody gave one.

use clap::builder::TypedValueParser;
use clap::{Arg, Args, Command};
use destage_types::nearest;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use toml::Value;

/// Declares a group of options: a structure that is read from the command line and from run files.
///
/// `FIELD: TYPE = PARSER` is followed by `default TEXT`, the value that holds without the option, or
/// by `word TEXT`, what is said if the option is not there. The help ends with either, unless
/// `shown TEXT` puts it otherwise or, if empty, leaves it out.
#[macro_export]
macro_rules! declare_options {
    (
        $(#[$about:meta])*
        $name:ident {$(
            $(#[doc = $doc:literal])+ #[arg($($arg:tt)*)]
            $field:ident: $type:ty $(= $parser:expr $(, default $default:literal)?)?
            $(, word $word:literal)? $(, shown $shown:literal)?;
            $(flatten $group:ident: $options:ty;)*
        )*}
    ) => {
        $(#[$about])*
        #[derive(clap::Args, Debug, Clone)]
        pub struct $name {$(
            #[arg($($arg)*, help = $crate::options::declare::help(
                concat!($($doc),+), &[$($($default,)?)? $($word,)? $($shown,)?])
            )]
            $(#[arg(value_parser = $parser)])?
            #[doc = concat!($($doc),+)]
            pub $field: $type,
            $(
                #[command(flatten)]
                #[allow(missing_docs)]
                pub $group: $options,
            )*
        )*}

        impl $crate::options::declare::OptionGroup for $name {
            const DEFAULTS: &'static [(&'static str, &'static str)] = &[
                $($($((stringify!($field), $default),)?)? $((stringify!($field), $word),)?)*
            ];
        }

        impl $name {
            $($($(
                /// The value of the option, or its default.
                pub fn $field(&self) -> <$type as $crate::options::declare::HasDefault>::Value {
                    let default = || $crate::options::declare::read_default($parser, $default);
                    $crate::options::declare::HasDefault::or_default(&self.$field, default)
                }
            )?)?)*
        }

        impl $crate::options::declare::FromFile<()> for $name {
            fn take(
                &mut self,
                _: &str,
                (): (),
                entry: &$crate::options::declare::FileEntry<'_>,
            ) -> Option<Result<bool, String>> {
                use $crate::options::declare::FromFile;
                $(
                    let parser = $crate::declare_options!(@parser $($parser)?);
                    let field = stringify!($field);
                    if let Some(done) = FromFile::take(&mut self.$field, field, parser, entry) {
                        return Some(done);
                    }
                    $(if let Some(done) = FromFile::take(&mut self.$group, "", (), entry) {
                        return Some(done);
                    })*
                )*
                None
            }
        }
    };
    (@parser) => { () };
    (@parser $parser:expr) => { $parser };
}

/// The help of an option: what it means, and the last that is said of its default.
pub fn help(meaning: &str, default: &[&str]) -> String {
    let meaning = meaning.trim();
    match default.last() {
        None | Some(&"") => meaning.to_owned(),
        Some(default) => format!("{meaning} [default: {default}]"),
    }
}

/// The value that a declaration has as its default.
pub fn read_default<P: TypedValueParser>(parser: P, text: &str) -> P::Value {
    let command = Command::new("destage");
    let value = parser.parse_ref(&command, None, OsStr::new(text));
    value.expect("a default is a value of its option")
}

/// Options of which nobody says anything.
pub fn none<A: Args>() -> A {
    let command = A::augment_args(Command::new("none").no_binary_name(true));
    let given = command.get_matches_from::<_, &str>([]);
    A::from_arg_matches(&given).expect("no option is required")
}

/// A group of options.
pub trait OptionGroup {
    /// Fields and what records say of them if nobody gave them.
    const DEFAULTS: &'static [(&'static str, &'static str)];
}

/// An option that has a default.
pub trait HasDefault {
    /// What a default is read as.
    type One;
    /// What the option comes to.
    type Value;

    /// The values given, or else the default.
    fn or_default(&self, default: impl FnOnce() -> Self::One) -> Self::Value;
}

impl<T: Clone> HasDefault for Option<T> {
    type One = T;
    type Value = T;

    fn or_default(&self, default: impl FnOnce() -> T) -> T {
        self.clone().unwrap_or_else(default)
    }
}

impl<T: Clone> HasDefault for Vec<T> {
    type One = T;
    type Value = Vec<T>;

    fn or_default(&self, default: impl FnOnce() -> T) -> Vec<T> {
        match self.is_empty() {
            true => vec![default()],
            false => self.clone(),
        }
    }
}

/// An option in a run file.
pub struct FileEntry<'a> {
    /// Its key: the long name of the option.
    pub key: &'a str,
    /// What the file says.
    pub value: &'a Value,
    /// The option on the command line, whose words are used for faults.
    pub arg: &'a Arg,
    /// The command that has it.
    pub command: &'a Command,
}

impl FileEntry<'_> {
    /// Is it about the option that is kept in `field`?
    fn is(&self, field: &str) -> bool {
        self.arg.get_id() == field
    }

    fn read<P: TypedValueParser>(&self, parser: &P, text: &str) -> Result<P::Value, String> {
        let value = parser.parse_ref(self.command, Some(self.arg), OsStr::new(text));
        value.map_err(|error| {
            // What is allowed stands in a line of its own.
            let text = error.to_string();
            let first = text.split("\n\n").next().unwrap_or_default();
            let lines = first.trim_start_matches("error: ").lines().map(str::trim);
            lines.collect::<Vec<_>>().join(" ")
        })
    }
}

/// A value of `key`, or a list of them, as the command line writes it.
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

/// The option of `command` that the key of a file is the long name of, but none of `hidden`; `others` are keys
/// that are no options.
///
/// # Errors
/// There is none; the message names the nearest key.
pub fn option_of<'a>(
    command: &'a Command,
    key: &str,
    hidden: &[&str],
    others: &[&str],
) -> Result<&'a Arg, String> {
    let options = command.get_arguments();
    let options = options.filter_map(|arg| Some((arg.get_long()?, arg)));
    let mut known: BTreeMap<&str, &Arg> = options.collect();
    known.retain(|key, _| !hidden.contains(key));
    known.get(key).copied().ok_or_else(|| {
        let all = known.keys().chain(others).copied();
        let near = nearest(key, all).unwrap_or_default();
        format!("no option `{key}`; did you mean `{near}`?")
    })
}

/// Options that a run file can say, too.
pub trait FromFile<P> {
    /// Takes an entry that is about `field`, or about a field of this group: true unless the command
    /// line has said it already. `None` if it is about another one.
    fn take(
        &mut self,
        field: &str,
        parser: P,
        entry: &FileEntry<'_>,
    ) -> Option<Result<bool, String>>;
}

impl FromFile<()> for bool {
    fn take(&mut self, field: &str, (): (), entry: &FileEntry<'_>) -> Option<Result<bool, String>> {
        entry.is(field).then(|| match entry.value {
            Value::Boolean(on) => {
                let new = *on && !*self;
                *self |= on;
                Ok(new)
            }
            other => Err(format!("{} = {other}: allowed: true, false", entry.key)),
        })
    }
}

impl<T, P: TypedValueParser<Value = T>> FromFile<P> for Option<T> {
    fn take(
        &mut self,
        field: &str,
        parser: P,
        entry: &FileEntry<'_>,
    ) -> Option<Result<bool, String>> {
        let take = || {
            let texts = texts(entry.key, entry.value)?;
            match &texts[..] {
                _ if self.is_some() => return Ok(false),
                [] => return Ok(false),
                [one] => *self = Some(entry.read(&parser, one)?),
                _ => {
                    let arg = entry.arg;
                    return Err(format!(
                        "one value is expected: the argument '{arg}' cannot be used multiple times"
                    ));
                }
            }
            Ok(true)
        };
        entry.is(field).then(take)
    }
}

impl<T, P: TypedValueParser<Value = T>> FromFile<P> for Vec<T> {
    fn take(
        &mut self,
        field: &str,
        parser: P,
        entry: &FileEntry<'_>,
    ) -> Option<Result<bool, String>> {
        let take = || {
            let texts = texts(entry.key, entry.value)?;
            let new = self.is_empty() && !texts.is_empty();
            for text in texts.iter().filter(|_| new) {
                self.push(entry.read(&parser, text)?);
            }
            Ok(new)
        };
        entry.is(field).then(take)
    }
}
