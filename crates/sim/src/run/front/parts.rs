//! Parts of the host's side: a command with its request, the link, and the admission of writes.

use crate::cache::page_span;
use destage_device::config::WritePrice;
use destage_types::{
    Extent, HostRequest, Op, PageSize, RequestFlags, RequestOrigin, RequestRef, SECTOR_BYTES,
};

/// A request that is kept until it is served.
#[derive(Clone, Debug)]
pub(crate) struct OwnedRequest {
    head: HostRequest,
    more: Vec<Extent>,
    prev: Vec<u64>,
}

impl OwnedRequest {
    pub fn new(request: RequestRef<'_>) -> OwnedRequest {
        OwnedRequest {
            head: *request.head,
            more: request.more.to_vec(),
            prev: request.prev.to_vec(),
        }
    }

    pub fn get(&self) -> RequestRef<'_> {
        RequestRef {
            head: &self.head,
            more: &self.more,
            prev: &self.prev,
        }
    }

    pub fn op(&self) -> Op {
        self.head.op
    }

    pub fn stream(&self) -> u32 {
        self.head.stream
    }

    pub fn has_preflush(&self) -> bool {
        self.head.flags.any(RequestFlags::PREFLUSH)
    }

    /// Is it a request of a modelled file system's cleaning?
    pub fn cleans(&self) -> bool {
        self.head.origin == RequestOrigin::Cleaning
    }

    /// Pages that it touches.
    fn pages(&self, page: PageSize) -> u64 {
        let of = |extent: Extent| u64::from(page_span(&extent, page).1);
        self.get().extents().map(of).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.get()
            .extents()
            .map(|extent| u64::from(extent.sectors) * SECTOR_BYTES)
            .sum()
    }
}

/// Paced admission of writes (D-17).
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteAdmission {
    price: WritePrice,
    unit: PageSize,
    /// When all writes are paid that were let in: T.
    paid: u64,
}

impl WriteAdmission {
    pub fn new(price: WritePrice, unit: PageSize) -> WriteAdmission {
        let paid = 0;
        WriteAdmission { price, unit, paid }
    }

    /// When a write is let in that comes at `at`, while collection has a debt of so much. A part of a mapping unit costs as
    /// much as the whole.
    pub fn let_in(&mut self, at: u64, write: &OwnedRequest, debt: u64) -> u64 {
        let paid = self.paid.max(at);
        let burst = self.price.of(self.price.burst.into(), debt);
        self.paid = paid.saturating_add(self.price.of(write.pages(self.unit), debt));
        at.max(paid.saturating_sub(burst))
    }
}

/// One direction of the link.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkWay {
    /// Bytes a second; none: without limit.
    pub rate: Option<u64>,
    pub free_at: u64,
}

impl LinkWay {
    /// When so many bytes that are there at `ready` have passed.
    pub fn pass(&mut self, ready: u64, bytes: u64) -> u64 {
        let Some(rate) = self.rate else { return ready };
        self.free_at = self.free_at.max(ready) + per_second(bytes, rate);
        self.free_at
    }
}

/// Time of so many at a rate, in ns, rounded up.
fn per_second(count: u64, rate: u64) -> u64 {
    match count.checked_mul(1_000_000_000) {
        Some(product) => product.div_ceil(rate),
        None => (u128::from(count) * 1_000_000_000).div_ceil(u128::from(rate)) as u64,
    }
}
