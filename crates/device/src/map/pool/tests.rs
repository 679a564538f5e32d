use super::*;
use crate::config::{DeviceConfig, EffectiveDevice};
use crate::map::{GcStep, GcWork, PageMap};
use destage_types::Lpn;
use destage_types::rng::SplitMix64;

fn rules(streams: GcStreams) -> PoolRules {
    PoolRules {
        streams,
        policy: GcPolicy::Greedy,
        choices: 3,
        seed: 1,
    }
}

fn pool(blocks: u32, pages_per_block: u32, logical: u32, streams: GcStreams) -> BlockPool {
    let shape = PoolShape {
        blocks,
        pages_per_block,
        logical,
    };
    BlockPool::new(shape, rules(streams)).unwrap()
}

/// Writes pages and gives what collection did: `v2` for a victim, `5:0>9` for a copy.
fn write(pool: &mut BlockPool, lpns: &[u32]) -> String {
    let mut seen = Vec::new();
    for &lpn in lpns {
        pool.write(lpn, &mut |event| {
            seen.push(match event {
                PoolEvent::Victim { block, .. } => format!("v{block}"),
                PoolEvent::Copied { lpn, from, to } => format!("{lpn}:{from}>{to}"),
            })
        });
    }
    seen.join(" ")
}

#[test]
fn in_place_writes_back_into_the_victim() {
    // Blocks 0 and 1 hold pages 0 to 3, block 2 takes the new versions of 0 and 2.
    let mut pool = pool(3, 2, 4, GcStreams::InPlace);
    assert_eq!(write(&mut pool, &[0, 1, 2, 3, 0, 2]), "");
    // Block 0 lost a page first. Page 1 goes back to its first page, the host writes the second.
    assert_eq!(write(&mut pool, &[2]), "v0 1:1>0");
    assert_eq!(pool.page_of(2), Some(1));
    // Block 1 still holds page 3 alone; block 2 holds page 0 alone, and came to that later.
    assert_eq!(write(&mut pool, &[2]), "v1 3:3>2");
    let counts = PoolCounts {
        host: 8,
        copied: 2,
        erases: 2,
    };
    assert_eq!(pool.counts(), counts);
}

#[test]
fn shared_keeps_a_block_of_pages_free() {
    // 5 logical pages of 8. Two pages must be free before every host write.
    let mut pool = pool(4, 2, 5, GcStreams::Shared);
    assert_eq!(write(&mut pool, &[0, 1, 2, 3, 4, 0, 2]), "");
    // One page is free. Block 0 holds page 1 alone, and goes first.
    assert_eq!(write(&mut pool, &[4]), "v0 1:1>7");
    assert_eq!(pool.page_of(4), Some(0));
}

#[test]
fn own_separates_copies_from_the_host() {
    // 5 logical pages of 10.
    let mut pool = pool(5, 2, 5, GcStreams::Own);
    assert_eq!(write(&mut pool, &[0, 1, 2, 3, 4, 0, 2, 0]), "");
    // Block 4 is the only free one. Page 1 goes there, and block 0 is free. That is one block, so the
    // next victim follows, block 1 with page 3 alone.
    assert_eq!(write(&mut pool, &[4]), "v0 1:1>8 v1 3:3>9");
    assert_eq!(pool.page_of(4), Some(0));
}

#[test]
fn two_regions_pack_the_victims() {
    // 3 pages a block, 7 logical pages of 12.
    let mut pool = pool(4, 3, 7, GcStreams::TwoRegion);
    assert_eq!(write(&mut pool, &[0, 1, 2, 3, 4, 5, 6, 0, 3, 6, 1, 4]), "");
    // Block 0: 2; block 1: 5; block 2: 0, 3; block 3: 6, 1, 4. Blocks 0 and 1 have four invalid pages.
    assert_eq!(write(&mut pool, &[6, 6, 6]), "v0 v1 5:5>3 2:2>4");
    // The host filled the empty block first; then it fills up block 1.
    assert_eq!(pool.page_of(6), Some(2));
    assert_eq!(write(&mut pool, &[0]), "");
    assert_eq!(pool.page_of(0), Some(5));
    // Block 0: 6; block 1: 5, 2, 0; block 2: 3; block 3: 1, 4. Block 0 came to one page first.
    assert_eq!(write(&mut pool, &[3]), "v0 v2 3:8>6 6:2>7");
}

