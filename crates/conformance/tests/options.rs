//! Every option of every scheme: that it is declared as specified, that the suites meet each of
//! its values, and that each value makes a difference somewhere.

use destage_conformance::drive::{Drive, TestDevice, is_built};
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::reference::{Profile, Row};
use destage_conformance::suites::{Case, contexts, values, with};
use destage_conformance::timed::{TimedRun, device, timed_swarm};
use destage_scheme::registry::{SCHEMES, find};
use destage_scheme::info::{DefaultValue, Kind, ParamInfo};
use destage_scheme::{Expr, SchemeInfo};
use destage_types::Nanos;

const COUNT: &str = "integer, 1 or more";
const COUNT_0: &str = "integer, 0 or more";
const FLAG: &str = "true or false";
const SIZE: &str = "size above 0 with a unit (k, m, g, or p for pages)";
const TIME: &str = "time with a unit (ns, us, ms)";
const BLOCK: (&str, &str, &str) = (
    "block-pages",
    "pages per block of the device, 64 without one",
    COUNT,
);

/// Key, default and range of every parameter, written down apart from the declarations.
type Options = &'static [(&'static str, &'static str, &'static str)];

/// Scheme by scheme; words stand with the default first.
const SPECIFIED: &[(&str, Options)] = &[
    (
        "req-block",
        &[
            ("delta", "5", COUNT),
            ("size-basis", "current", "current, original"),
            ("access-unit", "page", "page, request"),
            (
                "time-basis",
                "request-time",
                "request-time, page-seq, req-seq",
            ),
            ("split-access", "one", "one, per-page, inherit"),
            ("split-insert-time", "now", "now, inherit"),
            ("origin", "root", "root, direct, none"),
            ("merge", "first", "first, all, neighbour"),
            ("placement", "stripe", "stripe, single-block"),
        ],
    ),
    (
        "prober",
        &[
            ("ssp", "128k", SIZE),
            ("rip", "3000", COUNT),
            ("rip-cmp", "ge", "ge, gt"),
            ("asn-counts", "writes", "writes, all"),
            ("ldr", "queue", "queue, bypass"),
            ("ldr-evict", "tail", "tail, head"),
            ("ldr-read-hit", "stay", "stay, promote"),
            ("ldr-skip-partial", "false", FLAG),
            ("cac-updates", "classify", "classify, exempt"),
        ],
    ),
    (
        "awb",
        &[
            (
                "scope",
                "ldr with prober inside, else ldr-then-base",
                "ldr, ldr-then-base",
            ),
            ("depth", "2", COUNT),
            ("partial", "wait", "wait, write"),
            ("after", "remove", "remove, keep-clean"),
            ("cancel-on", "any", "any, write"),
        ],
    ),
    (
        "cac",
        &[
            ("ghosts", "true", FLAG),
            ("drop-stale", "true", FLAG),
            ("unmap-pre", "false", FLAG),
        ],
    ),
    (
        "ecr",
        &[
            ("xfer", "included", "included, excluded"),
            ("residual", "full", "full, remaining"),
            ("cqct", "equation", "equation, oracle"),
            ("l-sp", "213.2us", TIME),
            ("tie", "oldest", "oldest, lowest-index"),
            ("page-latency", "constant", "constant, per-page"),
            ("nfp", "unprogrammed", "unprogrammed, mapping"),
            ("inner-capacity", "total", "total, share"),
            ("node-bytes", "13", COUNT_0),
        ],
    ),
    (
        "ecr-eps",
        &[
            ("xfer", "included", "included, excluded"),
            ("residual", "full", "full, remaining"),
            ("cqct", "equation", "equation, oracle"),
            ("l-sp", "213.2us", TIME),
            ("tie", "oldest", "oldest, lowest-index"),
            ("page-latency", "constant", "constant, per-page"),
            ("nfp", "unprogrammed", "unprogrammed, mapping"),
            ("node-bytes", "13", COUNT_0),
        ],
    ),
    ("cflru-eps", &[]),
    (
        "procache",
        &[
            ("p", "0.1", "number in (0, 1]"),
            ("c", "8k", SIZE),
            ("cmp", "gt", "gt, ge"),
            ("pv", "none", "list [a,b,...] of numbers in [0, 1]"),
            ("size-unit", "1k", SIZE),
            ("hit-rule", "all", "all, any, page"),
            ("read-touch", "true", FLAG),
            ("seed", "1", COUNT_0),
            ("p-schedule", "constant", "constant, occupancy"),
        ],
    ),
    (
        "belady",
        &[("bypass", "true", FLAG), ("next-of", "any", "any, write")],
    ),
    (
        "refcount",
        &[
            ("threshold", "4", "integer, 0 to 255"),
            (
                "decay-period",
                "5120",
                "integer, 1 or more, or a time (ns, us, ms)",
            ),
            ("unit", "page", "page, sector"),
            ("hit-first", "false", FLAG),
        ],
    ),
    (
        "multihash",
        &[
            ("m", "4096", COUNT),
            ("k", "2", "integer, 1 to 64"),
            ("d", "4", "integer, 1 to 16"),
            ("h", "2", "integer, 0 to 16"),
            ("threshold", "2^(d-h)", "integer, 0 to 65535"),
            ("r", "0.2", "number in [0, 1)"),
            ("decay-period", "floor(m/(1-r))", COUNT),
        ],
    ),
    ("none", &[]),
    ("fifo", &[]),
    ("lru", &[]),
    ("lfu", &[]),
    ("cflru", &[("x", "3", COUNT)]),
    (
        "gcar",
        &[
            ("protect", "all", "all, dirty"),
            ("depth", "inf", "integer, 1 or more, or inf"),
        ],
    ),
    (
        "bplru",
        &[
            BLOCK,
            ("padding", "false", FLAG),
            ("compensation", "full", "full, half, off"),
            ("protect-current", "false", FLAG),
            ("read-touch", "false", FLAG),
            ("placement", "single-block", "single-block, stripe"),
        ],
    ),
    (
        "vbbms",
        &[
            ("seq-min-pages", "4", COUNT),
            ("classify", "size", "size, contiguous, either"),
            ("migrate", "false", FLAG),
        ],
    ),
    ("arc", &[("ghost-bytes", "8", COUNT_0)]),
    (
        "lirs",
        &[
            ("hir", "C/100, at least 2", COUNT),
            ("variant", "stack", "stack, two-queue"),
            ("max-nonres", "2C", "integer, 0 or more, or inf"),
            ("skip-repeat", "false", FLAG),
        ],
    ),
    (
        "2q",
        &[
            ("kin", "C/4, at least 1", COUNT),
            ("kout", "C/2, at least 1", COUNT),
        ],
    ),
    ("clock", &[]),
    ("eager", &[("w", "C/8, at least 1", COUNT)]),
];

