//! Operations in flight: which one belongs to which request, and what follows when it is timed.

mod timed;

use super::pending_writes::PendingWrites;
use crate::device::DeviceCore;
use crate::device::slab::Slab;
use crate::device::timeline::Purpose;
use destage_device::config::EvictWait;
use destage_device::nand::{NO_TOKEN, OpId, OpTimes};
use destage_types::{Lpn, Nanos, PlaneId};
use smallvec::{SmallVec, smallvec};

/// The role of an operation for the request it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OpRole {
    /// Data the request reads.
    Read,
    /// Old data read before a program; the program waits for it, the request for the program.
    Before,
    /// A program of the request's own pages.
    Own,
    /// A program the request caused.
    Caused,
    /// A program of a page that was not dirty and completes a block the request evicts.
    Padding,
    /// A program of FLUSH.
    Flush,
    /// A background write-back.
    Background,
    /// Old data read before a background write-back, in the background too.
    BackgroundRead,
    /// A write-back in the host's class.
    HandOver,
    /// Old data read before it, in the host's class too.
    HandOverRead,
    /// The same of a cache in flash.
    HandOverCacheRead,
    /// A summary page; no request waits for it.
    Summary,
    /// The erase that ends a background GC job; the page number is that of the block.
    Erase,
    /// A cache in flash: data the request reads there.
    CacheRead,
    /// Data of a request that are written there.
    CacheWrite,
    /// Data that a read miss brings there.
    CacheFill,
    /// Data read there before they are programmed outside.
    CacheBefore,
    /// The same before a background write-back.
    BackgroundCacheRead,
}

impl OpRole {
    /// The request, if its own data go past the cache.
    pub(super) fn own(self, request: u64) -> Option<u64> {
        (self == OpRole::Own).then_some(request)
    }

    /// The purpose of an operation of a page, for a request if it belongs to one.
    pub(super) fn purpose_of(self, lpn: Lpn, request: Option<u64>) -> Purpose {
        Purpose {
            page: (self != OpRole::Summary).then_some(lpn),
            request,
            ..Purpose::of(self.purpose())
        }
    }

    /// As [`PURPOSES`](destage_record::timeline::PURPOSES) has it.
    fn purpose(self) -> &'static str {
        match self {
            OpRole::Read => "read",
            OpRole::Before => "read before program",
            OpRole::Own => "bypass",
            OpRole::Caused => "eviction",
            OpRole::Padding => "padding",
            OpRole::Flush => "flush",
            OpRole::Background | OpRole::HandOver => "write-back",
            OpRole::BackgroundRead
            | OpRole::BackgroundCacheRead
            | OpRole::HandOverRead
            | OpRole::HandOverCacheRead => "read before write-back",
            OpRole::Summary => "summary",
            OpRole::Erase => "collection",
            OpRole::CacheRead => "cache read",
            OpRole::CacheWrite => "cache write",
            OpRole::CacheFill => "cache fill",
            OpRole::CacheBefore => "cache read before program",
        }
    }

    /// Does the operation belong to no request?
    fn is_background(self) -> bool {
        matches!(
            self,
            OpRole::Background
                | OpRole::BackgroundRead
                | OpRole::HandOver
                | OpRole::HandOverRead
                | OpRole::HandOverCacheRead
                | OpRole::Summary
                | OpRole::Erase
                | OpRole::BackgroundCacheRead
        )
    }
}

/// When an operation counts as done for its request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Counted {
    /// When it is queued: the request does not wait.
    AtOnce,
    /// At the end of its last bus transfer.
    Transfer,
    /// At its end.
    End,
}

impl Counted {
    /// When an operation that runs like this is done for its request. Which of the three it is, is
    /// random for some schemes: there is no branch on it.
    #[inline]
    fn end(self, times: OpTimes) -> Nanos {
        [Nanos::ZERO, times.last_transfer, times.end][self as usize]
    }
}