#[test]
fn full_blocks_of_a_job_are_cold() {
    // 2 pages a block, 6 logical pages of 10: a job takes two blocks with one valid page each.
    let mut pool = pool(5, 2, 6, GcStreams::TwoRegion);
    write(&mut pool, &[0, 1, 2, 3, 4, 5, 0, 2, 0, 2]);
    assert_eq!(write(&mut pool, &[4]), "v3");
    assert!(
        pool.places.blocks.cell_of(3) != COLD,
        "an empty victim leaves nothing to pack"
    );
    // 0: 1; 1: 3; 2: 5; 3: 4, 4 again; 4: 0, 2.
    assert_eq!(write(&mut pool, &[4, 0]), "v0 v1 3:3>2 1:1>3");
    let cells = (0..5).map(|block| pool.places.blocks.cell_of(block));
    assert_eq!(
        cells.collect::<Vec<_>>(),
        [NORMAL, COLD, NORMAL, NORMAL, NORMAL]
    );
    assert_eq!(pool.invalid, [3, 0]);
}

#[test]
fn what_cannot_work_is_refused() {
    let shape = |blocks, pages_per_block, logical| PoolShape {
        blocks,
        pages_per_block,
        logical,
    };
    let refused = |shape, rules| BlockPool::new(shape, rules).unwrap_err().to_string();
    for (streams, most) in [
        (GcStreams::Shared, 11),
        (GcStreams::Own, 7),
        (GcStreams::InPlace, 15),
        (GcStreams::TwoRegion, 9),
    ] {
        assert!(BlockPool::new(shape(4, 4, most), rules(streams)).is_ok());
        let error = refused(shape(4, 4, most + 1), rules(streams));
        let (spare, least) = (15 - most, 16 - most);
        assert_eq!(
            error,
            format!(
                "{} logical pages leave {spare} of 16 pages spare; `{streams}` needs at least {least}",
                most + 1
            )
        );
    }
    let range = "allowed are 2 blocks or more, of 1 to 65535 pages, 2^31 pages together";
    for (blocks, pages) in [(1, 4), (4, 0), (4, 65_536), (1 << 30, 4)] {
        let error = refused(shape(blocks, pages, 1), rules(GcStreams::InPlace));
        assert_eq!(error, format!("{blocks} blocks of {pages} pages: {range}"));
    }
    let random = PoolRules {
        policy: GcPolicy::Random,
        ..rules(GcStreams::TwoRegion)
    };
    let error = refused(shape(4, 4, 4), random);
    assert_eq!(
        error,
        "`two-region` does not work with the victim policy `random`"
    );
}

/// A device of one plane that collects as `shared` does.
fn one_plane(policy: GcPolicy) -> DeviceConfig {
    let sets = format!(
        "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 blocks_per_plane=16 \
         pages_per_block=8 op=0.25 gc_threshold=0 wear_levelling=off gc_choices=3 gc_policy={policy}"
    );
    let sets: Vec<String> = sets.split_whitespace().map(str::to_owned).collect();
    let device = EffectiveDevice::from_preset("default", &sets);
    device.expect("a legal device").into_config()
}

#[test]
fn shared_is_a_device_of_one_plane() {
    for policy in [
        GcPolicy::Greedy,
        GcPolicy::CostBenefit,
        GcPolicy::DChoices,
        GcPolicy::Random,
    ] {
        let config = one_plane(policy);
        let logical = config.logical_pages();
        let shape = PoolShape {
            blocks: 16,
            pages_per_block: 8,
            logical: logical as u32,
        };
        let rules = PoolRules {
            policy,
            seed: 7,
            ..rules(GcStreams::Shared)
        };
        let mut pool = BlockPool::new(shape, rules).unwrap();
        let (mut map, mut work) = (PageMap::new(&config, 7), GcWork::default());
        let (mut rng, mut copies) = (SplitMix64::new(3), 0);
        for n in 0..4000 {
            let lpn = rng.below(logical).min(rng.below(logical));
            let (mut expected, mut seen) = (Vec::new(), Vec::new());
            work.clear();
            let placed = map.host_write(Lpn(lpn), None, &mut work).unwrap();
            for block in &work.blocks {
                expected.push((block.number, block.valid, 0));
                for step in work.steps_of(block) {
                    if let GcStep::Copy { lpn, from, to, .. } = step {
                        expected.push((lpn.0 as u32, from.0, to.0));
                    }
                }
            }
            let page = pool.write(lpn as u32, &mut |event| {
                seen.push(match event {
                    PoolEvent::Victim { block, valid } => (block, valid, 0),
                    PoolEvent::Copied { lpn, from, to } => (lpn, from, to),
                })
            });
            assert_eq!(seen, expected, "{policy}, write {n}");
            assert_eq!(page, placed.place.ppn.0, "{policy}, write {n}");
            copies += seen.len();
        }
        assert!(copies > 4000, "{policy}: {copies} steps are too few");
    }
}
