//! Garbage collection as the array does it: what the translation layer decided becomes jobs.
//!
//! A block is one job on its die: per valid page a read and a program (a copyback where the device
//! has it and both pages lie in one plane), summary pages in between, then the erase. The mapping
//! holds the new places at once. Until the erase the old ones still hold the data, so a read of a
//! moved page waits for nothing but the program of the host that wrote it.
//!
//! Foreground jobs are submitted in front of the program that they make room for; that program,
//! and every later one for the die, goes after the last of them. Background jobs run while the
//! chip has nothing else to do. They are submitted when a host program has left a GC unit at its
//! threshold, and again when such an erase ends.

use super::Engine;
use super::book::{GC_TOKEN, Role};
use crate::flash::FlashState;
use destage_device::config::{DeviceConfig, GcPreempt};
use destage_device::ftl::{Collected, GcStep, GcWork, Placed};
use destage_device::nand::{ChipStats, Command, JobId, JobKind, OpId, OpState, Preempt};
use destage_types::{ChipId, Lpn, PlaneId};

/// A background job whose erase has not ended.
#[derive(Clone, Debug)]
struct BackgroundJob {
    block: u32,
    chip: ChipId,
    /// Of its erase.
    token: u32,
    /// The mapping has taken its block as erased already, and may collect it again.
    hurried: bool,
    id: JobId,
    commands: Vec<Command>,
}

/// Garbage collection of one device on its way.
#[derive(Clone, Debug)]
pub(super) struct Collector {
    /// Is it done in the background?
    pub background: bool,
    /// Dies of a queue unit that work at the same time.
    pub dies: u32,
    foreground: JobKind,
    copyback: bool,
    work: GcWork,
    commands: Vec<Command>,
    /// The last foreground job of every die, die by die of a chip.
    last: Vec<Option<OpId>>,
    /// Has there been a foreground job?
    any_job: bool,
    pending: Vec<BackgroundJob>,
    /// Memory of lists that are not in use.
    spare: Vec<Vec<Command>>,
}

impl Collector {
    pub fn new(config: &DeviceConfig) -> Collector {
        let dies = super::interleaved_dies(config);
        let chips = config.layout().chips();
        Collector {
            background: config.collects_in_background(),
            dies,
            foreground: JobKind::Foreground(match config.gc_preempt {
                GcPreempt::Off => Preempt::Never,
                GcPreempt::Page => Preempt::Page,
            }),
            copyback: config.copyback,
            work: GcWork::default(),
            commands: Vec::new(),
            last: vec![None; (chips * dies) as usize],
            any_job: false,
            pending: Vec::new(),
            spare: Vec::new(),
        }
    }

    fn last_of(&mut self, chip: ChipId, die: u32) -> &mut Option<OpId> {
        &mut self.last[(chip.0 * self.dies + die) as usize]
    }

    fn set_last(&mut self, chip: ChipId, die: u32, job: OpId) {
        self.any_job = true;
        *self.last_of(chip, die) = Some(job);
    }
}

impl Engine {
    /// Makes room and maps `lpn`, to `plane` or where its address says; without room the run has a
    /// fault. Jobs that make the room are submitted.
    #[inline(always)]
    pub(super) fn place(&mut self, lpn: Lpn, plane: Option<PlaneId>) -> Option<Placed> {
        let placed = self.book.map.host_write(lpn, plane, &mut self.gc.work);
        if !self.gc.work.is_empty() {
            self.submit_gc();
        }
        match placed {
            Ok(placed) => Some(placed),
            Err(full) => {
                self.book.full.get_or_insert(full);
                None
            }
        }
    }

    /// The foreground job that a program for a die goes after.
    #[inline]
    pub(super) fn job_of(&mut self, chip: ChipId, die: u32) -> Option<OpId> {
        match self.gc.any_job {
            true => self.last_job_of(chip, die),
            false => None,
        }
    }

    fn last_job_of(&mut self, chip: ChipId, die: u32) -> Option<OpId> {
        let last = self.gc.last_of(chip, die);
        if let Some(id) = *last
            && self.nand.state(id) == OpState::Gone
        {
            *last = None;
        }
        *last
    }

    /// Jobs that background programs made necessary when they started.
    pub(super) fn submit_gc_of_started(&mut self) {
        if !self.book.gc_work.is_empty() {
            std::mem::swap(&mut self.book.gc_work, &mut self.gc.work);
            self.submit_gc();
        }
    }

    #[cold]
    fn submit_gc(&mut self) {
        let mut work = std::mem::take(&mut self.gc.work);
        for block in &work.hurried {
            self.hurry(block);
        }
        let mut commands = std::mem::take(&mut self.gc.commands);
        for block in &work.blocks {
            commands.clear();
            self.commands_of(block, work.steps_of(block), &mut commands);
            commands.push(self.erase(block, GC_TOKEN));
            let kind = self.gc.foreground;
            let job = self
                .nand
                .submit_job(self.now, kind, &commands, &mut self.book);
            self.gc.set_last(block.chip, commands[0].die, job.last());
        }
        self.gc.commands = commands;
        work.clear();
        self.gc.work = work;
    }

