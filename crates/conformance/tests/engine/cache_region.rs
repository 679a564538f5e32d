//! A cache in a region of flash: times reckoned by hand, and laws.
//!
//! A page moves in 1024 ns, a command in 10 ns. Outside the array reads in 100 ns and programs in
//! 1000 ns; the region reads in 20 ns and programs in 200 ns.

use std::sync::Arc;

use destage_conformance::reference::{Profile, SlowRequest};
use destage_conformance::timed::runs::{
    device_of, flush_at_the_end, outcome, record, requests, run, scales, spec, times,
};
use destage_conformance::timed::{TimedRun, timed_swarm, trace_of};
use destage_device::config::DeviceConfig;
use destage_device::nand::OpKind;
use destage_sim::precondition::prepare;
use destage_sim::spec::{RunSpec, Warmup};
use destage_sim::{Cause, Flash, Program};
use destage_types::rng::SplitMix64;
use destage_types::{ChannelId, ChipId, HostRequest, Lpn, Nanos, Op};

use Op::{Read, Write};

const PAGE: u64 = 1024;
const SECTOR: u64 = 128;
const READ: u64 = 10 + 100 + PAGE;
const PROGRAM: u64 = 10 + PAGE + 1000;
const CACHE_READ: u64 = 10 + 20 + PAGE;
const CACHE_PROGRAM: u64 = 10 + PAGE + 200;

/// `channels` channels with one chip each; page n is on chip n modulo them.
fn chips(channels: u32, more: &str) -> DeviceConfig {
    device_of(&format!(
        "channels={channels} chips_per_channel=1 dies_per_chip=1 planes_per_die=1 page_bytes=4096 \
         pages_per_block=16 t_cmd=10ns t_read=100ns t_program=1us t_byte=0.25ns t_dram=0 \
         cache_region={{size=\"1GiB\",t_read=\"20ns\",t_program=\"200ns\"}} {more}"
    ))
}

/// Sectors of a page, from its first one on.
fn part(op: Op, page: u64, sectors: u32, arrival: u64) -> SlowRequest {
    SlowRequest::new(op, page * 8, sectors).at(arrival)
}

/// Response times of `list` through an LRU of `pages` pages that takes no read misses.
fn responses(pages: u32, device: DeviceConfig, list: &[(Op, u64, u64, u64)]) -> Vec<u64> {
    let run = TimedRun {
        read_alloc: Some(false),
        ..TimedRun::new("lru", pages, device)
    };
    times(&outcome(&run, &requests(list)))
}

#[test]
fn hits_are_reads_and_programs_of_the_region() {
    let run = TimedRun::new("lru", 2, chips(1, ""));
    let mut list = requests(&[
        (Write, 0, 0, 0),
        (Write, 0, 0, 10_000),
        (Read, 0, 0, 20_000),
    ]);
    list.push(part(Read, 0, 1, 30_000));
    list.push(part(Write, 0, 1, 40_000));
    let outcome = outcome(&run, &list);
    let one_sector = 10 + 20 + SECTOR;
    let program = CACHE_PROGRAM;
    assert_eq!(
        times(&outcome),
        [program, program, CACHE_READ, one_sector, program]
    );
    assert_eq!(outcome.device_counts[8..], [2, 3], "reads and programs");
    assert!(outcome.programs.is_empty(), "nothing is programmed outside");
    let counts = outcome.counts;
    assert_eq!((counts.flash_reads_host, counts.flash_writes_host), (0, 0));
}

#[test]
fn pages_of_a_request_share_a_chip_and_a_bus() {
    let both = [(Write, 0, 1, 0), (Read, 0, 1, 10_000)];
    let one = responses(2, chips(1, ""), &both);
    assert_eq!(one, [2 * CACHE_PROGRAM, 2 * CACHE_READ]);
    let two = responses(2, chips(2, ""), &both);
    assert_eq!(two, [CACHE_PROGRAM, CACHE_READ]);
    let behind = responses(2, chips(1, "chips_per_channel=2"), &both);
    assert_eq!(
        behind,
        [10 + PAGE + CACHE_PROGRAM, CACHE_READ + PAGE],
        "the second page waits for the bus"
    );
    // Other pages of the request may share operations, those of the cache do not.
    let planes = chips(1, "planes_per_die=2 multi_plane=on");
    assert_eq!(
        responses(2, planes, &both),
        [2 * CACHE_PROGRAM, 2 * CACHE_READ]
    );
}

