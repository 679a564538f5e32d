//! Buses granted ahead of time: the same times, known earlier.

use super::*;
use destage_types::rng::SplitMix64;

/// Short times, so that much happens at the same instant; commands often take none.
fn random_timing(rng: &mut SplitMix64) -> Timing {
    let commands = rng.below(5);
    let mut time = |least: u64, most: u64| Nanos(least + rng.below(most));
    Timing {
        t_cmd_read: time(0, 1 + commands),
        t_cmd_program: time(0, 1 + commands),
        t_cmd_erase: time(0, 1 + commands),
        t_read: time(1, 12),
        t_program: time(1, 30),
        t_erase: time(1, 60),
        t_ready: time(0, 3),
    }
}

fn random_config(rng: &mut SplitMix64) -> ArrayConfig {
    ArrayConfig {
        channels: 1 + rng.below(3) as u32,
        chips_per_channel: 1 + rng.below(3) as u32,
        timing: random_timing(rng),
        ..one_chip()
    }
}

/// Two arrays that are asked for the same: one grants ahead of time.
struct Pair {
    benches: [Bench; 2],
    /// Names of the operations so far in both.
    ids: Vec<[OpId; 2]>,
    /// Token of the next operation.
    next: u32,
}

impl Pair {
    fn new(config: &ArrayConfig) -> Pair {
        let mut benches = [Bench::with(config), Bench::with(config)];
        benches[1].nand.grant_early();
        Pair {
            benches,
            ids: Vec::new(),
            next: 0,
        }
    }

    fn command(&self, rng: &mut SplitMix64, config: &ArrayConfig, rare: bool) -> FlashCommand {
        let chips = u64::from(config.channels * config.chips_per_channel);
        let (chip, token) = (ChipId(rng.below(chips) as u32), self.next);
        let transfer = Nanos(1 + rng.below(10));
        let mut command = match rng.below(if rare { 10 } else { 8 }) {
            0..3 => FlashCommand::read(chip, transfer, token),
            3..8 => FlashCommand::program(chip, transfer, token),
            8 => FlashCommand::new(OpKind::Erase, chip, Nanos::ZERO, token),
            _ => FlashCommand::new(OpKind::Copyback, chip, Nanos::ZERO, token),
        };
        command = command.bytes(rng.below(100) as u32);
        if rare {
            if rng.below(4) == 0 {
                command = command.class(Class::Background);
            }
            command.notify_end |= rng.below(5) == 0;
            command.in_order = command.kind == OpKind::Read && rng.below(6) == 0;
        }
        command
    }

    /// Submits the same to both; it waits for two others at times.
    fn submit(&mut self, rng: &mut SplitMix64, at: u64, mut command: FlashCommand, rare: bool) {
        let known = self.ids.len() as u64;
        let mut other = |often: u64| {
            let waits = rare && known > 0 && rng.below(often) == 0;
            // One of the last twelve, so that it has mostly not ended.
            waits.then(|| (known - 1 - rng.below(known.min(12))) as usize)
        };
        let (first, second) = (other(5), other(10));
        let ids = [0, 1].map(|side| {
            command.after = first.map(|i| self.ids[i][side]);
            command.and_after = second
                .filter(|_| first.is_some())
                .map(|i| self.ids[i][side]);
            self.benches[side].submit(at, command)
        });
        self.ids.push(ids);
        self.next += 1;
    }

    /// Some copies and an erase, as one job on one chip.
    fn submit_job(&mut self, rng: &mut SplitMix64, at: u64, config: &ArrayConfig) {
        let first = self.command(rng, config, false);
        let kind = [JobKind::Foreground, JobKind::Background][rng.below(2) as usize];
        let mut commands = Vec::new();
        for _ in 0..rng.below(4) {
            commands.push(FlashCommand::read(
                first.chip,
                Nanos(1 + rng.below(10)),
                self.next,
            ));
            commands.push(FlashCommand::program(
                first.chip,
                Nanos(1 + rng.below(10)),
                self.next + 1,
            ));
            self.next += 2;
        }
        commands.push(FlashCommand::new(
            OpKind::Erase,
            first.chip,
            Nanos::ZERO,
            self.next,
        ));
        self.next += 1;
        for bench in &mut self.benches {
            bench.job(at, kind, &commands);
        }
    }

