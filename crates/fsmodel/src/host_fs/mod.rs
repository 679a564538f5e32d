//! Host file systems: what a file system makes of the requests of a trace.
//!
//! The address of a request in the trace stands for the place in a file, which never changes; the
//! file system decides where on the device it is. In place that is the same address. A
//! log-structured file system appends every update to a log and tells the device the old address
//! (CAC section 4.1); its rules are those of the paper's premise, and by named options those of
//! F2FS (Lee et al., FAST'15, and its defaults in Linux 6.1).
//!
//! Both work in whole blocks of 4 KiB, as file systems do. The
//! [origin](destage_types::RequestOrigin) of a request of a log-structured file system says whether
//! it is one of its cleaning.

mod checkpoint;
mod config;
mod lfs;
mod options;
mod volume;

use std::ops::Range;

use destage_types::request::NO_PREV;
use destage_types::{Extent, HostRequest, Op, RequestBatch, RequestRef};

pub use config::{Clean, HostFs, InPlace, LfsConfig, Nodes, Pick, Trim};
use destage_trace::RequestCollector;
use destage_trace::Stored;
use destage_trace::TagSet;
use destage_trace::Trace;
use destage_trace::TraceError;
use destage_trace::Workload;
use lfs::LogFs;

/// Why a file system cannot be modelled over a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages say what the fields are
pub enum HostFsError {
    /// The trace cannot be read again.
    #[error("{0}")]
    Read(#[from] TraceError),
    /// The trace is one of a file system already.
    #[error(
        "its writes name old addresses: they come from a file system already, which needs no \
             model"
    )]
    HasPairs,
    /// The trace has more blocks than the volume.
    #[error(
        "a volume of {blocks} blocks of 4 KiB is smaller than what the trace and the fill \
             level put on it, {needed} blocks; set volume=SIZE"
    )]
    TooSmall { blocks: u64, needed: u64 },
    /// Cleaning would never get ahead.
    #[error(
        "{needed} used blocks are more than cleaning can serve: of {blocks} blocks at most \
             {most} may be used with {reserve} free units and the open ones; lower fill=, or a \
             larger volume="
    )]
    TooFull {
        blocks: u64,
        needed: u64,
        most: u64,
        reserve: u64,
    },
    /// Nothing is left to write to.
    #[error("request {request} of the trace found the volume full: cleaning frees nothing")]
    Full { request: u64 },
    /// The volume would have more blocks than a model can have.
    #[error("the trace needs a volume of {blocks} blocks of 4 KiB; the most is 2147483648")]
    TooLarge { blocks: u64 },
}

/// Sectors of a block.
const SECTORS: u64 = 8;

/// The blocks that an extent touches.
fn touched(extent: Extent) -> Range<u64> {
    extent.start_sector / SECTORS..extent.end().div_ceil(SECTORS)
}