    fn erase(&mut self, block: &Collected, token: u32) -> Command {
        self.traffic.erases += 1;
        Command::erase(block.chip, token).die(self.die(block.plane))
    }

    /// All operations of a job but its erase.
    fn commands_of(&mut self, block: &Collected, steps: &[GcStep], commands: &mut Vec<Command>) {
        let die = self.die(block.plane);
        let (page, sectors) = (self.page_transfer, self.page_sectors);
        let bytes = self.bytes(sectors);
        for step in steps {
            match *step {
                GcStep::Copy {
                    same_plane: true, ..
                } if self.gc.copyback => {
                    commands.push(Command::copyback(block.chip, GC_TOKEN).die(die));
                    self.traffic.copybacks += 1;
                }
                GcStep::Copy { .. } => {
                    let read = Command::read(block.chip, page, GC_TOKEN).die(die);
                    commands.push(read.bytes(bytes));
                    let program = Command::program(block.chip, page, GC_TOKEN).die(die);
                    commands.push(program.bytes(bytes));
                }
                GcStep::Summary { .. } => {
                    let one = self.transfer.sectors(1);
                    let program = Command::program(block.chip, one, GC_TOKEN).die(die);
                    commands.push(program.bytes(self.bytes(1)));
                    self.traffic.writes_meta += 1;
                }
            }
        }
        self.traffic.reads_gc += u64::from(block.valid);
        self.traffic.writes_gc += u64::from(block.valid);
        if !block.levelling {
            self.traffic.victims += 1;
            self.traffic.victim_pages += u64::from(block.valid);
        }
    }

    /// A block that waits for a background erase is needed now: its job becomes a foreground one
    /// if nothing of it has started, and programs for its die go after it.
    fn hurry(&mut self, block: &Collected) {
        let mut pending = self.gc.pending.iter();
        let at = pending.position(|job| job.block == block.number && !job.hurried);
        let at = at.expect("a block waits for the end of its job");
        self.gc.pending[at].hurried = true;
        let mut id = self.gc.pending[at].id;
        if self.nand.cancel_job(self.now, id, &mut self.book) {
            let (kind, job) = (self.gc.foreground, &self.gc.pending[at]);
            id = self
                .nand
                .submit_job(self.now, kind, &job.commands, &mut self.book);
            self.gc.pending[at].id = id;
        }
        let die = self.gc.pending[at].commands[0].die;
        self.gc.set_last(block.chip, die, id.last());
    }

    /// Collects for GC units of `chip` that are at their threshold, in the background.
    #[inline]
    pub(super) fn collect_in_background(&mut self, chip: ChipId) {
        if self.gc.background {
            self.collect_for(chip);
        }
    }

    fn collect_for(&mut self, chip: ChipId) {
        let mut work = std::mem::take(&mut self.gc.work);
        while self.book.map.collect_in_background(chip, &mut work) {
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
        let token = self.book.enter(Role::Erase, number, self.now);
        commands.push(self.erase(block, token).notify_end());
        let id = self
            .nand
            .submit_job(self.now, JobKind::Background, &commands, &mut self.book);
        self.gc.pending.push(BackgroundJob {
            block: block.number,
            chip: block.chip,
            token,
            hurried: false,
            id,
            commands,
        });
    }

    /// Background erases have ended: their chips may have more to collect. Those of one instant are
    /// taken in the order of their blocks: policies that draw must not depend on how events are
    /// kept.
    pub(super) fn collect_after_erases(&mut self) {
        while !self.book.erased.is_empty() {
            let mut erased = std::mem::take(&mut self.book.erased);
            erased.sort_unstable_by_key(|&token| self.book.ops[token].lpn);
            for token in &mut erased {
                let chip = self.end_job(*token);
                *token = chip.0;
            }
            for chip in erased.drain(..).map(ChipId) {
                self.collect_in_background(chip);
            }
            erased.append(&mut self.book.erased);
            self.book.erased = erased;
        }
    }

    /// The erase `token` of a background job has ended.
    fn end_job(&mut self, token: u32) -> ChipId {
        let mut pending = self.gc.pending.iter();
        let at = pending.position(|job| job.token == token);
        let at = at.expect("a job is pending until its erase ends");
        let job = self.gc.pending.swap_remove(at);
        self.book.ops.remove(token);
        if !job.hurried {
            self.book.map.erased(job.block);
        }
        self.gc.spare.push(job.commands);
        job.chip
    }

    /// Wear at this moment, and what the array was given to do since the measured part began.
    pub(super) fn state_of_flash(&self) -> FlashState {
        let start = ChipStats::default();
        let before = self.before.iter().chain(std::iter::repeat(&start));
        let issued = self.nand.issued();
        FlashState {
            wear: self.book.map.wear(),
            chips: issued
                .iter()
                .zip(before)
                .map(|(all, b)| all.since(b))
                .collect(),
        }
    }
}
