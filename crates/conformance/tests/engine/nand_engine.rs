//! The event engine against the state-per-operation model: random runs full of ties must agree to
//! the nanosecond in every phase, in the order of every notice, and in every state query.

mod random;

use destage_conformance::reference::array::SlowArray;
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::suites::is_full;
use destage_device::config::QueueOrder;
use destage_device::nand::{
    ArrayConfig, Class, FlashCommand, JobId, JobKind, Nand, Notice, OpId, OpKind, OpState,
    Suspension, Timing,
};
use destage_types::{ChannelId, ChipId, Nanos};
use random::{Mix, random_command, random_config, random_job};

struct Pair {
    engine: Nand,
    model: SlowArray,
    config: ArrayConfig,
    ids: Vec<OpId>,
    jobs: Vec<JobId>,
    cancelled: u64,
    seen: Seen,
}

/// Events of a set of runs, so that no test passes because nothing happened.
#[derive(Clone, Copy, Default, Debug)]
struct Seen {
    operations: u64,
    cancelled: u64,
    /// Jobs by kind: non-preemptible, open between pages, background; and those taken back.
    jobs: [u64; 2],
    jobs_cancelled: u64,
    /// Instants at which some chip was in GC state, foreground and background.
    in_gc: [u64; 2],
    copybacks: u64,
    more_planes: u64,
    /// Pages that joined an operation, and instants at which all work waited for its end.
    joins: u64,
    holds: u64,
    /// Suspensions by kind, and array times told late.
    suspensions: [u64; 4],
    late: u64,
}

impl Seen {
    fn add(&mut self, other: &Seen) {
        self.operations += other.operations;
        self.cancelled += other.cancelled;
        for (sum, n) in self.jobs.iter_mut().zip(other.jobs) {
            *sum += n;
        }
        self.jobs_cancelled += other.jobs_cancelled;
        for (sum, n) in self.in_gc.iter_mut().zip(other.in_gc) {
            *sum += n;
        }
        self.copybacks += other.copybacks;
        self.more_planes += other.more_planes;
        self.joins += other.joins;
        for (sum, n) in self.suspensions.iter_mut().zip(other.suspensions) {
            *sum += n;
        }
        self.late += other.late;
        self.holds += other.holds;
    }
}

impl Pair {
    fn new(config: ArrayConfig) -> Pair {
        Pair {
            engine: Nand::new(&config),
            model: SlowArray::new(&config),
            config,
            ids: Vec::new(),
            jobs: Vec::new(),
            cancelled: 0,
            seen: Seen::default(),
        }
    }

    fn advance(&mut self, until: Nanos, stepwise: bool) {
        if stepwise || self.config.late_times {
            while let Some(at) = self.engine.step(until) {
                self.model.advance(at);
                self.compare();
            }
        }
        self.engine.advance(until);
        self.model.advance(until);
        self.compare();
    }

    fn submit(&mut self, now: Nanos, command: FlashCommand) {
        let id = self.engine.submit(now, command);
        let number = self.model.submit(now, command);
        assert_eq!(id.number(), number);
        self.ids.push(id);
        self.compare();
    }

    fn hold(&mut self) {
        self.engine.hold();
        self.model.hold();
        self.seen.holds += 1;
    }

    fn resume(&mut self, now: Nanos) {
        self.engine.resume(now);
        self.model.resume(now);
        self.compare();
    }

    /// A page joins a waiting read or program of no job, if `id` is one.
    fn join(&mut self, id: OpId, transfer: Nanos, bytes: u32, array: Option<Nanos>) {
        let waits = self.engine.state(id) == OpState::Waiting;
        if !waits || self.jobs.iter().any(|job| is_of(job, id)) {
            return;
        }
        let command = self.model.command(id.number());
        if matches!(command.kind, OpKind::Read | OpKind::Program) && command.planes < 9 {
            self.engine.join(id, transfer, bytes, array);
            self.model.join(id.number(), transfer, bytes, array);
            self.seen.joins += 1;
            self.compare();
        }
    }

    fn submit_job(&mut self, now: Nanos, kind: JobKind, commands: &[FlashCommand]) {
        let job = self.engine.submit_job(now, kind, commands);
        let after = [commands[0].after, commands[0].and_after].map(|id| id.map(OpId::number));
        let first = self.model.submit_job(now, kind, commands, after);
        assert_eq!(job.first().number(), first);
        assert_eq!(job.last().number(), first + commands.len() as u64 - 1);
        // Operations in the middle of a job have no name: the last one stands for them.
        self.ids.push(job.first());
        let more = commands.len() - 1;
        self.ids.extend(std::iter::repeat_n(job.last(), more));
        self.jobs.push(job);
        let at = match kind {
            JobKind::Foreground => 0,
            JobKind::Background => 1,
        };
        self.seen.jobs[at] += 1;
        self.compare();
    }

