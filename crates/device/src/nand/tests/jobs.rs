//! Collections, in front of host work and behind it.

use super::*;

/// `pages` pages and the erase, each operation with a token from `token` on.
fn collection(
    chip: u32,
    pages: u32,
    copyback: bool,
    transfer: u64,
    token: u32,
) -> Vec<FlashCommand> {
    let chip = ChipId(chip);
    let mut commands = Vec::new();
    for _ in 0..pages {
        if copyback {
            commands.push(FlashCommand::copyback(chip, 0));
        } else {
            commands.push(FlashCommand::read(chip, Nanos(transfer), 0));
            commands.push(FlashCommand::program(chip, Nanos(transfer), 0));
        }
    }
    commands.push(FlashCommand::erase(chip, 0));
    for (i, command) in commands.iter_mut().enumerate() {
        command.token = token + i as u32;
    }
    commands
}

/// Read 130, program 1040, erase 5010, copyback 1100.
const X: u64 = 10;

fn after(job: JobId, chip: u32, token: u32) -> FlashCommand {
    FlashCommand::program(ChipId(chip), Nanos(X), token).after(job.last())
}

#[test]
fn nothing_starts_inside_a_job() {
    for discipline in [QueueOrder::Fifo, QueueOrder::ReadFirst] {
        let mut bench = Bench::with(&ArrayConfig {
            queue: discipline,
            ..one_chip()
        });
        let chip = ChipId(0);
        bench.program(0, 0, X, 0); // until 1040
        let job = bench.job(1, JobKind::Foreground, &collection(0, 2, false, X, 10));
        bench.submit(2, after(job, 0, 1));
        bench.read(3, 0, X, 2);
        assert!(bench.nand.in_gc(chip), "scheduled");
        let whole = 2 * (130 + 1040) + 5010;
        assert_eq!(bench.nand.gc_remaining(chip), Some(Nanos(whole)));
        // Only a read that goes first passes the job, and only before it starts.
        let start = match discipline {
            QueueOrder::Fifo => 1040,
            QueueOrder::ReadFirst => 1170,
        };
        bench.until(start + 130 + 100);
        assert_eq!(
            bench.nand.gc_remaining(chip),
            Some(Nanos(whole - 230)),
            "the operation in service counts with its rest"
        );
        assert_eq!(
            bench.nand.in_service(chip),
            Some((OpKind::Program, Class::Gc))
        );
        bench.read(2000, 0, X, 3);
        bench.until(start + whole - 1);
        assert!(bench.nand.in_gc(chip) && bench.nand.any_in_gc());
        bench.until(start + whole);
        assert!(!bench.nand.in_gc(chip) && !bench.nand.any_in_gc());
        bench.finish();
        let spans: Vec<u64> = (10..15).map(|token| bench.log.span(token).1).collect();
        let ends = [130, 1170, 1300, 2340, 7350].map(|end| start + end);
        assert_eq!(spans, ends);
        let end = start + whole;
        match discipline {
            QueueOrder::Fifo => {
                assert_eq!(bench.log.span(1), (end, end + 1040));
                assert_eq!(bench.log.span(2).0, end + 1040);
                assert_eq!(bench.log.span(3).0, end + 1170);
            }
            QueueOrder::ReadFirst => {
                assert_eq!(bench.log.span(2), (1040, 1170));
                assert_eq!(bench.log.span(3), (end, end + 130));
                assert_eq!(bench.log.span(1), (end + 130, end + 1170));
            }
        }
    }
}

#[test]
fn jobs_queue_up() {
    let mut bench = Bench::new(2, 1, plain());
    let chip = ChipId(1);
    bench.job(0, JobKind::Foreground, &collection(1, 1, true, X, 10));
    let second = bench.job(5, JobKind::Foreground, &collection(1, 1, true, X, 20));
    bench.submit(10, after(second, 1, 1));
    assert_eq!(bench.nand.gc_remaining(chip), Some(Nanos(2 * 6110 - 10)));
    assert_eq!(bench.nand.gc_remaining(ChipId(0)), None);
    bench.until(6200);
    assert!(bench.nand.in_gc(chip), "the second one");
    assert!(!bench.nand.in_gc(ChipId(0)));
    bench.finish();
    let starts = [10, 11, 20, 21, 1].map(|token| bench.log.span(token).0);
    assert_eq!(starts, [0, 1100, 6110, 7210, 12220]);
    assert_eq!(
        OpKind::ALL.map(|kind| bench.nand.started(kind)),
        [0, 1, 2, 2]
    );
}

