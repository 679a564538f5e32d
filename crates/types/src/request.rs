//! Requests of a host, and the compact store in which a decoded trace is kept.

use crate::{Nanos, SECTOR_BYTES};

/// Kind of a host request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Op {
    /// Read sectors.
    Read,
    /// Write sectors.
    Write,
    /// The sectors hold no data any more (discard).
    Trim,
    /// Everything written so far must be on flash when this completes; has no address.
    Flush,
}

/// The kind of data of a request in the file system that sent it, where that is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Tag {
    /// Not known.
    #[default]
    None,
    /// File data.
    Data,
    /// Inodes and index blocks.
    Node,
    /// Superblock, checkpoint, tables, journal.
    Meta,
    /// Moved by the file system's own cleaning.
    Gc,
}

/// The sender of a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum RequestOrigin {
    /// The host, as the trace has it.
    #[default]
    Host,
    /// A modelled file system: what the host asked it for, its index blocks and tables.
    FileSystem,
    /// The cleaning of a modelled file system. It is served as any request, but counts as none of
    /// the host's.
    Cleaning,
}

/// What a request asks for besides moving data, and whether it is part of something larger.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct RequestFlags(u8);

impl RequestFlags {
    /// None of them.
    pub const NONE: RequestFlags = RequestFlags(0);
    /// Part of an atomic write of the file system (CAC section 4.3).
    pub const ATOMIC: RequestFlags = RequestFlags(1);
    /// Force unit access: the data of the write are on flash when it completes.
    pub const FUA: RequestFlags = RequestFlags(4);
    /// The host flushes the device before the write starts.
    pub const PREFLUSH: RequestFlags = RequestFlags(8);

    /// Those of both.
    pub const fn and(self, other: RequestFlags) -> RequestFlags {
        RequestFlags(self.0 | other.0)
    }

    /// These if `on`, else none.
    pub const fn only_if(self, on: bool) -> RequestFlags {
        RequestFlags(if on { self.0 } else { 0 })
    }

    /// Is one of `flags` among them?
    #[inline(always)]
    pub const fn any(self, flags: RequestFlags) -> bool {
        self.0 & flags.0 != 0
    }

    /// Those of them that are in `flags`.
    pub const fn among(self, flags: RequestFlags) -> RequestFlags {
        RequestFlags(self.0 & flags.0)
    }

    /// Those that some of `requests` have.
    pub fn of(requests: &[HostRequest]) -> RequestFlags {
        let all = requests.iter().map(|request| request.flags);
        all.fold(RequestFlags::NONE, RequestFlags::and)
    }

    /// FUA and preflush, which only writes have.
    pub const OF_WRITES: RequestFlags = RequestFlags::FUA.and(RequestFlags::PREFLUSH);

    /// One bit for each flag, the same in every version of the program.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The flags of these bits; `None` if one has no meaning.
    pub const fn from_bits(bits: u8) -> Option<RequestFlags> {
        let known = RequestFlags::ATOMIC.and(RequestFlags::OF_WRITES);
        if bits & !known.0 == 0 {
            Some(RequestFlags(bits))
        } else {
            None
        }
    }
}

/// Consecutive sectors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Extent {
    /// First sector, counted from the start of the device.
    pub start_sector: u64,
    /// Number of sectors, at least 1.
    pub sectors: u32,
}

impl Extent {
    /// So many sectors from a first one on.
    #[inline]
    pub const fn new(start_sector: u64, sectors: u32) -> Extent {
        Extent {
            start_sector,
            sectors,
        }
    }

    /// First sector behind the extent.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.start_sector + self.sectors as u64
    }
}

/// One host request, 32 B, as a decoded trace stores it.
///
/// Old addresses (`prev`) and further extents are rare and live in side tables of the
/// [`RequestBatch`]; [`RequestBatch::get`] puts the two together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostRequest {
    /// Time since the first request of the trace.
    pub arrival: Nanos,
    /// First sector of the first extent; 0 for FLUSH.
    pub start_sector: u64,
    /// Sectors of the first extent; 0 only for FLUSH.
    pub sectors: u32,
    /// Row of the side table plus one, 0 = none. Set by [`RequestBatch::push_with`] only.
    side: u32,
    /// Source of the request (volume, disk, process), as the trace numbers it.
    pub stream: u32,
    /// Kind of request.
    pub op: Op,
    /// FUA, preflush, part of an atomic write.
    pub flags: RequestFlags,
    /// The kind of data in the file system.
    pub tag: Tag,
    /// The sender.
    pub origin: RequestOrigin,
}

