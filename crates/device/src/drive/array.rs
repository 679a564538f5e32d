//! Dies and buses of a drive in time (D-2, D-5, D-6, D-15 of docs/DEVICE_MODEL.md).
//!
//! A passive state machine: [`DriveArray::submit`] hands over an operation, [`DriveArray::end_phases`] ends what is due,
//! and [`DriveArray::grant`] lets operations start. [`DriveArray::take_ended`] returns the
//! operations that have ended. A die runs one operation at a time. A bus carries one command or
//! transfer at a time.
//!
//! | operation | bus | array | bus |
//! |--|--|--|--|
//! | read | `t_cmd_read` | `t_read`, retries | one transfer for each page |
//! | program | `t_cmd_program` and data, for each page | `t_program` | |
//! | erase | `t_cmd_erase` | `t_erase` | |
//!
//! Each of these is a grant of its own: others may come between. An operation takes its die from its first
//! grant to its end; a program of several pages, from the moment it asks for its first grant (D-2/1).
//!
//! # One instant
//! The caller settles an instant in rounds. First come all ends of phases that are due, and what the caller does
//! about them. Then operations are suspended and resumed. Then every free bus is granted, in ascending order: to the
//! smallest (ready time, operation number). An operation is ready when it was submitted and its die is free. Rounds
//! repeat until nothing happens.

mod bus;
mod op;
mod state;
mod suspend;

pub(super) use op::{DieOp, Ops};
pub use op::{Ended, Milestone, NewOp};

use super::activity::DriveActivities;
use super::die::{Die, DiePhase};
use crate::config::{QueueOrder, Suspend};
use destage_types::rng::SplitMix64;
use destage_types::{Nanos, OpActivity, OpKind};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A step of reading again: with this probability, given the step before, the array takes so much longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retry {
    /// Probability of all steps up to this one, in units of 2^-53.
    pub up_to: u64,
    /// Added to the array time.
    pub time: u64,
}

/// Rules and sizes that all operations of an array share. Times are in ns.
#[derive(Clone, Debug)]
pub struct ArrayRules {
    /// Buses.
    pub channels: u32,
    /// Dies on each bus; die `i` is on bus `i mod channels`.
    pub dies_per_channel: u32,
    /// Order of reads and programs of the host.
    pub queue: QueueOrder,
    /// Operations that reads of the host suspend.
    pub suspend: Suspend,
    /// From the decision to suspend to the start of the read.
    pub t_suspend: u64,
    /// Added to what is left of an operation that resumes.
    pub t_resume: u64,
    /// How often one operation is suspended at most.
    pub max_suspends: u32,
    /// Places of the collector after which a program of the host goes first.
    pub gc_burst: u64,
    /// Is the first grant of programs of the host told?
    pub tells_starts: bool,
    /// Steps of reading again. Each read draws at its first grant.
    pub retries: Vec<Retry>,
}

/// The array. See the module.
#[derive(Clone, Debug)]
pub struct DriveArray {
    rules: ArrayRules,
    dies: Vec<Die>,
    /// When each bus is free, and for how long it was busy.
    buses: Vec<(u64, u64)>,
    ops: Ops,
    /// May programs of the host to each GC unit start?
    gates: Vec<bool>,
    /// When phases of dies end: (time, die, turn of the die).
    events: BinaryHeap<Reverse<(u64, u32, u32)>>,
    ended: Vec<Ended>,
    rng: SplitMix64,
    number: u64,
    now: u64,
    /// Dies to look at, and buses to grant, in this round.
    review: Vec<u32>,
    touched: Vec<u32>,
    /// Activities of operations, if they are kept.
    activities: Option<Box<DriveActivities>>,
}

const NO_GATE: u32 = u32::MAX;

impl DriveArray {
    /// An array at rest at time 0 with `gates` open gates. Retries draw from `seed`.
    pub fn new(rules: ArrayRules, gates: u32, seed: u64) -> DriveArray {
        let dies = rules.channels * rules.dies_per_channel;
        DriveArray {
            dies: (0..dies)
                .map(|die| Die::new(die % rules.channels))
                .collect(),
            buses: vec![(0, 0); rules.channels as usize],
            ops: Ops::default(),
            gates: vec![true; gates as usize],
            events: BinaryHeap::new(),
            ended: Vec::new(),
            rng: SplitMix64::new(seed),
            number: 0,
            now: 0,
            review: Vec::new(),
            touched: Vec::new(),
            activities: None,
            rules,
        }
    }

