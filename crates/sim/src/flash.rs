//! The interface between the cache and the flash behind it.
//!
//! Two things answer: [`CacheOnly`], for which every page is mapped and nothing takes time, and the
//! engine of a device. The cache is generic over them, so a cache-only run pays nothing for time.

use crate::device::completed::Completed;
use crate::device::debt::CollectionDebt;
use crate::device::latency::LatencyTriple;
use crate::device::{BusyTimes, DeviceCore};
use destage_device::map::{BlockStates, DeviceFull, Wear};
use destage_device::nand::ChipStats;
use destage_record::profile::ResponseTail;
use destage_record::scene::SceneGeometry;
use destage_record::{Backlog, Completion, Counts, Latencies, MeanNs, Timeline, TimelineWindow};
use destage_scheme::{DeviceView, NoDevice, WriteClass};
use destage_types::{ChannelId, Lpn, Nanos, Op};

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
    /// Its data are in the cache; of a cache in flash they are read first, too.
    pub cached: bool,
}

/// The program of a write-back; its data are in the cache.
#[derive(Clone, Copy, Debug)]
pub struct BackgroundProgram {
    /// The page.
    pub lpn: Lpn,
    /// Number of the unit whose pages share one plane (D6 `single_block`); else striped.
    pub unit: Option<u64>,
    /// Channel that was idle, if it is programmed for that. Dynamic allocation chooses among its chips,
    /// or else among all, when the program is queued.
    pub channel: Option<ChannelId>,
    /// The old page is read first, in the same class.
    pub read_first: bool,
    /// Class of its operations. In the host's, the page is mapped at once and the program counts as
    /// started.
    pub class: WriteClass,
}

/// The flash behind the cache, as it serves requests.
pub trait Flash: CacheInFlash + BackgroundFlash + BoundedFlash + FlashReport {
    /// Does it keep time? Without time there is no background work.
    const TIMED: bool;

    /// May it bound the buffer ([`BoundedFlash`])?
    const BOUNDS: bool = false;

    /// The view that schemes have of the flash.
    fn view(&self) -> &dyn DeviceView;

    /// Does flash hold data of the page?
    fn is_mapped(&self, lpn: Lpn) -> bool;

    /// Reads the mapping of the pages `numbers`, so that it is in the processor's cache when they are
    /// served. The result keeps the compiler from dropping the reads and has no meaning, like what
    /// `numbers` holds afterwards.
    fn prefetch(&self, _numbers: &mut [u64]) -> u64 {
        0
    }

    /// Logical pages there are; without end if there is no device.
    fn pages(&self) -> u64 {
        u64::MAX
    }

    /// A request begins; the operations up to [`Flash::end`] belong to it.
    fn begin(&mut self, index: u64, op: Op, now: Nanos);

    /// A read miss: `sectors` sectors of the page are transferred.
    fn read(&mut self, lpn: Lpn, sectors: u32);

    /// A page is programmed.
    fn program(&mut self, program: Program);

    /// The page holds no data any more.
    fn trim(&mut self, lpn: Lpn);

    /// All operations of the request are known; it had `pages` page accesses and `hits` hits.
    fn end(&mut self, pages: u64, hits: u64);

    /// Lets time pass up to `until`, or up to the next instant at which background work ended or
    /// may be issued; that instant is the answer.
    fn step(&mut self, until: Nanos) -> Option<Nanos>;
}

/// The region of the flash that holds the cache, on devices that have one.
pub trait CacheInFlash {
    /// The request reads `sectors` sectors of a page from the cache.
    fn cache_read(&mut self, _lpn: Lpn, _sectors: u32) {}

    /// The request writes a page, or a part of it, to the cache.
    fn cache_write(&mut self, _lpn: Lpn) {}

    /// The request goes past the cache with newer data of a page, of which nothing is dirty there any more.
    fn cache_superseded(&mut self, _lpn: Lpn) {}

