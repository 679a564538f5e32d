//! What the request walk asks of the flash behind the cache.
//!
//! Two things answer: [`CacheOnly`], for which every page is mapped and nothing takes time, and the
//! engine of a device. The walk is generic over them, so a cache-only run pays nothing for time.

use destage_scheme::{DeviceView, NoDevice};
use destage_types::{Lpn, Nanos, Op};

/// Why a page is programmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// It was evicted (or is padding of an evicted block).
    Eviction,
    /// It is data of the request itself: no cache, or a bypass.
    Own,
    /// FLUSH.
    Flush,
}

/// One program.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The page.
    pub lpn: Lpn,
    /// Why.
    pub cause: Cause,
    /// Number of the unit whose pages share one plane (D6 `single_block`); else striped.
    pub unit: Option<u64>,
    /// The old page is read first: to fill sectors the cache does not have, or as padding.
    pub read_first: bool,
}

/// The flash behind the cache.
pub trait Flash {
    /// Does it keep time? Without time there is no background work.
    const TIMED: bool;

    /// What schemes see of it.
    fn view(&self) -> &dyn DeviceView;

    /// Does flash hold data of the page?
    fn is_mapped(&self, lpn: Lpn) -> bool;

    /// A request begins; the operations up to [`Flash::end`] belong to it.
    fn begin(&mut self, index: u64, op: Op, now: Nanos);

    /// A read miss: `sectors` sectors of the page are transferred.
    fn read(&mut self, lpn: Lpn, sectors: u32);

    /// A page is programmed.
    fn program(&mut self, program: Program);

    /// The page holds no data any more.
    fn trim(&mut self, lpn: Lpn);

    /// All operations of the request are known; it had `pages` page accesses and `hits` hits.
    fn end(&mut self, pages: u32, hits: u32);
}

/// No device: every page is mapped, and nothing takes time.
#[derive(Clone, Copy, Debug, Default)]
pub struct CacheOnly;

impl Flash for CacheOnly {
    const TIMED: bool = false;

    fn view(&self) -> &dyn DeviceView {
        &NoDevice
    }

    fn is_mapped(&self, _lpn: Lpn) -> bool {
        true
    }

    fn begin(&mut self, _index: u64, _op: Op, _now: Nanos) {}

    fn read(&mut self, _lpn: Lpn, _sectors: u32) {}

    fn program(&mut self, _program: Program) {}

    fn trim(&mut self, _lpn: Lpn) {}

    fn end(&mut self, _pages: u32, _hits: u32) {}
}
