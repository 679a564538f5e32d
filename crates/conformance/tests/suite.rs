//! What every scheme must do, whatever its rules: one test per scheme and check.
//!
//! Each run goes through the checking driver, which holds core and scheme to the contract of
//! [`destage_scheme::Scheme`]: see `drive::Checked`.

use destage_conformance::drive::{TestDevice, is_built};
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::reference::{Profile, Row, SlowRequest, swarm};
use destage_conformance::suites::{Case, compositions, least_capacity, random};
use destage_scheme::Expr;
use destage_scheme::info::Role;
use destage_scheme::registry::{NAMES, STATIC};
use destage_types::{Nanos, Op};

fn parse(text: &str) -> Expr {
    Expr::parse(text).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// The composition with default parameters, and with random ones.
fn variants(shape: &str, more: u64) -> Vec<Expr> {
    let mut rng = SplitMix64::new(shape.len() as u64);
    let shape = parse(shape);
    let random = (0..more).map(|_| random(&shape, &mut rng));
    std::iter::once(shape.clone()).chain(random).collect()
}

fn same(a: &[Row], b: &[Row]) -> Result<(), String> {
    let pair = a.iter().zip(b).enumerate().find(|(_, (a, b))| a != b);
    match pair {
        Some((i, (a, b))) => Err(format!("request {i}:\n  {a:?}\n  {b:?}")),
        None if a.len() != b.len() => Err("runs of different length".to_owned()),
        None => Ok(()),
    }
}

fn random_streams_keep_the_contract(shape: &str) {
    for (i, expr) in variants(shape, 16).iter().enumerate() {
        for seed in 0..2 {
            let case = Case::random(expr, 31 * i as u64 + seed, 400);
            case.must(|case| {
                case.run();
                Ok(())
            });
        }
    }
}

/// The smallest caches the scheme accepts, an odd one, and one that never fills.
fn every_size_of_cache_works(shape: &str) {
    for (i, expr) in variants(shape, 4).iter().enumerate() {
        let mut case = Case::random(expr, i as u64, 0);
        let least = least_capacity(expr, &case.config);
        let spp = case.config.page.sectors();
        case.requests = swarm(77 + i as u64, Profile::new(250, spp).pages(200));
        for capacity in [least, least + 1, least.max(7) | 1, least.max(300)] {
            case.config.capacity = capacity;
            case.must(|case| {
                let (drive, rows) = case.run();
                let (used, _, frames) = drive.occupancy();
                let whole = expr.scheme().role != Role::None;
                assert!(used <= frames && (!whole || frames == capacity as usize));
                let evicted: usize = rows.iter().map(|r| r.evictions.len()).sum();
                // VBBMS fills its regions apart; nothing else evicts before the cache is full.
                let own = expr.contains("vbbms");
                assert!(capacity < 200 || own || evicted == 0, "{evicted} evictions");
                Ok(())
            });
        }
    }
}

fn short_traces_work(shape: &str) {
    let case = Case::random(&parse(shape), 3, 0);
    let (drive, rows) = case.run();
    assert_eq!(
        (drive.occupancy().0, rows.len()),
        (0, 0),
        "nothing happened"
    );
    let spp = case.config.page.sectors();
    for op in [Op::Read, Op::Write, Op::Trim, Op::Flush] {
        let sectors = if op == Op::Flush { 0 } else { spp };
        let request = SlowRequest::new(op, u64::from(spp) * 5, sectors);
        let (drive, rows) = case.with(std::slice::from_ref(&request)).run();
        assert!(
            drive.occupancy().0 <= 1 && rows[0].evictions.is_empty(),
            "{op:?}"
        );
        let twice = case.with(&[request.clone(), request]);
        twice.must(|case| {
            let (drive, _) = case.run();
            assert!(drive.occupancy().0 <= 1, "one page");
            Ok(())
        });
    }
}

fn a_trim_of_everything_empties_the_cache(shape: &str) {
    for (i, expr) in variants(shape, 4).iter().enumerate() {
        let mut case = Case::random(expr, 500 + i as u64, 200);
        let spp = u64::from(case.config.page.sectors());
        let end = case.requests.iter().flat_map(|r| &r.extents);
        let end = end.map(|e| e.0 + u64::from(e.1)).max().unwrap_or(0);
        let pages = end.div_ceil(spp).max(1);
        let all = SlowRequest::pages(Op::Trim, spp as u32, 0, pages - 1);
        let at = case.requests.len();
        case.requests.push(all);
        case.requests.push(SlowRequest::new(Op::Flush, 0, 0));
        case.requests
            .extend(swarm(i as u64, Profile::new(60, spp as u32)));
        let (drive, rows) = case.with(&case.requests[..at + 1]).run();
        assert_eq!(drive.occupancy().0, 0, "{expr}: pages behind a TRIM of all");
        assert!(rows[at].programs.is_empty(), "{expr}: TRIM writes nothing");
        let (_, rows) = case.run();
        assert!(rows[at + 1].programs.is_empty(), "{expr}: nothing to flush");
    }
}

fn a_flush_leaves_no_dirty_page(shape: &str) {
    for (i, expr) in variants(shape, 4).iter().enumerate() {
        let mut case = Case::random(expr, 900 + i as u64, 200);
        let (before, _) = case.run();
        let flush = SlowRequest::new(Op::Flush, 0, 0);
        case.requests.extend([flush.clone(), flush]);
        let (drive, rows) = case.run();
        let (used, dirty, _) = before.occupancy();
        let [.., first, second] = &rows[..] else {
            panic!("two rows at least")
        };
        assert_eq!(
            first.programs.len(),
            dirty,
            "{expr}: one program per dirty page"
        );
        assert!(first.programs.is_sorted(), "{expr}: in ascending order");
        assert!(second.programs.is_empty(), "{expr}: nothing is left");
        let (now, dirty, _) = drive.occupancy();
        assert_eq!((now, dirty), (used, 0), "{expr}: pages stay, clean");
    }
}

fn equal_seeds_give_equal_runs(shape: &str) {
    for (i, expr) in variants(shape, 3).iter().enumerate() {
        let case = Case::random(expr, 1300 + i as u64, 300);
        case.must(|case| {
            let ((one, a), (two, b)) = (case.run(), case.run());
            assert_eq!(one.measures(), two.measures());
            same(&a, &b)
        });
    }
}

fn static_and_boxed_runs_are_equal(shape: &str) {
    for (i, expr) in variants(shape, 8).iter().enumerate() {
        let case = Case::random(expr, 1700 + i as u64, 300);
        case.must(|case| {
            let mut boxed = case.clone();
            boxed.config.boxed = true;
            let ((one, a), (two, b)) = (case.run(), boxed.run());
            assert_eq!(one.measures(), two.measures());
            assert_eq!(one.counts(), two.counts());
            same(&a, &b)
        });
    }
}

/// Law: with `charge_metadata` pages and metadata together fit into the cache at every instant,
/// and not one page more would. The driver looks after every call of the scheme.
fn metadata_fits_beside_the_pages(shape: &str) {
    let (mut runs, mut fullest) = (0, 0.0f64);
    for (i, expr) in variants(shape, 24).iter().enumerate() {
        let case = Case::random(expr, 2100 + i as u64, 400);
        let whole = expr.scheme().role != Role::None;
        let page = case.config.page.bytes();
        let bytes = match whole {
            true => page * u64::from(case.config.capacity) + 97 * i as u64,
            false => 0,
        };
        // The queue of `prober` alone can be larger than a small cache.
        let found = (0..12).find_map(|k| Some((bytes << k, case.charged(bytes << k)?)));
        let Some((bytes, (case, metadata))) = found.filter(|_| whole) else {
            let unbounded = expr.policy().scheme().name == "lirs";
            assert!(!whole || unbounded, "{expr}: no cache is large enough");
            continue;
        };
        let context = case.config.metadata(expr, &case.requests);
        let one_more = destage_scheme::info::MetadataContext {
            frames: context.frames + 1,
            ..context
        };
        let needs = expr.metadata(&one_more).map(|b| b.bytes(one_more.frames));
        assert!(needs.is_some_and(|n| n + page * one_more.frames > bytes));
        case.must(|case| {
            let (drive, _) = case.run();
            let pages = page * u64::from(case.config.capacity);
            assert!(pages + metadata <= bytes && drive.most_metadata() <= metadata);
            Ok(())
        });
        let (drive, _) = case.run();
        if metadata > 0 {
            fullest = fullest.max(drive.most_metadata() as f64 / metadata as f64);
        }
        runs += 1;
    }
    assert!(runs > 12 || shape == "none", "{runs} runs");
    println!("{shape}: {fullest:.3} of what was set aside was used");
    assert!(fullest > 0.5 || shape == "none", "{shape}: {fullest:.3}");
}

macro_rules! suite {
    ($($name:ident: $shape:literal,)*) => {
        const SHAPES: &[&str] = &[$($shape),*];
        $(
            mod $name {
                suite!(@tests $shape: random_streams_keep_the_contract every_size_of_cache_works
                    short_traces_work a_trim_of_everything_empties_the_cache
                    a_flush_leaves_no_dirty_page equal_seeds_give_equal_runs
                    static_and_boxed_runs_are_equal metadata_fits_beside_the_pages);
            }
        )*
    };
    (@tests $shape:literal: $($check:ident)*) => {
        $(
            #[test]
            fn $check() {
                super::$check($shape);
            }
        )*
    };
}

suite! {
    none: "none",
    fifo: "fifo",
    lru: "lru",
    lfu: "lfu",
    clock: "clock",
    two_q: "2q",
    cflru: "cflru",
    arc: "arc",
    lirs: "lirs",
    belady: "belady",
    req_block: "req-block",
    bplru: "bplru",
    vbbms: "vbbms",
    ecr_eps: "ecr-eps",
    cflru_eps: "cflru-eps",
    ecr_lru: "ecr(lru)",
    ecr_lirs: "ecr(lirs)",
    gcar_lru: "gcar(lru)",
    gcar_cflru: "gcar(cflru)",
    gcar_arc: "gcar(arc)",
    gcar_clock: "gcar(clock)",
    ecr_2q: "ecr(2q)",
    prober_lru: "prober(lru)",
    prober_lirs: "prober(lirs)",
    prober_arc: "prober(arc)",
    prober_ecr_arc: "prober(ecr(arc))",
    procache_lru: "procache(lru)",
    refcount_lru: "refcount(lru)",
    multihash_lru: "multihash(lru)",
    refcount_prober_clock: "refcount(prober(clock))",
    eager_lru: "eager(lru)",
    eager_bplru: "eager(bplru)",
    procache_prober_arc: "procache(prober(arc))",
    awb_prober_lru: "awb(prober(lru))",
    awb_req_block: "awb(req-block)",
    cac_lru: "cac(lru)",
    cac_arc: "cac(arc)",
    cac_req_block: "cac(req-block)",
    cac_bplru: "cac(bplru)",
    awb_vbbms: "awb(vbbms)",
    cac_awb_prober_lirs: "cac(awb(prober(lirs)))",
}

#[test]
fn every_registered_scheme_and_static_composition_is_in_the_suite() {
    for shape in SHAPES {
        let expr = parse(shape);
        assert!(expr.unavailable().is_none(), "{shape} is in the suite but not built");
        assert_eq!(expr.shape(), *shape, "the suite names shapes");
    }
    for shape in STATIC {
        assert!(SHAPES.contains(shape), "the suite lacks {shape}");
    }
    for name in NAMES.iter().chain(&["belady"]) {
        let tested = SHAPES.iter().any(|shape| parse(shape).contains(name));
        assert!(tested, "the suite lacks a composition with {name}");
    }
}

#[test]
fn every_legal_composition_keeps_the_contract() {
    let mut rng = SplitMix64::new(23);
    let shapes = compositions();
    assert!(shapes.len() >= NAMES.len());
    for (i, shape) in shapes.iter().enumerate() {
        let expr = random(shape, &mut rng);
        let mut case = Case::random(&expr, 40_000 + i as u64, 200);
        for boxed in [false, true]
            .into_iter()
            .skip(usize::from(STATIC.is_empty()))
        {
            case.config.boxed = boxed;
            case.must(|case| {
                case.run();
                Ok(())
            });
        }
    }
    println!("{} compositions", shapes.len());
}

/// On a device with time: completions, waits, and background work where a layer does some.
#[test]
fn every_legal_composition_runs_on_a_device() {
    let mut rng = SplitMix64::new(29);
    for (i, shape) in compositions().iter().enumerate() {
        let background = shape.chain().any(|l| l.scheme().role == Role::Background);
        for round in 0..if background { 3 } else { 1 } {
            let expr = random(shape, &mut rng);
            let seed = 50_000 + 7 * i as u64 + round;
            let case = Case::random(&expr, seed, 200);
            let device = TestDevice {
                read: Nanos(rng.below(100_000)),
                program: Nanos(1 + rng.below(1_000_000)),
                dram: Nanos(rng.below(2000)),
            };
            case.must(|case| {
                case.run_timed(device);
                Ok(())
            });
        }
    }
}
