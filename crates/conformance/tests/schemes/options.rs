//! Every option of every scheme: that it is declared as specified, that the suites meet each of
//! its values, and that each value makes a difference somewhere.

use destage_conformance::drive::{Drive, TestDevice};
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::reference::{Profile, Row};
use destage_conformance::suites::{
    Case, contexts, is_full, on_all_processors, schemes, values, with,
};
use destage_conformance::timed::{TimedRun, device, timed_swarm};
use destage_scheme::info::{DefaultValue, Kind, ParamInfo};
use destage_scheme::registry::find;
use destage_scheme::{Expr, SchemeInfo};
use destage_types::Nanos;
use std::collections::BTreeMap;

/// Scheme, key, default and range of every parameter as the specification has them, which orders
/// schemes from 10 to 60 and then some of 70; words stand with the default first. A scheme without a
/// line is not specified.
const SPECIFIED: &str = "\
req-block | delta | 5 | integer, 1 or more
req-block | size-basis | current | current, original
req-block | access-unit | page | page, request
req-block | time-basis | request-time | request-time, page-seq, req-seq
req-block | split-access | one | one, per-page, inherit
req-block | split-insert-time | now | now, inherit
req-block | origin | root | root, direct, none
req-block | merge | first | first, all, neighbour
req-block | placement | stripe | stripe, single-block
prober | ssp | 128k | size above 0 with a unit (k, m, g, or p for pages)
prober | rip | 3000 | integer, 1 or more
prober | rip-cmp | ge | ge, gt
prober | asn-counts | writes | writes, all
prober | ldr | queue | queue, bypass
prober | ldr-evict | tail | tail, head
prober | ldr-read-hit | stay | stay, promote
prober | ldr-skip-partial | false | true or false
prober | cac-updates | classify | classify, exempt
awb | scope | ldr with prober inside, else ldr-then-base | ldr, ldr-then-base
awb | depth | 2 | integer, 1 or more
awb | partial | wait | wait, write
awb | after | remove | remove, keep-clean
awb | cancel-on | any | any, write
cac | ghosts | true | true or false
cac | drop-stale | true | true or false
cac | unmap-pre | false | true or false
ecr | xfer | included | included, excluded
ecr | residual | full | full, remaining
ecr | cqct | equation | equation, oracle
ecr | l-sp | 213.2us | time with a unit (ns, us, ms)
ecr | tie | oldest | oldest, lowest-index
ecr | page-latency | constant | constant, per-page
ecr | nfp | unprogrammed | unprogrammed, mapping
ecr | gc-state | page | page, block
ecr | gc-residual | remaining | remaining, whole
ecr | inner-capacity | share | share, total
ecr | node-bytes | 13 | integer, 0 or more
ecr-eps | xfer | included | included, excluded
ecr-eps | residual | full | full, remaining
ecr-eps | cqct | equation | equation, oracle
ecr-eps | l-sp | 213.2us | time with a unit (ns, us, ms)
ecr-eps | tie | oldest | oldest, lowest-index
ecr-eps | page-latency | constant | constant, per-page
ecr-eps | nfp | unprogrammed | unprogrammed, mapping
ecr-eps | gc-state | page | page, block
ecr-eps | gc-residual | remaining | remaining, whole
ecr-eps | node-bytes | 13 | integer, 0 or more
cflru-eps
procache | p | 0.1 | number in (0, 1]
procache | c | 8k | size above 0 with a unit (k, m, g, or p for pages)
procache | cmp | gt | gt, ge
procache | pv | none | list [a,b,...] of numbers in [0, 1]
procache | size-unit | 1k | size above 0 with a unit (k, m, g, or p for pages)
procache | hit-rule | all | all, any, page
procache | read-touch | true | true or false
procache | seed | 1 | integer, 0 or more
procache | p-schedule | constant | constant, occupancy
belady | bypass | true | true or false
belady | next-of | any | any, write, overwrite
refcount | threshold | 4 | integer, 0 to 255
refcount | decay-period | 5120 | integer, 1 or more, or a time (ns, us, ms)
refcount | unit | page | page, sector
refcount | hit-first | false | true or false
multihash | m | 4096 | integer, 1 or more
multihash | k | 2 | integer, 1 to 64
multihash | d | 4 | integer, 1 to 16
multihash | h | 2 | integer, 0 to 16
multihash | threshold | 2^(d-h) | integer, 0 to 65535
multihash | r | 0.2 | number in [0, 1)
multihash | decay-period | floor(m/(1-r)) | integer, 1 or more
none
fifo
lru
lfu
cflru | x | 3 | integer, 1 or more
gcar | protect | all | all, dirty
gcar | depth | inf | integer, 1 or more, or inf
bplru | block-pages | pages per block of the device, 64 without one | integer, 1 or more
bplru | padding | false | true or false
bplru | compensation | full | full, half, off
bplru | protect-current | false | true or false
bplru | read-touch | false | true or false
bplru | placement | single-block | single-block, stripe
vbbms | seq-min-pages | 4 | integer, 1 or more
vbbms | classify | size | size, contiguous, either
vbbms | migrate | false | true or false
arc | ghost-bytes | 8 | integer, 0 or more
lirs | hir | C/100, at least 2 | integer, 1 or more
lirs | variant | stack | stack, two-queue
lirs | max-nonres | 2C | integer, 0 or more, or inf
lirs | skip-repeat | false | true or false
2q | kin | C/4, at least 1 | integer, 1 or more
2q | kout | C/2, at least 1 | integer, 1 or more
clock
eager | w | C/8, at least 1 | integer, 1 or more
lcr | w | C/4, at least 1 | integer, 1 or more
lcr | xfer | included | included, excluded
lcr | residual | full | full, remaining
lcr | cqct | equation | equation, oracle
lcr | l-sp | 213.2us | time with a unit (ns, us, ms)
lcr | page-latency | constant | constant, per-page
lcr | nfp | unprogrammed | unprogrammed, mapping
lcr | gc-state | page | page, block
lcr | gc-residual | remaining | remaining, whole
co-active | hot-ratio | 0.5 | number in [0, 1]
co-active | wb-max | 1 | integer, 1 or more, or adaptive
ref | w | C/2, at least 1 | integer, 1 or more
ref | nvb | 7 | integer, 1 or more
ref | block-pages | pages per block of the device, 64 without one | integer, 1 or more
frd | filter | 0.1 | number in (0, 1)
w-tinylfu | window | 0.01 | number in (0, 1)
w-tinylfu | protected | 0.8 | number in [0, 1]
w-tinylfu | increment | minimal | minimal, plain
ad-lru | min-lc | 0.1 | number in [0, 1]
mbf | v | 4 | integer, 1 to 64
mbf | m | 2048 | integer, 1 to 16777216
mbf | k | 2 | integer, 1 to 64
mbf | decay-period | m/v | integer, 1 or more
mbf | threshold | 4 | number in (0, inf)
s3-fifo | small | 0.1 | number in (0, 1)
s3-fifo | move | 2 | integer, 1 to 3
s3-fifo | ghost | counted | counted, kept
mq | m | 8 | integer, 1 to 64
mq | lifetime | 8C, at least 1 | integer, 1 or more
mq | qout | 4C | integer, 0 or more
mq | ghost | counted | counted, kept
lru-2 | h | C | integer, 0 or more
lru-2 | crp | 0 | integer, 0 or more
";

