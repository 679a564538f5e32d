//! Garbage collection: when it is due, which block, what is moved. The rules stand in [`super`].

use super::Placed;
use super::page_map::PageMap;
use crate::map::DeviceFull;
use destage_types::{ChannelId, ChipId, Lpn, PlaneId, Ppn};

/// One page that garbage collection programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GcStep {
    /// Valid data move.
    Copy {
        /// The logical page.
        lpn: Lpn,
        /// Where its data were.
        from: Ppn,
        /// Where they are now.
        to: Ppn,
        /// Both pages are in one plane, so a copyback can do it.
        same_plane: bool,
    },
    /// The summary page of a block that the copy before it filled.
    Summary {
        /// The page.
        at: Ppn,
    },
}

/// A block whose valid pages were moved and that is to be erased after them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Collected {
    /// The block, counted over the whole device.
    pub number: u32,
    /// Its plane.
    pub plane: PlaneId,
    /// The unit with its own queue that does all the work.
    pub chip: ChipId,
    /// The bus of that unit.
    pub channel: ChannelId,
    /// Pages that were valid.
    pub valid: u32,
    /// Static wear levelling chose it.
    pub levelling: bool,
    /// Its steps in [`GcWork::steps`].
    pub first: u32,
    /// End of its steps.
    pub end: u32,
}

/// Operations that garbage collection asks of the flash, in order. The caller keeps one and clears
/// it.
#[derive(Clone, Debug, Default)]
pub struct GcWork {
    /// Blocks to erase, each after its steps.
    pub blocks: Vec<Collected>,
    /// Steps of all blocks, block by block.
    pub steps: Vec<GcStep>,
    /// Blocks whose erase was left to the background and that are needed at once: the mapping
    /// takes them as erased from now on, and a program into one of them goes after its erase.
    pub expedited: Vec<Collected>,
}

impl GcWork {
    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.steps.clear();
        self.expedited.clear();
    }

    /// Is there nothing to do?
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.expedited.is_empty()
    }

    /// The steps before the erase of `block`.
    pub fn steps_of(&self, block: &Collected) -> &[GcStep] {
        &self.steps[block.first as usize..block.end as usize]
    }
}

impl PageMap {
    /// Makes room if it is needed, then writes `lpn` to the frontier of its own plane or of
    /// `plane`. Collections in front of the write are added to `work`; the mapping holds them
    /// already.
    ///
    /// # Errors
    /// No room can be made; nothing was written, but `work` may hold collections that did not suffice.
    ///
    /// # Panics
    /// If `lpn` lies beyond the logical pages or `plane` beyond the device.
    #[inline(always)]
    pub fn host_write(
        &mut self,
        lpn: Lpn,
        plane: Option<PlaneId>,
        work: &mut GcWork,
    ) -> Result<Placed, Box<DeviceFull>> {
        let mut to = plane.unwrap_or_else(|| self.static_plane(lpn));
        if self.gc.on {
            self.gc.displaced |= plane.is_some();
            if !self.has_room(to) {
                to = self.make_room(lpn, to, work)?;
            }
        }
        self.write_to_plane(lpn, to)
    }

    /// Can a page be written at the frontier of `plane` without a collection?
    #[inline(always)]
    fn has_room(&self, plane: PlaneId) -> bool {
        let row = self.groups.row(plane.0);
        let gc = if self.frontiers.is_of_one_plane() {
            row.gc
        } else {
            let next = self.frontiers.next_plane(row.frontier, &self.places.blocks);
            self.groups.row(next).gc
        };
        self.frontiers.slots(row.frontier) > self.gc.reserve && !self.is_at_threshold(gc)
    }

    #[cold]
    fn make_room(
        &mut self,
        lpn: Lpn,
        wanted: PlaneId,
        work: &mut GcWork,
    ) -> Result<PlaneId, Box<DeviceFull>> {
        // Units that go to a plane of their own may overfill it, so other planes are tried once such a
        // unit was placed; static allocation alone fills no plane beyond its share.
        let planes = self.planes();
        let tries = if self.gc.displaced { planes } else { 1 };
        let mut planes = (0..tries).map(|step| PlaneId((wanted.0 + step) % planes));
        let found = planes.find(|&plane| self.reclaim(plane, work));
        found.ok_or_else(|| self.full(lpn, wanted))
    }

