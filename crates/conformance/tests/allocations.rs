//! The second of two identical passes allocates nothing.
//!
//! First touch may allocate: the index of a page's chunk, a list that reaches its length. History
//! without a bound (`lirs(max-nonres=inf)`, `frd`) may grow for ever and is left out.

use destage_conformance::building::ways;
use destage_conformance::drive::{Config, build};
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::reference::{SlowRequest, to_batch};
use destage_conformance::suites::{Case, random, schemes, seed_of, selected};
use destage_conformance::timed::runs::device_of;
use destage_conformance::timed::trace_of;
use destage_device::nand::OpKind;
use destage_scheme::contract::Build;
use destage_scheme::info::Role;
use destage_scheme::registry::{STATIC, Visit};
use destage_scheme::{Boxed, Env, Expr, Scheme};
use destage_sim::engine::Engine;
use destage_sim::precondition::prepare;
use destage_sim::{Cache, CacheGeometry, CacheOnly, CacheOptions, Flash, ReadFill};
use destage_types::{ChipId, Nanos, Op, PageSize, RequestBatch, RequestFlags};

struct Passes<'a> {
    expr: &'a Expr,
    config: &'a Config,
    batch: &'a RequestBatch,
}

impl Visit for Passes<'_> {
    type Out = u64;

    /// Allocations of the last pass.
    fn visit<S: Scheme + Send + 'static>(self, scheme: S) -> u64 {
        let mut cache = self.config.cache(self.expr, scheme, CacheOnly);
        let pass = self.batch.len() / passes(self.expr) as usize;
        let last = self.batch.len() - pass;
        let mut serve = |from: usize, to: usize| {
            for i in from..to {
                let request = self.batch.get(i);
                cache.serve(request, i as u64, request.head.arrival);
            }
        };
        serve(0, last);
        allocation_counter::measure(|| serve(last, self.batch.len())).count_total
    }
}

/// Two; but an admission layer draws other numbers, or remembers what was written before, so that
/// the same requests are no identical pass: other pages enter and leave, and their neighbourhoods
/// are touched for the first time. A victim filter spares groups, so that the largest one may be of a pass
/// that began with a full cache.
fn passes(expr: &Expr) -> u64 {
    let has = |role| expr.chain().any(|l| l.scheme().role == role);
    match (has(Role::Admission), has(Role::VictimFilter)) {
        (true, _) => 48,
        (_, true) => 8,
        _ => 2,
    }
}

/// The requests of the case in passes, each later than the one before. Writes with FUA may allocate (invariant 4).
fn repeated(case: &Case) -> Vec<SlowRequest> {
    let end = case.requests.last().map_or(0, |r| r.arrival) + 1_000_000;
    let pass = |n: u64| {
        let requests = case.requests.iter();
        requests.map(move |r| SlowRequest {
            flags: RequestFlags::NONE,
            ..r.clone().at(r.arrival + n * end)
        })
    };
    let requests: Vec<SlowRequest> = (0..passes(&case.expr)).flat_map(pass).collect();
    case.with(&requests).prepared()
}

/// Allocations in the last pass of the case.
fn allocations(case: &Case, boxed: bool) -> u64 {
    let requests = repeated(case);
    let batch = to_batch(&requests);
    let env = case.config.env(&case.expr);
    let passes = Passes {
        expr: &case.expr,
        config: &case.config,
        batch: &batch,
    };
    build(&case.expr, &env, &requests, boxed, passes)
}

fn is_bounded(expr: &Expr) -> bool {
    let unbounded = |l: &Expr| match l.scheme().name {
        "lirs" => l.is_word("max-nonres", "inf"),
        name => name == "frd",
    };
    !expr.chain().any(unbounded)
}

