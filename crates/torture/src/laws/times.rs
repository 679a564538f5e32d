//! Laws of time: without latencies a device counts what a cache counts, and all times scale together.

use super::Law;
use crate::case::Case;
use crate::compare::{count, equal, near, want};
use crate::device::legal;
use crate::lab::{Fault, Lab, Verdict};
use crate::requests;
use destage_device::config::{ValueType, keys};
use destage_scheme::info::Kind;
use destage_types::Op;
use serde_json::Value;

pub const NO_LATENCIES: Law = Law {
    name: "no-latencies",
    promise: "a device on which nothing takes time counts what the cache alone counts",
    adapt: |case, _| {
        case.no_device();
        case.without(&["--host-fs", "--closed-loop"]);
        // Nothing is idle without a device, and a page that was trimmed is not read from flash.
        if case.expr().has_background() {
            case.scheme = "ecr".to_owned();
        }
        case.requests.retain(|r| r.host.op != Op::Trim);
        case.scheme = case.scheme.replace("unmap-pre=true", "unmap-pre=false");
        requests::from_zero(&mut case.requests);
    },
    check: no_latencies,
};

/// One die, or several where that changes nothing: `ecr` has an instance of its base per chip, and
/// only those of LRU are together the same as one; parameters may tell chips apart (`tie`), and a page
/// that `cac` renames comes to another chip as one that was accessed.
fn dies(case: &Case) -> u64 {
    let expr = case.expr();
    let by_chip = expr.contains("ecr") && expr.policy().scheme().name != "lru";
    let aware = expr.chain().any(|layer| layer.scheme().chip_aware);
    if by_chip || aware && (case.scheme.contains('=') || expr.contains("cac")) {
        1
    } else {
        1 + case.seed % 4
    }
}

fn no_latencies(lab: &Lab, case: &Case) -> Verdict {
    let alone = lab.record(case, "trace.csv")?;
    let mut timed = case.clone();
    let dies = dies(case);
    // The trace and the cache have room.
    let pages = (requests::end(&case.requests) * 512 / case.page + 1).max(case.frames);
    let blocks = (pages * 2).div_ceil(dies * 64) + 8;
    let mut sets: Vec<String> = [
        "channels=1",
        "chips_per_channel=1",
        "planes_per_die=1",
        // As many as schemes assume without a device.
        "pages_per_block=64",
        "op=0.4",
        "precondition.trace=false",
        "precondition.fill=1",
    ]
    .map(str::to_owned)
    .to_vec();
    sets.push(format!("dies_per_chip={dies}"));
    sets.push(format!("blocks_per_plane={blocks}"));
    sets.push(format!("page_bytes={}", case.page));
    let overwrite = ["0", "until_gc"][(case.seed >> 8) as usize % 2];
    sets.push(format!("precondition.overwrite={overwrite}"));
    // A time of units makes a drive of another kind, and the cache alone knows no units.
    for key in times() {
        sets.push(format!("{key}=0ns"));
        if legal(&sets).is_none_or(|device| device.config().has_units()) {
            sets.pop();
        }
    }
    timed.device = Some(sets);
    let timed = lab.record(&timed, "trace.csv")?;
    let (alone, timed) = match (alone, timed) {
        (Some(alone), Some(timed)) => (alone, timed),
        (None, None) => return Ok(false),
        _ => return Err(Fault::law("only one of both is refused")),
    };
    for (name, value) in alone["counts"].as_object().into_iter().flatten() {
        want(name, value, &timed["counts"][name])?;
    }
    want("unmapped reads", count(&timed, "unmapped_reads"), 0)?;
    want(
        "longest",
        timed["latency_ns"]["all"]["max"].as_u64().unwrap_or(0),
        0,
    )?;
    Ok(true)
}

/// Keys of a device that are times.
fn times() -> impl Iterator<Item = &'static str> {
    let times = keys()
        .iter()
        .filter(|key| matches!(key.value_type(), ValueType::Time | ValueType::Times));
    times.map(|key| key.name)
}

