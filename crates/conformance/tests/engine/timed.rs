//! Examples with time, followed by hand; those of the specification are in `vectors`.

use destage_conformance::timed::TimedRun;
use destage_conformance::timed::runs::{
    device_of, outcome_however_built as run, programs, sectors, times,
};
use destage_types::Op;

/// `chips` channels of one chip and one plane, pages of 2 KiB, free transfers, DRAM in 2 ns.
fn chips(chips: u32, read: u64, program: u64) -> destage_device::config::DeviceConfig {
    device_of(&format!(
        "channels={chips} chips_per_channel=1 dies_per_chip=1 planes_per_die=1 pages_per_block=64 \
         page_bytes=2048 t_read={read}ns t_program={program}ns t_cmd=0 t_byte=0 t_dram=2ns"
    ))
}

/// Even pages are on chip 0, odd ones on chip 1; a write waits for the page it pushed out.
#[test]
fn evictions_queue_on_their_own_chip() {
    let stream: Vec<_> = [0, 2, 4, 6, 1, 3, 5]
        .iter()
        .zip([0, 0, 10, 20, 30, 40, 50])
        .map(|(&page, at)| (Op::Write, page * 4, 4, at))
        .collect();
    let outcome = run(
        &TimedRun::new("lru", 2, chips(2, 10, 100)),
        &sectors(&stream),
    );
    assert_eq!(times(&outcome), [2, 2, 100, 190, 280, 370, 100]);
    let wanted = [
        (0, 10, 110),
        (1, 50, 150),
        (2, 110, 210),
        (4, 210, 310),
        (6, 310, 410),
    ];
    assert_eq!(programs(&outcome), wanted);
    assert_eq!(outcome.evict_wait_mean, Some((90 + 180 + 270) as f64 / 5.0));
}

/// Four pages of chip 0 and one of chip 1 are dirty. Pages leave in the order of age until chip 0
/// has work; then the page of chip 1 goes first although it is younger.
#[test]
fn ecr_takes_the_page_whose_chip_is_free() {
    let write = |page: u64, at| (Op::Write, page * 4, 4, at);
    let stream = [
        write(0, 0),
        write(2, 0),
        write(4, 0),
        write(1, 0),
        write(6, 10),
        write(8, 20),
        write(10, 30),
    ];
    let scheme = TimedRun::new("ecr(lru,cqct=oracle)", 4, chips(2, 10, 100));
    let outcome = run(&scheme, &sectors(&stream));
    assert_eq!(
        programs(&outcome),
        [(0, 10, 110), (1, 20, 120), (2, 110, 210)]
    );
    assert_eq!(times(&outcome), [2, 2, 2, 2, 100, 100, 180]);
}

const LARGE: &str = "awb(prober(lru,ssp=4k,rip=8),depth=2)";

/// Three pages of one stream, written one by one: the third makes the stream a large one.
const STREAM: [(Op, u64, u32, u64); 3] = [
    (Op::Write, 0, 4, 0),
    (Op::Write, 4, 4, 1),
    (Op::Write, 8, 4, 2),
];

/// A read takes the second page out of the queue; after the read it is the oldest candidate again.
#[test]
fn idle_time_empties_the_stream() {
    let mut stream = STREAM.to_vec();
    stream.push((Op::Read, 4, 4, 5));
    stream.push((Op::Read, 0, 4, 11));
    stream.push((Op::Read, 0, 4, 40));
    let outcome = run(&TimedRun::new(LARGE, 4, chips(1, 5, 10)), &sectors(&stream));
    assert_eq!(programs(&outcome), [(0, 2, 12), (1, 12, 22), (2, 22, 32)]);
    assert_eq!(times(&outcome), [2, 2, 2, 2, 2, 5]);
    assert_eq!(outcome.device_counts[..2], [3, 1], "writes, cancels");
    assert!(outcome.pages.is_empty());
}

/// Page 0 is in flight and page 1 queued when three writes need room: page 2 is flushed, page 1 is
/// taken out of the queue and flushed, and the program of page 0 serves as its eviction.
#[test]
fn a_page_in_flight_is_evicted_without_a_second_program() {
    let mut stream = STREAM.to_vec();
    for (i, page) in [25, 50, 75].into_iter().enumerate() {
        stream.push((Op::Write, page * 4, 4, 3 + i as u64));
    }
    let outcome = run(
        &TimedRun::new(LARGE, 3, chips(1, 5, 100)),
        &sectors(&stream),
    );
    assert_eq!(
        programs(&outcome),
        [(0, 2, 102), (2, 102, 202), (1, 202, 302)]
    );
    assert_eq!(times(&outcome), [2, 2, 2, 199, 298, 97]);
    assert_eq!(outcome.device_counts[..4], [1, 1, 0, 1]);
    assert_eq!(outcome.counts.dirty_evictions, 3);
}

/// Even pages are on chip 0. A page is cleaned when another one was accessed after it, one page of a chip at
/// a time. Written again, page 0 must wait until three others were; meanwhile pages leave clean, at no cost.
#[test]
fn cleaning_ahead_keeps_chips_busy_one_page_at_a_time() {
    let pages = [0, 2, 1, 3, 0, 4, 6, 8];
    let at = [0, 10, 20, 30, 150, 300, 310, 500];
    let stream: Vec<_> = (pages.iter().zip(at))
        .map(|(&page, at)| (Op::Write, page * 4, 4, at))
        .collect();
    let scheme = "idle-clean(lru,watermark=0,young=1,second-chance=true,adapt=false)";
    let outcome = run(
        &TimedRun::new(scheme, 4, chips(2, 5, 100)),
        &sectors(&stream),
    );
    let wanted = [
        (0, 10, 110),
        (1, 30, 130),
        (2, 110, 210),
        (3, 150, 250),
        (4, 310, 410),
        (0, 500, 600),
        (6, 600, 700),
    ];
    assert_eq!(programs(&outcome), wanted);
    assert_eq!(times(&outcome), [2; 8]);
    assert_eq!(outcome.counts.dirty_evictions, 0);
}

/// A write during the flight makes the program stale; FLUSH waits for it and programs the page
/// once more, and for a page whose present version is in flight it only waits.
#[test]
fn flush_meets_write_backs_in_flight() {
    let mut stream = STREAM.to_vec();
    stream.push((Op::Flush, 0, 0, 10));
    let device = chips(1, 5, 100);
    let outcome = run(&TimedRun::new(LARGE, 4, device.clone()), &sectors(&stream));
    assert_eq!(
        programs(&outcome),
        [(0, 2, 102), (1, 102, 202), (2, 202, 302)]
    );
    assert_eq!(times(&outcome)[3], 292);
    assert_eq!(outcome.pages.len(), 3, "flushed pages stay, clean");
    assert!(outcome.pages.values().all(|dirty| !dirty));

    stream.insert(3, (Op::Write, 0, 1, 4));
    let outcome = run(&TimedRun::new(LARGE, 4, device), &sectors(&stream));
    let wanted = [(0, 2, 102), (0, 102, 202), (1, 202, 302), (2, 302, 402)];
    assert_eq!(programs(&outcome), wanted);
    assert_eq!(times(&outcome)[4], 392);
}
