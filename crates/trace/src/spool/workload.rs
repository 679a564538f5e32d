//! Requests that can be gone through any number of times: in memory, or from a temporary file.

use destage_types::{HostRequest, Nanos, RequestBatch, RequestFlags, RequestRef};

use crate::error::TraceError;
use crate::load::{Trace, TraceMeta};
use crate::spool::{Spool, SpoolPass};

/// A trace as runs see it. Copying it copies no request.
#[derive(Clone, Copy)]
pub struct Workload<'a> {
    /// Where the requests come from.
    pub meta: &'a TraceMeta,
    requests: Requests<'a>,
}

#[derive(Clone, Copy)]
enum Requests<'a> {
    Memory(&'a RequestBatch),
    Spooled(&'a Spool),
}

impl<'a> From<&'a Trace> for Workload<'a> {
    fn from(trace: &'a Trace) -> Workload<'a> {
        let (meta, requests) = (&trace.meta, Requests::Memory(&trace.requests));
        Workload { meta, requests }
    }
}

impl<'a> Workload<'a> {
    pub(crate) fn spooled(meta: &'a TraceMeta, spool: &'a Spool) -> Workload<'a> {
        let requests = Requests::Spooled(spool);
        Workload { meta, requests }
    }

    /// Number of requests.
    pub fn len(&self) -> u64 {
        match self.requests {
            Requests::Memory(batch) => batch.len() as u64,
            Requests::Spooled(spool) => spool.requests,
        }
    }

    /// Is there no request?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Memory that holds the requests while runs go through them, in bytes.
    pub fn memory(&self) -> u64 {
        match self.requests {
            Requests::Memory(batch) => batch.memory(),
            Requests::Spooled(_) => 0,
        }
    }

    /// The flags that some requests have; of a part of a file, those of the file.
    pub fn flags(&self) -> RequestFlags {
        match self.requests {
            Requests::Memory(batch) => RequestFlags::of(batch.records()),
            Requests::Spooled(spool) => spool.flags,
        }
    }

    /// Arrival of the last request; the first one arrives at 0 unless the caller changed that.
    pub fn span(&self) -> (Nanos, Nanos) {
        match self.requests {
            Requests::Memory(batch) => {
                let ends = (batch.records().first(), batch.records().last());
                let at = |r: Option<&HostRequest>| r.map_or(Nanos::ZERO, |r| r.arrival);
                (at(ends.0), at(ends.1))
            }
            Requests::Spooled(spool) => (Nanos::ZERO, spool.last),
        }
    }

    /// First sector behind the highest address; 0 if no request has one.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn end_sector(&self) -> Result<u64, TraceError> {
        let mut end = 0;
        self.try_each(|_, request| {
            end = request.extents().map(|e| e.end()).fold(end, u64::max);
            Ok::<(), TraceError>(())
        })?;
        Ok(end)
    }

    /// Starts going through all requests.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn pass(&self) -> Result<WorkloadPass<'a>, TraceError> {
        Ok(match self.requests {
            Requests::Memory(batch) => WorkloadPass(PassOver::Memory { batch, next: 0 }),
            Requests::Spooled(spool) => WorkloadPass(PassOver::Spooled(Box::new(spool.pass()?))),
        })
    }

    /// Calls `f` with the number (from 0) of each request and the request.
    ///
    /// # Errors
    /// The first of `f`, or the temporary file cannot be read.
    pub fn try_each<E: From<TraceError>>(
        &self,
        mut f: impl FnMut(u64, RequestRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut pass = self.pass()?;
        let mut number = 0;
        while let Some(block) = pass.next(u64::MAX)? {
            for head in block.records {
                f(number, block.batch.with_sides(head))?;
                number += 1;
            }
        }
        Ok(())
    }
}

/// One way through all requests.
pub struct WorkloadPass<'a>(PassOver<'a>);

enum PassOver<'a> {
    Memory {
        batch: &'a RequestBatch,
        next: usize,
    },
    Spooled(Box<SpoolPass<'a>>),
}

/// Consecutive requests.
#[derive(Clone, Copy)]
pub struct RequestSlice<'b> {
    /// The batch that holds them, for [`RequestBatch::with_sides`].
    pub batch: &'b RequestBatch,
    /// The requests.
    pub records: &'b [HostRequest],
}

impl WorkloadPass<'_> {
    /// The next requests, at least one and at most `max`; `None` behind the last one.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    #[inline]
    pub fn next(&mut self, max: u64) -> Result<Option<RequestSlice<'_>>, TraceError> {
        match &mut self.0 {
            PassOver::Memory { batch, next } => {
                let rest = &batch.records()[*next..];
                let n = usize::try_from(max).map_or(rest.len(), |max| max.min(rest.len()));
                *next += n;
                let records = &rest[..n];
                Ok((n > 0).then_some(RequestSlice { batch, records }))
            }
            PassOver::Spooled(pass) => pass.next(max),
        }
    }
}
