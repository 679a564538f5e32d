//! Laws of parts: of a trace, of a run, and of a curve.

use super::Law;
use crate::case::{Case, option};
use crate::compare::{at_most, count, equal, near, same, want};
use crate::device;
use crate::lab::{Fault, Lab, Verdict};
use crate::requests::Request;
use destage_conformance::reference::SlowRequest;
use destage_scheme::info::Role;
use destage_types::Op;
use serde_json::Value;

/// A number of requests inside the trace.
fn part(case: &Case) -> usize {
    1 + (case.seed % case.requests.len().max(1) as u64) as usize
}

pub const LIMIT: Law = Law {
    name: "limit",
    promise: "--limit N is a trace of the first N requests",
    // A limit counts what the tags have left.
    adapt: |case, _| case.without(&["--limit", "--tags"]),
    check: limit,
};

fn limit(lab: &Lab, case: &Case) -> Verdict {
    let n = part(case);
    let limited = lab.records(&case.with(&format!("--limit {n}")).run("trace.csv"))?;
    let mut first = case.clone();
    first.requests.truncate(n);
    lab.write(&first, "first.csv")?;
    let first = lab.records(&first.run("first.csv"))?;
    same(&limited, &first, &["trace", "config"])
}

/// Is the policy one that looks ahead?
fn is_offline(case: &Case) -> bool {
    case.expr().scheme().role == Role::Offline
}

pub const WARM_UP: Law = Law {
    name: "warm-up",
    promise: "without a device, the first N requests and those after a warm-up of N are the whole",
    adapt: |case, _| {
        case.no_device();
        // The share set aside for metadata depends on the trace, and so does a file system's
        // volume.
        case.without(&[
            "--limit",
            "--warmup",
            "--charge-metadata",
            "--host-fs",
            "--tags",
        ]);
        if is_offline(case) {
            case.scheme = "lru".to_owned();
        }
    },
    check: warm_up,
};

fn warm_up(lab: &Lab, case: &Case) -> Verdict {
    let run = |option: String| lab.record(&case.with(&option), "trace.csv");
    let n = part(case);
    if n == case.requests.len() {
        return Ok(false);
    }
    let all = lab.record(case, "trace.csv")?;
    let first = run(format!("--limit {n}"))?;
    let rest = run(format!("--warmup {n}"))?;
    let (Some(all), Some(first), Some(rest)) = (all, first, rest) else {
        return Ok(false);
    };
    for (name, value) in all["counts"].as_object().into_iter().flatten() {
        let part = |record: &Value| record["counts"][name].as_f64().unwrap_or(0.0);
        near(
            name,
            part(&first) + part(&rest),
            value.as_f64().unwrap_or(0.0),
        )?;
    }
    Ok(true)
}

pub const FINAL_FLUSH: Law = Law {
    name: "flush-at-end",
    promise: "--flush-at-end changes no other figure and writes what a FLUSH behind all work does",
    adapt: |case, _| {
        let hides = [
            "--flush-at-end",
            "--limit",
            "--tags",
            "--host-fs",
            "--closed-loop",
        ];
        case.without(&hides);
        let percent = |o: &Vec<String>| o[0] == "--warmup" && o[1].parse::<u64>().is_err();
        case.options.retain(|o| !percent(o));
    },
    check: final_flush,
};

fn final_flush(lab: &Lab, case: &Case) -> Verdict {
    let Some(plain) = lab.record(case, "trace.csv")? else {
        return Ok(false);
    };
    let Some(flushed) = lab.record(&case.with("--flush-at-end"), "trace.csv")? else {
        // The device may have no room for what is written back.
        return match case.device {
            Some(_) => Ok(false),
            None => Err(Fault::law("only the run with --flush-at-end is refused")),
        };
    };
    equal(&plain, &flushed, &["config", "final_flush"])?;
    let written = flushed["final_flush"]["flash_writes_host"].as_u64();
    let device = case.device.as_deref().and_then(device::legal);
    let keeps_cache = device.is_some_and(|device| device.config().keeps_cache());
    let left = plain["dirty_pages_left"].as_u64();
    let has_background = case.expr().has_background();
    match (keeps_cache, has_background) {
        // FLUSH has nothing to do there (D-4).
        (true, false) => want("dirty pages left", Some(0), written)?,
        // Background work goes on until nothing is under way.
        (true, true) => at_most(
            "pages of the final flush",
            written.unwrap_or(0),
            left.unwrap_or(0),
        )?,
        (false, _) => want("dirty pages left", left, written)?,
    }
    // In the longer run the time before the FLUSH is for background work.
    if has_background {
        return Ok(true);
    }
    let mut longer = case.clone();
    let last = case.requests.last().map_or(0, |r| r.host.arrival);
    // A slow bus may be busy for hours after the last arrival.
    let busy = plain["utilisation"]["elapsed_ns"].as_u64().unwrap_or(0);
    for hours in [1, 2] {
        let arrival = last + busy + hours * 3_600_000_000_000;
        longer.requests.push(Request {
            host: SlowRequest::new(Op::Flush, 0, 0).at(arrival),
            stream: 0,
            tag: "",
        });
    }
    lab.write(&longer, "longer.csv")?;
    let Some(longer) = lab.record(&longer, "longer.csv")? else {
        return Err(Fault::law("only the run with a FLUSH is refused"));
    };
    for name in ["flash_writes_host", "flash_reads_rmw"] {
        let wanted = count(&longer, name) - count(&plain, name);
        let got = flushed["final_flush"][name].as_u64();
        want(name, got, Some(wanted))?;
    }
    Ok(true)
}

pub const CURVE: Law = Law {
    name: "curve",
    promise: "the points of a curve are the runs at their sizes",
    adapt: |case, _| {
        case.for_curve();
        if case.requests.is_empty() || case.scheme == "none" {
            case.scheme = "lru".to_owned();
        }
    },
    check: curve,
};

fn curve(lab: &Lab, case: &Case) -> Verdict {
    let mut words = case.run("trace.csv");
    words[0] = "mrc".to_owned();
    words.extend(option(&format!("--cache {}", case.cache(2))));
    let Some(points) = lab.records(&words)? else {
        // `mrc` refuses more than `run` does.
        lab.records(&case.run("trace.csv"))?;
        return Ok(false);
    };
    want("points", points.len(), 2)?;
    for (point, times) in points.iter().zip([1, 2]) {
        let mut at = case.clone();
        at.frames *= times;
        let Some(record) = lab.record(&at, "trace.csv")? else {
            return Err(Fault::law("the run at the size of a point is refused"));
        };
        for (name, value) in point.as_object().into_iter().flatten() {
            let measured = [
                &record["counts"][name],
                &record["ratios"][name],
                &record[name],
            ];
            if let Some(measured) = measured.into_iter().find(|v| !v.is_null())
                && name != "trace"
            {
                want(name, value, measured)?;
            }
        }
    }
    Ok(true)
}
