//! Dies and buses in time. An operation is a list of phases, each on the bus or in the array.

use super::config::{DriveConfig, Suspend};
use crate::reference::rng::SplitMix64;

/// The purpose of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Task {
    /// A page for a request.
    HostRead(usize),
    /// An old logical unit for a partial write in this unit.
    MergeRead(usize),
    /// A unit.
    Program(usize),
    /// Pages for the collector of a GC unit.
    GcRead(usize),
    /// A part of a block.
    Erase(usize),
}

/// A phase of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Holds the bus of the channel.
    Bus(u64),
    /// Holds the die alone.
    Array(u64),
}

/// An operation of one die.
#[derive(Clone, Debug)]
pub struct Op {
    /// Order of queueing.
    pub number: u64,
    /// Its purpose.
    pub task: Task,
    /// Its die.
    pub die: usize,
    /// GC unit whose gate holds it, for host programs.
    pub gc_unit: usize,
    /// A program of the host.
    pub host_program: bool,
    /// All phases, in order.
    pub phases: Vec<Phase>,
    /// Waits for reads of partial writes.
    pub blocked: bool,
    /// Could start since.
    pub ready: u64,
    /// How often it gave way.
    pub suspensions: u64,
}

impl Op {
    /// An operation that is neither blocked nor a program of the host.
    pub fn new(task: Task, die: usize, phases: Vec<Phase>) -> Op {
        Op {
            number: 0,
            task,
            die,
            gc_unit: 0,
            host_program: false,
            phases,
            blocked: false,
            ready: 0,
            suspensions: 0,
        }
    }

    pub(super) fn is_host_read(&self) -> bool {
        matches!(self.task, Task::HostRead(_) | Task::MergeRead(_))
    }

    pub(super) fn is_of_collector(&self) -> bool {
        !self.is_host_read() && !self.host_program
    }

    fn is_read(&self) -> bool {
        self.is_host_read() || matches!(self.task, Task::GcRead(_))
    }

