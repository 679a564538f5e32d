//! Collection that is paced by a debt (D-6, D-11).

use super::{Drive, Use};
use crate::device::timeline::Purpose;
use destage_device::config::{DeviceConfig, GcMode, PauseWhileWritesWait};
use destage_device::map::{UnitShape, UnitStream};
use destage_device::nand::{Class, DriveOp, FlashCommand};
use destage_record::timeline::TimelineCollection;
use destage_types::{ChipId, Lpn, Nanos};

/// The marks and limits of paced collection.
#[derive(Clone, Copy, Debug)]
pub(super) struct CollectPace {
    pub on: bool,
    low: f64,
    high: f64,
    ratio_max: f64,
    credit: f64,
    /// `gc_hold`: places of a burst during which programs of the host wait.
    hold: Option<u64>,
}

impl CollectPace {
    pub fn new(config: &DeviceConfig, shape: &UnitShape) -> CollectPace {
        let places = |given: Option<u32>, usual: u32| f64::from(given.unwrap_or(usual));
        CollectPace {
            on: config.gc_mode == GcMode::Paced,
            low: places(config.gc_low, 0),
            high: places(config.gc_high, 0),
            ratio_max: places(config.gc_ratio_max, 16),
            credit: places(config.gc_credit, 4 * shape.unit()),
            hold: (config.gc_hold == Some(true))
                .then(|| u64::from(config.gc_burst.unwrap_or(shape.unit()))),
        }
    }

    /// Debt of a unit of the host for which the price of writes stands, in units of 2^-16 (D-17): with so many free
    /// blocks, and so many valid of the places of a victim.
    fn debt(&self, free: f64, valid: f64, places: f64) -> u64 {
        if free >= self.high || valid >= places {
            return 0;
        }
        let [free, valid, places] = [free, valid, places].map(|count| count as u64);
        let [low, high, most] = [self.low, self.high, self.ratio_max].map(|key| key as u64);
        let (valid, invalid) = match valid > most * (places - valid) {
            true => (most, 1),
            false => (valid, places - valid),
        };
        ((2 * valid * (high - free)) << 16) / (invalid * (high - low))
    }
}

/// `program_pause`: rounds of work that keep programs of the host from starting.
#[derive(Clone, Copy, Debug)]
pub(super) struct PauseClock {
    every: u64,
    time: u64,
    /// Is a pause that is due put off while writes wait for a frame?
    puts_off: bool,
    /// Places of queued programs of the host since the last pause.
    places: u64,
    /// End of the last pause.
    until: Nanos,
    /// Do gates still have to hear of that end?
    ends: bool,
}

impl PauseClock {
    pub fn new(config: &DeviceConfig) -> Option<PauseClock> {
        config.program_pause.map(|pause| PauseClock {
            every: u64::from(pause.every),
            time: pause.time.times(1).0,
            puts_off: pause.while_writes_wait == PauseWhileWritesWait::PutOff,
            places: 0,
            until: Nanos::ZERO,
            ends: false,
        })
    }

    /// When gates have to hear that a pause is over.
    pub fn next_end(&self) -> Nanos {
        if self.ends { self.until } else { Nanos::NEVER }
    }
}

/// The collector of a GC unit.
#[derive(Clone, Debug, Default)]
pub(super) struct Collector {
    /// Places that it owes.
    owed: f64,
    victim: Option<Victim>,
    /// Places that the read under way moves.
    reading: Vec<u64>,
    /// Places that were read and are not handed on, in order.
    moving: Vec<u64>,
    /// Is it read because places are owed? Others, for which a frontier of the host waits, are not taken off that.
    paid: bool,
    /// `gc_hold`: is a burst under way, and how many places has it moved?
    burst: Option<u64>,
    /// `gc_hold`: programs of the host, by token, that start before the next burst.
    must_start: Vec<u32>,
    /// Collected blocks that wait: units of theirs whose programs have not ended.
    waiting: Vec<(u32, u32)>,
    /// Blocks whose parts are erased, and parts that are not.
    erasing: Vec<(u32, u32)>,
}

