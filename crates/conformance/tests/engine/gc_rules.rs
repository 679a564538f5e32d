//! When and how long a chip collects (ECR-7): every value of the keys, in runs short enough to be
//! followed by hand.
//!
//! One chip with 6 blocks of 4 pages; 12 logical pages fill blocks 0 to 2. A write is one program of
//! 100 us, a read takes 10 us, an erase 1000 us, everything else no time. The first victim is always
//! block 0, which has no valid page then.

use destage_conformance::timed::TimedRun;
use destage_conformance::timed::runs::{device_of, outcome, sectors, times};
use destage_types::Op;

const PROGRAM: u64 = 100_000;
const READ: u64 = 10_000;
const ERASE: u64 = 1_000_000;
/// Between two requests: longer than all that may happen between them.
const LONG: u64 = 100_000_000;

/// Response times of accesses of single pages, the first 12 of which are writes that fill the device.
fn responses(keys: &str, accesses: &[(Op, u64, u64)]) -> Vec<u64> {
    let common = "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 blocks_per_plane=6 \
                  pages_per_block=4 op=0.5 t_read=10us t_program=100us t_erase=1ms t_cmd=0 t_byte=0 \
                  t_ready=0 t_dram=0 precondition.trace=false gc_threshold_base=total";
    let fill = (0..12).map(|page| (Op::Write, page * 8, 8, page * LONG));
    let after = accesses
        .iter()
        .map(|&(op, page, at)| (op, page * 8, 8, 12 * LONG + at));
    let requests: Vec<(Op, u64, u32, u64)> = fill.chain(after).collect();
    let run = TimedRun::new("none", 1, device_of(&format!("{common} {keys}")));
    let all = times(&outcome(&run, &sectors(&requests)));
    assert_eq!(
        all[..12],
        [PROGRAM; 12],
        "the device is filled without a collection"
    );
    all[12..].to_vec()
}

/// Overwrites of pages 0 to `n` - 1, each when the one before is long over, then the accesses of
/// `more` from then on.
fn after_overwrites(keys: &str, n: u64, more: &[(Op, u64, u64)]) -> Vec<u64> {
    let overwrites = (0..n).map(|page| (Op::Write, page % 12, page * LONG));
    let more = more.iter().map(|&(op, page, at)| (op, page, n * LONG + at));
    let accesses: Vec<(Op, u64, u64)> = overwrites.chain(more).collect();
    responses(keys, &accesses)
}

/// 5 of 24 pages, a share of 0.2 rounded up: four writes fill block 3, four more block 4, of which the
/// last leaves 4 free pages; in blocks (1 of 6, rounded down) the first write into block 4 leaves one.
const PAGES: &str = "gc_threshold=0.2 gc_threshold_unit=pages";
const BLOCKS: &str = "gc_threshold=0.2 gc_threshold_unit=blocks";

#[test]
fn pages_are_counted_to_the_last_and_blocks_when_they_are_opened() {
    let with_erase = ERASE + PROGRAM;
    // 12, 11, ... 5 free pages before writes 0 to 7: the eighth write collects block 0 first.
    let expected = [[PROGRAM; 7].as_slice(), &[with_erase]].concat();
    assert_eq!(after_overwrites(PAGES, 8, &[]), expected);
    // Writes 0 and 4 open blocks 3 and 4, so write 5 finds one free block.
    let expected = [[PROGRAM; 5].as_slice(), &[with_erase, PROGRAM, PROGRAM]].concat();
    assert_eq!(after_overwrites(BLOCKS, 8, &[]), expected);
}

#[test]
fn a_read_collects_first_unless_only_programs_do() {
    for (trigger, read, write) in [
        ("program", READ, ERASE + PROGRAM),
        ("operation", ERASE + READ, PROGRAM),
    ] {
        let keys = format!("{BLOCKS} gc_trigger={trigger}");
        let more = [(Op::Read, 11, 0), (Op::Write, 5, LONG)];
        let all = after_overwrites(&keys, 5, &more);
        assert_eq!(all[5..], [read, write], "{trigger}");
    }
}

#[test]
fn a_read_goes_after_the_collection_it_calls_for_whoever_goes_first() {
    // The collection waits for the program, and reads go first.
    let keys = format!("{BLOCKS} gc_trigger=operation queue=read-first");
    let more = [(Op::Write, 4, 0), (Op::Read, 11, PROGRAM / 2)];
    let all = after_overwrites(&keys, 4, &more);
    assert_eq!(all[4..], [PROGRAM, PROGRAM / 2 + ERASE + READ]);
}

