//! Exact times of small cases, most of them reckoned by hand or by formula.

mod activity;
mod early_grants;
mod jobs;
mod operations;
mod peers;
mod queue;
mod suspend;

use super::*;
use crate::config::QueueOrder;
use destage_types::{ChannelId, ChipId, Nanos};

#[derive(Default)]
struct Log {
    times: Vec<(u32, OpTimes)>,
    ended: Vec<(u32, u64)>,
    idle: Vec<(u32, u64)>,
}

impl Log {
    fn take(&mut self, nand: &mut Nand) {
        for notice in nand.drain_notices() {
            match notice {
                Notice::Timed { token, times } => self.times.push((token, times)),
                Notice::Ended { token, at } => self.ended.push((token, at.0)),
                Notice::Started { .. } | Notice::Moved { .. } => {}
                Notice::Idle { channel, at } => self.idle.push((channel.0, at.0)),
            }
        }
    }
    fn of(&self, token: u32) -> OpTimes {
        let found = self.times.iter().find(|t| t.0 == token);
        found.expect("the operation has run").1
    }
    fn span(&self, token: u32) -> (u64, u64) {
        (self.of(token).start.0, self.of(token).end.0)
    }
    fn last_end(&self) -> u64 {
        self.times.iter().map(|t| t.1.end.0).max().unwrap()
    }
    fn last_transfer(&self) -> u64 {
        let ends = self.times.iter().map(|t| t.1.last_transfer.0);
        ends.max().unwrap()
    }
}

/// Round numbers: read 20 + 100 + transfer, program 30 + transfer + 1000, erase 10 + 5000.
fn plain() -> Timing {
    Timing {
        t_cmd_read: Nanos(20),
        t_cmd_program: Nanos(30),
        t_cmd_erase: Nanos(10),
        t_read: Nanos(100),
        t_program: Nanos(1000),
        t_erase: Nanos(5000),
        t_ready: Nanos(0),
    }
}

/// One chip, FIFO.
fn one_chip() -> ArrayConfig {
    ArrayConfig {
        channels: 1,
        chips_per_channel: 1,
        timing: plain(),
        queue: QueueOrder::Fifo,
        watch_idle: false,
        suspension: None,
        late_times: false,
    }
}

struct Bench {
    nand: Nand,
    log: Log,
}

impl Bench {
    fn new(channels: u32, chips_per_channel: u32, timing: Timing) -> Bench {
        Bench::with(&ArrayConfig {
            channels,
            chips_per_channel,
            timing,
            ..one_chip()
        })
    }

    fn with(config: &ArrayConfig) -> Bench {
        Bench {
            nand: Nand::new(config),
            log: Log::default(),
        }
    }

    /// Lets time pass up to `at`, then does something with the array, and logs what comes of both.
    fn at<T>(&mut self, at: u64, f: impl FnOnce(&mut Nand) -> T) -> T {
        self.nand.advance(Nanos(at));
        let result = f(&mut self.nand);
        self.log.take(&mut self.nand);
        result
    }

    fn submit(&mut self, at: u64, command: FlashCommand) -> OpId {
        self.at(at, |nand| nand.submit(Nanos(at), command))
    }

    fn read(&mut self, at: u64, chip: u32, transfer: u64, token: u32) -> OpId {
        self.submit(at, FlashCommand::read(ChipId(chip), Nanos(transfer), token))
    }

    fn program(&mut self, at: u64, chip: u32, transfer: u64, token: u32) -> OpId {
        self.submit(
            at,
            FlashCommand::program(ChipId(chip), Nanos(transfer), token),
        )
    }

    fn job(&mut self, at: u64, kind: JobKind, commands: &[FlashCommand]) -> JobId {
        self.at(at, |nand| nand.submit_job(Nanos(at), kind, commands))
    }

    fn cancel_job(&mut self, at: u64, job: JobId) -> bool {
        self.at(at, |nand| nand.cancel_job(Nanos(at), job))
    }

    fn cancel(&mut self, at: u64, id: OpId) -> bool {
        self.at(at, |nand| nand.cancel(Nanos(at), id))
    }

    fn until(&mut self, at: u64) {
        self.at(at, |_| ());
    }

    fn finish(&mut self) {
        while self.nand.step(Nanos::NEVER).is_some() {}
        self.log.take(&mut self.nand);
    }

    /// `pages` operations over all chips in turn, all at 0: one host request, striped.
    fn stripe(mut self, kind: OpKind, pages: u32, transfer: u64) -> Log {
        let chips = self.nand.chips();
        for page in 0..pages {
            let chip = ChipId(page % chips);
            self.submit(0, FlashCommand::new(kind, chip, Nanos(transfer), page));
        }
        self.finish();
        self.log
    }
}