    /// The data of a read miss enter the cache; `read` says that flash had some of them and
    /// [`Flash::read`] was called.
    fn cache_fill(&mut self, _lpn: Lpn, _read: bool) {}
}

/// Write-backs: programs that no request waits for.
pub trait BackgroundFlash {
    /// Is `channel` idle: no host or GC operation queued or in service, and its bus free?
    ///
    /// Schemes are asked for write-backs on idle channels alone unless they declare something else.
    fn is_idle(&self, _channel: ChannelId) -> bool {
        false
    }

    /// Tells of the ends of all programs of host data from now on, if `on`.
    fn watch_programs(&mut self, _on: bool) {}

    /// Lets the cache act whenever a channel may have become idle, if `on`.
    fn watch_channels(&mut self, _on: bool) {}

    /// Queues the program of a write-back and gives its token.
    fn queue_background(&mut self, program: BackgroundProgram, _now: Nanos) -> u32 {
        let lpn = program.lpn;
        unreachable!(
            "nobody asks for write-backs without a device, so page {lpn} is not written back"
        )
    }

    /// When a background program that has started ends; `None` if it is still queued.
    fn background_end(&self, _token: u32) -> Option<Nanos> {
        None
    }

    /// Takes a queued background program back, with what waits of the reads before it.
    fn cancel_background(&mut self, _token: u32) {}

    /// No collection begins in the background until the next request.
    fn stop_background(&mut self) {}

    /// Nothing starts until [`BackgroundFlash::resume`], at the same instant.
    fn hold(&mut self) {}

    /// Operations that may start do.
    fn resume(&mut self) {}

    /// A background program in flight counts as caused by the current request from now on.
    fn adopt_background(&mut self, _token: u32) {}

    /// Moves the tokens of the write-backs that ended since the last call to `out`; the tokens are
    /// free then. Is a layer that drains to be asked, as a program of host data ended or there may be room?
    fn take_ended(&mut self, _out: &mut Vec<u32>) -> bool {
        false
    }

    /// Did background programs start since [`BackgroundFlash::take_started`] was called last?
    fn has_started(&self) -> bool {
        true
    }

    /// Moves the background programs that started since the last call to `out`.
    fn take_started(&mut self, _out: &mut Vec<(Lpn, Nanos)>) {}
}

/// A buffer whose frames are kept until their data are on flash, on devices that ask for it (D-8).
pub trait BoundedFlash {
    /// Does the device ask for it?
    fn is_bounded(&self) -> bool {
        false
    }

    /// Do data written to a page in an open unit replace those in the unit?
    fn rewrites_in_place(&self) -> bool {
        false
    }

    /// The current request replaces the data of a page in its open unit.
    fn replace_in_open_unit(&mut self, _lpn: Lpn) {}

    /// Are the data of a write-back in an open unit?
    fn is_in_open_unit(&self, _token: u32) -> bool {
        false
    }

    /// Can the flash take any page now?
    fn has_room(&self) -> bool {
        true
    }

    /// Can the flash take this page now?
    fn can_hand_over(&self, _lpn: Lpn) -> bool {
        true
    }

    /// The cache keeps a page because the flash has no room for it.
    fn wait_for_room(&mut self, _lpn: Lpn) {}

    /// Does the flash keep data that it has no room for?
    fn is_stalled(&self) -> bool {
        false
    }

    /// A page is programmed whose frame is occupied until its data are on flash: gives the token of the frame.
    fn program_in_frame(&mut self, _program: Program) -> u32 {
        unreachable!("only what is bounded has occupied frames")
    }

    /// Units of the host that are queued or running.
    fn units_outstanding(&self) -> u32 {
        0
    }

    /// Closes the fullest open unit of the host. Is there one?
    fn close_open_unit(&mut self) -> bool {
        false
    }

    /// The current request is a FLUSH or FUA and waits until [`BoundedFlash::end_flush`]: gives its name, if it needs one.
    fn begin_flush(&mut self) -> u32 {
        0
    }

