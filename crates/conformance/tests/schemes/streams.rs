//! Random streams: always the same for a seed, and with everything in them that a profile allows.

use destage_conformance::reference::{Profile, SlowRequest, swarm, to_batch};
use destage_types::{Op, RequestFlags};

const FLAGS: [RequestFlags; 2] = [RequestFlags::FUA, RequestFlags::PREFLUSH];

#[test]
fn streams_are_the_same_every_time_and_differ_by_seed() {
    let profile = Profile::new(300, 8)
        .with_prev()
        .with_extents()
        .with_forced();
    let mut missing = [0; 4];
    let (mut atomic, mut split, mut partial, mut sequential, mut inside) = (0, 0, 0, 0, 0);
    let mut flagged = [0; 2];
    for seed in 0..100 {
        let requests = swarm(seed, profile);
        assert_eq!(requests, swarm(seed, profile));
        assert_ne!(requests, swarm(seed + 1, profile));
        for (i, op) in [Op::Read, Op::Write, Op::Trim, Op::Flush]
            .into_iter()
            .enumerate()
        {
            missing[i] += usize::from(!requests.iter().any(|r| r.op == op));
        }
        let batch = to_batch(&requests);
        let back: Vec<SlowRequest> = batch.iter().map(SlowRequest::from).collect();
        for (there, here) in back.iter().zip(&requests) {
            let given = here.prev.iter().any(Option::is_some);
            assert_eq!(there.extents, here.extents);
            assert_eq!((there.op, there.arrival), (here.op, here.arrival));
            assert_eq!(there.flags, here.flags);
            assert_eq!(there.prev.iter().any(Option::is_some), given);
            assert!(!given || there.prev == here.prev);
            assert!(here.accesses(8).iter().all(|a| a.lpn < 64 && a.mask != 0));
        }
        let old = requests.iter().flat_map(|r| r.prev.iter().flatten());
        inside += old.filter(|sector| *sector % 8 != 0).count();
        for (count, flag) in flagged.iter_mut().zip(FLAGS) {
            *count += usize::from(requests.iter().any(|r| r.flags.any(flag)));
        }
        atomic += requests.iter().filter(|r| r.atomic).count();
        split += requests.iter().filter(|r| r.extents.len() > 1).count();
        let whole = |r: &SlowRequest| r.accesses(8).iter().all(|a| a.mask == 0xff);
        partial += requests.iter().filter(|r| !whole(r)).count();
        let end = |r: &SlowRequest| r.extents.first().map(|e| e.0 + u64::from(e.1));
        sequential += (requests.windows(2))
            .filter(|w| end(&w[0]).is_some() && end(&w[0]) == w[1].extents.first().map(|e| e.0))
            .count();
    }
    for (i, n) in missing.into_iter().enumerate() {
        assert!(
            (10..60).contains(&n),
            "operation {i} vanished in {n} of 100 streams"
        );
    }
    assert!(flagged.iter().all(|n| (40..90).contains(n)), "{flagged:?}");
    assert!(
        atomic > 1000 && split > 1000 && partial > 1000,
        "{atomic} {split} {partial}"
    );
    assert!(sequential > 500, "{sequential}");
    assert!(inside > 1000, "old addresses inside a page: {inside}");
}
