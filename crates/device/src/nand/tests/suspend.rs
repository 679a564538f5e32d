//! Reads of the host suspend what a die works on, reckoned by hand. An erase is 10 on the bus and 5000
//! in the array, a program 30 and 1000, a read 20 on the bus and 100 in the array, and its transfer.

use super::*;

const ERASE_END: u64 = 5010;
/// A read with a transfer of 50.
const READ: u64 = 170;

fn suspends(programs: bool, resume: u64) -> Bench {
    Bench::with(&with(programs, resume))
}

fn with(programs: bool, resume: u64) -> ArrayConfig {
    ArrayConfig {
        suspension: Some(Suspension {
            pause: Nanos::ZERO,
            programs,
            resume: Nanos(resume),
        }),
        ..one_chip()
    }
}

fn erase(token: u32) -> FlashCommand {
    FlashCommand::erase(ChipId(0), token)
}

#[test]
fn a_read_suspends_an_erase_at_once_and_the_erase_ends_later_by_it() {
    for at in [10, 11, 2500, 5009] {
        for resume in [0, 7, 400] {
            let mut bench = suspends(false, resume);
            bench.submit(0, erase(0));
            bench.read(at, 0, 50, 1);
            bench.until(at + 1);
            assert_eq!(bench.nand.held_so_far(ChipId(0)), Nanos(at + 1));
            bench.finish();
            assert_eq!(bench.log.span(1), (at, at + READ), "read at {at}");
            assert_eq!(bench.log.span(0), (0, ERASE_END + READ + resume));
            let busy = bench.nand.chip_stats(ChipId(0)).busy;
            assert_eq!(busy, Nanos(ERASE_END + READ + resume));
            assert_eq!(bench.nand.suspensions(), [0, 0, 1, 0]);
        }
    }
}

#[test]
fn what_is_over_or_on_the_bus_is_not_suspended() {
    let mut bench = suspends(true, 7);
    bench.submit(0, erase(0));
    bench.read(ERASE_END, 0, 50, 1);
    bench.finish();
    assert_eq!(bench.log.span(0), (0, ERASE_END));
    assert_eq!(bench.log.span(1), (ERASE_END, ERASE_END + READ));
    assert_eq!(bench.nand.suspensions(), [0; 4]);
    // Command and data on the bus up to 530: the read waits for that.
    let mut bench = suspends(true, 7);
    bench.program(0, 0, 500, 0);
    bench.read(100, 0, 50, 1);
    bench.finish();
    assert_eq!(bench.log.span(1), (530, 530 + READ));
    assert_eq!(bench.log.span(0), (0, 1530 + READ + 7));
    assert_eq!(bench.log.of(0).last_transfer, Nanos(530));
}

#[test]
fn all_reads_that_wait_run_before_it_goes_on() {
    for reads in 1..6u64 {
        let mut bench = suspends(false, 40);
        bench.submit(0, erase(0));
        bench.read(1000, 0, 50, 1);
        // They come while the first one runs.
        for token in 1..reads {
            bench.read(1010 + token, 0, 50, 1 + token as u32);
        }
        bench.finish();
        for token in 0..reads {
            let start = 1000 + token * READ;
            assert_eq!(bench.log.span(1 + token as u32), (start, start + READ));
        }
        assert_eq!(bench.log.span(0), (0, ERASE_END + reads * READ + 40));
        assert_eq!(bench.nand.suspensions(), [0, 0, 1, 0]);
    }
}

/// The second read comes while the erase makes up for the first suspension.
#[test]
fn every_suspension_adds_the_penalty_in_full() {
    let mut bench = suspends(false, 200);
    bench.submit(0, erase(0));
    bench.read(1000, 0, 50, 1);
    bench.read(1000 + READ + 30, 0, 50, 2);
    bench.finish();
    assert_eq!(bench.log.span(2), (1200, 1200 + READ));
    assert_eq!(bench.log.span(0), (0, ERASE_END + 2 * (READ + 200)));
}

