//! The chip-queue monitor against the engine it watches: what is said of a queue is what happens
//! to it if nothing else arrives (ECR section 3.1).

use destage_conformance::timed::runs::device_of;
use destage_conformance::timed::trace_of;
use destage_scheme::cqct::{EcrLatencies, equation};
use destage_scheme::{Equation1, InService};
use destage_sim::engine::Engine;
use destage_sim::precondition::prepare;
use destage_sim::{Cause, Flash, Program};
use destage_types::rng::SplitMix64;
use destage_types::{ChipId, HostRequest, Lpn, Nanos, Op};

const CHIPS: u32 = 4;

/// State of the queue of a chip.
struct ChipLoad {
    queue: Equation1,
    in_service: Option<InService>,
    drain: Nanos,
}

fn load_of(engine: &Engine, chip: ChipId) -> ChipLoad {
    let view = engine.view();
    ChipLoad {
        queue: view.equation_1(chip),
        in_service: view.in_service(chip),
        drain: view.drain_time(chip),
    }
}

/// Four chips, full, some 500 logical pages; without commands, so that an operation takes its
/// array time and its transfer and nothing else.
fn engine(channels: u32, more: &str) -> Engine {
    let sets = format!(
        "channels={channels} chips_per_channel={} dies_per_chip=1 planes_per_die=2 \
         blocks_per_plane=12 pages_per_block=8 op=0.35 frontier=chip gc_unit=chip queue_per=chip \
         t_read=25us t_program=200us t_erase=1.5ms t_cmd=0 t_byte=25ns gc_threshold=0.1 \
         gc_threshold_base=total precondition.trace=false precondition.fill=1 \
         precondition.overwrite=until_gc {more}",
        CHIPS / channels
    );
    let trace = trace_of(&[]);
    prepare(&device_of(&sets), &trace, false, false, 1).expect("the device can be filled")
}

/// A burst of requests of `most` reads or programs at `now`.
fn burst(engine: &mut Engine, rng: &mut SplitMix64, index: u64, now: Nanos, most: u32) {
    let pages = engine.core().expect("a device").logical_pages();
    for n in 0..1 + rng.below(12) {
        let op = [Op::Read, Op::Write][rng.below(2) as usize];
        engine.begin(index * 16 + n, &HostRequest::new(now, op, 0, 8), now);
        for _ in 0..most {
            let lpn = Lpn(rng.below(pages));
            match op {
                Op::Read => engine.read(lpn, 8),
                _ => {
                    engine.program(Program {
                        lpn,
                        cause: Cause::Eviction,
                        unit: None,
                        channel: None,
                        read_first: rng.below(4) == 0,
                        cached: false,
                    });
                }
            }
        }
        engine.end(u64::from(most), 0);
    }
}

/// Two planes that a request can use together.
const PLANES: &str = "multi_plane=on frontier=plane gc_unit=plane";

/// Answers of the monitor at the moments between bursts.
#[derive(Default)]
struct Seen {
    queued: u32,
    collecting: u32,
}

fn watch(
    channels: u32,
    more: &str,
    mut check: impl FnMut(&mut Engine, ChipId, Nanos, &mut Seen),
) -> Seen {
    let mut seen = Seen::default();
    for seed in 0..40 {
        let (mut engine, mut rng) = (engine(channels, more), SplitMix64::new(seed));
        let mut now = Nanos::ZERO;
        for index in 0..60 {
            let most = if more.contains("multi_plane") { 3 } else { 1 };
            burst(&mut engine, &mut rng, index, now, most);
            let later = now + Nanos(rng.below(900_000));
            engine.step(later);
            let chip = ChipId(rng.below(u64::from(CHIPS)) as u32);
            check(&mut engine, chip, later, &mut seen);
            now = engine.now().max(later);
        }
    }
    seen
}

/// Exact drain time (`cqct=oracle`): the chip is busy until then and not longer.
#[test]
fn a_queue_is_empty_when_its_drain_time_is_over() {
    for more in [
        "",
        "queue=read-first",
        "copyback=on wear_levelling=static wear_threshold=2",
        "summary_page=true",
        PLANES,
    ] {
        let seen = watch(CHIPS, more, |engine, chip, now, seen| {
            let load = load_of(engine, chip);
            if load.drain == Nanos::ZERO {
                assert_eq!((load.queue.reads, load.queue.writes), (0, 0));
                assert!(!engine.view().in_gc(chip));
                return;
            }
            seen.queued += 1;
            seen.collecting += u32::from(load.queue.gc_remaining.is_some());
            let end = now + load.drain;
            engine.step(end - Nanos(1));
            assert_eq!(load_of(engine, chip).drain, Nanos(1), "{more}");
            engine.step(end);
            let after = load_of(engine, chip);
            assert_eq!(after.drain, Nanos::ZERO);
            assert_eq!((after.queue.reads, after.queue.writes), (0, 0));
            assert!(!engine.view().in_gc(chip), "{more}");
        });
        assert!(seen.queued > 500 && seen.collecting > 100, "{more}");
    }
}

