//! Executes the orders that come in at `--control`.

use crate::serve::exports::{ServedExport, spec_of};
use destage_console::file::OutputFile;
use destage_console::identity::same_file;
use destage_live::control::{ControlCommand, ControlReply, ControlRequest};
use destage_live::server::ExportMoment;
use destage_live::shadow::Shadow;
use destage_sim::ResultRecord;
use destage_types::ByteSize;
use serde_json::{Map, Value, json};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, PoisonError};

const ENDED: &str = "the export has ended";

/// Carries out what is asked of the exports of a server.
pub struct Controller {
    pub exports: Arc<Vec<ServedExport>>,
    /// Files that the server writes or reads itself.
    pub files: Vec<PathBuf>,
    /// Ends the server.
    pub end: Sender<()>,
}

impl Controller {
    /// Does what `request` asks.
    ///
    /// # Errors
    /// It cannot be done; then nothing has happened.
    pub fn answer(&self, request: ControlRequest) -> ControlReply {
        let name = request.export.as_deref();
        match request.command {
            ControlCommand::Stats {} => self.stats(name),
            ControlCommand::Scheme { scheme, cache } => {
                self.scheme(self.only(name)?, &scheme, cache)
            }
            ControlCommand::Reset {} => reset(self.only(name)?),
            ControlCommand::PowerCut {} => power_cut(self.only(name)?),
            ControlCommand::Snapshot { file } => self.snapshot(self.only(name)?, &file),
            ControlCommand::Shutdown {} => {
                self.end.send(()).map_err(|_| "the server ends already")?;
                Ok(Map::new())
            }
        }
    }

    fn named(&self, name: &str) -> Result<&ServedExport, String> {
        let found = self.exports.iter().find(|e| e.handle.name() == name);
        found.ok_or_else(|| format!("there is no export `{name}`, but {}", self.names()))
    }

    fn names(&self) -> String {
        let names = self
            .exports
            .iter()
            .map(|e| format!("`{}`", e.handle.name()));
        names.collect::<Vec<_>>().join(", ")
    }

    /// The export that is meant.
    fn only(&self, name: Option<&str>) -> Result<&ServedExport, String> {
        match (name, &self.exports[..]) {
            (Some(name), _) => self.named(name),
            (None, [only]) => Ok(only),
            _ => Err(format!(
                "several exports: set `export` to one of {}",
                self.names()
            )),
        }
    }

    fn stats(&self, name: Option<&str>) -> ControlReply {
        let exports: Vec<&ServedExport> = match name {
            Some(name) => vec![self.named(name)?],
            None => self.exports.iter().collect(),
        };
        let stats: Result<Vec<Value>, String> = exports.into_iter().map(stats_of).collect();
        Ok(Map::from_iter([(
            "exports".to_owned(),
            Value::from(stats?),
        )]))
    }

    fn scheme(&self, export: &ServedExport, scheme: &str, cache: Option<String>) -> ControlReply {
        let mut model = export.model.lock().unwrap_or_else(PoisonError::into_inner);
        let mut new = model.clone();
        new.scheme = Some(scheme.to_owned());
        if let Some(cache) = cache {
            let size = ByteSize::parse(&cache).map_err(|error| format!("cache: {error}"))?;
            new.cache = Some(size);
        }
        let (spec, warnings) = spec_of(&new).map_err(|failure| failure.text())?;
        let (old, _) = spec_of(&model).map_err(|failure| failure.text())?;
        let memory = export.change_memory(&old, &spec)?;
        let shadows = export.shadows.clone();
        let asked = spec.clone();
        let changed = export.handle.at_rest(move |moment| {
            let changed = moment.device.change_to(moment.now, asked);
            changed.map_err(|error| error.to_string())?;
            moment.device.set_volatile_limit(memory.volatile);
            begin_again(moment, &shadows);
            Ok::<(), String>(())
        });
        if let Err(refused) = changed.ok_or(ENDED.to_owned()).and_then(|changed| changed) {
            // It is what it was.
            export.change_memory(&spec, &old)?;
            return Err(refused);
        }
        *model = new;
        let told = ("warnings".to_owned(), Value::from(warnings.clone()));
        Ok(Map::from_iter((!warnings.is_empty()).then_some(told)))
    }

