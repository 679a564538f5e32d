//! Run files: TOML whose keys are the long options of `run`, several runs to a file, for
//! experiments that are to be repeated.

use super::claims::Claim;
use crate::args::{Cli, Command, RunArgs};
use crate::failure::Failure;
use clap::{Arg, CommandFactory, Parser};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::Value;

/// Keys of one part of a run file, by name.
type Keys = BTreeMap<String, Value>;

/// Options about the output as a whole, which cannot differ from one `[[run]]` to the next.
const WHOLE: [&str; 7] = [
    "out",
    "format-out",
    "details",
    "report",
    "log-evictions",
    "log-requests",
    "series",
];
/// Those that hold one log for each run.
const LOGS: [&str; 3] = ["log-evictions", "log-requests", "series"];
/// Keys that are no options.
const OWN: [&str; 3] = ["trace", "name", "if-present"];

/// What a run file says.
#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    run: Vec<Keys>,
    #[serde(default)]
    claim: Vec<Claim>,
    /// Keys that all runs share.
    #[serde(flatten)]
    shared: Keys,
}

/// A run file as the arguments it stands for.
pub struct RunFile {
    /// One set of arguments for each `[[run]]`.
    pub runs: Vec<RunArgs>,
    /// Figures of a paper to compare the results with.
    pub claims: Vec<Claim>,
    /// What was left out.
    pub warnings: Vec<String>,
    /// Origin of settings from this file.
    pub origin: String,
    /// Keys that come from the file.
    keys: Vec<String>,
}

impl RunFile {
    /// Reads the file named in `given`, the arguments of `command`, which override it.
    ///
    /// # Errors
    /// The file cannot be read, a key is no option, or a value is none of its option.
    pub fn read(path: &Path, given: &RunArgs, command: &[String]) -> Result<RunFile, Failure> {
        let place = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::usage(format!("--config {place}: {error}")))?;
        let content: Content = toml::from_str(&text)
            .map_err(|error| Failure::usage(format!("--config {place}: {error}")))?;
        let folder = given.trace_dir.as_deref().or(path.parent());
        let reading = Reading {
            given,
            command,
            folder: folder.unwrap_or(Path::new("")),
            options: options(),
        };
        reading
            .file(content, path)
            .map_err(|fault| Failure::usage(format!("--config {place}: {fault}")))
    }

    /// Says of settings that come from this file that they do.
    pub fn name_origins(&self, runs: &mut [destage_sim::RunSpec]) {
        let settings = runs.iter_mut().flat_map(|run| &mut run.settings);
        let flag =
            |s: &&mut destage_sim::record::Setting| s.origin == super::settings::COMMAND_LINE;
        for setting in settings.filter(flag) {
            let key = setting.key.replace('_', "-");
            let set = self.keys.iter().any(|k| k == "set") && !self.keys.contains(&key);
            if self.keys.contains(&key) || set {
                setting.origin.clone_from(&self.origin);
            }
        }
    }
}

/// The options of `run` by their long names.
fn options() -> BTreeMap<String, Arg> {
    let command = Cli::command();
    let run = command.find_subcommand("run").expect("`run` is a command");
    let named = |arg: &Arg| Some((arg.get_long()?.to_owned(), arg.clone()));
    let mut all: BTreeMap<String, Arg> = run.get_arguments().filter_map(named).collect();
    // A run file does not name itself, or where it is used.
    all.retain(|key, _| !matches!(key.as_str(), "config" | "trace-dir"));
    all
}

struct Reading<'a> {
    given: &'a RunArgs,
    command: &'a [String],
    folder: &'a Path,
    options: BTreeMap<String, Arg>,
}

