//! Code that tests of whole runs with time share: requests by pages, and runs with one answer.

use std::io::Write;
use std::sync::{Arc, Mutex};

use super::{Outcome, TimedRun, compare, device, layers, trace_of};
use crate::building::ways;
use crate::reference::SlowRequest;
use destage_device::config::DeviceConfig;
use destage_scheme::Expr;
use destage_sim::RunError;
use destage_sim::record::ResultRecord;
use destage_sim::run::{Hooks, execute};
use destage_sim::series::{Every, Series, SeriesRow};
use destage_sim::spec::RunSpec;
use destage_trace::Trace;
use destage_types::{ByteSize, Op, PageSize};

/// The built-in device with the keys of `settings` changed, which stand between white space.
///
/// # Panics
/// The keys make no legal device.
pub fn device_of(settings: &str) -> DeviceConfig {
    device(&settings.split_whitespace().collect::<Vec<_>>())
}

/// Requests for (first page, last page, arrival), in pages of 4 KiB.
pub fn requests(list: &[(Op, u64, u64, u64)]) -> Vec<SlowRequest> {
    let request = |&(op, first, last, arrival)| SlowRequest::pages(op, 8, first, last).at(arrival);
    list.iter().map(request).collect()
}

/// Requests for (first sector, sectors, arrival).
pub fn sectors(list: &[(Op, u64, u32, u64)]) -> Vec<SlowRequest> {
    let request = |&(op, start, sectors, arrival): &(Op, u64, u32, u64)| {
        SlowRequest::new(op, start, sectors).at(arrival)
    };
    list.iter().map(request).collect()
}

/// Appends two FLUSHes, long after all work has started and as long again after that.
pub fn flush_at_the_end(stream: &mut Vec<SlowRequest>) {
    let end = stream.last().map_or(0, |r| r.arrival);
    stream.extend(
        [1, 2].map(|late| SlowRequest::new(Op::Flush, 0, 0).at(end + late * 1_000_000_000)),
    );
}

/// The run on the engine, if the slow model says the same.
pub fn outcome(run: &TimedRun, requests: &[SlowRequest]) -> Outcome {
    let real = run.real(requests);
    compare(&real, &run.slow(requests), &format!("{run:?}"));
    real
}

/// The outcome that the slow model has, if the run says the same however its scheme is built.
pub fn outcome_however_built(run: &TimedRun, requests: &[SlowRequest]) -> Outcome {
    let slow = run.slow(requests);
    for &boxed in ways(&run.scheme()) {
        let run = TimedRun {
            boxed,
            ..run.clone()
        };
        compare(&run.real(requests), &slow, "real and slow");
    }
    slow
}

/// (page, start, end) of each program, by start.
pub fn programs(outcome: &Outcome) -> Vec<(u64, u64, u64)> {
    let times = outcome.programs.iter();
    let mut programs: Vec<_> = times.map(|p| (p.lpn, p.times[1], p.times[3])).collect();
    programs.sort_by_key(|&(page, start, _)| (start, page));
    programs
}

/// Response times.
pub fn times(outcome: &Outcome) -> Vec<u64> {
    outcome.requests.iter().map(|r| r.4 - r.3).collect()
}

/// 24 pages of cache over the device, if there is one.
///
/// # Panics
/// The expression is not legal.
pub fn spec(expr: &str, device: Option<Arc<DeviceConfig>>) -> RunSpec {
    let expr = Expr::parse_with(expr, layers::ALL).expect("a legal expression");
    RunSpec {
        device,
        page: PageSize::KIB4,
        ..RunSpec::cache_only(expr, ByteSize(24 * 4096))
    }
}

/// The record of a run.
///
/// # Panics
/// The run ends in an error.
pub fn run(spec: &RunSpec, trace: &Trace) -> ResultRecord {
    let record = execute(spec, trace, Hooks::default());
    record.unwrap_or_else(|e| panic!("{}: {e}", spec.expr))
}

/// The record of a run of these requests over the device.
pub fn record(expr: &str, device: DeviceConfig, requests: &[SlowRequest]) -> ResultRecord {
    run(&spec(expr, Some(Arc::new(device))), &trace_of(requests))
}

/// The record of a run and its request log.
///
/// # Errors
/// The run ends in one.
pub fn logged(spec: &RunSpec, trace: &Trace) -> Result<(ResultRecord, String), RunError> {
    let log = Pipe::default();
    let hooks = Hooks {
        request_log: Some(Box::new(log.clone())),
        ..Hooks::default()
    };
    Ok((execute(spec, trace, hooks)?, log.text()))
}

/// The record of a run and the rows of its series.
///
/// # Panics
/// The run ends in an error.
pub fn with_series(spec: &RunSpec, trace: &Trace, every: Every) -> (ResultRecord, Vec<SeriesRow>) {
    let rows = Arc::new(Mutex::new(Vec::new()));
    let sink = rows.clone();
    let take = move |row: Option<&SeriesRow>| {
        sink.lock().expect("one writer").extend(row.cloned());
        Ok(())
    };
    let hooks = Hooks {
        series: vec![Series::new(every, Box::new(take))],
        ..Hooks::default()
    };
    let record = execute(spec, trace, hooks).unwrap_or_else(|e| panic!("{e}"));
    let rows = std::mem::take(&mut *rows.lock().expect("the run is over"));
    (record, rows)
}

/// With all times of a device and of its requests `k` times as long a run does the same, and responses
/// take `k` times as long; `device` makes the device for a `k`.
///
/// # Panics
/// They do not.
pub fn scales(expr: &str, device: impl Fn(u64) -> DeviceConfig, stream: &[SlowRequest], k: u64) {
    let run = |k: u64| {
        let longer = stream.iter().map(|r| r.clone().at(r.arrival * k));
        record(expr, device(k), &longer.collect::<Vec<_>>())
    };
    let (once, slow) = (run(1), run(k));
    let what = format!("{expr}, {:?}", device(1));
    assert_eq!(slow.counts, once.counts, "{what}");
    assert_eq!(slow.erase_counts, once.erase_counts, "{what}");
    let [a, b] = [once, slow].map(|record| record.latency_ns.expect("a device has times"));
    for (a, b) in [(a.all, b.all), (a.read, b.read), (a.write, b.write)] {
        let scaled = [a.p50, a.p95, a.p99, a.p999, a.max].map(|t| t.map(|t| t * k));
        assert_eq!([b.p50, b.p95, b.p99, b.p999, b.max], scaled, "{what}");
    }
}

/// Collects a log in memory.
#[derive(Clone, Debug, Default)]
pub struct Pipe(Arc<Mutex<Vec<u8>>>);

impl Pipe {
    /// The log.
    ///
    /// # Panics
    /// It is no text.
    pub fn text(&self) -> String {
        let bytes = self.0.lock().expect("the run is over").clone();
        String::from_utf8(bytes).expect("a log is text")
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut all = self.0.lock().expect("one writer");
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
