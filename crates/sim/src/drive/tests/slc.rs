//! The SLC cache (S-1): a unit of one SLC page takes 116,484 ns, a native unit of three pages 649,452 ns. The cases are those
//! of the specification.

use super::*;

pub const TLC: [&str; 8] = [
    "program_pages=3",
    "pages_per_block=9",
    "cell_bits=3",
    "t_program_slc=100us",
    "t_read_slc=20us",
    "t_erase_slc=3ms",
    "gc_high=3",
    "op=0.5",
];

fn slc(frames: u32, sets: &[&str], requests: &[(u64, Op, u64, u32)]) -> Run {
    run("drain(fifo)", frames, &[&TLC, sets].concat(), requests)
}

fn counts(run: &Run) -> [u64; 6] {
    let c = run.cache.flash().traffic();
    [
        c.slc_programs,
        c.slc_host_places,
        c.folded_places,
        c.slc_erases,
        c.erases - c.slc_erases,
        c.flash_reads_gc,
    ]
}

#[test]
fn i1_a_unit_is_one_page() {
    let writes = [(0, Write, 0, 4), (10_000, Write, 4, 4)];
    let run = slc(4, &["slc_dynamic=8"], &writes);
    assert_eq!(run.done, [1_000, 117_484]);
    assert_eq!(counts(&run), [2, 8, 0, 0, 0, 0]);
    let all = slc(4, &["slc_dynamic=all"], &writes);
    assert_eq!(all.done, [1_000, 117_484]);
    let own = slc(4, &["slc_blocks=1"], &writes);
    assert_eq!(own.done, [1_000, 117_484]);
}

#[test]
fn i3_a_full_cache_is_passed_by() {
    let writes = [
        (0, Write, 0, 12),
        (10_000, Write, 12, 12),
        (20_000, Write, 24, 1),
    ];
    let run = slc(
        12,
        &["slc_dynamic=1", "slc_full=direct", "slc_idle=off"],
        &writes,
    );
    assert_eq!(run.done, [1_000, 350_452, 999_904]);
    assert_eq!(counts(&run), [3, 12, 0, 0, 0, 0]);
}

#[test]
fn i4_an_idle_drive_folds() {
    let writes = [
        (0, Write, 0, 12),
        (5_000_000, Write, 12, 4),
        (5_010_000, Write, 16, 12),
    ];
    let sets = ["slc_dynamic=1", "slc_idle=1ms"];
    assert_eq!(slc(12, &sets, &writes).done, [1_000, 5_001_000, 5_117_484]);
    let off = ["slc_dynamic=1", "slc_idle=off"];
    assert_eq!(slc(12, &off, &writes).done, [1_000, 5_001_000, 5_660_452]);
}

#[test]
fn i5_what_a_fold_costs() {
    let requests = [(0, Write, 0, 12), (10_000_000, Read, 100, 1)];
    let run = slc(12, &["slc_dynamic=1", "slc_idle=1ms"], &requests);
    assert_eq!(counts(&run), [3, 12, 12, 1, 0, 3]);
}

#[test]
fn i7_trimmed_data_cost_no_read() {
    let requests = [
        (0, Write, 0, 12),
        (500_000, Trim, 0, 12),
        (10_000_000, Read, 100, 1),
    ];
    let run = slc(12, &["slc_dynamic=1", "slc_idle=1ms"], &requests);
    assert_eq!(run.done[..2], [1_000, 501_000]);
    assert_eq!(counts(&run), [3, 12, 0, 1, 0, 0]);
}

#[test]
fn i8_what_was_overwritten_is_not_folded() {
    let requests = [
        (0, Write, 0, 12),
        (500_000, Write, 0, 4),
        (10_000_000, Read, 100, 1),
    ];
    let run = slc(12, &["slc_dynamic=2", "slc_idle=1ms"], &requests);
    assert_eq!(run.done[..2], [1_000, 501_000]);
    assert_eq!(counts(&run), [4, 16, 8, 0, 0, 2]);
}

#[test]
fn i10_free_blocks_are_left_alone() {
    let writes = [
        (0, Write, 0, 12),
        (10_000, Write, 12, 12),
        (20_000, Write, 24, 1),
    ];
    let run = slc(
        12,
        &["slc_dynamic=8", "slc_reserve=15", "slc_idle=off"],
        &writes,
    );
    assert_eq!(run.done, [1_000, 350_452, 999_904]);
    assert_eq!(counts(&run), [3, 12, 0, 0, 0, 0]);
}

#[test]
fn the_host_waits_for_a_fold() {
    let writes = [
        (0, Write, 0, 12),
        (10_000, Write, 12, 12),
        (20_000, Write, 24, 1),
    ];
    // Three units of 116,484, three reads of 36,484, a unit of 649,452, an erase of 3,000,100, a unit.
    let sets = ["slc_dynamic=1", "slc_full=fold", "slc_idle=off"];
    let run = slc(12, &sets, &writes);
    let folded = 3 * 116_484 + 3 * 36_484 + 649_452 + 3_000_100;
    assert_eq!(run.done, [1_000, 350_452, folded + 116_484 + 1_000]);
    let idle = slc(12, &sets, &writes[..1]);
    assert_eq!(counts(&idle)[2], 0, "nothing waits");
}

#[test]
fn a_read_takes_the_time_of_its_block() {
    let requests = [
        (0, Write, 0, 4),
        (1_000_000, Write, 4, 4),
        (2_000_000, Read, 0, 1),
    ];
    let run = slc(
        4,
        &["slc_dynamic=1", "read_retry=[{share=1,time=\"1ms\"}]"],
        &requests,
    );
    assert_eq!(run.done[2] - 2_000_000, 100 + 20_000 + 4_096);
}
