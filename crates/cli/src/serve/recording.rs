//! `--record`: what was served, as a trace.

use destage_console::failure::Failure;
use destage_console::file::{OutputFile, complete};
use destage_console::suffix;
use destage_live::device::RequestWatcher;
use destage_trace::BinWriter;
use destage_types::{HostRequest, RequestBatch};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

struct Writer {
    out: BinWriter<BufWriter<OutputFile>>,
    /// The first fault; nothing is written after it.
    failed: Option<io::Error>,
}

/// A trace that is being written.
pub struct TraceRecording {
    path: PathBuf,
    writer: Arc<Mutex<Writer>>,
}

impl TraceRecording {
    /// Starts the trace at `path`.
    ///
    /// # Errors
    /// It cannot be made, or another command writes it.
    pub fn create(path: &Path) -> Result<TraceRecording, Failure> {
        suffix::RECORD.check("--record", path)?;
        let out =
            OutputFile::create_alone(path).and_then(|file| BinWriter::new(BufWriter::new(file)));
        let out = out.map_err(|error| {
            Failure::usage(format!(
                "--record {}: cannot create it: {error}",
                path.display()
            ))
        })?;
        let writer = Writer { out, failed: None };
        Ok(TraceRecording {
            path: path.to_owned(),
            writer: Arc::new(Mutex::new(writer)),
        })
    }

    /// An observer that records each request.
    pub fn watcher(&self) -> Box<dyn RequestWatcher> {
        Box::new(Recorder {
            writer: Arc::clone(&self.writer),
            one: RequestBatch::new(),
        })
    }

    /// Completes the trace. The server that recorded has ended.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn finish(self) -> Result<(), Failure> {
        let place = self.path.display().to_string();
        let writer = Arc::into_inner(self.writer).expect("who records has ended");
        let Writer { out, failed } = writer.into_inner().unwrap_or_else(PoisonError::into_inner);
        let finished = match failed {
            Some(error) => Err(error),
            None => out.finish(&[], true),
        };
        finished
            .and_then(complete)
            .map_err(|error| Failure::Run(format!("--record {place}: cannot write it: {error}")))
    }
}

struct Recorder {
    writer: Arc<Mutex<Writer>>,
    /// Reused.
    one: RequestBatch,
}

impl RequestWatcher for Recorder {
    fn request(&mut self, request: &HostRequest) {
        let writer = &mut *self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.failed.is_none() {
            self.one.clear();
            self.one.push(*request);
            let mut all = self.one.iter();
            let written = all.try_for_each(|request| writer.out.write(request));
            writer.failed = written.err();
        }
    }
}
