//! Whole runs on devices that collect garbage: what the cache does is not changed by it, counters
//! fit together, and every mode reaches the end.

use destage_conformance::reference::{Profile, SlowRequest, swarm};
use destage_conformance::timed::runs::{device_of, run, scales, spec};
use destage_conformance::timed::{timed_swarm, trace_of};
use destage_device::config::DeviceConfig;
use destage_sim::RunError;
use destage_sim::record::ResultRecord;
use destage_sim::run::{Hooks, execute};
use destage_sim::spec::{RunSpec, Warmup};
use destage_trace::Trace;
use destage_types::Op;
use destage_types::rng::SplitMix64;
use std::sync::Arc;

const FREE: &str = "t_read=0 t_program=0 t_erase=0 t_cmd=0 t_byte=0 t_dram=0";

/// About 400 logical pages in `dies` dies, full from the start.
pub fn small(dies: u32, more: &str) -> Arc<DeviceConfig> {
    let blocks = 512 / dies / 8;
    Arc::new(device_of(&format!(
        "channels=1 chips_per_channel=1 dies_per_chip={dies} planes_per_die=1 pages_per_block=8 \
         blocks_per_plane={blocks} op=0.2 gc_threshold=0.2 precondition.trace=false \
         precondition.fill=1 precondition.overwrite=1 {more}"
    )))
}

/// Streams without TRIM in which every second request at least writes.
fn writing(make: impl Fn(u64) -> Vec<SlowRequest>, from: u64, number: usize) -> Trace {
    let writes =
        |s: &Vec<SlowRequest>| s.iter().filter(|r| r.op == Op::Write).count() * 2 > s.len();
    let mut streams = (from..).map(make).filter(writes);
    trace_of(&streams.nth(number).expect("many streams write"))
}

fn untimed(number: usize) -> Trace {
    let mut profile = Profile::new(900, 8).pages(400);
    profile.trim = false;
    writing(|seed| swarm(seed, profile), 0, number)
}

pub fn timed(number: usize) -> Trace {
    let mut profile = Profile::new(1500, 8).pages(400);
    profile.trim = false;
    writing(|seed| timed_swarm(seed, profile, 9_000), 40, number)
}

pub const MODES: [&str; 12] = [
    "gc_mode=foreground",
    "gc_mode=foreground copyback=on wear_levelling=static wear_threshold=2",
    "gc_mode=foreground gc_policy=cost-benefit",
    "gc_mode=foreground gc_policy=d-choices summary_page=true",
    "gc_mode=background gc_policy=random",
    "gc_mode=background queue=read-first wear_levelling=off",
    "gc_mode=foreground queue=read-first queue_per=chip",
    "gc_mode=foreground multi_plane=on planes_per_die=2",
    "gc_mode=background multi_plane=on planes_per_die=2 gc_unit=die",
    "gc_trigger=operation gc_stop=watermark gc_threshold_unit=blocks gc_threshold_base=total \
     gc_threshold=0.1",
    "gc_trigger=immediate gc_stop=watermark gc_threshold_unit=blocks gc_threshold_base=total \
     gc_threshold=0.1 queue=read-first",
    "gc_mode=background gc_stop=watermark",
];

#[test]
fn free_flash_does_not_change_what_the_cache_does() {
    for (seed, mode) in MODES.iter().enumerate() {
        let trace = untimed(seed);
        // Until a request is known in full its collections wait, so a scheme sees them.
        let waits = mode.contains("multi_plane");
        for expr in [
            "none",
            "lru",
            "cflru",
            "gcar(lru)",
            "ecr(lru)",
            "lirs",
            "req-block",
            "req-block(placement=single-block)",
            "bplru(block-pages=8)",
            "bplru(block-pages=8,padding=true)",
            "vbbms",
            "prober(lru,ssp=16k)",
            "procache(lru,p=0.4,c=32k)",
        ] {
            if waits && expr == "gcar(lru)" {
                continue;
            }
            let dies = if expr == "ecr(lru)" { 1 } else { 2 };
            let device = small(dies, &format!("{FREE} {mode}"));
            let alone = run(&spec(expr, None), &trace).counts;
            let timed = run(&spec(expr, Some(device)), &trace);
            let c = &timed.counts;
            assert!(c.erases > Some(20), "{expr}, {mode}: {:?}", c.erases);
            let counted = [
                (c.page_hits, alone.page_hits),
                (c.evictions, alone.evictions),
                (c.evicted_pages, alone.evicted_pages),
                (c.dirty_evictions, alone.dirty_evictions),
                (c.flash_writes_host, alone.flash_writes_host),
            ];
            assert!(
                counted.iter().all(|(a, b)| a == b),
                "{expr}, {mode}: {counted:?}"
            );
            assert_eq!(
                timed.latency_ns.and_then(|l| l.all.max),
                Some(0),
                "{expr}, {mode}"
            );
        }
    }
}

