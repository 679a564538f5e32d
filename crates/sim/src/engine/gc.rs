//! Garbage collection as the array does it: what the translation layer decided becomes jobs.
//!
//! A block is one job on its chip: per valid page a read and a program (a copyback where the device
//! has it and both pages lie in one plane), summary pages in between, then the erase. The mapping
//! holds the new places at once. Until the erase the old ones still hold the data, so a read of a
//! moved page waits for nothing but the program of the host that wrote it.
//!
//! Foreground jobs are submitted in front of the program that they make room for; that program,
//! and every later one for the chip, goes after the last of them. So does a read that made its unit
//! collect; others are kept back by the queue alone. Where a collection goes on up to a watermark, the
//! blocks of one chip are one job. Background jobs run while the
//! chip has nothing else to do. They are submitted when a host program has left a GC unit at its
//! threshold, and again when such an erase ends.

use super::Engine;
use super::in_flight::OpRole;
use destage_device::config::{DeviceConfig, GcStop};
use destage_device::map::{Collected, GcStep, GcWork, PhysicalPage, Placed};
use destage_device::nand::{FlashCommand, JobId, JobKind, NO_TOKEN, OpId, OpKind, OpState};
use destage_types::{ChipId, Lpn, PlaneId};

/// A background job whose erase has not ended, and whose block no write has needed.
#[derive(Clone, Debug)]
pub(super) struct BackgroundJob {
    block: u32,
    /// Of its erase.
    token: u32,
    id: JobId,
    commands: Vec<FlashCommand>,
}

/// Garbage collection of one device on its way.
#[derive(Clone, Debug)]
pub(super) struct GcJobs {
    /// Is it done in the background?
    pub background: bool,
    /// The run is over: no collection begins in the background before the next request.
    pub stopped: bool,
    copyback: bool,
    /// Does a collection go on, block by block, without anything else in between?
    goes_on: bool,
    work: GcWork,
    commands: Vec<FlashCommand>,
    /// The last foreground job of every chip.
    last: Vec<Option<OpId>>,
    /// Has there been a foreground job?
    any_job: bool,
    /// A few for each GC unit at most.
    pub pending: Vec<BackgroundJob>,
    /// Memory of lists that are not in use.
    spare: Vec<Vec<FlashCommand>>,
}