#[test]
fn bus_goes_to_the_longest_wait_then_the_lowest_number() {
    let mut bench = Bench::new(1, 4, plain());
    bench.program(0, 0, 70, 0); // bus 0-100
    bench.program(50, 3, 10, 1);
    bench.program(60, 2, 10, 2);
    bench.program(60, 1, 10, 3);
    bench.finish();
    let starts = [0, 1, 2, 3].map(|token| bench.log.of(token).start.0);
    assert_eq!(starts, [0, 100, 140, 180]);
}

#[test]
fn read_data_waits_for_the_bus_and_holds_the_die() {
    let mut bench = Bench::new(1, 2, plain());
    bench.read(0, 0, 40, 0); // data ready at 120
    bench.program(115, 1, 70, 1); // bus 115-215
    bench.read(130, 0, 40, 2);
    bench.until(130);
    assert_eq!(
        bench.nand.residual(ChipId(0)),
        Nanos(40),
        "without the wait"
    );
    assert_eq!(bench.nand.host_reads(ChipId(0)), 2);
    bench.finish();
    assert_eq!(bench.log.span(0), (0, 255));
    assert_eq!(bench.log.span(2), (255, 255 + 160));
    let stats = bench.nand.chip_stats(ChipId(0));
    assert_eq!((stats.busy, stats.stalled), (Nanos(255 + 160), Nanos(95)));
    assert_eq!(bench.nand.bus_time(ChannelId(0)), Nanos(60 + 100 + 60));
}

#[test]
fn operations_that_take_no_time() {
    let mut bench = Bench::new(1, 2, Timing::default());
    for token in 0..6 {
        bench.submit(7, FlashCommand::read(ChipId(token % 2), Nanos(0), token));
        assert_eq!(
            bench.log.span(token),
            (7, 7),
            "settled before the call returns"
        );
    }
    let mut bench = Bench::new(1, 2, Timing::default());
    let first = bench.read(0, 0, 4, 0);
    bench.submit(
        0,
        FlashCommand::program(ChipId(1), Nanos(0), 1).after(first),
    );
    bench.read(0, 0, 0, 2);
    bench.finish();
    let spans = [0, 1, 2].map(|token| bench.log.span(token));
    assert_eq!(spans, [(0, 4), (4, 4), (4, 4)]);
}

#[test]
fn idle_channels_are_reported_at_the_instant() {
    let config = ArrayConfig {
        channels: 2,
        chips_per_channel: 2,
        watch_idle: true,
        ..one_chip()
    };
    let mut bench = Bench::with(&config);
    bench.program(0, 0, 0, 0); // channel 0, until 1030
    bench.read(10, 2, 50, 1); // channel 0, bus 30-50, data 150-200
    assert!(!bench.nand.is_channel_idle(ChannelId(0)));
    assert!(bench.nand.is_channel_idle(ChannelId(1)));
    bench.until(1029);
    assert!(bench.log.idle.is_empty());
    bench.until(1030);
    assert_eq!(bench.log.idle, [(0, 1030)]);
    // Background work keeps a channel from being idle only while it uses the bus.
    let command = FlashCommand::program(ChipId(1), Nanos(70), 2).class(Class::Background);
    bench.submit(2000, command);
    assert!(!bench.nand.is_channel_idle(ChannelId(1)));
    bench.until(2100);
    assert!(bench.nand.is_channel_idle(ChannelId(1)));
    assert_eq!(bench.log.idle, [(0, 1030), (1, 2100)]);
    bench.finish();
    assert_eq!(bench.log.ended, [(2, 3100)]);
}

#[test]
fn unseen_ends_raise_no_event() {
    let mut bench = Bench::new(1, 1, plain());
    bench.program(0, 0, 0, 0);
    assert_eq!(bench.nand.next_event_time(), Nanos::NEVER);
    bench.until(1029);
    assert_eq!(bench.nand.host_writes(ChipId(0)), 1);
    bench.until(1030);
    assert_eq!(bench.nand.host_writes(ChipId(0)), 0);
    let noticed = FlashCommand::program(ChipId(0), Nanos(0), 1).notify_end();
    bench.submit(1030, noticed);
    assert_eq!(bench.nand.next_event_time(), Nanos(2060));
    bench.finish();
    assert_eq!(bench.log.ended, [(1, 2060)]);
}