    /// Collects what a write at the frontier of `plane` calls for; says whether it has room then.
    fn reclaim(&mut self, plane: PlaneId, work: &mut GcWork) -> bool {
        // Collections that the threshold calls for come first; more follow only while the frontier
        // has no more than the reserve that the copies of a collection need.
        let unit = self.groups.row(plane.0).frontier;
        let next = self.frontiers.next_plane(unit, &self.places.blocks);
        let gc = self.groups.row(next).gc;
        if self.is_at_threshold(gc) {
            self.gc.before.note(gc);
            if !self.gc.background {
                self.collect_unit(gc, work);
                if self.gc.in_blocks || self.gc.watermark.is_some() {
                    self.note_at_threshold(unit);
                }
            }
        }
        while self.frontiers.slots(unit) <= self.gc.reserve {
            if self.expedite(unit, work) {
                continue;
            }
            let Some(victim) = self.victim_of_frontier(unit) else {
                return false;
            };
            self.note_out_of_room(unit, victim);
            self.collect_now(victim, work);
        }
        true
    }

    /// Collects a GC unit at its threshold: one block, or block after block up to the watermark.
    fn collect_unit(&mut self, gc: u32, work: &mut GcWork) {
        while let Some(victim) = self.victim_of_gc_unit(gc) {
            self.collect_now(victim, work);
            if self.has_collected_enough(gc) {
                return;
            }
        }
    }

    /// Collects what a read of a page in `plane` calls for, and adds it to `work`: nothing unless
    /// reads do so. The page may have moved.
    #[inline]
    pub fn collect_before_read(&mut self, plane: PlaneId, work: &mut GcWork) {
        if self.gc.before_reads {
            self.collect_where_due(plane, work);
        }
    }

    /// Collects what a program of a page in `plane` calls for behind it, and adds it to `work`:
    /// nothing unless units collect as soon as they come to their threshold.
    #[inline]
    pub fn collect_behind_program(&mut self, plane: PlaneId, work: &mut GcWork) {
        if self.gc.at_once {
            self.collect_where_due(plane, work);
        }
    }

    fn collect_where_due(&mut self, plane: PlaneId, work: &mut GcWork) {
        let gc = self.groups.row(plane.0).gc;
        if self.is_at_threshold(gc) {
            self.gc.before.note(gc);
            self.collect_unit(gc, work);
        }
    }

    /// The frontier `unit` has no room left and collects `victim`: planes of it without free pages
    /// are at their threshold, although nothing is written to them.
    fn note_out_of_room(&mut self, unit: u32, victim: u32) {
        if self.gc.before.is_all() {
            return;
        }
        if self.gc.out_of_room_counts {
            let plane = self.shape.group_of(victim);
            self.gc.before.note(self.groups.row(plane).gc);
        }
        self.note_at_threshold(unit);
    }

    /// Notes the GC units of a frontier that are at their threshold. Copies may have filled them, and
    /// the frontier leaves planes without a free block alone.
    fn note_at_threshold(&mut self, unit: u32) {
        if self.gc.before.is_all() {
            return;
        }
        for plane in self.frontiers.planes(unit).iter() {
            let gc = self.groups.row(plane).gc;
            if self.is_at_threshold(gc) {
                self.gc.before.note(gc);
            }
        }
    }

    /// GC units that have been at their threshold so far, and all of them.
    pub fn gc_units_reached(&self) -> (u32, u32) {
        (self.gc.before.count(), self.groups.gcs)
    }

    /// Moves the valid pages of `victim` and takes it as erased; then, if told so, levels wear.
    fn collect_now(&mut self, victim: u32, work: &mut GcWork) {
        let collected = self.move_pages(victim, false, work);
        self.release(collected.number, collected.plane);
        if let Some(cold) = self.cold_block(collected.plane) {
            let collected = self.move_pages(cold, true, work);
            self.release(collected.number, collected.plane);
        }
    }

    /// The block of `plane` that static wear levelling moves, if wear has spread too far and there
    /// is room for its pages.
    fn cold_block(&self, plane: PlaneId) -> Option<u32> {
        let block = self.places.blocks.cold_block(plane.0)?;
        let slots = self.frontiers.slots(self.groups.row(plane.0).frontier);
        let room = slots >= u64::from(self.places.blocks.row(block).valid());
        room.then_some(block)
    }

