//! Collection that is paced (D-6, D-11). (DEVICE_MODEL.md, "Drives with units", Paced collection, Pauses)

use destage_device::config::PauseWhileWritesWait;

use super::config::{Marks, ns};
use super::ftl::{BlockState, Ftl, Unit};
use super::handles::Writer;
use super::model::DriveModel;
use super::state::{Task, UnitWaits};
use crate::reference::array::Phase;

impl DriveModel {
    /// A host unit of h places has been queued.
    pub(super) fn charge(&mut self, gc_unit: usize, h: usize) {
        self.collectors[gc_unit].look = true;
        let free = self.ftl.free_blocks(gc_unit);
        let places = self.ftl.to_read(gc_unit, &self.collectors[gc_unit].victims);
        self.debt.add(match places {
            Some((v, n)) => self.quotient(v as u64, n as u64, free as u64),
            None => 0,
        });
        self.owe(gc_unit, h);
    }

    /// h places have entered the native space of a GC unit.
    pub(super) fn owe(&mut self, gc_unit: usize, h: usize) {
        let free = self.ftl.free_blocks(gc_unit);
        let collector = &mut self.collectors[gc_unit];
        match self.ftl.to_read(gc_unit, &collector.victims) {
            None => collector.owed = 0.0,
            Some((v, n)) => collector.owed += debt(h, v, n, free, &self.marks),
        }
    }

    /// q of D-17.
    pub(super) fn quotient(&self, v: u64, n: u64, free: u64) -> u64 {
        let Marks { high, low, .. } = self.marks;
        if free >= high || v == 0 {
            return 0;
        }
        let most = self.marks.ratio_max;
        let (above, below) = if v > most * (n - v) {
            (most, 1)
        } else {
            (v, n - v)
        };
        65_536 * 2 * above * (high - free) / (below * (high - low))
    }

    /// Programs of the host wait once so many places were queued; pauses follow one another. If they are put off, all
    /// that are due are one, which needs that no write waits for a frame.
    pub(super) fn count_to_pause(&mut self, places: u64) {
        let Some(pause) = self.device.program_pause else {
            return;
        };
        let (every, time) = (u64::from(pause.every), ns(pause.time));
        self.since_pause += places;
        if pause.while_writes_wait == PauseWhileWritesWait::PutOff {
            if self.since_pause >= every && self.waiters.is_empty() {
                self.since_pause %= every;
                self.paused_until = self.paused_until.max(self.now) + time;
            }
            return;
        }
        while self.since_pause >= every {
            self.since_pause -= every;
            self.paused_until = self.paused_until.max(self.now) + time;
        }
    }

    /// Lets all collectors do what they can. One may make room for data that concern others.
    pub(super) fn step_collectors(&mut self) {
        while self.collectors.iter().any(|collector| collector.look) {
            for turn in 0..self.collectors.len() {
                let gc_unit = self.ftl.geometry.gc_unit_of_turn(turn);
                if std::mem::take(&mut self.collectors[gc_unit].look) {
                    while self.step(gc_unit) {}
                }
            }
        }
    }

    /// The collector of a block has to look at what has changed.
    pub(super) fn look_at(&mut self, block: usize) {
        let gc_unit = block / self.ftl.geometry.blocks_per_gc_unit;
        self.collectors[gc_unit].look = true;
    }

    /// One step of a collector; true if it may take another.
    fn step(&mut self, gc_unit: usize) -> bool {
        if self.collectors[gc_unit].reading.is_some() {
            return false;
        }
        if !self.collectors[gc_unit].moving.is_empty() {
            return self.hand_on(gc_unit);
        }
        if self.pass_invalid(gc_unit) {
            return true;
        }
        if !self.collectors[gc_unit].updates.is_empty() {
            return self.update_map(gc_unit) || self.end_burst(gc_unit);
        }
        // Static blocks are folded alone, and passed over here.
        let mut victims = self.collectors[gc_unit].victims.iter();
        let under_way = victims.position(|&(block, _)| !self.ftl.geometry.is_static(block));
        let paid = self.collectors[gc_unit].owed >= 1.0;
        let called = paid || self.ftl.is_host_stuck(gc_unit) || self.map_waits_for(gc_unit);
        match under_way {
            Some(i) if called => self.read_on(gc_unit, i, paid),
            None if self.begin_victim(gc_unit, called) => true,
            _ => self.fold(gc_unit),
        }
    }

    fn begin_victim(&mut self, gc_unit: usize, called: bool) -> bool {
        let low = (self.ftl.free_blocks(gc_unit) as u64) < self.marks.high;
        if !called && !low {
            return false;
        }
        let Some(block) = self.ftl.victim(gc_unit) else {
            self.collectors[gc_unit].owed = 0.0;
            if self.ftl.is_host_stuck(gc_unit) {
                self.close_collector_unit(gc_unit);
            }
            return false;
        };
        // A block without valid places costs nothing, so it needs no debt.
        let begins = called || self.ftl.blocks[block].valid == 0;
        if begins {
            self.take_victim(gc_unit, block);
        }
        begins
    }

