//! Collections on their way through the array. (DEVICE_MODEL.md, "What a collection costs")

use std::collections::BTreeMap;

use super::*;
use crate::reference::pagemap::{BlockId, Collection, SlowStep};
use destage_device::config::GcStop;
use destage_device::nand::JobKind;

/// A background collection.
#[derive(Clone, Debug)]
struct Background {
    block: BlockId,
    chip: usize,
    first: u64,
    /// The mapping took the block as erased before its erase had ended; it may be in use again.
    expedited: bool,
    commands: Vec<FlashCommand>,
}

/// Jobs that were submitted.
#[derive(Default, Debug)]
pub(super) struct SlowCollector {
    /// Last operation of the last foreground job of every chip.
    last: BTreeMap<usize, u64>,
    background: Vec<Background>,
    /// Blocks collected.
    pub collections: u64,
}

impl SlowDevice {
    /// Blocks collected so far.
    pub fn collections(&self) -> u64 {
        self.gc.collections
    }

    fn submit_job(&mut self, kind: JobKind, commands: &[FlashCommand]) -> u64 {
        let now = Nanos(self.now);
        let none = [None, None];
        let first = self.array.submit_job(now, kind, commands, none);
        self.take_notices();
        first
    }

    /// Submits what has to be done before a write.
    pub(super) fn collect(&mut self, work: Work) {
        for block in work.expedited {
            self.expedite(block);
        }
        let mut waiting: Vec<FlashCommand> = Vec::new();
        let mut blocks = work.blocks.iter().peekable();
        while let Some(collection) = blocks.next() {
            waiting.extend(self.commands(collection, NO_TOKEN));
            // A collection that goes on is one job as long as it stays on the chip.
            let goes_on = self.config.gc_stop == GcStop::Watermark
                && blocks
                    .peek()
                    .is_some_and(|next| next.chip == collection.chip);
            if !goes_on {
                let commands = std::mem::take(&mut waiting);
                let first = self.submit_job(JobKind::Foreground, &commands);
                let last = first + commands.len() as u64 - 1;
                self.gc.last.insert(collection.chip, last);
            }
        }
    }

    fn commands(&mut self, collection: &Collection, erase: u32) -> Vec<FlashCommand> {
        self.gc.collections += 1;
        let chip = ChipId(collection.chip as u32);
        let (page, one) = (self.page_transfer(), self.transfer(1));
        let mut commands = Vec::new();
        for step in &collection.steps {
            match step {
                SlowStep::Copy {
                    same_plane: true,
                    to,
                    ..
                } if self.config.copyback => {
                    let copyback = FlashCommand::copyback(chip, NO_TOKEN);
                    commands.push(self.on_page(copyback, to.page));
                }
                SlowStep::Copy { to, .. } => {
                    commands.push(FlashCommand::read(chip, page, NO_TOKEN));
                    let program = FlashCommand::program(chip, page, NO_TOKEN);
                    commands.push(self.on_page(program, to.page));
                }
                SlowStep::Summary => {
                    self.summaries += 1;
                    let program = FlashCommand::program(chip, one, NO_TOKEN);
                    commands.push(self.on_page(program, self.last_page()));
                }
            }
        }
        commands.push(FlashCommand::erase(chip, erase));
        commands
    }

    fn on_page(&self, command: FlashCommand, page: usize) -> FlashCommand {
        FlashCommand {
            array: self.array_time(page),
            ..command
        }
    }

    /// A background collection is needed now.
    fn expedite(&mut self, block: BlockId) {
        let jobs = self.gc.background.iter();
        let at = jobs.rev().position(|job| job.block == block);
        let at = self.gc.background.len() - 1 - at.expect("it was submitted");
        self.gc.background[at].expedited = true;
        let job = self.gc.background[at].clone();
        let length = job.commands.len() as u64;
        let numbers = job.first..=job.first + length - 1;
        let now = Nanos(self.now);
        let cancelled = self.array.cancel_job(now, numbers);
        self.take_notices();
        if cancelled {
            let first = self.submit_job(JobKind::Foreground, &job.commands);
            self.gc.background[at].first = first;
        }
        let last = self.gc.background[at].first + length - 1;
        self.gc.last.insert(job.chip, last);
    }

    /// The job that programs for a chip go after.
    pub(super) fn last_job(&self, chip: usize) -> Option<u64> {
        let last = self.gc.last.get(&chip).copied();
        last.filter(|&number| self.array.state(number) != OpState::Finished)
    }

    /// Collects what a chip can while it has nothing else to do.
    pub(super) fn collect_in_background(&mut self, chip: usize) {
        if !self.map.collects_in_background() {
            return;
        }
        while let Some(collections) = self.map.collect_in_background(chip) {
            for collection in collections {
                self.submit_background(&collection);
            }
        }
    }

    fn submit_background(&mut self, collection: &Collection) {
        let at = self.gc.background.len();
        let token = self.enter(Purpose::Erase(at), u64::MAX, Class::Background, None);
        let mut commands = self.commands(collection, token);
        let erase = commands.last_mut().expect("a job ends with an erase");
        erase.notify_end = true;
        let first = self.submit_job(JobKind::Background, &commands);
        self.gc.background.push(Background {
            block: collection.block,
            chip: collection.chip,
            first,
            expedited: false,
            commands,
        });
    }

    /// Chips whose background erases have ended may have more to collect.
    pub(super) fn collect_after_erases(&mut self) {
        let mut erased = std::mem::take(&mut self.entries.erased);
        erased.sort_by_key(|&at| self.gc.background[at].block);
        for &at in &erased {
            let job = &self.gc.background[at];
            if !job.expedited {
                self.map.erased(job.block);
            }
        }
        for at in erased {
            let chip = self.gc.background[at].chip;
            self.collect_in_background(chip);
        }
    }

    pub(super) fn has_jobs(&self, chip: ChipId) -> bool {
        self.array.in_gc(chip)
    }
}
