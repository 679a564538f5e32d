//! Counts the statistics of a trace, as long as memory suffices.

use crate::failures::trace_failure;
use crate::memory::MemoryLimit;
use crate::run::{read, time_warning, trace_warnings};
use destage_console::failure::Failure;
use destage_console::progress::Progress;
use destage_console::terminal::Warnings;
use destage_sim::summary::TraceSummary;
use destage_trace::{LoadOptions, RequestSlice, Source, Stored, TraceMeta, Volumes, open};
use destage_types::RequestBatch;
use std::path::Path;

/// Requests that are kept in memory, in bytes; more go to a temporary file.
pub const MEMORY: u64 = 8 << 20;

/// Requests between two looks at the memory that the program has.
pub const LOOK: u64 = 1 << 16;

/// Counts the requests of a trace as long as there is memory for what is remembered of them.
pub struct Counting {
    name: String,
    summary: TraceSummary,
    requests: u64,
    limit: MemoryLimit,
}

impl Counting {
    /// Counts of the trace `name`, as long as memory stays below `limit`.
    pub fn new(name: &str, limit: MemoryLimit, with_profile: bool) -> Counting {
        Counting {
            name: name.to_owned(),
            summary: match with_profile {
                true => TraceSummary::with_profile(),
                false => TraceSummary::default(),
            },
            requests: 0,
            limit,
        }
    }

    fn block(&mut self, block: RequestSlice<'_>) -> Result<(), Failure> {
        self.summary.add(block);
        let looks = self.requests / LOOK;
        self.requests += block.records.len() as u64;
        if self.requests / LOOK > looks
            && let Some(bytes) = self.limit.exceeded()
        {
            let (name, requests) = (&self.name, self.requests);
            let what = format!("{name}: counting its first {requests} requests");
            return Err(self.limit.refused(&what, bytes));
        }
        Ok(())
    }

    /// Counts a whole trace.
    ///
    /// # Errors
    /// It cannot be read again, or takes too much memory.
    pub fn stored(mut self, trace: &Stored) -> Result<TraceSummary, Failure> {
        let mut pass = trace.workload().pass().map_err(trace_failure)?;
        while let Some(block) = pass.next(LOOK).map_err(trace_failure)? {
            self.block(block)?;
        }
        Ok(self.summary)
    }
}

/// Streams a trace: memory grows with its footprint only.
///
/// # Errors
/// Bad input, or it takes too much memory.
pub fn streamed(
    path: &Path,
    options: &LoadOptions,
    mut counting: Counting,
    warnings: &mut Warnings,
) -> Result<(TraceSummary, TraceMeta), Failure> {
    if !is_file(path) {
        counting.name = Source::from_arg(path).trace_name();
    }
    let meta = each_block(path, options, warnings, |block| counting.block(block))?;
    Ok((counting.summary, meta))
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.is_file())
}

/// Reads a trace block by block, each of which `f` is shown once. No requests are kept, except those of a pipe of
/// several volumes, which may go to a temporary file.
///
/// # Errors
/// Bad input, or the first of `f`.
pub fn each_block(
    path: &Path,
    options: &LoadOptions,
    warnings: &mut Warnings,
    mut f: impl FnMut(RequestSlice<'_>) -> Result<(), Failure>,
) -> Result<TraceMeta, Failure> {
    // Where volumes go depends on all their requests, and a pipe is read but once.
    if options.volumes == Volumes::Stack && !is_file(path) {
        let stored = read(path, options, MEMORY).map_err(trace_failure)?;
        trace_warnings(stored.meta(), warnings);
        warnings.extend(time_warning(stored.meta()));
        let mut pass = stored.workload().pass().map_err(trace_failure)?;
        while let Some(block) = pass.next(LOOK).map_err(trace_failure)? {
            f(block)?;
        }
        drop(pass);
        return Ok(stored.into_meta());
    }
    let mut reader = open(Source::from_arg(path), options).map_err(trace_failure)?;
    let progress = Progress::bytes(&format!("reading {}", path.display()), reader.progress().1);
    let mut batch = RequestBatch::new();
    while reader.next_batch(&mut batch).map_err(trace_failure)? > 0 {
        let records = batch.records();
        f(RequestSlice {
            batch: &batch,
            records,
        })?;
        batch.clear();
        progress.set(reader.progress().0);
    }
    let meta = reader.finish().map_err(trace_failure)?;
    drop(progress);
    trace_warnings(&meta, warnings);
    warnings.extend(time_warning(&meta));
    Ok(meta)
}

/// The statistics of a trace, as long as memory suffices to count it.
///
/// # Errors
/// It cannot be read again, or takes too much memory.
pub fn counted(stored: &Stored, limit: MemoryLimit) -> Result<TraceSummary, Failure> {
    Counting::new(&stored.meta().name, limit, false).stored(stored)
}
