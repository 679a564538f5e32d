//! A cache in flash itself: accesses of cached pages are operations of the array
//! ([`CacheRegion`], ProCache section 5.3).
//!
//! An access of a cached page is an operation on the die that static allocation gives its address,
//! in the host's class and with the region's array time; it never shares one with other pages:
//! - a read hit reads the requested sectors, a read that misses some sectors of a cached page reads
//!   those that are cached, after the read outside is queued;
//! - a write that enters the cache, hit or not, programs the page, whatever part of it is written;
//!   the request waits for that as for a program of its own pages (`evict_wait`);
//! - a read miss that enters the cache is programmed after its read outside. The data of the
//!   request do not depend on that, so it waits as for a page it displaced (`evict_wait_read`);
//! - with `evict_read` a page that is programmed outside is read from the region first, whole, then
//!   come the read of its old version, if it is partial, and the program. Before a background
//!   write-back the read is in the background too, and taken back with it.
//!
//! Accesses follow one another as the walk comes upon them: the scheme is told of an access before
//! it is queued, and what leaves the cache for a page is queued before the page itself. A read goes
//! after a program of its page that still waits, whatever the order of the queue. A renamed page
//! counts as on the die of its new address.
//!
//! To schemes that look at queues, operations of the region are operations of the host like others.

use super::Engine;
use super::book::Role;
use destage_device::config::CacheRegion;
use destage_device::nand::{Class, Command, Kind, OpId, OpTimes};
use destage_types::{Lpn, Nanos};

/// What the engine knows of the region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    t_read: Nanos,
    t_program: Nanos,
    /// Is a page read before it is programmed outside?
    pub evict_read: bool,
    /// The last read of a page outside.
    pub last_read: Option<OpId>,
}

impl Region {
    pub fn new(region: &CacheRegion) -> Region {
        Region {
            t_read: region.t_read.times(1),
            t_program: region.t_program.times(1),
            evict_read: region.evict_read,
            last_read: None,
        }
    }
}

/// When an operation of the region ran, for tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheAccess {
    /// Number of the request it was for; `None` for background work.
    pub request: Option<u64>,
    /// The page.
    pub lpn: Lpn,
    /// Is it a program?
    pub program: bool,
    /// When it was queued.
    pub enqueued: Nanos,
    /// When it runs.
    pub times: OpTimes,
}

impl Engine {
    /// The operation, without its dependencies.
    fn region_command(&self, kind: Kind, lpn: Lpn, sectors: u32, token: u32) -> Command {
        let region = self.region.as_ref().expect("the cache is in flash");
        let plane = self.book.map.static_plane(lpn);
        let (chip, _) = self.book.map.plane_chip(plane);
        let array = match kind {
            Kind::Read => region.t_read,
            _ => region.t_program,
        };
        let mut command = Command::new(kind, chip, self.transfer_of(sectors), token)
            .die(self.die(plane))
            .bytes(self.bytes(sectors));
        command.array = Some(array);
        command
    }

    /// Queues a read; `before` is one that waits for it, if that is a background one.
    #[inline(never)]
    pub(super) fn read_cached(&mut self, role: Role, lpn: Lpn, sectors: u32) -> (u32, OpId) {
        self.traffic.cache_reads += 1;
        let written_by = self.book.pending_cache_program(lpn);
        let token = self.book.enter(role, lpn, self.now);
        let mut command = self.region_command(Kind::Read, lpn, sectors, token);
        command.after = written_by;
        if role == Role::BackgroundCacheRead {
            command.class = Class::Background;
        }
        let id = self.nand.submit(self.now, command, &mut self.book);
        self.book.note_id(token, id);
        (token, id)
    }

    /// Reads a page that is to be programmed outside, if that takes a read.
    #[inline]
    pub(super) fn read_for_program(&mut self, role: Role, lpn: Lpn) -> Option<(u32, OpId)> {
        match &self.region {
            Some(region) if region.evict_read => {
                Some(self.read_cached(role, lpn, self.page_sectors))
            }
            _ => None,
        }
    }

    /// Queues a program.
    #[inline(never)]
    pub(super) fn program_cached(&mut self, role: Role, lpn: Lpn, after: Option<OpId>) {
        self.traffic.cache_programs += 1;
        let token = self.book.enter(role, lpn, self.now);
        if let Some(newest) = &mut self.book.newest_cached {
            newest.set(lpn, token);
        }
        let mut command = self.region_command(Kind::Program, lpn, self.page_sectors, token);
        command.after = after;
        let id = self.nand.submit(self.now, command, &mut self.book);
        self.book.note_id(token, id);
    }

    /// Moves the accesses of the region that were timed since the last call to `out`.
    pub fn take_cache_accesses(&mut self, out: &mut Vec<CacheAccess>) {
        if let Some(list) = &mut self.book.cache_accesses {
            out.append(list);
        }
    }
}
