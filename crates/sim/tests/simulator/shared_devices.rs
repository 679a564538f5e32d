//! Runs that share a prepared device give what each gives alone, and the device is prepared once.

use destage_device::config::EffectiveDevice;
use destage_scheme::Expr;
use destage_scheme::rng::SplitMix64;
use destage_sim::record::RunInfo;
use destage_sim::{
    Hooks, Logs, PreparedDevices, ResultRecord, RunError, RunSpec, Sweep, SweepProgress, Unmetered,
    execute,
};
use destage_trace::Trace;
use destage_types::{ByteSize, HostRequest, Nanos, Op, RequestBatch};
use std::sync::Arc;
use std::sync::atomic::Ordering;

const SMALL: &str = "channels=2 chips_per_channel=2 dies_per_chip=1 planes_per_die=2 \
                     blocks_per_plane=32 pages_per_block=16 op=0.3";
const AGED: &str = "precondition={trace=true,fill=1.0,overwrite=\"until_gc\"}";

fn device(sets: &str) -> RunSpec {
    let sets: Vec<String> = format!("{SMALL} {sets}")
        .split(' ')
        .map(str::to_owned)
        .collect();
    let device = EffectiveDevice::from_preset("default", &sets).unwrap();
    RunSpec {
        device: Some(Arc::new(device.into_config())),
        ..RunSpec::cache_only(Expr::parse("lru").unwrap(), ByteSize(64 << 10))
    }
}

/// Random reads and writes of the first `pages` pages.
fn trace(seed: u64, pages: u64) -> Trace {
    let mut random = SplitMix64::new(seed);
    let mut batch = RequestBatch::new();
    for i in 0..3_000 {
        let op = if random.below(3) == 0 {
            Op::Read
        } else {
            Op::Write
        };
        let sector = 8 * random.below(pages - 4);
        let sectors = 8 * (1 + random.below(4)) as u32;
        batch.push(HostRequest::new(Nanos(100_000 * i), op, sector, sectors));
    }
    Trace::generated("random", batch)
}

/// `base` with three schemes, one of which writes back in the background.
fn schemes(base: &RunSpec) -> Vec<RunSpec> {
    let schemes = ["lru", "ecr", "awb(lru)"].iter();
    let of = |scheme: &&str| RunSpec {
        expr: Expr::parse(scheme).unwrap(),
        ..base.clone()
    };
    schemes.map(of).collect()
}

/// The records of `runs`, and the pages that were written to prepare devices.
fn sweep(
    trace: &Trace,
    runs: &[RunSpec],
    jobs: usize,
    devices: Option<&PreparedDevices>,
) -> Result<(Vec<ResultRecord>, u64), RunError> {
    let progress = SweepProgress::default();
    let sweep = Sweep {
        trace: trace.into(),
        runs,
        jobs,
        version: "",
        progress: &progress,
        devices,
        meter: &Unmetered,
    };
    let records = sweep.execute(&|_| Logs::default())?;
    let pages = progress.pages_prepared.load(Ordering::Relaxed);
    assert_eq!(pages, progress.pages_to_prepare.load(Ordering::Relaxed));
    assert_eq!(progress.runs.load(Ordering::Relaxed), runs.len() as u64);
    Ok((records, pages))
}

/// `record` but for what its run cost.
fn result(record: &ResultRecord) -> String {
    let result = ResultRecord {
        run: RunInfo::default(),
        ..record.clone()
    };
    format!("{result:?}")
}

fn alone(trace: &Trace, run: &RunSpec) -> String {
    let record = execute(run, trace, Hooks::default()).unwrap();
    assert!(record.counts.flash_writes_host > 0);
    result(&record)
}

