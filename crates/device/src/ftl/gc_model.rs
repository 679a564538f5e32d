//! Garbage collection against a plain model of flash: what is in every page, and what the host
//! wrote last.

use super::model::orders;
use super::*;
use crate::config::{DeviceConfig, EffectiveDevice};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};

pub(super) fn device(settings: &str) -> DeviceConfig {
    let sets: Vec<String> = settings.split_whitespace().map(str::to_owned).collect();
    let device = EffectiveDevice::from_preset("default", &sets);
    device.expect("a legal device").into_config()
}

/// What a written page holds: a page of the host in some version, or a summary.
type Content = Option<(u64, u64)>;

/// Flash as a map of pages; every operation is checked against what flash allows.
struct Flash {
    map: PageMap,
    config: DeviceConfig,
    pages: HashMap<u32, Content>,
    latest: HashMap<u64, u64>,
    version: u64,
    work: GcWork,
    /// Background erases that have not ended.
    erasing: Vec<Collected>,
}

impl Flash {
    fn new(config: DeviceConfig) -> Flash {
        Flash {
            map: PageMap::new(&config, 7),
            config,
            pages: HashMap::new(),
            latest: HashMap::new(),
            version: 0,
            work: GcWork::default(),
            erasing: Vec::new(),
        }
    }

    fn program(&mut self, page: Ppn, content: Content) {
        let in_block = page.0 % self.config.geometry.pages_per_block;
        if in_block > 0 {
            assert!(
                self.pages.contains_key(&(page.0 - 1)),
                "pages ascend in a block"
            );
        }
        let fresh = self.pages.insert(page.0, content).is_none();
        assert!(fresh, "page {page} is programmed once");
    }

    fn erase(&mut self, block: &Collected) {
        let pages = self.config.geometry.pages_per_block;
        let first = block.number * pages;
        for page in first..first + pages {
            let held = self.pages.remove(&page);
            assert!(held.is_some(), "a full block is erased");
        }
    }

    fn copy(&mut self, step: &GcStep) {
        match *step {
            GcStep::Copy {
                lpn,
                from,
                to,
                same_plane,
            } => {
                let content = self.pages[&from.0];
                assert_eq!(content.map(|c| Lpn(c.0)), Some(lpn));
                let (a, b) = (self.map.place_of(from), self.map.place_of(to));
                assert_eq!(same_plane, a.plane == b.plane);
                assert_eq!(a.chip, b.chip, "copies stay on their chip");
                self.program(to, content);
            }
            GcStep::Summary { at } => self.program(at, None),
        }
    }

    /// Does the collected work in order. With `later` erases wait.
    fn act(&mut self, later: bool) {
        let work = std::mem::take(&mut self.work);
        for block in &work.hurried {
            let at = self.erasing.iter().position(|b| b == block);
            let block = self.erasing.remove(at.expect("a background block"));
            self.erase(&block);
        }
        for block in &work.blocks {
            let copies = work.steps_of(block).iter();
            let copies = copies.filter(|s| matches!(s, GcStep::Copy { .. })).count();
            assert_eq!(copies as u32, block.valid);
            work.steps_of(block).iter().for_each(|step| self.copy(step));
            match later {
                true => self.erasing.push(*block),
                false => self.erase(block),
            }
        }
        self.work = work;
        self.work.clear();
    }

    fn write(&mut self, lpn: u64, plane: Option<PlaneId>) -> bool {
        let wanted = plane.unwrap_or(self.map.static_plane(Lpn(lpn)));
        let result = self.map.host_write(Lpn(lpn), plane, &mut self.work);
        self.act_before_write();
        let Ok(placed) = result else {
            assert!(
                !self.config.collects() || self.is_tight(),
                "room can be made"
            );
            return false;
        };
        if plane.is_none() && !self.map.gc.displaced {
            assert_eq!(placed.place.chip, self.map.plane_chip(wanted).0);
        }
        self.version += 1;
        self.program(placed.place.ppn, Some((lpn, self.version)));
        if let Some(summary) = placed.summary {
            self.program(summary.ppn, None);
        }
        let old = self.latest.insert(lpn, self.version);
        assert_eq!(placed.old.is_some(), old.is_some());
        true
    }

    fn act_before_write(&mut self) {
        // The mapping took hurried and collected blocks as erased.
        self.act(false);
    }