/// Page 0 leaves for page 1 or 2: it is read from the region, then programmed outside; the new page
/// comes after that on the same chip, and beside it on another one.
#[test]
fn an_eviction_reads_the_region_first() {
    let list = |page| [(Write, 0, 0, 0), (Write, page, page, 10_000)];
    let leaving = CACHE_READ + PROGRAM;
    let second = |device, page| responses(1, device, &list(page))[1];
    assert_eq!(second(chips(2, ""), 2), leaving + CACHE_PROGRAM);
    assert_eq!(second(chips(2, ""), 1), leaving);
    let at_once = "cache_region.evict_read=false";
    assert_eq!(second(chips(2, at_once), 2), PROGRAM + CACHE_PROGRAM);
    assert_eq!(second(chips(2, at_once), 1), PROGRAM);
    let issue = "evict_wait=issue";
    assert_eq!(
        second(chips(2, issue), 2),
        leaving + CACHE_PROGRAM,
        "own data are waited for"
    );
    assert_eq!(second(chips(2, issue), 1), CACHE_PROGRAM);
    let transfer = "evict_wait=transfer_done";
    assert_eq!(second(chips(2, transfer), 2), leaving + 10 + PAGE);
    assert_eq!(second(chips(2, transfer), 1), CACHE_READ + 10 + PAGE);
}

#[test]
fn a_partial_page_is_read_here_and_there() {
    let run = TimedRun {
        read_alloc: Some(false),
        ..TimedRun::new("lru", 1, chips(1, ""))
    };
    let mut list = requests(&[(Read, 0, 0, 0)]);
    list.push(part(Write, 0, 3, 10_000));
    list.extend(requests(&[(Read, 0, 0, 20_000), (Write, 1, 1, 30_000)]));
    let rest = 10 + 100 + 5 * SECTOR;
    let cached = 10 + 20 + 3 * SECTOR;
    let leaving = CACHE_READ + READ + PROGRAM;
    let wanted = [READ, CACHE_PROGRAM, rest + cached, leaving + CACHE_PROGRAM];
    assert_eq!(times(&outcome(&run, &list)), wanted);
}

#[test]
fn a_read_miss_does_not_wait_until_it_is_cached() {
    let list = requests(&[(Read, 0, 0, 0), (Read, 0, 0, READ + 100)]);
    let filled = READ + CACHE_PROGRAM;
    for (wait, first) in [("issue", READ), ("same", filled)] {
        let device = chips(1, &format!("evict_wait_read={wait}"));
        let run = TimedRun {
            read_alloc: Some(true),
            ..TimedRun::new("lru", 1, device)
        };
        let outcome = outcome(&run, &list);
        let hit = CACHE_PROGRAM - 100 + CACHE_READ;
        assert_eq!(times(&outcome), [first, hit], "{wait}");
        assert_eq!(outcome.device_counts[8..], [1, 1]);
    }
}

#[test]
fn reads_first_but_not_before_their_data() {
    let list = [
        (Write, 0, 0, 0),
        (Write, 2, 2, 100),
        (Read, 2, 2, 200),
        (Read, 0, 0, 300),
    ];
    let fifo = responses(4, chips(1, ""), &list);
    let (p, r) = (CACHE_PROGRAM, CACHE_READ);
    assert_eq!(fifo, [p, 2 * p - 100, 2 * p + r - 200, 2 * p + 2 * r - 300]);
    let first = responses(4, chips(1, "queue=read-first"), &list);
    assert_eq!(
        first,
        [p, 2 * p + r - 100, 2 * p + 2 * r - 200, p + r - 300]
    );
}

#[test]
fn flush_moves_dirty_pages_outside() {
    let flush = SlowRequest::new(Op::Flush, 0, 0).at(100);
    for (read, moved) in [("true", CACHE_READ + PROGRAM), ("false", PROGRAM)] {
        let device = chips(1, &format!("cache_region.evict_read={read}"));
        let mut list = requests(&[(Write, 0, 0, 0)]);
        list.push(flush.clone());
        let outcome = outcome(&TimedRun::new("lru", 2, device), &list);
        assert_eq!(
            times(&outcome),
            [CACHE_PROGRAM, CACHE_PROGRAM + moved - 100]
        );
    }
    // A page that is replaced in the cache is no program to wait for, its data on their way are.
    let list = [(Write, 0, 0, 0), (Write, 0, 0, 1), (Op::Flush, 0, 0, 2)];
    let device = chips(1, "cache_region.evict_read=false");
    let mut list = requests(&list);
    list[2] = flush.at(2);
    let times = times(&outcome(&TimedRun::new("lru", 2, device), &list));
    assert_eq!(times[2], 2 * CACHE_PROGRAM + PROGRAM - 2);
}