    /// Both have started and moved the same, and the same operations wait and run.
    fn assert_same_work(&self) {
        let [one, other] = &self.benches;
        for chip in (0..one.nand.chips()).map(ChipId) {
            let [one, other] = [one, other].map(|Bench { nand, .. }| {
                let stats = nand.chip_stats(chip);
                let work = (stats.done, stats.bytes_read, stats.bytes_programmed);
                let queue = (nand.host_reads(chip), nand.host_writes(chip));
                let drain = Class::ALL.map(|lowest| nand.drain_time(chip, lowest));
                let service = (nand.in_service(chip), nand.residual(chip));
                (work, queue, drain, service, nand.with_host_work(chip, 1))
            });
            assert_eq!(one, other, "{chip}");
        }
        let started = |bench: &Bench| OpKind::ALL.map(|kind| bench.nand.started(kind));
        assert_eq!(started(one), started(other));
    }

    fn assert_same_times(mut self) {
        self.benches.iter_mut().for_each(Bench::finish);
        let end = self.benches[0].log.last_end();
        let end = end.max(self.benches[0].nand.now().0);
        self.benches.iter_mut().for_each(|bench| bench.until(end));
        self.assert_same_work();
        let [one, other] = self.benches.map(|mut bench| {
            bench.log.times.sort_unstable_by_key(|t| t.0);
            bench.log.ended.sort_unstable();
            let chips = (0..bench.nand.chips()).map(ChipId);
            let stats: Vec<_> = chips.map(|chip| bench.nand.chip_stats(chip)).collect();
            let channels = (0..bench.nand.channels()).map(ChannelId);
            let buses: Vec<_> = channels.map(|ch| bench.nand.bus_time(ch)).collect();
            (bench.log.times, bench.log.ended, stats, buses)
        });
        assert_eq!(one, other);
    }
}

#[test]
fn times_are_the_same_and_known_no_later() {
    let mut earlier = 0;
    for seed in 0..3000 {
        let mut rng = SplitMix64::new(seed);
        let (config, rare) = (random_config(&mut rng), seed % 2 == 1);
        let mut pair = Pair::new(&config);
        let mut now = 0;
        for _ in 0..120 {
            now += rng.below(3) * rng.below(20);
            let command = pair.command(&mut rng, &config, rare);
            pair.submit(&mut rng, now, command, rare);
            if seed % 4 == 3 && rng.below(60) == 0 {
                pair.submit_job(&mut rng, now, &config);
            }
            pair.assert_same_work();
            let [one, other] = [0, 1].map(|side| pair.benches[side].log.times.len());
            assert!(one <= other);
            earlier += u64::from(one < other);
        }
        pair.assert_same_times();
    }
    assert!(earlier > 10_000, "{earlier}");
}

#[test]
fn programs_that_are_told_at_once_run_as_if_they_were_queued() {
    let mut at_once = 0;
    for seed in 0..1000 {
        let mut rng = SplitMix64::new(seed);
        let config = random_config(&mut rng);
        let mut pair = Pair::new(&config);
        let mut now = 0;
        for _ in 0..100 {
            now += rng.below(3) * rng.below(20);
            let command = pair.command(&mut rng, &config, false);
            let [one, other] = &mut pair.benches;
            one.submit(now, command);
            other.until(now);
            let started = (command.kind == OpKind::Program)
                .then(|| other.nand.program_at_once(Nanos(now), &command));
            match started.flatten() {
                Some(times) => {
                    other.log.times.push((command.token, times));
                    at_once += 1;
                }
                None => _ = other.submit(now, command),
            }
            pair.next += 1;
        }
        pair.assert_same_times();
    }
    assert!(at_once > 10_000, "{at_once}");
}

#[test]
fn a_job_ends_it() {
    let mut bench = Bench::new(1, 2, plain());
    bench.nand.grant_early();
    bench.program(0, 0, 50, 0);
    bench.program(0, 1, 50, 1);
    assert_eq!(
        bench.log.times.len(),
        2,
        "the second one has the bus after the first"
    );
    assert_eq!(bench.log.span(1), (80, 1160));
    let erase = FlashCommand::new(OpKind::Erase, ChipId(0), Nanos::ZERO, 2);
    bench.job(0, JobKind::Foreground, &[erase]);
    bench.until(2000);
    bench.read(2000, 1, 50, 3);
    bench.program(2000, 1, 50, 4);
    assert!(
        bench.log.times.iter().all(|t| t.0 != 4),
        "nothing is known ahead of time"
    );
}

#[test]
#[should_panic(expected = "plain queues only")]
fn reads_that_go_first_take_the_places_of_others() {
    let config = ArrayConfig {
        queue: QueueOrder::ReadFirst,
        ..one_chip()
    };
    Nand::new(&config).grant_early();
}