/// Equation 1 with the residual time of the operation in service is the drain time where every
/// chip has its own channel; counted whole (ECR-2) it is at most one operation longer. Collections
/// and summary pages that the equation expects of the future are left out.
#[test]
fn the_equation_of_a_queue_is_its_drain_time() {
    let seen = watch(CHIPS, "", |engine, chip, _, seen| {
        let (mut load, l) = (load_of(engine, chip), latencies(engine));
        // The shorter way to ask says the same, and a chip with nothing to do has nothing queued.
        let zero = [
            engine.view().equation_1_is_zero(chip, 1) & 1,
            engine.view().equation_1_is_zero(ChipId(0), CHIPS) >> chip.0 & 1,
        ];
        assert_eq!(zero, [u64::from(load.queue.is_zero()); 2]);
        assert_eq!(engine.view().is_idle(chip), load.drain == Nanos::ZERO);
        let valid = engine.view().victim_valid_pages(chip);
        let (whole, in_service, counted) = counted(&mut load, valid, &l);
        assert_eq!(counted, load.drain);
        assert!(whole >= load.drain && whole <= load.drain + in_service);
        seen.queued += u32::from(load.drain > Nanos::ZERO);
        seen.collecting += u32::from(load.queue.gc_remaining > Some(Nanos::ZERO));
    });
    assert!(seen.queued > 500 && seen.collecting > 100);
}

/// A multi-plane operation is one read or program to the equation: what it leaves out is the
/// transfer of every page of it beyond the first.
#[test]
fn the_equation_leaves_out_transfers_of_further_planes() {
    let (mut less, mut transfers) = (0, 0);
    let seen = watch(CHIPS, PLANES, |engine, chip, _, seen| {
        let (mut load, l) = (load_of(engine, chip), latencies(engine));
        let valid = engine.view().victim_valid_pages(chip);
        let (_, _, counted) = counted(&mut load, valid, &l);
        let left_out = load.drain - counted;
        let transfer = engine.view().costs().transfer;
        assert_eq!(left_out.0 % transfer.0, 0);
        assert!(left_out.0 / transfer.0 <= load.queue.reads + load.queue.writes);
        less += u32::from(left_out > Nanos::ZERO);
        transfers += left_out.0 / transfer.0;
        seen.queued += u32::from(load.drain > Nanos::ZERO);
    });
    assert!(
        seen.queued > 500 && less > 200 && transfers > 500,
        "{less}, {transfers}"
    );
}

/// Latencies of Equation 1 with their transfers.
fn latencies(engine: &Engine) -> EcrLatencies {
    let costs = engine.view().costs();
    EcrLatencies {
        read: costs.read + costs.transfer,
        program: costs.program + costs.transfer,
        erase: costs.erase,
        summary: Nanos::ZERO,
        pages_per_block: costs.pages_per_block,
        pages_per_program: 1,
    }
}

/// Equation 1 without collections to come, the length of the operation in service, and the equation
/// with what is left of that. The block to be collected has `valid` valid pages.
fn counted(load: &mut ChipLoad, valid: u64, l: &EcrLatencies) -> (Nanos, Nanos, Nanos) {
    load.queue.gc_remaining.get_or_insert(Nanos::ZERO);
    let whole = equation(&load.queue, valid, l).total;
    let in_service = match load.in_service {
        Some(InService { op: Op::Read, .. }) => l.read,
        _ => l.program,
    };
    let counted = match load.in_service {
        None => whole,
        Some(InService { residual, .. }) => whole - in_service + residual,
    };
    (whole, in_service, counted)
}

/// With several chips on a channel transfers wait for each other: the monitor counts only its own
/// queue, so it never says too much.
#[test]
fn chips_that_share_a_channel_take_longer_than_the_monitor_says() {
    let mut longer = 0;
    let seen = watch(1, "", |engine, chip, now, seen| {
        let drain = load_of(engine, chip).drain;
        if drain > Nanos::ZERO {
            seen.queued += 1;
            engine.step(now + drain - Nanos(1));
            assert!(load_of(engine, chip).drain > Nanos::ZERO);
            engine.step(now + drain);
            longer += u32::from(load_of(engine, chip).drain > Nanos::ZERO);
        }
    });
    assert!(seen.queued > 500 && longer > 50, "{longer}");
}
