//! Whole traces and streams of batches, with what a result record says about its trace.

use destage_types::RequestBatch;

use crate::Container;
use crate::error::{BadLine, TraceError};
use crate::format::{self, Counts, FORMATS, FormatInfo, ReadOptions, TraceReader};
use crate::input::Input;
use crate::source::{Raw, Source};

/// Requests per batch: 256 KiB, which a second-level cache holds.
const BATCH: usize = 8_192;

/// How to read a trace.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Name of the format; `None`: told by the content.
    pub format: Option<String>,
    /// Stop after that many requests. The hash covers the whole file nevertheless.
    pub limit: Option<u64>,
    /// Count bad lines and go on, instead of stopping at the first one.
    pub skip_bad_lines: bool,
    /// Compute the hash of the file as stored. Further passes over a trace do without.
    pub hash: bool,
}

impl Default for LoadOptions {
    /// Detected format, all requests, bad lines are errors, with hash.
    fn default() -> LoadOptions {
        LoadOptions {
            format: None,
            limit: None,
            skip_bad_lines: false,
            hash: true,
        }
    }
}

/// What is known about a trace that has been read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceMeta {
    /// File name without directories and extensions, or `stdin`.
    pub name: String,
    /// Name of the format.
    pub format: &'static str,
    /// How the file is compressed.
    pub container: Container,
    /// Does the format have arrival times? If not, request i arrives at i us.
    pub timed: bool,
    /// Requests decoded, at most the limit.
    pub requests: u64,
    /// SHA-256 of the file as stored, in lower-case hexadecimal digits; `None` if not asked for.
    pub sha256: Option<String>,
    /// Requests whose time was before that of the request before, and was raised to it.
    pub arrival_corrections: u64,
    /// Requests whose bytes were rounded outward to whole sectors.
    pub unaligned_requests: u64,
    /// Bad lines that were skipped.
    pub skipped_lines: u64,
    /// The first of them, at most five.
    pub skipped_samples: Vec<BadLine>,
}

/// A decoded trace.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The requests in trace order.
    pub requests: RequestBatch,
    /// Where they come from.
    pub meta: TraceMeta,
}

/// Reads a trace batch by batch, in bounded memory.
pub struct Reader {
    reader: Box<dyn TraceReader>,
    raw: Raw,
    format: &'static FormatInfo,
    container: Container,
    file: String,
    name: String,
    limit: u64,
}

/// Opens a trace and tells its compression and format.
///
/// # Errors
/// The file cannot be read, is empty, fits no format or several, or the name of the format is
/// unknown.
pub fn open(source: Source, options: &LoadOptions) -> Result<Reader, TraceError> {
    open_as(FORMATS, source, options)
}

/// As [`open`], telling between `formats` only.
pub(crate) fn open_as(
    formats: &[&'static FormatInfo],
    source: Source,
    options: &LoadOptions,
) -> Result<Reader, TraceError> {
    let forced = options.format.as_deref().map(format::by_name).transpose()?;
    let (file, name) = (source.file(), source.trace_name());
    if options.limit == Some(0) {
        let reason = "a limit of 0 requests leaves nothing of it";
        return Err(TraceError::Empty { file, reason });
    }
    let raw = source.start(options.hash)?;
    let mut input = Input::open(raw.clone(), file.clone())?;
    let format = match forced {
        Some(format) => format,
        None => format::detect(formats, &mut input)?,
    };
    let container = input.container();
    let skip_bad_lines = options.skip_bad_lines;
    Ok(Reader {
        reader: (format.open)(input, ReadOptions { skip_bad_lines }),
        raw,
        format,
        container,
        file,
        name,
        limit: options.limit.unwrap_or(u64::MAX),
    })
}

impl Reader {
    /// Appends the next requests to `out`, at most 8192, and returns their number; 0 at the end.
    /// The caller clears `out` when it is done with the requests in it.
    ///
    /// # Errors
    /// A bad line, a damaged file, an error of the system, or a trace without a single request.
    /// After an error the trace is at its end.
    pub fn next_batch(&mut self, out: &mut RequestBatch) -> Result<usize, TraceError> {
        let left = self.limit - self.counts().requests;
        let max = usize::try_from(left).unwrap_or(BATCH).min(BATCH);
        let n = self.reader.next_batch(out, max)?;
        if n == 0 && self.counts().requests == 0 {
            return Err(self.nothing());
        }
        Ok(n)
    }

    fn nothing(&self) -> TraceError {
        let counts = self.reader.counts();
        let file = self.file.clone();
        match counts.skipped_samples.first() {
            Some(first) => TraceError::AllBad {
                file,
                format: self.format.name,
                lines: counts.skipped_lines,
                first: Box::new(first.clone()),
            },
            None => TraceError::Empty {
                file,
                reason: "it holds no request",
            },
        }
    }

    /// The format the trace is read as.
    pub fn format(&self) -> &'static FormatInfo {
        self.format
    }

    /// What has been counted so far.
    pub fn counts(&self) -> &Counts {
        self.reader.counts()
    }

    /// Bytes of the file read so far, and its length where that is known.
    pub fn progress(&self) -> (u64, Option<u64>) {
        self.raw.progress()
    }

    /// Ends reading. What is left of the file is read for the hash only.
    ///
    /// # Errors
    /// The rest of the file cannot be read.
    pub fn finish(self) -> Result<TraceMeta, TraceError> {
        let counts = self.reader.counts().clone();
        let sha256 = match self.raw.finish() {
            Ok(sha256) => sha256,
            Err(source) => {
                let file = self.file;
                return Err(TraceError::Io { file, source });
            }
        };
        Ok(TraceMeta {
            name: self.name,
            format: self.format.name,
            container: self.container,
            timed: self.format.timed,
            requests: counts.requests,
            sha256,
            arrival_corrections: counts.arrival_corrections,
            unaligned_requests: counts.unaligned_requests,
            skipped_lines: counts.skipped_lines,
            skipped_samples: counts.skipped_samples,
        })
    }
}

/// Reads a whole trace into memory, 32 B per request.
///
/// # Errors
/// Those of [`open`], [`Reader::next_batch`] and [`Reader::finish`].
pub fn load(source: Source, options: &LoadOptions) -> Result<Trace, TraceError> {
    let mut reader = open(source, options)?;
    let mut requests = RequestBatch::new();
    while reader.next_batch(&mut requests)? > 0 {}
    let meta = reader.finish()?;
    Ok(Trace { requests, meta })
}