    /// A block is a victim from now on.
    pub(super) fn take_victim(&mut self, gc_unit: usize, block: usize) {
        self.ftl.blocks[block].state = BlockState::Victim;
        let (valid, writer) = (self.ftl.blocks[block].valid, self.ftl.blocks[block].writer);
        self.ftl.handles.row(writer).valid_at_erase += valid as u64;
        let from = block * self.ftl.geometry.places_per_block();
        self.collectors[gc_unit].victims.push((block, from));
    }

    /// A block waits for data in the collector's open unit and nothing else can fill it. This helps the host only if
    /// it lacks an erased block alone.
    fn close_collector_unit(&mut self, gc_unit: usize) {
        if self.ftl.free_blocks(gc_unit) as u64 <= self.marks.low {
            return;
        }
        let waits = |b: &usize| self.ftl.blocks[*b].state == BlockState::Waiting;
        let waiting: Vec<usize> = self.ftl.geometry.blocks_of(gc_unit).filter(waits).collect();
        if waiting.is_empty() {
            return;
        }
        // Moved translation pages may be in a unit on another GC unit (S-3.4/2).
        let map = self.ftl.units.iter().enumerate();
        let mut map = map.filter(|(_, u)| u.open && u.writer == Writer::Map);
        let holds_one = |u: &Unit| u.sources.iter().any(|b| waiting.contains(b));
        let map = map.find(|(_, u)| holds_one(u)).map(|(unit, _)| unit);
        let of_collector = self.ftl.open_gc_units(gc_unit);
        for unit in map.into_iter().chain(of_collector) {
            self.queue(unit);
        }
    }

    /// Passes pages of victims without valid places. Was a victim at its end?
    fn pass_invalid(&mut self, gc_unit: usize) -> bool {
        let group = self.ftl.geometry.k * self.ftl.geometry.planes;
        for i in 0..self.collectors[gc_unit].victims.len() {
            let (block, mut from) = self.collectors[gc_unit].victims[i];
            let end = self.ftl.last_turn(block);
            while from < end && self.ftl.valid_of_read(block, from).is_empty() {
                from += group;
            }
            self.collectors[gc_unit].victims[i].1 = from;
            if from == end {
                self.end_victim(gc_unit, i);
                return true;
            }
        }
        false
    }

    /// Queues the next read of a victim.
    pub(super) fn read_on(&mut self, gc_unit: usize, i: usize, paid: bool) -> bool {
        if !self.may_go_on(gc_unit) {
            return self.end_burst(gc_unit);
        }
        let group = self.ftl.geometry.k * self.ftl.geometry.planes;
        let (block, from) = self.collectors[gc_unit].victims[i];
        let at = self.ftl.geometry.read_at(block, from);
        let collector = &mut self.collectors[gc_unit];
        collector.victims[i].1 = from + group;
        collector.reading = Some(at..at + group);
        collector.paid = paid;
        self.read_group(gc_unit, at, group);
        false
    }

    fn end_victim(&mut self, gc_unit: usize, i: usize) {
        let (block, _) = self.collectors[gc_unit].victims.remove(i);
        self.note_updates(gc_unit, block);
        self.ftl.blocks[block].state = BlockState::Waiting;
        self.retry_pending();
        if self.ftl.blocks[block].moving == 0 {
            self.erase(block);
        }
        (self.wake, self.asks) = (true, true);
    }

    /// Queues the erase of a block that is collected whole.
    pub(super) fn erase(&mut self, block: usize) {
        let parts = self.ftl.geometry.parts;
        self.ftl.blocks[block].state = BlockState::Erasing;
        self.ftl.blocks[block].erasing = parts;
        for part in 0..parts {
            let phases = vec![
                Phase::Bus(ns(self.device.t_cmd_erase)),
                Phase::Array(self.erase_time(block)),
            ];
            let die = self.ftl.geometry.die_of(block, part);
            self.submit(Task::Erase(block), die, phases, Vec::new(), None);
        }
    }

    /// One array read of the pages of one offset in all planes of a unit.
    fn read_group(&mut self, gc_unit: usize, at: usize, group: usize) {
        let k = self.ftl.geometry.k;
        let valid = |page: usize| {
            let places = page..page + k;
            places.filter(|&p| self.ftl.valid_at(p).is_some()).count() as u64
        };
        let pages: Vec<u64> = (at..at + group).step_by(k).map(valid).collect();
        let wanted: Vec<u64> = pages.into_iter().filter(|&v| v > 0).collect();
        let total: u64 = wanted.iter().sum();
        let time = self.read_time(at, total);
        let mut phases = vec![
            Phase::Bus(ns(self.device.t_cmd_read) * wanted.len() as u64),
            Phase::Array(time),
        ];
        phases.extend(wanted.iter().map(|v| Phase::Bus(self.transfer(v * self.m))));
        self.submit_read(Task::GcRead(gc_unit), at, phases);
    }

