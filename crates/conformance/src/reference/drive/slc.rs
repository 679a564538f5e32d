//! The SLC cache (S-1 of the specification): blocks in SLC mode, and folding. (DEVICE_MODEL.md, "Drives with units")

use super::config::ns;
use super::ftl::{BlockState, Ftl};
use super::handles::Writer;
use super::model::DriveModel;

/// How a block is programmed from its opening to its erase (S-0.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// With all bits of its cells.
    Native,
    /// With one bit a cell: fewer places, faster.
    Slc,
}

/// The block that a frontier of the host takes next (S-1.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextBlock {
    /// A static SLC block.
    Static(usize),
    /// A native block, in SLC mode.
    Dynamic,
    /// A native block.
    Native,
}

impl Ftl {
    /// Places of a unit of a block, by its mode.
    pub(super) fn unit_places(&self, block: usize) -> usize {
        match self.blocks[block].mode {
            Mode::Native => self.geometry.unit_places,
            Mode::Slc => self.geometry.slc.unit_places,
        }
    }

    /// Units in one part of a block, by its mode.
    pub(super) fn units_per_part(&self, block: usize) -> usize {
        match self.blocks[block].mode {
            Mode::Native => self.geometry.units_per_part,
            Mode::Slc => self.geometry.slc.units_per_part,
        }
    }

    /// Times that a block is smaller than a native one.
    pub(super) fn smaller(&self, block: usize) -> usize {
        match self.blocks[block].mode {
            Mode::Native => 1,
            Mode::Slc => self.geometry.slc.smaller,
        }
    }

    /// Behind the last turn of the collector in a block.
    pub(super) fn last_turn(&self, block: usize) -> usize {
        let n = self.geometry.places_per_block();
        block * n + n / self.smaller(block)
    }

    /// Have all its units been opened?
    pub(super) fn is_opened_whole(&self, block: usize) -> bool {
        let units = self.units_per_part(block);
        self.blocks[block].opened.iter().all(|&n| n == units)
    }

    fn is_slc(&self, block: usize) -> bool {
        self.blocks[block].mode == Mode::Slc
    }

    /// What the host takes if it needs a block (S-1.3); nothing if it has to wait.
    pub(super) fn next_of_host(&self, gc_unit: usize) -> Option<NextBlock> {
        if self.slc_open {
            if let Some(block) = self.free_static_block(gc_unit) {
                return Some(NextBlock::Static(block));
            }
            let erased = self.erased_blocks(gc_unit) > 0;
            let fewer = self.dynamic_blocks(gc_unit) < self.slc.most_dynamic;
            if erased && fewer && self.free_blocks(gc_unit) > self.slc.reserve {
                return Some(NextBlock::Dynamic);
            }
            if self.slc.fold && self.has_blocks_to_fold(gc_unit) {
                return None;
            }
        }
        let free = self.free_blocks(gc_unit) > self.gc_low;
        (free && self.erased_blocks(gc_unit) > 0).then_some(NextBlock::Native)
    }

    /// The static block that has been free longest.
    fn free_static_block(&self, gc_unit: usize) -> Option<usize> {
        let blocks = self.geometry.blocks_of(gc_unit);
        let free = blocks
            .filter(|&b| self.geometry.is_static(b) && self.blocks[b].state == BlockState::Free);
        free.min_by_key(|&b| (self.blocks[b].freed, b))
    }

    /// Native blocks in SLC mode, from their opening to the end of their erase (S-1.3/3).
    fn dynamic_blocks(&self, gc_unit: usize) -> usize {
        let blocks = self.geometry.blocks_of(gc_unit);
        let native = blocks.filter(|&b| !self.geometry.is_static(b));
        let used = native.filter(|&b| self.blocks[b].state != BlockState::Free);
        used.filter(|&b| self.is_slc(b)).count()
    }

    /// Is an SLC block closed, or under way to its erase?
    fn has_blocks_to_fold(&self, gc_unit: usize) -> bool {
        let mut blocks = self.geometry.blocks_of(gc_unit);
        blocks.any(|b| {
            let state = self.blocks[b].state;
            self.is_slc(b) && !matches!(state, BlockState::Free | BlockState::Open)
        })
    }

    /// Does `fold` keep the host from taking a block (S-1.5/3)?
    pub(super) fn fold_keeps(&self, gc_unit: usize) -> bool {
        self.slc_open
            && self.slc.fold
            && self
                .handles
                .used()
                .any(|writer| self.needs_block(gc_unit, writer))
            && self.next_of_host(gc_unit).is_none()
            && self.has_blocks_to_fold(gc_unit)
    }

    /// Closed SLC blocks, whether their programs have ended or not.
    pub(super) fn closed_slc_blocks(&self, gc_unit: usize) -> usize {
        let blocks = self.geometry.blocks_of(gc_unit);
        let closed = blocks.filter(|&b| self.blocks[b].state == BlockState::Closed);
        closed.filter(|&b| self.is_slc(b)).count()
    }

    /// The frontier of the host takes a block.
    pub(super) fn take_for_host(&mut self, gc_unit: usize, writer: Writer) {
        let next = self.next_of_host(gc_unit).expect("there is a block");
        let block = match next {
            NextBlock::Static(block) => {
                self.fill(gc_unit, block, writer);
                block
            }
            NextBlock::Dynamic | NextBlock::Native => self.take_block(gc_unit, writer),
        };
        self.blocks[block].mode = match next {
            NextBlock::Native => Mode::Native,
            _ => Mode::Slc,
        };
    }

