//! Invariants over random runs with every option.

use super::*;
use crate::rng::SplitMix64;

/// All combinations of the options, and a cache that lives through many evictions.
#[test]
fn random_runs_keep_every_structure_consistent() {
    let mut rng = SplitMix64::new(3);
    let mut next = move |n: u64| rng.next_u64() % n;
    for combination in 0..96u32 {
        let bit = |i: u32| combination >> i & 1 == 1;
        let params = ReqBlockParams {
            delta: 1 + u64::from(combination % 4),
            size_basis: if bit(0) {
                SizeBasis::Original
            } else {
                SizeBasis::Current
            },
            access_unit: if bit(1) {
                AccessUnit::Request
            } else {
                AccessUnit::Page
            },
            time_basis: [
                TimeBasis::RequestTime,
                TimeBasis::PageSeq,
                TimeBasis::ReqSeq,
            ][combination as usize % 3],
            split_access: [SplitAccess::One, SplitAccess::PerPage, SplitAccess::Inherit]
                [combination as usize / 3 % 3],
            split_insert_time: if bit(2) {
                SplitInsertTime::Inherit
            } else {
                SplitInsertTime::Now
            },
            origin: [OriginRule::Root, OriginRule::Direct, OriginRule::None]
                [combination as usize / 5 % 3],
            merge: [Merge::First, Merge::All, Merge::Neighbour][combination as usize / 7 % 3],
            placement: Placement::Stripe,
        };
        let mut m = cache(24, params);
        for now in 0..400 {
            let first = next(48);
            let last = first + next(9);
            match next(10) {
                0 => m.trim(first, last),
                1 | 2 => {
                    m.read(first, last, now);
                }
                3 => {
                    let far = pages(next(48), 56);
                    m.serve(Op::Write, &[pages(first, last), far], now, &[], false);
                }
                _ => {
                    m.write(first, last, now);
                }
            }
            validate(&m);
        }
        let held = m.scheme.list_pages().unwrap();
        assert_eq!(held.iter().sum::<u64>(), m.frames.used() as u64);
    }
}
