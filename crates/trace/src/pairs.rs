//! How many blocks of a trace name the address of their old copy.

use destage_types::request::NO_PREV;
use destage_types::{Op, RequestBatch, RequestRef};

use crate::extent::blocks;

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
    /// Counts the written blocks of `requests`.
    pub fn of(requests: &RequestBatch) -> Pairs {
        let mut pairs = Pairs::default();
        requests.iter().for_each(|request| pairs.add(request));
        pairs
    }

    /// Counts the blocks of a request, if it writes.
    pub fn add(&mut self, request: RequestRef<'_>) {
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
