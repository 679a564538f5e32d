//! Write-backs that are queued in the background, and taken back while they wait.

use super::Engine;
use super::in_flight::OpRole;
use crate::flash::Program;
use destage_device::nand::{Class, NO_TOKEN, OpKind, OpState};
use destage_types::Lpn;

impl Engine {
    /// A write-back in the background.
    #[inline(never)]
    pub(super) fn queue_write_back(&mut self, program: Program) -> u32 {
        let lpn = program.lpn;
        let reads = [OpRole::BackgroundCacheRead, OpRole::BackgroundRead];
        let before = self.reads_before(&program, reads);
        let token = self
            .in_flight
            .add_op(&mut self.core, OpRole::Background, lpn);
        self.in_flight.ops[token].before = before.map_or(NO_TOKEN, |b| b.0);
        let wanted = self.wanted_plane(program.unit, program.channel);
        self.in_flight.ops[token].plane = wanted.map_or(NO_TOKEN, |plane| plane.0);
        let plane = wanted.unwrap_or_else(|| self.core.map.static_plane(lpn));
        let (chip, _) = self.core.map.plane_chip(plane);
        let sectors = self.core.costs.page_sectors;
        let mut command = (self.core).command(OpKind::Program, chip, sectors, token);
        command.after = before.map(|b| b.1);
        self.submit(command.class(Class::Background));
        self.submit_due();
        token
    }

    /// [`crate::Flash::cancel_background`].
    pub(super) fn take_back(&mut self, token: u32) {
        let op = self.in_flight.ops.remove(token);
        let id = op.id.expect("a queued write-back was submitted");
        let cancelled = self.core.nand.cancel(self.core.now, id);
        self.take_notices();
        assert!(
            cancelled,
            "only a write-back that has not started is cancelled"
        );
        self.core.note_taken_back(id);
        self.cancel_reads_before(op.before, op.lpn);
    }

    /// Takes back the reads before a write-back of `lpn` that was taken back, from `token` on. They may
    /// be queued, running or over; only queued ones are taken back, and when one is over so are those
    /// before it.
    fn cancel_reads_before(&mut self, mut token: u32, lpn: Lpn) {
        while token != NO_TOKEN
            && let Some(record) = self.in_flight.ops.get_mut(token).copied()
            && record.is_read_before(lpn)
        {
            let id = record.id.expect("a queued read was submitted");
            let cancelled = self.core.nand.cancel(self.core.now, id);
            self.take_notices();
            if !cancelled {
                break;
            }
            self.core.note_taken_back(id);
            self.in_flight.ops.remove(token);
            if let Some(queued) = self.write_back_reads.of(record.role) {
                *queued -= 1;
            }
            token = record.before;
        }
    }

    /// Reads before write-backs that have started since the device began to work.
    pub(super) fn started_reads(&self) -> WriteBackReads {
        let mut reads = self.write_back_reads;
        if reads.old_pages == 0 && reads.cached_pages == 0 {
            return reads;
        }
        for (_, op) in self.in_flight.ops.rows() {
            let waits = |id| self.core.nand.state(id) == OpState::Waiting;
            if let Some(queued) = reads.of(op.role)
                && op.id.is_some_and(waits)
            {
                *queued -= 1;
            }
        }
        reads
    }
}

/// Reads before background write-backs.
#[derive(Clone, Copy, Default)]
pub(super) struct WriteBackReads {
    /// Of the old version of a page that is written back in part.
    pub old_pages: u64,
    /// Of the region of flash that holds the cache.
    pub cached_pages: u64,
}

impl WriteBackReads {
    /// The counter of operations of this role, if they are such reads.
    pub fn of(&mut self, role: OpRole) -> Option<&mut u64> {
        match role {
            OpRole::BackgroundRead => Some(&mut self.old_pages),
            OpRole::BackgroundCacheRead => Some(&mut self.cached_pages),
            _ => None,
        }
    }
}