#[test]
fn every_option_is_declared_as_specified() {
    let mut wanted: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for line in SPECIFIED.lines() {
        let (name, option) = line.split_once(" | ").unwrap_or((line, ""));
        wanted.entry(name).or_default().push(option.to_owned());
    }
    for (name, mut wanted) in wanted {
        let info = find(name).unwrap_or_else(|| panic!("no scheme is called {name}"));
        let text = |p: &ParamInfo| format!("{} | {} | {}", p.key, p.default.text(), p.range());
        let mut declared: Vec<String> = info.params().map(text).collect();
        if declared.is_empty() {
            declared.push(String::new());
        }
        // The order is that of the help, which groups what schemes share.
        declared.sort();
        wanted.sort();
        assert_eq!(declared, wanted, "{name}");
    }
}

/// Schemes under test with their parameters and the values that the suites try.
fn settings() -> impl Iterator<Item = (&'static SchemeInfo, &'static ParamInfo, String)> {
    let infos = schemes().into_iter().map(|expr| expr.scheme());
    infos.flat_map(|info| {
        let each = info.params();
        each.flat_map(move |param| values(param).into_iter().map(move |v| (info, param, v)))
    })
}

/// Settings with which small random runs meet what the defaults are too large for.
const SMALL: &[(&str, &str, &str)] = &[
    ("prober", "ssp", "1p"),
    ("prober", "rip", "5"),
    ("req-block", "delta", "1"),
    ("bplru", "block-pages", "4"),
    ("multihash", "m", "20"),
    ("mbf", "m", "20"),
    ("mbf", "threshold", "1"),
    ("mbf", "decay-period", "7"),
    ("twolevel", "n-cand", "3"),
    ("refcount", "decay-period", "7"),
    ("procache", "p", "0.5"),
    ("idle-clean", "period", "8"),
    ("drain", "high", "0.5"),
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
    let all = settings().count();
    // Of one scheme many may contradict: each `low` of `drain` above its small `high`.
    assert!(
        met * 10 >= all * 9 || schemes().len() == 1,
        "only {met} of {all} settings"
    );
}