#[test]
fn every_option_is_declared_as_specified() {
    for (name, options) in SPECIFIED {
        let info = find(name).unwrap_or_else(|| panic!("no scheme is called {name}"));
        let text = |p: &ParamInfo| (p.key.to_owned(), p.default.text(), p.range());
        let declared: Vec<_> = info.params().iter().map(text).collect();
        let owned = |o: &(&str, &str, &str)| (o.0.to_owned(), o.1.to_owned(), o.2.to_owned());
        let wanted: Vec<_> = options.iter().map(owned).collect();
        assert_eq!(declared, wanted, "{name}");
    }
    for info in SCHEMES.iter().filter(|info| info.available) {
        let known = SPECIFIED.iter().any(|(name, _)| *name == info.name);
        assert!(known, "{} is available, but not in the table", info.name);
    }
}

/// Built schemes with their parameters and the values that the suites try.
fn settings() -> impl Iterator<Item = (&'static SchemeInfo, &'static ParamInfo, String)> {
    let built = SCHEMES.iter().filter(|info| {
        let expr = Expr::parse(info.name).expect("a name is an expression");
        expr.unavailable().is_none()
    });
    built.flat_map(|info| {
        let each = info.params().iter();
        each.flat_map(move |param| values(param).into_iter().map(move |v| (*info, param, v)))
    })
}

/// Settings with which small random runs meet what the defaults are too large for.
const SMALL: &[(&str, &str, &str)] = &[
    ("prober", "ssp", "1p"),
    ("prober", "rip", "5"),
    ("req-block", "delta", "1"),
    ("bplru", "block-pages", "4"),
    ("multihash", "m", "20"),
    ("refcount", "decay-period", "7"),
    ("procache", "p", "0.5"),
];

/// The composition with small settings and `param` of `info`, one of its layers, set to `value`.
fn setting(
    shape: &Expr,
    info: &SchemeInfo,
    param: &ParamInfo,
    value: Option<&str>,
) -> Option<Expr> {
    with(shape, |layer| {
        let own = |key: &str| layer.name == info.name && key == param.key;
        let small = SMALL.iter().filter(|s| s.0 == layer.name && !own(s.1));
        // Only small blocks count hits, and at delta=1 there is one hit a request.
        let number = |s: &(&str, &'static str, &'static str)| match param.key {
            "access-unit" => "3",
            _ => s.2,
        };
        let small = small.map(|s| format!("{}={}", s.1, number(s)));
        let mut items: Vec<String> = small.collect();
        if layer.name == info.name {
            items.extend(value.map(|value| format!("{}={value}", param.key)));
            // The unit of size classes needs a chance for each of them.
            if param.key == "size-unit" {
                items.push("pv=[0.9,0.1]".to_owned());
            }
        }
        items
    })
}

#[test]
fn the_suites_meet_every_value_in_a_legal_expression() {
    let mut met = 0;
    for (info, param, value) in settings() {
        let shapes = contexts(info);
        let legal = shapes
            .iter()
            .any(|s| setting(s, info, param, Some(&value)).is_some());
        // Numbers at the end of a range may contradict other parameters; words never do.
        let word = matches!(param.kind, Kind::Word(_) | Kind::Bool);
        assert!(
            legal || !word,
            "{}({}={value}) is never tried",
            info.name,
            param.key
        );
        met += usize::from(legal);
    }
    assert!(met > 200, "only {met} settings");
}

