//! Rules of the array for drives with units alone (docs/DEVICE_MODEL.md). Programs of the host start in turn, and a gate may
//! hold them (D-11). The bus is granted for each page of an operation (D-2, D-6). A read of the array may be repeated (D-15).

use super::super::queue::LaneQueue;
use super::*;
use destage_types::rng::SplitMix64;

/// A step of reading again: with this probability, given the step before, the array takes so much longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retry {
    /// Probability of all steps up to this one, in units of 2^-53.
    pub up_to: u64,
    /// Added to the array time.
    pub time: u64,
}

/// Rules of an array of a drive.
#[derive(Clone, Debug)]
pub struct DriveRules {
    /// Gates, all open at first.
    pub gates: u32,
    /// Places of the collector after which a program of the host goes first.
    pub gc_burst: u64,
    /// Are the first grant and the end of the transfers of programs told ([`Notice::Started`], [`Notice::Moved`])?
    pub tells_progress: bool,
    /// Steps of reading again. Each read draws when it starts.
    pub retries: Vec<Retry>,
    /// Those of reads while the die has suspended a program or an erase.
    pub retries_suspended: Vec<Retry>,
    /// Of these draws.
    pub seed: u64,
}

/// What an operation of a drive has beside its command.
#[derive(Clone, Copy, Debug, Default)]
pub struct DriveOp<'a> {
    /// Bus times of its pages if there are several, those of a program with their commands.
    pub grants: &'a [u64],
    /// The gate that may hold it back, of programs of the host.
    pub gate: Option<u32>,
    /// Ends for which it waits beside: see [`Nand::release`].
    pub waits: u32,
    /// Is it a read that is never repeated?
    pub reads_once: bool,
}

/// [`DriveOp`] of an operation that waits or has grants to come.
#[derive(Clone, Debug, Default)]
struct OpenOp {
    grants: Vec<u64>,
    gate: Option<u32>,
    waits: u32,
    reads_once: bool,
}

/// The grants of the operation that a lane runs.
#[derive(Clone, Copy, Debug)]
struct Granting {
    op: u32,
    done: usize,
    /// Since when the first is asked for.
    ready: u64,
}

/// The state of all that. See the module.
#[derive(Clone, Debug)]
pub(in crate::nand) struct DriveQueues {
    pub tells_progress: bool,
    gates: Vec<bool>,
    gc_burst: u64,
    retries: Vec<Retry>,
    retries_suspended: Vec<Retry>,
    rng: SplitMix64,
    /// Places that the collector has read since a program of the host started, by lane.
    bursts: Vec<u64>,
    granting: Vec<Granting>,
    ops: Vec<OpenOp>,
    free: Vec<u32>,
}

impl DriveQueues {
    fn new(rules: DriveRules, lanes: usize) -> DriveQueues {
        let none = Granting {
            op: NONE,
            done: 0,
            ready: 0,
        };
        DriveQueues {
            tells_progress: rules.tells_progress,
            gates: vec![true; rules.gates as usize],
            gc_burst: rules.gc_burst,
            retries: rules.retries,
            retries_suspended: rules.retries_suspended,
            rng: SplitMix64::new(rules.seed),
            bursts: vec![0; lanes],
            granting: vec![none; lanes],
            ops: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Do reads draw how often they are repeated?
    fn draws(&self) -> bool {
        !(self.retries.is_empty() && self.retries_suspended.is_empty())
    }

    fn add(&mut self, op: &DriveOp<'_>) -> u32 {
        let marked = op.reads_once && self.draws();
        if op.grants.len() < 2 && op.gate.is_none() && op.waits == 0 && !marked {
            return NONE;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.ops.push(OpenOp::default());
            (self.ops.len() - 1) as u32
        });
        let row = &mut self.ops[slot as usize];
        row.grants.clear();
        if op.grants.len() > 1 {
            row.grants.extend_from_slice(op.grants);
        }
        (row.gate, row.waits, row.reads_once) = (op.gate, op.waits, op.reads_once);
        slot
    }

    fn may_start(&self, entry: &WaitingOp) -> bool {
        let op = self.ops.get(entry.of_drive as usize);
        op.is_none_or(|op| op.waits == 0 && op.gate.is_none_or(|gate| self.gates[gate as usize]))
    }

    /// The operation that lane `l` starts next. Reads of the host go first; in a FIFO, where they are marked
    /// in-order, they keep their place among programs of the host. While none waits, programs of the host and
    /// operations of the collector start in the order of their numbers, but after [`DriveRules::gc_burst`] places
    /// a program of the host goes first. Programs of a block start in turn: one that waits holds those behind it.
    pub fn candidate(&self, l: usize, queue: &LaneQueue, pool: &OpPool) -> u32 {
        let host = list_of(Class::Host);
        let older = |one: u32, other: u32| pool[one].number < pool[other].number;
        let (ahead, in_turn) = (queue.first(FIRST), queue.first(marked(host)));
        let collector = queue.first(list_of(Class::Gc));
        let program = queue.first(host);
        let may_start = program != NONE && self.may_start(&pool[program]);
        if ahead != NONE {
            ahead
        } else if in_turn != NONE {
            let first = may_start && older(program, in_turn);
            if first { program } else { in_turn }
        } else if !may_start {
            collector
        } else if collector == NONE || older(program, collector) || self.bursts[l] >= self.gc_burst
        {
            program
        } else {
            collector
        }
    }

    /// Has an operation that starts on lane `l` events of its own at the start and the end of its array phase?
    pub fn is_open(&self, l: usize, kind: OpKind) -> bool {
        kind == OpKind::Program && (self.tells_progress || self.asks(l))
    }

    /// Are grants of lane `l` to come?
    fn asks(&self, l: usize) -> bool {
        let at = &self.granting[l];
        at.op != NONE && at.done < self.ops[at.op as usize].grants.len()
    }

    /// Lane `l` has had the last of its grants.
    fn grants_end(&mut self, l: usize) {
        let op = std::mem::replace(&mut self.granting[l].op, NONE);
        if op != NONE {
            self.free.push(op);
        }
    }
}

impl Nand {
    /// The array of a drive. An operation that is submitted starts in [`Nand::grant`] at the earliest.
    ///
    /// # Panics
    /// As [`Nand::new`].
    pub fn of_drive(config: &ArrayConfig, rules: DriveRules) -> Nand {
        let mut nand = Nand::new(config);
        nand.open = Some(OpenEnds::new(config, nand.lanes.len()));
        nand.drive = Some(Box::new(DriveQueues::new(rules, nand.lanes.len())));
        nand.held = true;
        nand
    }

