//! The logs of one run: evictions, requests, intervals, a timeline. They are files once the run is done.

use crate::run::charts::ChartCollector;
use crate::run::scene_collector::SceneCollector;
use crate::run::series;
use crate::run::timeline;
use destage_console::failure::Failure;
use destage_console::file::OutputFile;
use destage_sim::log::EvictionLog;
use destage_sim::runner::Logs;
use destage_sim::{Every, Observer, RunSpec, TimelineWindow};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Extensions of logs that are given none: of evictions, requests, series and timeline.
pub const LOG_EXTENSIONS: [&str; 4] = ["jsonl", "csv", "csv", "pftrace"];

/// Where the logs of one run go.
#[derive(Default)]
pub struct RunLogs {
    /// One object per eviction.
    pub evictions: Option<LogFile>,
    /// One line per request.
    pub requests: Option<LogFile>,
    /// One row per interval.
    pub series: Option<(LogFile, Every)>,
    /// The timeline of a window.
    pub timeline: Option<RunTimeline>,
    /// Data of the charts of a report.
    pub charts: Option<ChartCollector>,
    /// The scene of a watched window.
    pub scene: Option<SceneCollector>,
}

/// Where the timeline of one run goes.
pub struct RunTimeline {
    /// The file.
    pub file: LogFile,
    /// The part of the run that it shows.
    pub window: TimelineWindow,
    /// Memory that it may take before it is written.
    pub limit: u64,
}

impl RunLogs {
    fn files(&self) -> impl Iterator<Item = &LogFile> {
        let series = self.series.as_ref().map(|series| &series.0);
        let timeline = self.timeline.as_ref().map(|timeline| &timeline.file);
        [&self.evictions, &self.requests]
            .into_iter()
            .flatten()
            .chain(series)
            .chain(timeline)
    }

    /// Are all of them there?
    pub fn are_there(&self) -> bool {
        self.files().all(|file| file.path.exists())
    }

    /// The logs, and what a run writes to.
    pub fn open(self) -> (RunLogs, Logs) {
        if cfg!(target_family = "wasm") {
            // Logs are files, which a browser does not have: the check of the plan has refused them.
            return (self, Logs::default());
        }
        let writer = |file: &LogFile| Box::new(file.clone()) as Box<dyn Write + Send>;
        let evictions = self.evictions.as_ref().map(writer).map(EvictionLog::new);
        let requests = self.requests.as_ref().map(writer);
        let series = self.series.as_ref();
        let mut writers = Logs {
            observer: evictions.map(|log| Box::new(log) as Box<dyn Observer + Send>),
            requests,
            series: series
                .map(|(file, every)| {
                    series::to_file(*every, &file.path, BufWriter::new(file.clone()))
                })
                .into_iter()
                .collect(),
            profile: None,
            timeline: self.timeline.as_ref().map(|timeline| {
                let out = BufWriter::new(timeline.file.clone());
                timeline::to_file(timeline.window, timeline.limit, out)
            }),
            watch: self.scene.clone().map(SceneCollector::hook),
        };
        if let Some(charts) = self.charts.clone() {
            charts.follow(&mut writers);
        }
        (self, writers)
    }

    /// The run is done, and so are they.
    ///
    /// # Errors
    /// One cannot be written.
    pub fn commit(self) -> Result<(), Failure> {
        let mut files = self.files();
        let done = files.try_for_each(LogFile::commit);
        done.map_err(|error| Failure::Run(format!("cannot write the log: {error}")))
    }
}

/// A log. A thread writes it, another one says that it is complete.
#[derive(Clone)]
pub struct LogFile {
    path: PathBuf,
    file: Arc<Mutex<Option<OutputFile>>>,
}

impl LogFile {
    /// The log at `path`, which is created with the first byte, or, if there is none, when it is complete.
    pub fn new(path: PathBuf) -> LogFile {
        let file = Arc::default();
        LogFile { path, file }
    }

    fn opened(&self) -> io::Result<MutexGuard<'_, Option<OutputFile>>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            *file = Some(OutputFile::create(&self.path).map_err(|error| self.named(&error))?);
        }
        Ok(file)
    }

    fn commit(&self) -> io::Result<()> {
        let file = self.opened()?.take().expect("it is open");
        file.commit().map_err(|error| self.named(&error))
    }

    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
    }
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.opened()?;
        file.as_mut()
            .expect("it is open")
            .write(bytes)
            .map_err(|error| self.named(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Name of the log of one of several runs: trace, scheme, cache size, and the beginning of the key of the run.
pub fn log_name(log: &Path, extension: &str, name: &str, run: &RunSpec, key: &str) -> String {
    let parts = match run.is_cached() {
        true => format!("{name}-{}-{}", run.expr, run.cache),
        false => format!("{name}-{}", run.expr),
    };
    let (stem, extension) = log_name_parts(log, extension);
    format!(
        "{stem}-{}-{}.{extension}",
        file_name_part(&parts),
        key.get(..8).unwrap_or_default()
    )
}

/// Stem and extension of the names of a log, which has `extension` if it is given none.
pub fn log_name_parts(log: &Path, extension: &str) -> (String, String) {
    let given = lossy_text(log.extension());
    let extension = if given.is_empty() { extension } else { &given };
    (lossy_text(log.file_stem()), extension.to_owned())
}

fn lossy_text(text: Option<&std::ffi::OsStr>) -> String {
    text.map_or_else(String::new, |t| t.to_string_lossy().into_owned())
}

/// `text` as part of a file name: no character that a shell or a file system treats specially.
fn file_name_part(text: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '=' | '+');
    let name: String = text
        .chars()
        .map(|c| if keep(c) { c } else { '_' })
        .take(120)
        .collect();
    name.trim_end_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_tame() {
        assert_eq!(file_name_part("hm_0-ecr(lru)-16MiB"), "hm_0-ecr_lru_-16MiB");
        assert_eq!(file_name_part("a/../b"), "a_.._b");
        assert_eq!(file_name_part("cac(lru)"), "cac_lru");
    }
}
