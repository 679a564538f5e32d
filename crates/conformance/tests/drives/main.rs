//! Drives with units against their slow model: every completion to the nanosecond, on random drives and loads.

mod before_the_run;
mod inside;
mod live;
mod priced;
mod schemes;
mod settled;
mod sheets;
mod slc_cliffs;
mod under_load;

use destage_conformance::reference::drive::{
    DriveConfig, DriveModel, DriveOp, DriveRequest, random_drive, random_load, random_slc_drive,
};
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::suites::is_full;
use destage_scheme::{Expr, ReadAlloc};
use destage_sim::{Hooks, Replay, ResultRecord, RunSpec, execute};
use destage_trace::Trace;
use destage_types::request::NO_PREV;
use destage_types::{ByteSize, HostRequest, Nanos, Op, RequestBatch, RequestFlags};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

/// What is on a drive before a run.
#[derive(Clone, Copy, Debug)]
struct Before {
    filled: bool,
    /// Quarters of the drive that are overwritten.
    quarters: u64,
}

impl Before {
    const EMPTY: Before = Before {
        filled: false,
        quarters: 0,
    };
    const FULL: Before = Before {
        filled: true,
        quarters: 0,
    };

    /// Overwrites depend on the drive alone, so that loads stay as they are.
    fn draw(rng: &mut SplitMix64, c: &DriveConfig) -> Before {
        Before {
            filled: rng.chance(60),
            quarters: SplitMix64::new(c.seed).pick(&[0, 0, 1, 2, 4, 9]),
        }
    }

    fn precondition(self, model: &mut DriveModel, seed: u64) -> Result<(), String> {
        let exported = model.exported();
        let mut draws = destage_types::rng::SplitMix64::new(seed);
        let overwrites = 0..exported as u64 * self.quarters / 4;
        let overwrites: Vec<usize> = overwrites
            .map(|_| draws.below(exported as u64) as usize)
            .collect();
        let filled = if self.filled { exported } else { 0 };
        model.precondition(0..filled, &overwrites)
    }
}

/// A random drive under any scheme.
fn config(rng: &mut SplitMix64) -> DriveConfig {
    let mut c = random_drive(rng);
    schemes::draw(rng, &mut c);
    c
}

/// Requests over a drive.
fn load(rng: &mut SplitMix64, c: &DriveConfig, exported: u64, count: u64) -> Vec<DriveRequest> {
    let mut requests = random_load(rng, c, exported, count);
    // Long after, so that no unit is open when the counters are taken with the last arrival.
    let end = requests.last().map_or(0, |last| last.at);
    for seconds in [10, 20] {
        requests.push(DriveRequest {
            at: end + seconds * 1_000_000_000,
            op: DriveOp::Flush,
            offset: 0,
            bytes: 512,
            stream: 0,
            preflush: false,
            prev: [None; 4],
            atomic: false,
        });
    }
    requests
}

/// The requests as a trace.
fn trace_of(requests: &[DriveRequest]) -> Trace {
    let mut batch = RequestBatch::new();
    for r in requests {
        let op = match r.op {
            DriveOp::Read => Op::Read,
            DriveOp::Flush => Op::Flush,
            DriveOp::Trim => Op::Trim,
            DriveOp::Write | DriveOp::WriteFua => Op::Write,
        };
        let sectors = if op == Op::Flush {
            0
        } else {
            (r.bytes / 512) as u32
        };
        let mut head = HostRequest::new(Nanos(r.at), op, r.offset / 512, sectors);
        head.stream = r.stream as u32;
        head.flags = RequestFlags::PREFLUSH
            .only_if(r.preflush)
            .and(RequestFlags::FUA.only_if(r.op == DriveOp::WriteFua))
            .and(RequestFlags::ATOMIC.only_if(r.atomic));
        let first = |old: Option<u64>| old.map_or(NO_PREV, |lpn| lpn * 8);
        batch.push_with(head, &[], &r.prev.map(first));
    }
    Trace::generated("random", batch)
}

