//! The translation layer and its garbage collection against the model without tables: the same
//! operations on devices of every kind lead to the same places, the same collections and the same
//! answers.

mod devices;
mod preconditioning;

use destage_conformance::reference::pagemap::{BlockId, Collection, SlowMap, SlowStep, Spot};
use destage_conformance::suites::is_full;
use destage_conformance::timed::runs::device_of;
use destage_device::config::DeviceConfig;
use destage_device::map::{Collected, FlashMap, GcStep, GcWork, PageMap};
use destage_types::rng::SplitMix64;
use destage_types::{ChipId, Lpn, PlaneId, Ppn};
use devices::{SHAPES, any_device, orders};
use proptest::prelude::*;

/// Both, and the blocks that wait for their background erase.
struct Both {
    map: PageMap,
    slow: SlowMap,
    blocks_per_plane: u64,
    pages_per_block: u64,
    work: GcWork,
    erasing: Vec<BlockId>,
}

impl Both {
    fn new(config: &DeviceConfig) -> Both {
        Both {
            map: PageMap::new(config, 7),
            slow: SlowMap::new(config, 7),
            blocks_per_plane: u64::from(config.geometry.blocks_per_plane),
            pages_per_block: u64::from(config.geometry.pages_per_block),
            work: GcWork::default(),
            erasing: Vec::new(),
        }
    }

    fn block(&self, number: u32) -> BlockId {
        number as usize
    }

    fn spot(&self, ppn: Ppn) -> Spot {
        let (block, page) = (
            ppn.0 / self.pages_per_block as u32,
            u64::from(ppn.0) % self.pages_per_block,
        );
        let block = u64::from(block);
        let (plane, block) = (block / self.blocks_per_plane, block % self.blocks_per_plane);
        let page = page as usize;
        Spot { plane, block, page }
    }

    /// Writes a page and says whether there was room.
    fn write(&mut self, lpn: u64, plane: Option<u64>) -> bool {
        let to = plane.map(|plane| PlaneId(plane as u32));
        let before = self.slow.is_mapped(lpn).then(|| self.slow.spot(lpn));
        let found = self.map.host_write(Lpn(lpn), to, &mut self.work);
        let (expected, work) = self.slow.write(lpn, plane);
        let expedited = self.work.expedited.iter().map(|c| self.block(c.number));
        assert_eq!(expedited.collect::<Vec<_>>(), work.expedited);
        self.erasing.retain(|block| !work.expedited.contains(block));
        self.compare(&work.blocks);
        let Some(expected) = expected else {
            let full = found.expect_err("the model found no room");
            assert_eq!(full.collects, self.slow.collects());
            assert_eq!(full.device_valid, self.slow.mapped_pages());
            return false;
        };
        let found = found.expect("the model found room");
        assert_eq!(self.spot(found.place.ppn), expected.spot);
        assert_eq!(u64::from(found.place.plane.0), expected.spot.plane);
        assert_eq!(found.place.chip.index(), expected.chip);
        assert_eq!(found.place, self.map.place_of(found.place.ppn));
        let summary = found.summary.map(|place| place.ppn);
        let wanted = expected.summary.then(|| Ppn(found.place.ppn.0 + 1));
        assert_eq!(summary, wanted);
        // A collection before the write may have moved the old version.
        assert_eq!(found.old.is_some(), before.is_some());
        if work.blocks.is_empty() {
            assert_eq!(found.old.map(|old| self.spot(old)), before);
        }
        let plane = found.place.plane;
        self.map.collect_behind_program(plane, &mut self.work);
        let work = self.slow.behind_write(&expected);
        self.compare(&work.blocks);
        true
    }

    /// The collections of both, of which those in `self.work` are done then.
    fn compare(&mut self, expected: &[Collection]) {
        assert_eq!(self.work.blocks.len(), expected.len());
        for (found, expected) in self.work.blocks.iter().zip(expected) {
            self.compare_one(found, expected);
        }
        self.work.clear();
    }