/// Pages that pass the cache are not in the region, and without a cache there is no region.
#[test]
fn bypassed_pages_do_not_touch_the_region() {
    let list = requests(&[(Write, 0, 3, 0)]);
    for expr in ["none", "procache(lru,p=1,c=1p)"] {
        let outcome = outcome(&TimedRun::new(expr, 2, chips(1, "")), &list);
        assert_eq!(times(&outcome), [4 * PROGRAM], "{expr}");
        assert!(outcome.cache_accesses.is_empty());
    }
    let whole = TimedRun::new("procache(lru,p=1,c=4p)", 4, chips(1, ""));
    assert_eq!(times(&outcome(&whole, &list)), [4 * CACHE_PROGRAM]);
}

/// A stream of whole pages, and a FLUSH long after all work has started.
fn stream(seed: u64) -> Vec<SlowRequest> {
    let mut profile = Profile::new(900, 8).pages(200).whole_pages();
    profile.trim = false;
    let mut stream = timed_swarm(seed, profile, 4_000);
    flush_at_the_end(&mut stream);
    stream
}

/// Where the cache is changes nothing in what it holds. Energies of one each count the operations
/// of the array: as many as the counters name causes for.
#[test]
fn every_access_of_the_region_has_one_cause() {
    let each = "e_read=1nJ e_program=1nJ e_erase=1nJ e_byte=0";
    let mut seen = [0; 2];
    for seed in 0..6 {
        let stream = stream(seed);
        for expr in [
            "lru",
            "arc",
            "req-block",
            "procache(lru,p=0.5,c=3p)",
            "bplru(block-pages=4)",
        ] {
            let on = record(expr, chips(2, each), &stream);
            let off = record(expr, chips(2, &format!("{each} cache_region=off")), &stream);
            let (c, without) = (&on.counts, &off.counts);
            assert_eq!((without.cache_reads, without.cache_programs), (None, None));
            let (reads, programs) = (c.cache_reads.unwrap(), c.cache_programs.unwrap());
            let mut same = c.clone();
            (same.cache_reads, same.cache_programs) = (None, None);
            // Collections are seen earlier or later.
            same.dirty_gc_evictions = without.dirty_gc_evictions;
            assert_eq!(&same, without, "{expr}");
            let done = on.energy_nj.clone().unwrap();
            let outside = c.flash_writes_host + c.flash_writes_gc.unwrap();
            assert_eq!(done.program, (outside + programs) as f64, "{expr}");
            let outside = c.flash_reads_host + c.flash_reads_gc.unwrap();
            assert_eq!(done.read, (outside + reads) as f64, "{expr}");
            let entered = c.read_pages - c.read_page_hits;
            let filled = if on.reading.read_alloc { entered } else { 0 };
            assert_eq!(
                programs,
                c.write_pages - c.bypassed_pages + filled,
                "{expr}"
            );
            let left = c.flash_writes_host - c.flash_writes_bypass;
            assert_eq!(reads, c.read_page_hits + left, "{expr}");
            let programmed = (c.flash_writes_host * on.page_bytes) as f64;
            let waf = programmed / (c.write_sectors * 512) as f64;
            assert_eq!(on.ratios.waf, Some(waf).filter(|w| w.is_finite()), "{expr}");
            seen[0] += reads;
            seen[1] += programs;
        }
    }
    assert!(seen.iter().all(|&n| n > 5_000), "{seen:?}");
}

