//! Layers that are asked for write-backs after each page, when a program has ended, and at a time they
//! name: examples followed by hand. Random runs are in `device_model`.

use destage_conformance::reference::SlowRequest;
use destage_conformance::timed::runs::{
    device_of, outcome_however_built, programs, sectors, spec, times,
};
use destage_conformance::timed::{Outcome, TimedRun};
use destage_sim::live::{LiveDevice, LiveEvent};
use destage_types::{HostRequest, Nanos, Op};
use std::sync::Arc;

/// One chip of one plane, pages of 2 KiB, free transfers, reads in 10 ns, programs in 100, DRAM in 2.
const CHIP: &str = "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 \
                    pages_per_block=64 page_bytes=2048 t_read=10ns t_program=100ns t_cmd=0 t_byte=0 \
                    t_dram=2ns";

/// `list` is (operation, page, arrival).
fn run(expr: &str, frames: u32, list: &[(Op, u64, u64)]) -> Outcome {
    let page = |&(op, page, at): &(Op, u64, u64)| (op, page * 4, 4, at);
    let stream: Vec<_> = list.iter().map(page).collect();
    agreed(expr, frames, &sectors(&stream))
}

fn agreed(expr: &str, frames: u32, requests: &[SlowRequest]) -> Outcome {
    outcome_however_built(&TimedRun::new(expr, frames, device_of(CHIP)), requests)
}

use Op::{Read, Write};

/// The first page is handed over as it comes in, each other one as the program before it ends.
#[test]
fn pages_are_handed_over_one_behind_the_other() {
    let list = [
        (Write, 0, 0),
        (Write, 1, 10),
        (Write, 2, 20),
        (Read, 1, 350),
    ];
    let outcome = run("test-drain(fifo)", 8, &list);
    assert_eq!(
        programs(&outcome),
        [(0, 0, 100), (1, 100, 200), (2, 200, 300)]
    );
    assert_eq!(times(&outcome), [2; 4], "pages stay");
    assert_eq!(outcome.device_counts[0], 3);
    assert!(outcome.pages.values().all(|dirty| !dirty));
}

/// A read at 5 waits for the program of page 0. The one at 99 stands before page 1, which is handed over
/// at 100; that at 105 stands behind it, as behind any program of the host.
#[test]
fn programs_are_of_the_class_of_the_host() {
    let list = [
        (Write, 0, 0),
        (Write, 1, 1),
        (Read, 50, 5),
        (Read, 51, 99),
        (Read, 52, 105),
    ];
    let outcome = run("test-drain(fifo)", 8, &list);
    assert_eq!(programs(&outcome), [(0, 0, 100), (1, 120, 220)]);
    let waits = [2, 2, 110 - 5, 120 - 99, 230 - 105];
    assert_eq!(times(&outcome), waits);
}

/// A page that was handed over and is written again is dirty anew, and is handed over anew while
/// the first program runs. FLUSH waits for both.
#[test]
fn a_page_may_be_handed_over_twice() {
    let list = [(Write, 0, 4, 0), (Write, 0, 4, 50), (Op::Flush, 0, 0, 60)];
    let outcome = agreed("test-drain(fifo,depth=2)", 8, &sectors(&list));
    assert_eq!(programs(&outcome), [(0, 0, 100), (0, 100, 200)]);
    assert_eq!(times(&outcome), [2, 2, 140]);
    assert_eq!(outcome.counts.flash_writes_host, 2, "none is of FLUSH");
    // With one at a time FLUSH programs the page itself.
    let outcome = agreed("test-drain(fifo)", 8, &sectors(&list));
    assert_eq!(times(&outcome), [2, 2, 140]);
    assert_eq!(outcome.device_counts[0], 1);
}

/// The page that has been handed over leaves at 10 for page 1, whose request waits for its program.
/// Another program must not begin before it ended, so page 1 follows at 100.
#[test]
fn an_eviction_waits_for_the_program_of_its_page() {
    let outcome = run("test-drain(fifo)", 1, &[(Write, 0, 0), (Write, 1, 10)]);
    assert_eq!(programs(&outcome), [(0, 0, 100), (1, 100, 200)]);
    assert_eq!(times(&outcome), [2, 90]);
    assert_eq!(outcome.device_counts[..4], [1, 0, 0, 1], "one in flight");
}