impl GcJobs {
    pub fn new(config: &DeviceConfig) -> GcJobs {
        GcJobs {
            background: config.collects_in_background(),
            stopped: false,
            copyback: config.copyback,
            goes_on: config.gc_stop == GcStop::Watermark,
            work: GcWork::default(),
            commands: Vec::new(),
            last: vec![None; config.layout().chips() as usize],
            any_job: false,
            pending: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Where collections are noted before they are submitted.
    #[inline]
    pub fn noted_work(&mut self) -> &mut GcWork {
        &mut self.work
    }

    /// Are there collections to submit?
    #[inline]
    pub fn has_work(&self) -> bool {
        !self.work.is_empty()
    }

    fn set_last(&mut self, chip: ChipId, job: OpId) {
        self.any_job = true;
        self.last[chip.index()] = Some(job);
    }
}

impl Engine {
    /// Maps `lpn` to a free page, in `plane` or where its address says, and submits the collections
    /// that free it. `None` if the device is full, which ends the run.
    #[inline(always)]
    pub(super) fn place(&mut self, lpn: Lpn, plane: Option<PlaneId>) -> Option<Placed> {
        let placed = self.core.map.host_write(lpn, plane, &mut self.gc.work);
        if !self.gc.work.is_empty() {
            self.submit_gc();
        }
        if let Some(debt) = &mut self.core.debt {
            debt.charge_moved(1);
        }
        match placed {
            Ok(placed) => Some(placed),
            Err(full) => {
                self.core.full.get_or_insert(full);
                None
            }
        }
    }

    /// The foreground job that a program for a chip goes after.
    #[inline]
    pub(super) fn job_of(&mut self, chip: ChipId) -> Option<OpId> {
        if self.gc.any_job {
            self.last_job_of(chip)
        } else {
            None
        }
    }

    fn last_job_of(&mut self, chip: ChipId) -> Option<OpId> {
        let last = &mut self.gc.last[chip.index()];
        if let Some(id) = *last
            && self.core.nand.state(id) == OpState::Finished
        {
            *last = None;
        }
        *last
    }

    /// Jobs that background programs made necessary when they started.
    pub(super) fn submit_gc_of_started(&mut self) {
        if !self.due.gc.is_empty() {
            std::mem::swap(&mut self.due.gc, &mut self.gc.work);
            self.submit_gc();
        }
    }

    #[cold]
    fn submit_gc(&mut self) {
        let mut work = std::mem::take(&mut self.gc.work);
        for block in &work.expedited {
            self.expedite(block);
        }
        let mut commands = std::mem::take(&mut self.gc.commands);
        for (i, block) in work.blocks.iter().enumerate() {
            self.commands_of(block, work.steps_of(block), &mut commands);
            commands.push(self.erase(block, NO_TOKEN));
            let next = work.blocks.get(i + 1).filter(|_| self.gc.goes_on);
            if next.is_some_and(|next| next.chip == block.chip) {
                continue;
            }
            let job = self.submit_job(JobKind::Foreground, &commands);
            self.gc.set_last(block.chip, job.last());
            commands.clear();
        }
        self.gc.commands = commands;
        work.clear();
        self.gc.work = work;
    }

    /// A read of `lpn` has made its unit collect: where its data are now, and what it goes after.
    #[cold]
    pub(super) fn collect_before_read(
        &mut self,
        lpn: Lpn,
        place: PhysicalPage,
    ) -> (PhysicalPage, Option<OpId>) {
        let mut blocks = self.gc.work.blocks.iter();
        let waits = blocks.any(|block| block.chip == place.chip);
        self.submit_gc();
        let job = waits.then(|| self.last_job_of(place.chip)).flatten();
        let moved = self.core.map.read(lpn);
        (moved.expect("a page that is read stays mapped"), job)
    }

    /// Collects in the background where a host program at `place` calls for it.
    #[inline]
    pub(super) fn collect_behind(&mut self, place: PhysicalPage) {
        self.collect_in_background(place.chip);
        self.core
            .map
            .collect_behind_program(place.plane, &mut self.gc.work);
        if !self.gc.work.is_empty() {
            self.submit_gc();
        }
    }

    fn submit_job(&mut self, kind: JobKind, commands: &[FlashCommand]) -> JobId {
        let job = self.core.nand.submit_job(self.core.now, kind, commands);
        self.note_job(job, kind, commands);
        self.take_notices();
        job
    }

    fn erase(&mut self, block: &Collected, token: u32) -> FlashCommand {
        self.core.traffic.erases += 1;
        FlashCommand::erase(block.chip, token)
    }

    /// All operations of a job but its erase.
    fn commands_of(
        &mut self,
        block: &Collected,
        steps: &[GcStep],
        commands: &mut Vec<FlashCommand>,
    ) {
        let (chip, page) = (block.chip, self.core.costs.page_sectors);
        for step in steps {
            match *step {
                GcStep::Copy {
                    same_plane: true,
                    to,
                    ..
                } if self.gc.copyback => {
                    let array = self.array_time(to);
                    commands.push(FlashCommand {
                        array,
                        ..FlashCommand::copyback(chip, NO_TOKEN)
                    });
                    self.core.traffic.copybacks += 1;
                }
                GcStep::Copy { to, .. } => {
                    commands.push(self.core.command(OpKind::Read, chip, page, NO_TOKEN));
                    commands.push(FlashCommand {
                        array: self.array_time(to),
                        ..self.core.command(OpKind::Program, chip, page, NO_TOKEN)
                    });
                }
                GcStep::Summary { at } => {
                    commands.push(FlashCommand {
                        array: self.array_time(at),
                        ..self.core.command(OpKind::Program, chip, 1, NO_TOKEN)
                    });
                    self.core.traffic.flash_writes_meta += 1;
                }
            }
        }
        self.core.traffic.flash_reads_gc += u64::from(block.valid);
        self.core.traffic.flash_writes_gc += u64::from(block.valid);
        if let Some(debt) = &mut self.core.debt {
            debt.moved(block.valid.into());
        }
        if !block.levelling {
            self.core.traffic.gc_victims += 1;
            self.core.traffic.gc_victim_pages += u64::from(block.valid);
        }
    }

    /// A block that waits for a background erase is needed now: its job becomes a foreground one
    /// if nothing of it has started, and programs for its chip go after it.
    fn expedite(&mut self, block: &Collected) {
        let mut pending = self.gc.pending.iter();
        let at = pending.position(|job| job.block == block.number);
        let at = at.expect("a block waits for the end of its job");
        // The mapping uses the block as erased from now on, before its erase has ended.
        let BackgroundJob {
            mut id, commands, ..
        } = self.gc.pending.swap_remove(at);
        let cancelled = self.core.nand.cancel_job(self.core.now, id);
        self.take_notices();
        if cancelled {
            self.core.note_taken_back(id.first());
            id = self.submit_job(JobKind::Foreground, &commands);
        }
        self.gc.set_last(block.chip, id.last());
        self.gc.spare.push(commands);
    }

    /// Collects for GC units of `chip` that are at their threshold, in the background.
    #[inline]
    fn collect_in_background(&mut self, chip: ChipId) {
        if self.gc.background && !self.gc.stopped {
            self.collect_for(chip);
        }
    }

    fn collect_for(&mut self, chip: ChipId) {
        let mut work = std::mem::take(&mut self.gc.work);
        while self.core.map.collect_in_background(chip, &mut work) {
            for block in &work.blocks {
                self.submit_background(block, work.steps_of(block));
            }
            work.clear();
        }
        self.gc.work = work;
    }

    fn submit_background(&mut self, block: &Collected, steps: &[GcStep]) {
        let mut commands = self.gc.spare.pop().unwrap_or_default();
        commands.clear();
        self.commands_of(block, steps, &mut commands);
        let number = Lpn(u64::from(block.number));
        let token = self.in_flight.add_op(&mut self.core, OpRole::Erase, number);
        self.in_flight.ops[token].plane = block.plane.0;
        commands.push(self.erase(block, token).notify_end());
        let id = self.submit_job(JobKind::Background, &commands);
        self.gc.pending.push(BackgroundJob {
            block: block.number,
            token,
            id,
            commands,
        });
    }

    /// Background erases have ended: their chips may have more to collect. Those of one instant are
    /// taken in the order of their blocks: policies that draw must not depend on how events are
    /// kept.
    pub(super) fn collect_after_erases(&mut self) {
        while !self.in_flight.erased.is_empty() {
            let mut erased = std::mem::take(&mut self.in_flight.erased);
            erased.sort_unstable_by_key(|&token| self.in_flight.ops[token].lpn);
            for token in &mut erased {
                let chip = self.end_job(*token);
                *token = chip.0;
            }
            for chip in erased.drain(..).map(ChipId) {
                self.collect_in_background(chip);
            }
            erased.append(&mut self.in_flight.erased);
            self.in_flight.erased = erased;
        }
    }

    /// The erase `token` of a background job has ended.
    fn end_job(&mut self, token: u32) -> ChipId {
        let plane = PlaneId(self.in_flight.ops.remove(token).plane);
        // Without one a write has needed the block.
        let mut pending = self.gc.pending.iter();
        if let Some(at) = pending.position(|job| job.token == token) {
            let job = self.gc.pending.swap_remove(at);
            self.core.map.erased(job.block);
            self.gc.spare.push(job.commands);
        }
        self.core.map.plane_chip(plane).0
    }
}
