//! The whole device against its slow model: random runs must agree in every completion and in
//! every program, to the nanosecond, and in every counter.

use crate::random_device::{Features, random_device};
use destage_conformance::reference::Profile;
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::suites::is_full;
use destage_conformance::timed::{TimedRun, compare, layers, timed_swarm, trace_of};
use destage_scheme::Expr;
use destage_sim::precondition::prepare;
use destage_sim::{Hooks, ReadFill, RunSpec, TimelineHook, TimelineWindow, execute};
use destage_types::{ByteSize, Nanos, PageSize};
use std::sync::Arc;

/// Schemes over any device.
const PLAIN: [&str; 14] = [
    "none",
    "lru",
    "fifo",
    "clock",
    "bplru(block-pages=1,protect_current=true)",
    "bplru(block-pages=3,padding=true,read_touch=true)",
    "bplru(block-pages=2,compensation=half,placement=stripe)",
    "req-block(delta=2)",
    "req-block(delta=3,placement=single_block)",
    "procache(lru,p=0.5,c=12p)",
    "procache(lru,p=0.6,c=8p,hit_rule=page)",
    "procache(fifo,p=0.5,c=16p,hit_rule=any)",
    "prober(lru,ssp=8k,rip=6)",
    "best-of(lru,arc,lirs,fifo,epoch=12,margin=0)",
];

/// Schemes over chips that static allocation numbers page by page.
const CHIPS: [&str; 21] = [
    "ecr",
    "ecr(lru,cqct=oracle)",
    "ecr(lru,xfer=excluded,tie=lowest_index)",
    "ecr(lru,residual=remaining)",
    "ecr-eps",
    "ecr-eps(residual=remaining)",
    "ecr(lru,gc-state=block)",
    "ecr(lru,page-latency=per-page)",
    "ecr-eps(gc-state=block,gc-residual=whole)",
    "cflru-eps",
    "gcar(lru)",
    "lcr",
    "lcr(cqct=oracle,w=5)",
    "prober(ecr(lru,cqct=oracle),ssp=8k,rip=6)",
    "ecr(fifo,inner-capacity=total)",
    "gcar(ecr(lru,cqct=oracle))",
    "gcar(bplru(block-pages=3))",
    "gcar(req-block(delta=2),protect=dirty)",
    "ecr(bplru(block-pages=3),cqct=oracle)",
    "ecr(req-block(delta=2))",
    "prober(ecr(fab(block-pages=2)),ssp=8k,rip=6)",
];

const BACKGROUND: [&str; 43] = [
    "awb(prober(lru,ssp=4k,rip=4))",
    "awb(prober(lru,ssp=8k,rip=6),depth=1)",
    "awb(prober(lru,ssp=8k,rip=3),depth=5,cancel_on=write)",
    "awb(prober(lru,ssp=4k,rip=5),partial=write,after=keep_clean)",
    "awb(prober(lru,ssp=8k,rip=4),scope=ldr_then_base,depth=3)",
    "awb(prober(fifo,ssp=8k,rip=8,ldr_evict=head))",
    "awb(lru)",
    "awb(lru,depth=4,after=keep_clean,cancel_on=write)",
    "awb(req-block(delta=2))",
    "awb(procache(prober(lru,ssp=4k,rip=4),p=0.7,c=16p))",
    "awb(vbbms)",
    "awb(refcount(prober(lru,ssp=4k,rip=4),threshold=1,decay_period=20))",
    "eager(lru)",
    "eager(cflru(x=2),w=3)",
    "eager(clock,w=2)",
    "eager(bplru(block-pages=3,placement=stripe))",
    "eager(prober(lru,ssp=4k,rip=5),w=4)",
    "awb(bplru(block-pages=3))",
    "awb(bplru(block-pages=2,padding=true),depth=3,after=keep_clean)",
    "eager(bplru(block-pages=4))",
    "awb(req-block(delta=3,placement=single_block))",
    "awb(prober(ecr(lru,residual=remaining),ssp=4k,rip=4))",
    "awb(ecr(lru),depth=3)",
    "awb(ecr(bplru(block-pages=2),tie=lowest-index))",
    "awb(ecr-eps(tie=lowest-index),after=keep_clean)",
    "awb(prober(req-block(delta=2),ssp=4k,rip=4),scope=ldr_then_base)",
    "eager(ecr(fifo),w=4)",
    "eager(cflru-eps,w=3)",
    "eager(gcar(ecr(lru)),w=5)",
    "co-active",
    "co-active(hot-ratio=0.2,wb-max=3)",
    "co-active(wb-max=adaptive)",
    "prober(co-active,ssp=8k,rip=6)",
    "ecr(co-active(wb-max=2))",
    "idle-clean(lru)",
    "idle-clean(lru,watermark=0,young=1,second-chance=true)",
    "idle-clean(cflru(x=2),watermark=0.4,young=2,period=3)",
    "idle-clean(sieve,watermark=0,young=0,adapt=false)",
    "idle-clean(prober(lru,ssp=4k,rip=5),young=2,balance=1)",
    "idle-clean(bplru(block-pages=3,placement=stripe),watermark=0,young=1)",
    "idle-clean(bplru(block-pages=4),watermark=0.2,young=2,period=5)",
    "idle-clean(procache(lru,p=0.7,c=16p),watermark=0,young=2)",
    "idle-clean(refcount(fifo,threshold=1,decay-period=20),watermark=0,young=0)",
];