#[test]
fn programs_and_copybacks_are_suspended_only_if_told() {
    let copyback = FlashCommand::copyback(ChipId(0), 0);
    let program = FlashCommand::program(ChipId(0), Nanos(0), 0);
    for (command, alone) in [(program, 1030), (copyback, 1100)] {
        for (programs, read_at) in [(true, 600), (false, alone)] {
            let mut bench = suspends(programs, 3);
            bench.submit(0, command);
            bench.read(600, 0, 50, 1);
            bench.finish();
            assert_eq!(bench.log.span(1).0, read_at);
            let more = u64::from(programs) * (READ + 3);
            assert_eq!(bench.log.span(0), (0, alone + more));
        }
    }
}

#[test]
fn a_multi_plane_program_is_suspended_as_one() {
    let mut bench = suspends(true, 11);
    let planes = FlashCommand::program(ChipId(0), Nanos(90), 0).planes(3);
    bench.submit(0, planes);
    bench.read(700, 0, 50, 1);
    bench.finish();
    // Three commands and all data: 180.
    assert_eq!(bench.log.span(0), (0, 1180 + READ + 11));
    assert_eq!(bench.nand.suspensions(), [0, 1, 0, 0]);
    assert_eq!(bench.nand.chip_stats(ChipId(0)).of(OpKind::Program), 3);
}

/// In a FIFO the read stands behind the program, and suspends that; if reads go first, the erase.
#[test]
fn only_the_read_that_is_next_suspends() {
    let run = |discipline| {
        let mut bench = Bench::with(&ArrayConfig {
            queue: discipline,
            ..with(true, 0)
        });
        bench.submit(0, erase(0).class(Class::Host));
        bench.program(100, 0, 0, 1);
        bench.read(200, 0, 50, 2);
        bench.finish();
        [0, 1, 2].map(|token| bench.log.span(token))
    };
    let end = ERASE_END + 1030 + READ;
    let at = ERASE_END + 30;
    assert_eq!(
        run(QueueOrder::Fifo),
        [(0, ERASE_END), (ERASE_END, end), (at, at + READ)]
    );
    assert_eq!(
        run(QueueOrder::ReadFirst),
        [
            (0, ERASE_END + READ),
            (ERASE_END + READ, end),
            (200, 200 + READ)
        ]
    );
}

/// Host work that waits for the erase stands in front of the read of a FIFO; if reads go first, behind it.
#[test]
fn a_read_behind_a_program_that_waits_for_the_erase_suspends_nothing() {
    for (discipline, programs) in [
        (QueueOrder::Fifo, false),
        (QueueOrder::Fifo, true),
        (QueueOrder::ReadFirst, false),
    ] {
        let mut bench = Bench::with(&ArrayConfig {
            queue: discipline,
            ..with(programs, 0)
        });
        let id = bench.submit(0, erase(0));
        let program = FlashCommand::program(ChipId(0), Nanos(0), 1).after(id);
        bench.submit(100, program);
        bench.read(200, 0, 50, 2);
        bench.finish();
        let spans = [0, 1, 2].map(|token| bench.log.span(token));
        let wanted = match (discipline, programs) {
            (QueueOrder::Fifo, false) => [
                (0, ERASE_END),
                (ERASE_END, ERASE_END + 1030),
                (ERASE_END + 1030, ERASE_END + 1030 + READ),
            ],
            // The read suspends the program, which is in front of it no more.
            (QueueOrder::Fifo, true) => [
                (0, ERASE_END),
                (ERASE_END, ERASE_END + 1030 + READ),
                (ERASE_END + 30, ERASE_END + 30 + READ),
            ],
            (QueueOrder::ReadFirst, _) => [
                (0, ERASE_END + READ),
                (ERASE_END + READ, ERASE_END + READ + 1030),
                (200, 200 + READ),
            ],
        };
        assert_eq!(spans, wanted, "{discipline:?}, {programs}");
    }
}

