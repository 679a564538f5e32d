//! Requests of twins, made as long as there is memory.

use crate::counting::LOOK;
use crate::memory::MemoryLimit;
use destage_console::failure::Failure;
use destage_trace::Trace;
use destage_twin::Twin;
use destage_types::{HostRequest, RequestBatch};

/// Why no more requests of a twin are made.
pub enum Stop {
    /// No more are wanted.
    Enough,
    /// There was a fault.
    Failed(Failure),
}

impl Stop {
    /// A fault, if that is the reason.
    ///
    /// # Errors
    /// The fault.
    pub fn result(self) -> Result<(), Failure> {
        match self {
            Stop::Enough => Ok(()),
            Stop::Failed(failure) => Err(failure),
        }
    }
}

/// Makes the requests of a twin, as long as there is memory.
///
/// # Errors
/// Too little memory, or `f` stops it.
pub fn watched(
    twin: &Twin,
    limit: MemoryLimit,
    mut f: impl FnMut(HostRequest) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut pages = 0;
    twin.each(|request| {
        pages += u64::from(request.sectors).div_ceil(8);
        if pages >= LOOK {
            pages = 0;
            if let Some(bytes) = limit.exceeded() {
                return Err(Stop::Failed(limit.refused(&twin.name, bytes)));
            }
        }
        f(request)
    })
}

/// The first requests of a twin, or all of them, in memory.
///
/// # Errors
/// Too little memory.
pub fn first(twin: &Twin, most: Option<u64>, limit: MemoryLimit) -> Result<Trace, Failure> {
    let requests = most.map_or(twin.parameters.requests, |most| {
        most.min(twin.parameters.requests)
    });
    let needs = requests.saturating_mul(size_of::<HostRequest>() as u64);
    if needs > limit.bytes() {
        return Err(limit.refused(&twin.name, needs));
    }
    let mut batch = RequestBatch::with_capacity(requests as usize);
    let made = watched(twin, limit, |request| {
        batch.push(request);
        match batch.records().len() as u64 == requests {
            true => Err(Stop::Enough),
            false => Ok(()),
        }
    });
    made.or_else(Stop::result)?;
    Ok(Trace::generated(&twin.name, batch))
}
