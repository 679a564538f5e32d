//! Garbage collection: the rules of the translation layer, one question after the other.
//! (DEVICE_MODEL.md, "When a block is collected")

use super::*;

/// One page that a collection programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlowStep {
    /// Valid data move.
    Copy {
        /// The logical page.
        lpn: u64,
        /// Where its data were.
        from: Spot,
        /// Where they are now.
        to: Spot,
        /// Could a copyback do it?
        same_plane: bool,
    },
    /// A summary page.
    Summary,
}

/// A block that is collected.
#[derive(Clone, Debug)]
pub struct Collection {
    /// The block.
    pub block: BlockId,
    /// Its queue unit.
    pub chip: usize,
    /// Programs before its erase.
    pub steps: Vec<SlowStep>,
}

/// Work before a write.
#[derive(Clone, Default, Debug)]
pub struct Work {
    /// Background erases that are needed now.
    pub expedited: Vec<BlockId>,
    /// Blocks to collect, in order.
    pub blocks: Vec<Collection>,
}

impl SlowMap {
    fn slots(&self, frontier: u64) -> u64 {
        let planes = self.planes_of(self.config.frontier, frontier);
        let blocks: u64 = planes.iter().map(|&plane| self.free_blocks(plane)).sum();
        let left = self.open.get(&frontier).map_or(0, |block| {
            self.data_per_block - self.blocks.block(*block).pages.len() as u64
        });
        blocks * self.data_per_block + left
    }

    fn gc_free(&self, gc: u64) -> u64 {
        self.free_in(&self.planes_of(self.config.gc_unit, gc))
    }

    /// Free pages of a GC unit; where blocks are counted, those of its free blocks alone.
    fn counted_free(&self, gc: u64) -> u64 {
        let planes = self.planes_of(self.config.gc_unit, gc);
        match self.config.gc_threshold_unit {
            ThresholdUnit::Pages => self.free_in(&planes),
            ThresholdUnit::Blocks => {
                let blocks = planes.iter().map(|&plane| self.free_blocks(plane));
                blocks.sum::<u64>() * self.pages_per_block
            }
        }
    }

    fn is_at_threshold(&self, gc: u64) -> bool {
        self.counted_free(gc) <= self.threshold()
    }

    /// Has a GC unit that has collected a block collected enough?
    fn is_beyond_watermark(&self, gc: u64) -> bool {
        let more = u64::from(self.config.gc_stop_blocks) * self.pages_per_block;
        self.config.gc_stop == GcStop::One || self.counted_free(gc) > self.threshold() + more
    }

    /// Collects a GC unit that is at its threshold.
    fn collect_unit(&mut self, gc: u64, work: &mut Work) {
        let planes = self.planes_of(self.config.gc_unit, gc);
        while let Some(victim) = self.victim(&planes) {
            self.collect_now(victim, work);
            if self.is_beyond_watermark(gc) {
                break;
            }
        }
    }

    /// Work before a read of a mapped page.
    pub fn before_read(&mut self, lpn: u64) -> Work {
        let plane = self.spot(lpn).plane;
        self.done_at(plane, &[GcTrigger::Operation, GcTrigger::Immediate])
    }

    /// Work right after a write of the host.
    pub fn behind_write(&mut self, written: &WrittenPage) -> Work {
        self.done_at(written.spot.plane, &[GcTrigger::Immediate])
    }

    fn done_at(&mut self, plane: u64, triggers: &[GcTrigger]) -> Work {
        let mut work = Work::default();
        let gc = self.unit_of(self.config.gc_unit, plane);
        let foreground = self.collects() && !self.collects_in_background();
        let wanted = triggers.contains(&self.config.gc_trigger);
        if foreground && wanted && self.is_at_threshold(gc) {
            self.collect_unit(gc, &mut work);
        }
        work
    }