    /// Nearly nothing is to be gained anywhere.
    fn is_tight(&self) -> bool {
        let pages = self.map.pages();
        self.map.valid_pages() + u64::from(2 * self.config.geometry.pages_per_block) > pages / 2
    }

    fn background(&mut self, chip: u32) {
        let chip = ChipId(chip % self.map.layout().chips());
        if self.map.collect_in_background(chip, &mut self.work) {
            assert!(self.work.hurried.is_empty());
            self.act(true);
        }
    }

    fn end_erase(&mut self) {
        if !self.erasing.is_empty() {
            let block = self.erasing.remove(0);
            self.erase(&block);
            self.map.erased(block.number);
        }
    }

    fn check(&self) {
        let map = &self.map;
        for lpn in 0..map.logical_pages() {
            let at = map.read(Lpn(lpn)).map(|place| self.pages[&place.ppn.0]);
            let wanted = self.latest.get(&lpn).map(|&version| Some((lpn, version)));
            assert_eq!(at, wanted, "page {lpn} reads back its last write");
        }
        self.check_counts();
        self.check_buckets();
    }

    fn check_counts(&self) {
        let map = &self.map;
        let written = self.pages.len() as u64;
        let valid = self.latest.len() as u64;
        assert_eq!(map.valid_pages(), valid);
        assert_eq!(map.free_pages() + written, map.pages());
        let invalid = (0..map.pages())
            .filter(|&p| self.pages.contains_key(&(p as u32)))
            .filter(|&p| map.owner(Ppn(p as u32)).is_none())
            .count() as u64;
        assert_eq!(valid + invalid + map.free_pages(), map.pages());
        let g = &self.config.geometry;
        let mut by_gc: BTreeMap<u32, u64> = BTreeMap::new();
        let mut by_unit: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for block in 0..g.planes() * g.blocks_per_plane {
            let row = map.units.row(PlaneId(block / g.blocks_per_plane));
            let left = u64::from(g.pages_per_block - map.blocks.written(block));
            *by_gc.entry(row.gc).or_default() += left;
            let data = left.saturating_sub(u64::from(self.config.summary_page));
            let unit = by_unit.entry(row.unit).or_default();
            *unit = (unit.0 + left, unit.1 + data);
        }
        for (gc, free) in by_gc {
            assert_eq!(map.gc.free[gc as usize], free);
        }
        for (unit, (free, slots)) in by_unit {
            assert_eq!(map.frontiers.free(unit), free);
            assert_eq!(map.frontiers.slots(unit), slots);
        }
        for (chip, &tightest) in map.tightest.iter().enumerate() {
            let units = map.units.of_chip(ChipId(chip as u32)).iter();
            let least = units.min_by_key(|&&unit| map.frontiers.free(unit));
            assert_eq!(Some(&tightest), least);
        }
        map.check_room();
    }

    fn check_buckets(&self) {
        if !self.map.gc.on {
            return;
        }
        let mut map = self.map.clone();
        (0..map.units.gc_units()).for_each(|gc| map.list_blocks(gc));
        let g = &self.config.geometry;
        let mut lists: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for block in 0..g.planes() * g.blocks_per_plane {
            let cell = map.units.cell_of(block / g.blocks_per_plane);
            let waits = map.gc.awaiting.iter().any(|c| c.number == block);
            if map.blocks.is_full(block) && !waits {
                let valid = map.blocks.valid(block);
                lists.entry((cell, valid)).or_default().push(block);
            }
        }
        for cell in 0..map.units.cells() {
            let counts = (0..=g.pages_per_block).filter(|&v| lists.contains_key(&(cell, v)));
            assert_eq!(map.buckets.lowest(cell), counts.min());
            for valid in 0..=g.pages_per_block {
                let mut found = Vec::new();
                let first = map.buckets.first(cell, valid);
                let mut next = first;
                while let Some(block) = next {
                    found.push(block);
                    let after = map.blocks.get(block).next;
                    next = (Some(after) != first).then_some(after);
                }
                found.sort_unstable();
                assert_eq!(found, lists.remove(&(cell, valid)).unwrap_or_default());
            }
        }
    }
}

