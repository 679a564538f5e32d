//! Pending writes: which program that has not started writes the newest data of a page.
//!
//! Programs of older versions may wait in other queues; no read depends on those. Asked for by page
//! and not by place: garbage collection moves data that are still to be written, and a place may
//! wait for data twice.

use destage_types::{Lpn, NumberMap};

/// Tokens of waiting programs, by page. One program per page at most.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingWrites(NumberMap<Lpn, u32>);

impl PendingWrites {
    /// Program `token` writes the newest data of `lpn`.
    pub fn set(&mut self, lpn: Lpn, token: u32) {
        self.0.insert(lpn, token);
    }

    /// The newest data of `lpn` are not those of a waiting program.
    pub fn clear(&mut self, lpn: Lpn) {
        self.0.remove(&lpn);
    }

    /// Program `token` waits no more.
    pub fn started(&mut self, lpn: Lpn, token: u32) {
        if self.get(lpn) == Some(token) {
            self.clear(lpn);
        }
    }

    /// The program that writes the newest data of `lpn`, if it waits.
    pub fn get(&self, lpn: Lpn) -> Option<u32> {
        self.0.get(&lpn).copied()
    }
}