    /// The next instant at which something may happen, [`Nanos::NEVER`] without one.
    pub fn next_event(&self) -> Nanos {
        self.events
            .peek()
            .map_or(Nanos::NEVER, |event| Nanos(event.0.0))
    }

    /// Keeps what operations do that start from now on, for [`DriveArray::take_activities`].
    pub fn keep_activities(&mut self) {
        self.activities = Some(Box::default());
    }

    /// Activities of the operations that ended since the last call.
    pub fn take_activities(&mut self) -> Vec<OpActivity> {
        let kept = self.activities.as_mut();
        kept.map_or_else(Vec::new, |kept| std::mem::take(&mut kept.ended))
    }

    /// Operations submitted since the start: the number of the next one.
    pub fn submitted(&self) -> u64 {
        self.number
    }

    /// Was anything found out since the last call of [`DriveArray::take_ended`]?
    pub fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Takes what was found out since the last call, in order.
    pub fn take_ended(&mut self, out: &mut Vec<Ended>) {
        out.append(&mut self.ended);
    }

    /// Submits an operation at `now`. Gives its slot.
    pub fn submit(&mut self, now: Nanos, new: &NewOp<'_>) -> u32 {
        self.now = now.0;
        let slot = self.ops.free.pop().unwrap_or_else(|| {
            self.ops.ops.push(DieOp::default());
            (self.ops.ops.len() - 1) as u32
        });
        let op = &mut self.ops[slot];
        op.data.clear();
        op.data.extend_from_slice(new.data);
        *op = DieOp {
            number: self.number,
            ready: now.0,
            die: new.die,
            kind: new.kind,
            collects: new.collects,
            gate: new.gate.unwrap_or(NO_GATE),
            token: new.token,
            command: new.command,
            commands: new.commands,
            array: new.array,
            array_done: false,
            data: std::mem::take(&mut op.data),
            moved: 0,
            waits: new.waits,
            suspensions: 0,
            start: 0,
            granted: false,
        };
        self.number += 1;
        let pages = match new.kind {
            OpKind::Read => new.data.len() as u64,
            OpKind::Program => u64::from(new.commands),
            _ => 1,
        };
        let die = &mut self.dies[new.die as usize];
        die.stats.done[new.kind as usize] += pages;
        die.stats.bytes[usize::from(new.kind != OpKind::Read)] += new.bytes;
        match (new.collects, new.kind) {
            (true, _) => die.collector.push_back(slot),
            (false, OpKind::Read) => die.reads.push_back(slot),
            (false, _) => die.programs.push_back(slot),
        }
        self.look_at(new.die);
        slot
    }

    /// One of those that the operation in `slot` waits for has ended at `now`.
    pub fn dependency_ended(&mut self, now: Nanos, slot: u32) {
        self.now = now.0;
        let op = &mut self.ops[slot];
        op.waits -= 1;
        if op.waits == 0 {
            op.ready = now.0;
            let die = op.die;
            self.look_at(die);
        }
    }

    /// So many places were collected from a die: see [`ArrayRules::gc_burst`].
    pub fn note_collected(&mut self, die: u32, places: u64) {
        self.dies[die as usize].burst += places;
    }

    /// Opens or closes a gate at `now`.
    pub fn set_gate(&mut self, now: Nanos, gate: u32, open: bool) {
        self.now = now.0;
        if std::mem::replace(&mut self.gates[gate as usize], open) == open {
            return;
        }
        for die in 0..self.dies.len() {
            let first = self.dies[die].programs.front();
            if first.is_some_and(|&op| self.ops[op].gate == gate) {
                self.look_at(die as u32);
            }
        }
    }

    /// Programs of the host behind a gate that wait for nothing else but their turn, by the caller's names.
    pub fn waiting_programs(&self, gate: u32) -> Vec<u32> {
        let slots = self.dies.iter().flat_map(|die| &die.programs);
        let programs = slots.map(|&slot| &self.ops[slot]);
        let waiting = programs.filter(|op| op.gate == gate && op.waits == 0);
        waiting.map(|op| op.token).collect()
    }

    /// Ends the phases that are due at `now`.
    pub fn end_phases(&mut self, now: Nanos) {
        self.now = now.0;
        while let Some(&Reverse((at, die, turn))) = self.events.peek()
            && at <= now.0
        {
            self.events.pop();
            if self.dies[die as usize].turn == turn {
                self.phase_ended(die);
            }
        }
    }