    /// Plane of the next page of a frontier.
    fn next_plane(&self, frontier: u64) -> u64 {
        if let Some(block) = self.open.get(&frontier) {
            return self.plane_of(*block);
        }
        let planes = self.planes_of(self.config.frontier, frontier);
        let last = self.last_turn.get(&frontier).copied().unwrap_or(0);
        planes[self.next_turn(frontier, &planes).unwrap_or(last) as usize]
    }

    /// Makes room for a write at the frontier of `plane`; where it goes then.
    pub(super) fn make_room(&mut self, plane: u64, elsewhere: bool) -> (Option<u64>, Work) {
        let mut work = Work::default();
        if !self.collects() {
            let frontier = self.unit_of(self.config.frontier, plane);
            return ((self.slots(frontier) > 0).then_some(plane), work);
        }
        self.displaced |= elsewhere;
        let planes = self.planes();
        let tries = if self.displaced { planes } else { 1 };
        for step in 0..tries {
            let plane = (plane + step) % planes;
            if self.reclaim(plane, &mut work) {
                return (Some(plane), work);
            }
        }
        (None, work)
    }

    fn reclaim(&mut self, plane: u64, work: &mut Work) -> bool {
        let frontier = self.unit_of(self.config.frontier, plane);
        let gc = self.unit_of(self.config.gc_unit, self.next_plane(frontier));
        if self.is_at_threshold(gc) && !self.collects_in_background() {
            self.collect_unit(gc, work);
        }
        while self.slots(frontier) < self.data_per_block {
            let of =
                |b: &BlockId| self.unit_of(self.config.frontier, self.plane_of(*b)) == frontier;
            if let Some(at) = self.awaiting.iter().position(of) {
                let block = self.awaiting.remove(at);
                self.erase(block);
                work.expedited.push(block);
                continue;
            }
            let planes = self.planes_of(self.config.frontier, frontier);
            match self.victim(&planes) {
                Some(victim) => self.collect_now(victim, work),
                None => return false,
            }
        }
        true
    }

    /// The block to collect among those of some planes.
    fn victim(&mut self, planes: &[u64]) -> Option<BlockId> {
        let finer = match digits(self.config.frontier) > digits(self.config.gc_unit) {
            true => self.config.frontier,
            false => self.config.gc_unit,
        };
        let written = self.written(planes);
        let wanted = |b: &&BlockId| {
            self.blocks.is_full(**b)
                && self.valid(**b) < self.data_per_block
                && !self.awaiting.contains(b)
        };
        let candidate = |&b: &BlockId| (self.unit_of(finer, self.plane_of(b)), b);
        let candidates = written.iter().filter(wanted).map(candidate).collect();
        let policy = (self.config.gc_policy, self.config.gc_choices);
        let data = self.data_per_block as usize;
        let all: Vec<_> = planes.iter().map(|&p| self.own_blocks(p)).collect();
        self.blocks.choose(policy, candidates, data, &all)
    }

    /// Collects a block and takes it as erased, then levels wear.
    fn collect_now(&mut self, victim: BlockId, work: &mut Work) {
        let collection = self.move_pages(victim);
        self.erase(victim);
        work.blocks.push(collection);
        if let Some(cold) = self.cold_block(self.plane_of(victim)) {
            let collection = self.move_pages(cold);
            self.erase(cold);
            work.blocks.push(collection);
        }
    }

    /// The block that static wear levelling moves.
    fn cold_block(&self, plane: u64) -> Option<BlockId> {
        if self.config.wear_levelling != WearLevelling::Static {
            return None;
        }
        let own = self.written(&[plane]);
        let erases = |b: &BlockId| self.blocks.block(*b).erases;
        let most = own.iter().map(erases).max()?;
        let full = own.iter().filter(|b| self.blocks.is_full(**b));
        let full = full.filter(|b| !self.awaiting.contains(b));
        let cold = *full.min_by_key(|b| (erases(b), **b))?;
        let room = self.slots(self.unit_of(self.config.frontier, plane));
        let wanted = most - erases(&cold) > u64::from(self.config.wear_threshold);
        (wanted && room >= self.valid(cold)).then_some(cold)
    }