pub const SCALED: Law = Law {
    name: "scaled",
    promise: "with all times k-fold, response times are k-fold and counters the same",
    adapt: |case, rng| {
        let time = |kind: &Kind| matches!(kind, Kind::Time | Kind::IntegerOrTime { .. });
        let has_times = case
            .expr()
            .chain()
            .any(|l| l.scheme().params().any(|p| time(&p.kind)));
        if has_times {
            case.scheme = "awb(lru)".to_owned();
        }
        // Checkpoints are at times of their own, and a region, retries and pauses have times in tables.
        case.without(&["--host-fs", "--time-scale"]);
        // Rates are not times. A hold of 0 is refused, so a hold that was drawn could stay as it is.
        let mut sets = crate::device::draw(rng, case.page);
        let others = [
            "cache_region",
            "host_link",
            "write_pace",
            "read_retry",
            "program_pause",
            "unit_hold",
        ];
        sets.retain(|set| !others.iter().any(|key| set.starts_with(key)));
        case.device = Some(sets);
        case.fit_to_device(rng);
        // Between two passes there is a pause of its own.
        case.options
            .retain(|o| !o.iter().any(|word| word.starts_with("passes=")));
        if !case.has("--wrap") {
            case.without(&["--fit"]);
            case.options.push(vec!["--wrap".to_owned()]);
        }
    },
    check: scaled,
};

fn scaled(lab: &Lab, case: &Case) -> Verdict {
    let k = [2, 3, 10, 1000][(case.seed % 4) as usize];
    // Times of the device as whole nanoseconds, some of them 0.
    let of = |factor: u64| {
        let mut case: Case = case.clone();
        for (i, key) in times().enumerate() {
            let ns = [0, 1, 11, 700, 7_000, 30_000]
                [case.seed.rotate_right(8 + 3 * i as u32) as usize % 6];
            // A time of units is not for every device.
            let before = case.device.clone();
            case.set(&format!("{key}={ns}ns"));
            match case.device.as_deref().and_then(legal) {
                Some(_) => case.set(&format!("{key}={}ns", ns * factor)),
                None => case.device = before,
            }
        }
        for request in &mut case.requests {
            request.host.arrival *= factor;
        }
        case
    };
    let (short, long) = (of(1), of(k));
    lab.write(&short, "trace.csv")?;
    lab.write(&long, "long.csv")?;
    let (short, long) = (
        lab.record(&short, "trace.csv")?,
        lab.record(&long, "long.csv")?,
    );
    let (short, long) = match (short, long) {
        (Some(short), Some(long)) => (short, long),
        (None, None) => return Ok(false),
        _ => return Err(Fault::law("only one of both is refused")),
    };
    let times = [
        "latency_ns",
        "service_ns",
        "evict_wait_ns",
        "evict_turnaround_ns",
        "final_flush",
    ];
    let others = [&times[..], &["trace", "config", "unbalance", "throughput"]].concat();
    // Shares of time may differ by rounding.
    let others = [&others[..], &["utilisation", "backlog", "endurance"]].concat();
    equal(&short, &long, &others)?;
    for name in &times[..4] {
        multiple(name, &short[*name], &long[*name], k)?;
    }
    let years = |record: &Value| record["endurance"]["years"].clone();
    multiple("endurance.years", &years(&short), &years(&long), k)?;
    let backlog = |record: &Value, field: &str| record["backlog"][field].clone();
    let of = |field: &str| (backlog(&short, field), backlog(&long, field));
    let (requests, long_requests) = of("requests");
    want("backlog.requests", requests, long_requests)?;
    let (drain, long_drain) = of("drain_ns");
    multiple("backlog.drain_ns", &drain, &long_drain, k)?;
    // Rates are a k-th.
    let (offered, long_offered) = of("offered_per_s");
    multiple("backlog.offered_per_s", &long_offered, &offered, k)?;
    let loops = |field: &str| (&short["throughput"][field], &long["throughput"][field]);
    for field in ["requests_per_s", "bytes_per_s"] {
        let (short, long) = loops(field);
        multiple(field, long, short, k)?;
    }
    let (elapsed, long_elapsed) = loops("elapsed_ns");
    multiple("throughput.elapsed_ns", elapsed, long_elapsed, k)?;
    let (held, long_held) = loops("depth_held");
    multiple("throughput.depth_held", held, long_held, 1)?;
    Ok(true)
}

/// All numbers inside `long` must be `k` times those of `short`.
fn multiple(name: &str, short: &Value, long: &Value, k: u64) -> Result<(), Fault> {
    if let (Some(short), Some(long)) = (short.as_object(), long.as_object()) {
        want(name, short.len(), long.len())?;
        let null = &Value::Null;
        return short.iter().try_for_each(|(key, value)| {
            multiple(
                &format!("{name}.{key}"),
                value,
                long.get(key).unwrap_or(null),
                k,
            )
        });
    }
    match (short.as_f64(), long.as_f64()) {
        (Some(short), Some(long)) => near(name, short * k as f64, long),
        _ => want(name, short, long),
    }
}