/// The block that is collected.
#[derive(Clone, Debug)]
struct Victim {
    block: u32,
    /// The next read.
    read: u32,
    /// Units that its places went to and whose programs have not ended.
    units: u32,
}

impl Collector {
    /// Is a block collected, or does one wait for programs or for the end of its erase (DR-10)?
    pub fn collects(&self) -> bool {
        self.victim.is_some() || !self.waiting.is_empty() || !self.erasing.is_empty()
    }
}

impl Drive {
    /// Gives up what is not collected: the places of victims stay where they are. No program of the host waits for
    /// collection any more.
    pub(super) fn give_up_collecting(&mut self) {
        self.pace.on = false;
        for gc in 0..self.map.gc_units() {
            let collector = &mut self.collectors[gc as usize];
            collector.reading.clear();
            collector.moving.clear();
            // Nor does one wait for what is owed, once a pause ends.
            collector.owed = 0.0;
            collector.burst = None;
            if let Some(victim) = collector.victim.take() {
                self.map.give_up_collection(victim.block);
                self.collecting -= 1;
            }
            self.core.nand.set_gate(gc, true);
        }
    }

    /// The run is over: no block is collected any more unless data of the host need its room.
    pub(super) fn stop_collectors(&mut self) {
        self.collectors
            .iter_mut()
            .for_each(|collector| collector.owed = collector.owed.min(0.0));
    }

    /// A unit of the host is queued: a pause may begin. One that is due during another follows it; those that were put off
    /// are one (DR-8).
    pub(super) fn count_to_pause(&mut self) {
        let Some(pause) = &mut self.pause else { return };
        pause.places += u64::from(self.map.shape().unit());
        let due = pause.places / pause.every;
        if due == 0 || pause.puts_off && self.core.requests.any_left_open() {
            return;
        }
        pause.places %= pause.every;
        let pauses = if pause.puts_off { 1 } else { due };
        pause.until = Nanos(pause.until.max(self.core.now).0 + pauses * pause.time);
        pause.ends = true;
        self.collect_for_room();
    }

    /// Gates hear that a pause is over.
    pub(super) fn end_pause(&mut self) {
        if let Some(pause) = &mut self.pause
            && pause.ends
            && pause.until <= self.core.now
        {
            pause.ends = false;
            self.collect_for_room();
        }
    }

    /// A unit of the host is queued: the collector owes places for it.
    pub(super) fn owe(&mut self, gc: u32) {
        if !self.pace.on {
            return;
        }
        let free = self.map.free_blocks(gc) as f64;
        let CollectPace {
            low,
            high,
            ratio_max,
            ..
        } = self.pace;
        let factor = if free < high {
            2.0 * (high - free) / (high - low)
        } else {
            0.0
        };
        let to_move = self.places_to_move(gc);
        if let Some(debt) = &mut self.core.debt {
            debt.charge(to_move.map_or(0, |(valid, places)| self.pace.debt(free, valid, places)));
        }
        let Some((valid, places)) = to_move else {
            self.collectors[gc as usize].owed = 0.0;
            return;
        };
        let ratio = (valid / (places - valid)).min(ratio_max);
        let ratio = if places > valid { ratio } else { ratio_max };
        self.collectors[gc as usize].owed += f64::from(self.map.shape().unit()) * ratio * factor;
    }

    /// Valid and all places that are still to be read of the victim under way, or else of the next one.
    fn places_to_move(&mut self, gc: u32) -> Option<(f64, f64)> {
        let shape = self.map.shape();
        if let Some(victim) = &self.collectors[gc as usize].victim
            && victim.read < shape.reads()
        {
            let Collector {
                reading, moving, ..
            } = &self.collectors[gc as usize];
            let under_way = reading
                .iter()
                .chain(moving)
                .filter(|&&place| self.map.unit_at(place).is_some());
            let valid = self.map.valid_in(victim.block) - under_way.count() as u32;
            let places = (shape.reads() - victim.read) * shape.read_places();
            return Some((f64::from(valid), f64::from(places)));
        }
        let n = shape.places;
        let next = self.map.victim(gc)?;
        Some((f64::from(self.map.valid_in(next)), f64::from(n)))
    }

