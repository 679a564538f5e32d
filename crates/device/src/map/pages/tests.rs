use super::*;
use crate::config::{DeviceConfig, EffectiveDevice, Overwrite, Ratio};
use crate::map::{FlashMap, Preconditioning};
use destage_types::{Lpn, QueuePer};

fn collecting(settings: &str) -> DeviceConfig {
    let sets: Vec<String> = settings.split_whitespace().map(str::to_owned).collect();
    let device = EffectiveDevice::from_preset("default", &sets);
    device.expect("a legal device").into_config()
}

/// A device without GC.
fn device(settings: &str) -> DeviceConfig {
    collecting(&format!("gc_mode=off wear_levelling=off {settings}"))
}

/// 2 x 2 x 2 x 2 planes of 3 blocks of 4 pages: 192 pages.
fn tiny(more: &str) -> DeviceConfig {
    device(&format!(
        "channels=2 chips_per_channel=2 dies_per_chip=2 planes_per_die=2 blocks_per_plane=3 \
         pages_per_block=4 op=0.25 {more}"
    ))
}

/// Erases a full block, which GC would do.
fn erase(map: &mut PageMap, plane: PlaneId, block: u32) {
    let number = map.shape.number(plane.0, block);
    map.release(number, plane);
}

#[test]
fn a_full_device_says_what_it_holds() {
    let mut map = PageMap::new(&tiny(""), 1);
    for _ in 0..12 {
        map.write(Lpn(3)).unwrap();
    }
    let full = map.write(Lpn(3)).unwrap_err();
    assert_eq!((full.device_free, full.device_valid), (180, 1));
    assert_eq!(
        full.to_string(),
        "device full: no free page for logical page 3 in its plane (plane 3, chip 3): 0 of 12 \
         pages free there, 180 of 192 pages free on the device, 1 valid, 144 logical pages"
    );
    assert!(map.is_mapped(Lpn(3)), "the old data stay");
    assert!(map.write_to_plane(Lpn(3), PlaneId(4)).is_ok());
}

#[test]
fn a_chip_frontier_goes_round_the_planes_block_by_block() {
    let mut map = PageMap::new(&tiny("queue_per=chip frontier=chip"), 1);
    let mut seen = Vec::new();
    for i in 0..48 {
        // Pages 1, 5, 9 .. belong to chip 1, whichever plane their address names.
        let place = map.write(Lpn(1 + 4 * (i % 30))).unwrap().place;
        assert_eq!(place.chip, ChipId(1));
        if i % 4 == 0 {
            seen.push(place.plane.0);
        }
        assert_eq!(map.chip_free_pages(ChipId(1)), 47 - i);
    }
    // Planes of chip 1: dies first (1, 5), then planes (9, 13).
    assert_eq!(seen, [1, 5, 9, 13, 1, 5, 9, 13, 1, 5, 9, 13]);
    assert!(map.write(Lpn(1)).is_err());
    assert_eq!(map.chip_free_pages(ChipId(0)), 48);
}

#[test]
fn frontier_pages_count_down_and_start_again() {
    let mut map = PageMap::new(&tiny("queue_per=chip frontier=chip"), 1);
    let chip = ChipId(0);
    assert_eq!(
        map.chip_frontier_free_pages(chip),
        4,
        "the block that is opened next"
    );
    let mut left = Vec::new();
    for _ in 0..5 {
        map.write(Lpn(0)).unwrap();
        left.push(map.chip_frontier_free_pages(chip));
    }
    assert_eq!(left, [3, 2, 1, 4, 3]);
    (0..43).for_each(|_| assert!(map.write(Lpn(0)).is_ok()));
    assert_eq!(
        (
            map.chip_frontier_free_pages(chip),
            map.chip_free_pages(chip)
        ),
        (0, 0)
    );
}

#[test]
fn summary_pages_end_blocks() {
    let mut map = PageMap::new(&tiny("queue_per=chip frontier=chip summary_page=true"), 1);
    let chip = ChipId(0);
    let mut left = Vec::new();
    for i in 1..=6 {
        let placed = map.write(Lpn(0)).unwrap();
        assert_eq!(placed.summary.is_some(), i % 3 == 0);
        left.push((
            map.chip_frontier_free_pages(chip),
            map.chip_free_pages(chip),
        ));
    }
    assert_eq!(left, [(3, 47), (2, 46), (4, 44), (3, 43), (2, 42), (4, 40)]);
    assert_eq!(map.block_counts(PlaneId(0), 0), (0, 4, 0));
    assert_eq!(map.block_counts(PlaneId(4), 0), (1, 4, 0));
}

