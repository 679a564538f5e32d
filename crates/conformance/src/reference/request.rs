//! Host requests as the models read them.

use std::collections::BTreeMap;

use destage_types::request::NO_PREV;
use destage_types::{Extent, HostRequest, Nanos, Op, RequestBatch, RequestFlags, RequestRef};

/// One host request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlowRequest {
    /// Kind of request.
    pub op: Op,
    /// Arrival, ns.
    pub arrival: u64,
    /// First sector and number of sectors of each extent; empty for FLUSH.
    pub extents: Vec<(u64, u32)>,
    /// First sector of the old copy of each 4 KiB block; shorter lists mean "none" for the rest.
    pub prev: Vec<Option<u64>>,
    /// Part of an atomic write (CAC section 4.3).
    pub atomic: bool,
    /// FUA and preflush.
    pub flags: RequestFlags,
    /// Next use of each page, `None` = never; only belady reads it. See [`look_ahead`].
    pub next: Vec<Option<u64>>,
}

/// The access of a request to one page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlowAccess {
    /// Logical page.
    pub lpn: u64,
    /// Sectors of the page that are meant.
    pub mask: u128,
}

/// The sectors `from..to` of a page, one bit each.
pub fn sectors_of(from: u64, to: u64) -> u128 {
    (from..to).map(|sector| 1 << sector).sum()
}

impl SlowRequest {
    /// A request with one extent at time 0.
    pub fn new(op: Op, first_sector: u64, sectors: u32) -> SlowRequest {
        let extents = if sectors == 0 {
            Vec::new()
        } else {
            vec![(first_sector, sectors)]
        };
        SlowRequest {
            op,
            arrival: 0,
            extents,
            prev: Vec::new(),
            atomic: false,
            flags: RequestFlags::NONE,
            next: Vec::new(),
        }
    }

    /// The same at another time.
    pub fn at(self, arrival: u64) -> SlowRequest {
        SlowRequest { arrival, ..self }
    }

    /// A request for whole pages `first..=last` of `spp` sectors each.
    pub fn pages(op: Op, spp: u32, first: u64, last: u64) -> SlowRequest {
        let sectors = (last - first + 1) * u64::from(spp);
        SlowRequest::new(op, first * u64::from(spp), sectors as u32)
    }

    /// A write of whole pages.
    pub fn write_pages(spp: u32, first: u64, last: u64) -> SlowRequest {
        SlowRequest::pages(Op::Write, spp, first, last)
    }

    /// The page accesses of the request: ascending inside an extent, extents in order.
    pub fn accesses(&self, spp: u32) -> Vec<SlowAccess> {
        let mut out = Vec::new();
        for &(start, sectors) in &self.extents {
            let end = start + u64::from(sectors); // first sector behind the extent
            let size = u64::from(spp);
            for lpn in start / size..=(end - 1) / size {
                let from = start.max(lpn * size) - lpn * size;
                let to = end.min((lpn + 1) * size) - lpn * size;
                let mask = sectors_of(from, to);
                out.push(SlowAccess { lpn, mask });
            }
        }
        out
    }

    /// Sectors of all extents.
    pub fn sectors(&self) -> u64 {
        self.extents.iter().map(|e| u64::from(e.1)).sum()
    }
}

impl From<RequestRef<'_>> for SlowRequest {
    fn from(request: RequestRef<'_>) -> SlowRequest {
        let prev = request.prev.iter();
        SlowRequest {
            op: request.head.op,
            arrival: request.head.arrival.0,
            extents: (request.extents().map(|e| (e.start_sector, e.sectors))).collect(),
            prev: prev.map(|&p| (p != NO_PREV).then_some(p)).collect(),
            atomic: request.head.is_atomic(),
            flags: request.head.flags.among(RequestFlags::OF_WRITES),
            next: Vec::new(),
        }
    }
}

/// The requests as a batch of the product's types.
pub fn to_batch(requests: &[SlowRequest]) -> RequestBatch {
    let mut batch = RequestBatch::with_capacity(requests.len());
    for request in requests {
        let (start, sectors) = request.extents.first().copied().unwrap_or((0, 0));
        let mut head = HostRequest::new(Nanos(request.arrival), request.op, start, sectors);
        head.flags = RequestFlags::ATOMIC
            .only_if(request.atomic)
            .and(request.flags);
        let more: Vec<Extent> = (request.extents.iter().skip(1))
            .map(|&(start_sector, sectors)| Extent {
                start_sector,
                sectors,
            })
            .collect();
        let prev: Vec<u64> = request.prev.iter().map(|p| p.unwrap_or(NO_PREV)).collect();
        batch.push_with(head, &more, &prev);
    }
    batch
}

/// Fills `next` of every request: the index of the next page access to the same page, counted over
/// all reads and writes (ProCache section 3). A TRIM of the whole page in between means "never".
///
/// With `next_of=write` only writes count as a next use. With `overwrite` so do TRIMs of whole pages, and no page
/// has a next use across a FLUSH, or behind a write with FUA.
pub fn look_ahead(requests: &mut [SlowRequest], spp: u32, next_of: &str) {
    let full = sectors_of(0, spp.into());
    let data = |r: &SlowRequest| matches!(r.op, Op::Read | Op::Write);
    let overwrite = next_of == "overwrite";
    let mut time: u64 = (requests.iter())
        .filter(|r| data(r))
        .map(|r| r.accesses(spp).len() as u64)
        .sum();
    let mut coming: BTreeMap<u64, u64> = BTreeMap::new();
    for request in requests.iter_mut().rev() {
        let accesses = request.accesses(spp);
        request.next = vec![None; accesses.len()];
        if overwrite && request.flags.any(RequestFlags::FUA) {
            coming.retain(|lpn, _| accesses.iter().all(|access| access.lpn != *lpn));
        }
        for (i, access) in accesses.iter().enumerate().rev() {
            if data(request) {
                time -= 1;
                request.next[i] = coming.get(&access.lpn).copied();
                if request.op == Op::Write || next_of == "any" {
                    coming.insert(access.lpn, time);
                }
            } else if request.op == Op::Trim && access.mask == full {
                match overwrite {
                    true => coming.insert(access.lpn, time),
                    false => coming.remove(&access.lpn),
                };
            }
        }
        if overwrite && (request.op == Op::Flush || request.flags.any(RequestFlags::PREFLUSH)) {
            coming.clear();
        }
    }
}
