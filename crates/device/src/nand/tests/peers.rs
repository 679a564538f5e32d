//! Times that SSDsim and MQSim (its flash part) give for the same operations, to the nanosecond.

use super::*;
use destage_types::Picos;

/// 4 KiB at 3 ns per byte.
const X: u64 = 12_288;
const T_READ: u64 = 75_000;
const T_PROGRAM: u64 = 750_000;
const T_ERASE: u64 = 3_800_000;

fn timing(commands: [u64; 3], ready: u64) -> Timing {
    Timing {
        t_cmd_read: Nanos(commands[0]),
        t_cmd_program: Nanos(commands[1]),
        t_cmd_erase: Nanos(commands[2]),
        t_read: Nanos(T_READ),
        t_program: Nanos(T_PROGRAM),
        t_erase: Nanos(T_ERASE),
        t_ready: Nanos(ready),
    }
}

/// Command times of MQSim's flash part.
fn mqsim() -> Timing {
    timing([290, 361, 220], 20)
}

/// 7 cycles of 3 ns, as SSDsim.
fn ssdsim() -> Timing {
    timing([21; 3], 0)
}

#[test]
fn reads_of_other_simulators() {
    for pages in [1, 2, 8] {
        let log = Bench::new(8, 2, ssdsim()).stripe(OpKind::Read, pages, X);
        assert_eq!(log.last_end(), 87_309, "one page on each channel");
        let log = Bench::new(8, 2, mqsim()).stripe(OpKind::Read, pages, X);
        assert_eq!(log.last_end(), 87_598);
    }
    let partial = Picos(3_000).times(3 * 512);
    let mut bench = Bench::new(8, 2, ssdsim());
    bench.read(0, 0, partial.0, 0);
    bench.finish();
    assert_eq!(bench.log.last_end(), 79_629, "1.5 KiB");
    for (rounds, per_channel) in [(1, 2), (2, 2), (3, 2), (3, 1), (4, 4)] {
        let bench = Bench::new(8, per_channel, mqsim());
        let log = bench.stripe(OpKind::Read, 8 * per_channel * rounds, X);
        let round = 290 + T_READ + 20 + u64::from(per_channel) * X;
        assert_eq!(log.last_end(), u64::from(rounds) * round);
    }
}

#[test]
fn writes_of_other_simulators() {
    let ends = [
        (1, 12_309, 762_649),
        (8, 12_309, 762_649),
        (16, 24_618, 775_298),
        (32, 786_927, 1_537_947),
        (64, 2_311_545, 3_063_245),
    ];
    for (pages, transferred, programmed) in ends {
        let log = Bench::new(8, 2, ssdsim()).stripe(OpKind::Program, pages, X);
        assert_eq!(log.last_transfer(), transferred, "{pages} pages");
        let log = Bench::new(8, 2, mqsim()).stripe(OpKind::Program, pages, X);
        assert_eq!(log.last_end(), programmed, "{pages} pages");
    }
}

#[test]
fn two_operations_at_one_instant() {
    let log = Bench::new(1, 2, mqsim()).stripe(OpKind::Read, 2, X);
    assert_eq!(log.span(0), (0, 87_598));
    assert_eq!(
        log.span(1),
        (290, 87_598 + X),
        "other chip: one transfer later"
    );
    let log = Bench::new(1, 1, mqsim()).stripe(OpKind::Program, 2, X);
    let first = 361 + X + T_PROGRAM;
    assert_eq!(log.span(0), (0, first));
    assert_eq!(
        log.span(1),
        (first, first + 361 + X + T_PROGRAM),
        "same chip"
    );
}

#[test]
fn read_arrives_during_a_program() {
    for d in [0, 1, 5_000, 12_649, 400_000, 762_649, 900_000] {
        let mut bench = Bench::new(1, 1, mqsim());
        bench.program(0, 0, X, 0);
        bench.read(d, 0, X, 1);
        bench.finish();
        let start = 762_649.max(d);
        assert_eq!(bench.log.span(1), (start, start + 87_598), "d = {d}");
    }
}

/// SSDsim charges no command for the erase.
#[test]
fn collection_in_front_of_a_write() {
    let timings = [timing([21, 21, 0], 0), mqsim()];
    for (peer, timing) in timings.into_iter().enumerate() {
        for k in [0, 1, 5, 64] {
            let mut bench = Bench::new(8, 2, timing);
            let page = [
                FlashCommand::read(ChipId(3), Nanos(X), 0),
                FlashCommand::program(ChipId(3), Nanos(X), 0),
            ];
            let mut commands = page.repeat(k as usize);
            commands.push(FlashCommand::erase(ChipId(3), 0));
            let job = bench.job(0, JobKind::Foreground, &commands);
            let write = FlashCommand::program(ChipId(3), Nanos(X), 1);
            bench.submit(0, write.after(job.last()));
            bench.finish();
            let before = match peer {
                0 => k * (2 * 21 + T_READ + T_PROGRAM + 2 * X) + T_ERASE,
                _ => k * (290 + T_READ + 20 + X + 361 + X + T_PROGRAM) + 220 + T_ERASE,
            };
            assert_eq!(bench.log.of(1).start, Nanos(before));
        }
    }
}
