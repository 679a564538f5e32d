//! Run files: TOML whose keys are the long options of `run`, several runs to a file, for
//! experiments that are to be repeated.

use crate::bounds::check_total;
use crate::options::{
    FilePart, KeyPlaces, OptionGroup, OptionInfo, OptionScope, RunArgs, option_of, texts,
};
use crate::run::settings::FileOptions;
use destage_console::failure::Failure;
use destage_trace::{is_demo, trace_in};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Value;

/// Keys of one part of a run file, by name.
pub type Keys = BTreeMap<String, Value>;

/// Keys that are no options.
const OWN: [&str; 3] = ["trace", "name", "if-present"];

/// The option of `run` that a key means, if it is one.
///
/// # Errors
/// There is none; the message names the nearest key.
pub fn option_of_run(key: &str) -> Result<Option<&'static OptionInfo>, String> {
    match OWN.contains(&key) {
        true => Ok(None),
        false => option_of(RunArgs::declared().iter(), key, &OWN).map(Some),
    }
}

/// The text of a run file, parsed.
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
    /// Each `[[run]]`.
    pub runs: Vec<FiledRun>,
    /// Warnings about options of the command line that were left out.
    pub warnings: Vec<String>,
}

/// The options of a `[[run]]`.
pub struct FiledRun {
    /// All of them.
    pub args: RunArgs,
    /// Those that the file gave.
    pub filed: FileOptions,
}

impl RunFile {
    /// The command line alone.
    pub fn without_file(args: RunArgs) -> RunFile {
        let filed = FileOptions::default();
        RunFile {
            runs: vec![FiledRun { args, filed }],
            warnings: Vec::new(),
        }
    }

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
pub fn run_keys(keys: &Keys, given: &RunArgs, name: &str) -> Result<FiledRun, Failure> {
    RunKeyReader::new(given.clone(), name, KeyPlaces::without_file(name)).read("", keys)
}

/// Reads the keys of one run after the other, as those of the file `name` under `given`.
pub struct RunKeyReader {
    given: RunArgs,
    name: String,
    /// Where its keys stand.
    places: Arc<KeyPlaces>,
    /// Traces are looked for there.
    folder: PathBuf,
}

impl RunKeyReader {
    /// A reader of keys without a folder of traces.
    pub fn new(given: RunArgs, name: &str, places: Arc<KeyPlaces>) -> RunKeyReader {
        RunKeyReader {
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
    pub fn read(&self, part: &str, keys: &Keys) -> Result<FiledRun, Failure> {
        let group = self.group(part, keys).map_err(Failure::usage)?;
        Ok(group.expect("no trace is looked for"))
    }

    fn file(&self, content: Content) -> Result<RunFile, String> {
        let total = check_total(content.run.len() as u64, "[[run]]");
        total.map_err(|fault| self.places.fault("", None, &fault))?;
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
            let is_of_all = |key: &&String| {
                let option = option_of_run(key).ok().flatten();
                option.is_some_and(|o| matches!(o.scope, OptionScope::Logs | OptionScope::Results))
            };
            if let Some(key) = own.keys().find(is_of_all) {
                let fault = "it applies to all runs: put it before the first [[run]]";
                return Err(self.places.value_fault(&part, key, &own[key], fault));
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
    fn group(&self, part: &str, keys: &Keys) -> Result<Option<FiledRun>, String> {
        let mut args = self.given.clone();
        let mut filed = FileOptions::of(&self.name);
        let mut taken_keys = BTreeSet::new();
        let at = |key: &str, fault: String| match keys.get(key) {
            Some(value) => self.places.value_fault(part, key, value, &fault),
            None => self.places.fault(part, Some(key), &fault),
        };
        filed.run_name = run_name(keys).map_err(|fault| at("name", fault))?;
        for (key, value) in keys {
            let Some(option) = option_of_run(key).map_err(|fault| at(key, fault))? else {
                continue;
            };
            let taken = args.take_value(option, value);
            let taken = taken.expect("every option of `run` has a field");
            if taken.map_err(|fault| at(key, fault))? {
                filed.fields.insert(option.field.to_owned());
                taken_keys.insert(key.clone());
            }
        }
        if let Some((key, fault)) = args.find_conflict(|field| filed.fields.contains(field)) {
            return Err(at(&key, fault));
        }
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
                args.traces.retain(|path| path.exists() || is_demo(path));
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
        Ok(Some(FiledRun { args, filed }))
    }

    /// A trace is looked for in the folder of traces.
    fn at(&self, trace: &str) -> PathBuf {
        match trace {
            "-" => PathBuf::from("-"),
            _ => trace_in(&self.folder, trace),
        }
    }
}
