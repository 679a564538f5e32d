//! Collection that is paced by a debt (D-6, D-11).
//!
//! - `burst`: when a collector that keeps programs of the host waiting may read;
//! - `fold`: when data leave the SLC cache;
//! - `collector`, `collectors`: the state of the collector of a GC unit, and of all;
//! - `pause`: times at which programs of the host do not start.

mod burst;
mod collector;
mod collectors;
mod fold;
mod pause;

pub(super) use collectors::Collectors;
pub(super) use fold::Folding;

use super::{CachedMapping, Drive, Use};
use crate::device::timeline::Purpose;
use collector::VictimBlock;
use destage_device::map::{FlashMap, ToMove, UnitStream};
use destage_device::nand::{Class, DriveOp, FlashCommand};
use destage_record::timeline::TimelineCollection;
use destage_types::{ChipId, Lpn};
use fold::FoldCause;

/// What a victim is read for.
#[derive(Clone, Copy, Debug)]
enum Task {
    /// What the collector owes. Static SLC blocks are passed over.
    Collect,
    /// The SLC cache.
    Fold,
}

impl Drive {
    /// Collection goes on where it was before the run.
    pub(super) fn resume_collecting(&mut self) {
        for gc in 0..self.core.map.gc_units() {
            let before = self.core.map.take_collector(gc);
            self.collectors.of(gc).owed = before.owed;
            if let Some((block, read)) = before.victim {
                self.take_victim(gc, block, read);
            }
        }
        // A frontier of the host may need a block that it may not take.
        self.collectors.look_at_all();
    }

    /// Gives up what is not collected: the places of victims stay where they are. No program of the host waits for
    /// collection any more.
    pub(super) fn give_up_collecting(&mut self) {
        self.collectors.pace.on = false;
        for gc in 0..self.core.map.gc_units() {
            for victim in self.collectors.of(gc).give_up() {
                self.core.map.give_up_collection(victim.block);
                self.end_gc_state(gc);
            }
            self.core.nand.set_gate(gc, true);
        }
    }

    /// A unit of the host or of translation pages is queued: the collector owes places for it. Writes pay for it if it is
    /// the host's (D-17).
    pub(super) fn owe(&mut self, gc: u32, is_paid: bool) {
        if !self.collectors.pace.on {
            return;
        }
        let free = self.core.map.free_blocks(gc);
        let to_move = self.places_to_move(gc);
        if let Some(debt) = self.core.debt.as_mut().filter(|_| is_paid) {
            debt.charge(to_move.map_or(0, |to_move| self.collectors.pace.debt(free, to_move)));
        }
        let unit = self.core.map.shape().unit();
        let owed = to_move.map(|to_move| self.collectors.pace.owed(unit, free, to_move));
        let collector = self.collectors.of(gc);
        collector.owed = owed.map_or(0.0, |owed| collector.owed + owed);
    }

    /// What is still to be read of the victim under way, or else the next one. Static SLC blocks are passed over.
    fn places_to_move(&mut self, gc: u32) -> Option<ToMove> {
        let victim = self.victim_of(gc, Task::Collect);
        let collector = self.collectors.of(gc);
        let victim = victim.map(|at| &collector.victims[at]);
        let victim = victim.map(|victim| (victim.block, victim.read));
        let block = victim.map(|victim| victim.0);
        self.core.map.to_move(gc, victim, |map| {
            let moving = collector.reading.iter().chain(&collector.moving);
            let wanted = moving.filter(|&&at| map.unit_at(at).is_some());
            let shape = map.shape();
            wanted.filter(|&&at| Some(shape.block(at)) == block).count() as u32
        })
    }

    /// The first victim under way that a task works on, as a place in the list.
    fn victim_of(&mut self, gc: u32, task: Task) -> Option<usize> {
        let map = &self.core.map;
        let mut victims = self.collectors.of(gc).victims.iter();
        victims.position(|victim| match task {
            Task::Collect => !map.is_static(victim.block),
            Task::Fold => map.is_slc(victim.block),
        })
    }

    /// Places of static SLC blocks that are handed over use up room of native blocks (S-0.5).
    fn owe_for_folded(&mut self, gc: u32) {
        let to_move = self.places_to_move(gc);
        let free = self.core.map.free_blocks(gc);
        let pace = self.collectors.pace;
        let owed = to_move.map(|to_move| pace.owed(1, free, to_move));
        let collector = self.collectors.of(gc);
        collector.owed = owed.map_or(0.0, |owed| collector.owed + owed);
    }