/// The scheme alone or over LRU, and some other compositions.
#[test]
fn every_value_agrees_with_the_model() {
    let (mut rng, mut compared) = (SplitMix64::new(7), 0);
    for (i, (info, param, value)) in settings().enumerate() {
        let shapes = contexts(info);
        let more = (0..3).map(|_| rng.below(shapes.len() as u64) as usize);
        for (j, shape) in std::iter::once(0).chain(more).enumerate() {
            let Some(expr) = setting(&shapes[shape], info, param, Some(&value)) else {
                continue;
            };
            let case = Case::random(&expr, 60_000 + 31 * i as u64 + j as u64, 250);
            assert!(case.has_model(), "no slow model of {expr}");
            case.must(Case::compare);
            compared += 1;
        }
    }
    println!("{compared} runs");
    assert!(compared > 600, "only {compared} runs");
}

/// What can be seen of a run, the state strings too.
fn outcome((drive, rows): (Drive, Vec<Row>)) -> String {
    format!("{rows:?} {:?} {:?}", drive.measures(), drive.counts())
}

/// Two legal runs that differ in the setting alone.
fn differs(shape: &Expr, expr: &Expr, seed: u64, timed: bool) -> bool {
    let case = Case::random(expr, seed, 300);
    let plain = Case {
        expr: shape.clone(),
        ..case.clone()
    };
    if case.config.check(shape).is_err() {
        return false;
    }
    let device = TestDevice {
        read: Nanos(20_000),
        program: Nanos(200_000 * (1 + seed % 7)),
        dram: Nanos(1000),
    };
    let run = |case: &Case| match timed {
        true => outcome(case.run_timed(device)),
        false => outcome(case.run()),
    };
    run(&case) != run(&plain)
}

/// The same on a device with planes and transfers.
fn differs_on_a_device(shape: &Expr, expr: &Expr, seed: u64) -> bool {
    let device = device(&[
        "channels=2",
        "chips_per_channel=2",
        "dies_per_chip=1",
        "planes_per_die=2",
        "blocks_per_plane=64",
        "pages_per_block=16",
    ]);
    let profile = Profile::new(300, device.geometry.page.sectors()).whole_pages();
    let requests = timed_swarm(seed, profile, 100_000);
    let run = |expr: &Expr| TimedRun::new(&expr.to_string(), 40, device.clone()).real(&requests);
    run(expr) != run(shape)
}

fn matters(info: &SchemeInfo, param: &ParamInfo, value: &str) -> bool {
    let pair = |shape: &Expr| {
        let expr = setting(shape, info, param, Some(value))?;
        Some((setting(shape, info, param, None)?, expr))
    };
    let mut pairs: Vec<_> = contexts(info).iter().filter_map(pair).collect();
    pairs.truncate(20);
    let any = |seeds: u64, differ: &dyn Fn(&Expr, &Expr, u64) -> bool| {
        (0..seeds).any(|seed| {
            pairs
                .iter()
                .any(|(plain, expr)| differ(plain, expr, 900 + seed))
        })
    };
    any(4, &|plain, expr, seed| differs(plain, expr, seed, false))
        || any(4, &|plain, expr, seed| differs(plain, expr, seed, true))
        || any(2, &differs_on_a_device)
        || any(400, &|plain, expr, seed| {
            differs(plain, expr, 77 + seed, false)
        })
}

/// Values whose effect no run can show, and why.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    (
        "page-latency=per-page",
        "the pages of a chip differ in no device file; shown by unit tests of `cqct`",
    ),
    (
        "split-access=inherit",
        "only blocks that are too large to count are divided, so their count is 1",
    ),
];

/// An option that changes nothing anywhere is not implemented.
#[test]
fn every_option_value_makes_a_difference() {
    let mut dead = Vec::new();
    for info in SCHEMES {
        for param in info.params() {
            let (mut tried, mut alive) = (0, 0);
            for (_, _, value) in settings().filter(|s| *s.0 == **info && *s.1 == *param) {
                let setting = format!("{}={value}", param.key);
                let excused = WITHOUT_EFFECT.iter().any(|(text, _)| *text == setting);
                if excused || value == param.default.text() {
                    continue;
                }
                tried += 1;
                // A default that depends on other layers leaves no other value to some of them.
                let word = matches!(param.kind, Kind::Word(_) | Kind::Bool)
                    && !matches!(param.default, DefaultValue::Inside { .. });
                if alive > 0 && !word {
                    break;
                }
                match matters(info, param, &value) {
                    true => alive += 1,
                    false if word => dead.push(format!("{}({}={value})", info.name, param.key)),
                    false => {}
                }
            }
            if tried > 0 && alive == 0 {
                dead.push(format!("{}({})", info.name, param.key));
            }
        }
    }
    assert!(dead.is_empty(), "no effect seen of {dead:?}");
}