/// An operation that is not timed yet, or a background one that has not ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlightOp {
    pub role: OpRole,
    pub lpn: Lpn,
    /// Name in the array, once submitted.
    pub id: Option<OpId>,
    /// Write-back: it counts as started, and ends then; [`Nanos::NEVER`] while that is not known. The end of a
    /// program of a request that is known and still to be told.
    pub started: Option<Nanos>,
    /// Is the end of this program of a request told?
    pub tells_end: bool,
    /// Background: token of the read before it, which may have one before it in turn, or [`NO_TOKEN`].
    pub before: u32,
    /// The page after this one in a multi-plane operation, whose name in the array is the token of
    /// its first page.
    next: u32,
    /// Background: number of the plane it was queued for, or [`NO_TOKEN`]: that of its address. Of an
    /// erase, that of its block.
    pub plane: u32,
    request: u32,
    index: u64,
    counted: Counted,
    enqueued: Nanos,
    /// Of host data on its way: see [`ProgramWaits`](crate::device::program_waits::ProgramWaits).
    number: u64,
    measured: bool,
}

impl InFlightOp {
    /// Host data on its way to flash, to the region of a cache not included.
    pub fn is_program(&self) -> bool {
        matches!(
            self.role,
            OpRole::Own | OpRole::Caused | OpRole::Padding | OpRole::Flush | OpRole::HandOver
        )
    }

    /// Must a FLUSH that comes later wait for it?
    fn is_flushed(&self) -> bool {
        self.is_program() || self.role == OpRole::CacheWrite
    }

    /// Does a FLUSH that comes now wait for it? Its end is not known.
    fn is_under_way(&self) -> bool {
        match self.started {
            Some(end) => end == Nanos::NEVER,
            None => self.is_flushed(),
        }
    }

    pub fn purpose(&self) -> Purpose {
        self.role.purpose_of(self.lpn, self.request_index())
    }

    /// Number of the request it belongs to, if it belongs to one.
    pub fn request_index(&self) -> Option<u64> {
        (self.index != u64::MAX).then_some(self.index)
    }

    /// Is it a read before a background write-back of `lpn`? A token that is used again is of
    /// something else.
    pub fn is_read_before(&self, lpn: Lpn) -> bool {
        matches!(
            self.role,
            OpRole::BackgroundRead | OpRole::BackgroundCacheRead
        ) && self.lpn == lpn
    }
}

/// When a program of host data or an access of a cache in flash ran, for tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperationTimes {
    /// Number of the request that issued it; `None` for background work.
    pub request: Option<u64>,
    /// The page.
    pub lpn: Lpn,
    /// Is it a program?
    pub program: bool,
    /// Is it in the region of a cache in flash?
    pub in_region: bool,
    /// When it was queued.
    pub enqueued: Nanos,
    /// When it runs.
    pub times: OpTimes,
}

/// Operations in flight.
pub(super) struct InFlight {
    pub ops: Slab<InFlightOp>,
    /// Write-backs that ended since the cache looked.
    pub ended: Vec<u32>,
    /// Does the cache ask for the ends of all programs of host data?
    pub watches_ends: bool,
    /// Did one of them end since it looked?
    pub program_ended: bool,
    /// Background write-backs that started since the cache looked.
    pub started: Vec<(Lpn, Nanos)>,
    /// Background erases that ended since garbage collection looked.
    pub erased: Vec<u32>,
    /// Times of programs and of accesses of a cache in flash, if they are kept.
    pub kept: Option<Vec<OperationTimes>>,
    /// Waiting programs by page, where reads could overtake them.
    pub pending_writes: Option<PendingWrites>,
    /// Waiting programs of a cache in flash by page.
    pub pending_cache_writes: Option<PendingWrites>,
    /// Can reads pass programs that have started?
    pub reads_pass_started: bool,
}

impl InFlight {
    pub fn new() -> InFlight {
        InFlight {
            ops: Slab::new(),
            ended: Vec::new(),
            watches_ends: false,
            program_ended: false,
            started: Vec::new(),
            erased: Vec::new(),
            kept: None,
            pending_writes: None,
            pending_cache_writes: None,
            reads_pass_started: false,
        }
    }