/// Shapes with room for GC whatever the frontier, and the least over-provisioning of some.
pub(super) const SHAPES: [&str; 7] = [
    "channels=2 chips_per_channel=2 dies_per_chip=2 planes_per_die=2 blocks_per_plane=4 \
     pages_per_block=4 op=0.5",
    "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 blocks_per_plane=2 \
     pages_per_block=2 op=0.75",
    "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 blocks_per_plane=6 \
     pages_per_block=1 op=0.17",
    "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 blocks_per_plane=5 \
     pages_per_block=4 op=0.25",
    "channels=3 chips_per_channel=1 dies_per_chip=2 planes_per_die=3 blocks_per_plane=4 \
     pages_per_block=3 op=0.6",
    "channels=1 chips_per_channel=2 dies_per_chip=1 planes_per_die=4 blocks_per_plane=4 \
     pages_per_block=8 op=0.5",
    "channels=2 chips_per_channel=1 dies_per_chip=3 planes_per_die=1 blocks_per_plane=9 \
     pages_per_block=5 op=0.4",
];

pub(super) fn any_device() -> impl Strategy<Value = DeviceConfig> {
    let kind = prop_oneof![
        Just("frontier=plane queue_per=die"),
        Just("frontier=plane queue_per=chip"),
        Just("frontier=die queue_per=die"),
        Just("frontier=die queue_per=chip"),
        Just("frontier=chip queue_per=chip"),
    ];
    let gc = prop_oneof![
        Just("gc_policy=greedy"),
        Just("gc_policy=cost-benefit"),
        Just("gc_policy=d-choices gc_choices=3"),
        Just("gc_policy=random"),
    ];
    let unit = prop_oneof![Just("plane"), Just("die"), Just("chip")];
    let wear = prop_oneof![
        Just("off"),
        Just("dynamic"),
        Just("static wear_threshold=1"),
        Just("static wear_threshold=4")
    ];
    let threshold = prop_oneof![Just("0"), Just("0.1"), Just("0.4"), Just("1")];
    let base = prop_oneof![Just("total"), Just("spare")];
    let choice = (gc, unit, wear, threshold, base, any::<bool>());
    (0..SHAPES.len(), kind, 0..24usize, any::<bool>(), choice).prop_map(
        |(shape, kind, order, summary, (gc, unit, wear, threshold, base, background))| {
            // Blocks of one or two pages, or the least spare space, have no room for summaries.
            let summary = summary && !(1..=3).contains(&shape);
            let mode = if background {
                "background"
            } else {
                "foreground"
            };
            device(&format!(
                "{} {kind} {gc} gc_unit={unit} wear_levelling={wear} gc_threshold={threshold} \
                 gc_threshold_base={base} gc_mode={mode} allocation_order={} \
                 summary_page={summary}",
                SHAPES[shape],
                orders()[order]
            ))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_page_reads_back_its_last_write(
        config in any_device(),
        placed in any::<bool>(),
        operations in proptest::collection::vec((0..16u8, any::<u32>(), any::<u32>()), 0..500),
    ) {
        let background = config.collects_in_background();
        let mut flash = Flash::new(config);
        let (logical, planes) = (flash.map.logical_pages(), flash.map.planes());
        for (i, (kind, a, b)) in operations.into_iter().enumerate() {
            let lpn = u64::from(a) % logical;
            match kind {
                0..=7 => {
                    // Pages that stay where they belong never run out of room.
                    let done = flash.write(lpn, None);
                    assert!(done || placed);
                }
                8 if placed => { flash.write(lpn, Some(PlaneId(b % planes))); }
                9 => {
                    let old = flash.latest.remove(&lpn);
                    assert_eq!(flash.map.trim(Lpn(lpn)).is_some(), old.is_some());
                }
                10 | 11 if background => flash.background(b),
                12 if background => flash.end_erase(),
                13 => {
                    // A stretch that writes everything.
                    (0..logical).for_each(|lpn| assert!(flash.write(lpn, None) || placed));
                }
                _ => {}
            }
            if i % 50 == 0 {
                flash.check();
            }
        }
        flash.check();
    }
}

#[test]
fn a_device_written_for_long_goes_on_for_every_policy() {
    for policy in ["greedy", "cost-benefit", "d-choices", "random"] {
        for wear in ["off", "dynamic", "static wear_threshold=3"] {
            let mut flash = Flash::new(device(&format!(
                "{} gc_policy={policy} wear_levelling={wear}",
                SHAPES[5]
            )));
            let logical = flash.map.logical_pages();
            let mut rng = destage_types::rng::SplitMix64::new(3);
            for lpn in 0..logical {
                assert!(flash.write(lpn, None));
            }
            for _ in 0..20_000 {
                // Four fifths of the writes go to a tenth of the pages.
                let hot = rng.below(5) > 0;
                let range = if hot { logical / 10 } else { logical };
                assert!(flash.write(rng.below(range), None));
            }
            flash.check();
            let wear_of = |p: u32| (0..4).map(move |b| (p, b));
            let spread: Vec<u32> = (0..flash.map.planes())
                .flat_map(wear_of)
                .map(|(p, b)| flash.map.block_counts(PlaneId(p), b).2)
                .collect();
            let (low, high) = (spread.iter().min().unwrap(), spread.iter().max().unwrap());
            assert!(
                *low > 0 && high - low < 2 * high,
                "{policy} {wear}: {low} to {high}"
            );
        }
    }
}

#[test]
fn static_levelling_moves_data_that_stay() {
    let spread = |wear: &str| {
        let one = "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 \
                   blocks_per_plane=12 pages_per_block=8 op=0.4";
        let mut flash = Flash::new(device(&format!("{one} wear_levelling={wear}")));
        for lpn in 0..flash.map.logical_pages() {
            assert!(flash.write(lpn, None));
        }
        // Blocks 1 to 6 are never written again.
        (0..4000).for_each(|i| assert!(flash.write(i % 8, None)));
        flash.check();
        let wear = flash.map.wear().blocks_by_erases;
        wear.last().unwrap().0 - wear[0].0
    };
    assert!(spread("dynamic") > 90, "data that stay keep their blocks");
    let levelled = spread("static wear_threshold=10");
    assert!(levelled <= 13, "{levelled}");
}

#[test]
fn a_device_without_anything_to_gain_refuses_the_write() {
    let tight = "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=2 \
                 blocks_per_plane=4 pages_per_block=4 op=0.35";
    let mut flash = Flash::new(device(&format!("{tight} frontier=plane")));
    // 20 logical pages, 10 in each plane; plane 0 takes 12 beside its free block, however chosen.
    let mut refused = None;
    let mut work = GcWork::default();
    for lpn in 0..20 {
        work.clear();
        let written = flash.map.host_write(Lpn(lpn), Some(PlaneId(0)), &mut work);
        let place = written
            .expect("the next plane takes what the first cannot")
            .place;
        if place.plane != PlaneId(0) {
            refused.get_or_insert(lpn);
        }
    }
    assert_eq!(
        refused,
        Some(13),
        "three blocks and the page that needs no copy"
    );
    let mut full = PageMap::new(&device(&format!("{tight} gc_mode=off")), 1);
    let error = (0..33).find_map(|i| full.host_write(Lpn(i % 2 * 2), None, &mut work).err());
    assert!(
        error
            .unwrap()
            .to_string()
            .starts_with("device full: no free page")
    );
}

#[test]
fn large_devices_start_at_once() {
    let device = EffectiveDevice::from_preset("prober-512g", &[]).unwrap();
    let map = PageMap::new(device.config(), 1);
    assert!(map.memory_bytes() < 3 << 20, "{}", map.memory_bytes());
}

#[test]
fn dynamic_allocation_takes_the_least_busy_chip_in_turn() {
    let config = device(
        "channels=2 chips_per_channel=2 dies_per_chip=1 planes_per_die=2 blocks_per_plane=4 \
         pages_per_block=4 op=0.5 queue_per=chip",
    );
    let mut map = PageMap::new(&config, 1);
    let mut chips = |loads: [u64; 4]| {
        let plane = map.least_busy(|chip| loads[chip.index()]);
        (map.plane_chip(plane).0.0, plane.0)
    };
    assert_eq!(chips([0, 0, 0, 0]), (0, 0));
    assert_eq!(chips([0, 0, 0, 0]), (1, 1));
    assert_eq!(chips([5, 5, 9, 9]), (0, 4), "after chip 1 come 2, 3, 0");
    assert_eq!(chips([5, 5, 9, 9]), (1, 5));
    assert_eq!(chips([1, 0, 0, 1]), (2, 2));
}
