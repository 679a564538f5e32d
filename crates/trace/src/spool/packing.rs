//! Traces of a large address space on a smaller device: the parts that are touched, side by side.

use destage_types::RequestBatch;
use destage_types::request::NO_PREV;

use crate::error::TraceError;
use crate::spool::workload::Workload;

/// Sectors of a part, 1 MiB: a multiple of every page, so that sectors of one page stay together.
const PART: u64 = 2048;

/// Which parts of an address space a trace touches. Their order stays, what lies between them
/// goes, and a request that touches consecutive parts still does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressPacking {
    /// Numbers of the parts that are touched, ascending.
    parts: Vec<u64>,
}

impl AddressPacking {
    /// The parts that `workload` touches, old addresses included.
    pub(crate) fn of(workload: &Workload<'_>) -> Result<AddressPacking, TraceError> {
        let mut parts: Vec<u64> = Vec::new();
        // Sorted runs of touched parts; joined before they grow beyond what is different.
        let mut limit = 1 << 16;
        workload.try_each(|_, request| {
            let mut join = |parts: &mut Vec<u64>| {
                if parts.len() >= limit {
                    parts.sort_unstable();
                    parts.dedup();
                    limit = (2 * parts.len()).max(1 << 16);
                }
            };
            // Extents of one request may lie over each other, each of them large.
            for extent in request.extents() {
                parts.extend(extent.start_sector / PART..=(extent.end() - 1) / PART);
                join(&mut parts);
            }
            let old = request.prev.iter().filter(|p| **p != NO_PREV);
            parts.extend(old.flat_map(|p| [p / PART, (p + 7) / PART]));
            join(&mut parts);
            Ok::<(), TraceError>(())
        })?;
        parts.sort_unstable();
        parts.dedup();
        Ok(AddressPacking { parts })
    }

    /// First sector behind the highest part, once packed.
    pub fn end_sector(&self) -> u64 {
        self.parts.len() as u64 * PART
    }

    /// Gives the requests their new addresses.
    pub(crate) fn apply(&self, batch: &mut RequestBatch) {
        let (mut part, mut rank) = (u64::MAX, 0);
        batch.map_sectors(|sector| {
            if sector / PART != part {
                part = sector / PART;
                let found = self.parts.binary_search(&part);
                rank = found.expect("every part of the trace was seen") as u64;
            }
            rank * PART + sector % PART
        });
    }
}