    fn snapshot(&self, export: &ServedExport, path: &Path) -> ControlReply {
        let at = |error: io::Error| format!("{}: {error}", path.display());
        if !path.is_absolute() {
            return Err(format!("{}: the path must be absolute", path.display()));
        }
        if let Some(own) = self.files.iter().find(|own| same_file(own, path)) {
            return Err(format!("the server uses {} itself", own.display()));
        }
        let mut file = OutputFile::create_alone(path).map_err(at)?;
        let bytes = export.bytes;
        let copied = export.handle.at_rest(move |moment| {
            let store = moment.device.store();
            if !store.keeps_data() {
                return Err(io::Error::other("the export keeps no data (--data none)"));
            }
            store.copy_durable(bytes, &mut file)?;
            Ok(file)
        });
        let file = copied.ok_or(ENDED)?.map_err(at)?;
        // Behind the last data may be nothing.
        file.set_len(bytes).map_err(at)?;
        file.commit().map_err(at)?;
        Ok(Map::from_iter([("bytes".to_owned(), Value::from(bytes))]))
    }
}

fn reset(export: &ServedExport) -> ControlReply {
    let shadows = export.shadows.clone();
    let done = export
        .handle
        .at_rest(move |moment| begin_again(moment, &shadows));
    done.ok_or(ENDED)?;
    Ok(Map::new())
}

/// New statistics of an export and its shadows begin with the same request.
fn begin_again(moment: &mut ExportMoment<'_>, shadows: &[Shadow]) {
    moment.device.device().reset_statistics();
    *moment.lateness = Default::default();
    *moment.responses = Default::default();
    shadows.iter().for_each(Shadow::reset);
}

fn power_cut(export: &ServedExport) -> ControlReply {
    let loss = export.handle.power_cut().ok_or(ENDED)?;
    let told = [
        ("lost_pages", loss.pages),
        ("unanswered_requests", loss.requests),
    ];
    let told = told.map(|(name, value)| (name.to_owned(), Value::from(value)));
    Ok(Map::from_iter(told))
}

/// The figures of one export so far.
fn stats_of(export: &ServedExport) -> Result<Value, String> {
    let shadows = export.shadows.clone();
    let look = move |moment: &mut ExportMoment<'_>| {
        // Their figures are those after the same request.
        let now = moment.now;
        let asked: Vec<_> = shadows.iter().map(|shadow| shadow.report(now)).collect();
        let late = moment.lateness.clone();
        let cuts = moment.power_cuts.to_vec();
        let record = moment.device.device().record();
        (record, now, moment.requests, cuts, late, asked)
    };
    let (record, now, requests, cuts, late, asked) = export.handle.at_rest(look).ok_or(ENDED)?;
    let json = |record: ResultRecord| serde_json::to_value(record).map_err(|e| e.to_string());
    let record = json(record)?;
    let shadows = asked.iter().map(|asked| {
        let report = asked.wait().ok_or("a shadow has ended")?;
        Ok(json!({
            "complete": report.is_complete(),
            "lost_requests": report.lost,
            "failure": report.failure,
            "record": json(report.record)?,
        }))
    });
    let shadows: Result<Vec<Value>, String> = shadows.collect();
    let cuts = cuts
        .iter()
        .map(|cut| json!({ "lost_pages": cut.pages, "unanswered_requests": cut.requests }));
    Ok(json!({
        "name": export.handle.name(),
        "simulated_ns": now.0,
        "requests": requests,
        "power_cuts": cuts.collect::<Vec<_>>(),
        "lateness": {
            "replies": late.replies(),
            "behind": late.behind(),
            "p50_ns": late.quantile(0.5),
            "p99_ns": late.quantile(0.99),
            "p999_ns": late.quantile(0.999),
            "max_ns": late.max(),
        },
        "record": record,
        "shadows": shadows?,
    }))
}