/// Layers that are asked on other occasions than idle channels.
const ASKED: [&str; 16] = [
    "test-drain(fifo)",
    "test-drain(lru,depth=3)",
    "test-drain(cflru(x=2),depth=1000)",
    "test-drain(arc,depth=2)",
    "test-drain(prober(lru,ssp=8k,rip=6),depth=2)",
    "test-drain(procache(lru,p=0.7,c=16p),depth=4)",
    "test-drain(lirs,depth=2)",
    "test-age(lru,age=1)",
    "test-age(lru,age=4000)",
    "test-age(fifo,age=300)",
    "test-age(bplru(block-pages=3),age=900)",
    "test-age-idle(lru,age=2000)",
    "test-age-idle(fifo,age=20)",
    "test-age-idle(prober(lru,ssp=8k,rip=6),age=300)",
    "test-tick(lru,every=700)",
    "test-tick(fifo,every=90)",
];

/// Schemes that rename pages (4 KiB each).
const MAPPED: [&str; 10] = [
    "cac(lru)",
    "cac(lru,unmap_pre=true)",
    "cac(req-block(delta=2))",
    "cac(bplru(block-pages=3))",
    "cac(eager(fifo))",
    "cac(test-drain(lru,depth=2))",
    "cac(test-age(lru,age=500))",
    "cac(idle-clean(lru,watermark=0,young=1))",
    "cac(awb(prober(lru,ssp=8k,rip=5)))",
    "cac(awb(prober(lru,ssp=4k,rip=3),depth=3,after=keep_clean),unmap_pre=true)",
];

struct Case {
    schemes: &'static [&'static str],
    spp: &'static [u32],
    prev: bool,
    collects: bool,
}

const fn case(schemes: &'static [&'static str], spp: &'static [u32], collects: bool) -> Case {
    Case {
        schemes,
        spp,
        prev: false,
        collects,
    }
}

/// Events of a set of runs, so that no test passes because nothing happened.
#[derive(Default, Debug)]
struct Seen {
    runs: usize,
    programs: usize,
    /// Requests that took longer than any single operation.
    queued: usize,
    /// As `Outcome::device_counts`.
    device: [u64; 10],
    /// Runs with a cache in flash.
    in_flash: usize,
    wrapped: usize,
    /// Erases and programs that were suspended; runs with page types.
    suspensions: [u64; 2],
    page_types: usize,
    /// Pages that shared an operation with others, read and programmed.
    joined: [u64; 2],
}

/// Of how many parts of the random cases the first is tried. `cargo xtask full` tries all of them. On full devices
/// too few erases would be suspended in a smaller part.
fn parts(on_full_devices: bool) -> u64 {
    match (is_full(), on_full_devices) {
        (true, _) => 1,
        (false, true) => 3,
        (false, false) => 12,
    }
}

/// The first of `parts` of `seeds`.
fn first_of(parts: u64, seeds: std::ops::Range<u64>) -> std::ops::Range<u64> {
    seeds.start..seeds.start + (seeds.end - seeds.start) / parts
}

impl Seen {
    /// Extends the counts of one part to all `parts`.
    fn extend(&mut self, parts: u64) {
        let flat = (self.device.iter_mut())
            .chain(&mut self.suspensions)
            .chain(&mut self.joined);
        flat.for_each(|count| *count *= parts);
        for count in [
            &mut self.runs,
            &mut self.programs,
            &mut self.queued,
            &mut self.in_flash,
            &mut self.wrapped,
            &mut self.page_types,
        ] {
            *count *= parts as usize;
        }
    }
}