    /// Something has changed that the collector of a GC unit looks at, once the array has settled.
    pub(super) fn look_at(&mut self, gc: u32) {
        if (self.pace.on || self.pause.is_some())
            && let Err(at) = self.looking.binary_search(&gc)
        {
            self.looking.insert(at, gc);
        }
    }

    /// The place of a mapping unit is about to become invalid: a collector at work looks at the block. Gives the place.
    pub(super) fn review_old_place(&mut self, lpn: Lpn) -> Option<u64> {
        let place = self.map.place(lpn)?;
        let gc = self.map.gc_of_block(self.map.shape().block(place));
        if self.depends_on_valid_places(gc) {
            self.look_at(gc);
        }
        Some(place)
    }

    /// Would the collector act otherwise if a place were invalid? On a full drive all writes make one invalid, most of them
    /// while nothing is collected.
    fn depends_on_valid_places(&self, gc: u32) -> bool {
        let collector = &self.collectors[gc as usize];
        self.pace.on
            && (collector.victim.is_some()
                || collector.owed >= 1.0
                || (self.map.free_blocks(gc) as f64) < self.pace.high
                || self.host_is_stuck(gc))
    }

    /// Lets collectors work as far as they owe, and programs of the host wait where one owes too much.
    pub(super) fn step_collectors(&mut self) {
        let mut from = 0;
        while !self.looking.is_empty() {
            let at = self.looking.partition_point(|&gc| gc < from);
            if at == self.looking.len() {
                from = 0;
                continue;
            }
            let gc = self.looking.remove(at);
            from = gc + 1;
            if self.pace.on {
                self.work(gc);
            }
            let collector = &self.collectors[gc as usize];
            let paused = self.pause.is_some_and(|pause| self.core.now < pause.until);
            let owes = collector.owed > self.pace.credit || collector.burst.is_some();
            self.core.nand.set_gate(gc, !paused && !owes);
        }
    }

    fn work(&mut self, gc: u32) {
        while self.collectors[gc as usize].reading.is_empty() {
            if !self.collectors[gc as usize].moving.is_empty() {
                if !self.hand_on(gc) {
                    return;
                }
                continue;
            }
            let forced = self.host_is_stuck(gc);
            let paid = self.collectors[gc as usize].owed >= 1.0;
            let owes = paid || forced;
            self.collectors[gc as usize].paid = paid;
            match self.collectors[gc as usize].victim.take() {
                Some(mut victim) => {
                    victim.read = self.map.next_read(victim.block, victim.read);
                    if victim.read == self.map.shape().reads() {
                        self.finish(gc, victim);
                    } else if owes && self.may_go_on(gc) {
                        self.read_victim(gc, victim);
                    } else {
                        self.collectors[gc as usize].victim = Some(victim);
                        return self.end_burst(gc);
                    }
                }
                None => {
                    let below = (self.map.free_blocks(gc) as f64) < self.pace.high;
                    if !(owes || below) || !self.next_victim(gc, owes, forced) {
                        return self.end_burst(gc);
                    }
                }
            }
        }
    }

    /// With `gc_hold`: may the collector read? A burst goes on up to its limit. The next begins when all programs of the
    /// host have started that waited at its end; those that the debt holds cannot, so they are not waited for (D-11/11).
    fn may_go_on(&mut self, gc: u32) -> bool {
        let Some(most) = self.pace.hold else {
            return true;
        };
        if (self.collectors[gc as usize].burst).is_some_and(|places| places >= most) {
            self.end_burst(gc);
        }
        let collector = &mut self.collectors[gc as usize];
        if !collector.must_start.is_empty() && collector.owed <= self.pace.credit {
            return false;
        }
        collector.burst.get_or_insert(0);
        true
    }

    /// With `gc_hold`: programs of the host may start again.
    fn end_burst(&mut self, gc: u32) {
        let collector = &mut self.collectors[gc as usize];
        if collector.burst.take().is_some() {
            collector.must_start = match collector.owed > self.pace.credit {
                true => Vec::new(),
                false => self.core.nand.waiting_programs(gc),
            };
        }
    }

