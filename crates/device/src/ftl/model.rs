//! The mapping against a hash map, on random operations.

use super::*;
use crate::config::{DeviceConfig, EffectiveDevice};
use proptest::prelude::*;
use std::collections::HashMap;

/// A device without GC.
pub(super) fn device(settings: &str) -> DeviceConfig {
    let plain = "gc_mode=off wear_levelling=off ";
    let words = plain.split_whitespace().chain(settings.split_whitespace());
    let sets: Vec<String> = words.map(str::to_owned).collect();
    EffectiveDevice::from_preset("default", &sets)
        .unwrap()
        .into_config()
}

/// 2 x 2 x 2 x 2 planes of 3 blocks of 4 pages: 192 pages.
pub(super) const TINY: &str = "channels=2 chips_per_channel=2 dies_per_chip=2 planes_per_die=2 \
                    blocks_per_plane=3 pages_per_block=4 op=0.25";

fn planes(map: &PageMap) -> impl Iterator<Item = PlaneId> {
    (0..map.planes()).map(PlaneId)
}

/// The mapping as an obvious model: a hash map of places, and sets of written pages.
pub(super) struct Model {
    pub map: PageMap,
    config: DeviceConfig,
    places: HashMap<u64, Place>,
    written: HashMap<u32, Option<u64>>,
}

impl Model {
    pub fn new(config: DeviceConfig) -> Model {
        let map = PageMap::new(&config, 1);
        Model {
            map,
            config,
            places: HashMap::new(),
            written: HashMap::new(),
        }
    }

    /// Writes, checks where the page went, and returns whether there was room.
    pub fn write(&mut self, lpn: u64, plane: Option<PlaneId>) -> bool {
        let wanted = plane.unwrap_or(self.config.layout().plane(Lpn(lpn)));
        let free = self.map.unit_free_pages(wanted);
        let before = self.map.free_pages();
        let placed = match plane {
            Some(plane) => self.map.write_to_plane(Lpn(lpn), plane),
            None => self.map.write(Lpn(lpn)),
        };
        let Ok(placed) = placed else {
            assert_eq!(free, 0, "there is room until the unit has no free page");
            assert_eq!(self.map.free_pages(), before);
            return false;
        };
        let layout = self.config.layout();
        let (at, to) = (
            layout.plane_address(wanted),
            layout.plane_address(placed.place.plane),
        );
        let chip = (at.channel, at.chip) == (to.channel, to.chip);
        assert!(match self.config.frontier {
            FlashUnit::Plane => at == to,
            FlashUnit::Die => chip && at.die == to.die,
            FlashUnit::Chip => chip,
        });
        assert_eq!(placed.place.chip, layout.chip_of(to));
        assert_eq!(placed.place.channel, layout.channel(placed.place.chip));
        assert_eq!(placed.place.channel.0, to.channel);
        if plane.is_none() {
            assert_eq!(
                placed.place.chip,
                layout.chip(Lpn(lpn)),
                "chip(lpn) is kept"
            );
        }
        assert_eq!(
            placed.old,
            self.places.insert(lpn, placed.place).map(|old| old.ppn)
        );
        let fresh = self.written.insert(placed.place.ppn.0, Some(lpn)).is_none();
        assert!(fresh, "a page is written once");
        let last = u64::from(placed.place.ppn.0 % self.config.geometry.pages_per_block) + 2
            == u64::from(self.config.geometry.pages_per_block);
        assert_eq!(placed.summary.is_some(), last && self.config.summary_page);
        if let Some(summary) = placed.summary {
            assert_eq!(summary.ppn.0, placed.place.ppn.0 + 1);
            assert!(self.written.insert(summary.ppn.0, None).is_none());
        }
        true
    }

    fn trim(&mut self, lpn: u64) {
        let old = self.places.remove(&lpn).map(|place| place.ppn);
        assert_eq!(self.map.trim(Lpn(lpn)), old);
    }

    /// Erases the first full block without valid pages.
    fn erase(&mut self) {
        let blocks = self.config.geometry.blocks_per_plane;
        let pages = self.config.geometry.pages_per_block;
        let all = planes(&self.map).flat_map(|plane| (0..blocks).map(move |b| (plane, b)));
        for (plane, block) in all.collect::<Vec<_>>() {
            let (valid, written, erases) = self.map.block_counts(plane, block);
            if (valid, written) == (0, pages) {
                self.map.erase(plane, block);
                assert_eq!(self.map.block_counts(plane, block), (0, 0, erases + 1));
                let first = (plane.0 * blocks + block) * pages;
                self.written
                    .retain(|&ppn, _| !(first..first + pages).contains(&ppn));
                return;
            }
        }
    }

