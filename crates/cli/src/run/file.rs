//! Run files: TOML whose keys are the long options of `run`, several runs to a file, for
//! experiments that are to be repeated.

use super::settings::FileOptions;
use crate::args::{Cli, FileEntry, FromFile, RunArgs, option_of};
use crate::failure::Failure;
use clap::{Arg, ArgAction, Command, CommandFactory};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
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
            ..RunKeyReader::new(given.clone(), &name)
        };
        reader.file(content).map_err(|fault| refused(&fault))
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
    RunKeyReader::new(given.clone(), name).read(keys)
}

/// Reads the keys of one run after the other, as those of the file `name` under `given`.
pub struct RunKeyReader {
    command: Command,
    given: RunArgs,
    name: String,
    /// Traces are looked for there.
    folder: PathBuf,
}

impl RunKeyReader {
    /// Such a reader.
    pub fn new(given: RunArgs, name: &str) -> RunKeyReader {
        let mut command = Cli::command();
        command.build();
        let run = command.find_subcommand("run").expect("`run` is a command");
        RunKeyReader {
            command: run.clone(),
            given,
            name: name.to_owned(),
            folder: PathBuf::new(),
        }
    }

    /// The options that `keys` give, and which of them they gave.
    ///
    /// # Errors
    /// A key is no option, or a value is none of its option.
    pub fn read(&self, keys: &Keys) -> Result<(RunArgs, FileOptions), Failure> {
        let group = self.group(keys);
        let group = group.map_err(|fault| Failure::usage(format!("{}: {fault}", self.name)))?;
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
            return Err(format!(
                "--{log}: a run file with several [[run]] writes no logs"
            ));
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
            let place = format!("[[run]] {}", i + 1);
            if let Some(key) = WHOLE.iter().find(|key| own.contains_key(**key)) {
                return Err(format!(
                    "{place}: `{key}` is about all runs: put it in front of them"
                ));
            }
            let mut keys = content.shared.clone();
            keys.extend(own);
            if let Some((log, _)) = logs.iter().find(|l| several && keys.contains_key(l.0)) {
                return Err(format!(
                    "`{log}`: a run file with several [[run]] writes no logs"
                ));
            }
            match self
                .group(&keys)
                .map_err(|fault| format!("{place}: {fault}"))?
            {
                Some(run) => file.runs.push(run),
                None => file.warnings.push(format!(
                    "{}: {place}: none of its traces is in {}, so it is left out",
                    self.name,
                    self.folder.display()
                )),
            }
        }
        match file.runs.is_empty() {
            true => Err(format!("no trace of it is in {}", self.folder.display())),
            false => Ok(file),
        }
    }

    /// The options of one `[[run]]`; `None` if none of its traces is there.
    fn group(&self, keys: &Keys) -> Result<Option<(RunArgs, FileOptions)>, String> {
        let mut args = self.given.clone();
        let mut filed = FileOptions::of(&self.name);
        filed.run_name = run_name(keys)?;
        for (key, value) in keys.iter().filter(|k| !OWN.contains(&k.0.as_str())) {
            let arg = option_of(&self.command, key, &NO_KEYS, &OWN)?;
            let (command, field) = (&self.command, arg.get_id().as_str());
            let entry = FileEntry {
                key,
                value,
                arg,
                command,
            };
            let taken = args.take("", (), &entry);
            if taken.expect("every option of `run` has a field")? {
                filed.fields.insert(field.to_owned());
            }
        }
        self.check_pairs(&args, &filed)?;
        let optional = match keys.get("if-present") {
            None => false,
            Some(Value::Boolean(optional)) => *optional,
            Some(other) => return Err(format!("if-present = {other}: allowed: true, false")),
        };
        if let Some(value) = keys.get("trace").filter(|_| args.traces.is_empty()) {
            let traces = crate::args::texts("trace", value)?;
            args.traces = traces.iter().map(|trace| self.at(trace)).collect();
            if optional {
                args.traces.retain(|path| path.exists());
                if args.traces.is_empty() {
                    return Ok(None);
                }
            }
        }
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
    fn check_pairs(&self, args: &RunArgs, filed: &FileOptions) -> Result<(), String> {
        let both = [
            (
                ("closed_loop", "time_scale"),
                args.closed_loop.is_some() && args.time_scale.is_some(),
            ),
            (("fit", "wrap"), args.fit && args.wrap),
        ];
        if let Some((pair, _)) = both.iter().find(|pair| pair.1) {
            let from_file = |field| filed.fields.contains(field);
            let (first, second) = match from_file(pair.1) && !from_file(pair.0) {
                true => (pair.1, pair.0),
                false => *pair,
            };
            let name = |field: &str| {
                let mut all = self.command.get_arguments();
                all.find(|arg| arg.get_id() == field).map(Arg::to_string)
            };
            let (first, second) = (name(first), name(second));
            return Err(format!(
                "the argument '{}' cannot be used with '{}'",
                first.unwrap_or_default(),
                second.unwrap_or_default()
            ));
        }
        match args.series_every.is_some() && args.series.is_none() {
            true => Err("`series-every` needs `series`".to_owned()),
            false => Ok(()),
        }
    }
}
