//! How many pages of a trace a cache can come to hold at once: its tables need no more slots.

use crate::RunError;
use crate::cache::page_span;
use destage_scheme::store::PageIndex;
use destage_trace::{TraceError, Workload};
use destage_types::PageSize;

/// Page accesses from which on distinct pages are counted instead.
const MANY: u64 = 1 << 20;

/// Bytes that the frames and the lists of a policy take for one slot, at least.
const SLOT_BYTES: u64 = 36;

enum Stop {
    Enough,
    Trace(TraceError),
}

impl From<TraceError> for Stop {
    fn from(error: TraceError) -> Stop {
        Stop::Trace(error)
    }
}

/// Slots for a cache of `frames` pages under `workload`: as many, or one for each page that is touched
/// if these are fewer.
///
/// # Errors
/// The trace cannot be read; there is not memory enough for the slots.
pub(crate) fn slots(workload: Workload<'_>, page: PageSize, frames: u32) -> Result<u32, RunError> {
    let accesses = page_accesses(workload, page, u64::from(frames))?;
    let pages = if accesses > MANY {
        distinct_pages(workload, page, u64::from(frames))?.min(accesses)
    } else {
        accesses
    };
    // There are as many slots as frames at most, so the number fits.
    let slots = pages.min(u64::from(frames)) as u32;
    check_memory(slots)?;
    Ok(slots)
}

/// Is there memory for so many slots?
///
/// # Errors
/// There is not.
pub(crate) fn check_memory(slots: u32) -> Result<(), RunError> {
    let bytes = u64::from(slots) * SLOT_BYTES;
    let memory = Vec::<u8>::new().try_reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX));
    match memory {
        Ok(()) => Ok(()),
        Err(_) => Err(RunError::CacheMemory { slots, bytes }),
    }
}

/// Page accesses of the workload, counted up to `enough`. A request whose addresses wrap may touch one
/// page more than it seems.
fn page_accesses(workload: Workload<'_>, page: PageSize, enough: u64) -> Result<u64, RunError> {
    let mut accesses = 0;
    let done = workload.try_each(|_, request| {
        let extents = request.extents().filter(|e| e.sectors > 0);
        accesses += extents
            .map(|e| 1 + u64::from(page_span(&e, page).1))
            .sum::<u64>();
        if accesses < enough {
            Ok(())
        } else {
            Err(Stop::Enough)
        }
    });
    match done {
        Ok(()) | Err(Stop::Enough) => Ok(accesses),
        Err(Stop::Trace(error)) => Err(error.into()),
    }
}

/// Distinct pages of the workload, as its addresses are given, counted up to `enough`.
fn distinct_pages(workload: Workload<'_>, page: PageSize, enough: u64) -> Result<u64, RunError> {
    let (mut touched, mut pages) = (PageIndex::new(0u64), 0);
    let done = workload.try_each(|_, request| {
        for extent in request.extents().filter(|e| e.sectors > 0) {
            let (first, count) = page_span(&extent, page);
            for lpn in first.0..first.0 + u64::from(count) {
                let (word, bit) = (touched.at(lpn / 64), 1 << (lpn % 64));
                pages += u64::from(*word & bit == 0);
                *word |= bit;
                if pages == enough {
                    return Err(Stop::Enough);
                }
            }
        }
        Ok(())
    });
    match done {
        Ok(()) | Err(Stop::Enough) => Ok(pages),
        Err(Stop::Trace(error)) => Err(error.into()),
    }
}