    /// S-1.7: fewest valid places, then SLC blocks, then closed longest. Folding takes SLC blocks alone, and
    /// collection none that are static.
    pub(super) fn victim_with_slc(&self, gc_unit: usize, folding: bool) -> Option<usize> {
        let n = self.geometry.places_per_block();
        let may = |&b: &usize| {
            let block = &self.blocks[b];
            let of_kind = match folding {
                true => self.is_slc(b),
                false => !self.geometry.is_static(b),
            };
            let ended = block.state == BlockState::Closed && block.unfinished == 0;
            of_kind && ended && block.valid < n
        };
        let key = |&b: &usize| {
            let block = &self.blocks[b];
            (block.valid, !self.is_slc(b), block.closed)
        };
        self.geometry.blocks_of(gc_unit).filter(may).min_by_key(key)
    }
}

impl DriveModel {
    /// When an idle drive begins to fold, if no command is inside (S-1.5/1).
    fn idle_from(&self) -> Option<u64> {
        let time = self.ftl.slc.idle?;
        (self.host.slots_used == 0).then(|| self.host.last_done + time)
    }

    /// Has no command been inside for `slc_idle`?
    fn is_idle(&self) -> bool {
        self.idle_from().is_some_and(|from| from <= self.now)
    }

    /// When the drive is idle, if it folds something then.
    pub(super) fn next_idle(&self) -> Option<u64> {
        let units = 0..self.collectors.len();
        let folds = |unit| self.folding(unit).is_some() || self.has_idle_work(unit);
        let from = self.idle_from().filter(|&from| from > self.now)?;
        units.into_iter().any(folds).then_some(from)
    }

    fn has_idle_work(&self, gc_unit: usize) -> bool {
        self.ftl.closed_slc_blocks(gc_unit) > self.ftl.slc.keep
    }

    /// Do data of the host wait that no frontier could take (S-1.5/3)?
    fn host_waits(&self) -> bool {
        let page_waits = self.page_waits && self.buffer.dirty() > 0;
        page_waits || !self.pending.is_empty() || !self.flushes.is_empty()
    }

    /// S-1.5: is there a cause to fold? Whether the host waits for it.
    fn fold_cause(&self, gc_unit: usize) -> Option<bool> {
        let owes = self.collectors[gc_unit].owed >= 1.0;
        if !self.ftl.slc.on || owes || self.ftl.free_blocks(gc_unit) <= self.ftl.gc_low {
            return None;
        }
        let waits = self.host_waits() && self.ftl.fold_keeps(gc_unit);
        (waits || self.is_idle()).then_some(waits)
    }

    /// The SLC block under way that folding goes on with: its place among the victims.
    fn folding(&self, gc_unit: usize) -> Option<usize> {
        let victims = &self.collectors[gc_unit].victims;
        victims
            .iter()
            .position(|&(block, _)| self.ftl.is_slc(block))
    }

    /// Collectors that have cause to fold look at it.
    pub(super) fn look_for_folding(&mut self) {
        for gc_unit in 0..self.collectors.len() {
            self.collectors[gc_unit].look |= self.fold_cause(gc_unit).is_some();
        }
    }

    /// A step of folding; true if there may be another.
    pub(super) fn fold(&mut self, gc_unit: usize) -> bool {
        let Some(waits) = self.fold_cause(gc_unit) else {
            return self.end_burst(gc_unit);
        };
        if let Some(i) = self.folding(gc_unit) {
            return self.read_on(gc_unit, i, false);
        }
        if waits || self.has_idle_work(gc_unit) {
            if let Some(block) = self.ftl.victim_with_slc(gc_unit, true) {
                self.take_victim(gc_unit, block);
                return true;
            }
            if waits && self.ftl.closed_slc_blocks(gc_unit) == 0 && !self.is_collecting(gc_unit) {
                // The last folded block waits for it.
                for unit in self.ftl.open_gc_units(gc_unit) {
                    self.queue(unit);
                }
            }
        }
        self.end_burst(gc_unit)
    }

    /// Is a program or an erase of the collector under way? No read is where this is asked.
    fn is_collecting(&self, gc_unit: usize) -> bool {
        let mine = |unit: usize| self.ftl.gc_unit_of(unit) == gc_unit;
        let units = self.ftl.units.iter().enumerate();
        let of_collector = units.filter(|(i, u)| matches!(u.writer, Writer::Gc(_)) && mine(*i));
        let mut programs = of_collector.filter(|(_, u)| !u.open && !u.ended);
        let blocks = &self.ftl.blocks[self.ftl.geometry.blocks_of(gc_unit)];
        programs.next().is_some() || blocks.iter().any(|b| b.state == BlockState::Erasing)
    }

    /// Array time of an erase of a block.
    pub(super) fn erase_time(&self, block: usize) -> u64 {
        match self.ftl.is_slc(block) {
            true => self.ftl.slc.t_erase,
            false => ns(self.device.t_erase),
        }
    }

    /// A place has been folded out of a block: static ones make a debt (S-0.5/1).
    pub(super) fn folded_out_of(&mut self, gc_unit: usize, block: usize) {
        if self.ftl.geometry.is_static(block) {
            self.owe(gc_unit, 1);
        }
    }
}
