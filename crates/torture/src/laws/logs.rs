//! Laws of logs: what they say in single lines sums up to the record.

use super::Law;
use crate::case::Case;
use crate::compare::{count, near, want};
use crate::lab::{Fault, Lab, Verdict, records};
use serde_json::Value;

pub const RECOMPUTED: Law = Law {
    name: "logs",
    promise: "the logs of evictions and of requests sum up to the record",
    adapt: |_, _| {},
    check: recomputed,
};

fn recomputed(lab: &Lab, case: &Case) -> Verdict {
    let mut watch = "--log-evictions evictions.jsonl".to_owned();
    if case.device.is_some() {
        watch += " --log-requests requests.csv";
    }
    let Some(record) = lab.record(&case.with(&watch), "trace.csv")? else {
        return Ok(false);
    };
    // A write of the warm-up may wait for its frames, or be overtaken, until the measured part has begun.
    let before = match case.may_wait() {
        true => 0,
        false => first_measured(&record),
    };
    evictions(&record, &lab.read("evictions.jsonl")?, before)?;
    if case.device.is_some() {
        let log = lab.read("requests.csv")?;
        requests(&record, &log)?;
        rates(&record, &log)?;
    }
    Ok(true)
}

/// Number in the trace of the first request that is measured; whole passes start it anew.
fn first_measured(record: &Value) -> u64 {
    let before = record["reading"]["warmup_requests"].as_u64().unwrap_or(0);
    before % record["trace"]["requests"].as_u64().unwrap_or(1).max(1)
}

/// The evictions of a log are those of the record, and of requests from number `before` on.
fn evictions(record: &Value, log: &str, before: u64) -> Result<(), Fault> {
    let (mut evictions, mut dirty, mut evicted, mut flushed, mut in_flight) = (0, 0, 0, 0, 0);
    let mut discarded = 0;
    for line in records(log.as_bytes())? {
        if line["request"].as_u64() < Some(before) {
            return Err(Fault::law(format!("an eviction of the warm-up: {line}")));
        }
        let pages = |name: &str| line[name].as_array().map_or(0, |p| p.len() as u64);
        let (flush, drop, written) = (pages("flush"), pages("drop"), pages("inflight"));
        evictions += u64::from(flush + drop + written > 0);
        dirty += u64::from(flush + written > 0);
        evicted += flush + drop + written;
        flushed += flush + written;
        in_flight += written;
        discarded += pages("discard");
    }
    let c = |name: &str| count(record, name);
    want("evictions", evictions, c("evictions"))?;
    want("dirty evictions", dirty, c("dirty_evictions"))?;
    want("evicted pages", evicted, c("evicted_pages"))?;
    want("flushed pages", flushed, c("flushed_pages"))?;
    want("evictions in flight", in_flight, c("inflight_evictions"))?;
    want("discarded pages", discarded, c("discarded_pages"))
}

/// Response times of requests as the record sums them up.
fn summed(record: &Value, class: &str, mut times: Vec<u64>) -> Result<(), Fault> {
    let figures = &record["latency_ns"][class];
    let n = times.len();
    times.sort_unstable();
    let rank = |share: usize| match n {
        0 => None,
        _ => times.get((n * share).div_ceil(10_000) - 1).copied(),
    };
    for (name, share) in [
        ("p50", 5000),
        ("p95", 9500),
        ("p99", 9900),
        ("p999", 9990),
        ("p9999", 9999),
        ("max", 10_000),
    ] {
        want(
            &format!("{class} {name}"),
            rank(share),
            figures[name].as_u64(),
        )?;
    }
    let mean = times.iter().map(|&t| t as f64).sum::<f64>() / n.max(1) as f64;
    near(
        &format!("{class} mean"),
        mean,
        figures["mean"].as_f64().unwrap_or(0.0),
    )
}

