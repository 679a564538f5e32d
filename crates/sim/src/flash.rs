//! The interface between the cache and the flash behind it.
//!
//! Two things answer: [`CacheOnly`], for which every page is mapped and nothing takes time, and the
//! engine of a device. The cache is generic over them, so a cache-only run pays nothing for time.

use crate::device::DeviceCore;
use destage_record::Counts;
use destage_scheme::{DeviceView, NoDevice, WriteClass};
use destage_types::{ChannelId, HostRequest, Lpn, Nanos};

/// Why a page is programmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// It was dirty and was evicted.
    Eviction,
    /// It is clean or not cached, and completes an evicted block.
    Padding,
    /// It is data of the request itself: no cache, or a bypass.
    Own,
    /// FLUSH.
    Flush,
    /// It is written back in this class, and no request waits for it. In the host's, the page is mapped at once and the
    /// program counts as started.
    WriteBack(WriteClass),
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
    /// Channel that was idle, if it is programmed for that. Dynamic allocation chooses among its chips,
    /// or else among all, when the program is queued.
    pub channel: Option<ChannelId>,
    /// The old page is read first, in the same class: to fill sectors the cache does not have, or as padding.
    pub read_first: bool,
    /// Its data are in the cache; of a cache in flash they are read first, too.
    pub cached: bool,
}

/// The flash behind the cache, as it serves requests.
///
/// Methods with a body have none for flash without time; those for a cache in flash are for devices that have one, and
/// those of open units for drives with units (D-8).
pub trait Flash {
    /// Does it keep time? Without time there is no background work.
    const TIMED: bool;

    /// The device, if there is one.
    fn core(&self) -> Option<&DeviceCore> {
        None
    }

    /// The same, to be changed.
    fn core_mut(&mut self) -> Option<&mut DeviceCore> {
        None
    }

    /// The view that schemes have of the flash.
    fn view(&self) -> &dyn DeviceView;

    /// Does flash hold data of the page?
    fn is_mapped(&self, lpn: Lpn) -> bool;

    /// A request begins; the operations up to [`Flash::end`] belong to it.
    fn begin(&mut self, index: u64, request: &HostRequest, now: Nanos);

    /// A read miss: `sectors` sectors of the page are transferred.
    fn read(&mut self, lpn: Lpn, sectors: u32);

    /// A page is programmed. Gives the token of a write-back, and of a frame that is occupied until its data are on flash.
    fn program(&mut self, program: Program) -> Option<u32>;

    /// The page holds no data any more.
    fn trim(&mut self, lpn: Lpn);

    /// All operations of the request are known; it had `pages` page accesses and `hits` hits.
    fn end(&mut self, pages: u64, hits: u64);

    /// Lets time pass up to `until`, or up to the next instant at which background work ended or
    /// may be issued; that instant is the answer.
    fn step(&mut self, until: Nanos) -> Option<Nanos>;

    /// When something happens next without new requests.
    fn next_event(&self) -> Nanos {
        Nanos::NEVER
    }

    /// The measured part begins with the next request.
    fn start_measuring(&mut self) {
        if let Some(core) = self.core_mut() {
            core.start_measuring();
        }
    }

    /// What flash adds to the counters in the measured part so far: work beside programming host data, and reads before
    /// background programs that have started.
    fn traffic(&self) -> Counts {
        self.core()
            .map_or_else(Counts::default, DeviceCore::traffic)
    }

    /// The request reads `sectors` sectors of a page from the cache.
    fn cache_read(&mut self, _lpn: Lpn, _sectors: u32) {}

    /// The request writes a page, or a part of it, to the cache.
    #[inline]
    fn cache_write(&mut self, lpn: Lpn) {
        if let Some(core) = self.core_mut() {
            core.version_is_written(lpn);
        }
    }

    /// The data of a read miss enter the cache; `read` says that flash had some of them and
    /// [`Flash::read`] was called.
    fn cache_fill(&mut self, _lpn: Lpn, _read: bool) {}

    /// Is `channel` idle: no host or GC operation queued or in service, and its bus free?
    ///
    /// Schemes are asked for write-backs on idle channels alone unless they declare something else.
    fn is_idle(&self, channel: ChannelId) -> bool {
        self.core()
            .is_some_and(|core| core.is_channel_idle(channel))
    }

    /// Tells from now on of the ends of all `programs` of host data, and lets the cache act whenever one of the `channels`
    /// may have become idle.
    fn watch(&mut self, _programs: bool, _channels: bool) {}

    /// When a background program that has started ends; `None` if it is still queued.
    fn background_end(&self, _token: u32) -> Option<Nanos> {
        None
    }

    /// Takes a queued background program back, with what waits of the reads before it.
    fn cancel_background(&mut self, _token: u32) {}

    /// Takes these queued background programs back together. No collection begins in the background until the next request.
    fn stop_background(&mut self, _queued: &[u32]) {}

    /// A background program in flight counts as caused by the current request from now on.
    fn adopt_background(&mut self, _token: u32) {}

    /// Moves the tokens of the write-backs that ended since the last call to `out`; the tokens are
    /// free then. Is a layer that drains to be asked, as a program of host data ended or there may be room?
    fn take_ended(&mut self, _out: &mut Vec<u32>) -> bool {
        false
    }

    /// Moves the background programs that started since the last call to `out`.
    fn take_started(&mut self, _out: &mut Vec<(Lpn, Nanos)>) {}

    /// Are the data of a write-back in an open unit?
    fn is_in_open_unit(&self, _token: u32) -> bool {
        false
    }

    /// Can the flash take this page now, or any if none is given?
    fn has_room(&self, _lpn: Option<Lpn>) -> bool {
        true
    }

    /// The cache keeps a page because the flash has no room for it.
    fn wait_for_room(&mut self, _lpn: Lpn) {}

    /// Does the flash keep data that it has no room for?
    fn is_stalled(&self) -> bool {
        false
    }

    /// Units of the host that are queued or running, where data go in units.
    fn units_outstanding(&self) -> Option<u32> {
        None
    }

    /// Closes the fullest open unit of the host. Is there one?
    fn close_open_unit(&mut self) -> bool {
        false
    }

    /// All pages of a flush were handed over: open units with data of these pages, `None` for all, are closed,
    /// and the request waits for the programs of these pages that are under way, old data or new. It waited for this.
    fn end_flush(&mut self, _request: u32, _of: Option<&[Lpn]>) {}
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

    fn begin(&mut self, _index: u64, _request: &HostRequest, _now: Nanos) {}

    fn read(&mut self, _lpn: Lpn, _sectors: u32) {}

    fn program(&mut self, _program: Program) -> Option<u32> {
        None
    }

    fn trim(&mut self, _lpn: Lpn) {}

    fn end(&mut self, _pages: u64, _hits: u64) {}

    fn step(&mut self, _until: Nanos) -> Option<Nanos> {
        None
    }
}