/// A chip is busy for its operations, those of the region included: for each the array, its command
/// and its transfer, and the waits of reads for the bus.
#[test]
fn busy_time_is_the_sum_of_the_operations() {
    let config = chips(2, "chips_per_channel=2 blocks_per_plane=4096");
    let engine = prepare(&config, &trace_of(&[]), false, false, 1);
    let mut engine = engine.expect("a new device needs no preparation");
    let (mut rng, mut now) = (SplitMix64::new(5), Nanos::ZERO);
    let (mut reads, mut programs) = (0, 0);
    for index in 0..2000 {
        engine.step(now);
        let op = [Write, Write, Read][rng.below(3) as usize];
        engine.begin(index, &HostRequest::new(now, op, 0, 8), now);
        for _ in 0..1 + rng.below(6) {
            let lpn = Lpn(rng.below(400));
            match (op, rng.below(3)) {
                (Read, 0) => engine.cache_read(lpn, 8),
                (Read, _) => {
                    let mapped = engine.is_mapped(lpn);
                    if mapped {
                        engine.read(lpn, 8);
                        reads += 1;
                    }
                    engine.cache_fill(lpn, mapped);
                }
                (_, 0) => engine.cache_write(lpn),
                (_, way) => {
                    programs += 1;
                    engine.program(Program {
                        lpn,
                        cause: Cause::Eviction,
                        unit: None,
                        channel: None,
                        read_first: false,
                        cached: way == 1,
                    });
                }
            }
        }
        engine.end(1, 0);
        now += Nanos(rng.below(20_000));
    }
    while engine.next_event() != Nanos::NEVER {
        engine.step(engine.next_event());
    }
    let (traffic, nand) = (engine.traffic(), engine.nand());
    assert!(traffic.cache_reads > 1_000 && traffic.cache_programs > 1_000);
    let (mut busy, mut pages) = (Nanos::ZERO, [0; 2]);
    for chip in (0..nand.chips()).map(ChipId) {
        let stats = nand.chip_stats(chip);
        busy += stats.busy - stats.stalled;
        pages[0] += stats.of(OpKind::Read);
        pages[1] += stats.of(OpKind::Program);
    }
    assert_eq!(
        pages,
        [
            reads + traffic.cache_reads,
            programs + traffic.cache_programs
        ]
    );
    let bus = (pages[0] + pages[1]) * (10 + PAGE);
    let outside = reads * 100 + programs * 1000;
    let region = traffic.cache_reads * 20 + traffic.cache_programs * 200;
    assert_eq!(busy, Nanos(bus + outside + region));
    let carried: u64 = (0..2).map(|ch| nand.bus_time(ChannelId(ch)).0).sum();
    assert_eq!(carried, bus);
}

#[test]
fn all_times_scale_together() {
    let times = |k: u64| {
        format!(
            "t_read={}ns t_program={}ns t_cmd={}ns t_byte={}ps cache_region.t_read={}ns \
             cache_region.t_program={}ns",
            100 * k,
            1000 * k,
            10 * k,
            250 * k,
            20 * k,
            200 * k
        )
    };
    for (seed, expr) in [
        "lru",
        "ecr(lru,cqct=oracle)",
        "awb(prober(lru,ssp=8k,rip=6))",
    ]
    .into_iter()
    .enumerate()
    {
        scales(expr, |k| chips(2, &times(k)), &stream(seed as u64), 9);
    }
}

/// A region as fast as the rest, with room for everything and no part of a page: it does not matter
/// which pages the cache takes, nor whether there is one.
#[test]
fn a_region_like_the_rest_changes_no_time() {
    let like = "cache_region.t_read=100ns cache_region.t_program=1us queue=read-first";
    for seed in 0..8 {
        let mut stream = stream(seed);
        stream.retain(|r| r.op == Write || r.op == Read);
        // Every page is written before it is read.
        let first: Vec<_> = (0..200).map(|page| (Write, page, page, 0)).collect();
        let mut all = requests(&first);
        all.extend(stream.into_iter().map(|r| {
            let later = r.arrival + 1_000_000;
            r.at(later)
        }));
        let run = |expr: &str| {
            let run = TimedRun {
                read_alloc: Some(false),
                ..TimedRun::new(expr, 200, chips(3, like))
            };
            times(&run.real(&all))
        };
        let none = run("none");
        for expr in [
            "lru",
            "req-block",
            "procache(lru,p=0.5,c=3p)",
            "refcount(lru,threshold=2)",
        ] {
            assert_eq!(run(expr), none, "{expr}, seed {seed}");
        }
    }
}

/// Reads before write-backs that were queued in the warm-up and are taken back later are not taken
/// from what was counted since.
#[test]
fn a_warm_up_takes_nothing_from_the_counters() {
    let mut cancelled = 0;
    for seed in 0..30 {
        let stream = stream(seed);
        let expr = "awb(prober(lru,ssp=8k,rip=3),depth=5)";
        let plain = spec(expr, Some(Arc::new(chips(2, ""))));
        let run = |warmup| {
            let spec = RunSpec {
                warmup,
                ..plain.clone()
            };
            run(&spec, &trace_of(&stream)).counts
        };
        let all = run(Warmup::None);
        cancelled += all.background_cancels.unwrap();
        let mut before = all.cache_reads;
        for warmup in (20..900).step_by(40) {
            let part = run(Warmup::Requests(warmup));
            assert!(part.cache_reads <= before, "seed {seed}: {warmup} requests");
            assert!(part.cache_programs <= all.cache_programs);
            before = part.cache_reads;
        }
    }
    assert!(cancelled > 200, "{cancelled}");
}
