//! How many blocks of a trace name the address of their old copy.

use destage_types::request::NO_PREV;
use destage_types::{Op, RequestRef};

use crate::error::TraceError;
use crate::extent::blocks;
use crate::spool::workload::Workload;

/// Written 4 KiB blocks of a trace by what is known about the copy they replace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pairs {
    /// The old copy is elsewhere: an update out of place.
    pub moved: u64,
    /// The old copy is overwritten: an update in place that says so.
    pub in_place: u64,
    /// No old address is named.
    pub unknown: u64,
}

impl Pairs {
    /// Counts the written blocks of `workload`.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn of(workload: Workload<'_>) -> Result<Pairs, TraceError> {
        let mut pairs = Pairs::default();
        workload.try_each(|_, request| {
            pairs.add(request);
            Ok::<(), TraceError>(())
        })?;
        Ok(pairs)
    }

    /// Counts the blocks of a request, if it writes.
    fn add(&mut self, request: RequestRef<'_>) {
        if request.head.op != Op::Write {
            return;
        }
        if request.prev.is_empty() {
            self.unknown += request.extents().map(blocks).sum::<u64>();
            return;
        }
        let mut old = request.prev.iter();
        for extent in request.extents() {
            let first = extent.start_sector / 8;
            for block in first..first + blocks(extent) {
                match old.next() {
                    None | Some(&NO_PREV) => self.unknown += 1,
                    Some(&sector) if sector / 8 == block => self.in_place += 1,
                    Some(_) => self.moved += 1,
                }
            }
        }
    }
}
