//! Laws between schemes, and between runs of one scheme, on random streams.
//!
//! Two runs are equal if every request does the same: hits, victims, discards, programs, reads.

use destage_conformance::drive::{Config, TestDevice};
use destage_conformance::reference::{Profile, Row, SlowRequest, swarm};
use destage_conformance::suites::{Case, is_full, is_selected, least_capacity, selected, small};
use destage_scheme::Expr;
use destage_scheme::info::{Role, SchemeInfo};
use destage_types::{Nanos, Op, RequestFlags, StaticLayout};
use std::collections::BTreeSet;

fn parse(text: &str) -> Expr {
    Expr::parse(text).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// A case on idle chips.
fn case(expr: &Expr, config: &Config, requests: &[SlowRequest]) -> Case {
    Case {
        expr: expr.clone(),
        config: config.clone(),
        chips_seed: 0,
        requests: requests.to_vec(),
    }
}

fn equal(a: &[Row], b: &[Row]) -> Result<(), String> {
    let plain = |row: &Row| Row {
        result: String::new(),
        evicted: String::new(),
        ..row.clone()
    };
    let mut pairs = a.iter().zip(b).enumerate();
    match pairs.find(|(_, (a, b))| plain(a) != plain(b)) {
        Some((i, (a, b))) => Err(format!("request {i}:\n  {a:?}\n  {b:?}")),
        None => Ok(()),
    }
}

/// `a` and `b` do the same for every request.
fn same(a: &str, b: &str, config: &Config, requests: &[SlowRequest]) {
    let (a, b) = (parse(a), parse(b));
    if !(is_selected(&a) || is_selected(&b)) {
        return;
    }
    let mut config = config.clone();
    let least = |e: &Expr| least_capacity(e, &config);
    config.capacity = config.capacity.max(least(&a)).max(least(&b));
    case(&a, &config, requests).must(|first| {
        let second = case(&b, &config, &first.requests);
        equal(&first.run().1, &second.run().1).map_err(|text| format!("not as {b}: {text}"))
    });
}

/// Policies of `role` that are built and list their next victims, as expressions.
fn ordered(role: Role) -> Vec<String> {
    let listing = |info: &SchemeInfo| info.role == role && info.order.is_some();
    let all = selected();
    let policies = all.iter().filter(|e| e.inner().is_none());
    let found = policies.filter(|e| listing(e.scheme()));
    found.map(Expr::to_string).collect()
}

/// Runs `law` on streams and configurations of all kinds; four idle chips, either allocation.
fn on_streams(count: u64, law: impl Fn(&Config, &[SlowRequest])) {
    on_streams_of(count, |p| p, law);
}

/// The same on streams of another profile.
fn on_streams_of(
    count: u64,
    profile: impl Fn(Profile) -> Profile,
    law: impl Fn(&Config, &[SlowRequest]),
) {
    for seed in 0..count {
        let spp = [8, 8, 4, 32][seed as usize % 4];
        let pages = [24, 64, 200][seed as usize % 3];
        let requests = swarm(
            seed,
            profile(Profile::new(300, spp).pages(pages).with_forced()),
        );
        let config = Config {
            layout: StaticLayout::flat(2, 4),
            ..Config::new(3 + seed as u32 * 5 % 29, spp)
        };
        law(&config, &requests);
    }
}

/// Compositions of one and two layers, and a fourth of the deeper ones: another one for the next
/// capacity, so that a few streams meet all of them.
fn some_of(config: &Config) -> Vec<Expr> {
    let turn = config.capacity as usize % 4;
    let all = selected().into_iter().enumerate();
    let some = all.filter(|(i, expr)| expr.chain().count() < 3 || i % 4 == turn);
    some.map(|(_, expr)| small(&expr)).collect()
}

fn alloc(config: &Config, on: bool) -> Config {
    Config {
        read_alloc: Some(on),
        ..config.clone()
    }
}

#[test]
fn a_chip_aware_layer_on_idle_chips_is_its_base() {
    on_streams(12, |config, requests| {
        for on in [true, false] {
            for policy in ordered(Role::PagePolicy) {
                let config = alloc(config, on);
                same(&format!("gcar({policy})"), &policy, &config, requests);
                let by_chip = format!("ecr({policy})");
                if Expr::parse(&by_chip).is_ok() {
                    same(&format!("gcar({by_chip})"), &by_chip, &config, requests);
                }
            }
            same("ecr-eps", "lru", &alloc(config, on), requests);
            same("lcr", "lru", &alloc(config, on), requests);
        }
        for policy in ordered(Role::GroupPolicy) {
            let config = alloc(config, false);
            same(&format!("gcar({policy})"), &policy, &config, requests);
        }
    });
}

#[test]
fn ecr_on_idle_chips_is_clean_first_lru() {
    on_streams(24, |config, requests| {
        for on in [true, false] {
            same("ecr(lru)", "cflru-eps", &alloc(config, on), requests);
            same("cflru(x=1)", "cflru-eps", &alloc(config, on), requests);
        }
    });
}

/// Writes only: no page is ever clean.
fn writes(requests: &[SlowRequest]) -> Vec<SlowRequest> {
    let writes = requests.iter().filter(|r| r.op == Op::Write);
    writes.cloned().collect()
}

#[test]
fn clean_first_is_its_base_where_no_page_is_clean() {
    on_streams(16, |config, requests| {
        let mut requests = requests.to_vec();
        requests.retain(|r| matches!(r.op, Op::Write | Op::Trim));
        requests
            .iter_mut()
            .for_each(|r| r.flags = RequestFlags::NONE);
        for scheme in ["ecr(lru)", "cflru-eps", "cflru", "cflru(x=1)", "cflru(x=6)"] {
            same(scheme, "lru", &alloc(config, false), &requests);
        }
        for policy in ordered(Role::GroupPolicy) {
            let config = alloc(config, false);
            same(&format!("ecr({policy})"), &policy, &config, &requests);
            let both = format!("gcar(ecr({policy}))");
            same(&both, &policy, &config, &requests);
        }
    });
}

/// Compositions whose outermost layer is one of those meant are what is inside it, where `outer` makes of
/// both the composition in which the layer does nothing.
fn are_their_base(
    config: &Config,
    requests: &[SlowRequest],
    is: impl Fn(&SchemeInfo) -> bool,
    outer: impl Fn(&Expr, &str) -> String,
) {
    for shape in some_of(config).iter().filter(|e| is(e.scheme())) {
        let inner = shape.inner().expect("a wrapper wraps").to_string();
        same(&outer(shape, &inner), &inner, config, requests);
    }
}

#[test]
fn background_layers_do_nothing_without_a_device() {
    on_streams(8, |config, requests| {
        let is = |info: &SchemeInfo| info.role == Role::Background;
        are_their_base(config, requests, is, |shape, _| shape.to_string());
    });
}

#[test]
fn a_filter_that_admits_everything_is_its_base() {
    on_streams(8, |config, requests| {
        let is = |info: &SchemeInfo| info.name == "procache";
        let open = |_: &Expr, inner: &str| format!("procache({inner},p=1,c=1g,hit-rule=page)");
        are_their_base(&alloc(config, false), requests, is, open);
    });
}

#[test]
fn a_mapping_layer_without_pairs_is_its_base() {
    for seed in 0..6 {
        let requests = swarm(seed, Profile::new(300, 8).pages(64).with_forced());
        let config = Config::new(5 + seed as u32 * 7, 8);
        let is = |info: &SchemeInfo| info.name == "cac";
        are_their_base(&config, &requests, is, |shape, _| shape.to_string());
    }
}

#[test]
fn a_classifier_that_finds_nothing_is_its_base() {
    on_streams(12, |config, requests| {
        let is = |info: &SchemeInfo| info.name == "prober";
        let blind = |_: &Expr, inner: &str| format!("prober({inner},ssp=1g)");
        are_their_base(&alloc(config, false), requests, is, blind);
    });
}

fn hits(rows: &[Row]) -> usize {
    rows.iter().flat_map(|r| &r.hits).filter(|&&h| h).count()
}

/// Nobody beats the offline optimum on TRIM-free streams that are write-only, or of whole pages
/// with read allocation.
#[test]
fn belady_is_never_beaten() {
    let (belady, streams) = (parse("belady"), if is_full() { 6 } else { 3 });
    on_streams_of(streams, Profile::data_only, |config, requests| {
        never_beaten(&belady, &alloc(config, false), &writes(requests));
    });
    on_streams_of(
        streams,
        |p| p.data_only().whole_pages(),
        |config, requests| {
            never_beaten(&belady, &alloc(config, true), requests);
        },
    );
}

fn never_beaten(belady: &Expr, config: &Config, requests: &[SlowRequest]) {
    let optimum = hits(&case(belady, config, requests).run().1);
    let mut online = some_of(config);
    online.retain(|e| e.scheme().role < Role::Offline && !e.contains("cac"));
    online.push(parse("belady(bypass=false)"));
    for expr in &online {
        if config.check(expr).is_err() {
            continue; // too small for the scheme, or no read allocation
        }
        let got = hits(&case(expr, config, requests).run().1);
        assert!(
            got <= optimum,
            "{expr}: {got} hits, belady {optimum}: {config:?}"
        );
    }
}

#[test]
fn lru_hits_stay_hits_in_a_larger_cache() {
    on_streams_of(16, Profile::whole_pages, |config, requests| {
        for scheme in ["lru", "ecr-eps"].map(parse) {
            let mut before: Option<Vec<Row>> = None;
            for capacity in [1, 2, 3, 5, 8, 13, 21, 34] {
                let config = Config {
                    capacity,
                    ..alloc(config, true)
                };
                let rows = case(&scheme, &config, requests).run().1;
                let pairs = before.iter().flatten().zip(&rows);
                for (small, large) in pairs {
                    let kept = small.hits.iter().zip(&large.hits).all(|(s, l)| !s || *l);
                    assert!(
                        kept,
                        "{scheme}, {capacity} pages:\n  {small:?}\n  {large:?}"
                    );
                }
                before = Some(rows);
            }
        }
    });
}

/// Pages that have a copy in a cache without limit: accessed (or written) and not trimmed since.
fn compulsory(requests: &[SlowRequest], spp: u32, reads_enter: bool) -> Vec<Vec<bool>> {
    let mut held = BTreeSet::new();
    let rows = requests.iter().map(|request| {
        let mut row = Vec::new();
        for access in request.accesses(spp) {
            match request.op {
                Op::Trim => {
                    held.remove(&access.lpn);
                }
                Op::Read if !reads_enter => row.push(held.contains(&access.lpn)),
                _ => row.push(!held.insert(access.lpn)),
            }
        }
        row
    });
    rows.collect()
}

#[test]
fn a_cache_without_limit_has_only_compulsory_misses() {
    let admits_all = |e: &&Expr| {
        let filters = e.chain().any(|l| l.scheme().role == Role::Admission);
        !filters && e.scheme().role != Role::None
    };
    on_streams_of(4, Profile::whole_pages, |config, requests| {
        for expr in some_of(config).iter().filter(admits_all) {
            let config = Config {
                capacity: 1000,
                ..config.clone()
            };
            if config.check(expr).is_err() {
                continue; // cac on other than 4 KiB pages
            }
            let spp = config.page.sectors();
            case(expr, &config, requests).must(|case| {
                let enters = case.config.resolved_read_alloc(&case.expr);
                let wanted = compulsory(&case.requests, spp, enters);
                let (drive, rows) = case.run();
                assert_eq!(drive.counts().evictions, 0, "evictions");
                let got: Vec<_> = rows.into_iter().map(|r| r.hits).collect();
                assert_eq!(got, wanted);
                Ok(())
            });
        }
    });
}

#[test]
fn reads_alone_never_enter_a_write_buffer() {
    on_streams(4, |config, requests| {
        let mut requests = requests.to_vec();
        requests.retain(|r| r.op != Op::Write);
        for expr in some_of(config) {
            let mut config = alloc(config, false);
            if config.page.sectors() != 8 && expr.contains("cac") {
                continue;
            }
            config.capacity = config.capacity.max(least_capacity(&expr, &config));
            let (drive, rows) = case(&expr, &config, &requests).run();
            assert_eq!((drive.occupancy().0, hits(&rows)), (0, 0), "{expr}");
            assert!(rows.iter().all(|r| r.programs.is_empty()), "{expr}");
        }
    });
}

/// All pages at another place: a multiple of every unit in which schemes and chips count.
#[test]
fn moving_all_addresses_changes_nothing() {
    let far = 3 * (1 << 14) * 4;
    // Counters that are found by hashing an address are others at another address.
    let mut exprs: Vec<Expr> = selected().iter().map(small).collect();
    exprs.retain(|expr| !expr.chain().any(|layer| layer.scheme().hashes));
    for (i, expr) in exprs.iter().enumerate() {
        let here = Case::random(expr, 7_000 + i as u64, 200);
        here.must(|here| {
            let mut there = here.clone();
            let shift = far * u64::from(here.config.page.sectors());
            for request in &mut there.requests {
                request.extents.iter_mut().for_each(|e| e.0 += shift);
                request.prev.iter_mut().flatten().for_each(|p| *p += shift);
            }
            let moved = |pages: &mut Vec<u64>| pages.iter_mut().for_each(|p| *p -= far);
            let mut rows = there.run().1;
            for row in &mut rows {
                for unit in &mut row.evictions {
                    moved(&mut unit.flush);
                    moved(&mut unit.drop);
                }
                row.remaps
                    .iter_mut()
                    .for_each(|r| *r = (r.0 - far, r.1 - far));
                moved(&mut row.discards);
                moved(&mut row.programs);
                moved(&mut row.reads);
            }
            equal(&here.run().1, &rows)
        });
    }
}

/// Without a device only the order of times matters, and their ratios.
#[test]
fn slower_clocks_change_nothing_without_a_device() {
    for (i, expr) in selected().iter().map(small).enumerate() {
        let fast = Case::random(&expr, 9_000 + i as u64, 200);
        fast.must(|fast| {
            let mut slow = fast.clone();
            slow.requests.iter_mut().for_each(|r| r.arrival *= 1000);
            equal(&fast.run().1, &slow.run().1)
        });
    }
}

fn response_times(case: &Case, device: TestDevice) -> Vec<u64> {
    let mut drive = Config {
        device: Some(device),
        ..case.config.clone()
    }
    .drive(&case.expr, &case.requests);
    case.requests.iter().for_each(|r| {
        drive.step(r);
    });
    let mut done = drive.settle().completions;
    done.sort_by_key(|c| c.index);
    done.iter().map(|c| (c.complete - c.arrival).0).collect()
}

#[test]
fn times_k_times_as_long_give_latencies_k_times_as_long() {
    let device = |k: u64| TestDevice {
        read: Nanos(25_000 * k),
        program: Nanos(200_000 * k),
        dram: Nanos(1_000 * k),
    };
    on_streams(6, |config, requests| {
        for text in [
            "none",
            "lru",
            "ecr(lru,cqct=oracle)",
            "awb(prober(lru,ssp=1p,rip=20))",
        ] {
            let expr = parse(text);
            let once = case(&expr, config, requests);
            let mut longer = once.clone();
            longer.requests.iter_mut().for_each(|r| r.arrival *= 7);
            let wanted: Vec<u64> = response_times(&once, device(1))
                .iter()
                .map(|t| t * 7)
                .collect();
            assert_eq!(response_times(&longer, device(7)), wanted, "{text}");
        }
    });
}

/// Other chip numbers: single pages, so that no order of addresses inside a request matters.
#[test]
fn permuting_the_chips_changes_no_latency() {
    let device = TestDevice {
        read: Nanos(25_000),
        program: Nanos(200_000),
        dram: Nanos(1_000),
    };
    on_streams_of(
        6,
        |p| p.data_only(),
        |config, requests| {
            let spp = config.page.sectors();
            let single = |r: &SlowRequest| {
                let (start, page) = (r.extents[0].0, u64::from(spp));
                SlowRequest::pages(r.op, spp, start / page, start / page).at(r.arrival)
            };
            let requests: Vec<SlowRequest> = requests.iter().map(single).collect();
            let permuted = requests.iter().map(|r| {
                let mut r = r.clone();
                let lpn = r.extents[0].0 / u64::from(spp);
                r.extents[0].0 = (lpn / 4 * 4 + [2, 0, 3, 1][lpn as usize % 4]) * u64::from(spp);
                r
            });
            let permuted: Vec<SlowRequest> = permuted.collect();
            for text in [
                "lru",
                "fifo",
                "ecr(lru,cqct=oracle)",
                "ecr-eps(cqct=oracle)",
            ] {
                let expr = parse(text);
                let one = response_times(&case(&expr, config, &requests), device);
                let two = response_times(&case(&expr, config, &permuted), device);
                assert_eq!(one, two, "{text}");
            }
        },
    );
}
