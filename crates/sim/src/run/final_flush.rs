//! What is still dirty at the end of a run, written back.

use crate::RunError;
use crate::cache::counts::Counts;
use crate::run::run_cache::RunCache;
use destage_scheme::Place;
use destage_types::{HostRequest, Nanos, Op, RequestRef};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All that is submitted to flash after the measured part of a run at whose end the cache is flushed: the
/// write-back of all dirty pages that are left.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
pub struct FinalFlush {
    /// Pages programmed for the host: the dirty pages that were left.
    pub flash_writes_host: u64,
    /// Pages read to complete partial ones.
    pub flash_reads_rmw: u64,
    /// Pages programmed by garbage collection. Only with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flash_writes_gc: Option<u64>,
    /// Summary pages programmed. Only with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flash_writes_meta: Option<u64>,
    /// Blocks erased. Only with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erases: Option<u64>,
    /// From the flush, which arrives once all other work is done, to the end of its last program.
    /// Only with a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
}

/// Serves a FLUSH that arrives once all work of the run is done, or at the last arrival, `last`,
/// without a device. `end` are the counters at the end of the measured part and `requests` came
/// before. No figure of the run may be read from `cache` afterwards.
///
/// # Errors
/// The device has no room for the pages.
pub(crate) fn final_flush(
    cache: &mut dyn RunCache,
    end: &Counts,
    requests: u64,
    last: Nanos,
) -> Result<FinalFlush, RunError> {
    let now = cache.flash().rest().max(last);
    let mut done = Vec::new();
    let flash = cache.flash_mut();
    flash.measure(false);
    flash.keep_completions();
    flash.take_completions(&mut done);
    done.clear();
    let head = &HostRequest::new(now, Op::Flush, 0, 0);
    let (more, prev) = (&[], &[]);
    let flush = RequestRef { head, more, prev };
    cache.serve_at(flush, requests, now, Place::BLANK);
    cache.drain();
    if let Some(full) = cache.flash().fault() {
        return Err(RunError::DeviceFull {
            request: requests,
            full: Box::new(*full),
        });
    }
    cache.flash_mut().take_completions(&mut done);
    let flush = done.iter().find(|done| done.index == requests);
    let mut after = cache.counts();
    after.add_traffic(&cache.flash().traffic());
    let timed = |count| cache.is_timed().then_some(count);
    Ok(FinalFlush {
        flash_writes_host: after.flash_writes_host - end.flash_writes_host,
        flash_reads_rmw: after.flash_reads_rmw - end.flash_reads_rmw,
        flash_writes_gc: timed(after.flash_writes_gc - end.flash_writes_gc),
        flash_writes_meta: timed(after.flash_writes_meta - end.flash_writes_meta),
        erases: timed(after.erases - end.erases),
        duration_ns: flush.map(|flush| (flush.complete - now).0),
    })
}