/// Compositions once, and the schemes alone and static compositions more often and longer.
#[test]
fn compositions_allocate_nothing_in_the_second_pass() {
    let alone = schemes();
    for shape in &selected() {
        let mut rng = SplitMix64::new(seed_of(shape));
        let fixed = STATIC.contains(&shape.shape().as_str());
        let long = fixed || alone.contains(shape);
        for seed in 0..if long { 6 } else { 1 } {
            let expr = random(shape, &mut rng);
            let length = if long { 2000 } else { 600 };
            let case = Case::random(&expr, seed_of(shape) ^ seed, length);
            for &boxed in if is_bounded(&expr) { ways(&expr) } else { &[] } {
                assert_eq!(allocations(&case, boxed), 0, "{expr}, seed {seed}, {boxed}");
            }
        }
    }
}

/// A device that collects garbage all the time, in every mode.
#[test]
fn collections_allocate_nothing_in_a_later_pass() {
    for more in [
        "gc_mode=foreground",
        "gc_mode=foreground queue=read-first wear_levelling=static",
        "gc_mode=background gc_policy=d-choices",
        "gc_mode=foreground copyback=on gc_policy=cost-benefit allocation=dynamic",
        "gc_mode=foreground multi_plane=on",
        "gc_mode=background multi_plane=on",
        "gc_mode=foreground queue=read-first \
         cache_region={size=\"1GiB\",t_read=\"1us\",t_program=\"2us\"}",
    ] {
        let config = device_of(&format!(
            "channels=2 chips_per_channel=1 dies_per_chip=1 planes_per_die=2 blocks_per_plane=32 \
             pages_per_block=8 op=0.25 t_read=1us t_program=5us t_erase=60us t_cmd=0 t_byte=0.1ns \
             gc_threshold=0.2 precondition.trace=false precondition.fill=1 {more}"
        ));
        let mut rng = SplitMix64::new(9);
        let pass: Vec<SlowRequest> = (0..2000)
            .map(|n| {
                let (op, page) = ([Op::Write, Op::Write, Op::Read][n % 3], rng.below(700));
                let last = page + if more.contains("multi_plane") { 3 } else { 0 };
                SlowRequest::pages(op, 8, page, last).at(n as u64 * 80_000)
            })
            .collect();
        let batch = to_batch(&pass);
        let engine = prepare(&config, &trace_of(&pass), false, false, 1).expect("it can be filled");
        let options = CacheOptions {
            read_alloc: true,
            read_fill: ReadFill::Page,
            rmw: true,
            wrap: None,
            nvm: false,
        };
        let geometry = CacheGeometry {
            capacity: 24,
            slots: 24,
            page: PageSize::KIB4,
            layout: config.layout(),
        };
        let lru = Expr::parse("lru").expect("a scheme");
        let lru = Boxed::build(&lru, &Env::cache_only(24));
        let mut cache = Cache::new(lru, engine, geometry, options);
        let mut serve = |passes: std::ops::Range<u64>| {
            for n in passes {
                for (i, request) in batch.iter().enumerate() {
                    let arrival = request.head.arrival + Nanos(n * 2000 * 80_000);
                    cache.serve(request, i as u64, arrival);
                }
            }
        };
        serve(0..10);
        let count = allocation_counter::measure(|| serve(10..12)).count_total;
        assert_eq!(count, 0, "{more}");
        let erases = cache.flash().traffic().erases;
        assert!(erases > 2000, "{more}: {erases}");
        let joined = cache.flash().nand().started(OpKind::Program) < programs(cache.flash());
        assert_eq!(joined, more.contains("multi_plane"), "{more}");
    }
}

/// Pages programmed.
fn programs(engine: &Engine) -> u64 {
    let chips = (0..engine.nand().chips()).map(ChipId);
    chips
        .map(|chip| engine.nand().chip_stats(chip).of(OpKind::Program))
        .sum()
}

/// The counter counts: a scheme that allocates would be caught.
#[test]
fn an_allocation_is_counted() {
    let info = allocation_counter::measure(|| drop(std::hint::black_box(vec![1u8])));
    assert_eq!(info.count_total, 1);
}
