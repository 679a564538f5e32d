//! Run files: TOML whose keys are the long options of `run`, several runs to a file, for
//! experiments that are to be repeated.

use crate::options::{FileEntry, FilePart, FromFile, KeyPlaces, RunArgs, option_of, texts};
use crate::run::settings::FileOptions;
use clap::{Arg, ArgAction, Command};
use destage_console::failure::Failure;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Value;

/// Keys of one part of a run file, by name.
pub type Keys = BTreeMap<String, Value>;

/// Options about the output as a whole, which cannot differ from one `[[run]]` to the next.
pub const WHOLE: [&str; 10] = [
    "out",
    "fresh",
    "format-out",
    "details",
    "columns",
    "report",
    "log-evictions",
    "log-requests",
    "series",
    "timeline",
];
/// Keys that are no options.
const OWN: [&str; 3] = ["trace", "name", "if-present"];

/// Options that are no keys: a run file does not name itself, or where it is used.
const NO_KEYS: [&str; 3] = ["config", "trace-dir", "help"];

/// What a run file says.
#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    run: Vec<Keys>,
    /// Keys that all runs share.
    #[serde(flatten)]
    shared: Keys,
}

/// A run file together with the command line that names it.
pub struct RunFile {
    /// The options of each `[[run]]`, and which of them the file gave.
    pub runs: Vec<(RunArgs, FileOptions)>,
    /// What was left out.
    pub warnings: Vec<String>,
}

impl RunFile {
    /// Reads the file at `path`, under what the command line said, which overrides it.
    ///
    /// # Errors
    /// The file cannot be read, a key is no option, or a value is none of its option.
    pub fn read(path: &Path, given: &RunArgs) -> Result<RunFile, Failure> {
        let refused = |fault: &dyn std::fmt::Display| {
            Failure::usage(format!("--config {}: {fault}", path.display()))
        };
        let text = std::fs::read_to_string(path).map_err(|error| refused(&error))?;
        let content: Content = toml::from_str(&text).map_err(|error| refused(&error))?;
        let folder = given.trace_dir.as_deref().or(path.parent());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let reader = RunKeyReader {
            folder: folder.unwrap_or(Path::new("")).to_owned(),
            ..RunKeyReader::new(given.clone(), &name, KeyPlaces::of(path, &text))
        };
        reader.file(content).map_err(Failure::usage)
    }
}

/// The name of a `[[run]]`.
fn run_name(keys: &Keys) -> Result<Option<String>, String> {
    match keys.get("name") {
        None => Ok(None),
        Some(Value::String(name)) if !name.trim().is_empty() => Ok(Some(name.clone())),
        Some(other) => Err(format!(
            "name = {other}: the name of a run is text, such as name = \"small cache\""
        )),
    }
}

/// The options of `run` that `keys` of the file `name` give, under `given`, and which of them it gave.
///
/// # Errors
/// A key is no option, or a value is none of its option.
pub fn run_keys(
    keys: &Keys,
    given: &RunArgs,
    name: &str,
) -> Result<(RunArgs, FileOptions), Failure> {
    RunKeyReader::new(given.clone(), name, KeyPlaces::without_file(name)).read("", keys)
}

/// Reads the keys of one run after the other, as those of the file `name` under `given`.
pub struct RunKeyReader {
    command: Command,
    given: RunArgs,
    name: String,
    /// Where its keys stand.
    places: Arc<KeyPlaces>,
    /// Traces are looked for there.
    folder: PathBuf,
}

impl RunKeyReader {
    /// Such a reader.
    pub fn new(given: RunArgs, name: &str, places: Arc<KeyPlaces>) -> RunKeyReader {
        RunKeyReader {
            command: RunArgs::command(),
            given,
            name: name.to_owned(),
            places,
            folder: PathBuf::new(),
        }
    }

    /// The options that `keys` of a part of the file give, and which of them they gave.
    ///
    /// # Errors
    /// A key is no option, or a value is none of its option.
    pub fn read(&self, part: &str, keys: &Keys) -> Result<(RunArgs, FileOptions), Failure> {
        let group = self.group(part, keys).map_err(Failure::usage)?;
        Ok(group.expect("no trace is looked for"))
    }

    /// May the option of this key be given several times on one command line?
    ///
    /// # Errors
    /// It is no option.
    pub fn is_repeatable(&self, key: &str) -> Result<bool, String> {
        let arg = option_of(&self.command, key, &NO_KEYS, &OWN)?;
        Ok(matches!(arg.get_action(), ArgAction::Append))
    }