    fn cancel_job(&mut self, now: Nanos, job: JobId) {
        let done = self.engine.cancel_job(now, job);
        let numbers = job.first().number()..=job.last().number();
        self.cancelled += u64::from(done) * numbers.clone().count() as u64;
        self.seen.jobs_cancelled += u64::from(done);
        assert_eq!(done, self.model.cancel_job(now, numbers));
        self.compare();
    }

    fn cancel(&mut self, now: Nanos, id: OpId) {
        let done = self.engine.cancel(now, id);
        assert_eq!(done, self.model.cancel(now, id.number()));
        self.cancelled += u64::from(done);
        self.compare();
    }

    /// Notices so far; background programs that have started get their times if they have none.
    fn compare_notices(&mut self) {
        loop {
            let notices: Vec<_> = self.engine.drain_notices().collect();
            assert_eq!(notices, std::mem::take(&mut self.model.notices));
            if notices.is_empty() {
                break;
            }
            for notice in notices {
                let Notice::Started { token, .. } = notice else {
                    continue;
                };
                let id = self.ids[token as usize];
                let command = self.model.command(u64::from(token));
                let late = command.class == Class::Background && command.kind == OpKind::Program;
                if self.config.late_times && late {
                    let time = Nanos(u64::from(token) % 5 * u64::from(token) % 40);
                    self.engine.set_array_time(id, time);
                    self.model.set_array_time(id.number(), time);
                    self.seen.late += 1;
                }
            }
        }
    }

    /// Notices so far, and the state of every unit and operation.
    fn compare(&mut self) {
        self.compare_notices();
        let (engine, model) = (&self.engine, &self.model);
        for chip in (0..engine.chips()).map(ChipId) {
            let state = (
                engine.host_reads(chip),
                engine.host_writes(chip),
                engine.in_service(chip),
                engine.residual(chip),
                engine.in_gc(chip),
                engine.gc_remaining(chip),
                Class::ALL.map(|class| engine.drain_time(chip, class)),
            );
            let expected = (
                model.host_count(chip, OpKind::Read),
                model.host_count(chip, OpKind::Program),
                model.in_service(chip),
                model.residual(chip),
                model.in_gc(chip),
                model.gc_remaining(chip),
                Class::ALL.map(|class| model.drain_time(chip, class)),
            );
            assert_eq!(state, expected, "chip {chip} at {}", engine.now());
            let held = engine.held_so_far(chip);
            assert_eq!(held, model.held_so_far(chip), "at {}", engine.now());
        }
        for channel in (0..self.config.channels).map(ChannelId) {
            let state = (engine.is_channel_idle(channel), engine.background(channel));
            let expected = (model.is_channel_idle(channel), model.background(channel));
            assert_eq!(state, expected, "channel {channel} at {}", engine.now());
            let carried = engine.bus_time_so_far(channel);
            assert_eq!(
                carried,
                model.bus_time_so_far(channel),
                "at {}",
                engine.now()
            );
        }
        let chips = || (0..engine.chips()).map(ChipId);
        assert_eq!(engine.any_in_gc(), chips().any(|chip| model.in_gc(chip)));
        for (seen, class) in [Class::Gc, Class::BackgroundGc].into_iter().enumerate() {
            let any = chips().any(|chip| model.in_gc_of(chip, class));
            self.seen.in_gc[seen] += u64::from(any);
        }
        for &id in self.ids.iter().rev().take(40) {
            assert_eq!(engine.state(id), model.state(id.number()));
        }
    }

    fn compare_counters(&mut self) {
        for chip in (0..self.engine.chips()).map(ChipId) {
            assert_eq!(self.engine.chip_stats(chip), self.model.counters(chip));
        }
        for channel in (0..self.config.channels).map(ChannelId) {
            assert_eq!(self.engine.bus_time(channel), self.model.bus_time(channel));
        }
        let started: u64 = OpKind::ALL
            .map(|kind| self.engine.started(kind))
            .iter()
            .sum();
        self.seen.copybacks = self.engine.started(OpKind::Copyback);
        self.seen.operations = started;
        self.seen.cancelled = self.cancelled;
        self.seen.suspensions = self.engine.suspensions();
        assert_eq!(self.seen.suspensions, self.model.suspended);
        let chips = (0..self.engine.chips()).map(ChipId);
        let done = chips.map(|chip| self.engine.chip_stats(chip).done.iter().sum::<u64>());
        self.seen.more_planes = done.sum::<u64>() - started;
        assert_eq!(
            started + self.cancelled,
            self.ids.len() as u64,
            "all work is done"
        );
    }
}