    /// All pages of a flush were handed over: open units with data of these pages, `None` for all, are closed,
    /// and the request waits for the programs of these pages that are under way, old data or new.
    fn end_flush(&mut self, _request: u32, _of: Option<&[Lpn]>, _now: Nanos) {}

    /// The current request waits for frames, and goes on later: gives its name.
    fn leave_open(&mut self) -> u32 {
        unreachable!("no request waits for frames where they are not bounded")
    }

    /// The request is the current one again at `now`, when it may get its last frame.
    fn resume_request(&mut self, _request: u32, _now: Nanos) {}
}

/// Questions of a run to the flash besides serving requests: figures of the result, and the next event. Those with a body
/// have one answer, that of the device.
pub trait FlashReport {
    /// The device, if there is one.
    fn core(&self) -> Option<&DeviceCore>;

    /// The same, to be changed.
    fn core_mut(&mut self) -> Option<&mut DeviceCore>;

    /// When something happens next without new requests.
    fn next_event(&self) -> Nanos;

    /// The measured part begins with the next request.
    fn start_measuring(&mut self);

    /// Writes with FUA come, which wait for programs of their pages.
    fn expect_fua(&mut self);

    /// What flash adds to the counters in the measured part so far: work beside programming host data, and reads before
    /// background programs that have started.
    fn traffic(&self) -> Counts;

    /// Erases since the device was new, preconditioning included.
    fn wear(&self) -> Option<Wear>;

    /// Channels, dies and blocks, for pictures of the device.
    fn scene_geometry(&self) -> Option<SceneGeometry>;

    /// Writes how full all blocks are to `out`.
    fn block_states(&self, out: &mut BlockStates);

    /// The device ran out of space, and what was to be programmed since then is lost.
    fn fault(&self) -> Option<&DeviceFull> {
        self.core()?.full.as_deref()
    }

    /// Mapping units that collection moves for each of the host, as the admission of writes sees it (D-17): in units of 2^-16.
    fn collection_debt(&self) -> u64 {
        let debt = self.core().and_then(|core| core.debt.as_ref());
        debt.map_or(0, CollectionDebt::mean)
    }

    /// Does a request wait for room, which a device that is full never gives?
    fn keeps_request_waiting(&self) -> bool {
        self.core()
            .is_some_and(|core| core.full.is_some() && core.requests.any())
    }

    /// Requests that are complete, where time is kept.
    fn completed(&self) -> Option<&Completed> {
        self.core().map(|core| &core.requests.completed)
    }

    /// The same, to be changed.
    fn completed_mut(&mut self) -> Option<&mut Completed> {
        self.core_mut().map(|core| &mut core.requests.completed)
    }

    /// Do times of the following requests count? Returns whether those before did.
    fn measure(&mut self, on: bool) -> bool {
        let completed = self.completed_mut();
        completed.is_some_and(|completed| completed.measure(on))
    }

    /// The last request arrives at `last`, which is not known elsewhere.
    fn expect_arrivals_until(&mut self, last: Nanos) {
        if let Some(completed) = self.completed_mut() {
            completed.expect_arrivals_until(last);
        }
    }

    /// Response times and what else only a device has, over the measured part.
    fn measures(&self) -> Option<DeviceMeasures> {
        let core = self.core()?;
        let [evict_wait, evict_turnaround] = core.evict_times.map(|time| time.summary());
        let completed = &core.requests.completed;
        Some(DeviceMeasures {
            latency: completed.latencies(),
            evict_wait,
            evict_turnaround,
            backlog: completed.backlog(),
        })
    }

    /// Response times of the measured part so far.
    fn response_times(&self) -> Option<&LatencyTriple> {
        let core = self.core()?;
        core.assert_observable();
        Some(core.requests.completed.times())
    }

    /// Response times of the reads and of the writes of the measured part.
    fn response_tails(&self) -> Option<[ResponseTail; 2]> {
        self.completed().map(Completed::tails)
    }