#[test]
fn several_frontiers_of_a_chip_report_the_tightest() {
    let mut map = PageMap::new(&tiny("queue_per=die frontier=plane"), 1);
    // Chip (die) 0 has planes 0 and 8.
    map.write_to_plane(Lpn(0), PlaneId(8)).unwrap();
    assert_eq!(map.chip_frontier_free_pages(ChipId(0)), 3);
    map.write_to_plane(Lpn(1), PlaneId(0)).unwrap();
    map.write_to_plane(Lpn(2), PlaneId(0)).unwrap();
    assert_eq!(map.chip_frontier_free_pages(ChipId(0)), 2);
    assert_eq!(map.plane_chip(PlaneId(8)), (ChipId(0), ChannelId(0)));
}

#[test]
fn erased_blocks_come_back_in_the_order_of_their_erase() {
    let one = "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 \
               blocks_per_plane=4 pages_per_block=2 op=0.5";
    let mut map = PageMap::new(&device(one), 1);
    let plane = PlaneId(0);
    (0..7).for_each(|_| assert!(map.write(Lpn(0)).is_ok()));
    for block in [2, 0, 1] {
        erase(&mut map, plane, block);
    }
    let mut order = Vec::new();
    for _ in 0..7 {
        order.push(map.write(Lpn(0)).unwrap().place.ppn.0);
    }
    assert_eq!(
        order,
        [7, 4, 5, 0, 1, 2, 3],
        "the open block first, then 2, 0, 1"
    );
    assert!(map.write(Lpn(0)).is_err());
    assert_eq!(map.block_counts(plane, 1), (1, 2, 1));
}

#[test]
fn a_chip_has_room_again_after_an_erase() {
    let one = "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 \
               blocks_per_plane=4 pages_per_block=4 op=0.5 gc_threshold=0.6";
    let mut map = PageMap::new(&device(one), 1);
    let room = |map: &PageMap| map.chips_with_free_space(ChipId(0), 1) == 1;
    assert_eq!(map.chip_gc_threshold_pages(ChipId(0)), 5);
    let mut left = Vec::new();
    for _ in 0..12 {
        map.write(Lpn(0)).unwrap();
        left.push(room(&map));
    }
    // 16 pages: one left in the open block after 3, 7, ..., and no more than 5 after 11.
    let one_left = [2, 6];
    let expected = (0..12).map(|i| i < 10 && !one_left.contains(&i));
    assert_eq!(left, expected.collect::<Vec<_>>());
    erase(&mut map, PlaneId(0), 1);
    assert!(room(&map));
}

#[test]
#[should_panic(expected = "valid pages is not erased")]
fn a_block_with_data_is_not_erased() {
    let mut map = PageMap::new(&tiny(""), 1);
    (0..4).for_each(|i| assert!(map.write(Lpn(i * 16)).is_ok()));
    erase(&mut map, PlaneId(0), 0);
}

#[test]
#[should_panic(expected = "logical page 144 of 144 pages")]
fn addresses_beyond_the_device_are_a_broken_promise() {
    PageMap::new(&tiny(""), 1).is_mapped(Lpn(144));
}

#[test]
fn preconditioning_maps_without_moving() {
    let mut map = PageMap::new(&tiny(""), 1);
    assert_eq!(
        map.map_trace(&mut [Lpn(9), Lpn(2), Lpn(9)].into_iter()),
        Ok(2)
    );
    let nine = map.read(Lpn(9));
    assert_eq!(map.fill(Ratio::from_f64(0.5).unwrap(), &mut |_| {}), Ok(70));
    assert_eq!(map.read(Lpn(9)), nine);
    assert!(map.is_mapped(Lpn(71)) && !map.is_mapped(Lpn(72)));
    assert_eq!(map.fill(Ratio::ONE, &mut |_| {}), Ok(72));
    assert_eq!(map.places().mapped(), 144);
    assert_eq!(map.free_pages(), 48);
}

#[test]
fn the_thresholds_of_a_chip_follow_the_device() {
    let config = tiny("gc_unit=plane gc_threshold=0.3 gc_threshold_base=total queue_per=chip");
    let map = PageMap::new(&config, 1);
    // 3.6 of 12 pages of a plane, four planes in a chip.
    assert_eq!(map.chip_gc_threshold_pages(ChipId(0)), 16);
    let coarse = tiny("gc_unit=chip gc_threshold=0.25 gc_threshold_base=total queue_per=die");
    assert_eq!(config.queue_per, QueuePer::Chip);
    assert_eq!(
        PageMap::new(&coarse, 1).chip_gc_threshold_pages(ChipId(0)),
        6,
        "a die's share of 12 pages"
    );
}

#[test]
fn large_devices_take_memory_where_they_are_written() {
    let config = EffectiveDevice::from_preset("prober-512g", &[])
        .unwrap()
        .into_config();
    let mut map = PageMap::new(&config, 1);
    let empty = map.memory_bytes();
    assert!(empty < lists(&map) + (2 << 20), "{empty}");
    for lpn in 0..1000 {
        map.write(Lpn(lpn * 40_001)).unwrap();
    }
    // 1000 pieces of 128 bytes by address, and one piece of pages and one chunk of blocks per plane.
    let per_plane = 128 * (128 + 4096);
    assert!(
        map.memory_bytes() <= empty + 1000 * 128 + per_plane,
        "{}",
        map.memory_bytes()
    );
}