impl Reading<'_> {
    fn file(&self, content: Content, path: &Path) -> Result<RunFile, String> {
        let several = content.run.len() > 1;
        let groups = match content.run.is_empty() {
            true => vec![Keys::new()],
            false => content.run,
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut file = RunFile {
            runs: Vec::new(),
            claims: content.claim,
            warnings: Vec::new(),
            origin: format!("{}{name}", super::settings::RUN_FILE),
            keys: Vec::new(),
        };
        if let Some(log) = LOGS.iter().find(|log| several && self.overrides(log)) {
            return Err(format!(
                "--{log}: a run file with several [[run]] writes no logs"
            ));
        }
        for (i, own) in groups.into_iter().enumerate() {
            let place = format!("[[run]] {}", i + 1);
            if let Some(key) = WHOLE.iter().find(|key| own.contains_key(**key)) {
                return Err(format!(
                    "{place}: `{key}` is about all runs: put it in front of them"
                ));
            }
            let mut keys = content.shared.clone();
            keys.extend(own);
            if let Some(log) = LOGS.iter().find(|log| several && keys.contains_key(**log)) {
                return Err(format!(
                    "`{log}`: a run file with several [[run]] writes no logs"
                ));
            }
            match self
                .group(&keys)
                .map_err(|fault| format!("{place}: {fault}"))?
            {
                Some(args) => file.runs.push(args),
                None => file.warnings.push(format!(
                    "{name}: {place}: none of its traces is in {}, so it is left out",
                    self.folder.display()
                )),
            }
            file.keys
                .extend(keys.into_keys().filter(|key| !self.overrides(key)));
        }
        match file.runs.is_empty() {
            true => Err(format!("no trace of it is in {}", self.folder.display())),
            false => Ok(file),
        }
    }

    /// Does the command line say this itself?
    fn overrides(&self, key: &str) -> bool {
        let long = format!("--{key}");
        let said = |arg: &String| {
            let tail = arg.strip_prefix(&long);
            tail.is_some_and(|tail| tail.is_empty() || tail.starts_with('='))
        };
        self.command.iter().any(said)
    }

    /// The arguments of one `[[run]]`; `None` if none of its traces is there.
    fn group(&self, keys: &Keys) -> Result<Option<RunArgs>, String> {
        let mut args = vec!["destage".to_owned(), "run".to_owned()];
        let optional = match keys.get("if-present") {
            None => false,
            Some(Value::Boolean(optional)) => *optional,
            Some(other) => return Err(format!("if-present = {other}: allowed: true, false")),
        };
        for (key, value) in keys.iter().filter(|k| !OWN.contains(&k.0.as_str())) {
            let option = self.option(key, value)?;
            if !self.overrides(key) {
                args.extend(option);
            }
        }
        if self.given.traces.is_empty() {
            let traces = keys.get("trace").map(|v| texts("trace", v)).transpose()?;
            let mut paths: Vec<PathBuf> =
                traces.into_iter().flatten().map(|t| self.at(&t)).collect();
            if optional {
                paths.retain(|path| path.exists());
                if paths.is_empty() {
                    return Ok(None);
                }
            }
            args.extend(paths.iter().map(|p| p.to_string_lossy().into_owned()));
        }
        args.extend(self.command.iter().cloned());
        let cli = Cli::try_parse_from(args).map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            first.trim_start_matches("error: ").to_owned()
        })?;
        match cli.command {
            Command::Run(args) => Ok(Some(*args)),
            _ => Err("is about `run` alone".to_owned()),
        }
    }

    /// A trace is looked for in the folder of traces.
    fn at(&self, trace: &str) -> PathBuf {
        match trace {
            "-" => PathBuf::from("-"),
            _ => self.folder.join(trace),
        }
    }

    fn option(&self, key: &str, value: &Value) -> Result<Vec<String>, String> {
        let Some(arg) = self.options.get(key) else {
            let known = self.options.keys().map(String::as_str).chain(OWN);
            let near = known.min_by_key(|k| strsim::damerau_levenshtein(key, k));
            let near = near.unwrap_or_default();
            return Err(format!("no option `{key}`; did you mean `{near}`?"));
        };
        if !arg.get_action().takes_values() {
            return match value {
                Value::Boolean(true) => Ok(vec![format!("--{key}")]),
                Value::Boolean(false) => Ok(Vec::new()),
                other => Err(format!("{key} = {other}: allowed: true, false")),
            };
        }
        let texts = texts(key, value)?;
        Ok(texts.iter().map(|text| format!("--{key}={text}")).collect())
    }
}

/// A value, or a list of them, as the command line writes it.
fn texts(key: &str, value: &Value) -> Result<Vec<String>, String> {
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