    /// How worn the flash is, and what it has done in the measured part so far.
    fn flash_state(&self) -> Option<FlashState> {
        Some(FlashState {
            wear: self.wear()?,
            chips: self.core()?.chips(),
        })
    }

    /// How long channels and dies were busy in the measured part, when nothing waits any more.
    fn busy_times(&self) -> Option<BusyTimes> {
        self.core().map(DeviceCore::busy_times)
    }

    /// When all work that is known ends, 0 without a device. Exact once nothing waits.
    fn rest(&self) -> Nanos {
        self.core().map_or(Nanos::ZERO, DeviceCore::rest)
    }

    /// Keeps completed requests from now on.
    fn keep_completions(&mut self) {
        if let Some(core) = self.core_mut() {
            core.assert_observable();
            core.requests.completed.keep();
        }
    }

    /// Were requests completed since the last call of [`FlashReport::take_completions`], if they are kept?
    fn has_completions(&self) -> bool {
        self.completed().is_some_and(Completed::has_kept)
    }

    /// Moves the requests that were completed since the last call to `out`.
    fn take_completions(&mut self, out: &mut Vec<Completion>) {
        if let Some(kept) = self.completed_mut().and_then(Completed::kept) {
            out.append(kept);
        }
    }

    /// Keeps a timeline of what happens in `window` from now on, in no more than `limit` bytes.
    fn keep_timeline(&mut self, window: TimelineWindow, limit: u64) {
        if let Some(core) = self.core_mut() {
            core.keep_timeline(window, limit);
        }
    }

    /// A request is complete, for the timeline if one is kept.
    fn note_request(&mut self, done: &Completion) {
        if let Some(rows) = self.core_mut().and_then(DeviceCore::timeline_rows) {
            rows.keep_request(done);
        }
    }

    /// The limit of a timeline in bytes and the time at which it exceeded it, if it did.
    fn timeline_excess(&self) -> Option<(u64, Nanos)> {
        self.core()?.timeline_excess()
    }

    /// The timeline of the run, if one is kept, when nothing waits any more; it ends here.
    fn end_timeline(&mut self) -> Option<Timeline> {
        self.core_mut()?.end_timeline()
    }
}

/// Figures that only a device can measure.
#[derive(Clone, Copy, Debug)]
pub struct DeviceMeasures {
    /// Response times.
    pub latency: Latencies,
    /// Waiting time of the programs of dirty evictions.
    pub evict_wait: MeanNs,
    /// The same until their end.
    pub evict_turnaround: MeanNs,
    /// Requests left when the last one arrives, if its arrival is known.
    pub backlog: Option<Backlog>,
}

/// The state of flash at the end of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlashState {
    /// Erases since the device was new, preconditioning included.
    pub wear: Wear,
    /// Commands given to every chip in the measured part ([`destage_device::nand::Nand::issued`]).
    pub chips: Vec<ChipStats>,
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

    fn end(&mut self, _pages: u64, _hits: u64) {}

    fn step(&mut self, _until: Nanos) -> Option<Nanos> {
        None
    }
}

impl BoundedFlash for CacheOnly {}

impl CacheInFlash for CacheOnly {}

impl BackgroundFlash for CacheOnly {}

impl FlashReport for CacheOnly {
    fn core(&self) -> Option<&DeviceCore> {
        None
    }

    fn core_mut(&mut self) -> Option<&mut DeviceCore> {
        None
    }

    fn next_event(&self) -> Nanos {
        Nanos::NEVER
    }

    fn start_measuring(&mut self) {}

    fn expect_fua(&mut self) {}

    fn traffic(&self) -> Counts {
        Counts::default()
    }

    fn wear(&self) -> Option<Wear> {
        None
    }

    fn scene_geometry(&self) -> Option<SceneGeometry> {
        None
    }

    fn block_states(&self, _out: &mut BlockStates) {}
}