#[test]
fn counters_of_collections_fit_together() {
    for (seed, mode) in MODES.iter().enumerate() {
        let trace = timed(seed);
        for expr in ["lru", "gcar(cflru)", "ecr(lru)", "awb(prober(lru,ssp=16k))"] {
            let device = small(2, &format!("{mode} e_read=1nJ e_erase=5nJ"));
            let spec = spec(expr, Some(device));
            let record = run(&spec, &trace);
            assert_eq!(record, run(&spec, &trace), "{expr}, {mode}");
            let c = &record.counts;
            let (copies, erases) = (c.flash_writes_gc.unwrap(), c.erases.unwrap());
            assert!(erases > 0, "{expr}, {mode}");
            assert_eq!(c.flash_reads_gc, Some(copies), "{expr}, {mode}");
            assert!(c.gc_victims.unwrap() <= erases && c.gc_victim_pages.unwrap() <= copies);
            assert!(c.copybacks.unwrap() <= copies);
            assert_eq!(
                c.copybacks.unwrap() > 0,
                mode.contains("copyback") && copies > 0
            );
            let programs = c.flash_writes_host + copies + c.flash_writes_meta.unwrap();
            let flash = record.ratios.waf_flash.unwrap();
            assert!((flash - programs as f64 / c.flash_writes_host as f64).abs() < 1e-12);
            let wear = record.erase_counts.as_ref().unwrap();
            let worn: u64 = wear.histogram.iter().map(|(n, blocks)| n * blocks).sum();
            // Preconditioning comes on top; background erases may not have ended yet.
            assert!(worn + 4 >= erases, "{expr}, {mode}: {worn} of {erases}");
            let energy = record.energy_nj.as_ref().unwrap();
            assert!(energy.read > 0.0 && energy.program == 0.0 && energy.chips.len() <= 2);
        }
    }
}

#[test]
fn collections_are_seen_by_schemes_and_cost_time() {
    let trace = timed(0);
    let with = run(&spec("lru", Some(small(4, "t_erase=200us"))), &trace);
    let roomy = "blocks_per_plane=4000 op=0.98 t_erase=200us";
    let without = run(&spec("lru", Some(small(4, roomy))), &trace);
    assert_eq!(without.counts.erases, Some(0));
    assert!(with.counts.dirty_gc_evictions > Some(0));
    let mean = |r: &ResultRecord| r.latency_ns.and_then(|l| l.all.mean);
    assert!(mean(&with) > mean(&without), "erases are waited for");
    let gc_aware = run(&spec("gcar(lru)", Some(small(4, "t_erase=200us"))), &trace);
    let share = |r: &ResultRecord| r.ratios.dirty_gc_evict_prob;
    assert!(
        share(&gc_aware) < share(&with),
        "{:?} {:?}",
        share(&gc_aware),
        share(&with)
    );
}