    fn move_pages(&mut self, block: BlockId) -> Collection {
        let plane = self.plane_of(block);
        let frontier = self.unit_of(self.config.frontier, plane);
        let mut steps = Vec::new();
        for (lpn, _) in self.blocks.valid(block) {
            let from = self.spot(lpn);
            let summary = self.append(frontier, lpn);
            let to = self.spot(lpn);
            steps.push(SlowStep::Copy {
                lpn,
                from,
                to,
                same_plane: to.plane == from.plane,
            });
            if summary {
                steps.push(SlowStep::Summary);
            }
        }
        let chip = self.chip_of_plane(plane);
        Collection { block, chip, steps }
    }

    fn erase(&mut self, id: BlockId) {
        assert_eq!(self.valid(id), 0, "data were moved before");
        self.blocks.erase(id);
    }

    /// A background erase has ended.
    pub fn erased(&mut self, block: BlockId) {
        if let Some(at) = self.awaiting.iter().position(|&b| b == block) {
            self.awaiting.remove(at);
            self.erase(block);
        }
    }

    /// GC units of a chip, ascending.
    fn gc_units(&self, chip: usize) -> Vec<u64> {
        let planes = (0..self.planes()).filter(|&p| self.chip_of_plane(p) == chip);
        let mut units: Vec<u64> = planes
            .map(|p| self.unit_of(self.config.gc_unit, p))
            .collect();
        units.sort_unstable();
        units.dedup();
        units
    }

    /// The collections that a chip with nothing to do starts next.
    pub fn collect_in_background(&mut self, chip: usize) -> Option<Vec<Collection>> {
        let mut units = self.gc_units(chip).into_iter();
        let gc = units.find(|&gc| {
            if self.collecting.contains(&gc) && self.is_beyond_watermark(gc) {
                self.collecting.remove(&gc);
            }
            if self.is_at_threshold(gc) {
                self.collecting.insert(gc);
            }
            let waits = |b: &BlockId| self.unit_of(self.config.gc_unit, self.plane_of(*b)) == gc;
            self.collecting.contains(&gc) && !self.awaiting.iter().any(waits)
        })?;
        let victim = self.victim(&self.planes_of(self.config.gc_unit, gc))?;
        let frontier = self.unit_of(self.config.frontier, self.plane_of(victim));
        if self.slots(frontier) < self.valid(victim) {
            return None;
        }
        let mut collections = vec![self.move_pages(victim)];
        self.awaiting.push(victim);
        if let Some(cold) = self.cold_block(self.plane_of(victim)) {
            collections.push(self.move_pages(cold));
            self.awaiting.push(cold);
        }
        Some(collections)
    }

    /// Free blocks of a chip.
    pub fn free_blocks_of_chip(&self, chip: usize) -> u64 {
        let planes = (0..self.planes()).filter(|&p| self.chip_of_plane(p) == chip);
        planes.map(|plane| self.free_blocks(plane)).sum()
    }

    /// GC threshold of a chip in whole blocks.
    pub fn threshold_blocks_of_chip(&self) -> u64 {
        self.threshold_of_chip() / self.pages_per_block
    }

    /// N_vp of ECR: valid pages of the block that greedy GC would pick in the fullest GC unit.
    pub fn victim_valid_pages(&self, chip: usize) -> u64 {
        if !self.collects() {
            return 0;
        }
        let units = self.gc_units(chip);
        let fullest = units.into_iter().min_by_key(|&gc| self.gc_free(gc));
        let planes = fullest.map(|gc| self.planes_of(self.config.gc_unit, gc));
        let planes = planes.expect("a chip has a GC unit");
        let blocks = self.written(&planes).into_iter();
        let full = blocks.filter(|b| self.blocks.is_full(*b) && !self.awaiting.contains(b));
        let fewest = full.map(|b| self.valid(b)).min();
        fewest.filter(|&n| n < self.data_per_block).unwrap_or(0)
    }
}