    /// Takes a block of `unit` whose erase has not ended as erased.
    fn expedite(&mut self, unit: u32, work: &mut GcWork) -> bool {
        let mut awaiting = self.gc.awaiting.iter();
        let Some(at) = awaiting.position(|c| self.groups.row(c.plane.0).frontier == unit) else {
            return false;
        };
        let collected = self.gc.awaiting.remove(at);
        self.release(collected.number, collected.plane);
        work.expedited.push(collected);
        true
    }

    /// Collects one block of a GC unit of `chip` that is due, for the background: it is at its
    /// threshold, or it was and has not come to the watermark yet. The
    /// block stays unusable until [`PageMap::erased`], or until a write needs it
    /// ([`GcWork::expedited`]). Units with such a block wait. Says whether there was anything to do.
    pub fn collect_in_background(&mut self, chip: ChipId, work: &mut GcWork) -> bool {
        let Some(gc) = self.due_in_background(chip) else {
            return false;
        };
        self.gc.before.note(gc);
        let Some(victim) = self.victim_of_gc_unit(gc) else {
            return false;
        };
        let plane = self.shape.group_of(victim);
        let unit = self.groups.row(plane).frontier;
        if self.frontiers.slots(unit) < u64::from(self.places.blocks.row(victim).valid()) {
            return false;
        }
        let collected = self.move_pages(victim, false, work);
        self.gc.awaiting.push(collected);
        if let Some(cold) = self.cold_block(collected.plane) {
            let collected = self.move_pages(cold, true, work);
            self.gc.awaiting.push(collected);
        }
        true
    }

    /// The first GC unit of `chip` that is due in the background and has no block waiting.
    fn due_in_background(&mut self, chip: ChipId) -> Option<u32> {
        self.groups.gcs_of_chip(chip).iter().find(|&gc| {
            let waits = |c: &Collected| self.groups.row(c.plane.0).gc == gc;
            let waits = self.gc.awaiting.iter().any(waits);
            self.is_due_in_background(gc) && !waits
        })
    }

    /// The erase of a block collected in the background has ended. Nothing happens if the block
    /// was expedited.
    pub fn erased(&mut self, number: u32) {
        let mut awaiting = self.gc.awaiting.iter();
        if let Some(at) = awaiting.position(|c| c.number == number) {
            let collected = self.gc.awaiting.remove(at);
            self.release(number, collected.plane);
        }
    }

    /// A plane of the chip that `load` is smallest for, of equals the first one after the chip
    /// chosen last, in ascending number and going round; the units of a chip take turns.
    pub fn least_busy(&mut self, load: impl FnMut(ChipId) -> u64) -> PlaneId {
        self.least_busy_of(None, load)
    }

    /// The same among the chips of one channel, or of all.
    pub fn least_busy_of(
        &mut self,
        channel: Option<ChannelId>,
        mut load: impl FnMut(ChipId) -> u64,
    ) -> PlaneId {
        let chips = self.chip_free.len() as u32;
        let after = self.gc.last_chip + 1;
        let on = |chip: ChipId| self.groups.row(chip.0).channel;
        let chips = (0..chips).map(|step| ChipId((after + step) % chips));
        let chips = chips.filter(|&chip| channel.is_none_or(|channel| on(chip) == channel));
        let chip = chips.min_by_key(|&chip| load(chip));
        let chip = chip.expect("a device and each of its channels have a chip at least");
        self.gc.last_chip = chip.0;
        let units = self.groups.frontiers_of_chip(chip);
        let turn = &mut self.gc.turns[chip.index()];
        let unit = units.at(*turn);
        *turn = (*turn + 1) % units.count();
        PlaneId(self.frontiers.planes(unit).at(0))
    }
}

impl PageMap {
    fn victim_of_gc_unit(&mut self, gc: u32) -> Option<u32> {
        self.places.blocks.victim(self.groups.of_gc(gc))
    }

    fn victim_of_frontier(&mut self, unit: u32) -> Option<u32> {
        let unit = self.groups.of_frontier_with_cells(unit);
        self.places.blocks.victim(unit)
    }

    /// Valid pages of the block that greedy GC would pick in a GC unit, 0 without one.
    pub(super) fn fewest_valid(&self, gc: u32) -> u32 {
        let (_, cells) = self.groups.of_gc(gc);
        let fewest = self.places.blocks.fewest_valid(cells);
        fewest
            .filter(|&valid| valid < self.data_per_block)
            .unwrap_or(0)
    }
}
