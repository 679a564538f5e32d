//! Runs on devices whose programs differ from page to page, or give way to reads, short enough to be
//! followed by hand. A read takes 10 us, everything but the array no time.

use destage_conformance::timed::runs::{device_of, outcome, sectors, times};
use destage_conformance::timed::{Outcome, TimedRun};
use destage_types::Op;

const READ: u64 = 10_000;
/// Between two requests: longer than all that may happen between them.
const LONG: u64 = 100_000_000;

/// Requests (operation, first page, pages, arrival) without a cache on one chip.
fn run(keys: &str, accesses: &[(Op, u64, u32, u64)]) -> Outcome {
    let common = "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 \
                  blocks_per_plane=64 pages_per_block=4 op=0.5 t_read=10us t_program=100us \
                  t_erase=1ms t_cmd=0 t_byte=0 t_ready=0 t_dram=0 precondition.trace=false";
    let page = |&(op, page, pages, at): &(Op, u64, u32, u64)| (op, page * 8, pages * 8, at);
    let requests: Vec<_> = accesses.iter().map(page).collect();
    let run = TimedRun::new("none", 1, device_of(&format!("{common} {keys}")));
    outcome(&run, &sectors(&requests))
}

const TLC: &str = "t_program=100us,300us,500us";

/// Blocks have 4 pages, so that a word line of three ends in the middle.
#[test]
fn the_pages_of_a_word_line_take_turns_in_every_block() {
    let writes: Vec<_> = (0..10).map(|i| (Op::Write, i, 1, i * LONG)).collect();
    let block = [100_000, 300_000, 500_000, 100_000];
    let expected: Vec<u64> = block.into_iter().cycle().take(10).collect();
    assert_eq!(times(&run(TLC, &writes)), expected);
}

/// Two planes, each with its frontier: page 0 first, so that the planes are at different pages then.
#[test]
fn a_multi_plane_program_takes_as_long_as_its_slowest_page() {
    let keys = format!("{TLC} planes_per_die=2 frontier=plane multi_plane=on");
    let writes = [
        (Op::Write, 0, 1, 0),
        (Op::Write, 0, 2, LONG),
        (Op::Write, 0, 2, 2 * LONG),
    ];
    let all = run(&keys, &writes);
    assert_eq!(times(&all), [100_000, 300_000, 500_000]);
    assert_eq!(all.joined, [0, 2]);
}

/// A block of 8 with 7 pages of data: the summary page is its last one, and second of its word line.
#[test]
fn a_summary_page_has_a_type_too() {
    let keys = format!("{TLC} pages_per_block=8 summary_page=true");
    let mut accesses: Vec<_> = (0..7).map(|i| (Op::Write, i, 1, i * LONG)).collect();
    accesses.push((Op::Read, 0, 1, 6 * LONG + 1));
    let all = times(&run(&keys, &accesses));
    // Page 6 is an LSB again; the read waits for it and for the summary.
    assert_eq!(all[6..], [100_000, 100_000 + 300_000 + READ - 1]);
}

const SUSPEND: &str = "suspend=program+erase t_resume=2us";

#[test]
fn a_write_is_longer_by_the_read_that_suspends_it() {
    for (keys, read, write) in [
        (SUSPEND, READ, 100_000 + READ + 2_000),
        ("suspend=erase", 60_000 + READ, 100_000),
        ("suspend=off", 60_000 + READ, 100_000),
    ] {
        let accesses = [
            (Op::Write, 0, 1, 0),
            (Op::Write, 1, 1, LONG),
            (Op::Read, 0, 1, LONG + 40_000),
        ];
        let all = run(keys, &accesses);
        assert_eq!(times(&all), [100_000, write, read], "{keys}");
        assert_eq!(all.suspensions, [0, u64::from(keys == SUSPEND)]);
    }
}

#[test]
fn a_read_of_the_page_that_is_programmed_waits_for_its_end() {
    for queue in ["fifo", "read-first"] {
        let accesses = [(Op::Write, 0, 1, 0), (Op::Read, 0, 1, 40_000)];
        let all = run(&format!("{SUSPEND} queue={queue}"), &accesses);
        assert_eq!(times(&all), [100_000, 60_000 + READ]);
        assert_eq!(all.suspensions, [0, 0]);
    }
}

/// FLUSH waits for the real end of the program, of which its write waits for the transfer alone.
#[test]
fn a_flush_waits_for_what_was_suspended() {
    let keys = format!("{SUSPEND} evict_wait=transfer_done");
    let accesses = [
        (Op::Write, 0, 1, 0),
        (Op::Write, 1, 1, LONG),
        (Op::Read, 0, 1, LONG + 40_000),
        (Op::Flush, 0, 0, LONG + 45_000),
    ];
    let all = times(&run(&keys, &accesses));
    assert_eq!(all, [0, 0, READ, 100_000 + READ + 2_000 - 45_000]);
}

/// 12 pages over 6 blocks: the write that collects erases block 0, and the read comes in the middle.
#[test]
fn a_read_suspends_the_erase_of_a_collection() {
    let keys = "blocks_per_plane=6 gc_threshold=0.2 gc_threshold_base=total suspend=erase \
                queue=read-first";
    let mut accesses: Vec<_> = (0..20).map(|i| (Op::Write, i % 12, 1, i * LONG)).collect();
    accesses.push((Op::Read, 11, 1, 19 * LONG + 600_000));
    let all = run(keys, &accesses);
    assert_eq!(all.suspensions, [1, 0]);
    // The program that the erase is for stands behind the read, as reads go first.
    assert_eq!(times(&all)[19..], [1_000_000 + 100_000 + READ, READ]);
}

/// The second write collects a block: three pages move, then the erase. It waits for that in front of the read,
/// which comes 1 ms into the erase and goes first only if reads do.
#[test]
fn a_read_suspends_nothing_that_an_earlier_write_waits_for() {
    let keys = "blocks_per_plane=4 t_cmd=100ns t_byte=2ns t_read=50us t_program=500us t_erase=3ms \
                precondition.fill=1 gc_threshold=0.4375 gc_threshold_base=total suspend=erase";
    let (read, program) = (50_000 + 8_292, 500_000 + 8_292);
    let erase_at = 1_000_000_000 + 3 * (read + program) + 100;
    let accesses = [
        (Op::Write, 0, 1, 0),
        (Op::Write, 1, 1, 1_000_000_000),
        (Op::Read, 7, 1, erase_at + 1_000_000),
    ];
    let write = 3 * (read + program) + 3_000_100 + program;
    let fifo = run(keys, &accesses);
    assert_eq!(times(&fifo), [program, write, 2_566_584]);
    assert_eq!(fifo.suspensions, [0, 0]);
    let read_first = run(&format!("{keys} queue=read-first"), &accesses);
    assert_eq!(times(&read_first), [program, write + read, 58_292]);
    assert_eq!(read_first.suspensions, [1, 0]);
}
