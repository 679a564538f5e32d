//! Parts of the host's side: a command with its request, the link, and the write pace.

use destage_types::{
    Extent, HostRequest, Op, RequestFlags, RequestOrigin, RequestRef, SECTOR_BYTES,
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

    pub fn bytes(&self) -> u64 {
        self.get()
            .extents()
            .map(|extent| u64::from(extent.sectors) * SECTOR_BYTES)
            .sum()
    }
}

/// Paced admission of writes: units in `per_s` a second, with bursts.
#[derive(Clone, Copy, Debug)]
pub(super) struct WritePace {
    per_s: u64,
    /// Time of a burst.
    burst: u64,
    unit: u64,
    /// Theoretical arrival of the next write.
    next: u64,
}

impl WritePace {
    /// Units of `unit` bytes, in bursts of `burst` units.
    pub fn new(per_s: u64, burst: u64, unit: u64) -> WritePace {
        WritePace {
            per_s,
            burst: per_second(burst, per_s),
            unit,
            next: 0,
        }
    }

    /// When a write of so many bytes that comes at `at` is let in (D-17).
    pub fn let_in(&mut self, at: u64, bytes: u64) -> u64 {
        let units = bytes.div_ceil(self.unit);
        let early = self.next.saturating_sub(self.burst);
        self.next = self.next.max(at) + per_second(units, self.per_s);
        at.max(early)
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
