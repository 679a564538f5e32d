//! The preset of a data centre drive under the loads of SSD-iq (Haas et al., PVLDB 18(11), 2025), beside the drive.
//!
//! `cargo xtask sheets` prints the table, which stands in docs/DRIVES.md. The measurements of the drive are read
//! from the folder that the variable `DESTAGE_DRIVES` names; without it the model alone is tested.

use super::Log;
use super::sheets::{OVERWRITTEN, scaled};
use destage_conformance::reference::rng::SplitMix64;
use destage_device::config::WritePace;
use destage_scheme::{Expr, ReadAlloc};
use destage_sim::{Hooks, Replay, RunSpec, Warmup, execute};
use destage_trace::Trace;
use destage_types::{HostRequest, Nanos, Op, RequestBatch};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

/// Writes a second that the loads ask for.
const RATES: [u64; 6] = [30_000, 40_000, 50_000, 60_000, 70_000, 80_000];
const REQUESTS: u64 = 300_000;
/// Writes a second that the drive lets in at most, from its table.
const PACE: u64 = 76_500;

/// A stream of Poisson arrivals: so many a second, and of 1000 requests so many writes.
struct Stream {
    per_s: f64,
    writes: u64,
    next_ns: f64,
}

/// Six streams that write, with 1 % of reads, and one of 10,000 requests a second with as many reads. All are of
/// 4 KiB at uniform addresses.
fn load(units: u64, rate: u64) -> RequestBatch {
    let mut rng = SplitMix64::new(rate);
    let busy = (rate - 5_000) as f64 / 0.99 / 6.0;
    let mut streams: Vec<Stream> = (0..7)
        .map(|stream| Stream {
            per_s: if stream < 6 { busy } else { 10_000.0 },
            writes: if stream < 6 { 990 } else { 500 },
            next_ns: 0.0,
        })
        .collect();
    let mut batch = RequestBatch::new();
    for _ in 0..REQUESTS + 7 {
        let first = (0..streams.len())
            .min_by(|&a, &b| streams[a].next_ns.total_cmp(&streams[b].next_ns))
            .expect("seven streams");
        let stream = &mut streams[first];
        let at = stream.next_ns;
        stream.next_ns -= (1.0 - rng.real()).ln() / stream.per_s * 1e9;
        // At time 0 all streams begin to wait for their first request.
        if at > 0.0 {
            let is_write = rng.below(1_000) < stream.writes;
            let op = if is_write { Op::Write } else { Op::Read };
            let mut head = HostRequest::new(Nanos(at as u64), op, rng.below(units) * 8, 8);
            head.stream = first as u32;
            batch.push(head);
        }
    }
    batch
}

/// Response times in us of the measured writes of the last stream, ascending.
fn run(rate: u64, pace: Option<u64>) -> Vec<f64> {
    let mut device = scaled("enterprise-tlc-1t", OVERWRITTEN, &[]);
    device.write_pace = pace.map(|pace| WritePace::Rate(pace as u32));
    device.write_pace_burst = pace.map(|_| 4);
    let batch = load(device.logical_pages(), rate);
    let streams: Vec<u32> = batch.iter().map(|request| request.head.stream).collect();
    let trace = Trace::generated("load", batch);
    let cache = device.cache;
    let spec = RunSpec {
        page: device.mapping(),
        read_alloc: ReadAlloc::Off,
        replay: Replay::Limited {
            depth: NonZeroU32::new(64).expect("at least 1"),
        },
        warmup: Warmup::Requests(REQUESTS / 3),
        device: Some(Arc::new(device)),
        ..RunSpec::cache_only(Expr::parse("drain(fifo)").expect("legal"), cache)
    };
    let log = Log::default();
    let hooks = Hooks {
        request_log: Some(Box::new(log.clone())),
        ..Hooks::default()
    };
    execute(&spec, &trace, hooks).unwrap_or_else(|e| panic!("{e}"));
    let mut times: Vec<f64> = (log.rows().iter())
        .filter(|done| done.is_write && streams[done.index] == 6)
        .map(|done| (done.complete - done.arrival) as f64 / 1e3)
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

/// The 99.9th percentile of the drive's writes in us, by rate.
fn measured(rate: u64) -> Option<f64> {
    let folder = PathBuf::from(std::env::var_os("DESTAGE_DRIVES")?);
    let text = std::fs::read_to_string(folder.join("load.csv")).expect("measurements");
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().expect("a head");
    let column = |name| head.iter().position(|cell| *cell == name).expect(name);
    let (drive, target, p999) = (
        column("drive"),
        column("target_writes_per_s"),
        column("write_us_p99.9"),
    );
    let row = lines
        .find(|row| row[drive] == "samsung-pm9a3-960" && row[target] == rate.to_string())
        .expect("a row of the drive");
    Some(row[p999].parse().expect("a number"))
}

#[test]
#[ignore = "takes a minute; `cargo xtask sheets` and `cargo xtask full` run it"]
fn a_data_centre_drive_answers_as_measured() {
    let page = include_str!("../../../../docs/DRIVES.md");
    let mut stale = Vec::new();
    for pace in [None, Some(PACE)] {
        for rate in RATES {
            let writes = run(rate, pace);
            let rank = |share: f64| (share * writes.len() as f64).ceil() as usize;
            let [p50, p90, p99, p999] =
                [0.5, 0.9, 0.99, 0.999].map(|share| writes[rank(share) - 1].round());
            let paced = pace.map_or("off".to_owned(), |pace| pace.to_string());
            let line = format!("| {paced} | {rate} | {p50} | {p90} | {p99} | {p999} |");
            println!("{line}");
            if !page.contains(&line) {
                stale.push(line.clone());
            }
            if rate <= 30_000 {
                assert!(p999 <= 25.0, "below half of the cliff: {line}");
            }
            if rate <= 50_000 {
                assert!(p50 <= 15.0, "below 0.7 of the cliff: {line}");
            }
            // The cliff lies between 65,000 and 85,000 writes a second.
            let beyond = p50 > 1_000.0;
            assert_eq!(beyond, rate == 80_000, "{line}");
            if let Some(drive) = measured(rate).filter(|_| pace.is_some() && rate <= 60_000) {
                println!("  p99.9 is {:.1} times the drive's", p999 / drive);
                assert!(p999 <= 3.0 * drive, "the drive has {drive}: {line}");
            }
        }
    }
    assert!(stale.is_empty(), "docs/DRIVES.md lacks {stale:#?}");
}