/// The program waits for the last operation of the job, whichever of its operations runs.
#[test]
fn a_read_behind_a_program_that_waits_for_a_job_suspends_nothing_of_it() {
    let chip = ChipId(0);
    let commands = [
        FlashCommand::read(chip, Nanos(40), 0),
        FlashCommand::program(chip, Nanos(40), 1),
        erase(2),
    ];
    // Read up to 160, program in the array from 230, erase from 1240, end at 1230 + ERASE_END.
    let end = 1230 + ERASE_END;
    for read_at in [300, 1500] {
        let mut bench = suspends(true, 0);
        let job = bench.job(0, JobKind::Foreground, &commands);
        bench.submit(
            10,
            FlashCommand::program(chip, Nanos(0), 3).after(job.last()),
        );
        bench.read(read_at, 0, 50, 4);
        bench.finish();
        assert_eq!(bench.log.span(2), (1230, end), "read at {read_at}");
        assert_eq!(bench.log.span(4), (end + 30, end + 30 + READ));
        assert_eq!(bench.nand.suspensions(), [0, 1, 0, 0]);
    }
    // Between two operations of a job that is open to the host the read goes first in any case.
    let mut bench = suspends(true, 0);
    let job = bench.job(0, JobKind::Background, &commands);
    bench.submit(
        10,
        FlashCommand::program(chip, Nanos(0), 3).after(job.last()),
    );
    bench.read(300, 0, 50, 4);
    bench.finish();
    assert_eq!(bench.log.span(4), (300, 300 + READ));
}

/// One read has suspended the erase when the program comes, and another read after that.
#[test]
fn a_suspended_erase_goes_on_before_a_program_that_waits_for_it() {
    let mut bench = suspends(false, 7);
    let id = bench.submit(0, erase(0));
    bench.read(1000, 0, 50, 1);
    bench.submit(
        1010,
        FlashCommand::program(ChipId(0), Nanos(0), 2).after(id),
    );
    bench.read(1020, 0, 50, 3);
    bench.until(1021);
    // The erase with its penalty, the program, and the second read.
    let end = ERASE_END + READ + 7;
    let drain = bench.nand.drain_time(ChipId(0), Class::Host);
    assert_eq!(drain, Nanos(end + 1030 + READ - 1021));
    bench.finish();
    assert_eq!(bench.log.span(0), (0, end));
    assert_eq!(bench.log.span(2), (end, end + 1030));
    assert_eq!(bench.log.span(3), (end + 1030, end + 1030 + READ));
}

#[test]
fn reads_of_others_than_the_host_suspend_nothing() {
    for class in [Class::Gc, Class::Background] {
        let mut bench = suspends(true, 0);
        bench.submit(0, erase(0));
        bench.submit(
            100,
            FlashCommand::read(ChipId(0), Nanos(50), 1).class(class),
        );
        bench.finish();
        assert_eq!(bench.log.span(0), (0, ERASE_END));
        assert_eq!(bench.log.span(1).0, ERASE_END);
    }
}

/// Nothing else comes between the operations of a job, and reads come only where it is suspended.
#[test]
fn a_job_that_keeps_the_chip_goes_on_after_the_read() {
    let mut bench = suspends(false, 0);
    let chip = ChipId(0);
    let commands = [
        FlashCommand::read(chip, Nanos(40), 0),
        FlashCommand::program(chip, Nanos(40), 1),
        erase(2),
    ];
    bench.job(0, JobKind::Foreground, &commands);
    bench.read(10, 0, 50, 3);
    bench.program(20, 0, 0, 4);
    bench.finish();
    // Read up to 160, program up to 1230, erase in the array from 1240.
    assert_eq!(bench.log.span(1), (160, 1230));
    assert_eq!(bench.log.span(3), (1240, 1240 + READ));
    assert_eq!(bench.log.span(2), (1230, 1230 + ERASE_END + READ));
    assert_eq!(bench.log.span(4).0, 1230 + ERASE_END + READ);
}