    fn file(&self, content: Content) -> Result<RunFile, String> {
        let several = content.run.len() > 1;
        let logs = self.given.logs();
        if let Some((log, _)) = logs.iter().find(|log| several && log.1.is_some()) {
            let fault = format!("--{log}: a run file with several [[run]] writes no logs");
            return Err(self.places.fault("run.1", None, &fault));
        }
        let groups = match content.run.is_empty() {
            true => vec![Keys::new()],
            false => content.run,
        };
        let mut file = RunFile {
            runs: Vec::new(),
            warnings: Vec::new(),
        };
        for (i, own) in groups.into_iter().enumerate() {
            let part = format!("run.{i}");
            if let Some(key) = WHOLE.iter().find(|key| own.contains_key(**key)) {
                let fault = "it applies to all runs: put it before the first [[run]]";
                return Err(self.places.value_fault(&part, key, &own[*key], fault));
            }
            let mut keys = content.shared.clone();
            keys.extend(own);
            if let Some((log, _)) = logs.iter().find(|l| several && keys.contains_key(l.0)) {
                let fault = "a run file with several [[run]] writes no logs";
                return Err(self.places.value_fault(&part, log, &keys[*log], fault));
            }
            match self.group(&part, &keys)? {
                Some(run) => file.runs.push(run),
                None => {
                    let fault = format!(
                        "none of its traces is in {}, so [[run]] {} is left out",
                        self.folder.display(),
                        i + 1
                    );
                    let warning = self.places.fault(&part, Some("trace"), &fault);
                    file.warnings.push(warning);
                }
            }
        }
        match file.runs.is_empty() {
            true => {
                let fault = format!("none of its traces is in {}", self.folder.display());
                Err(self.places.fault("run.0", Some("trace"), &fault))
            }
            false => Ok(file),
        }
    }

    /// The options of one `[[run]]`; `None` if none of its traces is there.
    fn group(&self, part: &str, keys: &Keys) -> Result<Option<(RunArgs, FileOptions)>, String> {
        let mut args = self.given.clone();
        let mut filed = FileOptions::of(&self.name);
        let mut taken_keys = BTreeSet::new();
        let at = |key: &str, fault: String| match keys.get(key) {
            Some(value) => self.places.value_fault(part, key, value, &fault),
            None => self.places.fault(part, Some(key), &fault),
        };
        filed.run_name = run_name(keys).map_err(|fault| at("name", fault))?;
        for (key, value) in keys.iter().filter(|k| !OWN.contains(&k.0.as_str())) {
            let arg = option_of(&self.command, key, &NO_KEYS, &OWN);
            let arg = arg.map_err(|fault| at(key, fault))?;
            let (command, field) = (&self.command, arg.get_id().as_str());
            let entry = FileEntry {
                key,
                value,
                arg,
                command,
            };
            let taken = args.take("", (), &entry);
            let taken = taken.expect("every option of `run` has a field");
            if taken.map_err(|fault| at(key, fault))? {
                filed.fields.insert(field.to_owned());
                taken_keys.insert(key.clone());
            }
        }
        self.check_pairs(&args, &filed)
            .map_err(|(key, fault)| at(&key, fault))?;
        // Other names of one setting.
        if filed.fields.remove("wrap") || filed.fields.remove("fit") {
            filed.fields.insert("addresses".to_owned());
        }
        let optional = match keys.get("if-present") {
            None => false,
            Some(Value::Boolean(optional)) => *optional,
            Some(_) => return Err(at("if-present", "allowed: true, false".to_owned())),
        };
        if let Some(value) = keys.get("trace").filter(|_| args.traces.is_empty()) {
            let traces = texts("trace", value).map_err(|fault| at("trace", fault))?;
            taken_keys.insert("trace".to_owned());
            args.traces = traces.iter().map(|trace| self.at(trace)).collect();
            if optional {
                args.traces.retain(|path| path.exists());
                if args.traces.is_empty() {
                    return Ok(None);
                }
            }
        }
        filed.part = self.places.is_file.then(|| FilePart {
            places: Arc::clone(&self.places),
            part: part.to_owned(),
            keys: taken_keys,
        });
        Ok(Some((args, filed)))
    }

    /// A trace is looked for in the folder of traces.
    fn at(&self, trace: &str) -> PathBuf {
        match trace {
            "-" => PathBuf::from("-"),
            _ => self.folder.join(trace),
        }
    }

    /// Pairs of options of which the command line refuses one, whoever gave them.
    fn check_pairs(&self, args: &RunArgs, filed: &FileOptions) -> Result<(), (String, String)> {
        let both = [
            (
                ("closed_loop", "time_scale"),
                args.closed_loop.is_some() && args.time_scale.is_some(),
            ),
            (("fit", "wrap"), args.fit && args.wrap),
            (("addresses", "wrap"), args.addresses.is_some() && args.wrap),
            (("addresses", "fit"), args.addresses.is_some() && args.fit),
        ];
        if let Some((pair, _)) = both.iter().find(|pair| pair.1) {
            let from_file = |field| filed.fields.contains(field);
            let (first, second) = match from_file(pair.1) && !from_file(pair.0) {
                true => (pair.1, pair.0),
                false => *pair,
            };
            let key = first.replace('_', "-");
            let name = |field: &str| {
                let mut all = self.command.get_arguments();
                all.find(|arg| arg.get_id() == field).map(Arg::to_string)
            };
            let (first, second) = (name(first), name(second));
            let fault = format!(
                "the argument '{}' cannot be used with '{}'",
                first.unwrap_or_default(),
                second.unwrap_or_default()
            );
            return Err((key, fault));
        }
        match args.series_every.is_some() && args.series.is_none() {
            true => Err((
                "series-every".to_owned(),
                "`series-every` needs `series`".to_owned(),
            )),
            false => Ok(()),
        }
    }
}