/// The scheme alone or over LRU, and some other compositions.
#[test]
fn every_value_agrees_with_the_model() {
    let (mut rng, mut compared) = (SplitMix64::new(7), 0);
    for (i, (info, param, value)) in settings().enumerate() {
        let shapes = contexts(info);
        let more =
            (0..if is_full() { 3 } else { 1 }).map(|_| rng.below(shapes.len() as u64) as usize);
        for (j, shape) in std::iter::once(0).chain(more).enumerate() {
            let Some(expr) = setting(&shapes[shape], info, param, Some(&value)) else {
                continue;
            };
            let case = Case::random(&expr, 60_000 + 31 * i as u64 + j as u64, 250);
            // A scheme without any model is experimental; one with a model has all its values.
            let known = Case::random(&shapes[shape], 0, 0).has_model();
            assert_eq!(case.has_model(), known, "a slow model of {expr}");
            if known {
                case.must(Case::compare);
                compared += 1;
            }
        }
    }
    println!("{compared} runs");
    let all = settings().count();
    assert!(
        compared >= all || schemes().len() == 1,
        "only {compared} runs of {all} settings"
    );
}

/// The rows of a run, and its state at the end.
fn outcome((drive, rows): (Drive, Vec<Row>)) -> (Vec<Row>, String) {
    let sums = format!(
        "{} {:?} {:?}",
        drive.state(),
        drive.measures(),
        drive.counts()
    );
    (rows, sums)
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
    let pairs: Vec<_> = contexts(info).iter().filter_map(pair).collect();
    let any = |seeds: u64, differ: &dyn Fn(&Expr, &Expr, u64) -> bool| {
        (0..seeds).any(|seed| {
            pairs
                .iter()
                .any(|(plain, expr)| differ(plain, expr, 900 + seed))
        })
    };
    any(4, &|plain, expr, seed| differs(plain, expr, seed, false))
        || any(4, &|plain, expr, seed| differs(plain, expr, seed, true))
        || any(8, &differs_on_a_device)
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
    (
        "units=false",
        "a program takes one page here; the suite of drives has larger units",
    ),
];

/// Values of the option that change nothing anywhere, of those that must.
fn dead_values(info: &SchemeInfo, param: &ParamInfo) -> Vec<String> {
    let (mut tried, mut alive, mut dead) = (0, 0, Vec::new());
    // A default that depends on other layers leaves no other value to some of them.
    let word = matches!(param.kind, Kind::Word(_) | Kind::Bool)
        && !matches!(param.default, DefaultValue::Inside { .. });
    let mut values = values(param);
    if !word {
        values.reverse(); // the smallest is often what the default comes to in a small cache
    }
    for value in values {
        let setting = format!("{}={value}", param.key);
        let excused = WITHOUT_EFFECT.iter().any(|(text, _)| *text == setting);
        if excused || value == param.default.text() {
            continue;
        }
        tried += 1;
        if alive > 0 && !word {
            break;
        }
        match matters(info, param, &value) {
            true => alive += 1,
            false if word => dead.push(format!("{}({setting})", info.name)),
            false => {}
        }
    }
    if tried > 0 && alive == 0 {
        dead.push(format!("{}({})", info.name, param.key));
    }
    dead
}

/// An option that changes nothing anywhere is not implemented. All at once only in `cargo xtask full`.
#[test]
fn every_option_value_makes_a_difference() {
    let schemes: Vec<Expr> = schemes();
    if schemes.len() > 10 && !is_full() {
        println!("SKIPPED: only in cargo xtask full, or with DESTAGE_SCHEME");
        return;
    }
    let options = schemes.iter().map(Expr::scheme);
    let options = options.flat_map(|info| info.params().map(move |param| (info, param)));
    let options: Vec<(&SchemeInfo, &ParamInfo)> = options.collect();
    let dead = on_all_processors(&options, |(info, param)| dead_values(info, param));
    assert_eq!(dead.concat(), [""; 0], "no effect seen");
}