#[test]
fn an_immediate_collection_is_over_when_the_next_request_comes_late() {
    let keys = format!("{BLOCKS} gc_trigger=immediate");
    let more = [(Op::Read, 11, 0), (Op::Write, 5, LONG)];
    assert_eq!(
        after_overwrites(&keys, 5, &more)[4..],
        [PROGRAM, READ, PROGRAM]
    );
    // The erase follows write 4 at once, and nothing passes it.
    let soon = 2 * PROGRAM;
    let more = [(Op::Write, 4, 0), (Op::Read, 11, soon)];
    let all = after_overwrites(&keys, 4, &more);
    assert_eq!(all[4..], [PROGRAM, PROGRAM + ERASE - soon + READ]);
}

/// The collection comes with write 5, when block 0 has no valid page and block 1 three.
#[test]
fn a_watermark_takes_a_second_block_and_one_block_is_one() {
    for (stop, collection) in [
        ("one", ERASE),
        ("watermark gc_stop_blocks=0", ERASE),
        // Two free blocks are not more than 1 + 1: block 1 goes too, whose three pages move into the
        // rest of block 4.
        ("watermark", ERASE + 3 * (READ + PROGRAM) + ERASE),
    ] {
        let keys = format!("{BLOCKS} gc_stop={stop}");
        let all = after_overwrites(&keys, 6, &[]);
        assert_eq!(all[..5], [PROGRAM; 5], "{stop}");
        assert_eq!(all[5], collection + PROGRAM, "{stop}");
    }
}

/// A host operation that comes while the first of two blocks is collected waits for both.
#[test]
fn nothing_runs_between_the_blocks_of_one_collection() {
    let keys = format!("{BLOCKS} gc_trigger=operation gc_stop=watermark queue=read-first");
    let collection = ERASE + 3 * (READ + PROGRAM) + ERASE;
    // The second read comes when the collection has begun, and reads go first.
    let more = [(Op::Write, 5, 0), (Op::Read, 11, ERASE / 2)];
    let all = after_overwrites(&keys, 5, &more);
    let read = collection - ERASE / 2 + READ;
    assert_eq!(all[5..], [collection + READ + PROGRAM, read]);
}

/// In the background a unit goes on to its watermark as well, block by block.
#[test]
fn the_background_goes_on_to_the_watermark() {
    for (stop, erases) in [("one", 1), ("watermark", 2)] {
        let keys = format!("{BLOCKS} gc_mode=background gc_stop={stop}");
        let soon = PROGRAM + ERASE + ERASE / 2;
        let all = after_overwrites(&keys, 4, &[(Op::Write, 4, 0), (Op::Read, 11, soon)]);
        // The three pages of block 1 have moved when the read comes, and its erase is under way.
        let wait = 3 * (READ + PROGRAM) + ERASE - ERASE / 2;
        let read = if erases == 2 { wait + READ } else { READ };
        assert_eq!(all[4..], [PROGRAM, read], "{stop}");
    }
}

/// 5 of 24 pages: with write 7 block 0 is collected, which leaves 9 free pages, as many as the watermark.
#[test]
fn a_watermark_in_pages_is_to_be_exceeded() {
    for (stop, collection) in [
        ("watermark gc_stop_blocks=0", ERASE),
        // Block 1 goes too, whose last page moves.
        ("watermark", ERASE + READ + PROGRAM + ERASE),
    ] {
        let keys = format!("{PAGES} gc_stop={stop}");
        let all = after_overwrites(&keys, 8, &[]);
        assert_eq!(all[..7], [PROGRAM; 7], "{stop}");
        assert_eq!(all[7], collection + PROGRAM, "{stop}");
    }
}

/// Pages 0 to 3 are overwritten for ever: four blocks take turns and have an erase more after every four
/// collections. The one that brings a block beyond the spread moves a block of cold pages as well.
#[test]
fn static_levelling_begins_beyond_the_spread() {
    for spread in 1..4 {
        let keys = format!("{PAGES} wear_levelling=static wear_threshold={spread}");
        let overwrites: Vec<_> = (0..80).map(|i| (Op::Write, i % 4, i * LONG)).collect();
        let all = responses(&keys, &overwrites);
        let collections: Vec<u64> = all.into_iter().filter(|&time| time >= ERASE).collect();
        let first = collections.iter().position(|&time| time > ERASE + PROGRAM);
        assert_eq!(first, Some(4 * spread), "{spread}");
        let levelled = 2 * ERASE + 4 * (READ + PROGRAM) + PROGRAM;
        assert_eq!(collections[4 * spread], levelled, "{spread}");
    }
}
