//! Background write-backs: queued, taken back, and those in flight.

use super::*;
use crate::reference::flash::SlowChannels;

impl SlowChannels for SlowDevice {
    fn channels(&self) -> usize {
        self.config.geometry.channels as usize
    }

    fn is_dynamic(&self) -> bool {
        self.config.allocation == Allocation::Dynamic
    }

    fn channel(&self, lpn: u64) -> usize {
        self.map.static_chip(lpn) % self.channels()
    }

    fn channel_of_unit(&self, unit: u64) -> usize {
        self.map.chip_of_plane(unit % self.map.planes()) % self.channels()
    }

    fn chips_of(&self, channel: usize) -> Vec<usize> {
        (channel..self.map.chips())
            .step_by(self.channels())
            .collect()
    }

    fn is_chip_idle(&self, chip: usize) -> bool {
        let chip = ChipId(chip as u32);
        self.array.is_chip_idle(chip) && !self.has_jobs(chip)
    }
}

impl SlowDevice {
    /// Is the channel idle in the sense of Prober 3.4?
    pub fn is_idle(&self, channel: usize) -> bool {
        self.array.is_channel_idle(ChannelId(channel as u32))
    }

    /// Mean array time of a program.
    pub fn program_time(&self) -> u64 {
        self.config.t_program.mean().0
    }

    /// Queues a background program, with a background read of the old page before it if told so:
    /// to the plane of its unit, else by its address or to a chip of `channel`, if one is idle.
    pub fn write_back(
        &mut self,
        lpn: u64,
        unit: Option<u64>,
        channel: Option<usize>,
        read_first: bool,
    ) -> u32 {
        let page = self.page_transfer();
        let background = |command: FlashCommand| command.class(Class::Background);
        let mut before = self.read_what_leaves(lpn, Purpose::CacheRead, Class::Background);
        if read_first {
            let chip = self.map.place(lpn);
            let read = FlashCommand::read(ChipId(chip as u32), page, 0);
            let behind = before.map(|read| self.number(read));
            let after = [self.last_program.get(&lpn).copied(), behind];
            let read = background(read);
            before = Some(self.submit(Purpose::ReadForWriteBack, lpn, read, after, before));
        }
        let channels = self.channels();
        let here = |chip: usize| channel.is_none_or(|channel| chip % channels == channel);
        let plane = self.plane_for(unit, here);
        let chip = match plane {
            Some(plane) => self.map.chip_of_plane(plane),
            None => self.map.static_chip(lpn),
        };
        let program = FlashCommand::program(ChipId(chip as u32), page, 0);
        let after = before.map(|read| self.number(read));
        let program = background(program);
        // It may start at once, and is mapped then.
        self.planes_of_write_backs
            .insert(self.entries.all.len(), plane);
        self.submit(Purpose::WriteBack, lpn, program, [after, None], before)
    }

    /// Queues a program in the host's class for which no request waits, with a read of the old page
    /// before it if told so. Neither shares an operation with other pages.
    pub fn hand_over(&mut self, lpn: u64, read_first: bool) -> u32 {
        self.write_backs += 1;
        let sectors = self.config.geometry.page.sectors();
        let mut before = self.read_what_leaves(lpn, Purpose::CacheReadForHandOver, Class::Host);
        if read_first {
            let behind = before.map(|read| self.number(read));
            let (command, after) = self.read_command(lpn, sectors);
            let after = [after, behind];
            before = Some(self.submit(Purpose::ReadForHandOver, lpn, command, after, None));
        }
        let plane = self.plane_for(None, |_| true);
        self.program(Purpose::HandOver, lpn, plane, before)
    }

    /// The plane of a unit that stays together, or of the least busy chip `here`; none: as the address says.
    pub(super) fn plane_for(
        &mut self,
        unit: Option<u64>,
        here: impl Fn(usize) -> bool,
    ) -> Option<u64> {
        if unit.is_none() && !self.is_dynamic() {
            return None;
        }
        let array = &self.array;
        // Chips elsewhere are too busy for it, whatever they do.
        let load = |chip: usize| match here(chip) {
            true => array.drain_time(ChipId(chip as u32), Class::Gc).0,
            false => u64::MAX,
        };
        Some(match unit {
            Some(unit) => unit % self.map.planes(),
            None => self.map.least_busy(load),
        })
    }

    /// Maps a page and queues its program, with the collections before and behind it.
    pub(super) fn program(
        &mut self,
        purpose: Purpose,
        lpn: u64,
        plane: Option<u64>,
        before: Option<u32>,
    ) -> u32 {
        let (written, work) = self.map.write(lpn, plane);
        let written = written.expect(ROOM);
        self.collect(work);
        let chip = ChipId(written.chip as u32);
        let shares = purpose != Purpose::HandOver;
        let command = FlashCommand {
            array: self.array_time(written.spot.page),
            notify_end: !shares || self.watches_programs,
            ..FlashCommand::program(chip, self.page_transfer(), 0)
        };
        let read = before.map(|read| self.number(read));
        let after = [self.last_job(written.chip), read];
        let token = match shares {
            true => self.submit_page(purpose, lpn, command, after, before),
            false => self.submit(purpose, lpn, command, after, before),
        };
        self.last_program.insert(lpn, self.number(token));
        if written.summary {
            self.summary(&written);
        }
        self.collect_in_background(written.chip);
        let work = self.map.behind_write(&written);
        self.collect(work);
        token
    }

    /// Has the write-back started?
    pub fn has_started(&self, token: u32) -> bool {
        self.entries.all[token as usize].started
    }

    /// Has the write-back ended?
    pub fn has_ended(&self, token: u32) -> bool {
        self.entries.all[token as usize].ended
    }

    /// Takes a write-back that has not started back, with the reads before it that have not.
    pub fn cancel(&mut self, token: u32) {
        let mut next = Some(token);
        while let Some(token) = next {
            let entry = &mut self.entries.all[token as usize];
            let gone = self.array.cancel(Nanos(self.now), entry.number);
            assert!(
                gone || entry.purpose != Purpose::WriteBack,
                "only what has not started is cancelled"
            );
            entry.cancelled = gone;
            next = entry.before;
        }
        self.note_starts();
    }

    /// Reads before write-backs that have started: of old pages, and of a cache in flash.
    pub fn write_back_reads(&self) -> [u64; 2] {
        let started = |entry: &&Entry| {
            let waits = self.array.state(entry.number) == OpState::Waiting;
            entry.request.is_none() && !entry.cancelled && !waits
        };
        [Purpose::ReadForWriteBack, Purpose::CacheRead].map(|purpose| {
            let reads = self.entries.all.iter().filter(|e| e.purpose == purpose);
            reads.filter(started).count() as u64
        })
    }

    /// A write-back in flight counts as caused by the open request.
    pub fn adopt(&mut self, token: u32) {
        self.adopted += 1;
        if self.wait_rule(SlowCause::Eviction) != EvictWait::Issue {
            self.wait(Wait::End(token));
        }
    }
}
