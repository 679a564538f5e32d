//! The cost of runs, their progress, and whether they are to go on.

use crate::RunError;
use destage_record::RunInfo;
use std::sync::atomic::{AtomicU64, Ordering};

/// Measures what a run costs. Clocks are not readable here; the command line has one.
pub trait Meter: Sync {
    /// Calls `run` and says what it cost.
    fn measure(&self, run: &mut dyn FnMut()) -> RunInfo;

    /// Does the program take more memory than it may? Asked by each run every 10,000 requests, and by
    /// the passes of a curve.
    fn excess(&self) -> Option<MemoryExcess> {
        None
    }

    /// Does nobody want the result any more? Asked as often.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Measures nothing: for runs that nobody waits for.
pub struct Unmetered;

impl Meter for Unmetered {
    fn measure(&self, run: &mut dyn FnMut()) -> RunInfo {
        run();
        RunInfo::default()
    }
}

/// Asks `meter` after request number `request`, counted from 0.
///
/// # Errors
/// The program takes too much memory, or nobody waits for the run.
pub(crate) fn look(meter: &dyn Meter, request: u64) -> Result<(), RunError> {
    if meter.is_cancelled() {
        return Err(RunError::Cancelled);
    }
    match meter.excess() {
        None => Ok(()),
        Some(MemoryExcess { bytes, limit }) => Err(RunError::Memory {
            request,
            bytes,
            limit,
        }),
    }
}

/// More memory than the program may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryExcess {
    /// Bytes that it takes.
    pub bytes: u64,
    /// Bytes that it may take.
    pub limit: u64,
}

/// How far a sweep has come.
#[derive(Default, Debug)]
pub struct SweepProgress {
    /// Requests served by all runs.
    pub requests: AtomicU64,
    /// Runs that have ended.
    pub runs: AtomicU64,
    /// Pages written to prepare devices.
    pub pages_prepared: AtomicU64,
    /// All pages to be written for that, those that are included.
    pub pages_to_prepare: AtomicU64,
    /// Called with both counts after each step. The playground needs it: in a browser no other thread can read them.
    pub on_prepared: Option<fn(u64, u64)>,
}

impl SweepProgress {
    pub(crate) fn prepared(&self, pages: u64) {
        let before = self.pages_prepared.fetch_add(pages, Ordering::Relaxed);
        if let Some(tell) = self.on_prepared {
            tell(
                before + pages,
                self.pages_to_prepare.load(Ordering::Relaxed),
            );
        }
    }
}