    /// Submits an operation of a drive at `now`: the classes are host and GC, that of the collector.
    ///
    /// # Panics
    /// If something is due at or before `now`.
    pub fn submit_of_drive(
        &mut self,
        now: Nanos,
        command: &FlashCommand,
        op: &DriveOp<'_>,
    ) -> OpId {
        self.enter(now.0);
        let of_drive = self.drive.as_mut().expect("a drive").add(op);
        self.submit_entry::<true>(now.0, command, of_drive)
    }

    /// One of those has ended at this instant for which `id` waits ([`DriveOp::waits`]).
    pub fn release(&mut self, id: OpId) {
        let entry = &mut self.pool[id.slot];
        let drive = self.drive.as_mut().expect("a drive");
        let op = &mut drive.ops[entry.of_drive as usize];
        op.waits -= 1;
        if op.waits == 0 {
            entry.ready = self.clock;
            self.made_ready(id.lane as usize, self.clock);
        }
    }

    /// So many places were collected from a chip: see [`DriveRules::gc_burst`].
    pub fn note_collected(&mut self, chip: ChipId, places: u64) {
        let l = chip.index();
        self.drive.as_mut().expect("a drive").bursts[l] += places;
        if self.lanes[l].is_free(self.clock) {
            self.refresh(l);
        }
    }

    /// The collection of a block begins on a chip, which is in GC state until [`Nand::end_collection`].
    pub fn begin_collection(&mut self, chip: ChipId) {
        self.lanes[chip.index()].jobs.open += 1;
        self.jobs.open += 1;
    }

    /// One of these collections has ended.
    pub fn end_collection(&mut self, chip: ChipId) {
        self.lanes[chip.index()].jobs.close(self.clock);
        self.jobs.close(self.clock);
    }

    /// Opens or closes a gate.
    pub fn set_gate(&mut self, gate: u32, open: bool) {
        let drive = self.drive.as_mut().expect("a drive");
        if std::mem::replace(&mut drive.gates[gate as usize], open) == open {
            return;
        }
        for l in 0..self.lanes.len() {
            let first = self.lanes[l].queue.first(list_of(Class::Host));
            if first != NONE && self.gate_of(&self.pool[first]) == Some(gate) {
                self.made_ready(l, self.clock);
            }
        }
    }

    fn gate_of(&self, entry: &WaitingOp) -> Option<u32> {
        let drive = self.drive.as_ref()?;
        drive.ops.get(entry.of_drive as usize)?.gate
    }

    /// Programs of the host behind a gate that wait for nothing else but their turn, by their tokens.
    pub fn waiting_programs(&self, gate: u32) -> Vec<u32> {
        let lanes = self.lanes.iter();
        let programs = lanes.flat_map(|lane| lane.queue.each_of(list_of(Class::Host), &self.pool));
        let waits = |entry: &&WaitingOp| {
            let op = self
                .drive
                .as_ref()
                .and_then(|drive| drive.ops.get(entry.of_drive as usize));
            op.is_some_and(|op| op.gate == Some(gate) && op.waits == 0)
        };
        programs.filter(waits).map(|entry| entry.token).collect()
    }