    /// The transfer of a collector's read has ended: validity is looked at now.
    pub(super) fn collected(&mut self, gc_unit: usize) {
        let places = self.collectors[gc_unit].reading.take().expect("it reads");
        let die = self.ftl.geometry.die_of_place(places.start);
        let valid: Vec<usize> = places.filter(|&p| self.ftl.valid_at(p).is_some()).collect();
        let count = valid.len() as u64;
        let collector = &mut self.collectors[gc_unit];
        collector.look = true;
        if collector.paid {
            collector.owed -= count as f64;
        }
        collector.burst_places += count;
        collector.moving = valid;
        self.since_host[die] += count;
    }

    /// Hands places that were read to the collector's open unit; false if there is no room.
    fn hand_on(&mut self, gc_unit: usize) -> bool {
        while let Some(&place) = self.collectors[gc_unit].moving.first() {
            let Some(lpn) = self.ftl.valid_at(place) else {
                self.collectors[gc_unit].moving.remove(0);
                continue;
            };
            let source = self.ftl.geometry.block_of(place);
            let (writer, from) = self.ftl.destination(gc_unit, lpn, source);
            let unit = match self.ftl.open_unit_among(&from, writer) {
                Some(unit) => unit,
                None => {
                    let load = match writer {
                        Writer::Map => vec![0; self.ftl.geometry.dies],
                        _ => self.load[1].clone(),
                    };
                    let Some(site) = self.ftl.choose_site(writer, &from, &load) else {
                        return false;
                    };
                    let unit = self.ftl.open(site, writer);
                    self.unit_waits.resize(unit + 1, UnitWaits::default());
                    if writer == Writer::Map {
                        self.look_at_all();
                    }
                    unit
                }
            };
            let (_, full) = self.ftl.assign(unit, lpn, Some(source));
            self.note_moved(gc_unit, lpn, source);
            self.collectors[gc_unit].moving.remove(0);
            self.folded_out_of(gc_unit, source);
            if full {
                self.queue(unit);
            }
        }
        true
    }

    /// `gc_hold`: a burst goes on, or the next begins once those that waited have started.
    fn may_go_on(&mut self, gc_unit: usize) -> bool {
        if self.device.gc_hold != Some(true) {
            return true;
        }
        let burst = self.marks.burst;
        let over = {
            let c = &self.collectors[gc_unit];
            c.in_burst && c.burst_places >= burst
        };
        if over {
            self.end_burst(gc_unit);
        }
        let credit = self.marks.credit as f64;
        let waits_for_host = !self.collectors[gc_unit].must_start.is_empty();
        if waits_for_host && self.collectors[gc_unit].owed <= credit {
            return false;
        }
        let c = &mut self.collectors[gc_unit];
        if !c.in_burst {
            (c.in_burst, c.burst_places) = (true, 0);
        }
        true
    }

    /// Ends a burst; always false, as a step that leads nowhere.
    pub(super) fn end_burst(&mut self, gc_unit: usize) -> bool {
        if self.collectors[gc_unit].in_burst {
            let credit = self.marks.credit as f64;
            let waited = self.array.waiting_programs(gc_unit);
            let c = &mut self.collectors[gc_unit];
            c.in_burst = false;
            // Programs that the debt holds cannot start, so the collector does not wait for them.
            c.must_start = if c.owed > credit { Vec::new() } else { waited };
        }
        false
    }
}

impl Ftl {
    /// Valid and all places that are still to be read of the victim of collection, given with its first place that has
    /// not been read; of the next one if there are none. A place of an SLC block takes the share of several (S-0.5/2).
    pub(super) fn to_read(
        &self,
        gc_unit: usize,
        victims: &[(usize, usize)],
    ) -> Option<(usize, usize)> {
        let geometry = &self.geometry;
        let mut victims = victims.iter().copied();
        let under_way = victims
            .find(|&(block, from)| !geometry.is_static(block) && from < self.last_turn(block));
        let Some((block, from)) = under_way else {
            let next = self.victim(gc_unit);
            let n = geometry.places_per_block();
            return next.map(|block| (self.blocks[block].valid, n));
        };
        let end = self.last_turn(block);
        let group = geometry.k * geometry.planes;
        let valid = (from..end).step_by(group);
        let valid = valid.map(|turn| self.valid_of_read(block, turn).len());
        Some((valid.sum(), self.smaller(block) * (end - from)))
    }

    /// Valid places of the read of a block that stands for `turn`.
    pub(super) fn valid_of_read(&self, block: usize, turn: usize) -> Vec<usize> {
        let at = self.geometry.read_at(block, turn);
        let places = at..at + self.geometry.k * self.geometry.planes;
        places.filter(|&p| self.valid_at(p).is_some()).collect()
    }
}

/// The debt that a host unit of `h` places adds: `v` of `n` places of the victim are valid and
/// `free` blocks are free.
pub(super) fn debt(h: usize, v: usize, n: usize, free: usize, marks: &Marks) -> f64 {
    let [high, low, most] = [marks.high, marks.low, marks.ratio_max].map(|n| n as f64);
    let free = free as f64;
    if free >= high || v == 0 {
        return 0.0;
    }
    let ratio = if v == n {
        most
    } else {
        (v as f64 / (n - v) as f64).min(most)
    };
    h as f64 * ratio * (2.0 * (high - free) / (high - low))
}
