//! Every kind of operation alone and in contention, and laws of whole runs.

use super::*;
use destage_types::rng::SplitMix64;

#[test]
fn every_operation_alone() {
    let timing = Timing {
        t_ready: Nanos(7),
        ..plain()
    };
    let chip = ChipId(0);
    // Command, end of the last transfer, end, bytes.
    let cases = [
        (FlashCommand::read(chip, Nanos(40), 0), 167, 167),
        (FlashCommand::program(chip, Nanos(40), 0), 70, 1070),
        (FlashCommand::erase(chip, 0), 10, 5010),
        (FlashCommand::copyback(chip, 0), 0, 1107),
        (FlashCommand::read(chip, Nanos(120), 0).planes(3), 287, 287),
        (
            FlashCommand::program(chip, Nanos(80), 0).planes(2),
            140,
            1140,
        ),
        (FlashCommand::erase(chip, 0).planes(4), 40, 5040),
        (FlashCommand::copyback(chip, 0).planes(2), 0, 1107),
    ];
    for (command, last_transfer, end) in cases {
        let mut bench = Bench::new(1, 1, timing);
        bench.submit(100, command.bytes(9));
        bench.finish();
        let times = bench.log.of(0);
        assert_eq!(times.start, Nanos(100), "{command:?}");
        assert_eq!(times.last_transfer, Nanos(100 + last_transfer));
        assert_eq!(times.end, Nanos(100 + end));
        let stats = bench.nand.chip_stats(chip);
        assert_eq!(stats.busy, Nanos(end));
        assert_eq!(stats.of(command.kind), u64::from(command.planes));
        let (read, programmed) = match command.kind {
            OpKind::Read => (9, 0),
            _ => (0, 9),
        };
        assert_eq!(
            (stats.bytes_read, stats.bytes_programmed),
            (read, programmed)
        );
    }
    // Times of one operation instead of those of the array.
    let pages = [(OpKind::Read, 20 + 3 + 7), (OpKind::Program, 30 + 3)];
    let pages = pages.into_iter();
    for (kind, end) in pages.chain([(OpKind::Erase, 10 + 3), (OpKind::Copyback, 107 + 3)]) {
        let mut bench = Bench::new(1, 1, timing);
        let mut command = FlashCommand::new(kind, chip, Nanos(0), 0);
        command.array = Some(Nanos(3));
        bench.submit(0, command);
        bench.finish();
        assert_eq!(bench.log.last_end(), end, "{kind:?}");
    }
}

#[test]
fn two_dies_on_one_channel() {
    let mut bench = Bench::new(1, 2, plain());
    bench.program(0, 0, 70, 0);
    bench.program(0, 1, 70, 1);
    bench.read(0, 0, 40, 2);
    bench.read(0, 1, 40, 3);
    bench.finish();
    assert_eq!(bench.log.span(0), (0, 1100));
    assert_eq!(bench.log.span(1), (100, 1200), "transfers do not overlap");
    assert_eq!(bench.log.span(2), (1100, 1260));
    // Its command on the bus 1200-1220, data from 1320 on.
    assert_eq!(bench.log.span(3), (1200, 1360));
    assert_eq!(bench.nand.bus_time(ChannelId(0)), Nanos(200 + 120));
}

#[test]
fn multi_plane_operations_hold_the_bus_once() {
    let mut bench = Bench::new(1, 2, plain());
    bench.submit(0, FlashCommand::program(ChipId(0), Nanos(140), 0).planes(2));
    bench.read(0, 1, 40, 1);
    bench.submit(0, FlashCommand::read(ChipId(0), Nanos(80), 2).planes(2));
    bench.read(1290, 1, 5, 3);
    bench.finish();
    assert_eq!(bench.log.span(0), (0, 1200));
    assert_eq!(bench.log.of(0).last_transfer, Nanos(200));
    assert_eq!(bench.log.span(1), (200, 360));
    assert_eq!(bench.log.span(2), (1200, 1420), "40 + 100 + 80");
    // Its command ends at 1310 and its data are ready at 1410, while the bus is busy.
    assert_eq!(bench.log.span(3), (1290, 1425));
    let stats = bench.nand.chip_stats(ChipId(0));
    assert_eq!(stats.done, [2, 2, 0, 0]);
    assert_eq!(bench.nand.started(OpKind::Program), 1);
    assert_eq!(bench.nand.chip_stats(ChipId(1)).stalled, Nanos(10));
}

#[test]
fn pages_join_what_waits_and_nothing_starts_while_work_is_held() {
    let mut bench = Bench::new(1, 2, plain());
    bench.nand.hold();
    let program = bench.program(0, 0, 70, 0);
    let read = bench.read(0, 1, 40, 1);
    bench.nand.join(program, Nanos(60), 0, None);
    bench.nand.join(read, Nanos(50), 0, None);
    for id in [program, read] {
        assert_eq!(bench.nand.state(id), OpState::Waiting);
    }
    let queue = [0, 1].map(|chip| bench.nand.drain_time(ChipId(chip), Class::Host).0);
    assert_eq!(queue, [2 * 30 + 130 + 1000, 2 * 20 + 100 + 90]);
    let counted = (
        bench.nand.host_writes(ChipId(0)),
        bench.nand.host_reads(ChipId(1)),
    );
    assert_eq!(counted, (1, 1), "operations, not pages");
    bench.nand.resume(Nanos(0));
    assert_eq!(bench.nand.state(program), OpState::Started);
    bench.finish();
    assert_eq!(bench.log.span(0), (0, 1190));
    assert_eq!(bench.log.of(0).last_transfer, Nanos(190));
    assert_eq!(bench.log.span(1), (190, 420), "40 + 100 + 90");
    let done = [0, 1].map(|chip| bench.nand.chip_stats(ChipId(chip)).done);
    assert_eq!(done, [[0, 2, 0, 0], [2, 0, 0, 0]], "pages");
}

