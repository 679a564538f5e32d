//! Times followed by hand on one die: a page takes 16,484 ns on the bus, a unit of one page 616,484 ns.

use super::*;
use crate::cache::{Cache, CacheGeometry, CacheOptions, ReadFill};
use crate::flash::Flash;
use destage_device::config::EffectiveDevice;
use destage_device::map::Preconditioning;
use destage_scheme::contract::Build;
use destage_scheme::{Boxed, Env, Equation1, Expr};
use destage_types::{ChipId, HostRequest, Op, RequestBatch};

const BASE: [&str; 28] = [
    "channels=1",
    "chips_per_channel=1",
    "dies_per_chip=1",
    "planes_per_die=1",
    "blocks_per_plane=16",
    "pages_per_block=8",
    "page_bytes=16384",
    "mapping_bytes=4096",
    "program_pages=1",
    "op=0.25",
    "t_read=50us",
    "t_program=600us",
    "t_erase=3ms",
    "t_cmd=100ns",
    "t_byte=1ns",
    "t_dram=1us",
    "allocation=dynamic",
    "queue=fifo",
    "suspend=off",
    "queue_per=die",
    "frontier=die",
    "gc_unit=die",
    "buffer=bounded",
    "gc_mode=paced",
    "gc_low=1",
    "gc_high=2",
    "wear_levelling=off",
    "precondition=trace",
];

/// A run: (arrival, operation, first mapping unit, mapping units).
struct Run {
    cache: Cache<Boxed, Drive>,
    done: Vec<u64>,
}

fn run(scheme: &str, frames: u32, sets: &[&str], requests: &[(u64, Op, u64, u32)]) -> Run {
    run_until(scheme, frames, sets, requests, true)
}

/// Up to the last request, or to the `end` of all work.
fn run_until(
    scheme: &str,
    frames: u32,
    sets: &[&str],
    requests: &[(u64, Op, u64, u32)],
    end: bool,
) -> Run {
    let sets: Vec<String> = BASE
        .iter()
        .chain(sets)
        .map(|set| (*set).to_owned())
        .collect();
    let device = EffectiveDevice::from_preset("default", &sets).expect("a legal device");
    let config = device.config();
    let mut map = UnitMap::new(config, 1);
    let wanted = &config.precondition;
    map.fill(wanted.fill, &mut |_| {}).expect("it fits");
    map.overwrite(wanted.fill, wanted.overwrite, 1, &mut |_| {})
        .expect("it fits");
    map.write_translation_pages().expect("they fit");
    let mut drive = Drive::new(config, map, 1);
    drive.core.keep_completions();
    let geometry = CacheGeometry {
        capacity: frames,
        slots: frames,
        page: config.mapping(),
        layout: config.layout(),
    };
    let options = CacheOptions {
        read_alloc: false,
        read_fill: ReadFill::Requested,
        rmw: true,
        wrap: None,
        nvm: config.keeps_cache(),
    };
    let expr: Expr = Expr::parse(scheme).expect("a legal expression");
    let mut env = Env::cache_only(frames);
    (env.page, env.layout) = (config.mapping(), config.layout());
    let scheme = Boxed::build(&expr, &env);
    let mut cache = Cache::new(scheme, drive, geometry, options);
    cache.hand_over_as(&expr, config, Nanos::ZERO);
    let mut batch = RequestBatch::new();
    let sectors = config.mapping().sectors();
    for &(at, op, first, count) in requests {
        let start = first * u64::from(sectors);
        batch.push(HostRequest::new(Nanos(at), op, start, count * sectors));
    }
    for (i, request) in batch.iter().enumerate() {
        cache.serve(request, i as u64, request.head.arrival);
    }
    if end {
        cache.drain();
    }
    let mut completions = Vec::new();
    let device = cache.flash_mut().core_mut();
    device.expect("a drive").take_completions(&mut completions);
    completions.sort_by_key(|done| done.index);
    Run {
        done: completions.iter().map(|done| done.complete.0).collect(),
        cache,
    }
}

fn done(frames: u32, sets: &[&str], requests: &[(u64, Op, u64, u32)]) -> Vec<u64> {
    run("drain(fifo)", frames, sets, requests).done
}

use Op::{Flush, Read, Trim, Write};

