//! How options are declared: each once, with its type, its default, its meaning, and its scope. From that follow
//! the flag and its help, the key of run files and of Python, and the value that a result record shows if nobody
//! gave one.

use crate::options::readers::{OptionField, ReadValue, TextForm, texts};
use destage_types::nearest;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;
use toml::Value;

/// Declares a group of options: a structure whose values are read from texts.
///
/// `FIELD: TYPE = READER` is followed by `default TEXT`, the value that holds without the option, or by `word TEXT`,
/// what records and help say if the option is not given. The help ends with either, unless `shown TEXT` puts it
/// otherwise or, if empty, leaves it out. Without a reader, the type's `FromStr` reads the value. `#[option(...)]` sets
/// fields of [`OptionInfo`]; `in SCOPE` is the scope of all options of the group that name no other. A `heading` of the
/// help holds for all options from there on, those of groups included; `under` gives a group its own.
#[macro_export]
macro_rules! declare_options {
    (
        $(#[$about:meta])*
        $name:ident in $scope:ident {$(
            $(#[doc = $doc:literal])+ $(#[option($($key:ident = $set:expr),+)])?
            $field:ident: $type:ty $(= $reader:expr)? $(, default $default:literal)?
            $(, word $word:literal)? $(, shown $shown:literal)?;
            $(flatten $group:ident: $options:ty $(, under $heading:literal)?;)*
        )*}
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default)]
        pub struct $name {$(
            #[doc = concat!($($doc),+)]
            pub $field: $type,
            $(#[allow(missing_docs)] pub $group: $options,)*
        )*}

        impl $crate::options::OptionGroup for $name {
            fn declared() -> &'static [$crate::options::OptionInfo] {
                use $crate::options::{OptionInfo, OptionScope};
                static ALL: std::sync::OnceLock<Vec<OptionInfo>> = std::sync::OnceLock::new();
                ALL.get_or_init(|| {
                    let mut all = Vec::new();
                    $(
                        let texts: &[&'static str] = &[$($default,)? $($word,)? $($shown,)?];
                        let reader = $crate::declare_options!(@reader $type $(, $reader)?);
                        all.push(OptionInfo {
                            help: $crate::options::declare::help(concat!($($doc),+), texts),
                            unset: [$(Some($default),)? $(Some($word),)? None][0],
                            $($($key: $set,)+)?
                            ..OptionInfo::of::<_, $type>(stringify!($field), OptionScope::$scope, reader)
                        });
                        $(
                            let options = <$options as $crate::options::OptionGroup>::declared();
                            $crate::options::declare::add_group(&mut all, options, [$($heading,)? ""][0]);
                        )*
                    )*
                    all
                })
            }

            fn take(&mut self, field: &str, texts: &[std::ffi::OsString]) -> Option<Result<bool, String>> {
                $(
                    if field == stringify!($field) {
                        let reader = $crate::declare_options!(@reader $type $(, $reader)?);
                        return Some($crate::options::OptionField::take(&mut self.$field, &reader, texts));
                    }
                    $(if let Some(taken) = $crate::options::OptionGroup::take(&mut self.$group, field, texts) {
                        return Some(taken);
                    })*
                )*
                None
            }

            fn given(&self, field: &str) -> Option<String> {
                $(
                    if field == stringify!($field) {
                        let reader = $crate::declare_options!(@reader $type $(, $reader)?);
                        return $crate::options::OptionField::given(&self.$field, &reader);
                    }
                    $(if let Some(text) = $crate::options::OptionGroup::given(&self.$group, field) {
                        return Some(text);
                    })*
                )*
                None
            }
        }

        impl $name {$(
            $crate::declare_options!(@value $field, $type $(, $default)?);
        )*}

        $crate::clap_args!($name);
    };
    (@reader $type:ty) => { <$type as $crate::options::FieldType>::Reader::default() };
    (@reader $type:ty, $reader:expr) => { $reader };
    (@value $field:ident, $type:ty) => {};
    (@value $field:ident, $type:ty, $default:literal) => {
        /// The value of the option, or its default.
        pub fn $field(&self) -> <$type as $crate::options::FieldType>::Value {
            let unset = || $crate::options::declare::with_default::<Self>(stringify!($field), $default).$field;
            $crate::options::FieldType::value(&self.$field, unset)
        }
    };
}

/// The subject of an option. It decides where the option may be given.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OptionScope {
    /// The stream of requests that runs get. Sweeps vary these options outermost, so that the runs of a batch go
    /// over one decoded trace.
    Stream,
    /// The device and its pages, which a sweep varies inside of the stream.
    Device,
    /// Everything else that decides on the result of a run.
    Run,
    /// The machine that runs.
    Machine,
    /// Logs of a run. A run file gives them once, for all runs.
    Logs,
    /// Results of a command. A run file gives them once; in Python a program takes the results.
    Results,
    /// The command line itself. No file has these options.
    Command,
}

