//! `--config`: the exports of a server in TOML, whose keys are the options of `serve`.

use crate::args::{Cli, ExportArgs, ModelArgs, ServeArgs, ServerArgs};
use clap::{Command, CommandFactory};
use destage_console::failure::Failure;
use destage_experiment::options::{FileEntry, FromFile, none, option_of};
use destage_experiment::run::Keys;
use serde::Deserialize;
use std::path::Path;
use toml::Value;

/// What a file says.
#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    export: Vec<Keys>,
    /// Keys of the server, and those that all exports share.
    #[serde(flatten)]
    shared: Keys,
}

/// What is served.
pub struct ServerPlan {
    pub server: ServerArgs,
    pub exports: Vec<ExportPlan>,
}

/// An export and the devices that watch it.
pub struct ExportPlan {
    pub args: ExportArgs,
    pub shadows: Vec<ModelArgs>,
}

/// What the command line and its `--config` say.
///
/// # Errors
/// The file cannot be read or says something that cannot be, or nothing says where to listen.
pub fn plan(args: ServeArgs) -> Result<ServerPlan, Failure> {
    let plan = match &args.config {
        None => ServerPlan {
            server: args.server,
            exports: vec![ExportPlan {
                args: args.export,
                shadows: Vec::new(),
            }],
        },
        Some(path) => read(path, args.server)
            .map_err(|fault| Failure::usage(format!("--config {}: {fault}", path.display())))?,
    };
    if plan.server.socket.is_none() && plan.server.tcp.is_none() {
        let fault = "a place to listen at is needed: --socket PATH, --tcp ADDRESS:PORT or both";
        return Err(Failure::usage(fault));
    }
    let mut names: Vec<String> = plan.exports.iter().map(|e| e.args.name()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Failure::usage(format!(
            "two exports have the name `{}`: each needs a `name` of its own",
            pair[0]
        ))),
        None => Ok(plan),
    }
}

fn read(path: &Path, mut server: ServerArgs) -> Result<ServerPlan, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let content: Content = toml::from_str(&text).map_err(|error| error.to_string())?;
    let mut command = Cli::command();
    command.build();
    let serve = command.find_subcommand("serve");
    let file = FileOptions(serve.expect("`serve` is a command"));
    // What the command line has said already stays.
    let shared = file.give(&mut server, content.shared)?;
    if content.export.is_empty() {
        return Err("it has no [[export]]".to_owned());
    }
    let mut exports = Vec::new();
    for (i, own) in content.export.into_iter().enumerate() {
        let place = |fault| format!("[[export]] {}: {fault}", i + 1);
        exports.push(file.export(&shared, own).map_err(place)?);
    }
    Ok(ServerPlan { server, exports })
}

/// Gives what a file says to the options of `serve`.
struct FileOptions<'a>(&'a Command);

impl FileOptions<'_> {
    /// An export with its shadows.
    fn export(&self, shared: &Keys, mut own: Keys) -> Result<ExportPlan, String> {
        let own_shadows = match own.remove("shadow") {
            None => Vec::new(),
            Some(Value::Array(tables)) => tables,
            Some(other) => return Err(format!("shadow = {other}: [[export.shadow]] is expected")),
        };
        let mut keys = shared.clone();
        keys.extend(own);
        let mut args = none::<ExportArgs>();
        let others = self.give(&mut args, keys.clone())?;
        if let Some(key) = others.keys().next() {
            return Err(format!(
                "`{key}` is about the whole server: put it in front of the exports"
            ));
        }
        check_pairs(&args)?;
        let mut shadows = Vec::new();
        for (i, own) in own_shadows.into_iter().enumerate() {
            let place = |fault| format!("[[export.shadow]] {}: {fault}", i + 1);
            shadows.push(self.shadow(&keys, own).map_err(place)?);
        }
        Ok(ExportPlan { args, shadows })
    }

    /// A shadow is as its export, but for what it says itself.
    fn shadow(&self, export: &Keys, own: Value) -> Result<ModelArgs, String> {
        let Value::Table(own) = own else {
            return Err(format!("{own}: a table is expected"));
        };
        let mut model = none::<ModelArgs>();
        let others = self.give(&mut model, own.into_iter().collect())?;
        if let Some(key) = others.keys().next() {
            return Err(format!("`{key}` says nothing of a shadow"));
        }
        self.give(&mut model, export.clone())?;
        Ok(model)
    }

    /// Gives `keys` to the options that they are about, unless these have a value; the keys about others.
    fn give(&self, to: &mut impl FromFile<()>, keys: Keys) -> Result<Keys, String> {
        let mut others = Keys::new();
        for (key, value) in keys {
            let entry = FileEntry {
                key: &key,
                value: &value,
                arg: option_of(self.0, &key, &["config", "help"], &[])?,
                command: self.0,
            };
            match to.take("", (), &entry) {
                Some(taken) => _ = taken?,
                None => _ = others.insert(key, value),
            }
        }
        Ok(others)
    }
}

/// Pairs of options of which the command line refuses one.
fn check_pairs(args: &ExportArgs) -> Result<(), String> {
    let both = [
        (
            "backing",
            "data",
            args.backing.is_some() && args.data.is_some(),
        ),
        (
            "no-delay",
            "time-scale",
            args.no_delay && args.time_scale.is_some(),
        ),
    ];
    match both.iter().find(|pair| pair.2) {
        Some((first, second, _)) => Err(format!("`{first}` cannot be used with `{second}`")),
        None => Ok(()),
    }
}