/// D6: pages of a unit with a plane of its own do not obey their address, whichever order gives
/// that a chip, be it an eviction or a write-back.
#[test]
fn units_with_a_plane_do_not_depend_on_the_order_of_addresses() {
    // FLUSH stripes whatever it finds dirty (D9).
    let mut profile = Profile::new(3000, 8).pages(400);
    (profile.trim, profile.flush) = (false, false);
    let trace = writing(|seed| timed_swarm(seed, profile, 200_000), 0, 0);
    for expr in ["bplru(block-pages=2)", "awb(bplru(block-pages=2))"] {
        let counts = |order: &str| {
            let device = small(
                4,
                &format!(
                    "t_erase=200us queue_per=die planes_per_die=2 precondition.fill=0 \
                     precondition.overwrite=0 blocks_per_plane=8 allocation_order={order}"
                ),
            );
            let mut spec = spec(expr, Some(device));
            spec.rmw = false;
            run(&spec, &trace)
        };
        let plain = counts(r#"["channel","chip","die","plane"]"#);
        let other = counts(r#"["plane","die","chip","channel"]"#);
        assert!(plain.counts.dirty_gc_evictions > Some(10), "{expr}");
        assert_eq!(plain.counts, other.counts, "{expr}");
        assert_eq!(plain.latency_ns, other.latency_ns, "{expr}");
        let background = plain.counts.background_writes > Some(100);
        assert_eq!(background, expr.starts_with("awb"));
    }
}

#[test]
fn without_collection_the_device_fills_up() {
    let trace = untimed(5);
    for off in ["gc_mode=off", "gc_policy=none"] {
        let result = execute(
            &spec(
                "lru",
                Some(small(2, &format!("{off} precondition.overwrite=0"))),
            ),
            &trace,
            Hooks::default(),
        );
        let Err(RunError::DeviceFull { full, .. }) = result else {
            panic!("{off}: the device holds more than it has");
        };
        assert!(
            full.to_string().starts_with("device full: no free page"),
            "{full}"
        );
    }
}

/// Writes come at once, so the one that finds no page waits for room until all others have ended.
#[test]
fn a_write_that_waits_for_room_at_the_end_is_not_lost() {
    let device = Arc::new(device_of(
        "channels=1 chips_per_channel=1 dies_per_chip=1 planes_per_die=1 blocks_per_plane=4 pages_per_block=8 op=0.5 \
         frontier=die queue_per=die gc_unit=die gc_mode=off wear_levelling=off allocation=dynamic unit_hold=600us \
         precondition.fill=0 precondition.overwrite=0",
    ));
    let fits = |writes: u64| {
        let all = (0..writes).map(|_| SlowRequest::pages(Op::Write, 8, 0, 0));
        let trace = trace_of(&all.collect::<Vec<_>>());
        let spec = spec("none", Some(Arc::clone(&device)));
        match execute(&spec, &trace, Hooks::default()) {
            Ok(_) => true,
            Err(RunError::DeviceFull { .. }) => false,
            Err(other) => panic!("{other}"),
        }
    };
    assert!(fits(31) && fits(32));
    assert!(!fits(33) && !fits(34), "there are 32 pages");
}

#[test]
fn dynamic_allocation_spreads_by_load() {
    let trace = timed(1);
    for mode in MODES {
        let device = small(2, &format!("allocation=dynamic {mode}"));
        let record = run(&spec("lru", Some(device)), &trace);
        assert!(record.counts.erases > Some(0), "{mode}");
    }
    let device = small(2, "allocation=dynamic");
    let refused = execute(&spec("ecr(lru)", Some(device)), &trace, Hooks::default());
    assert!(matches!(refused, Err(RunError::Refused(_))), "X7");
}

/// Pages written and read one at a time for `requests` requests; long after that all work has
/// ended.
fn singles(requests: u64, pages: u64) -> Vec<SlowRequest> {
    let mut rng = SplitMix64::new(requests);
    let mut arrival = 0;
    let mut stream: Vec<SlowRequest> = Vec::new();
    for _ in 0..requests {
        arrival += rng.below(60_000);
        let op = [Op::Write, Op::Write, Op::Read][rng.below(3) as usize];
        let page = rng.below(pages);
        stream.push(SlowRequest::pages(op, 8, page, page).at(arrival));
    }
    for late in [1000, 2000] {
        stream.push(SlowRequest::new(Op::Flush, 0, 0).at(arrival + late * 1_000_000_000));
    }
    stream
}

/// Energies of one each count the operations that the array did: as many as the counters name
/// causes for.
#[test]
fn every_operation_has_one_cause() {
    let stream = singles(3000, 400);
    // All at once: nearly everything waits when the last request arrives.
    let burst: Vec<_> = stream.iter().map(|r| r.clone().at(0)).collect();
    for stream in [stream, burst] {
        for warmup in [Warmup::None, Warmup::Passes(1)] {
            causes(&trace_of(&stream), warmup);
        }
    }
}

fn causes(trace: &Trace, warmup: Warmup) {
    let each = "e_read=1nJ e_program=1nJ e_erase=1nJ e_byte=0";
    for mode in MODES {
        for expr in [
            "none",
            "lru",
            "bplru(block-pages=8,padding=true)",
            "gcar(lru)",
            "awb(lru,partial=write)",
            "eager(lru)",
        ] {
            let device = small(4, &format!("{mode} {each}"));
            let spec = RunSpec {
                warmup,
                ..spec(expr, Some(device))
            };
            let record = run(&spec, trace);
            let (c, done) = (&record.counts, record.energy_nj.as_ref().unwrap());
            let copies = c.flash_writes_gc.unwrap();
            let what = format!("{expr}, {mode}, {warmup:?}");
            let programs = c.flash_writes_host + copies + c.flash_writes_meta.unwrap();
            assert!(copies > 0 && c.erases > Some(50), "{what}");
            assert_eq!(done.program, programs as f64, "{what}");
            assert_eq!(done.read, (c.flash_reads_host + copies) as f64, "{what}");
            assert_eq!(done.erase, c.erases.unwrap() as f64, "{what}");
            let sum: f64 = done.chips.iter().sum();
            assert_eq!(done.total, sum, "{what}");
        }
    }
}

#[test]
fn longer_times_of_everything_change_no_collection() {
    let times = |k: u64| {
        format!(
            "t_read={}ns t_program={}ns t_erase={}ns t_cmd={}ns t_byte={}ns t_dram={}ns",
            900 * k,
            7_000 * k,
            30_000 * k,
            11 * k,
            k,
            40 * k
        )
    };
    let stream = singles(2000, 400);
    for mode in MODES {
        for expr in ["none", "lru", "gcar(cflru)", "ecr(lru,cqct=oracle)"] {
            for k in [7, 1000] {
                let device = |k| small(4, &format!("{mode} {}", times(k)));
                scales(expr, |k| DeviceConfig::clone(&device(k)), &stream, k);
            }
        }
    }
}

/// Other chip numbers: no total depends on which chip a page is on. Single pages, so that no order
/// inside a request matters, and policies that draw nothing.
#[test]
fn permuting_the_chips_changes_no_total() {
    let stream = singles(3000, 400);
    let mut permuted = stream.clone();
    for request in permuted.iter_mut().filter(|r| r.op != Op::Flush) {
        let lpn = request.extents[0].0 / 8;
        request.extents[0].0 = (lpn / 4 * 4 + [2, 0, 3, 1][lpn as usize % 4]) * 8;
    }
    let modes = MODES
        .iter()
        .filter(|m| !m.contains("random") && !m.contains("choices"));
    for mode in modes {
        for expr in ["none", "lru", "gcar(lru)", "ecr(lru,cqct=oracle)"] {
            let more = format!(
                "channels=4 dies_per_chip=1 queue_per=chip blocks_per_plane=16 op=0.21875 \
                 precondition.overwrite=0 e_read=1nJ {mode}"
            );
            let spec = spec(expr, Some(small(4, &more)));
            let (one, two) = (
                run(&spec, &trace_of(&stream)),
                run(&spec, &trace_of(&permuted)),
            );
            assert!(one.counts.erases > Some(50), "{expr}, {mode}");
            assert_eq!(one.counts, two.counts, "{expr}, {mode}");
            assert_eq!(one.latency_ns, two.latency_ns, "{expr}, {mode}");
            assert_eq!(one.evict_wait_ns, two.evict_wait_ns, "{expr}, {mode}");
            assert_eq!(one.erase_counts, two.erase_counts, "{expr}, {mode}");
            let chips = |r: &ResultRecord| r.energy_nj.as_ref().unwrap().chips.clone();
            let moved = [1, 3, 0, 2].map(|chip| chips(&one)[chip]);
            assert_eq!(chips(&two), moved, "{expr}, {mode}");
        }
    }
}

/// Where collections are long, gcar keeps their pages: every eviction it makes to a collecting chip
/// was without a choice.
#[test]
fn gcar_looks_at_the_collections_of_the_device() {
    let trace = trace_of(&singles(3000, 400));
    let share = |expr: &str, more: &str| {
        let times = "t_read=1us t_program=5us t_erase=60us t_cmd=0 t_byte=0.1ns";
        let record = run(
            &spec(expr, Some(small(4, &format!("{times} {more}")))),
            &trace,
        );
        assert!(record.counts.erases > Some(50), "{expr}, {more}");
        record.ratios.dirty_gc_evict_prob.unwrap()
    };
    for more in ["", "gc_mode=background", "queue=read-first"] {
        for base in ["lru", "cflru"] {
            let (plain, aware) = (share(base, more), share(&format!("gcar({base})"), more));
            assert!(plain > 0.05, "{base}, {more}: {plain}");
            assert!(aware < plain / 2.0, "{base}, {more}: {aware} of {plain}");
        }
    }
}
