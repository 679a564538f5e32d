//! The event engine against the state-per-operation model: random runs full of ties must agree to
//! the nanosecond in every phase, in the order of every notice, and in every state query.

use destage_conformance::reference::nand::Reference;
use destage_device::nand::{
    Class, Command, Config, Discipline, Events, Heap, Kind, Nand, OpId, OpTimes, Sink, Timing, Tree,
};
use destage_types::{ChannelId, ChipId, Nanos};

/// SplitMix64 of spec 00 section 3.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    fn percent(&mut self, p: u64) -> bool {
        self.below(100) < p
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Notice {
    Timed(u32, OpTimes),
    Ended(u32, Nanos),
    Idle(ChannelId, Nanos),
}

#[derive(Default)]
struct Log(Vec<Notice>);

impl Sink for Log {
    fn timed(&mut self, token: u32, times: OpTimes) {
        self.0.push(Notice::Timed(token, times));
    }
    fn ended(&mut self, token: u32, at: Nanos) {
        self.0.push(Notice::Ended(token, at));
    }
    fn idle(&mut self, channel: ChannelId, at: Nanos) {
        self.0.push(Notice::Idle(channel, at));
    }
}

/// What a run may contain, so that each feature is also seen without the others.
#[derive(Clone, Copy, Debug)]
struct Mix {
    classes: bool,
    dependencies: bool,
    marks: bool,
    cancels: bool,
    notices: bool,
    /// Typical gap between arrivals, in units of the shortest phase.
    gap: u64,
}

fn random_timing(random: &mut Random) -> Timing {
    let scale: &[u64] = match random.below(4) {
        0 => &[0, 0, 1],
        1 => &[0, 1, 2, 3],
        2 => &[1, 2, 4, 8],
        _ => &[5, 10, 50, 200],
    };
    let mut t = || Nanos(random.pick(scale));
    Timing {
        t_cmd_read: t(),
        t_cmd_program: t(),
        t_cmd_erase: t(),
        t_read: t(),
        t_program: t(),
        t_erase: t(),
        t_ready: t(),
    }
}

fn random_config(random: &mut Random) -> Config {
    let (channels, chips_per_channel) = random.pick(&[
        (1, 1),
        (1, 4),
        (2, 1),
        (2, 3),
        (3, 2),
        (1, 9),
        (4, 4),
        (70, 1),
        (2, 90),
    ]);
    Config {
        channels,
        chips_per_channel,
        timing: random_timing(random),
        discipline: random.pick(&[Discipline::Fifo, Discipline::ReadFirst]),
        watch_idle: random.percent(50),
    }
}

fn random_command(random: &mut Random, config: &Config, mix: &Mix, ids: &[OpId]) -> Command {
    let chips = u64::from(config.channels * config.chips_per_channel);
    // Large arrays are used in a corner, so that queues form there too.
    let chip =
        ChipId(random.below(chips.min(24)) as u32 * (chips.div_ceil(24)) as u32 % chips as u32);
    let kind = random.pick(&[
        Kind::Read,
        Kind::Read,
        Kind::Program,
        Kind::Program,
        Kind::Erase,
    ]);
    let transfer = Nanos(random.pick(&[0, 1, 2, 3, 7]));
    let mut command = Command::new(kind, chip, transfer, ids.len() as u32);
    if mix.classes {
        command.class = random.pick(&Class::ALL);
    }
    if random.percent(10) {
        command.array = Some(Nanos(random.below(12)));
    }
    if mix.dependencies && random.percent(35) && !ids.is_empty() {
        let back = random.below(ids.len().min(8) as u64) as usize;
        command.after = Some(ids[ids.len() - 1 - back]);
    }
    command.in_order = mix.marks && random.percent(30);
    command.notify_end = mix.notices && random.percent(30);
    command
}

struct Pair<E: Events> {
    engine: Nand<E>,
    model: Reference,
    config: Config,
    log: (Log, Log),
    ids: Vec<OpId>,
    cancelled: u64,
}

impl<E: Events> Pair<E> {
    fn new(config: Config) -> Pair<E> {
        Pair {
            engine: Nand::with_events(&config),
            model: Reference::new(&config),
            config,
            log: Default::default(),
            ids: Vec::new(),
            cancelled: 0,
        }
    }

    fn advance(&mut self, until: Nanos, stepwise: bool) {
        if stepwise {
            while let Some(at) = self.engine.step(until, &mut self.log.0) {
                self.model.advance(at, &mut self.log.1);
                self.compare();
            }
        }
        self.engine.advance(until, &mut self.log.0);
        self.model.advance(until, &mut self.log.1);
        self.compare();
    }

    fn submit(&mut self, now: Nanos, command: Command) {
        let id = self.engine.submit(now, command, &mut self.log.0);
        let number = self.model.submit(now, command, &mut self.log.1);
        assert_eq!(id.number(), number);
        self.ids.push(id);
        self.compare();
    }