    /// The place of a mapping unit is about to become invalid: a collector at work looks at the block. Gives the place.
    pub(super) fn review_old_place(&mut self, lpn: Lpn) -> Option<u64> {
        let place = self.core.map.place(lpn)?;
        let gc = self
            .core
            .map
            .gc_of_block(self.core.map.shape().block(place));
        if self.depends_on_valid_places(gc) {
            self.collectors.look_at(gc);
        }
        Some(place)
    }

    /// Would the collector act otherwise if a place were invalid? On a full drive all writes make one invalid, most of them
    /// while nothing is collected.
    fn depends_on_valid_places(&self, gc: u32) -> bool {
        let Collectors { rows, pace, .. } = &self.collectors;
        let collector = &rows[gc as usize];
        pace.on
            && (!collector.victims.is_empty()
                || collector.owed >= 1.0
                || pace.is_due(self.core.map.free_blocks(gc))
                || self.host_is_stuck(gc))
    }

    /// Lets collectors work as far as they owe, and programs of the host wait where one owes too much.
    pub(super) fn step_collectors(&mut self) {
        let mut from = 0;
        while let Some(gc) = self.collectors.next_looking(from) {
            from = gc + 1;
            if self.collectors.pace.on {
                self.work(gc);
            }
            let open = self.collectors.lets_programs_start(gc, self.core.now);
            self.core.nand.set_gate(gc, open);
        }
    }

    fn work(&mut self, gc: u32) {
        while self.collectors.of(gc).reading.is_empty() {
            if !self.collectors.of(gc).moving.is_empty() {
                if !self.hand_on(gc) {
                    return;
                }
                continue;
            }
            if let Some(victim) = self.take_finished(gc) {
                self.finish(gc, victim);
                continue;
            }
            if !self.update_mapping(gc) {
                return self.collectors.end_burst(gc, &self.core.nand);
            }
            let forced = self.host_is_stuck(gc);
            let paid = self.collectors.of(gc).owed >= 1.0;
            self.collectors.of(gc).paid = paid;
            let owes = paid || forced;
            if !self.collect_on(gc, owes, forced) && !self.fold_on(gc) {
                return self.collectors.end_burst(gc, &self.core.nand);
            }
        }
    }

    /// Takes a victim that has been read whole.
    fn take_finished(&mut self, gc: u32) -> Option<VictimBlock> {
        let victims = &mut self.collectors.of(gc).victims;
        let map = &self.core.map;
        let at = victims.iter_mut().position(|victim| {
            victim.read = map.next_read(victim.block, victim.read);
            victim.read == map.reads_of(victim.block)
        });
        at.map(|at| victims.remove(at))
    }

    /// Collection goes on, if it has something to do.
    fn collect_on(&mut self, gc: u32, owes: bool, forced: bool) -> bool {
        match self.victim_of(gc, Task::Collect) {
            Some(at) if owes => self.read_on(gc, at),
            Some(_) => false,
            None => {
                let due = self.collectors.pace.is_due(self.core.map.free_blocks(gc));
                (owes || due) && self.next_victim(gc, owes, forced)
            }
        }
    }

    /// Folding goes on, if it has something to do.
    fn fold_on(&mut self, gc: u32) -> bool {
        let Some(cause) = self.fold_cause(gc) else {
            return false;
        };
        self.collectors.of(gc).paid = false;
        if let Some(at) = self.victim_of(gc, Task::Fold) {
            return self.read_on(gc, at);
        }
        let victim = self.fold_victim(gc, cause);
        match victim {
            Some(block) => self.begin_victim(gc, block),
            None if cause == FoldCause::Wait => self.close_for_fold(gc),
            None => {}
        }
        victim.is_some()
    }

    /// Reads on in a victim, as far as bursts let it.
    fn read_on(&mut self, gc: u32, at: usize) -> bool {
        let goes_on = self.collectors.may_go_on(gc, &self.core.nand);
        if goes_on {
            self.read_victim(gc, at);
        }
        goes_on
    }

    /// Begins with the next victim of a GC unit. One without wanted data needs no debt.
    fn next_victim(&mut self, gc: u32, owes: bool, forced: bool) -> bool {
        let Some(block) = self.core.map.victim(gc) else {
            self.collectors.of(gc).owed = 0.0;
            if forced {
                self.close_collectors(gc);
            }
            return false;
        };
        let begins = owes || self.core.map.valid_in(block) == 0;
        if begins {
            self.begin_victim(gc, block);
        }
        begins
    }

    /// Does a frontier of the host or a translation page need a block that it may not take, so that the collector works
    /// whatever it owes?
    fn host_is_stuck(&self, gc: u32) -> bool {
        let map = &self.core.map;
        let waits = self
            .mapping
            .as_ref()
            .and_then(CachedMapping::waits_for_block);
        if waits.is_some() && map.free_blocks(gc) <= map.gc_low() {
            return true;
        }
        map.frontiers_of_gc(gc)
            .any(|frontier| map.is_stuck(frontier))
    }

