//! `--config`: the exports of a server in TOML, whose keys are the options of `serve`.

use crate::args::{ExportArgs, LimitArgs, ModelArgs, ServeArgs, ServerArgs, texts};
use crate::failure::Failure;
use clap::{Args, Command, FromArgMatches};
use destage_types::nearest;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Value;

type Keys = BTreeMap<String, Value>;

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
    let mut names: Vec<&str> = plan.exports.iter().map(|e| e.args.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Failure::usage(format!(
            "two exports have the name `{}`: each needs a `name` of its own",
            pair[0]
        ))),
        None => Ok(plan),
    }
}

fn read(path: &Path, given: ServerArgs) -> Result<ServerPlan, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let content: Content = toml::from_str(&text).map_err(|error| error.to_string())?;
    let of_server = ServerArgs::augment_args(Command::new("server"));
    let is_server = |key: &String| longs(&of_server).any(|long| long == key);
    let (server, shared) = content
        .shared
        .into_iter()
        .partition::<Keys, _>(|(key, _)| is_server(key));
    let filed = parse::<ServerArgs>(&server, &[])?;
    if content.export.is_empty() {
        return Err("it has no [[export]]".to_owned());
    }
    let mut exports = Vec::new();
    for (i, own) in content.export.into_iter().enumerate() {
        let place = format!("[[export]] {}", i + 1);
        if let Some(key) = own.keys().find(|key| is_server(key)) {
            return Err(format!(
                "{place}: `{key}` is about the whole server: put it in front of the exports"
            ));
        }
        let mut keys = shared.clone();
        keys.extend(own);
        let others: Vec<&str> = longs(&of_server).collect();
        let plan = export(keys, &others).map_err(|fault| format!("{place}: {fault}"))?;
        exports.push(plan);
    }
    let server = over(given, filed);
    Ok(ServerPlan { server, exports })
}

/// An export with its shadows; `others` are keys that are allowed elsewhere.
fn export(mut keys: Keys, others: &[&str]) -> Result<ExportPlan, String> {
    let shadows = match keys.remove("shadow") {
        None => Vec::new(),
        Some(Value::Array(tables)) => tables,
        Some(other) => return Err(format!("shadow = {other}: [[export.shadow]] is expected")),
    };
    let args = parse::<ExportArgs>(&keys, others)?;
    let model = ModelArgs::augment_args(Command::new("shadow"));
    keys.retain(|key, _| longs(&model).any(|long| long == key));
    let shadow = |(i, own): (usize, Value)| {
        let place = format!("[[export.shadow]] {}", i + 1);
        let Value::Table(own) = own else {
            return Err(format!("{place}: {own}: a table is expected"));
        };
        // A shadow is as its export, but for what it says itself.
        let mut all = keys.clone();
        all.extend(own);
        parse::<ModelArgs>(&all, &[]).map_err(|fault| format!("{place}: {fault}"))
    };
    let shadows: Result<_, String> = shadows.into_iter().enumerate().map(shadow).collect();
    Ok(ExportPlan {
        args,
        shadows: shadows?,
    })
}

/// What the command line gave goes before what the file says.
fn over(given: ServerArgs, filed: ServerArgs) -> ServerArgs {
    ServerArgs {
        socket: given.socket.or(filed.socket),
        tcp: given.tcp.or(filed.tcp),
        tls: given.tls.or(filed.tls),
        control: given.control.or(filed.control),
        ui: given.ui.or(filed.ui),
        ui_public: given.ui_public || filed.ui_public,
        limit: LimitArgs {
            memory: given.limit.memory.or(filed.limit.memory),
        },
        form: crate::args::FormatOutArgs {
            format_out: given.form.format_out.or(filed.form.format_out),
        },
    }
}

fn longs(command: &Command) -> impl Iterator<Item = &str> {
    command.get_arguments().filter_map(|arg| arg.get_long())
}

/// Reads keys as the command line reads options; `others` are allowed elsewhere.
fn parse<A: Args + FromArgMatches>(keys: &Keys, others: &[&str]) -> Result<A, String> {
    let command = A::augment_args(Command::new("export").no_binary_name(true));
    let mut words = Vec::new();
    for (key, value) in keys {
        let found = command
            .get_arguments()
            .find(|arg| arg.get_long() == Some(key));
        let Some(arg) = found else {
            let near = nearest(key, longs(&command).chain(others.iter().copied()));
            let near = near.unwrap_or_default();
            return Err(format!("no option `{key}`; did you mean `{near}`?"));
        };
        match (arg.get_action().takes_values(), value) {
            (false, Value::Boolean(true)) => words.push(format!("--{key}")),
            (false, Value::Boolean(false)) => {}
            (false, other) => return Err(format!("{key} = {other}: allowed: true, false")),
            (true, value) => {
                let texts = texts(key, value)?;
                words.extend(texts.iter().map(|text| format!("--{key}={text}")));
            }
        }
    }
    let said = |error: clap::Error| {
        let text = error.to_string();
        let first = text.split("\n\n").next().unwrap_or_default();
        let lines = first.trim_start_matches("error: ").lines().map(str::trim);
        lines.collect::<Vec<_>>().join(" ")
    };
    let matches = command.try_get_matches_from(words).map_err(said)?;
    A::from_arg_matches(&matches).map_err(said)
}