    /// Takes the die when it asks for its first grant.
    fn keeps_die(&self) -> bool {
        let grants = self.phases.iter().filter(|p| matches!(p, Phase::Bus(_)));
        matches!(self.task, Task::Program(_)) && grants.count() > 1
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum At {
    /// Asks for the bus since.
    Asks(u64),
    /// Phase ends at.
    Until(u64),
}

#[derive(Clone, Debug)]
pub(super) struct Running {
    pub op: Op,
    pub phase: usize,
    pub at: At,
}

#[derive(Clone, Default, Debug)]
pub(super) struct Die {
    pub queue: Vec<Op>,
    pub running: Option<Running>,
    /// An operation that gave way, and the array time left.
    pub suspended: Option<(Running, u64)>,
    /// Since when, or from when, another can start.
    pub free_since: u64,
}

/// Conditions that hold operations back.
#[derive(Clone, Default, Debug)]
pub struct Gates {
    /// By GC unit: host programs may not start.
    pub held: Vec<bool>,
    /// By die: the collector has had its burst.
    pub burst_over: Vec<bool>,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Happened {
    /// The first grant was given.
    Started(Op),
    /// All data of a program are in the chip.
    Transferred(Op),
    /// All done.
    Ended(Op),
}

/// The dies.
#[derive(Clone, Debug)]
pub struct Array {
    read_first: bool,
    suspend: Suspend,
    max_suspends: u64,
    t_suspend: u64,
    pub(super) t_resume: u64,
    retry: Vec<super::config::RetryStep>,
    rng: SplitMix64,
    pub(super) dies: Vec<Die>,
    bus_until: Vec<u64>,
    numbers: u64,
    /// Array reads started.
    pub reads: u64,
    /// Operations that gave way.
    pub suspensions: u64,
}

impl Array {
    /// All idle.
    pub fn new(c: &DriveConfig) -> Array {
        Array {
            read_first: c.read_first,
            suspend: c.suspend,
            max_suspends: c.max_suspends,
            t_suspend: c.t_suspend,
            t_resume: c.t_resume,
            retry: c.read_retry.clone(),
            rng: SplitMix64::new(c.seed),
            dies: vec![Die::default(); c.dies() as usize],
            bus_until: vec![0; c.channels as usize],
            numbers: 0,
            reads: 0,
            suspensions: 0,
        }
    }

    /// Queues an operation.
    pub fn submit(&mut self, now: u64, mut op: Op) {
        op.number = self.numbers;
        op.ready = now;
        self.numbers += 1;
        self.dies[op.die].queue.push(op);
    }

    /// A program has nothing to wait for any more.
    pub fn unblock(&mut self, now: u64, die: usize, task: Task) {
        let mut queue = self.dies[die].queue.iter_mut();
        if let Some(op) = queue.find(|op| op.task == task) {
            (op.blocked, op.ready) = (false, now);
        }
    }

    /// Is a program of the host in the queue of a GC unit, with nothing but a gate to wait for?
    pub fn waiting_programs(&self, gc_unit: usize) -> Vec<u64> {
        let queued = self.dies.iter().flat_map(|d| &d.queue);
        let mine = queued.filter(|op| op.host_program && op.gc_unit == gc_unit && !op.blocked);
        mine.map(|op| op.number).collect()
    }

    /// When something ends or can start without further notice.
    pub fn next_event(&self, now: u64) -> Option<u64> {
        let ends = self.dies.iter().filter_map(|d| match &d.running {
            Some(r) => match r.at {
                At::Until(t) => Some(t),
                At::Asks(_) => None,
            },
            None => (d.free_since > now).then_some(d.free_since),
        });
        ends.min()
    }

    /// Phases that end now, by die.
    pub fn state_changes(&mut self, now: u64, happened: &mut Vec<Happened>) -> bool {
        let mut changed = false;
        for die in &mut self.dies {
            let Some(running) = &mut die.running else {
                continue;
            };
            if running.at != At::Until(now) {
                continue;
            }
            changed = true;
            running.phase += 1;
            match running.op.phases.get(running.phase) {
                Some(Phase::Bus(_)) => running.at = At::Asks(now),
                Some(&Phase::Array(time)) => {
                    running.at = At::Until(now + time);
                    if matches!(running.op.task, Task::Program(_)) {
                        happened.push(Happened::Transferred(running.op.clone()));
                    }
                }
                None => {
                    let ended = die.running.take().expect("it runs");
                    die.free_since = now;
                    happened.push(Happened::Ended(ended.op));
                }
            }
        }
        changed
    }

    /// The operation that goes next on a die, as its place in the queue.
    fn next(&self, die: usize, gates: &Gates) -> Option<usize> {
        let d = &self.dies[die];
        if d.queue.is_empty() {
            return None;
        }
        let held = |op: &Op| op.host_program && gates.held[op.gc_unit];
        // Programs of the host start in order on their die, as pages of a block must be programmed so.
        let programs = d.queue.iter().filter(|op| op.host_program);
        let first = programs.map(|op| op.number).min();
        let in_turn = |op: &Op| !op.host_program || Some(op.number) == first;
        let may: Vec<usize> = (0..d.queue.len())
            .filter(|&i| !d.queue[i].blocked && !held(&d.queue[i]) && in_turn(&d.queue[i]))
            .collect();
        let reads = may.iter().any(|&i| d.queue[i].is_host_read());
        let programs = may.iter().any(|&i| d.queue[i].host_program);
        let passed = reads || programs && gates.burst_over[die];
        let next = may
            .into_iter()
            .filter(|&i| !(passed && d.queue[i].is_of_collector()))
            .min_by_key(|&i| {
                let behind = !(self.read_first && d.queue[i].is_host_read());
                (behind, d.queue[i].number)
            })?;
        let allowed = d.suspended.is_none() || d.queue[next].is_host_read();
        allowed.then_some(next)
    }

    fn gives_way(&self, op: &Op) -> bool {
        let kind = match self.suspend {
            Suspend::Off => false,
            Suspend::Erase => matches!(op.task, Task::Erase(_)),
            Suspend::ProgramErase => matches!(op.task, Task::Erase(_) | Task::Program(_)),
        };
        kind && op.suspensions < self.max_suspends
    }

    /// Suspends and resumes.
    pub fn give_way(&mut self, now: u64, gates: &Gates) -> bool {
        let mut changed = false;
        for die in 0..self.dies.len() {
            if self.suspend == Suspend::Off {
                continue;
            }
            if self.dies[die].suspended.is_none() {
                let in_array = self.dies[die].running.as_ref().and_then(|r| match r.at {
                    At::Until(end) if matches!(r.op.phases[r.phase], Phase::Array(_)) => {
                        (end > now && self.gives_way(&r.op)).then_some(end - now)
                    }
                    _ => None,
                });
                let Some(left) = in_array else { continue };
                let next = self.next(die, gates);
                let d = &mut self.dies[die];
                if next.is_some_and(|i| d.queue[i].is_host_read()) {
                    let mut running = d.running.take().expect("it runs");
                    running.op.suspensions += 1;
                    d.suspended = Some((running, left));
                    d.free_since = now + self.t_suspend;
                    self.suspensions += 1;
                    changed = true;
                }
            } else if self.dies[die].running.is_none()
                && self.dies[die].free_since <= now
                && self.next(die, gates).is_none()
            {
                let d = &mut self.dies[die];
                let (mut running, left) = d.suspended.take().expect("it is suspended");
                running.at = At::Until(now + self.t_resume + left);
                d.running = Some(running);
                changed = true;
            }
        }
        changed
    }

    /// One grant for every free bus that is asked for, by ready time and number.
    pub fn grants(&mut self, now: u64, gates: &Gates, happened: &mut Vec<Happened>) -> bool {
        let channels = self.bus_until.len();
        let mut granted = false;
        for channel in 0..channels {
            let mut best: Option<(u64, u64, usize)> = None;
            for die in (channel..self.dies.len()).step_by(channels) {
                let Some((ready, number)) = self.ask(now, die, gates) else {
                    continue;
                };
                if ready <= now && best.is_none_or(|b| (ready, number, die) < b) {
                    best = Some((ready, number, die));
                }
            }
            if let Some((.., die)) = best.filter(|_| self.bus_until[channel] <= now) {
                self.grant(now, die, gates, happened);
                granted = true;
            }
        }
        granted
    }

    /// Since when a die could use its bus, and for which operation.
    fn ask(&mut self, now: u64, die: usize, gates: &Gates) -> Option<(u64, u64)> {
        if let Some(running) = &self.dies[die].running {
            return match running.at {
                At::Asks(since) => Some((since, running.op.number)),
                At::Until(_) => None,
            };
        }
        let next = self.next(die, gates)?;
        let d = &mut self.dies[die];
        let since = d.queue[next].ready.max(d.free_since);
        let number = d.queue[next].number;
        if since <= now && d.queue[next].keeps_die() {
            let op = d.queue.remove(next);
            let at = At::Asks(since);
            d.running = Some(Running { op, phase: 0, at });
        }
        Some((since, number))
    }

    fn grant(&mut self, now: u64, die: usize, gates: &Gates, happened: &mut Vec<Happened>) {
        if self.dies[die].running.is_none() {
            let next = self.next(die, gates).expect("it asked");
            let op = self.dies[die].queue.remove(next);
            let at = At::Asks(now);
            self.dies[die].running = Some(Running { op, phase: 0, at });
        }
        let channel = die % self.bus_until.len();
        let mut running = self.dies[die].running.take().expect("it has been taken");
        if running.phase == 0 {
            if running.op.is_read() {
                self.reads += 1;
                self.draw_retries(&mut running.op);
            }
            happened.push(Happened::Started(running.op.clone()));
        }
        let Phase::Bus(time) = running.op.phases[running.phase] else {
            unreachable!("only bus phases ask")
        };
        running.at = At::Until(now + time);
        self.bus_until[channel] = now + time;
        self.dies[die].running = Some(running);
    }

    /// One draw decides how many steps the read goes through.
    fn draw_retries(&mut self, op: &mut Op) {
        if self.retry.is_empty() {
            return;
        }
        let (draw, mut share, mut more) = (self.rng.real(), 1.0, 0);
        for step in &self.retry {
            share *= step.share;
            if draw >= share {
                break;
            }
            more += step.time;
        }
        for phase in &mut op.phases {
            if let Phase::Array(time) = phase {
                *time += more;
            }
        }
    }
}
