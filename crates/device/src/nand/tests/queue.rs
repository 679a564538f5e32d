//! Order of operations in the queue of a chip.

use super::*;

#[test]
fn classes_go_in_order_and_a_started_operation_stays() {
    let mut bench = Bench::new(1, 1, plain());
    let class = |class, token| FlashCommand::program(ChipId(0), Nanos(0), token).class(class);
    let first = bench.submit(0, class(Class::Background, 0));
    let second = bench.submit(0, class(Class::Background, 1));
    bench.submit(5, class(Class::Gc, 2));
    bench.submit(6, class(Class::Host, 3));
    assert_eq!(bench.nand.background(ChannelId(0)), (1, 1));
    assert_eq!(bench.nand.state(first), OpState::Started);
    assert_eq!(bench.nand.state(second), OpState::Waiting);
    assert!(!bench.cancel(7, first), "started");
    let drains = Class::ALL.map(|class| bench.nand.drain_time(ChipId(0), class).0);
    let below = 1023 + 3090;
    assert_eq!(drains, [1023 + 1030, 1023 + 2060, below, below]);
    bench.finish();
    let starts = [0, 3, 2, 1].map(|token| bench.log.of(token).start.0);
    assert_eq!(starts, [0, 1030, 2060, 3090]);
    assert_eq!(bench.log.ended, [(0, 1030), (1, 4120)]);
    assert_eq!(bench.nand.state(second), OpState::Finished);
}

#[test]
fn a_background_operation_without_the_bus_has_not_started() {
    let mut bench = Bench::new(1, 2, plain());
    bench.program(0, 1, 70, 0); // bus 0-100
    let waiting = FlashCommand::program(ChipId(0), Nanos(0), 1).class(Class::Background);
    bench.submit(10, waiting);
    bench.program(20, 0, 0, 2);
    let doomed = bench.submit(
        30,
        FlashCommand {
            token: 3,
            ..waiting
        },
    );
    assert!(bench.cancel(40, doomed));
    assert!(!bench.cancel(40, doomed), "gone");
    bench.finish();
    assert_eq!(
        bench.log.of(2).start,
        Nanos(100),
        "host work takes its place"
    );
    assert_eq!(bench.log.of(1).start, Nanos(1130));
    assert_eq!(bench.nand.started(OpKind::Program), 3);
}

#[test]
fn reads_first_but_not_past_their_own_program() {
    let config = ArrayConfig {
        chips_per_channel: 2,
        queue: QueueOrder::ReadFirst,
        ..one_chip()
    };
    let mut bench = Bench::with(&config);
    let chip = ChipId(0);
    bench.program(0, 0, 0, 0); // until 1030
    bench.program(1, 0, 0, 1);
    bench.submit(2, FlashCommand::read(chip, Nanos(10), 2).in_order());
    bench.program(3, 0, 0, 3);
    bench.read(4, 0, 10, 4);
    bench.finish();
    let mut order = bench.log.times.clone();
    order.sort_by_key(|t| t.1.start);
    let order: Vec<u32> = order.iter().map(|t| t.0).collect();
    assert_eq!(order, [0, 4, 1, 2, 3]);

    // A read-modify-write whose read is elsewhere: its program is not in the queue yet.
    let mut bench = Bench::with(&config);
    let old = bench.read(0, 1, 10, 0); // ends 130
    bench.submit(0, FlashCommand::program(chip, Nanos(0), 1).after(old));
    bench.submit(5, FlashCommand::read(chip, Nanos(10), 2).in_order());
    bench.read(6, 0, 10, 3);
    assert_eq!(
        bench.nand.host_writes(chip),
        1,
        "waits in the queue of its chip"
    );
    bench.finish();
    assert_eq!(bench.log.span(0), (0, 130));
    assert_eq!(
        bench.log.span(3),
        (20, 20 + 20 + 100 + 10),
        "bus free at 20"
    );
    assert_eq!(bench.log.span(1), (150, 150 + 1030));
    assert_eq!(bench.log.span(2), (1180, 1310));
}

#[test]
fn dependent_enters_at_the_end_of_the_other_with_its_own_number() {
    let mut bench = Bench::new(2, 1, plain());
    let read = bench.read(0, 0, 30, 0); // ends 150
    let program = FlashCommand::program(ChipId(1), Nanos(0), 1);
    let own = bench.submit(0, program.after(read));
    bench.program(140, 1, 0, 2); // chip 1 is free: not held up by the blocked one
    bench.program(141, 1, 0, 3);
    bench.until(149);
    assert_eq!(bench.nand.state(own), OpState::Waiting);
    bench.finish();
    assert_eq!(bench.log.span(2), (140, 1170));
    assert_eq!(
        bench.log.span(1),
        (1170, 2200),
        "its number is before that of 3"
    );
    assert_eq!(bench.log.span(3), (2200, 3230));
    // The end of the other is a state change: the dependent starts at that very instant.
    let mut bench = Bench::new(2, 1, plain());
    let read = bench.read(0, 0, 30, 0);
    bench.submit(0, program.after(read));
    bench.program(150, 1, 0, 2);
    bench.finish();
    assert_eq!((bench.log.span(1).0, bench.log.span(2).0), (150, 1180));
    // Nothing to wait for any more.
    let late = bench.submit(4000, program.after(read));
    assert_eq!(bench.nand.state(late), OpState::Started);
}

#[test]
fn cancelling_releases_what_depends_on_it() {
    let mut bench = Bench::new(2, 1, plain());
    bench.program(0, 0, 0, 0);
    let read = FlashCommand::read(ChipId(0), Nanos(30), 1).class(Class::Background);
    let read = bench.submit(1, read);
    let program = FlashCommand::program(ChipId(1), Nanos(0), 2).class(Class::Background);
    let first = bench.submit(1, program.after(read));
    let second = FlashCommand {
        token: 3,
        ..program
    };
    let second = bench.submit(1, second.after(read));
    assert!(bench.cancel(2, first), "the last of the pair first");
    assert!(bench.cancel(3, read));
    assert_eq!(bench.nand.state(second), OpState::Started);
    bench.finish();
    assert_eq!(bench.log.span(3), (3, 1033));
    assert_eq!(bench.log.times.len(), 2);
}