    /// Suspends and resumes operations, and grants the buses.
    pub fn grant(&mut self, now: Nanos) {
        self.now = now.0;
        while let Some(die) = self.review.pop() {
            self.review_die(die);
            self.take_die(die);
        }
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        touched.drain(..).for_each(|bus| self.grant_bus(bus));
        self.touched = touched;
    }

    /// Is there something to do at `now`: phases to end, dies to review, buses to grant?
    pub fn has_work(&self, now: Nanos) -> bool {
        self.is_unsettled() || self.next_event() <= now
    }

    /// Is there something to grant or to review at this instant?
    pub fn is_unsettled(&self) -> bool {
        !self.touched.is_empty() || !self.review.is_empty()
    }

    fn look_at(&mut self, die: u32) {
        self.review.push(die);
        self.touched.push(self.dies[die as usize].bus);
    }

    fn phase_ended(&mut self, die: u32) {
        let at = &mut self.dies[die as usize];
        let slot = at.running;
        match at.phase {
            DiePhase::Bus(_) => {
                self.touched.push(at.bus);
                self.bus_phase_ended(die, slot);
            }
            DiePhase::Array(_) => self.array_ended(die, slot),
            DiePhase::Suspending(_) => {
                at.phase = DiePhase::Idle;
                at.stats.busy += self.now - at.busy_from;
                self.look_at(die);
            }
            DiePhase::Idle | DiePhase::AwaitBus(_) => {}
        }
    }

    fn array_ended(&mut self, die: u32, slot: u32) {
        if let Some(kept) = &mut self.activities {
            kept.array_stops(slot, self.now);
        }
        let op = &mut self.ops[slot];
        op.array_done = true;
        match op.data.is_empty() {
            true => self.end(die, slot),
            false => self.await_bus(die),
        }
    }

    /// The die is in a phase that ends by itself.
    fn enter(&mut self, die: u32, phase: DiePhase) {
        let at = &mut self.dies[die as usize];
        at.phase = phase;
        at.turn = at.turn.wrapping_add(1);
        let (DiePhase::Bus(until) | DiePhase::Array(until) | DiePhase::Suspending(until)) = phase
        else {
            return;
        };
        self.events.push(Reverse((until, die, at.turn)));
    }

    fn end(&mut self, die: u32, slot: u32) {
        let op = &mut self.ops[slot];
        self.ended.push(Ended {
            token: op.token,
            start: Nanos(op.start),
            at: Nanos(self.now),
            what: Milestone::Done,
        });
        self.ops.free.push(slot);
        let at = &mut self.dies[die as usize];
        if let Some(kept) = &mut self.activities {
            kept.end(slot, &self.ops[slot], at.bus, self.now);
        }
        at.phase = DiePhase::Idle;
        at.running = u32::MAX;
        at.free_at = self.now;
        at.stats.busy += self.now - at.busy_from;
        self.look_at(die);
    }

    /// The operation that die `die` would start next, if it runs nothing.
    fn candidate(&self, die: &Die) -> Option<u32> {
        let is_open =
            |op: &DieOp| op.waits == 0 && (op.gate == NO_GATE || self.gates[op.gate as usize]);
        die.candidate(&self.ops, &self.rules, is_open)
    }

    /// A program of several pages that is next takes the die as it asks for the bus.
    fn take_die(&mut self, number: u32) {
        let die = &self.dies[number as usize];
        if die.phase != DiePhase::Idle {
            return;
        }
        let several =
            |&slot: &u32| self.ops[slot].kind == OpKind::Program && self.ops[slot].commands > 1;
        if let Some(slot) = self.candidate(die).filter(several) {
            let since = self.ready(die, slot);
            self.start(number, slot);
            self.dies[number as usize].phase = DiePhase::AwaitBus(since);
        }
    }

    /// Since when an operation that waits for a die that is free may start.
    fn ready(&self, die: &Die, slot: u32) -> u64 {
        let op = &self.ops[slot];
        op.ready.max(die.free_at)
    }

    /// An operation leaves the queue of its die.
    fn start(&mut self, die: u32, slot: u32) {
        let at = &mut self.dies[die as usize];
        let op = &mut self.ops[slot];
        at.leave(slot, op);
        at.running = slot;
        at.busy_from = self.now;
        op.start = self.now;
        if op.kind == OpKind::Read && !self.rules.retries.is_empty() {
            let drawn = self.rng.next_53();
            let retries = self.rules.retries.iter();
            let again = retries.take_while(|retry| drawn < retry.up_to);
            op.array += again.map(|retry| retry.time).sum::<u64>();
        }
    }
}
