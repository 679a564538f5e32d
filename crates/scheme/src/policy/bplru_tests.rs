//! Every option and decision of BPLRU, and its lists over random runs.

use super::*;
use crate::mini::Mini;
use crate::rng::SplitMix64;

const FOUR: BplruParams = BplruParams {
    block_pages: 4,
    padding: false,
    compensation: Compensation::Full,
    protect_current: false,
    read_touch: false,
    placement: Placement::SingleBlock,
};

fn cache(capacity: u32, params: BplruParams) -> Mini<Bplru> {
    Mini::new(capacity, false, Bplru::new(params, capacity as usize))
}

/// Block numbers, newest first.
fn order(m: &Mini<Bplru>) -> Vec<u64> {
    let blocks = m.scheme.order.from_head(0);
    blocks.map(|n| m.scheme.blocks[n as usize].number).collect()
}

#[test]
fn the_worked_example() {
    let mut m = cache(8, FOUR);
    for (first, last) in [(0, 1), (4, 4), (8, 11), (5, 5)] {
        m.write(first, last, 0);
    }
    assert_eq!(order(&m), [1, 0, 2], "block 2 was written in order");
    m.write(12, 12, 0);
    assert_eq!((m.said().as_str(), m.unit.id), ("flush{8,9,10,11}", 2));
    assert_eq!(m.unit.placement, Placement::SingleBlock);
    m.write(16, 16, 0);
    assert_eq!(m.write(1, 1, 0), "H");
    m.write(20, 21, 0);
    m.write(24, 24, 0);
    assert_eq!(m.said(), "flush{4,5}");
    assert_eq!(order(&m), [6, 5, 0, 4, 3]);
    assert_eq!(m.scheme.metadata_bytes(), 5 * 24);
}

#[test]
fn padding_reads_what_is_missing_and_takes_clean_pages_along() {
    let params = BplruParams {
        padding: true,
        ..FOUR
    };
    let mut m = cache(4, params);
    m.write(1, 1, 0);
    m.flush();
    m.write(2, 2, 0);
    m.write(4, 5, 0);
    m.write(8, 8, 0);
    assert_eq!((&m.unit.pad, m.unit.whole), (&vec![Lpn(0), Lpn(3)], true));
    assert_eq!(m.unit.slots.len(), 2);
    // A block without a dirty page is dropped.
    m.flush();
    m.write(12, 13, 0);
    assert_eq!((m.said().as_str(), m.unit.whole), ("drop{4,5}", false));
    assert!(m.unit.pad.is_empty());
}

#[test]
fn bp_2_half_a_block_in_a_row() {
    let half = BplruParams {
        compensation: Compensation::Half,
        ..FOUR
    };
    let mut m = cache(8, half);
    m.write(0, 0, 0);
    m.write(7, 7, 0);
    m.write(5, 5, 0);
    assert_eq!(order(&m), [0, 1], "two page writes in a row, in any order");
    m.write(2, 2, 0);
    assert_eq!(order(&m), [0, 1]);
    m.write(6, 6, 0);
    assert_eq!(order(&m), [1, 0], "the row was broken");
    let mut m = cache(
        8,
        BplruParams {
            compensation: Compensation::Off,
            ..FOUR
        },
    );
    m.write(0, 0, 0);
    m.write(4, 7, 0);
    assert_eq!(order(&m), [1, 0]);
}

#[test]
fn bp_3_the_block_being_written() {
    for (protect_current, evicted) in [(false, "flush{0}"), (true, "flush{4,5,6}")] {
        let mut m = cache(
            4,
            BplruParams {
                protect_current,
                ..FOUR
            },
        );
        m.write(0, 0, 0);
        m.write(4, 6, 0);
        m.write(1, 1, 0);
        assert_eq!(m.said(), evicted);
    }
}

#[test]
fn a_protected_block_leaves_if_it_is_the_only_one() {
    let mut m = cache(
        4,
        BplruParams {
            protect_current: true,
            block_pages: 8,
            ..FOUR
        },
    );
    m.write(0, 3, 0);
    m.write(4, 4, 0);
    assert_eq!((m.said().as_str(), order(&m)), ("flush{0,1,2,3}", vec![0]));
}

#[test]
fn a_read_moves_a_block_only_if_told_so() {
    for (read_touch, wanted) in [(false, [1, 0]), (true, [0, 1])] {
        let mut m = cache(8, BplruParams { read_touch, ..FOUR });
        m.write(0, 0, 0);
        m.write(4, 4, 0);
        assert_eq!(m.read(0, 0, 0), "H");
        assert_eq!(order(&m), wanted);
    }
}

#[test]
fn a_rewrite_or_a_trim_ends_a_sequential_fill() {
    let mut m = cache(12, FOUR);
    m.write(0, 3, 0);
    m.write(4, 7, 0);
    assert_eq!(order(&m), [0, 1]);
    m.write(5, 5, 0);
    assert_eq!(order(&m), [1, 0], "a rewritten block is used again");
    m.write(8, 9, 0);
    m.trim(8, 8);
    m.write(10, 11, 0);
    assert_eq!(order(&m), [2, 1, 0]);
    m.trim(9, 11);
    m.write(8, 11, 0);
    assert_eq!(order(&m), [1, 0, 2], "a new block begins anew");
}

#[test]
fn a_renamed_page_joins_the_other_block() {
    let mut m = cache(8, FOUR);
    m.write(0, 1, 0);
    m.write(8, 8, 0);
    let slot = m.frames.slot_of(Lpn(1)).unwrap();
    m.frames.rekey(slot, Lpn(5));
    let view = View {
        frames: &m.frames,
        layout: &m.layout,
        device: &crate::NoDevice,
        now: destage_types::Nanos::ZERO,
    };
    assert!(m.scheme.rename(Lpn(1), Lpn(5), Some(slot), &view));
    assert!(!m.scheme.rename(Lpn(77), Lpn(78), None, &view));
    assert_eq!(order(&m), [1, 2, 0]);
    let next = |m: &Mini<Bplru>, block| {
        let node = m.scheme.index.get(block) as usize;
        m.scheme.blocks[node].next
    };
    assert_eq!((next(&m, 0), next(&m, 1)), (Some(2), Some(0)));
}

#[test]
fn random_runs_keep_blocks_and_pages_together() {
    for (seed, capacity) in [(1, 4), (2, 7), (3, 20)] {
        let mut rng = SplitMix64::new(seed);
        let mut m = cache(capacity, FOUR);
        for now in 0..20_000 {
            let first = rng.next_u64() % 60;
            let last = first + rng.next_u64() % 6;
            match rng.next_u64() % 16 {
                0 => m.trim(first, last),
                1 => m.flush(),
                2..6 => drop(m.read(first, last, now)),
                _ => drop(m.write(first, last, now)),
            }
            let s = &m.scheme;
            let held: usize = (s.order.from_head(0))
                .map(|n| s.pages.len(n as usize))
                .sum();
            assert_eq!(held, m.frames.used());
            for slot in m.frames.used_slots() {
                let block = &s.blocks[s.of[slot.index()] as usize];
                assert_eq!(block.number, m.frames.lpn(slot).0 / 4);
            }
        }
        m.scheme.order.validate().unwrap();
        m.scheme.pages.validate().unwrap();
    }
}