/// Runs `seeds` streams, or a part of them, through the schemes of `case`, and counts what all would do at least.
fn swarms(seeds: std::ops::Range<u64>, case: &Case) -> Seen {
    let mut seen = Seen::default();
    let parts = parts(case.collects);
    for seed in first_of(parts, seeds) {
        let rng = &mut SplitMix64::new(seed * 7919 + 17);
        let spp = rng.pick(case.spp);
        let expr = rng.pick(case.schemes);
        // The slow models of these count on the order that numbers chips page by page.
        let by_chip = expr.contains("ecr") || expr.contains("lcr");
        let anywhere = !by_chip && !expr.contains("gcar");
        // Draws of their own: the devices without are those that they would be.
        let mut planes = SplitMix64::new(seed ^ 0x9a5e);
        let joins = planes.chance(50).then(|| planes.pick(&[1, 2, 2, 3, 4]));
        let mut region = SplitMix64::new(seed ^ 0x51c0);
        let in_flash = region.chance(50).then_some(region);
        let (collects, by_address) = (case.collects, !by_chip);
        let features = Features {
            joins,
            in_flash,
            array: SplitMix64::new(seed ^ 0x77e1),
            // There are few erases, and fewer meet what suspends them.
            suspends: if collects { 75 } else { 40 },
        };
        let (device, program) = random_device(rng, spp, by_address, anywhere, collects, features);
        let requests = rng.pick(&[40, 80, 80, 200]);
        let pages = rng.pick(&[24, 64, 200]);
        let mut profile = Profile::new(requests, spp).pages(pages).with_forced();
        profile.prev = case.prev;
        profile.extents = rng.chance(30);
        profile.partial = rng.chance(70);
        profile.trim = rng.chance(60);
        profile.flush = rng.chance(60);
        let mut stream = timed_swarm(seed, profile, program);
        let wrap = rng.chance(15) && !case.collects;
        if wrap {
            // Behind the end, and across it.
            let pages = device.logical_pages() * (1 + rng.below(3)) - 20;
            let shift = |sector: &mut u64| *sector += pages * u64::from(spp);
            for request in &mut stream {
                request.extents.iter_mut().for_each(|e| shift(&mut e.0));
                request.prev.iter_mut().flatten().for_each(shift);
            }
        }
        let parsed = Expr::parse_with(expr, layers::ALL).expect("a legal expression");
        let fixed = !parsed.default_read_alloc();
        let least = if parsed.contains("vbbms") { 5 } else { 1 };
        let run = TimedRun {
            read_alloc: match (fixed, rng.below(3)) {
                (false, 0) => Some(true),
                (false, 1) => Some(false),
                _ => None,
            },
            read_fill: rng.pick(&[ReadFill::Page, ReadFill::Page, ReadFill::Requested]),
            rmw: rng.chance(80),
            boxed: rng.chance(25),
            observed: rng.chance(50),
            wrap,
            ..TimedRun::new(expr, least + rng.below(40) as u32, device)
        };
        let what = format!("seed {seed}: {run:?}");
        let result = std::panic::catch_unwind(|| {
            let real = run.real(&stream);
            compare(&real, &run.slow(&stream), "real and slow");
            real
        });
        let Ok(outcome) = result else {
            panic!("{what}");
        };
        seen.runs += 1;
        seen.programs += outcome.programs.len();
        let long = 2 * program + 2 * run.device.t_read.mean().0;
        let late = |r: &&(u64, u64, u64, u64, u64)| r.4 - r.3 > long;
        seen.queued += outcome.requests.iter().filter(late).count();
        seen.wrapped += usize::from(run.wrap);
        (0..2).for_each(|i| seen.suspensions[i] += outcome.suspensions[i]);
        seen.page_types += usize::from(run.device.t_program.differ());
        seen.in_flash += usize::from(run.device.cache_region.is_some());
        (0..2).for_each(|i| seen.joined[i] += outcome.joined[i]);
        for (sum, n) in seen.device.iter_mut().zip(outcome.device_counts) {
            *sum += n;
        }
    }
    println!("{seen:?}");
    seen.extend(parts);
    assert!(seen.joined.iter().all(|&pages| pages > 100));
    assert!(3 * seen.in_flash > seen.runs, "caches in flash");
    assert!(
        seen.device[8] > 5_000 && seen.device[9] > 5_000,
        "their accesses"
    );
    assert!(seen.suspensions[1] > 100, "suspended programs");
    assert!(
        !case.collects || seen.suspensions[0] > 15,
        "suspended erases"
    );
    assert!(4 * seen.page_types > seen.runs, "runs with page types");
    seen
}

#[test]
fn foreground_schemes() {
    let seen = swarms(0..1500, &case(&PLAIN, &[4, 8, 32], false));
    assert_eq!(seen.runs, 1500);
    assert!(seen.programs > 50_000 && seen.queued > 5_000 && seen.wrapped > 100);
    assert!(seen.device[4] > 1_000, "reads of unmapped pages");
    assert!(seen.device[5] > 1_000, "summary pages");
}

#[test]
fn chip_aware_schemes() {
    let seen = swarms(10_000..11_500, &case(&CHIPS, &[8], false));
    assert_eq!(seen.runs, 1500);
    assert!(seen.programs > 50_000 && seen.queued > 5_000);
}