/// Bytes of the lists of pieces of both tables: 4 for each 32 pages.
fn lists(map: &PageMap) -> u64 {
    (map.pages() + map.logical_pages()) / 8
}

/// A million single writes all over a device of 1 TiB take at most 256 MB: 132 bytes for each page, the
/// lists, and 12 MiB for blocks and units. Random overwrites keep to that, and reads and TRIM of pages that were
/// never written take nothing.
#[test]
fn a_million_single_pages_all_over_a_terabyte_take_256_megabytes() {
    let config = device(
        "channels=16 chips_per_channel=4 dies_per_chip=4 planes_per_die=4 blocks_per_plane=2048 \
         pages_per_block=128 op=0.1",
    );
    let bound = |map: &PageMap| {
        let (bytes, written) = (map.memory_bytes(), map.pages() - map.free_pages());
        assert!(
            bytes <= 132 * written + lists(map) + (12 << 20),
            "{bytes} for {written} pages"
        );
    };
    let stride = |i: u64, by: u64, logical: u64| Lpn(i * by % logical);
    for by in [2048 * 97 + 1, 1_000_003, 150_000_001] {
        let mut map = PageMap::new(&config, 1);
        let (logical, empty) = (map.logical_pages(), map.memory_bytes());
        for i in 0..1000 {
            assert_eq!(map.read(stride(i, by, logical)), None);
            assert_eq!(map.trim(stride(i, by, logical)), None);
        }
        assert_eq!(map.memory_bytes(), empty);
        for i in 0..1_000_000 {
            map.write(stride(i, by, logical)).unwrap();
            if i % 1000 == 0 {
                bound(&map);
            }
        }
        assert!(map.memory_bytes() <= 256_000_000, "{}", map.memory_bytes());
        // As long as it is not GC that makes room, an overwrite is a page more.
        let times = Overwrite::Times(Ratio::from_f64(0.001).unwrap());
        map.overwrite(Ratio::from_f64(0.0).unwrap(), times, 1, &mut |_| {})
            .unwrap();
        bound(&map);
    }
}

#[test]
fn a_filled_device_takes_eight_bytes_per_page_and_sixteen_per_block() {
    let config = device("blocks_per_plane=64");
    let mut map = PageMap::new(&config, 1);
    map.fill(Ratio::ONE, &mut |_| {}).unwrap();
    let blocks = u64::from(config.geometry.planes()) * 64;
    assert!(
        map.memory_bytes() <= 8 * map.pages() + 16 * blocks + lists(&map),
        "{}",
        map.memory_bytes()
    );
}

#[test]
fn the_last_page_of_the_largest_device_is_a_page() {
    let config = device(
        "channels=64 chips_per_channel=32 dies_per_chip=4 planes_per_die=8 blocks_per_plane=2 \
         pages_per_block=32768 op=0.5 page_bytes=512",
    );
    let (mut map, last) = (PageMap::new(&config, 1), PlaneId(65535));
    assert_eq!(map.pages(), 1 << 32);
    for i in 0..65536u64 {
        let at = map.write_to_plane(Lpn(i % 7), last).unwrap().place;
        assert_eq!(map.read(Lpn(i % 7)), Some(at));
    }
    let at = map.read(Lpn(65535 % 7)).unwrap();
    assert_eq!(at.ppn, Ppn(u32::MAX));
    assert_eq!(map.owner(at.ppn), Some(Lpn(65535 % 7)));
    assert!(!map.is_mapped(Lpn(8)), "no page looks mapped by accident");
    assert_eq!(map.trim(Lpn(65535 % 7)), Some(at.ppn));
    assert!(!map.is_mapped(Lpn(65535 % 7)));
    assert_eq!((map.owner(at.ppn), map.places().mapped()), (None, 6));
}

#[test]
fn looking_ahead_takes_any_number_and_no_memory() {
    let mut map = PageMap::new(&tiny(""), 1);
    map.write(Lpn(3)).unwrap();
    let before = map.memory_bytes();
    map.prefetch(&mut [3, 4, 143, u64::MAX]);
    map.prefetch(&mut []);
    assert_eq!(map.memory_bytes(), before);
}

#[test]
fn a_device_without_anything_to_gain_refuses_the_write() {
    let tight = "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=2 \
                 blocks_per_plane=4 pages_per_block=4 op=0.35";
    let mut map = PageMap::new(&collecting(&format!("{tight} frontier=plane")), 1);
    // 20 logical pages, 10 in each plane; plane 0 takes 12 beside its free block, however chosen.
    let mut refused = None;
    let mut work = GcWork::default();
    for lpn in 0..20 {
        work.clear();
        let written = map.host_write(Lpn(lpn), Some(PlaneId(0)), &mut work);
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
fn dynamic_allocation_takes_the_least_busy_chip_in_turn() {
    let config = collecting(
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