    /// With `gc_hold`, a program of the host that has started is not waited for.
    pub(super) fn program_started(&mut self, token: u32, unit: u32) {
        if self.pace.hold.is_none() || self.units[unit].stream != UnitStream::Host {
            return;
        }
        let gc = self.map.gc_of(self.units[unit].frontier);
        let collector = &mut self.collectors[gc as usize];
        collector.must_start.retain(|&waited| waited != token);
        self.look_at(gc);
    }

    /// Begins with the next victim of a GC unit. One without wanted data needs no debt.
    fn next_victim(&mut self, gc: u32, owes: bool, forced: bool) -> bool {
        let Some(block) = self.map.victim(gc) else {
            self.collectors[gc as usize].owed = 0.0;
            if forced {
                self.close_collectors(gc);
            }
            return false;
        };
        let begins = owes || self.map.valid_in(block) == 0;
        if begins {
            self.begin_victim(gc, block);
        }
        begins
    }

    /// Does a frontier of the host need a block that it may not take, so that the collector works whatever it
    /// owes?
    fn host_is_stuck(&self, gc: u32) -> bool {
        let mut frontiers = self.map.frontiers_of_gc(gc);
        frontiers.any(|frontier| self.map.is_stuck(frontier))
    }

    /// Collected blocks wait for open units of the collector that nothing will fill: they are closed if the host lacks
    /// an erased block alone. Otherwise it gets none by that, and the padding would be collected without end.
    fn close_collectors(&mut self, gc: u32) {
        let waits = !self.collectors[gc as usize].waiting.is_empty();
        if !waits || self.map.free_blocks(gc) <= self.map.gc_low() {
            return;
        }
        let frontiers: Vec<u32> = self.map.frontiers_of_gc(gc).collect();
        for frontier in frontiers {
            self.close(UnitStream::Collector, frontier);
        }
    }

    fn begin_victim(&mut self, gc: u32, block: u32) {
        self.core.traffic.gc_victims += 1;
        self.core.traffic.gc_victim_pages += u64::from(self.map.valid_in(block));
        let shape = self.map.shape();
        let row = TimelineCollection {
            chip: ChipId(shape.die_of(shape.first(block))),
            blocks: shape.planes * shape.parts,
            ..TimelineCollection::default()
        };
        self.core.begin_collection(block.into(), row);
        self.map.begin_collection(block);
        self.collecting += 1;
        self.collectors[gc as usize].victim = Some(Victim {
            block,
            read: 0,
            units: 0,
        });
    }

    /// Reads the next pages of the victim that have wanted data.
    fn read_victim(&mut self, gc: u32, mut victim: Victim) {
        let mut places = std::mem::take(&mut self.collectors[gc as usize].reading);
        places.extend(self.map.wanted_places(victim.block, victim.read));
        let shape = *self.map.shape();
        let first = shape.first(victim.block) + u64::from(shape.read_at(victim.read));
        victim.read += 1;
        let mut grants: Vec<u64> = Vec::new();
        let mut page = None;
        for &place in &places {
            if page.replace(shape.page(place)) != Some(shape.page(place)) {
                grants.push(0);
            }
            if let Some(bytes) = grants.last_mut() {
                *bytes += self.costs.unit_bytes;
            }
        }
        let moved = places.len();
        grants
            .iter_mut()
            .for_each(|bytes| *bytes = self.transfer(*bytes));
        let block = victim.block;
        self.core.traffic.flash_reads_gc += grants.len() as u64;
        let collector = &mut self.collectors[gc as usize];
        collector.reading = places;
        collector.victim = Some(victim);
        let bytes = self.costs.unit_bytes * moved as u64;
        let command = self.read_command(first, &grants, bytes).class(Class::Gc);
        let op = DriveOp {
            grants: &grants,
            ..DriveOp::default()
        };
        let purpose = Purpose {
            pages: moved as u32,
            collection: Some(block.into()),
            ..Purpose::of("collection")
        };
        self.core.note_moved(block.into(), moved as u32);
        self.submit(Use::Collect { gc }, command, &op, |_| purpose);
    }