#[test]
fn a_shared_device_changes_no_result() {
    let policies = ["greedy", "cost-benefit", "d-choices", "random"];
    let preconditions = [
        AGED,
        "precondition={trace=true,fill=0,overwrite=0}",
        "precondition={trace=true,fill=0.5,overwrite=0.5}",
        "precondition={trace=false,fill=0.2,overwrite=1.5}",
    ];
    let traces = [trace(1, 2_000), trace(2, 1_500)];
    for (policy, precondition) in policies.iter().zip(preconditions) {
        for more in [
            "wear_levelling=static",
            "allocation=dynamic gc_mode=background",
        ] {
            let base = device(&format!("gc_policy={policy} {precondition} {more}"));
            let mut runs = schemes(&base);
            if more.contains("dynamic") {
                runs.retain(|run| run.check().is_ok());
            }
            let other_seed = |run: &RunSpec| RunSpec {
                seed: 7,
                ..run.clone()
            };
            let all: Vec<RunSpec> = runs
                .iter()
                .cloned()
                .chain(runs.iter().map(other_seed))
                .collect();
            let devices = PreparedDevices::new(1 << 30);
            for trace in &traces {
                let expected: Vec<String> = all.iter().map(|run| alone(trace, run)).collect();
                for (jobs, devices) in [(1, None), (1, Some(&devices)), (3, Some(&devices))] {
                    let (records, _) = sweep(trace, &all, jobs, devices).unwrap();
                    let found: Vec<String> = records.iter().map(result).collect();
                    assert_eq!(found, expected, "{policy} {precondition} {more} {jobs}");
                }
            }
        }
    }
}

#[test]
fn a_device_is_prepared_once() {
    let (first, second) = (trace(1, 2_000), trace(2, 1_500));
    let aged = schemes(&device(AGED));
    let pages = |trace, runs: &[RunSpec], devices| sweep(trace, runs, 2, devices).unwrap().1;
    let one = pages(&first, &aged[..1], None);
    assert!(one > aged[0].device.as_ref().unwrap().logical_pages());
    assert_eq!(pages(&first, &aged, None), 3 * one);
    let (not_kept, kept) = (PreparedDevices::new(0), PreparedDevices::new(1 << 30));
    assert_eq!(pages(&first, &aged, Some(&not_kept)), one);
    assert_eq!(pages(&second, &aged, Some(&not_kept)), one);
    assert_eq!(not_kept.bytes(), 0);
    // A device that is full is the same for every trace, and whatever its times are.
    assert_eq!(pages(&first, &aged, Some(&kept)), one);
    assert!(kept.bytes() > 0);
    let slow = schemes(&device(&format!("{AGED} evict_wait=issue t_program=900us")));
    assert_eq!(pages(&second, &slow, Some(&kept)), 0);
    // Another one is not.
    let other = schemes(&device(&format!("{AGED} gc_policy=cost-benefit")));
    assert_eq!(pages(&second, &other, Some(&kept)), one);
    // With the pages that the trace reads first, the device differs for every trace.
    let read = schemes(&device("precondition={trace=true,fill=0.5,overwrite=0.5}"));
    let one = pages(&first, &read[..1], None);
    assert_eq!(pages(&first, &read, Some(&kept)), one);
    assert_eq!(pages(&second, &read, Some(&kept)), one);
    kept.clear();
    assert_eq!(
        pages(&second, &aged[..1], Some(&kept)),
        pages(&first, &aged[..1], None)
    );
}

#[test]
fn a_kept_device_still_refuses_addresses_beyond_it() {
    let runs = schemes(&device(AGED));
    let logical = runs[0].device.as_ref().unwrap().logical_pages();
    let devices = PreparedDevices::new(1 << 30);
    sweep(&trace(1, logical), &runs, 2, Some(&devices)).unwrap();
    let beyond = trace(1, 2 * logical);
    let said = |refused: Result<_, RunError>| match refused {
        Err(error) => error.to_string(),
        Ok(_) => panic!("the trace goes beyond the device"),
    };
    let alone = said(execute(&runs[0], &beyond, Hooks::default()).map(|_| ()));
    assert!(alone.contains("beyond"), "{alone}");
    let kept = sweep(&beyond, &runs, 2, Some(&devices)).map(|_| ());
    assert_eq!(said(kept), alone);
    let wrapped: Vec<RunSpec> = runs
        .iter()
        .map(|run| RunSpec {
            wrap: true,
            ..run.clone()
        })
        .collect();
    assert_eq!(sweep(&beyond, &wrapped, 2, Some(&devices)).unwrap().1, 0);
}