impl HostRequest {
    /// A request with one extent and nothing else known about it.
    pub const fn new(arrival: Nanos, op: Op, start_sector: u64, sectors: u32) -> HostRequest {
        let (flags, tag, origin) = (RequestFlags::NONE, Tag::None, RequestOrigin::Host);
        HostRequest {
            arrival,
            start_sector,
            sectors,
            side: 0,
            stream: 0,
            op,
            flags,
            tag,
            origin,
        }
    }

    /// Is it part of an atomic write of the file system?
    #[inline(always)]
    pub const fn is_atomic(&self) -> bool {
        self.flags.any(RequestFlags::ATOMIC)
    }

    /// Is the record the whole request: one extent, no old address?
    #[inline(always)]
    pub const fn is_all(&self) -> bool {
        self.side == 0
    }
}

/// Marks "no old address" in a `prev` list.
pub const NO_PREV: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
struct Side {
    extents: (u32, u32),
    prev: (u32, u32),
}

/// A run of decoded requests in trace order: what readers fill and the simulator reads.
#[derive(Clone, Debug, Default)]
pub struct RequestBatch {
    requests: Vec<HostRequest>,
    sides: Vec<Side>,
    extents: Vec<Extent>,
    prev: Vec<u64>,
}

/// One request of a [`RequestBatch`] together with its side-table rows.
#[derive(Clone, Copy, Debug)]
pub struct RequestRef<'a> {
    /// The 32 B record.
    pub head: &'a HostRequest,
    /// Extents after the first one, in the order of the request.
    pub more: &'a [Extent],
    /// Start sector of the old copy of each 4 KiB block, in request order, [`NO_PREV`] = none.
    /// Empty if the request names no old address at all.
    pub prev: &'a [u64],
}

impl<'a> RequestRef<'a> {
    /// A request without side-table rows.
    #[inline]
    pub const fn new(head: &'a HostRequest) -> RequestRef<'a> {
        RequestRef {
            head,
            more: &[],
            prev: &[],
        }
    }

    /// All extents in the order of the request; none for FLUSH.
    pub fn extents(&self) -> impl Iterator<Item = Extent> + use<'a> {
        let first = Extent::new(self.head.start_sector, self.head.sectors);
        (first.sectors > 0)
            .then_some(first)
            .into_iter()
            .chain(self.more.iter().copied())
    }

    /// The extent of a request that has one, not a list of them.
    #[inline]
    pub fn only_extent(&self) -> Option<Extent> {
        let only = Extent::new(self.head.start_sector, self.head.sectors);
        (only.sectors > 0 && self.more.is_empty()).then_some(only)
    }

    /// Bytes the request moves.
    pub fn bytes(&self) -> u64 {
        self.extents()
            .map(|e| u64::from(e.sectors) * SECTOR_BYTES)
            .sum()
    }
}

impl RequestBatch {
    /// An empty batch.
    pub fn new() -> RequestBatch {
        RequestBatch::default()
    }

    /// An empty batch with room for `requests` records.
    pub fn with_capacity(requests: usize) -> RequestBatch {
        RequestBatch {
            requests: Vec::with_capacity(requests),
            ..RequestBatch::default()
        }
    }

    /// Appends a request with one extent and no old address.
    #[inline]
    pub fn push(&mut self, request: HostRequest) {
        debug_assert_eq!(request.side, 0, "side tables are filled by push_with");
        self.requests.push(request);
    }

    /// Appends a request with further extents and old addresses; both may be empty.
    ///
    /// # Panics
    /// If a side table would exceed 2^32 rows.
    pub fn push_with(&mut self, mut request: HostRequest, more: &[Extent], prev: &[u64]) {
        if more.is_empty() && prev.iter().all(|&p| p == NO_PREV) {
            request.side = 0;
            return self.requests.push(request);
        }
        let row = |n: usize| u32::try_from(n).expect("side table of a trace exceeds 2^32 rows");
        let (e, p) = (row(self.extents.len()), row(self.prev.len()));
        self.extents.extend_from_slice(more);
        self.prev.extend_from_slice(prev);
        let side = Side {
            extents: (e, row(self.extents.len())),
            prev: (p, row(self.prev.len())),
        };
        self.sides.push(side);
        request.side = row(self.sides.len());
        self.requests.push(request);
    }