#[test]
fn a_write_waits_for_a_frame_until_a_unit_has_ended() {
    let five = [
        (0, Write, 0, 1),
        (0, Write, 1, 1),
        (0, Write, 2, 1),
        (0, Write, 3, 1),
        (10_000, Write, 4, 1),
    ];
    assert_eq!(done(4, &[], &five), [1_000, 1_000, 1_000, 1_000, 617_484]);
    assert_eq!(done(5, &[], &five), [1_000, 1_000, 1_000, 1_000, 11_000]);
}

#[test]
fn the_pages_of_a_unit_follow_each_other_on_the_bus() {
    let three_pages = ["program_pages=3", "pages_per_block=9"];
    let writes = [(0, Write, 0, 12), (10_000, Write, 12, 1)];
    assert_eq!(done(12, &three_pages, &writes), [1_000, 650_452]);
    let two_planes = ["planes_per_die=2", "program_planes=all"];
    let writes = [(0, Write, 0, 8), (10_000, Write, 8, 1)];
    assert_eq!(done(8, &two_planes, &writes), [1_000, 633_968]);
}

#[test]
fn frames_go_to_who_came_first() {
    let writes = [(0, Write, 0, 4), (0, Write, 4, 4), (0, Write, 8, 4)];
    assert_eq!(done(4, &[], &writes), [1_000, 617_484, 1_233_968]);
    assert_eq!(done(4, &[], &[(0, Write, 0, 6)]), [617_484]);
}

#[test]
fn what_a_request_misses_in_a_page_is_one_read() {
    let filled = ["precondition={fill=1}"];
    let reads = [
        (0, Read, 100, 1),
        (1_000_000, Read, 100, 4),
        (2_000_000, Read, 100, 2),
    ];
    assert_eq!(done(4, &filled, &reads), [54_196, 1_066_484, 2_058_292]);
}

#[test]
fn a_flush_closes_units_with_padding() {
    let requests = [(0, Write, 0, 1), (10_000, Flush, 0, 0)];
    let run = run("drain(fifo)", 8, &[], &requests);
    assert_eq!(run.done, [1_000, 626_484]);
    assert_eq!(run.cache.flash().traffic().padded_places, 3);
}

#[test]
fn on_demand_a_page_in_flight_leaves_at_the_end_of_its_unit() {
    let requests = [(0, Write, 0, 4), (10_000, Write, 10, 1)];
    let of = |wait: &str| done(4, &["buffer=on_demand", wait], &requests);
    assert_eq!(of("evict_wait=program_done"), [1_000, 616_484]);
    // The page on the bus: 100 ns of command and 16,384 B.
    assert_eq!(of("evict_wait=transfer_done"), [1_000, 16_484]);
    assert_eq!(of("evict_wait=issue"), [1_000, 11_000]);
    // Once the data are in the chip nothing is left to wait for there.
    let late = [(0, Write, 0, 4), (20_000, Write, 10, 1)];
    let late = done(4, &["buffer=on_demand", "evict_wait=transfer_done"], &late);
    assert_eq!(late, [1_000, 21_000]);
    // The unit is still open.
    let open = [(0, Write, 0, 3), (10_000, Write, 10, 1)];
    assert_eq!(done(3, &["buffer=on_demand"], &open), [1_000, 11_000]);
}

/// Twelve blocks are full, and a write fills the four others with 128 pages. The rest waits until the four blocks that it
/// overwrote are erased.
#[test]
fn a_flush_waits_for_data_that_no_unit_could_take() {
    let sets = ["buffer=on_demand", "precondition={fill=1}"];
    let requests = [(0, Write, 0, 142), (10_000, Flush, 0, 0)];
    let run = run("none", 0, &sets, &requests);
    // The write waits for the 35 units that it filled, and the FLUSH for the last two pages too.
    let filled = 35 * 616_484 + 4 * 3_000_100;
    assert_eq!(run.done, [filled, filled + 616_484]);
    assert_eq!(run.cache.flash().traffic().padded_places, 2);
}

/// As before, but of the two pages that wait last the first is trimmed. Their old block is not wholly wanted then, and one
/// page of it is collected. The other page is read alone.
#[test]
fn a_trimmed_page_that_waits_for_room_is_not_mapped_again() {
    let sets = ["buffer=on_demand", "precondition={fill=1}"];
    let requests = [
        (0, Write, 0, 142),
        (10_000, Trim, 140, 1),
        (20_000, Flush, 0, 0),
        (100_000_000, Read, 140, 2),
    ];
    let run = run("none", 0, &sets, &requests);
    let filled = 35 * 616_484 + 4 * 3_000_100 + 66_484;
    let times = [filled, 11_000, filled + 616_484, 100_054_196];
    assert_eq!(run.done, times);
    assert_eq!(run.cache.flash().traffic().padded_places, 3);
}

