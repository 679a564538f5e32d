//! A cache in flash itself: accesses of cached pages are operations of the array
//! ([`CacheRegion`], ProCache section 5.3).
//!
//! An access of a cached page is an operation on the chip that static allocation gives its address,
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
//! Accesses are queued in the order in which the cache serves the pages of a request: the scheme
//! learns of an access before it is queued, and what leaves the cache for a page is queued before the page itself. A read goes
//! after a program of its page that still waits, whatever the order of the queue. A renamed page
//! counts as on the chip of its new address.
//!
//! To schemes that look at queues, operations of the region are operations of the host like others.

use super::Engine;
use super::in_flight::OpRole;
use destage_device::config::CacheRegion;
use destage_device::nand::{Class, FlashCommand, OpId, OpKind};
use destage_types::{Lpn, Nanos};

/// Times and rules of the cache region, and the engine's last read outside of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegionAccess {
    t_read: Nanos,
    t_program: Nanos,
    /// Is a page read before it is programmed outside?
    pub evict_read: bool,
    /// The last read of a page outside.
    pub last_read: Option<OpId>,
}

impl RegionAccess {
    pub fn new(region: &CacheRegion) -> RegionAccess {
        RegionAccess {
            t_read: region.t_read.times(1),
            t_program: region.t_program.times(1),
            evict_read: region.evict_read,
            last_read: None,
        }
    }
}

impl Engine {
    /// The operation, without its dependencies.
    fn region_command(&self, kind: OpKind, lpn: Lpn, sectors: u32, token: u32) -> FlashCommand {
        let region = self.cache_region.as_ref().expect("the cache is in flash");
        let plane = self.core.map.static_plane(lpn);
        let (chip, _) = self.core.map.plane_chip(plane);
        let array = match kind {
            OpKind::Read => region.t_read,
            _ => region.t_program,
        };
        FlashCommand {
            array: Some(array),
            ..self.core.command(kind, chip, sectors, token)
        }
    }

    /// Queues a read; `before` is one that waits for it, if that is a background one.
    #[inline(never)]
    pub(super) fn read_cached(&mut self, role: OpRole, lpn: Lpn, sectors: u32) -> (u32, OpId) {
        match self.write_back_reads.of(role) {
            Some(queued) => *queued += 1,
            None => self.core.traffic.cache_reads += 1,
        }
        let written_by = self.in_flight.pending_cache_program(lpn);
        let token = self.in_flight.add_op(&mut self.core, role, lpn);
        let mut command = self.region_command(OpKind::Read, lpn, sectors, token);
        command.after = written_by;
        if role == OpRole::BackgroundCacheRead {
            command.class = Class::Background;
        }
        let id = self.submit(command);
        (token, id)
    }

    /// Reads a page that is to be programmed outside, if that takes a read.
    #[inline]
    pub(super) fn read_for_program(&mut self, role: OpRole, lpn: Lpn) -> Option<(u32, OpId)> {
        match &self.cache_region {
            Some(region) if region.evict_read => {
                Some(self.read_cached(role, lpn, self.core.costs.page_sectors))
            }
            _ => None,
        }
    }

    /// Queues a program.
    #[inline(never)]
    pub(super) fn program_cached(&mut self, role: OpRole, lpn: Lpn, after: Option<OpId>) {
        self.core.traffic.cache_programs += 1;
        let token = self.in_flight.add_op(&mut self.core, role, lpn);
        if let Some(pending) = &mut self.in_flight.pending_cache_writes {
            pending.set(lpn, token);
        }
        let mut command =
            self.region_command(OpKind::Program, lpn, self.core.costs.page_sectors, token);
        command.after = after;
        self.submit(command);
    }
}
