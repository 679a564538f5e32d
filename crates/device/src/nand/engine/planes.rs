//! Pages that join an operation, and the wait for all of those that may.

use super::*;

impl<E: Events> Nand<E> {
    /// Nothing starts from now on until [`Nand::resume`]: what is submitted waits, though its chip
    /// is idle. So pages can join it ([`Nand::join`]) that become known at the same instant. No time
    /// passes in between.
    #[inline]
    pub fn hold(&mut self) {
        self.held = true;
    }

    /// All work of the instant `now` is known: what may start does, by the rules of one instant.
    ///
    /// # Panics
    /// If something is due at or before `now`.
    #[inline]
    pub fn resume<S: Sink>(&mut self, now: Nanos, sink: &mut S) {
        self.enter(now.0);
        self.held = false;
        self.settle_rest(now.0, sink);
    }

    /// [`Nand::submit`] while work is held.
    #[inline(never)]
    pub(super) fn submit_held<S: Sink>(
        &mut self,
        now: Nanos,
        command: Command,
        sink: &mut S,
    ) -> OpId {
        self.enter(now.0);
        self.submit_entry::<S, true>(now.0, &command, sink)
    }

    /// Adds a page on one more plane of the die to a read or program that waits: one command more,
    /// and `transfer` and `bytes` of data. The operation keeps its number, its place and its token.
    ///
    /// # Panics
    /// If the operation does not wait, is no read or program, is part of a job, or works on 255
    /// planes already.
    pub fn join(&mut self, id: OpId, transfer: Nanos, bytes: u32) {
        assert!(self.pool.holds(id), "only what waits is joined");
        let entry = &mut self.pool[id.slot];
        let joins = matches!(entry.kind, Kind::Read | Kind::Program) && !entry.in_job();
        assert!(joins, "reads and programs of their own are joined");
        entry.planes = entry.planes.checked_add(1).expect("at most 255 planes");
        entry.bytes += bytes;
        entry.plain = false;
        let command = self.shared.command_of(entry.kind);
        match entry.kind {
            Kind::Read => {
                entry.first_bus += command;
                entry.last_bus += transfer.0;
            }
            _ => entry.first_bus += command + transfer.0,
        }
        let class = entry.class as usize;
        self.lanes[id.lane as usize].queue.time[class] += command + transfer.0;
    }
}
