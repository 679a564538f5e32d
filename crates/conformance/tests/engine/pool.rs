//! Blocks without time against the model that looks everything up: every victim, every copy, and every
//! place of random writes.

use destage_conformance::reference::pool::{SlowPlace, SlowPool, SlowPoolEvent, SlowPoolRules};
use destage_device::config::{GcPolicy, GcStreams};
use destage_device::map::pool::{BlockPool, PoolEvent, PoolRules, PoolShape};
use destage_types::rng::SplitMix64;

const STREAMS: [GcStreams; 4] = [
    GcStreams::Shared,
    GcStreams::Own,
    GcStreams::TwoRegion,
    GcStreams::InPlace,
];

const POLICIES: [GcPolicy; 4] = [
    GcPolicy::Greedy,
    GcPolicy::CostBenefit,
    GcPolicy::DChoices,
    GcPolicy::Random,
];

/// A small pool, as full as its rule allows or emptier.
fn any_rules(streams: GcStreams, policy: GcPolicy, rng: &mut SplitMix64) -> SlowPoolRules {
    let (blocks, pages) = (4 + rng.below(9), 1 + rng.below(6));
    let least = match streams {
        GcStreams::Shared => pages + 1,
        GcStreams::Own => 2 * pages + 1,
        GcStreams::TwoRegion => 2 * pages - 1,
        GcStreams::InPlace => 1,
    };
    let most = blocks * pages - least;
    let logical = most - rng.below(most.min(1 + 2 * pages));
    SlowPoolRules {
        blocks: blocks as usize,
        pages: pages as usize,
        logical: logical as usize,
        streams,
        policy,
        choices: 1 + rng.below(4) as u32,
        seed: rng.next_u64(),
    }
}

fn same_work(rules: SlowPoolRules, rng: &mut SplitMix64) -> usize {
    let shape = PoolShape {
        blocks: rules.blocks as u32,
        pages_per_block: rules.pages as u32,
        logical: rules.logical as u32,
    };
    let fast = PoolRules {
        streams: rules.streams,
        policy: rules.policy,
        choices: rules.choices,
        seed: rules.seed,
    };
    let mut pool = BlockPool::new(shape, fast).expect("a pool that works");
    let mut slow = SlowPool::new(rules);
    let page = |at: SlowPlace| (at.block * rules.pages + at.page) as u32;
    let (logical, skewed) = (rules.logical as u64, rng.below(2) == 0);
    let (mut programmed, mut events) = (0, 0);
    for n in 0..12 * rules.blocks * rules.pages {
        let lpn = match skewed {
            true => rng.below(logical).min(rng.below(logical)),
            false => rng.below(logical),
        };
        let mut seen = Vec::new();
        let place = pool.write(lpn as u32, &mut |event| seen.push(event));
        let (expected, work) = slow.write(lpn as usize);
        let work: Vec<PoolEvent> = work
            .iter()
            .map(|event| match *event {
                SlowPoolEvent::Victim(block, valid) => PoolEvent::Victim {
                    block: block as u32,
                    valid: valid as u32,
                },
                SlowPoolEvent::Copied(lpn, from, to) => PoolEvent::Copied {
                    lpn: lpn as u32,
                    from: page(from),
                    to: page(to),
                },
            })
            .collect();
        assert_eq!(seen, work, "{rules:?}: before write {n}, of page {lpn}");
        assert_eq!(place, page(expected), "{rules:?}: write {n} of page {lpn}");
        programmed += 1;
        events += seen.len();
    }
    let counts = pool.counts();
    assert_eq!(counts.host, programmed);
    assert_eq!(counts.copied + counts.erases, events as u64);
    events
}

#[test]
fn every_victim_and_every_copy_is_the_models() {
    let mut rng = SplitMix64::new(1);
    for streams in STREAMS {
        for policy in POLICIES {
            if streams == GcStreams::TwoRegion && policy != GcPolicy::Greedy {
                continue;
            }
            let case = |_| same_work(any_rules(streams, policy, &mut rng), &mut rng);
            let events: usize = (0..40).map(case).sum();
            assert!(events > 5_000, "{streams}, {policy}: {events} events");
        }
    }
}
