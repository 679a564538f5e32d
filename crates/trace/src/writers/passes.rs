//! Requests that writers go through, more than once where what comes first depends on all of them.

use std::io;

use destage_types::{RequestBatch, RequestRef};

use crate::spool::workload::Workload;

/// Requests that can be gone through again and again, the same each time.
pub trait RequestPasses {
    /// Calls `f` with each request in turn.
    ///
    /// # Errors
    /// The first of `f`; or the requests cannot be read again, a [`TraceError`](crate::TraceError) inside.
    fn pass(&self, f: &mut dyn FnMut(RequestRef<'_>) -> io::Result<()>) -> io::Result<()>;

    /// A line that says what the requests are, for formats that have comments.
    fn note(&self) -> Option<&str> {
        None
    }
}

impl RequestPasses for RequestBatch {
    fn pass(&self, f: &mut dyn FnMut(RequestRef<'_>) -> io::Result<()>) -> io::Result<()> {
        self.iter().try_for_each(f)
    }
}

impl RequestPasses for Workload<'_> {
    fn pass(&self, f: &mut dyn FnMut(RequestRef<'_>) -> io::Result<()>) -> io::Result<()> {
        let mut pass = Workload::pass(self).map_err(io::Error::other)?;
        while let Some(block) = pass.next(u64::MAX).map_err(io::Error::other)? {
            for head in block.records {
                f(block.batch.with_sides(head))?;
            }
        }
        Ok(())
    }
}