/// The blocks that a request touches, in its order; those it covers wholly for TRIM.
fn blocks(request: RequestRef<'_>) -> impl Iterator<Item = u64> + '_ {
    block_ranges(request).flatten()
}

/// The same, extent by extent.
fn block_ranges(request: RequestRef<'_>) -> impl Iterator<Item = Range<u64>> + '_ {
    let whole = request.head.op == Op::Trim;
    request.extents().map(move |e| {
        if whole {
            e.start_sector.div_ceil(SECTORS)..e.end() / SECTORS
        } else {
            touched(e)
        }
    })
}

/// The blocks that a trace reads or writes, ascending.
fn files(trace: Workload<'_>) -> Result<Vec<u64>, HostFsError> {
    let mut files: Vec<u64> = Vec::new();
    // Duplicates would grow with the trace. It is taken out each time when what is left has
    // doubled, so that sorting costs a constant for every block.
    let mut tidy_at = 1 << 12;
    trace.try_each(|_, request| {
        no_pairs(request)?;
        if matches!(request.head.op, Op::Read | Op::Write) {
            files.extend(blocks(request));
        }
        if files.len() >= tidy_at {
            files.sort_unstable();
            files.dedup();
            tidy_at = tidy_at.max(2 * files.len());
        }
        Ok::<(), HostFsError>(())
    })?;
    files.sort_unstable();
    files.dedup();
    Ok(files)
}

/// The requests that `fs` makes of `trace`. The name of the result says which file system it is.
///
/// # Errors
/// See [`HostFsError`].
pub fn apply(trace: Workload<'_>, fs: &HostFs) -> Result<Trace, HostFsError> {
    match apply_bounded(trace, fs, None, u64::MAX)? {
        Stored::Memory(trace) => Ok(trace),
        Stored::Spooled { .. } => unreachable!("nothing is more than all memory"),
    }
}

/// The same, only of the kinds `tags`, in at most `memory` bytes or else in a temporary file.
/// A file system that updates in place has no kinds to choose from.
///
/// # Errors
/// See [`HostFsError`]; the temporary file cannot be written.
pub fn apply_bounded(
    trace: Workload<'_>,
    fs: &HostFs,
    tags: Option<TagSet>,
    memory: u64,
) -> Result<Stored, HostFsError> {
    let tags = tags.filter(|_| *fs != HostFs::InPlace);
    let mut out = RequestCollector::new(memory, tags);
    let name = match fs {
        HostFs::InPlace => {
            in_place(trace, &mut out)?;
            "inplace"
        }
        HostFs::Lfs(config) => {
            LogFs::run(config, trace, &mut out)?;
            "lfs"
        }
    };
    let mut meta = trace.meta.clone();
    meta.name = format!("{}+{name}", meta.name);
    meta.modelled = *fs != HostFs::InPlace;
    Ok(out.finish(meta)?)
}

/// Requests in whole blocks at the addresses of the trace.
fn in_place(trace: Workload<'_>, out: &mut RequestCollector) -> Result<(), HostFsError> {
    let mut extents = Vec::new();
    trace.try_each(|_, request| {
        no_pairs(request)?;
        extents.clear();
        for blocks in block_ranges(request).filter(|blocks| !blocks.is_empty()) {
            append(&mut extents, blocks);
        }
        if request.head.op == Op::Flush || !extents.is_empty() {
            push_extents(&mut out.made, *request.head, &extents, &[]);
        }
        Ok(out.part()?)
    })
}

/// The request of a trace that no file system has seen.
fn no_pairs(request: RequestRef<'_>) -> Result<(), HostFsError> {
    if request.prev.iter().all(|&old| old == NO_PREV) {
        Ok(())
    } else {
        Err(HostFsError::HasPairs)
    }
}

/// A block of the device in a request.
#[derive(Clone, Copy)]
struct RequestBlock {
    at: u64,
    /// Where its data were before, if the request names that.
    old: Option<u64>,
}

impl RequestBlock {
    /// A block without an old one.
    fn new(at: impl Into<u64>) -> RequestBlock {
        let at = at.into();
        RequestBlock { at, old: None }
    }

    /// A block whose data were in `old`.
    fn moved(at: impl Into<u64>, old: Option<u32>) -> RequestBlock {
        let (at, old) = (at.into(), old.map(u64::from));
        RequestBlock { at, old }
    }
}

/// Appends a request like `head` for `blocks`. Those that follow each other become one extent.
fn push(out: &mut RequestBatch, head: HostRequest, blocks: &[RequestBlock]) {
    let mut extents: Vec<Extent> = Vec::new();
    for block in blocks {
        append(&mut extents, block.at..block.at + 1);
    }
    let named = blocks.iter().any(|block| block.old.is_some());
    let prev: Vec<u64> = blocks
        .iter()
        .filter(|_| named)
        .map(|block| block.old.map_or(NO_PREV, |b| b * SECTORS))
        .collect();
    push_extents(out, head, &extents, &prev);
}

/// Appends blocks to the extents of a request. An extent has less than 2^32 sectors, so that many blocks
/// may be two.
fn append(extents: &mut Vec<Extent>, blocks: Range<u64>) {
    const MOST: u64 = u32::MAX as u64 / SECTORS * SECTORS;
    let (mut start, end) = (blocks.start * SECTORS, blocks.end * SECTORS);
    if let Some(last) = extents.last_mut().filter(|last| last.end() == start) {
        let more = (end - start).min(MOST - u64::from(last.sectors));
        last.sectors += more as u32;
        start += more;
    }
    while start < end {
        let sectors = (end - start).min(MOST);
        extents.push(Extent::new(start, sectors as u32));
        start += sectors;
    }
}

fn push_extents(out: &mut RequestBatch, mut head: HostRequest, extents: &[Extent], prev: &[u64]) {
    let first = extents.first();
    (head.start_sector, head.sectors) = first.map_or((0, 0), |e| (e.start_sector, e.sectors));
    // The record may be one of another batch, whose side tables are not those of this one.
    let mut request = HostRequest::new(head.arrival, head.op, head.start_sector, head.sectors);
    (request.stream, request.flags) = (head.stream, head.flags);
    (request.tag, request.origin) = (head.tag, head.origin);
    out.push_with(request, extents.get(1..).unwrap_or(&[]), prev);
}