    /// Collected blocks wait for open units of the collector that nothing will fill: they are closed if the host lacks
    /// an erased block alone. Otherwise it gets none by that, and the padding would be collected without end.
    fn close_collectors(&mut self, gc: u32) {
        let waits = self.collectors.of(gc).waits_for_programs();
        if waits && self.core.map.free_blocks(gc) > self.core.map.gc_low() {
            self.close_map_unit_for(gc);
            self.close_open_units_of_collector(gc);
        }
    }

    /// The open unit of translation pages is closed if a block waits for it.
    fn close_map_unit_for(&mut self, gc: u32) {
        if self.mapping.is_some()
            && let Some(frontier) = self.core.map.open_frontier(UnitStream::Map)
            && let Some(unit) = *self.open.slot(UnitStream::Map, frontier)
            && self.collectors.of(gc).waits_for(&self.units[unit].victims)
        {
            self.close(UnitStream::Map, frontier);
        }
    }

    pub(super) fn close_open_units_of_collector(&mut self, gc: u32) {
        let frontiers: Vec<u32> = self.core.map.frontiers_of_gc(gc).collect();
        for stream in self.core.map.writers().collectors() {
            for &frontier in &frontiers {
                self.close(stream, frontier);
            }
        }
    }

    fn begin_victim(&mut self, gc: u32, block: u32) {
        self.core.traffic.gc_victims += 1;
        self.core.traffic.gc_victim_pages += u64::from(self.core.map.valid_in(block));
        let shape = self.core.map.shape();
        let row = TimelineCollection {
            chip: ChipId(shape.die_of(shape.first(block))),
            blocks: shape.planes * shape.parts,
            ..TimelineCollection::default()
        };
        self.core.begin_collection(block.into(), row);
        self.core.map.begin_collection(block);
        self.take_victim(gc, block, 0);
    }

    /// A victim is under way, and its next read is `read`.
    fn take_victim(&mut self, gc: u32, block: u32, read: u32) {
        for die in self.core.map.dies_of_gc(gc) {
            self.core.nand.begin_collection(die);
        }
        self.collectors.of(gc).victims.push(VictimBlock {
            block,
            read,
            units: 0,
            pages: Vec::new(),
        });
    }

    fn end_gc_state(&mut self, gc: u32) {
        for die in self.core.map.dies_of_gc(gc) {
            self.core.nand.end_collection(die);
        }
    }

    /// Reads the next pages of the victim that have wanted data.
    fn read_victim(&mut self, gc: u32, at: usize) {
        let collector = self.collectors.of(gc);
        let mut places = std::mem::take(&mut collector.reading);
        let victim = &mut collector.victims[at];
        let (block, read) = (victim.block, victim.read);
        victim.read += 1;
        places.extend(self.core.map.wanted_places(block, read));
        let shape = *self.core.map.shape();
        let first = shape.first(block) + u64::from(shape.read_at(read));
        let costs = &self.core.costs;
        let pages = places.chunk_by(|&one, &next| shape.page(one) == shape.page(next));
        let sectors = pages.map(|page| page.len() as u32 * costs.unit_sectors);
        let grants: Vec<u64> = sectors.map(|sectors| costs.transfer(sectors).0).collect();
        let moved = places.len() as u32;
        let sectors = moved * costs.unit_sectors;
        self.core.traffic.flash_reads_gc += grants.len() as u64;
        self.collectors.of(gc).reading = places;
        let command = self.read_command(first, &grants, sectors).class(Class::Gc);
        let op = DriveOp {
            grants: &grants,
            reads_once: self.core.map.is_slc(block),
            ..DriveOp::default()
        };
        let purpose = Purpose {
            pages: moved,
            collection: Some(block.into()),
            ..Purpose::of("collection")
        };
        self.core.note_moved(block.into(), moved);
        self.submit(Use::Collect { gc }, command, &op, |_| purpose);
    }

    /// The transfer of a read has ended: places that are still wanted then are to be handed on.
    pub(super) fn moved(&mut self, gc: u32) {
        let mut places = std::mem::take(&mut self.collectors.of(gc).reading);
        let die = places
            .first()
            .map(|&place| self.core.map.shape().die_of(place));
        places.retain(|&place| self.core.map.unit_at(place).is_some());
        let moved = places.len() as u64;
        self.collectors.of(gc).has_read(places);
        if let Some(die) = die {
            self.core.nand.note_collected(ChipId(die), moved);
        }
        self.collectors.look_at(gc);
    }

