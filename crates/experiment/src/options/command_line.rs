//! The command line of declared options. It is the only place that knows clap.

use crate::options::readers::OptionWords;
use crate::options::{OptionGroup, OptionInfo, Takes, TextForm};
pub use clap;
use clap::builder::{
    PathBufValueParser, PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser,
    ValueParser,
};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, Error, ValueEnum, ValueHint};
use std::ffi::{OsStr, OsString};

/// Lets clap read a group of options.
#[macro_export]
macro_rules! clap_args {
    ($name:ident) => {
        const _: () = {
            use $crate::options::command_line::{augment, clap, read};

            impl clap::Args for $name {
                fn augment_args(command: clap::Command) -> clap::Command {
                    augment::<$name>(command)
                }

                fn augment_args_for_update(command: clap::Command) -> clap::Command {
                    augment::<$name>(command)
                }
            }

            impl clap::FromArgMatches for $name {
                fn from_arg_matches(matches: &clap::ArgMatches) -> Result<$name, clap::Error> {
                    read(matches)
                }

                fn update_from_arg_matches(
                    &mut self,
                    matches: &clap::ArgMatches,
                ) -> Result<(), clap::Error> {
                    *self = read(matches)?;
                    Ok(())
                }
            }
        };
    };
}

/// Adds the options of a group to a command.
pub fn augment<G: OptionGroup>(command: Command) -> Command {
    let mut heading = "";
    let args = G::declared().iter().map(|option| {
        if !option.heading.is_empty() {
            heading = option.heading;
        }
        match heading {
            "" => arg(option),
            _ if option.positional => arg(option),
            heading => arg(option).help_heading(heading),
        }
    });
    command.args(args)
}

fn arg(option: &OptionInfo) -> Arg {
    let mut arg = Arg::new(option.field)
        .help(&option.help)
        .hide(option.hidden)
        .allow_hyphen_values(option.hyphens)
        .required(option.required)
        .conflicts_with_all(option.conflicts);
    if !option.positional {
        arg = arg.long(option.key);
    }
    if !option.requires.is_empty() {
        arg = arg.requires(option.requires);
    }
    if !option.required_unless.is_empty() {
        arg = arg.required_unless_present(option.required_unless);
    }
    arg = match option.takes {
        Takes::Flag => return arg.action(ArgAction::SetTrue),
        Takes::One => arg.action(ArgAction::Set),
        Takes::Many if option.positional => arg.action(ArgAction::Append).num_args(1..),
        Takes::Many => arg.action(ArgAction::Append),
    };
    if matches!(option.form, TextForm::Path) {
        arg = arg.value_hint(ValueHint::AnyPath);
    }
    arg.value_name(option.value).value_parser(parser(option))
}

fn parser(option: &OptionInfo) -> ValueParser {
    let checked = option.clone();
    let check_text = move |text: String| {
        let mut values = checked.split(&text).into_iter();
        let refused =
            values.find_map(|value| Some((value, (checked.check)(OsStr::new(value)).err()?)));
        match refused {
            None => Ok(OsString::from(text)),
            Some((value, fault)) if value != text && !fault.contains(value) => {
                Err(format!("`{value}`: {fault}"))
            }
            Some((_, fault)) => Err(fault),
        }
    };
    match &option.form {
        TextForm::Text => ValueParser::new(StringValueParser::new().try_map(check_text)),
        TextForm::Path => {
            let path = PathBufValueParser::new();
            ValueParser::new(path.map(|path| path.into_os_string()))
        }
        TextForm::Words(words) => {
            let words = words.iter();
            let words = words.map(|(word, meaning)| PossibleValue::new(word).help(meaning));
            ValueParser::new(PossibleValuesParser::new(words).map(OsString::from))
        }
    }
}

/// Reads one of some words, for commands whose options no file has.
pub fn words<T>(words: &'static OptionWords<T>) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let word = |row: &(T, &'static str, &'static str)| PossibleValue::new(row.1).help(row.2);
    PossibleValuesParser::new(words.iter().map(word)).map(|text| {
        let found = words.iter().find(|row| row.1 == text);
        found.expect("one of the words").0
    })
}

/// The options of a group that clap found.
///
/// # Errors
/// A text is no value, which the parser of its option has refused before.
pub fn read<G: OptionGroup>(matches: &ArgMatches) -> Result<G, Error> {
    let mut group = G::default();
    for option in G::declared() {
        let texts: Vec<OsString> = match option.takes {
            Takes::Flag => vec![matches.get_flag(option.field).to_string().into()],
            _ => {
                let texts = matches.get_many::<OsString>(option.field);
                texts.map_or(Vec::new(), |texts| {
                    texts.flat_map(|t| values(option, t)).collect()
                })
            }
        };
        if let Some(Err(fault)) = group.take(option.field, &texts) {
            return Err(Error::raw(ErrorKind::ValueValidation, fault));
        }
    }
    Ok(group)
}

/// The values of an option in what was given; a path need not be text.
fn values(option: &OptionInfo, given: &OsStr) -> Vec<OsString> {
    match given.to_str() {
        Some(text) => option.split(text).into_iter().map(OsString::from).collect(),
        None => vec![given.to_owned()],
    }
}

/// The word of the command line for `value`.
pub fn value_name(value: impl ValueEnum) -> String {
    let word = value.to_possible_value();
    word.map_or(String::new(), |word| word.get_name().to_owned())
}