fn requests(record: &Value, log: &str) -> Result<(), Fault> {
    let first = first_measured(record);
    let (mut pages, mut hits) = (0, 0);
    let mut times: [Vec<u64>; 3] = Default::default();
    let mut rows = 0;
    for line in log.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |i: usize| fields.get(i).and_then(|f| f.parse::<u64>().ok());
        let numbers = [0, 2, 3, 4, 5].map(number);
        let [Some(index), Some(arrival), Some(complete), Some(p), Some(h)] = numbers else {
            return Err(Fault::law(format!("requests.csv: {line}")));
        };
        want("number of a request", index, first + rows)?;
        let Some(time) = complete.checked_sub(arrival) else {
            return Err(Fault::law(format!("complete before it arrives: {line}")));
        };
        rows += 1;
        times[0].push(time);
        match fields[1] {
            "R" => times[1].push(time),
            "W" => times[2].push(time),
            _ => continue,
        }
        pages += p;
        hits += h;
    }
    let c = |name: &str| count(record, name);
    want("rows", rows, c("requests") + c("lfs_clean_requests"))?;
    // Requests of a file system's cleaning are in the log, and in no other figure.
    if c("lfs_clean_requests") > 0 {
        return Ok(());
    }
    want("pages", pages, c("page_accesses"))?;
    want("hit pages", hits, c("page_hits"))?;
    let classes = ["all", "read", "write"];
    let summed = classes
        .into_iter()
        .zip(times)
        .map(|(class, times)| summed(record, class, times));
    summed.collect()
}

/// The rates of a closed loop are requests per time, and no loop is faster than its depth allows.
fn rates(record: &Value, log: &str) -> Result<(), Fault> {
    let throughput = &record["throughput"];
    let times = log.lines().skip(1).filter_map(|line| {
        let mut fields = line.split(',').skip(2).map(str::parse::<u64>);
        Some((fields.next()?.ok()?, fields.next()?.ok()?))
    });
    let times: Vec<(u64, u64)> = times.collect();
    let first = times.iter().map(|t| t.0).min().unwrap_or(0);
    let elapsed = times.iter().map(|t| t.1).max().unwrap_or(0) - first;
    let Some(depth) = record["reading"]["queue_depth"]
        .as_u64()
        .filter(|_| elapsed > 0)
    else {
        return want("throughput", &Value::Null, throughput);
    };
    want(
        "elapsed_ns",
        Some(elapsed),
        throughput["elapsed_ns"].as_u64(),
    )?;
    let elapsed = elapsed as f64 / 1e9;
    let c = |name: &str| count(record, name) as f64;
    let rate = |name: &str| throughput[name].as_f64().unwrap_or(-1.0);
    near(
        "requests_per_s",
        c("requests") / elapsed,
        rate("requests_per_s"),
    )?;
    let bytes = 512.0 * (c("read_sectors") + c("write_sectors"));
    near("bytes_per_s", bytes / elapsed, rate("bytes_per_s"))?;
    // The depth is held before the last request is issued, and of its requests no more are ever outstanding.
    let last = times.iter().map(|t| t.0).max().unwrap_or(0);
    let before = record["reading"]["warmup_requests"].as_u64().unwrap_or(0);
    let is_reached = before + times.len() as u64 >= depth;
    let least = f64::from(u8::from(is_reached)) * (last - first) as f64 / 1e9 / elapsed;
    let most = if is_reached { 1.0 } else { 0.0 };
    let held = rate("depth_held");
    if !(least - 1e-9..=most).contains(&held) {
        return Err(Fault::law(format!(
            "depth_held is {held}, not {least} to {most}"
        )));
    }
    let sum: f64 = times.iter().map(|t| (t.1 - t.0) as f64 / 1e9).sum();
    if sum > depth as f64 * elapsed * (1.0 + 1e-9) {
        return Err(Fault::law(format!(
            "{sum} s of requests in {elapsed} s at depth {depth}"
        )));
    }
    Ok(())
}

pub const SERIES: Law = Law {
    name: "series",
    promise: "the intervals of a series sum up to the record, whatever their length",
    // Cleaning is requests of nobody, which the intervals must not lose.
    adapt: |case, rng| {
        if rng.chance(40) {
            case.through_file_system(rng);
        }
    },
    check: series,
};

fn series(lab: &Lab, case: &Case) -> Verdict {
    let every = ["1", "3", "50", "100000", "10ns", "100us", "1s"][(case.seed % 7) as usize];
    let watch = format!("--series series.csv --series-every {every}");
    let Some(record) = lab.record(&case.with(&watch), "trace.csv")? else {
        return Ok(false);
    };
    let text = lab.read("series.csv")?;
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    for name in [
        "requests",
        "read_pages",
        "write_pages",
        "evictions",
        "evicted_pages",
        "flash_reads_host",
        "flash_writes_host",
        "flash_writes_gc",
        "erases",
    ] {
        let Some(column) = names.iter().position(|n| *n == name) else {
            return Err(Fault::law(format!("the series has no column {name}")));
        };
        let cell = |row: &Vec<&str>| row.get(column).and_then(|c| c.parse::<i64>().ok());
        let sum: i64 = rows.iter().filter_map(cell).sum();
        want(name, sum, count(&record, name) as i64)?;
    }
    Ok(true)
}
