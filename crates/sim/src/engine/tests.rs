//! Response times followed by hand.

use super::*;
use crate::cache::{Cache, CacheGeometry, CacheOptions, ReadFill};
use crate::flash::{Cause, Flash, Program};
use destage_device::config::EffectiveDevice;
use destage_scheme::policy::lru::Lru;
use destage_scheme::{Env, Expr, Pages, Policy};
use destage_types::{HostRequest, Lpn, Op, PageSize, RequestBatch, StaticLayout};

/// `chips` channels with one chip of one plane each, programs of 200 ns, reads of 25 ns, DRAM in
/// 1 ns, free transfers.
fn device(chips: u32, evict_wait: &str, more: &[&str]) -> (Engine, StaticLayout) {
    let mut sets: Vec<String> = [
        "chips_per_channel=1",
        "dies_per_chip=1",
        "planes_per_die=1",
        "blocks_per_plane=16",
        "pages_per_block=8",
        "op=0.25",
        "t_read=25ns",
        "t_program=200ns",
        "t_erase=1us",
        "t_cmd=0",
        "t_byte=0",
        "t_dram=1ns",
        "queue=fifo",
        "multi_plane=false",
        "queue_per=chip",
        "frontier=plane",
        "gc_unit=plane",
        "precondition=trace",
    ]
    .map(str::to_owned)
    .into();
    sets.push(format!("channels={chips}"));
    sets.push(format!("evict_wait={evict_wait}"));
    sets.extend(more.iter().map(|&s| s.to_owned()));
    let device = EffectiveDevice::from_preset("default", &sets).expect("a legal device");
    let config = device.config();
    let engine = Engine::new(config, PageMap::new(config, 1), false);
    (engine, config.layout())
}

/// Runs (op, first page, pages, arrival) through an LRU of `capacity` pages and gives the
/// response times in request order.
fn responses(
    (mut engine, layout): (Engine, StaticLayout),
    capacity: u32,
    read_alloc: bool,
    requests: &[(Op, u64, u32, u64)],
) -> Vec<u64> {
    engine.core.keep_completions();
    let geometry = CacheGeometry {
        capacity,
        slots: capacity,
        page: PageSize::KIB4,
        layout,
    };
    let walk_options = CacheOptions {
        read_alloc,
        read_fill: ReadFill::Page,
        rmw: true,
        wrap: None,
        nvm: false,
    };
    let lru = Expr::parse("lru").unwrap();
    let lru = Pages::of(Lru::build(&lru, &Env::cache_only(capacity)));
    let mut cache = Cache::new(lru, engine, geometry, walk_options);
    let mut batch = RequestBatch::new();
    for &(op, page, pages, at) in requests {
        batch.push(HostRequest::new(Nanos(at), op, page * 8, pages * 8));
    }
    for (i, request) in batch.iter().enumerate() {
        cache.serve(request, i as u64, request.head.arrival);
    }
    cache.drain();
    let mut done = Vec::new();
    let device = cache.flash_mut().core_mut();
    device.expect("a device").take_completions(&mut done);
    done.sort_by_key(|c| c.index);
    done.iter().map(|c| (c.complete - c.arrival).0).collect()
}

use Op::{Flush, Read, Write};

const TIM: [(Op, u64, u32, u64); 6] = [
    (Write, 1, 1, 0),
    (Write, 2, 1, 10),
    (Write, 3, 1, 20),
    (Write, 3, 1, 100),
    (Write, 4, 1, 700),
    (Write, 5, 1, 710),
];

#[test]
fn a_write_waits_for_the_program_it_caused_and_those_before_it() {
    let engine = device(1, "program_done", &[]);
    assert_eq!(
        responses(engine, 1, false, &TIM),
        [1, 200, 390, 1, 200, 390]
    );
    let engine = device(1, "transfer_done", &[]);
    assert_eq!(responses(engine, 1, false, &TIM), [1, 1, 190, 1, 1, 190]);
    let engine = device(1, "issue", &[]);
    assert_eq!(responses(engine, 1, false, &TIM), [1; 6]);
}

#[test]
fn a_read_does_not_wait_for_the_page_it_displaced_unless_told_to() {
    let requests = [(Write, 0, 1, 0), (Write, 1, 1, 10), (Read, 0, 1, 300)];
    let run = |wait: &str| {
        let set = format!("evict_wait_read={wait}");
        responses(device(2, "program_done", &[&set]), 1, true, &requests)
    };
    assert_eq!(run("issue"), [1, 200, 25]);
    assert_eq!(
        run("same"),
        [1, 200, 200],
        "page 1 is programmed on the other chip"
    );
}

#[test]
fn flush_completes_with_all_programs_in_flight() {
    // Page 0 is being programmed, page 2 waits behind it; FLUSH adds page 4.
    let requests = [
        (Write, 0, 1, 0),
        (Write, 2, 1, 10),
        (Write, 4, 1, 20),
        (Flush, 0, 0, 30),
    ];
    let engine = device(2, "issue", &[]);
    assert_eq!(responses(engine, 1, false, &requests), [1, 1, 1, 580]);
}

#[test]
fn flush_waits_for_programs_of_others_alone() {
    let requests = [
        (Write, 0, 1, 0),
        (Write, 2, 1, 10),
        (Flush, 0, 0, 15),
        (Flush, 0, 0, 20),
    ];
    let engine = device(2, "issue", &[]);
    assert_eq!(responses(engine, 1, false, &requests), [1, 1, 395, 390]);
}

#[test]
fn an_unmapped_read_takes_the_dram_time() {
    let engine = device(1, "program_done", &[]);
    assert_eq!(responses(engine, 1, true, &[(Read, 9, 1, 5)]), [1]);
}

/// Jobs in whose block a write has gone already are not looked for among those that may be expedited,
/// however many of them wait.
#[test]
fn a_backlog_of_expedited_jobs_is_not_searched() {
    let (mut engine, _) = device(1, "issue", &["gc_mode=background", "gc_threshold=0.3"]);
    let mut most = 0;
    for index in 0..2000 {
        engine.begin(
            index,
            &HostRequest::new(Nanos::ZERO, Op::Write, 0, 8),
            Nanos::ZERO,
        );
        engine.program(Program {
            lpn: Lpn(index % 8),
            unit: None,
            channel: None,
            read_first: false,
            cause: Cause::Own,
            cached: false,
        });
        engine.end(1, 0);
        most = most.max(engine.gc.pending.len());
    }
    assert!(
        engine.core.traffic.erases > 200,
        "{:?}",
        engine.core.traffic
    );
    assert!((1..=2).contains(&most), "{most} jobs of one plane");
    engine.step(Nanos::NEVER);
    assert!(engine.gc.pending.len() <= 2);
}