#[test]
#[should_panic(expected = "only what waits is joined")]
fn what_has_started_is_not_joined() {
    let mut bench = Bench::new(1, 1, plain());
    let program = bench.program(0, 0, 70, 0);
    bench.nand.join(program, Nanos(70), 0, None);
}

#[test]
fn copyback_needs_no_bus() {
    let mut bench = Bench::new(1, 2, plain());
    bench.program(0, 0, 70, 0); // bus 0-100
    bench.submit(10, FlashCommand::copyback(ChipId(1), 1));
    bench.submit(10, FlashCommand::copyback(ChipId(1), 2));
    bench.finish();
    assert_eq!(bench.log.span(1), (10, 1110));
    assert_eq!(bench.log.span(2), (1110, 2210));
}

/// FLUSH completes with what is in flight: the ends of what has started are known at once, those
/// of the others when they start.
#[test]
fn waiting_for_all_work_in_flight() {
    let mut bench = Bench::new(2, 2, plain());
    for token in 0..6 {
        bench.program(u64::from(token), token % 4, 70, token);
    }
    bench.until(300);
    let known = bench.log.times.len();
    assert_eq!(known, 4, "two wait for their chips");
    while bench.log.times.len() < 6 {
        bench.nand.step(Nanos::NEVER).unwrap();
        bench.log.take(&mut bench.nand);
    }
    assert_eq!(bench.nand.now(), Nanos(1101));
    bench.program(1101, 0, 70, 6);
    let flush = (0..6).map(|token| bench.log.span(token).1).max();
    assert_eq!(flush, Some(2201));
    bench.finish();
    assert_eq!(bench.log.span(6), (2200, 3300), "came later");
}

/// A run of everything: host work, jobs, dependencies, all times multiplied by `k`.
fn mixed_run(seed: u64, k: u64) -> Bench {
    let t = plain();
    let timing = Timing {
        t_cmd_read: Nanos(t.t_cmd_read.0 * k),
        t_cmd_program: Nanos(t.t_cmd_program.0 * k),
        t_cmd_erase: Nanos(t.t_cmd_erase.0 * k),
        t_read: Nanos(t.t_read.0 * k),
        t_program: Nanos(t.t_program.0 * k),
        t_erase: Nanos(t.t_erase.0 * k),
        t_ready: Nanos(3 * k),
    };
    let discipline = match seed % 2 {
        0 => QueueOrder::Fifo,
        _ => QueueOrder::ReadFirst,
    };
    let mut bench = Bench::with(&ArrayConfig {
        channels: 2,
        chips_per_channel: 2,
        timing,
        queue: discipline,
        watch_idle: true,
        ..one_chip()
    });
    let (mut rng, mut at, mut before) = (SplitMix64::new(seed), 0, None);
    for token in 0..300 {
        at += rng.below(400);
        let chip = ChipId(rng.below(4) as u32);
        let kind = OpKind::ALL[rng.below(4) as usize];
        let transfer = Nanos(rng.below(90) * k);
        let command = FlashCommand::new(kind, chip, transfer, token);
        match (rng.below(8), before) {
            (0, _) => {
                let kinds = [JobKind::Foreground, JobKind::Background];
                let kind = kinds[rng.below(2) as usize];
                let job = bench.job(at * k, kind, &[command; 4]);
                before = Some(job.last());
            }
            (1, Some(id)) => {
                bench.submit(at * k, command.after(id));
            }
            (2, _) => {
                bench.submit(at * k, command.class(Class::Background));
            }
            _ => before = Some(bench.submit(at * k, command)),
        }
    }
    bench.finish();
    bench
}

#[test]
fn scaling_all_times_scales_all_responses() {
    for seed in 0..12 {
        let one = mixed_run(seed, 1);
        for k in [2, 7, 1000] {
            let other = mixed_run(seed, k);
            let scaled = one.log.times.iter().map(|&(token, times)| {
                let times = OpTimes {
                    start: Nanos(times.start.0 * k),
                    last_transfer: Nanos(times.last_transfer.0 * k),
                    end: Nanos(times.end.0 * k),
                };
                (token, times)
            });
            assert!(scaled.eq(other.log.times), "seed {seed}, times {k}");
        }
    }
}

#[test]
fn busy_time_is_the_sum_of_the_operations() {
    for seed in 0..12 {
        let bench = mixed_run(seed, 1);
        let held: u64 = bench
            .log
            .times
            .iter()
            .map(|t| t.1.end.0 - t.1.start.0)
            .sum();
        let stats: Vec<ChipStats> = (0..4)
            .map(|chip| bench.nand.chip_stats(ChipId(chip)))
            .collect();
        assert_eq!(stats.iter().map(|s| s.busy.0).sum::<u64>(), held);
        let done: u64 = stats.iter().map(|s| s.done.iter().sum::<u64>()).sum();
        assert_eq!(done, bench.log.times.len() as u64);
        let end = bench.log.last_end();
        assert!(stats.iter().all(|s| s.busy.0 <= end));
        for channel in 0..2 {
            assert!(bench.nand.bus_time(ChannelId(channel)).0 <= end);
        }
        let earlier = ChipStats::default();
        assert_eq!(stats[0].since(&earlier), stats[0]);
        assert_eq!(stats[0].since(&stats[0]), earlier);
    }
}