    /// Hands on what was read, as far as there is room for it.
    fn hand_on(&mut self, gc: u32) -> bool {
        // They stay in the list: what a full unit of translation pages owes depends on those that are left.
        let mut done = 0;
        while let Some(&place) = self.collectors.of(gc).moving.get(done) {
            if let Some(lpn) = self.core.map.unit_at(place) {
                let block = self.core.map.shape().block(place);
                let Some(unit) = self.hand_on_place(gc, block, lpn) else {
                    break;
                };
                let victims = &mut self.units[unit].victims;
                if victims.last() != Some(&block) {
                    // They are erased in the order of their last places.
                    let (before, victim) = (victims.len(), self.collectors.of(gc).victim(block));
                    victims.retain(|&other| other != block);
                    if let Some(victim) = victim.filter(|_| victims.len() == before) {
                        victim.units += 1;
                    }
                    victims.push(block);
                }
                if self.core.map.is_slc(block) {
                    self.core.traffic.folded_places += 1;
                }
                if self.core.map.is_static(block) {
                    self.owe_for_folded(gc);
                }
                self.queue_if_full(unit);
            }
            done += 1;
        }
        let moving = &mut self.collectors.of(gc).moving;
        moving.drain(..done);
        moving.is_empty()
    }

    /// Puts a place of a block into an open unit, if there is room. Gives the unit.
    fn hand_on_place(&mut self, gc: u32, block: u32, lpn: Lpn) -> Option<u32> {
        if self.core.map.is_translation_page(lpn) {
            let page = lpn.0 - self.core.map.logical_pages();
            let unit = self.hand_over_translation(page, false)?;
            self.core.traffic.map_moved_places += 1;
            return Some(unit);
        }
        let stream = self.core.map.collector_of(block);
        let load = |die: u32| self.open.load(stream, die);
        let frontier = self.core.map.collector_frontier(block, load)?;
        let unit = self.put(stream, frontier, lpn);
        self.core.traffic.flash_writes_gc += 1;
        self.core
            .map
            .count_of_block(block, |counts| counts.moved_places += 1);
        if let Some(page) = self.page_of_moved(lpn)
            && let Some(victim) = self.collectors.of(gc).victim(block)
        {
            victim.pages.push(page);
        }
        Some(unit)
    }

    /// All places of the victim are moved or not wanted any more.
    fn finish(&mut self, gc: u32, mut victim: VictimBlock) {
        let pages = std::mem::take(&mut victim.pages);
        self.collectors.updates(gc).add(pages);
        self.core.map.collected(victim.block);
        // The host may open a unit again.
        (self.told.acted, self.told.asks_scheme) = (true, true);
        self.retry_parity();
        self.retry_after_room();
        if self.collectors.of(gc).finish(&victim) {
            self.erase(victim.block);
        }
    }

    /// A program with places of a block that is or was collected has ended.
    pub(super) fn program_of_victim_ended(&mut self, block: u32) {
        let gc = self.core.map.gc_of_block(block);
        if self.collectors.of(gc).program_ended(block) {
            self.erase(block);
        }
    }

    fn erase(&mut self, block: u32) {
        let shape = *self.core.map.shape();
        let gc = self.core.map.gc_of_block(block);
        self.collectors.of(gc).erase(block, shape.parts);
        for part in 0..shape.parts {
            self.core.traffic.erases += u64::from(shape.planes);
            let slc = self.slc_times(block);
            self.core.traffic.slc_erases += u64::from(shape.planes) * u64::from(slc.is_some());
            let place = shape.first(block) + u64::from(part * shape.part_places());
            let command = FlashCommand {
                array: slc.map(|slc| slc.erase),
                ..FlashCommand::erase(ChipId(shape.die_of(place)), 0)
            };
            let purpose = Purpose {
                pages: shape.planes,
                collection: Some(block.into()),
                ..Purpose::of("collection")
            };
            let op = DriveOp::default();
            self.submit(Use::Erase { block }, command, &op, |_| purpose);
        }
    }

    /// The erase of a part of a block has ended: it is free with its last part.
    pub(super) fn erased(&mut self, block: u32) {
        let gc = self.core.map.gc_of_block(block);
        if !self.collectors.of(gc).part_erased(block) {
            return;
        }
        self.core.map.erased(block);
        self.end_gc_state(gc);
        self.core.note_collected(block.into());
        // There may be room for what the cache keeps.
        (self.told.acted, self.told.asks_scheme) = (true, true);
        self.collectors.look_at(gc);
        self.retry_parity();
        self.retry_translation_pages();
        self.retry_after_room();
    }
}
