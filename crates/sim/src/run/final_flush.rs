//! Writes back the pages that are dirty at the end of a run.

use crate::RunError;
use crate::device::DeviceCore;
use crate::run::run_cache::RunCache;
use destage_record::{Counts, FinalFlush};
use destage_types::{HostRequest, Nanos, Op, RequestRef};

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
    let device = cache.state().device();
    let now = device.map_or(last, |device| device.rest().max(last));
    let mut done = Vec::new();
    if let Some(device) = cache.device_mut() {
        device.requests.completed.measure(false);
        device.keep_completions();
        device.take_completions(&mut done);
        done.clear();
    }
    let head = &HostRequest::new(now, Op::Flush, 0, 0);
    cache.serve(RequestRef::new(head), requests, now, true);
    cache.drain();
    if let Some(full) = cache.state().device().and_then(DeviceCore::fault) {
        return Err(RunError::DeviceFull {
            request: requests,
            full: Box::new(*full),
        });
    }
    if let Some(device) = cache.device_mut() {
        device.take_completions(&mut done);
    }
    let flush = done.iter().find(|done| done.index == requests);
    let after = cache.state().counts();
    let timed = |count| cache.state().is_timed().then_some(count);
    Ok(FinalFlush {
        flash_writes_host: after.flash_writes_host - end.flash_writes_host,
        flash_reads_rmw: after.flash_reads_rmw - end.flash_reads_rmw,
        flash_writes_gc: timed(after.flash_writes_gc - end.flash_writes_gc),
        flash_writes_meta: timed(after.flash_writes_meta - end.flash_writes_meta),
        erases: timed(after.erases - end.erases),
        duration_ns: flush.map(|flush| (flush.complete - now).0),
    })
}