#[test]
fn background_schemes() {
    let seen = swarms(20_000..23_000, &case(&BACKGROUND, &[4, 8], false));
    assert_eq!(seen.runs, 3000);
    let [write_backs, cancels, stale, in_flight, ..] = seen.device;
    assert!(write_backs > 10_000 && cancels > 1_000 && stale > 500 && in_flight > 500);
}

#[test]
fn schemes_that_are_asked_on_other_occasions() {
    let seen = swarms(70_000..72_100, &case(&ASKED, &[4, 8], false));
    assert_eq!(seen.runs, 2100);
    let [write_backs, cancels, stale, in_flight, ..] = seen.device;
    assert!(write_backs > 10_000 && cancels > 100 && stale > 500 && in_flight > 500);
}

#[test]
fn renaming_schemes() {
    let seen = swarms(
        30_000..31_500,
        &Case {
            prev: true,
            ..case(&MAPPED, &[8], false)
        },
    );
    assert_eq!(seen.runs, 1500);
    let [write_backs, cancels, stale, ..] = seen.device;
    assert!(write_backs > 1_000 && cancels > 100 && stale > 50);
}

/// A run of which nobody looks at the device may know earlier what runs when, and ends in the same
/// record as one whose requests are logged and whose timeline is kept.
#[test]
fn a_run_that_nobody_sees_ends_in_the_same_record() {
    let schemes = [&PLAIN[..], &CHIPS, &MAPPED[..4]].concat();
    let mut unseen = 0;
    let parts = if is_full() { 1 } else { 6 };
    for seed in first_of(parts, 60_000..63_000) {
        let rng = &mut SplitMix64::new(seed * 7919 + 17);
        let (expr, collects) = (rng.pick(&schemes), rng.chance(15));
        let features = Features {
            joins: None,
            in_flash: None,
            array: SplitMix64::new(seed ^ 0x77e1),
            suspends: 40,
        };
        let (device, program) = random_device(rng, 8, false, false, collects, features);
        let mut profile = Profile::new(rng.pick(&[40, 200, 400]), 8)
            .pages(200)
            .with_forced();
        profile.partial = rng.chance(50);
        profile.prev = expr.starts_with("cac");
        let trace = trace_of(&timed_swarm(seed, profile, program));
        let mut engine = prepare(&device, &trace, false, false, seed).expect("room for all");
        unseen += u32::from(engine.skip_unobserved_events());
        let spec = RunSpec {
            device: Some(Arc::new(device)),
            page: PageSize::KIB4,
            rmw: rng.chance(80),
            read_fill: rng.pick(&[ReadFill::Page, ReadFill::Requested]),
            unbalance: rng.chance(30),
            seed,
            ..RunSpec::cache_only(
                Expr::parse(expr).expect("a legal expression"),
                ByteSize((4 + rng.below(40)) * 4096),
            )
        };
        let seen = Hooks {
            request_log: Some(Box::new(std::io::sink())),
            timeline: Some(TimelineHook {
                window: TimelineWindow {
                    from: None,
                    to: Nanos::NEVER,
                },
                limit: u64::MAX,
                take: Box::new(|_| Ok(())),
            }),
            ..Hooks::default()
        };
        let record = |hooks| execute(&spec, &trace, hooks).unwrap_or_else(|e| panic!("{e}"));
        let [one, other] = [Hooks::default(), seen].map(record);
        assert_eq!(one, other, "seed {seed}: {expr} on {:?}", spec.device);
    }
    assert!(u64::from(unseen) * parts > 300, "{unseen}");
}

/// Collections, foreground and background, on small full devices: at least `blocks` of them.
fn collected(seeds: std::ops::Range<u64>, blocks: u64, case: &Case) -> Seen {
    let runs = seeds.end - seeds.start;
    let seen = swarms(seeds, case);
    assert_eq!(seen.runs as u64, runs);
    assert!(
        seen.device[7] > blocks,
        "blocks collected: {}",
        seen.device[7]
    );
    seen
}

#[test]
fn foreground_schemes_over_full_devices() {
    collected(40_000..40_600, 900, &case(&PLAIN, &[4, 8], true));
}

#[test]
fn chip_aware_schemes_over_full_devices() {
    if !is_full() {
        println!("SKIPPED: only in cargo xtask full; other schemes fill the same devices");
        return;
    }
    collected(50_000..50_900, 900, &case(&CHIPS, &[8], true));
}

#[test]
fn asked_schemes_over_full_devices() {
    if !is_full() {
        println!("SKIPPED: only in cargo xtask full; other schemes fill the same devices");
        return;
    }
    let seen = collected(80_000..81_200, 1_800, &case(&ASKED, &[4, 8], true));
    assert!(seen.device[0] > 2_000, "write-backs");
}

#[test]
fn background_schemes_over_full_devices() {
    let seen = collected(60_000..60_900, 1_350, &case(&BACKGROUND, &[4, 8], true));
    assert!(seen.device[0] > 2_000, "write-backs");
}
