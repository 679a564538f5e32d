//! `--config`: the exports of a server in TOML, whose keys are the options of `serve`.

use crate::args::{ExportArgs, ModelArgs, ServeArgs, ServerArgs};
use destage_console::failure::Failure;
use destage_experiment::options::{FilePart, KeyPlaces, OptionGroup, option_of};
use destage_experiment::run::Keys;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use toml::Value;

/// The text of a file, parsed.
#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    export: Vec<Keys>,
    /// Keys of the server, and those that all exports share.
    #[serde(flatten)]
    shared: Keys,
}

/// The settings of a server.
pub struct ServerSetup {
    pub server: ServerArgs,
    pub exports: Vec<ExportSetup>,
}

/// An export and the devices that watch it.
pub struct ExportSetup {
    pub args: ExportArgs,
    /// Where its options stand, if a file has them.
    pub part: Option<FilePart>,
    pub shadows: Vec<ShadowSetup>,
}

/// A device that watches an export.
pub struct ShadowSetup {
    pub model: ModelArgs,
    /// Where its options stand.
    pub part: FilePart,
}

/// The settings from the command line and its `--config`.
///
/// # Errors
/// The file cannot be read or says something that cannot be, or nothing says where to listen.
pub fn plan(args: ServeArgs) -> Result<ServerSetup, Failure> {
    let plan = match &args.config {
        None => ServerSetup {
            server: args.server,
            exports: vec![ExportSetup {
                args: args.export,
                part: None,
                shadows: Vec::new(),
            }],
        },
        Some(path) => read(path, args.server).map_err(Failure::usage)?,
    };
    if plan.server.socket.is_none() && plan.server.tcp.is_none() {
        let fault = "no address to listen on: give --socket PATH, --tcp ADDRESS:PORT, or both";
        return Err(Failure::usage(fault));
    }
    let mut names = BTreeSet::new();
    match plan.exports.iter().find(|e| !names.insert(e.args.name())) {
        Some(second) => {
            let name = second.args.name();
            let fault =
                format!("two exports have the name `{name}`: each needs a `name` of its own");
            let part = second.part.as_ref();
            Err(Failure::usage(part.map_or(fault.clone(), |part| {
                part.places.fault(&part.part, Some("name"), &fault)
            })))
        }
        None => Ok(plan),
    }
}

fn read(path: &Path, mut server: ServerArgs) -> Result<ServerSetup, String> {
    let refused = |error: &dyn std::fmt::Display| format!("--config {}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| refused(&error))?;
    let content: Content = toml::from_str(&text).map_err(|error| refused(&error))?;
    let places = KeyPlaces::of(path, &text);
    let file = FileOptions { places: &places };
    // Options of the command line stay.
    let shared = file.give(&mut server, &mut file.part(""), content.shared)?;
    if content.export.is_empty() {
        return Err(refused(&"it has no [[export]]"));
    }
    let mut exports = Vec::new();
    for (i, own) in content.export.into_iter().enumerate() {
        exports.push(file.export(&format!("export.{i}"), &shared, own)?);
    }
    Ok(ServerSetup { server, exports })
}

/// Gives what a file says to the options of `serve`.
struct FileOptions<'a> {
    places: &'a Arc<KeyPlaces>,
}

impl FileOptions<'_> {
    /// A part of the file whose keys are not yet read.
    fn part(&self, part: &str) -> FilePart {
        FilePart {
            places: Arc::clone(self.places),
            part: part.to_owned(),
            keys: BTreeSet::new(),
        }
    }

    /// An export with its shadows.
    fn export(&self, place: &str, shared: &Keys, mut own: Keys) -> Result<ExportSetup, String> {
        let mut part = self.part(place);
        let own_shadows = match own.remove("shadow") {
            None => Vec::new(),
            Some(Value::Array(tables)) => tables,
            Some(other) => {
                let fault = "[[export.shadow]] is expected";
                return Err(self.places.value_fault(place, "shadow", &other, fault));
            }
        };
        let mut keys = shared.clone();
        keys.extend(own);
        let mut args = ExportArgs::default();
        let others = self.give(&mut args, &mut part, keys.clone())?;
        if let Some((key, value)) = others.iter().next() {
            let fault =
                format!("`{key}` applies to the whole server: put it before the first [[export]]");
            return Err(self.places.value_fault(place, key, value, &fault));
        }
        if let Some((key, fault)) = args.find_conflict(|_| false) {
            return Err(self.places.fault(place, Some(&key), &fault));
        }
        let mut shadows = Vec::new();
        for (i, own) in own_shadows.into_iter().enumerate() {
            shadows.push(self.shadow(&format!("{place}.shadow.{i}"), &keys, own)?);
        }
        let part = Some(part);
        Ok(ExportSetup {
            args,
            part,
            shadows,
        })
    }

    /// A shadow is as its export, but for what it says itself.
    fn shadow(&self, place: &str, export: &Keys, own: Value) -> Result<ShadowSetup, String> {
        let Value::Table(own) = own else {
            let fault = format!("{own}: a table is expected");
            return Err(self.places.fault(place, None, &fault));
        };
        let (mut model, mut part) = (ModelArgs::default(), self.part(place));
        let others = self.give(&mut model, &mut part, own.into_iter().collect())?;
        if let Some((key, value)) = others.iter().next() {
            let fault = format!("`{key}` is not an option of a shadow");
            return Err(self.places.value_fault(place, key, value, &fault));
        }
        self.give(&mut model, &mut part, export.clone())?;
        Ok(ShadowSetup { model, part })
    }

    /// Gives `keys` to the options that they are about, unless these have a value; the keys about others.
    fn give(
        &self,
        to: &mut impl OptionGroup,
        part: &mut FilePart,
        keys: Keys,
    ) -> Result<Keys, String> {
        let mut others = Keys::new();
        for (key, value) in keys {
            let at = |fault: String| self.places.value_fault(&part.part, &key, &value, &fault);
            let all = ExportArgs::declared().iter().chain(ServerArgs::declared());
            let option = option_of(all, &key, &[]).map_err(at)?;
            match to.take_value(option, &value) {
                Some(taken) => {
                    if taken.map_err(at)? {
                        part.keys.insert(key);
                    }
                }
                None => _ = others.insert(key, value),
            }
        }
        Ok(others)
    }
}