    /// Request `index` with its side-table rows.
    ///
    /// # Panics
    /// If `index` is not below [`RequestBatch::len`].
    #[inline]
    pub fn get(&self, index: usize) -> RequestRef<'_> {
        self.with_sides(&self.requests[index])
    }

    /// A record of [`RequestBatch::records`] with its side-table rows.
    ///
    /// # Panics
    /// If the record is one of another batch.
    #[inline]
    pub fn with_sides<'a>(&'a self, head: &'a HostRequest) -> RequestRef<'a> {
        if head.side == 0 {
            return RequestRef::new(head);
        }
        self.sides_of(head)
    }

    #[inline(never)]
    fn sides_of<'a>(&'a self, head: &'a HostRequest) -> RequestRef<'a> {
        let side = self.sides[head.side as usize - 1];
        RequestRef {
            head,
            more: &self.extents[side.extents.0 as usize..side.extents.1 as usize],
            prev: &self.prev[side.prev.0 as usize..side.prev.1 as usize],
        }
    }

    /// All requests in order.
    pub fn iter(&self) -> impl Iterator<Item = RequestRef<'_>> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// The records alone, for code that needs no side table.
    pub fn records(&self) -> &[HostRequest] {
        &self.requests
    }

    /// The records for changes in place (rebasing of arrivals, stream numbers).
    pub fn records_mut(&mut self) -> &mut [HostRequest] {
        &mut self.requests
    }

    /// Replaces every sector address by `f` of it: of extents, and old addresses.
    pub fn map_sectors(&mut self, mut f: impl FnMut(u64) -> u64) {
        // A flush has no address.
        for request in self.requests.iter_mut().filter(|r| r.sectors > 0) {
            request.start_sector = f(request.start_sector);
        }
        for extent in &mut self.extents {
            extent.start_sector = f(extent.start_sector);
        }
        for prev in self.prev.iter_mut().filter(|p| **p != NO_PREV) {
            *prev = f(*prev);
        }
    }

    /// Bytes that the requests take, side tables included.
    pub fn memory(&self) -> u64 {
        let bytes = size_of_val(&self.requests[..])
            + size_of_val(&self.sides[..])
            + size_of_val(&self.extents[..])
            + size_of_val(&self.prev[..]);
        bytes as u64
    }

    /// Those of them that are in side tables.
    pub fn side_memory(&self) -> u64 {
        self.memory() - size_of_val(&self.requests[..]) as u64
    }

    /// Number of requests.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Is no request in the batch?
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Forgets all requests but keeps the memory.
    pub fn clear(&mut self) {
        self.requests.clear();
        self.sides.clear();
        self.extents.clear();
        self.prev.clear();
    }

    /// Keeps the first `len` requests. Side-table rows of the others stay allocated.
    pub fn truncate(&mut self, len: usize) {
        self.requests.truncate(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_takes_32_bytes() {
        assert_eq!(std::mem::size_of::<HostRequest>(), 32);
    }

    #[test]
    fn side_tables_belong_to_their_request() {
        let mut batch = RequestBatch::new();
        let at = |n| HostRequest::new(Nanos(n), Op::Write, n * 8, 8);
        batch.push(at(1));
        batch.push_with(at(2), &[Extent::new(100, 8)], &[40, NO_PREV]);
        batch.push_with(at(3), &[], &[NO_PREV]);
        assert_eq!(batch.get(0).prev, &[] as &[u64]);
        assert_eq!(batch.get(1).prev, &[40, NO_PREV]);
        let starts: Vec<u64> = batch.get(1).extents().map(|e| e.start_sector).collect();
        assert_eq!(starts, [16, 100]);
        assert_eq!(batch.get(1).bytes(), 8192);
        assert_eq!(
            batch.get(2).prev,
            &[] as &[u64],
            "a list of nothing is no list"
        );
    }

    #[test]
    fn flush_has_no_extent() {
        let flush = HostRequest::new(Nanos(0), Op::Flush, 0, 0);
        let mut batch = RequestBatch::new();
        batch.push(flush);
        assert_eq!(batch.get(0).extents().count(), 0);
    }
}
