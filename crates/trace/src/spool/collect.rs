//! Requests that are made one after the other and kept: in memory, or in a temporary file once
//! they are too many.

use std::fs::File;
use std::io::{self, BufWriter};

use destage_types::{Nanos, RequestBatch, RequestFlags};

use crate::error::TraceError;
use crate::load::{Trace, TraceMeta};
use crate::spool::{Spool, Stored};
use crate::tags::TagSet;
use crate::writers::BinWriter;

/// A temporary `destage-bin` file that is being written.
pub(crate) struct SpoolFile {
    writer: BinWriter<BufWriter<File>>,
    /// Arrival of the last request.
    last: Nanos,
    /// The flags that some requests have.
    flags: RequestFlags,
}

impl SpoolFile {
    /// Makes one in the system's folder for temporary files. It has no name there, so however the process
    /// ends, nothing is left.
    pub fn create() -> Result<SpoolFile, TraceError> {
        if cfg!(target_family = "wasm") {
            return Err(TraceError::NoSpool);
        }
        let file = tempfile::tempfile().map_err(failed)?;
        let writer = BinWriter::new(BufWriter::new(file)).map_err(failed)?;
        Ok(SpoolFile {
            writer,
            last: Nanos::ZERO,
            flags: RequestFlags::NONE,
        })
    }

    /// Appends requests.
    pub fn write(&mut self, requests: &RequestBatch) -> Result<(), TraceError> {
        self.flags = self.flags.and(RequestFlags::of(requests.records()));
        for request in requests.iter() {
            self.last = request.head.arrival;
            let written = self.writer.write(request);
            written.map_err(failed)?;
        }
        Ok(())
    }

    /// Ends the file; `timed`: do the requests have times of their own?
    pub fn finish(self, requests: u64, timed: bool) -> Result<Spool, TraceError> {
        let out = self.writer.finish(&[], timed).map_err(failed)?;
        let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
        Ok(Spool {
            timed,
            ..Spool::made(file, requests, self.last, self.flags)
        })
    }
}

/// The name of the temporary file in errors.
pub(crate) fn place() -> String {
    format!("a temporary file in {}", std::env::temp_dir().display())
}

/// A fault of such a file.
pub(crate) fn failed(source: io::Error) -> TraceError {
    let file = place();
    TraceError::Spool { file, source }
}

/// Bytes of requests that a producer makes before they are kept.
const PART: u64 = 1 << 20;

/// Keeps what a producer makes. The first request kept arrives at 0, as in every trace.
pub struct RequestCollector {
    /// The requests made last: the producer appends to it.
    pub made: RequestBatch,
    kept: RequestBatch,
    file: Option<SpoolFile>,
    memory: u64,
    tags: TagSet,
    /// Arrival of the first request kept.
    first: Option<Nanos>,
    requests: u64,
}

impl RequestCollector {
    /// Of at most `memory` bytes before a file is made; only of the kinds `tags`.
    pub fn new(memory: u64, tags: Option<TagSet>) -> RequestCollector {
        RequestCollector {
            made: RequestBatch::new(),
            kept: RequestBatch::new(),
            file: None,
            memory,
            tags: tags.unwrap_or(TagSet::ALL),
            first: None,
            requests: 0,
        }
    }

    /// Keeps what was made, if that is worth it.
    ///
    /// # Errors
    /// The temporary file cannot be written.
    pub fn part(&mut self) -> Result<(), TraceError> {
        if self.made.memory() < PART.min(self.memory) {
            Ok(())
        } else {
            self.keep()
        }
    }

    fn keep(&mut self) -> Result<(), TraceError> {
        let before = self.kept.len();
        self.tags.copy(&self.made, &mut self.first, &mut self.kept);
        self.requests += (self.kept.len() - before) as u64;
        self.made.clear();
        if self.file.is_none() && self.kept.memory() > self.memory {
            self.file = Some(SpoolFile::create()?);
        }
        if let Some(file) = &mut self.file {
            file.write(&self.kept)?;
            self.kept = RequestBatch::new();
        }
        Ok(())
    }

    /// All that was made, as it is described by `meta`.
    ///
    /// # Errors
    /// The temporary file cannot be written.
    pub fn finish(mut self, mut meta: TraceMeta) -> Result<Stored, TraceError> {
        self.keep()?;
        meta.requests = self.requests;
        let Some(file) = self.file else {
            let requests = self.kept;
            return Ok(Stored::Memory(Trace { requests, meta }));
        };
        let spool = file.finish(self.requests, true)?;
        Ok(Stored::Spooled { meta, spool })
    }
}