    /// The first half of a round: ends what is due at `now`. The caller acts on that, and then calls
    /// [`Nand::grant`].
    pub fn end_phases(&mut self, now: Nanos) {
        self.clock = now.0;
        self.end_open_phases(now.0);
    }

    /// The second half of a round: operations are suspended and resumed, and start.
    pub fn grant(&mut self) {
        self.review(self.clock);
        self.grants(self.clock);
    }

    /// Is there something to be done at `now`, by a round?
    pub fn has_work(&self, now: Nanos) -> bool {
        self.is_unsettled() || self.events.peek() <= now.0
    }

    /// Has something to be started or suspended at this instant?
    pub fn is_unsettled(&self) -> bool {
        let reviews = (self.open.as_ref()).is_some_and(|open| !open.review.is_empty());
        reviews || self.touched.any() || !self.startable.is_empty()
    }

    /// Time has passed up to `now`, at or before which nothing is due.
    pub fn pass_to(&mut self, now: Nanos) {
        self.enter(now.0);
    }

    /// An operation starts on lane `l`.
    pub(super) fn begin_of_drive(&mut self, l: usize, entry: &mut WaitingOp) {
        let Some(drive) = &mut self.drive else { return };
        let beside_suspended = self.lanes[l].suspended;
        let open = drive.ops.get(entry.of_drive as usize);
        let reads_once = open.is_some_and(|op| op.reads_once);
        drive.granting[l] = Granting {
            op: entry.of_drive,
            done: 0,
            ready: entry.ready.max(self.lanes[l].until),
        };
        if !drive.asks(l) {
            drive.grants_end(l);
        }
        match (entry.kind, entry.class) {
            (OpKind::Read, _) if drive.draws() && !reads_once => {
                let drawn = drive.rng.next_53();
                let steps = match beside_suspended {
                    true => &drive.retries_suspended,
                    false => &drive.retries,
                };
                let again = steps.iter().take_while(|retry| drawn < retry.up_to);
                entry.array += again.map(|retry| retry.time).sum::<u64>();
            }
            (OpKind::Program, Class::Host) => drive.bursts[l] = 0,
            _ => {}
        }
    }

    /// A program starts on lane `l` that asks for the first of its grants, if there are several.
    pub(super) fn asks_first(&mut self, l: usize, time: u64, now: u64) -> bool {
        let Some(drive) = self.drive.as_ref().filter(|drive| drive.asks(l)) else {
            return false;
        };
        let ready = drive.granting[l].ready;
        self.lanes[l].last_bus = time;
        self.ask(l, ready, now);
        true
    }

    /// A bus phase on lane `l` has ended, and the next grant is asked for, if there is one.
    pub(super) fn asks_again(&mut self, l: usize, now: u64) -> bool {
        let asks = self.drive.as_ref().is_some_and(|drive| drive.asks(l));
        if asks {
            self.ask(l, now, now);
        }
        asks
    }

    fn ask(&mut self, l: usize, ready: u64, now: u64) {
        let lane = &mut self.lanes[l];
        (lane.phase, lane.until) = (Phase::WaitData, now);
        let waiter = Waiter {
            ready,
            number: lane.op.number,
            lane: l as u32,
        };
        let ch = lane.channel as usize;
        self.queue_for_bus(ch, waiter);
    }

    /// Lane `l` has its bus, for the next grant if it has several. False: its last phase starts, or it has one.
    pub(super) fn next_grant(&mut self, ch: usize, l: usize, now: u64) -> bool {
        let Some(drive) = self.drive.as_mut().filter(|drive| drive.asks(l)) else {
            return false;
        };
        let at = &mut drive.granting[l];
        let grants = &drive.ops[at.op as usize].grants;
        let time = grants[at.done];
        at.done += 1;
        let (first, last) = (at.done == 1, at.done == grants.len());
        let lane = &mut self.lanes[l];
        let reads = lane.op.kind == OpKind::Read;
        if last {
            drive.grants_end(l);
            if reads {
                lane.last_bus = time;
                return false;
            }
        }
        lane.stalled += now - lane.until;
        lane.last_bus -= time;
        lane.until = now + time;
        lane.phase = if reads { Phase::Moving } else { Phase::Array };
        self.hold_bus(ch, now, time);
        self.events.set(l, now + time);
        if let Some(activities) = &mut self.activities {
            activities.moves(l, now, now + time);
        }
        if first && !reads {
            self.tell_start(l, Nanos::NEVER);
        }
        true
    }
}
