//! Write-backs in the background: queued, and taken back while they wait.

use super::Engine;
use super::book::{NONE, Role};
use crate::flash::BackgroundProgram;
use destage_device::nand::{Class, Command};
use destage_types::{Lpn, Nanos};

impl Engine {
    /// [`crate::Flash::queue_background`].
    pub(super) fn queue_write_back(&mut self, program: BackgroundProgram, now: Nanos) -> u32 {
        self.now = now;
        let lpn = program.lpn;
        let mut before = self.read_for_program(Role::BackgroundCacheRead, lpn);
        if program.read_first
            && let Some(old) = self.book.map.read(lpn)
        {
            let written_by = self.book.pending_program(lpn);
            let token = self.book.enter(Role::BackgroundRead, lpn, now);
            self.book.ops[token].before = before.map_or(NONE, |b| b.0);
            let mut command = Command::read(old.chip, self.page_transfer, token)
                .die(self.die(old.plane))
                .bytes(self.bytes(self.page_sectors));
            command.after = written_by;
            if let Some((_, read)) = before {
                command = command.after(read);
            }
            let id = self
                .nand
                .submit(now, command.class(Class::Background), &mut self.book);
            self.book.note_id(token, id);
            before = Some((token, id));
        }
        let token = self.book.enter(Role::Background, lpn, now);
        self.book.ops[token].before = before.map_or(NONE, |b| b.0);
        let wanted = self.wanted_plane(program.unit, Some(program.channel));
        self.book.ops[token].plane = wanted.map_or(NONE, |plane| plane.0);
        let plane = wanted.unwrap_or_else(|| self.book.map.static_plane(lpn));
        let (chip, _) = self.book.map.plane_chip(plane);
        let mut command = self.program_command(chip, plane, self.page_sectors, token);
        command.after = before.map(|b| b.1);
        let id = self
            .nand
            .submit(now, command.class(Class::Background), &mut self.book);
        self.book.note_id(token, id);
        self.submit_due();
        token
    }

    /// [`crate::Flash::cancel_background`].
    pub(super) fn take_back(&mut self, token: u32) -> bool {
        let op = self.book.ops.remove(token);
        let id = op.id.expect("a queued write-back was submitted");
        let cancelled = self.nand.cancel(self.now, id, &mut self.book);
        assert!(
            cancelled,
            "only a write-back that has not started is cancelled"
        );
        self.cancel_reads_before(op.before, op.lpn)
    }

    /// Takes back the reads before a write-back of `lpn` that was taken back, from `token` on; says
    /// whether that of the old page was one of them. They may be queued, running or over; only
    /// queued ones are taken back, and when one is over so are those before it.
    fn cancel_reads_before(&mut self, mut token: u32, lpn: Lpn) -> bool {
        let mut old_read = false;
        while token != NONE
            && let Some(record) = self.book.ops.get_mut(token).copied()
            && record.is_read_before(lpn)
        {
            let id = record.id.expect("a queued read was submitted");
            if !self.nand.cancel(self.now, id, &mut self.book) {
                break;
            }
            self.book.ops.remove(token);
            if record.role == Role::BackgroundRead {
                old_read = true;
            } else if self.book.is_counted(&record) {
                self.traffic.cache_reads -= 1;
            }
            token = record.before;
        }
        old_read
    }
}
