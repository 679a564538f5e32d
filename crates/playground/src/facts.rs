//! Facts about a trace that the page shows before anything runs.

use destage_trace::{Stored, TraceError};
use destage_types::{Op, SECTOR_BYTES};
use serde::Serialize;

/// Bytes of a page of the footprint.
pub const PAGE: u64 = 4096;

/// A trace at a glance.
#[derive(Serialize, Default)]
pub struct TraceFacts {
    name: String,
    format: String,
    container: String,
    requests: u64,
    reads: u64,
    writes: u64,
    read_bytes: u64,
    written_bytes: u64,
    seconds: f64,
    /// Does something speak for another reading?
    doubted: bool,
    /// Bytes of the pages that reads and writes touch.
    pub footprint_bytes: u64,
}

impl TraceFacts {
    /// The summary of `stored`, without its footprint.
    ///
    /// # Errors
    /// The trace cannot be read again.
    pub fn of(stored: &Stored) -> Result<TraceFacts, TraceError> {
        let meta = stored.meta();
        let mut summary = TraceFacts {
            name: meta.name.clone(),
            format: meta.format.to_owned(),
            container: meta.container.to_string(),
            requests: meta.requests,
            doubted: meta.format_doubt.is_some() || meta.time_doubt.is_some(),
            seconds: stored.workload().span().1.0 as f64 / 1e9,
            ..TraceFacts::default()
        };
        stored.workload().try_each(|_, request| {
            let bytes = u64::from(request.head.sectors) * SECTOR_BYTES;
            let (requests, sum) = match request.head.op {
                Op::Read => (&mut summary.reads, &mut summary.read_bytes),
                Op::Write => (&mut summary.writes, &mut summary.written_bytes),
                _ => return Ok::<(), TraceError>(()),
            };
            *requests += 1;
            *sum += bytes;
            Ok(())
        })?;
        Ok(summary)
    }
}