#[test]
fn background_job_gives_way_between_pages() {
    let mut bench = Bench::with(&ArrayConfig {
        watch_idle: true,
        ..one_chip()
    });
    let chip = ChipId(0);
    let job = bench.job(0, JobKind::Background, &collection(0, 2, false, X, 10));
    assert!(bench.nand.in_gc(chip));
    assert_eq!(bench.nand.state(job.first()), OpState::Started);
    assert!(!bench.cancel_job(20, job), "started");
    bench.read(50, 0, X, 0);
    bench.program(2400, 0, X, 1);
    let write_back = FlashCommand::program(chip, Nanos(X), 2).class(Class::Background);
    bench.submit(2400, write_back);
    bench.finish();
    assert_eq!(bench.log.span(11), (130, 1170), "a page is completed");
    assert_eq!(bench.log.span(0), (1170, 1300));
    assert_eq!(bench.log.span(13).1, 2470);
    assert_eq!(bench.log.span(1), (2470, 3510));
    assert_eq!(bench.log.span(2), (3510, 4550), "above background GC");
    assert_eq!(bench.log.span(14), (4550, 9560));
    assert_eq!(bench.log.idle, [(0, 9560)], "GC keeps the channel busy");
}

#[test]
fn background_job_taken_back() {
    let mut bench = Bench::new(1, 1, plain());
    bench.program(0, 0, X, 0);
    let job = bench.job(1, JobKind::Background, &collection(0, 3, false, X, 10));
    let behind = bench.submit(2, after(job, 0, 1));
    assert!(bench.nand.in_gc(ChipId(0)));
    assert!(bench.cancel_job(3, job));
    assert!(!bench.nand.in_gc(ChipId(0)));
    assert_eq!(bench.nand.state(job.first()), OpState::Finished);
    assert!(!bench.cancel_job(4, job), "gone");
    assert_eq!(bench.nand.state(behind), OpState::Waiting);
    let drain = bench.nand.drain_time(ChipId(0), Class::BackgroundGc);
    assert_eq!(drain, Nanos(1036 + 1040));
    bench.finish();
    assert_eq!(bench.log.span(1), (1040, 2080));
    assert_eq!(bench.log.times.len(), 2);
}

#[test]
fn job_goes_behind_programs_that_wait_elsewhere() {
    // A read-modify-write whose read is on chip 1: its page is among those collected.
    let mut bench = Bench::new(2, 1, plain());
    let read = bench.read(0, 1, X, 0); // until 130
    bench.submit(0, FlashCommand::program(ChipId(0), Nanos(X), 1).after(read));
    let job = bench.job(1, JobKind::Foreground, &collection(0, 1, true, X, 10));
    bench.program(2, 0, X, 2);
    bench.submit(3, after(job, 0, 3));
    bench.finish();
    assert_eq!(bench.log.span(2), (2, 1042));
    assert_eq!(bench.log.span(1), (1042, 2082));
    assert_eq!(bench.log.span(10), (2082, 3182));
    assert_eq!(bench.log.span(11), (3182, 8192));
    assert_eq!(bench.log.span(3), (8192, 9232), "the trigger stays behind");
}

#[test]
fn trigger_that_reads_first_waits_for_both() {
    for (late, start) in [(false, 6110), (true, 9060 + 130)] {
        let mut bench = Bench::new(2, 1, plain());
        if late {
            for erase in 0..2 {
                let before = FlashCommand::erase(ChipId(1), 90 + erase).class(Class::Host);
                bench.submit(
                    0,
                    FlashCommand {
                        array: Some(Nanos(4520)),
                        ..before
                    },
                );
            }
        }
        let job = bench.job(0, JobKind::Foreground, &collection(0, 1, true, X, 10));
        let read = bench.read(0, 1, X, 0);
        let program = FlashCommand::program(ChipId(0), Nanos(X), 1);
        bench.submit(0, program.after(read).after(job.last()));
        bench.finish();
        assert_eq!(bench.log.span(1).0, start);
    }
}

#[test]
fn jobs_need_no_more_room_in_a_second_pass() {
    let mut bench = Bench::new(2, 2, plain());
    let mut room = [0; 2];
    for pass in 0..2u64 {
        for i in 0..50u64 {
            let at = pass * 10_000_000 + i * 3_000;
            let kind = [JobKind::Foreground, JobKind::Background][i as usize % 2];
            bench.job(at, kind, &collection((i * i % 4) as u32, 3, false, 9, 0));
        }
        bench.until((pass + 1) * 10_000_000);
        room[pass as usize] = bench.nand.backlog_capacity();
    }
    assert!(room[0] > 50 && room[0] == room[1]);
}

#[test]
#[should_panic(expected = "a job stays on its chip")]
fn jobs_stay_on_their_chip() {
    let mut bench = Bench::new(1, 2, plain());
    let mut commands = collection(0, 1, true, X, 0);
    commands[1].chip = ChipId(1);
    bench.job(0, JobKind::Foreground, &commands);
}

#[test]
#[should_panic(expected = "a job is taken back as a whole")]
fn operations_of_a_job_are_not_cancelled() {
    let mut bench = Bench::new(1, 1, plain());
    bench.program(0, 0, X, 0);
    let job = bench.job(0, JobKind::Background, &collection(0, 1, true, X, 1));
    bench.cancel(1, job.first());
}
