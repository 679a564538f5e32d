//! Traces of a large address space on a smaller device: the parts that are touched, side by side.

use std::ops::RangeInclusive;

use destage_types::RequestBatch;
use destage_types::request::NO_PREV;

use crate::error::TraceError;
use crate::spool::workload::Workload;

/// Parts that are collected before equal ones are looked for.
const JOIN_AT: usize = 1 << 16;

/// Which parts of an address space a trace touches. Their order stays, what lies between them
/// goes, and a request that touches consecutive parts still does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressPacking {
    /// Sectors of a part.
    part: u64,
    /// Numbers of the parts that are touched, ascending.
    parts: Vec<u64>,
}

/// Why there is no packing: a file cannot be read, or else the parts are too many.
type Fault = Option<TraceError>;

/// Parts while they are collected.
struct Parts {
    sectors: u64,
    most: u64,
    /// Sorted runs; joined before they grow beyond what is different.
    seen: Vec<u64>,
    join_at: usize,
}

impl Parts {
    fn touch(&mut self, sectors: RangeInclusive<u64>) -> Result<(), Fault> {
        let parts = sectors.start() / self.sectors..=sectors.end() / self.sectors;
        if parts.end() - parts.start() >= self.most {
            return Err(None);
        }
        self.seen.extend(parts);
        // Extents of one request may lie over each other, each of them large.
        if self.seen.len() < self.join_at {
            Ok(())
        } else {
            self.join()
        }
    }

    fn join(&mut self) -> Result<(), Fault> {
        self.seen.sort_unstable();
        self.seen.dedup();
        self.join_at = (2 * self.seen.len()).max(JOIN_AT);
        if self.seen.len() as u64 <= self.most {
            Ok(())
        } else {
            Err(None)
        }
    }
}

impl AddressPacking {
    /// Sectors of the parts that keep most beside each other, 1 MiB: a multiple of every page, so that
    /// sectors of one page stay together.
    pub const LARGEST: u64 = 2048;
    /// Sectors of the smallest parts: a block, of which an old address names the first sector only.
    pub const SMALLEST: u64 = 8;

    /// The parts of `part` sectors (a power of two) that `workload` touches, old addresses included;
    /// `None` if they are more than `space` sectors.
    pub(crate) fn of(
        workload: &Workload<'_>,
        part: u64,
        space: u64,
    ) -> Result<Option<AddressPacking>, TraceError> {
        let mut parts = Parts {
            sectors: part,
            most: space / part,
            seen: Vec::new(),
            join_at: JOIN_AT,
        };
        let all = workload.try_each(|_, request| {
            for extent in request.extents() {
                parts.touch(extent.start_sector..=extent.end() - 1)?;
            }
            let mut old = request.prev.iter().filter(|p| **p != NO_PREV);
            old.try_for_each(|&p| parts.touch(p..=p + Self::SMALLEST - 1))
        });
        match all.and_then(|()| parts.join()) {
            Ok(()) => Ok(Some(AddressPacking {
                part,
                parts: parts.seen,
            })),
            Err(None) => Ok(None),
            Err(Some(error)) => Err(error),
        }
    }

    /// Sectors of a part.
    pub fn part_sectors(&self) -> u64 {
        self.part
    }

    /// First sector behind the highest part, once packed.
    pub fn end_sector(&self) -> u64 {
        self.parts.len() as u64 * self.part
    }

    /// Gives the requests their new addresses.
    pub(crate) fn apply(&self, batch: &mut RequestBatch) {
        let (mut part, mut rank) = (u64::MAX, 0);
        batch.map_sectors(|sector| {
            if sector / self.part != part {
                part = sector / self.part;
                let found = self.parts.binary_search(&part);
                rank = found.expect("every part of the trace was seen") as u64;
            }
            rank * self.part + sector % self.part
        });
    }
}