/// Programs of evictions count as ends as well: page 1 is dirty when page 0 leaves for page 2.
#[test]
fn the_end_of_any_program_is_told() {
    let list = [
        (Write, 0, 0),
        (Write, 0, 10),
        (Write, 1, 20),
        (Write, 2, 30),
        (Read, 2, 500),
    ];
    let outcome = run("test-drain(fifo)", 2, &list);
    // Page 0 is dirty anew and leaves at 30, from 100 to 200. Page 1 follows the end of the first.
    let wanted = [(0, 0, 100), (0, 100, 200), (1, 200, 300), (2, 300, 400)];
    assert_eq!(programs(&outcome), wanted);
    assert_eq!(times(&outcome), [2, 2, 2, 170, 2]);
}

/// A page is handed over when it has been dirty for 1,000 ns, whatever was written to it meanwhile.
#[test]
fn pages_of_an_age_are_handed_over_at_that_time() {
    let list = [
        (Write, 0, 0),
        (Write, 1, 400),
        (Write, 0, 500),
        (Write, 0, 1_200),
        (Write, 2, 1_390),
        (Read, 0, 9_000),
    ];
    let outcome = run("test-age(lru,age=1000)", 8, &list);
    let wanted = [
        (0, 1_000, 1_100),
        (1, 1_400, 1_500),
        (0, 2_200, 2_300),
        (2, 2_390, 2_490),
    ];
    assert_eq!(programs(&outcome), wanted);
    assert_eq!(times(&outcome), [2; 6]);
}

/// In the class of the host the program stands before a read that comes later, in the background
/// behind it.
#[test]
fn the_class_says_what_stands_before_a_program() {
    let list = [
        (Write, 0, 0),
        (Read, 50, 995),
        (Read, 51, 999),
        (Read, 52, 1_010),
    ];
    let host = run("test-age(lru,age=1000)", 8, &list);
    assert_eq!(programs(&host), [(0, 1_015, 1_115)]);
    assert_eq!(times(&host), [2, 10, 16, 1_125 - 1_010]);
    let background = run("test-age-idle(lru,age=1000)", 8, &list);
    assert_eq!(programs(&background), [(0, 1_025, 1_125)]);
    assert_eq!(times(&background), [2, 10, 16, 1_025 - 1_010]);
}

/// The first time is the start, before what arrives then; a time without a dirty page passes.
#[test]
fn one_page_at_every_tick() {
    let list = [
        (Write, 0, 0),
        (Write, 1, 0),
        (Write, 2, 650),
        (Read, 0, 2_000),
    ];
    let outcome = run("test-tick(fifo,every=300)", 8, &list);
    let wanted = [(0, 300, 400), (1, 600, 700), (2, 900, 1_000)];
    assert_eq!(programs(&outcome), wanted);
}

/// A device that is fed by hand says when the scheme is asked next, and goes on so under another scheme
/// and after a power cut.
#[test]
fn a_live_device_wakes_for_the_time_that_was_named() {
    let device = Arc::new(device_of(&CHIP.replace("2048", "4096")));
    let spec = |expr: &str| spec(expr, Some(device.clone()));
    let mut device = LiveDevice::new(&spec("test-tick(fifo,every=300)"), "").unwrap();
    let mut out = Vec::new();
    let mut wake = |device: &mut LiveDevice, at: u64| {
        assert_eq!(device.next_event(), Some(Nanos(at)));
        device.advance(Nanos(at), &mut out);
        std::mem::take(&mut out)
    };
    wake(&mut device, 0);
    let write = |page: u64| HostRequest::new(Nanos::ZERO, Write, page * 8, 8);
    device.submit(Nanos(20), write(3)).unwrap();
    wake(&mut device, 22);
    let told = wake(&mut device, 300);
    assert!(matches!(told[..], [LiveEvent::Captured { .. }]), "{told:?}");
    let told = wake(&mut device, 400);
    assert!(matches!(
        told[..],
        [LiveEvent::Durable { at: Nanos(400), .. }]
    ));
    wake(&mut device, 600);

    let change = spec("test-age(fifo,age=100)");
    device.change_to(Nanos(610), change).unwrap();
    wake(&mut device, 612);
    assert_eq!(device.next_event(), None, "nothing is dirty");
    device.submit(Nanos(700), write(4)).unwrap();
    wake(&mut device, 702);
    wake(&mut device, 800);
    wake(&mut device, 900);

    let change = spec("test-tick(fifo,every=300)");
    device.change_to(Nanos(1_000), change).unwrap();
    wake(&mut device, 1_000);
    wake(&mut device, 1_002);
    wake(&mut device, 1_300);
    device.power_cycle(Nanos(1_000_050));
    wake(&mut device, 1_000_350);
    let record = device.finish(&mut Vec::new());
    assert_eq!(record.counts.background_writes, Some(0));
}