    /// The transfer of a read has ended: places that are still wanted then are to be handed on.
    pub(super) fn moved(&mut self, gc: u32) {
        let mut places = std::mem::take(&mut self.collectors[gc as usize].reading);
        let die = places.first().map(|&place| self.map.shape().die_of(place));
        places.retain(|&place| self.map.unit_at(place).is_some());
        let collector = &mut self.collectors[gc as usize];
        if collector.paid {
            collector.owed -= places.len() as f64;
        }
        let moved = places.len() as u64;
        if let Some(burst) = &mut collector.burst {
            *burst += moved;
        }
        collector.moving = places;
        if let Some(die) = die {
            self.core.nand.note_collected(ChipId(die), moved);
        }
        self.look_at(gc);
    }

    /// Hands on what was read, as far as there is room for it.
    fn hand_on(&mut self, gc: u32) -> bool {
        let mut places = std::mem::take(&mut self.collectors[gc as usize].moving);
        let mut victim = self.collectors[gc as usize].victim.take();
        let mut done = 0;
        for &place in &places {
            if let Some(lpn) = self.map.unit_at(place) {
                let load = |die: u32| self.open.load(UnitStream::Collector, die);
                let block = self.map.shape().block(place);
                let Some(frontier) = self.map.collector_frontier(block, load) else {
                    break;
                };
                let unit = self.put(UnitStream::Collector, frontier, lpn);
                self.core.traffic.flash_writes_gc += 1;
                if let Some(victim) = &mut victim
                    && self.units[unit].victims.last() != Some(&victim.block)
                {
                    victim.units += 1;
                    self.units[unit].victims.push(victim.block);
                }
                if self.units[unit].queued {
                    self.queue_program(unit);
                }
            }
            done += 1;
        }
        places.drain(..done);
        let all = places.is_empty();
        let collector = &mut self.collectors[gc as usize];
        collector.moving = places;
        collector.victim = victim;
        all
    }

    /// All places of the victim are moved or not wanted any more.
    fn finish(&mut self, gc: u32, victim: Victim) {
        self.map.collected(victim.block);
        // The host may open a unit again.
        (self.acted, self.asks_scheme) = (true, true);
        self.retry_after_room();
        match victim.units {
            0 => self.erase(victim.block),
            units => self.collectors[gc as usize]
                .waiting
                .push((victim.block, units)),
        }
    }

    /// A program with places of a block that is or was collected has ended.
    pub(super) fn program_of_victim_ended(&mut self, block: u32) {
        let gc = self.map.gc_of_block(block) as usize;
        let collector = &mut self.collectors[gc];
        if let Some(victim) = &mut collector.victim
            && victim.block == block
        {
            victim.units -= 1;
        } else if let Some(at) = collector.waiting.iter().position(|row| row.0 == block) {
            collector.waiting[at].1 -= 1;
            if collector.waiting[at].1 == 0 {
                collector.waiting.swap_remove(at);
                self.erase(block);
            }
        }
    }

    fn erase(&mut self, block: u32) {
        let shape = *self.map.shape();
        let gc = self.map.gc_of_block(block);
        self.collectors[gc as usize]
            .erasing
            .push((block, shape.parts));
        for part in 0..shape.parts {
            self.core.traffic.erases += u64::from(shape.planes);
            let place = shape.first(block) + u64::from(part * shape.part_places());
            let command = FlashCommand::erase(ChipId(shape.die_of(place)), 0);
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
        let gc = self.map.gc_of_block(block);
        let erasing = &mut self.collectors[gc as usize].erasing;
        if let Some(at) = erasing.iter().position(|row| row.0 == block) {
            erasing[at].1 -= 1;
            if erasing[at].1 > 0 {
                return;
            }
            erasing.swap_remove(at);
        }
        self.map.erased(block);
        self.collecting -= 1;
        self.core.note_collected(block.into());
        // There may be room for what the cache keeps.
        (self.acted, self.asks_scheme) = (true, true);
        self.look_at(gc);
        self.retry_after_room();
    }

    /// Something waits for room, or a pause begins or ends: all collectors and gates are looked at.
    pub(crate) fn collect_for_room(&mut self) {
        (0..self.map.gc_units()).for_each(|gc| self.look_at(gc));
    }
}