    /// Adds an operation of the current request, or a background one, and gives its token.
    pub fn add_op(&mut self, core: &mut DeviceCore, role: OpRole, lpn: Lpn) -> u32 {
        let request = core.requests.current();
        let (id, started, enqueued) = (None, None, core.now);
        let counted = counted(core, role);
        let mut record = InFlightOp {
            role,
            lpn,
            id,
            started,
            tells_end: false,
            before: NO_TOKEN,
            next: NO_TOKEN,
            plane: NO_TOKEN,
            request: request.unwrap_or(u32::MAX),
            index: u64::MAX,
            counted,
            enqueued,
            number: 0,
            measured: core.requests.completed.is_timed(),
        };
        if !role.is_background() {
            let ends = u32::from(counted != Counted::AtOnce);
            let so_far = core.requests.wait(record.request, ends);
            (record.index, record.measured) = (so_far.index, so_far.timed);
        }
        if record.is_flushed() {
            record.number = core.waits.begin();
        }
        let wanted = record.is_program();
        let token = self.ops.add(record);
        if let Some(pending) = self.pending_writes.as_mut().filter(|_| wanted) {
            pending.set(lpn, token);
        }
        if wanted && core.versions.on {
            core.versions.queued(token, lpn, role.own(record.index));
        }
        token
    }

    /// Adds a write-back in the host's class: a program that no request waits for, and an operation of its own where those of
    /// a request share one. It counts as started.
    #[inline(never)]
    pub fn add_hand_over(&mut self, core: &mut DeviceCore, lpn: Lpn) -> u32 {
        let token = self.add_op(core, OpRole::HandOver, lpn);
        self.ops[token].started = Some(Nanos::NEVER);
        token
    }

    /// The current request evicts a page whose write-back is in flight: that program counts as
    /// caused by it, with a waiting time of 0.
    pub fn adopt(&mut self, core: &mut DeviceCore, token: u32) {
        let end = self.ops[token]
            .started
            .expect("only a write-back in flight is adopted");
        let request = core.requests.present();
        if core.requests.completed.is_timed() {
            core.evict_times[0].add(Nanos::ZERO);
        }
        if core.requests.waits_for(request) != EvictWait::Issue {
            if end == Nanos::NEVER {
                let of = Some(smallvec![token]);
                core.waits.wait(&mut core.requests, request, of);
            } else {
                core.requests.extend(request, end);
            }
        }
    }

    /// The programs of `pages`, ascending, whose ends are not known.
    pub fn programs_of(&self, pages: &[Lpn]) -> SmallVec<[u32; 1]> {
        let is_of = |op: &InFlightOp| op.is_under_way() && pages.binary_search(&op.lpn).is_ok();
        let of = self.ops.rows().filter(|(_, op)| is_of(op));
        of.map(|(token, _)| token).collect()
    }

    /// Operation `token` is called `id` in the array; it may be timed already.
    pub fn note_id(&mut self, token: u32, id: OpId) {
        if let Some(op) = self.ops.get_mut(token) {
            op.id = Some(id);
        }
    }

    /// Page `token` is part of the multi-plane operation of `before`, right after that.
    pub fn join(&mut self, before: u32, token: u32) {
        self.ops[before].next = token;
    }

    /// The program that writes the newest data of `lpn`, if its times are not known yet.
    pub fn pending_program(&self, lpn: Lpn) -> Option<OpId> {
        let token = self.pending_writes.as_ref()?.get(lpn)?;
        self.ops[token].id
    }

    /// The program that writes the newest data of `lpn` to a cache in flash, if its times are not
    /// known yet.
    pub fn pending_cache_program(&self, lpn: Lpn) -> Option<OpId> {
        let token = self.pending_cache_writes.as_ref()?.get(lpn)?;
        self.ops[token].id
    }
}

/// When an operation of the current request, or a background one, is done for it.
fn counted(core: &DeviceCore, role: OpRole) -> Counted {
    let by_key = |issue: Counted, wait: EvictWait| match wait {
        EvictWait::ProgramDone => Counted::End,
        EvictWait::TransferDone => Counted::Transfer,
        EvictWait::Issue => issue,
    };
    match role {
        OpRole::Read | OpRole::Flush | OpRole::CacheRead => Counted::End,
        OpRole::Before
        | OpRole::Background
        | OpRole::BackgroundRead
        | OpRole::HandOver
        | OpRole::HandOverRead
        | OpRole::HandOverCacheRead
        | OpRole::Summary
        | OpRole::Erase
        | OpRole::CacheBefore
        | OpRole::BackgroundCacheRead => Counted::AtOnce,
        OpRole::Own | OpRole::CacheWrite => by_key(Counted::End, core.requests.evict_wait),
        OpRole::Caused | OpRole::Padding | OpRole::CacheFill => {
            let request = core.requests.present();
            by_key(Counted::AtOnce, core.requests.waits_for(request))
        }
    }
}
