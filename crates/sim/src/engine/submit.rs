//! Reads, programs and summary pages as commands of the array.

use super::Engine;
use super::book::Role;
use destage_device::ftl::Place;
use destage_device::nand::{Class, Command, OpId};
use destage_types::{ChannelId, ChipId, Lpn, Nanos, PlaneId};

impl Engine {
    /// `after` must end before the read may start, as must a program of the page that waits.
    pub(super) fn submit_read(
        &mut self,
        role: Role,
        lpn: Lpn,
        place: Place,
        sectors: u32,
        after: Option<OpId>,
    ) -> OpId {
        let waits_for = self.book.pending_program(lpn);
        let token = self.book.enter(role, lpn, self.now);
        let transfer = self.transfer_of(sectors);
        let mut command = Command::read(place.chip, transfer, token)
            .die(self.die(place.plane))
            .bytes(self.bytes(sectors));
        command.after = waits_for;
        if let Some(after) = after {
            command = command.after(after);
        }
        self.submit_page(command, place)
    }

    /// Programs a summary page: the transfer of one sector, then a whole program (ECR-1).
    pub(super) fn submit_summary(&mut self, place: Place) {
        self.traffic.writes_meta += 1;
        let token = self.book.enter(Role::Summary, Lpn(u64::MAX), self.now);
        let mut command = self.program_command(place.chip, place.plane, 1, token);
        command.after = self.job_of(place.chip, command.die);
        self.nand.submit(self.now, command, &mut self.book);
    }

    /// A program of `sectors` sectors on the bus.
    pub(super) fn program_command(
        &self,
        chip: ChipId,
        plane: PlaneId,
        sectors: u32,
        token: u32,
    ) -> Command {
        Command::program(chip, self.transfer_of(sectors), token)
            .die(self.die(plane))
            .bytes(self.bytes(sectors))
    }

    /// Bus time of `sectors` sectors.
    #[inline]
    pub(super) fn transfer_of(&self, sectors: u32) -> Nanos {
        match sectors == self.page_sectors {
            true => self.page_transfer,
            false => self.transfer.sectors(sectors),
        }
    }

    pub(super) fn bytes(&self, sectors: u32) -> u32 {
        sectors * self.transfer.sector_bytes
    }

    /// Die that an operation on `plane` names: dies have their own one only if they interleave.
    #[inline]
    pub(super) fn die(&self, plane: PlaneId) -> u32 {
        match self.gc.dies {
            1 => 0,
            _ => self.book.map.plane_address(plane).die,
        }
    }

    /// Does what background programs made due when they started: GC, then their summary pages.
    pub(super) fn submit_due(&mut self) {
        self.submit_gc_of_started();
        while let Some(place) = self.book.summaries.pop() {
            self.submit_summary(place);
        }
    }

    /// The plane that a program is sent to, if not that of its address: that of its unit (D6), or
    /// under dynamic allocation one of the least busy chip, of `channel` if that is fixed.
    #[inline(always)]
    pub(super) fn wanted_plane(
        &mut self,
        unit: Option<u64>,
        channel: Option<ChannelId>,
    ) -> Option<PlaneId> {
        match unit.is_some() || self.dynamic {
            true => self.other_plane(unit, channel),
            false => None,
        }
    }

    #[inline(never)]
    pub(super) fn other_plane(
        &mut self,
        unit: Option<u64>,
        channel: Option<ChannelId>,
    ) -> Option<PlaneId> {
        let planes = u64::from(self.book.map.planes());
        match unit {
            Some(unit) => Some(PlaneId((unit % planes) as u32)),
            None if self.dynamic => {
                let nand = &self.nand;
                let load = |chip| nand.drain_time(chip, Class::Gc).0;
                Some(self.book.map.least_busy_of(channel, load))
            }
            None => None,
        }
    }
}