/// A run on a drive.
fn spec(c: &DriveConfig, before: Before) -> RunSpec {
    let mut c = c.clone();
    let (fill, times) = (u8::from(before.filled), before.quarters as f64 / 4.0);
    c.set("precondition", format!("{{fill={fill},overwrite={times}}}"));
    let expr = Expr::parse(&c.expression()).expect("a legal expression");
    let config = Arc::new(c.device().unwrap_or_else(|e| panic!("{e}: {c:#?}")));
    let read_alloc = match c.read_allocation {
        true => ReadAlloc::On,
        false => ReadAlloc::Off,
    };
    RunSpec {
        page: config.mapping(),
        read_alloc,
        device: Some(config),
        replay: match c.queue_depth {
            Some(depth) => Replay::Limited {
                depth: NonZeroU32::new(depth as u32).expect("at least 1"),
            },
            None => Replay::Open,
        },
        seed: c.seed,
        ..RunSpec::cache_only(expr, ByteSize(c.frames * c.number("mapping_bytes")))
    }
}

/// Completions by request, and the record.
fn run(c: &DriveConfig, before: Before, requests: &[DriveRequest]) -> (Vec<u64>, ResultRecord) {
    let (spec, trace) = (spec(c, before), trace_of(requests));
    let log = Log::default();
    let hooks = Hooks {
        request_log: Some(Box::new(log.clone())),
        ..Hooks::default()
    };
    let record = execute(&spec, &trace, hooks).unwrap_or_else(|e| panic!("{e}: {before:?} {c:#?}"));
    let mut done = vec![0; requests.len()];
    for row in log.rows() {
        done[row.index] = row.complete;
    }
    (done, record)
}

/// A log of requests.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

/// The row of a request in a log; times in ns.
struct LogRow {
    index: usize,
    is_write: bool,
    arrival: u64,
    complete: u64,
}

impl Log {
    fn rows(&self) -> Vec<LogRow> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let lines = text.lines().skip(1).map(|line| line.split(','));
        let rows = lines.map(|cells| cells.collect::<Vec<_>>());
        let time = |cell: &str| cell.parse().expect("a number");
        rows.map(|cells| LogRow {
            index: cells[0].parse().expect("a number"),
            is_write: cells[1] == "W",
            arrival: time(cells[2]),
            complete: time(cells[3]),
        })
        .collect()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Runs a random load on a drive that is `drawn`, and says where the two first differ.
fn check(seed: u64, drawn: impl Fn(&mut SplitMix64) -> DriveConfig) -> Result<(), String> {
    let mut rng = SplitMix64::new(seed);
    let c = drawn(&mut rng);
    let mut model = DriveModel::new(c.clone())?;
    let exported = model.exported() as u64;
    let before = Before::draw(&mut rng, &c);
    before.precondition(&mut model, c.seed)?;
    let requests = load(&mut rng, &c, exported, 400);
    let outcome = model.run(&requests)?;
    let (fast, record) = run(&c, before, &requests);
    for (i, (fast, slow)) in fast.iter().zip(&outcome.times).enumerate() {
        if *fast != slow.completed {
            let (r, slow) = (requests[i], slow.completed);
            return Err(format!(
                "request {i} {r:?} ends at {fast}, not at {slow}, after {before:?} on {c:#?}"
            ));
        }
    }
    let counted = &record.counts;
    let of = |count: Option<u64>| count.unwrap_or(0);
    let fast = [
        of(counted.padded_places),
        of(counted.slc_host_places),
        of(counted.folded_places),
        of(counted.slc_programs),
    ];
    let slow = [
        outcome.padded_places,
        outcome.slc_host_places,
        outcome.folded,
        outcome.slc_programs,
    ];
    if fast != slow {
        return Err(format!(
            "places of padding, of the host in SLC blocks, folded, SLC programs: {fast:?}, not {slow:?}, on {c:#?}"
        ));
    }
    inside::compare(&record, &outcome).map_err(|difference| format!("{difference}, on {c:#?}"))
}

#[test]
fn random_drives_agree_with_their_model() {
    let seeds = if is_full() { 10_000 } else { 1_000 };
    for seed in 0..seeds {
        if let Err(difference) = check(seed, config) {
            panic!("seed {seed}: {difference}");
        }
    }
}

#[test]
fn drives_with_an_slc_cache_agree_with_their_model() {
    let seeds = if is_full() { 10_000 } else { 200 };
    for seed in 0..seeds {
        if let Err(difference) = check(seed, random_slc_drive) {
            panic!("seed {seed}: {difference}");
        }
    }
}

/// Of `reserve` alone: buffers of few units and of many.
#[test]
fn drives_that_keep_a_reserve_agree_with_their_model() {
    let drawn = |rng: &mut SplitMix64| {
        let mut c = random_drive(rng);
        schemes::draining(rng, &mut c);
        c
    };
    for seed in 0..300 {
        if let Err(difference) = check(seed, drawn) {
            panic!("seed {seed}: {difference}");
        }
    }
}