#[test]
fn what_waits_for_it_waits_for_its_end() {
    let mut bench = suspends(true, 9);
    let id = bench.submit(0, erase(0).notify_end());
    bench.read(300, 0, 50, 1);
    bench.until(350);
    assert_eq!(bench.nand.state(id), OpState::Started);
    bench.submit(360, FlashCommand::read(ChipId(0), Nanos(50), 2).after(id));
    bench.finish();
    let end = ERASE_END + READ + 9;
    assert_eq!(bench.log.ended, [(0, end)]);
    assert_eq!(bench.log.span(2), (end, end + READ));
    assert_eq!(bench.nand.state(id), OpState::Finished);
}

/// The time that resuming will add is known while operations wait.
#[test]
fn the_drain_time_is_exact() {
    let chip = ChipId(0);
    for discipline in [QueueOrder::Fifo, QueueOrder::ReadFirst] {
        for (programs, resume) in [(true, 0), (true, 90), (false, 33)] {
            let config = ArrayConfig {
                queue: discipline,
                ..with(programs, resume)
            };
            let mut bench = Bench::with(&config);
            let job = [
                FlashCommand::program(chip, Nanos(10), NO_TOKEN),
                erase(NO_TOKEN),
            ];
            let mut drains = Vec::new();
            for (i, at) in [0, 5, 40, 800, 900, 2000, 6100, 6200]
                .into_iter()
                .enumerate()
            {
                match i {
                    1 | 4 | 6 => drop(bench.read(at, 0, 50, i as u32)),
                    3 => drop(bench.job(at, JobKind::Foreground, &job)),
                    _ => drop(bench.program(at, 0, 20, i as u32)),
                }
                let mut alone = bench.nand.clone();
                while alone.step(Nanos::NEVER).is_some() {}
                let end = alone.end_of_work();
                let drain = bench.nand.drain_time(chip, Class::BackgroundGc);
                assert_eq!(Nanos(at) + drain, end, "{config:?} after {i} at {at}");
                drains.push(drain);
            }
            assert!(drains.iter().all(|&drain| drain > Nanos(0)));
        }
    }
}

#[test]
fn array_times_may_be_told_when_a_background_program_has_started() {
    let config = ArrayConfig {
        late_times: true,
        ..one_chip()
    };
    let mut bench = Bench::with(&config);
    let program = FlashCommand::program(ChipId(0), Nanos(20), 0).class(Class::Background);
    let id = bench.submit(0, program);
    assert_eq!(bench.nand.residual(ChipId(0)), Nanos(50 + 1000), "so far");
    bench.nand.set_array_time(id, Nanos(300));
    assert_eq!(bench.nand.residual(ChipId(0)), Nanos(50 + 300));
    bench.finish();
    assert_eq!(bench.log.span(0), (0, 350));
    // Nothing on the bus: its array phase begins when its time is told.
    let timing = Timing {
        t_cmd_program: Nanos(0),
        ..plain()
    };
    let mut bench = Bench::with(&ArrayConfig { timing, ..config });
    let id = bench.submit(
        7,
        FlashCommand {
            transfer: Nanos(0),
            ..program
        },
    );
    bench.at(7, |nand| nand.set_array_time(id, Nanos(0)));
    assert_eq!(bench.log.span(0), (7, 7));
}

#[test]
fn a_shared_program_takes_the_longest_time_of_its_pages() {
    let mut bench = Bench::new(1, 1, plain());
    bench.nand.hold();
    let mut first = FlashCommand::program(ChipId(0), Nanos(20), 0);
    first.array = Some(Nanos(400));
    let id = bench.submit(0, first);
    for time in [700, 600] {
        bench.nand.join(id, Nanos(20), 0, Some(Nanos(time)));
    }
    let drain = bench.nand.drain_time(ChipId(0), Class::Host);
    assert_eq!(drain, Nanos(3 * 50 + 700));
    bench.nand.resume(Nanos(0));
    bench.finish();
    assert_eq!(bench.log.span(0), (0, 3 * 50 + 700));
}