/// How many values an option has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// None: it is there or not.
    Flag,
    /// One.
    One,
    /// Several.
    Many,
}

/// Checks a text.
pub type CheckText = Arc<dyn Fn(&OsStr) -> Result<(), String> + Send + Sync>;

/// The declaration of an option.
#[derive(Clone)]
pub struct OptionInfo {
    /// Name of its field.
    pub field: &'static str,
    /// Its flag without the dashes, which is its key in files.
    pub key: &'static str,
    /// Its meaning and its default.
    pub help: String,
    /// Name of its value in the help.
    pub value: &'static str,
    /// Its subject.
    pub scope: OptionScope,
    /// How many values it has.
    pub takes: Takes,
    /// Each of several values makes runs of its own.
    pub each: bool,
    /// The default, or what is said if nobody gave it.
    pub unset: Option<&'static str>,
    /// The form of a value.
    pub form: TextForm,
    /// Whether a text is a value.
    pub check: CheckText,
    /// Heading of the help under which it and the options after it stand; empty if that is the one before.
    pub heading: &'static str,
    /// Fields of options that exclude it.
    pub conflicts: &'static [&'static str],
    /// Field of an option without which it means nothing; empty if there is none.
    pub requires: &'static str,
    /// The command line needs it.
    pub required: bool,
    /// Field of an option without which the command line needs it; empty if there is none.
    pub required_unless: &'static str,
    /// On the command line it has no name.
    pub positional: bool,
    /// The help does not show it.
    pub hidden: bool,
    /// A comma outside of parentheses separates values.
    pub commas: bool,
    /// A value may begin with `-`.
    pub hyphens: bool,
}

impl OptionInfo {
    /// An option with values of this field, which `reader` reads.
    pub fn of<R, F>(field: &'static str, scope: OptionScope, reader: R) -> OptionInfo
    where
        R: ReadValue,
        F: OptionField<R>,
    {
        OptionInfo {
            field,
            // The declarations are as long there as the program.
            key: field.replace('_', "-").leak(),
            help: String::new(),
            value: "",
            scope,
            takes: F::TAKES,
            each: false,
            unset: None,
            form: reader.form(),
            check: Arc::new(move |text| reader.read(text).map(drop)),
            heading: "",
            conflicts: &[],
            requires: "",
            required: false,
            required_unless: "",
            positional: false,
            hidden: false,
            commas: false,
            hyphens: false,
        }
    }
}

/// Adds the options of a group to `all`, under a heading of the help if they have one of their own.
pub fn add_group(all: &mut Vec<OptionInfo>, options: &[OptionInfo], heading: &'static str) {
    let first = all.len();
    all.extend(options.iter().cloned());
    if let Some(first) = all.get_mut(first) {
        first.heading = heading;
    }
}

impl OptionInfo {
    /// The values in a text.
    pub fn split<'a>(&self, text: &'a str) -> Vec<&'a str> {
        match self.commas {
            true => split_list(text),
            false => vec![text],
        }
    }
}

