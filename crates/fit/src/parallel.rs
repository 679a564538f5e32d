//! Work that is shared among threads.

use crate::FitError;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What `work` makes of each of the items, in their order, on so many threads. The last items are begun first.
///
/// # Errors
/// The first item that failed.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    workers: usize,
    work: impl Fn(&T) -> Result<R, FitError> + Sync,
) -> Result<Vec<R>, FitError> {
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Result<R, FitError>)>> = Mutex::new(Vec::new());
    let worker = || {
        loop {
            let turn = next.fetch_add(1, Ordering::Relaxed);
            let Some(at) = items.len().checked_sub(turn + 1) else {
                return;
            };
            let done = work(&items[at]);
            if let Ok(mut found) = found.lock() {
                found.push((at, done));
            }
        }
    };
    std::thread::scope(|scope| {
        (0..workers.clamp(1, items.len().max(1))).for_each(|_| _ = scope.spawn(worker));
    });
    let mut found = found.into_inner().unwrap_or_default();
    found.sort_by_key(|row| row.0);
    if found.len() != items.len() {
        return Err(FitError::Simulation("a thread has failed".to_owned()));
    }
    found.into_iter().map(|row| row.1).collect()
}
