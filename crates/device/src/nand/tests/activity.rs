//! Phases of operations, reckoned by hand, and sums over random work. A read is 20 on the bus, 100
//! in the array and its transfer, a program 30 with its transfer and 1000, an erase 10 and 5000.

use super::*;
use destage_types::rng::SplitMix64;

const BUS: PhaseKind = PhaseKind::Bus;
const ARRAY: PhaseKind = PhaseKind::Array;
const STALLED: PhaseKind = PhaseKind::Stalled;

fn kept(config: &ArrayConfig) -> Bench {
    let mut bench = Bench::with(config);
    bench.nand.keep_activities();
    bench
}

/// Activities of finished operations, by number.
fn done(bench: &mut Bench) -> Vec<OpActivity> {
    bench.finish();
    let mut done = bench.nand.take_activities();
    assert!(bench.nand.take_activities().is_empty());
    done.sort_by_key(|op| op.number);
    done
}

fn phases(op: &OpActivity) -> Vec<(PhaseKind, u64, u64)> {
    let phases = op.phases.iter();
    phases.map(|p| (p.kind, p.from.0, p.to.0)).collect()
}

#[test]
fn a_read_whose_data_wait_for_the_bus() {
    let mut bench = kept(&ArrayConfig {
        chips_per_channel: 2,
        ..one_chip()
    });
    bench.read(0, 0, 50, 0);
    bench.program(100, 1, 70, 1);
    let done = done(&mut bench);
    let read = [
        (BUS, 0, 20),
        (ARRAY, 20, 120),
        (STALLED, 120, 200),
        (BUS, 200, 250),
    ];
    assert_eq!(phases(&done[0]), read);
    assert_eq!(phases(&done[1]), [(BUS, 100, 200), (ARRAY, 200, 1200)]);
    let places: Vec<_> = done
        .iter()
        .map(|op| (op.number, op.chip.0, op.kind))
        .collect();
    assert_eq!(places, [(0, 0, OpKind::Read), (1, 1, OpKind::Program)]);
    assert_eq!((done[0].start, done[0].end), (Nanos(0), Nanos(250)));
}

#[test]
fn a_suspended_erase_has_a_part_before_and_a_part_behind_the_read() {
    let mut bench = kept(&ArrayConfig {
        suspension: Some(Suspension {
            pause: Nanos::ZERO,
            programs: false,
            resume: Nanos(7),
        }),
        ..one_chip()
    });
    bench.submit(0, FlashCommand::erase(ChipId(0), 0));
    bench.read(2500, 0, 50, 1);
    let done = done(&mut bench);
    let erase = [(BUS, 0, 10), (ARRAY, 10, 2500), (ARRAY, 2670, 5187)];
    assert_eq!(phases(&done[0]), erase);
    assert_eq!(
        phases(&done[1]),
        [(BUS, 2500, 2520), (ARRAY, 2520, 2620), (BUS, 2620, 2670)]
    );
    assert_eq!(done[0].end, Nanos(5187));
}

#[test]
fn what_takes_no_time_and_what_is_taken_back_has_no_phases() {
    let mut bench = kept(&one_chip());
    bench.submit(0, FlashCommand::copyback(ChipId(0), 0));
    let command = FlashCommand::program(ChipId(0), Nanos(5), 1).class(Class::Background);
    let waits = bench.submit(1, command);
    assert_eq!(bench.nand.submitted(), 2);
    assert!(bench.cancel(2, waits));
    let done = done(&mut bench);
    assert_eq!(done.len(), 1);
    assert_eq!(phases(&done[0]), [(ARRAY, 0, 1100)]);
}

/// Nothing is done twice at a time, and what is done sums up to what the counters say.
#[test]
fn sums_are_those_of_the_counters() {
    for seed in 0..300 {
        let mut rng = SplitMix64::new(seed);
        let (channels, chips) = (1 + rng.below(2) as u32, 1 + rng.below(3) as u32);
        let programs = rng.below(2) == 0;
        let suspension = (rng.below(2) == 0).then_some(Suspension {
            pause: Nanos::ZERO,
            programs,
            resume: Nanos(rng.below(30)),
        });
        let mut bench = kept(&ArrayConfig {
            channels,
            chips_per_channel: chips,
            queue: [QueueOrder::Fifo, QueueOrder::ReadFirst][rng.below(2) as usize],
            suspension,
            ..one_chip()
        });
        let chips = bench.nand.chips();
        let mut at = 0;
        for token in 0..200 {
            at += rng.below(600);
            let chip = ChipId(rng.below(u64::from(chips)) as u32);
            let kind = OpKind::ALL[rng.below(4) as usize];
            let transfer = match kind {
                OpKind::Erase | OpKind::Copyback => 0,
                _ => rng.below(80),
            };
            let command = FlashCommand::new(kind, chip, Nanos(transfer), token);
            bench.submit(at, command);
        }
        let done = done(&mut bench);
        assert_eq!(done.len(), 200);
        for channel in 0..channels {
            let on = |op: &&OpActivity| op.channel.0 == channel;
            let all = done.iter().filter(on).flat_map(|op| &op.phases);
            let busy = apart(all.filter(|p| p.kind == BUS), "bus");
            assert_eq!(busy, bench.nand.bus_time(ChannelId(channel)), "seed {seed}");
        }
        for chip in (0..chips).map(ChipId) {
            let on = |op: &&OpActivity| op.chip == chip;
            let busy = apart(done.iter().filter(on).flat_map(|op| &op.phases), "chip");
            let stats = bench.nand.chip_stats(chip);
            assert_eq!(busy, stats.busy, "seed {seed}");
            let stalls = done.iter().filter(on).flat_map(|op| &op.phases);
            let stalled = apart(stalls.filter(|p| p.kind == STALLED), "stalls");
            assert_eq!(stalled, stats.stalled, "seed {seed}");
        }
    }
}

/// The sum of phases that must not overlap.
fn apart<'a>(phases: impl Iterator<Item = &'a OpPhase>, what: &str) -> Nanos {
    let mut phases: Vec<&OpPhase> = phases.collect();
    phases.sort_by_key(|p| p.from);
    for pair in phases.windows(2) {
        assert!(pair[0].to <= pair[1].from, "{what}: {pair:?}");
    }
    Nanos(phases.iter().map(|p| (p.to - p.from).0).sum())
}
