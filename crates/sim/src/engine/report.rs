//! Promises of runs that need only their result, and what operations are for.

use super::Engine;
use super::in_flight::OpRole;
use destage_device::nand::{FlashCommand, JobId, JobKind, OpId, OpKind};
use destage_record::timeline::TimelineCollection;
use destage_types::Lpn;

impl Engine {
    /// Promises that only the result of the run is asked for: not the state of channels, no results
    /// before the end, and not when the end of a request became known. Buses may then be granted
    /// early, which changes no time and saves events ([`destage_device::nand::Nand::grant_early`]).
    /// Says whether the device can do so; it cannot if it depends on the state of channels itself,
    /// or if an operation takes no time or may be suspended.
    ///
    /// # Panics
    /// Later, if the promise is broken.
    pub fn skip_unobserved_events(&mut self) -> bool {
        self.core.unobserved = !self.core.nand.has_open_ends()
            && !self.reads_first
            && !self.core.dynamic
            && self.multi_plane.is_none()
            && self.cache_region.is_none()
            && !self.watches_idle
            && !self.gc.background
            && self.core.costs.all_take_time();
        if self.core.unobserved {
            self.core.nand.grant_early();
        }
        self.core.unobserved
    }

    /// The operation in flight that `command` names was submitted under this number.
    #[inline]
    pub(super) fn submitted(&mut self, id: OpId, command: &FlashCommand) {
        if self.core.timeline.is_some() {
            let purpose = self.in_flight.ops[command.token].purpose();
            self.core.note(id.number(), command, purpose);
        }
        self.in_flight.note_id(command.token, id);
    }

    /// The program of the present request that was submitted last has started.
    #[inline]
    pub(super) fn note_program(&mut self, role: OpRole, lpn: Lpn, command: &FlashCommand) {
        if self.core.timeline.is_some() {
            let number = self.core.nand.submitted() - 1;
            let purpose = role.purpose_of(lpn, self.core.requests.current_index());
            self.core.note(number, command, purpose);
        }
    }

    /// A job was submitted.
    #[inline]
    pub(super) fn note_job(&mut self, job: JobId, kind: JobKind, commands: &[FlashCommand]) {
        if self.core.timeline.is_none() {
            return;
        }
        let of_kind = |kind| commands.iter().filter(|c| c.kind == kind).count() as u32;
        let row = TimelineCollection {
            chip: commands[0].chip,
            background: kind == JobKind::Background,
            request: self.core.requests.current_index(),
            blocks: of_kind(OpKind::Erase),
            pages: of_kind(OpKind::Read) + of_kind(OpKind::Copyback),
            ..TimelineCollection::default()
        };
        let first = job.first().number();
        self.core.note_collection(first, commands, row);
    }
}