/// The array takes 600,000 ns after 16,484 ns on the bus.
#[test]
fn a_flush_waits_for_the_end_of_programs_whatever_writes_wait_for() {
    let sets = ["buffer=on_demand", "evict_wait=transfer_done"];
    let requests = [(0, Write, 0, 4), (10_000, Flush, 0, 0)];
    assert_eq!(done(4, &sets, &requests), [1_000, 616_484]);
}

#[test]
fn a_buffer_that_survives_power_cuts_flushes_nothing() {
    let requests = [
        (0, Write, 0, 1),
        (10_000, Flush, 0, 0),
        (20_000, Write, 1, 3),
    ];
    let run = run("drain(fifo)", 8, &["cache_persistence=nvm"], &requests);
    assert_eq!(run.done, [1_000, 11_000, 21_000]);
    let counts = run.cache.counts();
    assert_eq!(
        (
            counts.flush_requests,
            run.cache.flash().traffic().padded_places
        ),
        (1, 0)
    );
}

#[test]
fn a_unit_is_held_for_so_long() {
    let requests = [
        (0, Write, 0, 1),
        (50_000, Write, 1, 1),
        (60_000, Write, 2, 1),
        (210_000, Write, 3, 3),
    ];
    let run = run("drain(fifo)", 4, &["unit_hold=200us"], &requests);
    assert_eq!(run.done, [1_000, 51_000, 61_000, 817_484]);
    // One place of the first unit, and one of the second, which is held too.
    assert_eq!(run.cache.flash().traffic().padded_places, 2);
}

/// Each write fills a unit, so that the second unit makes a pause due while the third write waits for its frames.
#[test]
fn a_pause_is_put_off_while_writes_wait() {
    let requests = [
        (0, Write, 0, 4),
        (10_000, Write, 4, 4),
        (20_000, Write, 8, 4),
        (1_300_000, Write, 12, 4),
        (3_000_000, Write, 16, 4),
    ];
    let of = |waits: &str| {
        let pause = format!("program_pause={{every=8,time=\"1ms\"{waits}}}");
        done(4, &[&pause], &requests)
    };
    // The second unit starts at the end of the pause, which is at 1,616,484, and so does the fourth one.
    let ends = [1_000, 617_484, 2_233_968, 2_850_452, 4_466_936];
    assert_eq!(of(""), ends);
    assert_eq!(of(",while_writes_wait=\"begin\""), ends);
    // The third unit makes it begin, at 1,232,968, and four places of the count are left. So the next one is as before.
    let ends = [1_000, 617_484, 1_233_968, 2_850_452, 4_466_936];
    assert_eq!(of(",while_writes_wait=\"put_off\""), ends);
}

/// Two planes collect apart, and a unit of four mapping units is on its way to each.
#[test]
fn a_die_is_weighed_by_its_units_and_all_its_gc_units() {
    let sets = [
        "planes_per_die=2",
        "allocation=static",
        "frontier=plane",
        "gc_unit=plane",
    ];
    let mut run = run("drain(fifo,depth=2)", 16, &sets, &[]);
    let mut batch = RequestBatch::new();
    batch.push(HostRequest::new(Nanos::ZERO, Write, 0, 64));
    run.cache.serve(batch.get(0), 0, Nanos::ZERO);
    let drive = run.cache.flash().view();
    let wanted = Equation1 {
        reads: 0,
        writes: 2,
        free_pages: 2 * 15 * 32,
        gc_threshold_pages: 2 * 32,
        frontier_free_pages: 2 * 28,
        gc_remaining: None,
    };
    assert_eq!(drive.equation_1(ChipId(0)), wanted);
    assert_eq!(drive.drain_time(ChipId(0)), Nanos(2 * 616_484));
    let costs = drive.costs();
    assert_eq!((costs.pages_per_program, costs.pages_per_block), (4, 32));
}

#[test]
fn a_layer_is_asked_when_reads_or_collection_end() {
    let filled = ["precondition={fill=1}"];
    let requests = [
        (0, Read, 100, 1),
        (10_000, Write, 0, 4),
        (1_000_000, Flush, 0, 0),
    ];
    // The pages are programmed once the read has ended, so FLUSH finds nothing to wait for.
    let run = run("awb(lru,depth=4)", 8, &filled, &requests);
    assert_eq!(run.done, [54_196, 11_000, 1_001_000]);
}

mod mapping;
mod slc;