    fn cancel(&mut self, now: Nanos, id: OpId) {
        let done = self.engine.cancel(now, id, &mut self.log.0);
        assert_eq!(done, self.model.cancel(now, id.number(), &mut self.log.1));
        self.cancelled += u64::from(done);
        self.compare();
    }

    /// Notices so far, and the state of every unit and operation.
    fn compare(&mut self) {
        assert_eq!(self.log.0.0, self.log.1.0);
        self.log.0.0.clear();
        self.log.1.0.clear();
        let (engine, model) = (&self.engine, &self.model);
        for chip in (0..engine.chips()).map(ChipId) {
            let state = (
                engine.host_reads(chip),
                engine.host_writes(chip),
                engine.in_service(chip),
                engine.residual(chip),
                Class::ALL.map(|class| engine.drain_time(chip, class)),
            );
            let expected = (
                model.host_count(chip, Kind::Read),
                model.host_count(chip, Kind::Program),
                model.in_service(chip),
                model.residual(chip),
                Class::ALL.map(|class| model.drain_time(chip, class)),
            );
            assert_eq!(state, expected, "chip {chip} at {}", engine.now());
        }
        for channel in (0..self.config.channels).map(ChannelId) {
            let state = (engine.is_channel_idle(channel), engine.background(channel));
            let expected = (model.is_channel_idle(channel), model.background(channel));
            assert_eq!(state, expected, "channel {channel} at {}", engine.now());
        }
        for &id in self.ids.iter().rev().take(40) {
            assert_eq!(engine.state(id), model.state(id.number()));
        }
    }

    fn compare_counters(&self) {
        for chip in (0..self.engine.chips()).map(ChipId) {
            let stats = self.engine.chip_stats(chip);
            assert_eq!((stats.busy, stats.stalled), self.model.chip_time(chip));
        }
        for channel in (0..self.config.channels).map(ChannelId) {
            assert_eq!(self.engine.bus_time(channel), self.model.bus_time(channel));
        }
        let started: u64 = Class::ALL
            .map(|c| self.engine.stats().of_class(c))
            .iter()
            .sum();
        assert_eq!(self.engine.stats().cancelled, self.cancelled);
        assert_eq!(
            started + self.cancelled,
            self.ids.len() as u64,
            "all work is done"
        );
    }
}

fn run<E: Events>(seed: u64, config: Config, mix: Mix, operations: usize) {
    let mut random = Random(seed);
    let mut pair = Pair::<E>::new(config);
    let mut now = 0;
    while pair.ids.len() < operations {
        // Clusters: most arrivals share the instant of the one before.
        if random.percent(40) {
            now += 1 + random.below(mix.gap);
        } else if random.percent(20) {
            // Exactly at an instant of the array, where ties are.
            let next = pair.model.next_event_time();
            now = if next == Nanos::NEVER { now } else { next.0 };
        }
        let stepwise = random.percent(50);
        pair.advance(Nanos(now), stepwise);
        for _ in 0..1 + random.below(4) {
            let command = random_command(&mut random, &config, &mix, &pair.ids);
            pair.submit(Nanos(now), command);
        }
        if mix.cancels && random.percent(40) {
            let back = random.below(pair.ids.len().min(12) as u64) as usize;
            let id = pair.ids[pair.ids.len() - 1 - back];
            let waits = pair.engine.state(id) == destage_device::nand::OpState::Waiting;
            if !waits || pair.class(id) == Class::Background {
                pair.cancel(Nanos(now), id);
            }
        }
    }
    let mut end = Nanos(now);
    while pair.model.next_event_time() != Nanos::NEVER {
        end = pair.model.next_event_time();
        pair.advance(end, false);
    }
    pair.advance(end + Nanos(1), true);
    pair.compare_counters();
}

impl<E: Events> Pair<E> {
    fn class(&self, id: OpId) -> Class {
        self.model.command(id.number()).class
    }
}

fn swarm(seeds: std::ops::Range<u64>, operations: usize) {
    for seed in seeds {
        let mut random = Random(seed);
        let config = random_config(&mut random);
        let mut flag = || random.percent(60);
        let mix = Mix {
            classes: flag(),
            dependencies: flag(),
            marks: flag(),
            cancels: flag(),
            notices: flag(),
            gap: 0,
        };
        let gap = random.pick(&[1, 2, 5, 20, 200]);
        let mix = Mix { gap, ..mix };
        let told = std::panic::catch_unwind(|| {
            if seed % 2 == 0 {
                run::<Tree>(seed, config, mix, operations);
            } else {
                run::<Heap>(seed, config, mix, operations);
            }
        });
        assert!(told.is_ok(), "seed {seed}: {config:?} {mix:?}");
    }
}

#[test]
fn short_runs_agree() {
    swarm(0..2000, 30);
}

#[test]
fn long_runs_agree() {
    swarm(1_000_000..1_000_120, 250);
}