fn run(seed: u64, config: ArrayConfig, mix: Mix, operations: usize) -> Seen {
    let mut random = SplitMix64::new(seed);
    let mut pair = Pair::new(config);
    let mut now = 0;
    while pair.ids.len() < operations {
        // Clusters: most arrivals share the instant of the one before.
        if random.chance(40) {
            now += 1 + random.below(mix.gap);
        } else if random.chance(20) {
            // Exactly at an instant of the array, where ties are.
            let next = pair.model.next_event_time();
            now = if next == Nanos::NEVER { now } else { next.0 };
        }
        let stepwise = random.chance(50);
        pair.advance(Nanos(now), stepwise);
        let held = mix.planes && random.chance(50);
        if held {
            pair.hold();
        }
        for _ in 0..1 + random.below(4) {
            if mix.planes && random.chance(40) && !pair.ids.is_empty() {
                let back = random.below(pair.ids.len().min(6) as u64) as usize;
                let id = pair.ids[pair.ids.len() - 1 - back];
                let (transfer, bytes) = (Nanos(random.below(5)), random.below(5000) as u32);
                let array = random.chance(30).then(|| Nanos(random.below(12)));
                pair.join(id, transfer, bytes, array);
            }
            if mix.jobs && random.chance(15) {
                let (kind, commands) = random_job(&mut random, &config, &mix, &pair.ids);
                pair.submit_job(Nanos(now), kind, &commands);
                continue;
            }
            let command = random_command(&mut random, &config, &mix, &pair.ids);
            pair.submit(Nanos(now), command);
        }
        if mix.cancels && random.chance(40) {
            let back = random.below(pair.ids.len().min(12) as u64) as usize;
            let id = pair.ids[pair.ids.len() - 1 - back];
            let waits = pair.engine.state(id) == OpState::Waiting;
            if !waits || pair.may_cancel(id) {
                pair.cancel(Nanos(now), id);
            }
            if let Some(&job) = pair.jobs.last() {
                let waits = pair.engine.state(job.first()) == OpState::Waiting;
                if !waits || pair.class(job.first()) == Class::BackgroundGc {
                    pair.cancel_job(Nanos(now), job);
                }
            }
        }
        if held {
            pair.resume(Nanos(now));
        }
    }
    let mut end = Nanos(now);
    while pair.model.next_event_time() != Nanos::NEVER {
        end = pair.model.next_event_time();
        pair.advance(end, false);
    }
    pair.advance(end + Nanos(1), true);
    pair.compare_counters();
    pair.seen
}

impl Pair {
    fn class(&self, id: OpId) -> Class {
        self.model.command(id.number()).class
    }

    /// Of background class and in no job.
    fn may_cancel(&self, id: OpId) -> bool {
        self.class(id).is_background() && !self.jobs.iter().any(|job| is_of(job, id))
    }
}

fn is_of(job: &JobId, id: OpId) -> bool {
    (job.first().number()..=job.last().number()).contains(&id.number())
}

fn swarm(seeds: std::ops::Range<u64>, operations: usize) -> Seen {
    let mut seen = Seen::default();
    for seed in seeds {
        let mut random = SplitMix64::new(seed);
        let config = random_config(&mut random);
        let mut flag = || random.chance(60);
        let mix = Mix {
            classes: flag(),
            dependencies: flag(),
            marks: flag(),
            cancels: flag(),
            notices: flag(),
            copybacks: flag(),
            planes: flag(),
            jobs: flag(),
            background_jobs: flag(),
            gap: 0,
        };
        let gap = random.pick(&[1, 2, 5, 20, 200]);
        let mix = Mix { gap, ..mix };
        let told = std::panic::catch_unwind(|| run(seed, config, mix, operations));
        match told {
            Ok(run) => seen.add(&run),
            Err(_) => panic!("seed {seed}: {config:?} {mix:?}"),
        }
    }
    println!("{seen:?}");
    seen
}

/// The least that all runs meet together. One part in `parts` of them was tried.
fn has_met_everything(seen: &Seen, parts: u64) {
    let is_met = |count: u64, least: u64| assert!(count * parts > least, "{least}: {seen:?}");
    seen.jobs.iter().for_each(|&jobs| is_met(jobs, 300));
    is_met(seen.jobs_cancelled, 50);
    is_met(seen.cancelled, 500);
    seen.in_gc.iter().for_each(|&n| is_met(n, 2_000));
    is_met(seen.copybacks, 2_000);
    is_met(seen.more_planes, 5_000);
    is_met(seen.joins, 1_000);
    is_met(seen.holds, 1_000);
    assert_eq!(seen.suspensions[OpKind::Read as usize], 0);
    seen.suspensions[1..].iter().for_each(|&n| is_met(n, 30));
    is_met(seen.late, 300);
}

#[test]
fn short_runs_agree() {
    if !is_full() {
        println!("SKIPPED: only in cargo xtask full; long runs find the same faults sooner");
        return;
    }
    has_met_everything(&swarm(0..2000, 30), 1);
}

#[test]
fn long_runs_agree() {
    let parts = if is_full() { 1 } else { 3 };
    has_met_everything(&swarm(1_000_000..1_000_000 + 150 / parts, 250), parts);
}
