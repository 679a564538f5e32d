//! Drives with units before the run.
//!
//! Collection is that of the run, in no time: each full unit of the host adds to the debt of its GC unit (D-11), and as much is
//! collected at once. So a run begins with as many free blocks as it will have later, which no mark says: where a
//! drive settles depends on the valid places that are left of victims, and with them on the size of blocks and reads. Victims
//! under way and debts go on in the run. At the end of overwrites open units are closed with padding.

use super::{DeviceFull, UnitMap, UnitPlace, UnitStream};
use crate::map::fill::FillInOrder;
use crate::map::precondition::Preconditioning;
use destage_types::Lpn;

/// Data of the precondition have the first handle.
const HOST: UnitStream = UnitStream::Host(0);

impl Preconditioning for UnitMap {
    fn gc_units_of(&self, pages: u64) -> Vec<u32> {
        let grains = pages.div_ceil(u64::from(self.shape.per_page));
        let frontiers = match (self.pace.on, self.dynamic) {
            (false, _) => &[],
            (true, true) => &self.frontier_order[..],
            (true, false) => &self.spread[..grains.min(self.spread.len() as u64) as usize],
        };
        let mut units: Vec<u32> = frontiers.iter().map(|&of| self.gc_of(of)).collect();
        units.sort_unstable();
        units.dedup();
        units
    }

    fn fill_in_order(&self, pages: u64) -> FillInOrder {
        let order = match self.dynamic {
            true => (self.shape.unit(), &self.frontier_order[..]),
            false => (self.shape.per_page, &self.spread[..]),
        };
        let of_gc = u64::from(self.groups_of_gc(0).count());
        let native = u64::from(self.shape.blocks - self.static_of_group());
        // Parity lies between the data, so that no formula says where they are.
        let most = match self.has_parity() {
            true => 0,
            false => native.saturating_sub(self.gc_low.div_ceil(of_gc)),
        };
        FillInOrder::new((&self.shape, &self.groups), order, 0, pages, most)
    }

    fn filled_stripes(&mut self, stripes: u32) {
        for group in 0..self.shape.groups {
            for index in 0..stripes {
                let block = self.shape.number(group, index);
                *self.programmed.at(u64::from(block)) = self.shape.places as u16;
            }
        }
    }

    fn write_now(&mut self, lpn: Lpn) -> Result<(), Box<DeviceFull>> {
        let Some(frontier) = self.frontier_now(lpn) else {
            return Err(self.full(lpn));
        };
        let full = self.put(HOST, frontier, lpn);
        if let Some(unit) = full {
            self.queued_now(HOST, frontier, unit);
            self.owe_now(self.gc_of(frontier));
        }
        Ok(())
    }

    /// At the end all open units are closed.
    fn overwriting(&mut self, on: bool) {
        let frontiers = if on { 0 } else { self.frontier_count() };
        for frontier in 0..frontiers {
            for stream in self.writers.all() {
                self.close_now(stream, frontier);
            }
        }
    }

    /// Translation pages of what is mapped follow the data, in ascending order. Their full units owe as the host's do
    /// (S-2.1).
    fn write_translation_pages(&mut self) -> Result<(), Box<DeviceFull>> {
        if self.translation.pages == 0 {
            return Ok(());
        }
        for number in 0..self.translation.pages {
            let entries = self.translation.entries_of(number, self.places.logical());
            if !entries.map(Lpn).any(|lpn| self.places.get(lpn).is_some()) {
                continue;
            }
            let lpn = self.translation_page(number);
            let gc = self.put_translation_page(lpn);
            let gc = gc.ok_or_else(|| self.full(lpn))?;
            if self.open_frontier(UnitStream::Map).is_none() {
                self.owe_now(gc);
            }
        }
        for frontier in 0..self.frontier_count() {
            for stream in self.writers.all() {
                self.close_now(stream, frontier);
            }
        }
        Ok(())
    }
}

/// The collector of a GC unit before the run.
#[derive(Clone, Copy, Debug, Default)]
pub struct CollectorBefore {
    /// Places that it owes; negative where it is ahead.
    pub owed: f64,
    /// The victim under way, and the next read of it.
    pub victim: Option<(u32, u32)>,
}

impl UnitMap {
    /// Closes the open unit of a frontier, if it has one.
    fn close_now(&mut self, stream: UnitStream, frontier: u32) {
        if let Some((unit, _)) = self.close(stream, frontier) {
            self.queued_now(stream, frontier, unit);
        }
    }

    /// A unit is programmed in no time, and parity if it is due. That of the host is charged like its units.
    fn queued_now(&mut self, stream: UnitStream, frontier: u32, unit: UnitPlace) {
        self.program_ended(unit);
        self.add_to_stripe(stream, frontier);
        if let Some((frontier, parity)) = self.put_parity(stream, |_| 0) {
            self.program_ended(parity);
            if !matches!(stream, UnitStream::Collector(_)) {
                self.owe_now(self.gc_of(frontier));
            }
        }
    }

    /// Writes a translation page, if there is room. Gives the GC unit.
    fn put_translation_page(&mut self, lpn: Lpn) -> Option<u32> {
        let frontier = self.map_frontier(false)?;
        if let Some(unit) = self.put(UnitStream::Map, frontier, lpn) {
            self.queued_now(UnitStream::Map, frontier, unit);
        }
        Some(self.gc_of(frontier))
    }