    /// Everything the map says against the model.
    pub fn check(&self) {
        let map = &self.map;
        for lpn in 0..map.logical_pages() {
            assert_eq!(map.read(Lpn(lpn)), self.places.get(&lpn).copied());
            assert_eq!(map.is_mapped(Lpn(lpn)), self.places.contains_key(&lpn));
        }
        assert_eq!(map.valid_pages(), self.places.len() as u64);
        let g = &self.config.geometry;
        let mut chips = vec![0; map.layout().chips() as usize];
        let (mut free, mut valid, mut invalid) = (0, 0, 0);
        for ppn in 0..map.pages() as u32 {
            let place = map.place_of(Ppn(ppn));
            let owner = map.owner(Ppn(ppn));
            match self.written.get(&ppn) {
                None => {
                    free += 1;
                    chips[place.chip.index()] += 1;
                }
                Some(Some(lpn)) if self.places.get(lpn).is_some_and(|at| at.ppn == Ppn(ppn)) => {
                    valid += 1;
                    assert_eq!(owner, Some(Lpn(*lpn)));
                }
                Some(_) => {
                    invalid += 1;
                    assert_eq!(owner, None);
                }
            }
        }
        assert_eq!((map.free_pages(), map.valid_pages()), (free, valid));
        assert_eq!(free + valid + invalid, map.pages());
        for (chip, &free) in chips.iter().enumerate() {
            assert_eq!(map.chip_free_pages(ChipId(chip as u32)), free);
        }
        for plane in planes(map) {
            let mut free_blocks = 0;
            for block in 0..g.blocks_per_plane {
                let first = (plane.0 * g.blocks_per_plane + block) * g.pages_per_block;
                let pages = first..first + g.pages_per_block;
                let count =
                    |f: &dyn Fn(u32) -> bool| pages.clone().filter(|&p| f(p)).count() as u32;
                let written = count(&|p| self.written.contains_key(&p));
                let valid = count(&|p| map.owner(Ppn(p)).is_some());
                let (v, w, _) = map.block_counts(plane, block);
                assert_eq!((v, w), (valid, written));
                let state = match written {
                    0 => BlockState::Free,
                    n if n == g.pages_per_block => BlockState::Full,
                    _ => BlockState::Open,
                };
                assert_eq!(map.block_state(plane, block), state);
                free_blocks += u32::from(written == 0);
            }
            assert_eq!(map.free_blocks(plane), free_blocks);
        }
    }
}

const SHAPES: [&str; 6] = [
    "channels=2 chips_per_channel=2 dies_per_chip=2 planes_per_die=2 blocks_per_plane=3 \
     pages_per_block=4 op=0.25",
    "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 blocks_per_plane=1 \
     pages_per_block=1 op=0",
    "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 blocks_per_plane=5 \
     pages_per_block=3 op=0.34",
    "channels=3 chips_per_channel=1 dies_per_chip=2 planes_per_die=3 blocks_per_plane=2 \
     pages_per_block=2 op=0.5",
    "channels=1 chips_per_channel=2 dies_per_chip=1 planes_per_die=4 blocks_per_plane=2 \
     pages_per_block=5 op=0.2",
    "channels=2 chips_per_channel=1 dies_per_chip=3 planes_per_die=1 blocks_per_plane=4 \
     pages_per_block=2 op=0.6",
];

pub(super) fn orders() -> Vec<String> {
    let axes = ["channel", "chip", "die", "plane"];
    let mut orders = Vec::new();
    for n in 0..256 {
        let digits = [n % 4, n / 4 % 4, n / 16 % 4, n / 64];
        if (0..4).all(|axis| digits.contains(&axis)) {
            orders.push(digits.map(|d| axes[d]).join(","));
        }
    }
    orders
}

fn any_device() -> impl Strategy<Value = DeviceConfig> {
    let kind = prop_oneof![
        Just("frontier=plane queue_per=die"),
        Just("frontier=plane queue_per=chip"),
        Just("frontier=die queue_per=die"),
        Just("frontier=die queue_per=chip"),
        Just("frontier=chip queue_per=chip"),
    ];
    (0..SHAPES.len(), kind, 0..24usize, any::<bool>()).prop_map(|(shape, kind, order, summary)| {
        let order = &orders()[order];
        // A block of one page has no room for a summary, and the data must fit beside it.
        let summary = summary && shape != 1 && shape != 2 && shape != 4;
        device(&format!(
            "{} {kind} allocation_order={order} summary_page={summary}",
            SHAPES[shape]
        ))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn behaves_as_the_model(
        config in any_device(),
        operations in proptest::collection::vec((0..10u8, any::<u32>(), any::<u32>()), 0..400),
    ) {
        let mut model = Model::new(config);
        let logical = model.map.logical_pages();
        let count = model.map.planes();
        model.check();
        for (i, (kind, a, b)) in operations.into_iter().enumerate() {
            let lpn = u64::from(a) % logical;
            match kind {
                0..=4 => { model.write(lpn, None); }
                5 => { model.write(lpn, Some(PlaneId(b % count))); }
                6 | 7 => model.trim(lpn),
                8 => model.erase(),
                _ => assert_eq!(model.map.read(Lpn(lpn)), model.places.get(&lpn).copied()),
            }
            if i % 40 == 0 {
                model.check();
            }
        }
        model.check();
    }
}