    fn compare_one(&self, found: &Collected, expected: &Collection) {
        assert_eq!(self.block(found.number), expected.block);
        let plane = expected.block as u64 / self.blocks_per_plane;
        assert_eq!(u64::from(found.plane.0), plane);
        assert_eq!(found.chip.index(), expected.chip);
        let steps = self.work.steps_of(found);
        assert_eq!(steps.len(), expected.steps.len());
        let mut copies = 0;
        for (found, expected) in steps.iter().zip(&expected.steps) {
            match (*found, *expected) {
                (
                    GcStep::Copy {
                        lpn,
                        from,
                        to,
                        same_plane,
                    },
                    SlowStep::Copy { .. },
                ) => {
                    let found = SlowStep::Copy {
                        lpn: lpn.0,
                        from: self.spot(from),
                        to: self.spot(to),
                        same_plane,
                    };
                    assert_eq!(found, *expected);
                    copies += 1;
                }
                (GcStep::Summary { at }, SlowStep::Summary) => {
                    assert_eq!(self.spot(at).page as u64, self.pages_per_block - 1);
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(found.valid, copies);
    }

    /// Compares the collections that a read of a page causes in its unit.
    fn read(&mut self, lpn: u64) {
        if let Some(place) = self.map.read(Lpn(lpn)) {
            self.map.collect_before_read(place.plane, &mut self.work);
            let work = self.slow.before_read(lpn);
            self.compare(&work.blocks);
        }
    }

    fn trim(&mut self, lpn: u64) {
        let before = self.slow.is_mapped(lpn).then(|| self.slow.spot(lpn));
        let old = self.map.trim(Lpn(lpn));
        assert_eq!(old.map(|old| self.spot(old)), before);
        self.slow.unmap(lpn);
    }

    fn collect_in_background(&mut self, chip: usize) {
        let found = self
            .map
            .collect_in_background(ChipId(chip as u32), &mut self.work);
        let expected = self.slow.collect_in_background(chip);
        assert_eq!(found, expected.is_some());
        assert!(self.work.expedited.is_empty());
        let expected = expected.unwrap_or_default();
        self.compare(&expected);
        self.erasing.extend(expected.iter().map(|c| c.block));
    }

    /// One of the background erases ends.
    fn end_erase(&mut self, which: usize) {
        if !self.erasing.is_empty() {
            let block = self.erasing.remove(which % self.erasing.len());
            self.map.erased(block as u32);
            self.slow.erased(block);
        }
    }

    /// Dynamic allocation: a write to a plane of the least busy chip.
    fn write_by_load(&mut self, lpn: u64, loads: u64) -> bool {
        let load = |chip: usize| loads >> (2 * chip % 64) & 3;
        let plane = self.map.least_busy(|chip| load(chip.index()));
        assert_eq!(u64::from(plane.0), self.slow.least_busy(load));
        self.write(lpn, Some(u64::from(plane.0)))
    }

    /// Everything that can be asked.
    fn check(&self) {
        let (map, slow) = (&self.map, &self.slow);
        assert_eq!(map.logical_pages(), slow.logical_pages());
        assert_eq!(map.places().mapped(), slow.mapped_pages());
        for lpn in 0..map.logical_pages() {
            let expected = slow.is_mapped(lpn).then(|| slow.spot(lpn));
            assert_eq!(map.is_mapped(Lpn(lpn)), expected.is_some());
            assert_eq!(map.read(Lpn(lpn)).map(|at| self.spot(at.ppn)), expected);
        }
        for ppn in (0..map.pages() as u32).map(Ppn) {
            let owner = map.owner(ppn).map(|lpn| lpn.0);
            assert_eq!(owner, slow.owner(self.spot(ppn)));
        }
        for plane in 0..slow.planes() {
            let id = PlaneId(plane as u32);
            assert_eq!(u64::from(map.free_blocks(id)), slow.free_blocks(plane));
            assert_eq!(map.plane_chip(id).0.index(), slow.chip_of_plane(plane));
            for block in 0..self.blocks_per_plane {
                let (valid, written, erases) = map.block_counts(id, block as u32);
                let found = [valid, written, erases].map(u64::from);
                let expected = slow.block_counts((plane * self.blocks_per_plane + block) as usize);
                assert_eq!(found, [expected.0, expected.1, expected.2]);
            }
        }
        let blocks = slow.planes() * self.blocks_per_plane;
        let mut wear: Vec<u64> = slow.wear().collect();
        wear.resize(blocks as usize, 0);
        wear.sort_unstable();
        let histogram = map.wear().blocks_by_erases;
        let listed = histogram
            .iter()
            .flat_map(|&(n, b)| std::iter::repeat_n(u64::from(n), b as usize));
        assert_eq!(listed.collect::<Vec<_>>(), wear);
        self.check_chips();
    }

    fn check_chips(&self) {
        let (map, slow) = (&self.map, &self.slow);
        let chips = slow.chips();
        let mut room = 0u64;
        for chip in 0..chips {
            let (id, free) = (ChipId(chip as u32), slow.free_pages(chip));
            let left = slow.frontier_free_pages(chip);
            assert_eq!(map.chip_free_pages(id), free);
            assert_eq!(map.chip_frontier_free_pages(id), left);
            assert_eq!(map.chip_free_blocks(id), slow.free_blocks_of_chip(chip));
            assert_eq!(
                map.chip_victim_valid_pages(id),
                slow.victim_valid_pages(chip)
            );
            room |= u64::from(free > slow.threshold_of_chip() && left > 1) << chip;
        }
        assert_eq!(
            map.chip_gc_threshold_pages(ChipId(0)),
            slow.threshold_of_chip()
        );
        let blocks = slow.threshold_blocks_of_chip();
        assert_eq!(map.chip_gc_threshold_blocks(ChipId(0)), blocks);
        assert_eq!(map.chips_with_free_space(ChipId(0), chips as u32), room);
        let free = (0..chips).map(|chip| slow.free_pages(chip)).sum::<u64>();
        assert_eq!(map.free_pages(), free);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_full() { 1000 } else { 300 }))]

    #[test]
    fn the_mapping_follows_the_model(
        config in any_device(),
        placed in any::<bool>(),
        operations in proptest::collection::vec((0..20u8, any::<u32>(), any::<u64>()), 0..500),
    ) {
        let mut both = Both::new(&config);
        let (logical, planes) = (both.slow.logical_pages(), both.slow.planes());
        let chips = both.slow.chips();
        both.check();
        for (i, (kind, a, b)) in operations.into_iter().enumerate() {
            let lpn = u64::from(a) % logical;
            match kind {
                0..=8 => {
                    // With collection, pages that stay where they belong never run out of room.
                    let done = both.write(lpn, None);
                    prop_assert!(done || placed || !both.slow.collects());
                }
                9 | 10 if placed => { both.write(lpn, Some(b % planes)); }
                11 if placed => { both.write_by_load(lpn, b); }
                12 | 13 => both.trim(lpn),
                14 | 15 if both.slow.collects_in_background() => {
                    both.collect_in_background(b as usize % chips);
                }
                16 => both.end_erase(b as usize),
                18 | 19 => both.read(lpn),
                17 if b % 4 == 0 => {
                    // A stretch that writes everything.
                    (0..logical).for_each(|lpn| { both.write(lpn, None); });
                }
                _ => {}
            }
            if i % 50 == 0 {
                both.check();
            }
        }
        both.check();
    }
}

/// Four fifths of the writes go to a tenth of the pages.
#[test]
fn a_device_written_for_long_goes_on_for_every_policy() {
    for policy in ["greedy", "cost-benefit", "d-choices", "random"] {
        for wear in ["off", "dynamic", "static wear_threshold=3"] {
            let mut both = Both::new(&device_of(&format!(
                "{} gc_policy={policy} wear_levelling={wear}",
                SHAPES[5]
            )));
            let logical = both.slow.logical_pages();
            let mut rng = SplitMix64::new(3);
            (0..logical).for_each(|lpn| assert!(both.write(lpn, None)));
            for _ in 0..20_000 {
                let hot = rng.below(5) > 0;
                let range = if hot { logical / 10 } else { logical };
                assert!(both.write(rng.below(range), None));
            }
            both.check();
            let wear = both.map.wear().blocks_by_erases;
            assert!(wear[0].0 > 0, "{policy}: every block is used in turn");
        }
    }
}

#[test]
fn static_levelling_moves_data_that_stay() {
    let spread = |wear: &str| {
        let one = "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 \
                   blocks_per_plane=12 pages_per_block=8 op=0.4";
        let mut both = Both::new(&device_of(&format!("{one} wear_levelling={wear}")));
        let logical = both.slow.logical_pages();
        (0..logical).for_each(|lpn| assert!(both.write(lpn, None)));
        // Blocks 1 to 6 are never written again.
        (0..4000).for_each(|i| assert!(both.write(i % 8, None)));
        both.check();
        let wear = both.map.wear().blocks_by_erases;
        wear.last().unwrap().0 - wear[0].0
    };
    assert!(spread("dynamic") > 90, "data that stay keep their blocks");
    let levelled = spread("static wear_threshold=10");
    assert!(levelled <= 13, "{levelled}");
}

#[test]
fn every_order_is_followed_until_the_device_is_full() {
    assert_eq!(orders().len(), 24);
    for order in orders() {
        for kind in [
            "frontier=plane",
            "frontier=die",
            "queue_per=chip frontier=chip",
        ] {
            let tiny = "channels=2 chips_per_channel=2 dies_per_chip=2 planes_per_die=2 \
                        blocks_per_plane=3 pages_per_block=4 op=0.25 gc_mode=off";
            let config = device_of(&format!("{tiny} {kind} allocation_order={order}"));
            let mut both = Both::new(&config);
            let logical = both.slow.logical_pages();
            (0..logical).for_each(|lpn| assert!(both.write(lpn, None)));
            // The spare space goes to overwrites; then there is no room anywhere.
            let mut lpn = 0;
            while both.map.free_pages() > 0 {
                both.write(lpn % logical, None);
                lpn += 1;
            }
            both.check();
            assert!(!both.write(5, None));
            both.check();
        }
    }
}