    /// Hands the collector of a GC unit over to a run, which goes on with it.
    pub fn take_collector(&mut self, gc: u32) -> CollectorBefore {
        std::mem::take(&mut self.collectors[gc as usize])
    }

    /// Makes room on a frontier whose next unit needs a block. Can it take one then?
    fn make_room(&mut self, frontier: u32) -> bool {
        let gc = self.gc_of(frontier);
        if self.is_open(HOST, frontier) {
            return true;
        }
        while self.is_stuck(frontier) && self.collect_on(gc, true) {}
        self.can_open(HOST, frontier)
    }

    /// The frontier that takes a mapping unit. Dynamic allocation fills one unit on each frontier in turn.
    fn frontier_now(&mut self, lpn: Lpn) -> Option<u32> {
        if !self.dynamic {
            let frontier = self.static_frontier(lpn);
            return self.make_room(frontier).then_some(frontier);
        }
        if let Some(frontier) = self
            .filling
            .filter(|&frontier| self.is_open(HOST, frontier))
        {
            return Some(frontier);
        }
        for turn in 0..self.frontier_order().len() {
            let frontier = self.frontier_order()[turn];
            self.make_room(frontier);
        }
        self.filling = self.next_frontier(HOST, |_| 0);
        self.filling
    }

    /// A unit of the host is full: its GC unit owes places for it, and collects as far as it owes.
    fn owe_now(&mut self, gc: u32) {
        if !self.pace.on {
            return;
        }
        let free = self.free_blocks(gc);
        let victim = self.collectors[gc as usize].victim;
        let to_move = self.to_move(gc, victim, |_| 0);
        let owed = to_move.map(|to_move| self.pace.owed(self.shape.unit(), free, to_move));
        let collector = &mut self.collectors[gc as usize];
        collector.owed = owed.map_or(0.0, |owed| collector.owed + owed);
        while self.collect_on(gc, false) {}
    }

    /// The next step of a collector: it takes a victim, moves what it holds, or erases it. It needs a debt for that, or
    /// is forced to. Was there a step to take?
    fn collect_on(&mut self, gc: u32, forced: bool) -> bool {
        let CollectorBefore { owed, victim } = self.collectors[gc as usize];
        let owes = owed >= 1.0 || forced;
        let Some((block, read)) = victim else {
            return self.pace.on && self.next_victim(gc, owes);
        };
        if self.valid_in(block) == 0 {
            self.collectors[gc as usize].victim = None;
            self.collected(block);
            self.erased(block);
            return true;
        }
        if owes {
            return self.move_reads(gc, block, read);
        }
        self.collectors[gc as usize].victim = Some((block, self.next_read(block, read)));
        false
    }

    /// Begins with the next victim of a GC unit. One without wanted data needs no debt.
    fn next_victim(&mut self, gc: u32, owes: bool) -> bool {
        if !(owes || self.pace.is_due(self.free_blocks(gc))) {
            return false;
        }
        let Some(block) = self.victim(gc) else {
            self.collectors[gc as usize].owed = 0.0;
            return false;
        };
        let begins = owes || self.valid_in(block) == 0;
        if begins {
            self.before.note(gc);
            self.begin_collection(block);
            self.collectors[gc as usize].victim = Some((block, 0));
        }
        begins
    }

    /// Moves what the next read of a victim holds, and those after it that are paid whatever they hold. Is there room?
    fn move_reads(&mut self, gc: u32, block: u32, read: u32) -> bool {
        let places = self.shape.read_places();
        let owed = self.collectors[gc as usize].owed;
        let more = (owed - 1.0).max(0.0) as u32 / places;
        let reads = read..(read + 1).saturating_add(more).min(self.shape.reads());
        let end = reads.end;
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted.clear();
        // Without parts reads follow one another, and all are looked up together.
        let together = if self.shape.parts == 1 {
            reads.len()
        } else {
            1
        };
        for read in reads.step_by(together) {
            let first = self.shape.first(block) + u64::from(self.shape.read_at(read));
            let places = together as u32 * places;
            self.places.owners(first, places, &mut wanted);
        }
        self.before.add_moved(wanted.len() as u64);
        let paid = if owed >= 1.0 { wanted.len() } else { 0 };
        self.collectors[gc as usize] = CollectorBefore {
            owed: owed - paid as f64,
            victim: Some((block, end)),
        };
        let mut open = None;
        let fits = wanted.iter().all(|owned| {
            let lpn = Lpn(u64::from(owned.lpn));
            if self.is_translation_page(lpn) {
                return self.put_translation_page(lpn).is_some();
            }
            let frontier = open.or_else(|| self.collector_frontier(block, |_| 0));
            let full =
                frontier.and_then(|frontier| self.put(self.collector_of(block), frontier, lpn));
            if let (Some(unit), Some(frontier)) = (full, frontier) {
                self.queued_now(self.collector_of(block), frontier, unit);
            }
            open = frontier.filter(|_| full.is_none());
            frontier.is_some()
        });
        self.wanted = wanted;
        fits
    }
}