/// The parts of a list, between commas outside of parentheses.
fn split_list(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = text.split(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.map(str::trim).collect()
}

/// The help of an option: what it means, and the last that is said of its default.
pub fn help(meaning: &str, default: &[&str]) -> String {
    let meaning = meaning.trim();
    match default.last() {
        None | Some(&"") => meaning.to_owned(),
        Some(default) => format!("{meaning} [default: {default}]"),
    }
}

/// A group in which one option has its default.
pub fn with_default<G: OptionGroup>(field: &str, default: &str) -> G {
    let mut group = G::default();
    let taken = group.take(field, &[OsString::from(default)]);
    let taken = taken.expect("the option is of this group");
    taken.expect("a default is a value of its option");
    group
}

/// A group of options.
pub trait OptionGroup: Default {
    /// The declarations of its options, in their order.
    fn declared() -> &'static [OptionInfo];

    /// Takes the texts of a field, and says whether it did: a field that has a value keeps it. `None` if it is
    /// no field of this group.
    fn take(&mut self, field: &str, texts: &[OsString]) -> Option<Result<bool, String>>;

    /// Takes what a file says of an option, as [`OptionGroup::take`] does.
    fn take_value(&mut self, option: &OptionInfo, value: &Value) -> Option<Result<bool, String>> {
        let texts = match (option.takes, value) {
            (Takes::Flag, Value::Boolean(on)) => Ok(vec![on.to_string()]),
            (Takes::Flag, _) => Err("allowed: true, false".to_owned()),
            _ => texts(option.key, value).map(|texts| {
                let texts = texts.iter().flat_map(|text| option.split(text));
                texts.map(str::to_owned).collect()
            }),
        };
        match texts {
            Err(fault) => Some(Err(fault)),
            Ok(texts) => {
                let texts: Vec<OsString> = texts.into_iter().map(OsString::from).collect();
                self.take(option.field, &texts)
            }
        }
    }

    /// The value that was given for a field, as text.
    fn given(&self, field: &str) -> Option<String>;

    /// The first of two options that are given and exclude each other, or that is given without the option that it
    /// needs, and the fault. The option that `is_preferred` is named first.
    fn find_conflict(&self, is_preferred: impl Fn(&str) -> bool) -> Option<(String, String)> {
        let given = |field: &str| self.given(field).is_some();
        for option in Self::declared().iter().filter(|option| given(option.field)) {
            if let Some(other) = option.conflicts.iter().find(|other| given(other)) {
                let key = option.key.to_owned();
                let other_key = other.replace('_', "-");
                let (first, second) = match is_preferred(other) && !is_preferred(option.field) {
                    true => (other_key, key),
                    false => (key, other_key),
                };
                let fault = format!("`{first}` cannot be used with `{second}`");
                return Some((first, fault));
            }
            let needed = option.requires;
            if !needed.is_empty() && option.scope != OptionScope::Command && !given(needed) {
                let fault = format!("`{}` needs `{}`", option.key, needed.replace('_', "-"));
                return Some((option.key.to_owned(), fault));
            }
        }
        None
    }
}

/// The option that a key of a file means; `others` are keys that are no options.
///
/// # Errors
/// There is none; the message names the nearest key.
pub fn option_of<'a>(
    options: impl Iterator<Item = &'a OptionInfo>,
    key: &str,
    others: &[&str],
) -> Result<&'a OptionInfo, String> {
    let is_key = |o: &&OptionInfo| o.scope != OptionScope::Command && !o.positional;
    let options: Vec<&OptionInfo> = options.filter(is_key).collect();
    let found = options.iter().find(|option| option.key == key);
    found.copied().ok_or_else(|| {
        let all = options.iter().map(|option| option.key);
        let mut all: Vec<&str> = all.chain(others.iter().copied()).collect();
        all.sort_unstable();
        let near = nearest(key, all).unwrap_or_default();
        format!("no option `{key}`; did you mean `{near}`?")
    })
}

#[cfg(test)]
mod tests {
    use super::split_list;

    #[test]
    fn commas_in_parentheses_belong_to_a_value() {
        assert_eq!(split_list("lru, arc"), ["lru", "arc"]);
        assert_eq!(
            split_list("procache(lru,p=1),lirs"),
            ["procache(lru,p=1)", "lirs"]
        );
        assert_eq!(
            split_list("cac(awb(prober(lirs(hir=1%,max-nonres=2))))").len(),
            1
        );
        // Each part is read, and refused, as it is.
        assert_eq!(split_list("lru,"), ["lru", ""]);
        assert_eq!(split_list("lru),arc"), ["lru)", "arc"]);
    }
}