#[test]
fn drain_time_is_exact_on_a_channel_of_its_own() {
    let mut bench = Bench::new(4, 1, plain());
    for token in 0..9 {
        let kind = [OpKind::Read, OpKind::Program, OpKind::Erase][token as usize % 3];
        let class = Class::ALL[token as usize / 3];
        let command = FlashCommand::new(kind, ChipId(2), Nanos(15), token);
        bench.submit(u64::from(token) * 7, command.class(class));
    }
    let drain = bench.nand.drain_time(ChipId(2), Class::Background);
    let free = bench.nand.now() + drain;
    bench.finish();
    assert_eq!(bench.log.last_end(), free.0);
    assert_eq!(
        free,
        Nanos(3 * (20 + 100 + 15 + 30 + 15 + 1000 + 10 + 5000))
    );
}

/// The queue of the worked example `tim` (one chip, program 200 us).
#[test]
fn evictions_wait_for_the_ones_before() {
    let times = Timing {
        t_program: Nanos(200_000),
        ..Timing::default()
    };
    let mut bench = Bench::new(1, 1, times);
    for (token, at) in [10, 20, 700, 710].into_iter().enumerate() {
        bench.program(at * 1000, 0, 0, token as u32);
    }
    bench.finish();
    let spans = [0, 1, 2, 3].map(|token| {
        let (start, end) = bench.log.span(token);
        (start / 1000, end / 1000)
    });
    assert_eq!(spans, [(10, 210), (210, 410), (700, 900), (900, 1100)]);
}

/// CQCT column of the worked example `ecr`: queue drain times of two chips.
#[test]
fn drain_times_of_the_ecr_example() {
    let times = Timing {
        t_read: Nanos(25),
        t_program: Nanos(200),
        ..Timing::default()
    };
    let mut bench = Bench::new(2, 1, times);
    let cqct = |bench: &mut Bench, at| {
        bench.until(at);
        [0, 1].map(|chip| bench.nand.drain_time(ChipId(chip), Class::Host).0)
    };
    bench.read(30, 1, 0, 0);
    assert_eq!(cqct(&mut bench, 40), [0, 15]);
    bench.program(50, 0, 0, 1);
    assert_eq!(cqct(&mut bench, 50), [200, 5]);
    bench.program(60, 1, 0, 2);
    assert_eq!(cqct(&mut bench, 60), [190, 200]);
    bench.program(70, 0, 0, 3);
    assert_eq!(cqct(&mut bench, 70), [380, 190]);
    bench.read(300, 1, 0, 4);
    bench.program(300, 1, 0, 5);
    assert_eq!(cqct(&mut bench, 300), [150, 225]);
    bench.program(320, 0, 0, 6);
    bench.program(330, 0, 0, 7);
    assert_eq!(cqct(&mut bench, 330), [520, 195]);
}

#[test]
fn large_arrays() {
    for (channels, per) in [(300, 1), (1, 300), (64, 128)] {
        let bench = Bench::new(channels, per, plain());
        let log = bench.stripe(OpKind::Program, 2 * channels * per, 50);
        // Two rounds: either the bus never rests, or the die of the only chip does not.
        let (bus, array) = (30 + 50, 1000);
        let end = match per {
            1 => 2 * (bus + array),
            _ => 2 * u64::from(per) * bus + array,
        };
        assert_eq!(log.last_end(), end, "{channels} channels with {per} chips");
    }
}

#[test]
fn a_second_pass_needs_no_more_room() {
    let mut bench = Bench::new(2, 2, plain());
    let mut room = [0; 2];
    for pass in 0..2u64 {
        for i in 0..500u64 {
            bench.program(pass * 1_000_000 + i * 200, (i * i % 4) as u32, 9, 0);
        }
        bench.until((pass + 1) * 1_000_000);
        room[pass as usize] = bench.nand.backlog_capacity();
    }
    assert!(room[0] > 100 && room[0] == room[1]);
}

#[test]
#[should_panic(expected = "advance to the time of submission first")]
fn events_cannot_be_jumped_over() {
    let mut nand = Nand::new(&one_chip());
    nand.submit(Nanos(0), FlashCommand::read(ChipId(0), Nanos(5), 0));
    nand.submit(Nanos(900), FlashCommand::read(ChipId(0), Nanos(5), 1));
}

#[test]
#[should_panic(expected = "time runs backwards")]
fn time_cannot_run_backwards() {
    let mut bench = Bench::new(1, 1, plain());
    bench.until(10);
    bench.nand.advance(Nanos(9));
}

#[test]
#[should_panic(expected = "queue units")]
fn an_array_has_chips() {
    Bench::new(4, 0, plain());
}
