//! Executing the runs over one trace: threads, clocks, progress, memory, logs.

use super::logs::RunLogs;
use crate::failure::Failure;
use crate::terminal::{Progress, say};
use cpu_time::ThreadTime;
use destage_scheme::store::page_index::CHUNK;
use destage_sim::record::RunInfo;
use destage_sim::{Meter, ResultRecord, RunSpec, Sweep};
use destage_trace::{TraceError, Workload};
use destage_types::{Extent, Op, PageSize};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// Runs over one trace.
pub struct Batch<'a> {
    /// The trace.
    pub workload: Workload<'a>,
    /// The runs.
    pub runs: &'a [RunSpec],
    /// Threads.
    pub jobs: usize,
    /// The logs of run number `i`.
    pub logs: &'a (dyn Fn(usize) -> RunLogs + Sync),
}

/// Executes the runs and hands their records to `emit` in the order of the runs, each as soon as
/// it and all before it are there.
///
/// # Errors
/// A run or `emit` failed; further runs are not started.
pub fn execute(
    batch: &Batch<'_>,
    emit: &mut dyn FnMut(ResultRecord) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if let Some(note) = memory_note(batch)? {
        say(&note);
    }
    let requests = batch.workload.len();
    let passes = |run: &RunSpec| run.warmup.resolve(requests).map_or(1, |r| r.1);
    let total = batch.runs.iter().map(passes).sum::<u64>() * requests;
    let progress = Progress::requests(&batch.workload.meta.name, total);
    let counter = AtomicU64::new(0);
    let sweep = Sweep {
        trace: batch.workload,
        runs: batch.runs,
        jobs: batch.jobs,
        version: crate::VERSION,
        progress: &counter,
        meter: &Clocks,
    };
    // Logs of runs that have begun; they are there once the record of their run is.
    let begun = Mutex::new(BTreeMap::new());
    let lock = || begun.lock().unwrap_or_else(PoisonError::into_inner);
    let logs = |run: usize| {
        let (logs, writers) = (batch.logs)(run).open();
        lock().insert(run, logs);
        writers
    };
    let (mut failure, mut next) = (None, 0);
    let done = progress.follow(&counter, || {
        sweep.execute_each(&logs, &mut |record| {
            let complete = lock().remove(&next).map_or(Ok(()), RunLogs::commit);
            next += 1;
            failure = complete
                .and_then(|()| progress.suspend(|| emit(record)))
                .err();
            failure.is_none()
        })
    });
    done.map_err(|failed| Failure::of_run(&place(batch, failed.run), failed.error))?;
    failure.map_or(Ok(()), Err)
}

/// Names the trace of a run and, if there are several, the run.
fn place(batch: &Batch<'_>, run: usize) -> String {
    let trace = &batch.workload.meta.name;
    match batch.runs {
        [_] => trace.clone(),
        runs if runs[run].is_cached() => {
            format!("{trace}, {}, {}", runs[run].expr, runs[run].cache)
        }
        runs => format!("{trace}, {}", runs[run].expr),
    }
}

/// Wall clock and CPU time of the calling thread.
struct Clocks;

impl Meter for Clocks {
    fn measure(&self, run: &mut dyn FnMut()) -> RunInfo {
        let (wall, cpu) = (Instant::now(), ThreadTime::now());
        run();
        RunInfo {
            wall_s: wall.elapsed().as_secs_f64(),
            cpu_s: cpu.elapsed().as_secs_f64(),
            threads: 0,
            host: host().to_owned(),
            key: String::new(),
        }
    }
}

/// Name of the machine; empty if it does not say.
fn host() -> &'static str {
    static HOST: OnceLock<String> = OnceLock::new();
    HOST.get_or_init(|| {
        let files = ["/proc/sys/kernel/hostname", "/etc/hostname"];
        let said = files.iter().find_map(|f| std::fs::read_to_string(f).ok());
        let said = said.or_else(|| std::env::var("COMPUTERNAME").ok());
        said.map_or_else(String::new, |name| name.trim().to_owned())
    })
}

/// Memory from which on a user wants to know before it is taken.
const LARGE: u64 = 1 << 30;
/// Bytes per page frame: address, masks and flags 45 B, lists and marks of a scheme about as much.
const PER_FRAME: u64 = 96;
/// Bytes per page that the trace touches: the index of the cache, and history of a scheme.
const PER_PAGE: u64 = 8;

/// Bytes per mapped flash page: both directions of the map.
const PER_FLASH_PAGE: u64 = 8;
/// Bytes per flash block.
const PER_BLOCK: u64 = 16;

/// What the runs will need, if that is more than 1 GiB.
fn memory_note(batch: &Batch<'_>) -> Result<Option<String>, TraceError> {
    let trace = batch.workload.memory();
    let Some(first) = batch.runs.first() else {
        return Ok(None);
    };
    let together = batch.jobs.min(batch.runs.len());
    let caches = |touched: Touched| {
        let mut each: Vec<u64> = batch.runs.iter().map(|r| run_bytes(r, touched)).collect();
        each.sort_unstable_by(|a, b| b.cmp(a));
        each[..together]
            .iter()
            .fold(0u64, |all, &b| all.saturating_add(b))
    };
    // Mostly it is little whatever the trace touches on the devices, and need not be read for it.
    let most = Touched::at_most(batch.runs);
    if most.is_some_and(|most| trace.saturating_add(caches(most)) <= LARGE) {
        return Ok(None);
    }
    // All runs of a command have the same page.
    let caches = caches(Touched::by(batch.workload, first.page)?);
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / LARGE as f64);
    Ok((trace + caches > LARGE).then(|| {
        let runs = match together {
            1 => "the run".to_owned(),
            n => format!("{n} runs at a time"),
        };
        let (all, trace, caches) = (gib(trace + caches), gib(trace), gib(caches));
        format!("note: needs about {all} of memory: {trace} for the trace, {caches} for {runs}")
    }))
}

/// Pages that a trace touches, at most, and its highest page.
#[derive(Clone, Copy)]
struct Touched {
    pages: u64,
    last: u64,
}

impl Touched {
    /// All pages of the largest device, if every run has one: what lies beyond is refused or wraps.
    fn at_most(runs: &[RunSpec]) -> Option<Touched> {
        let pages = |run: &RunSpec| run.device.as_ref().map(|device| device.logical_pages());
        let pages = runs.iter().map(pages).collect::<Option<Vec<_>>>()?;
        let pages = pages.into_iter().max()?;
        Some(Touched { pages, last: pages })
    }

    fn by(workload: Workload<'_>, page: PageSize) -> Result<Touched, TraceError> {
        let (mut accesses, mut last) = (0u64, 0);
        let up = u64::from(page.sectors()) - 1;
        let mut add = |extent: Extent| {
            let pages = page.page_of(u64::from(extent.sectors) + up).0;
            accesses = accesses.saturating_add(pages);
            last = last.max(page.page_of(extent.end()).0);
        };
        workload.try_each(|_, request| {
            // What is trimmed need not have been there.
            if !matches!(request.head.op, Op::Read | Op::Write) {
                return Ok(());
            }
            match request.only_extent() {
                Some(only) => add(only),
                None => request.extents().for_each(&mut add),
            }
            Ok::<(), TraceError>(())
        })?;
        let pages = accesses.min(last + 1);
        Ok(Touched { pages, last })
    }
}

fn run_bytes(run: &RunSpec, touched: Touched) -> u64 {
    let frames = u64::from(run.capacity().unwrap_or(0)).min(touched.pages);
    let flash = run.device.as_ref().map_or(0, |device| {
        let (geometry, filled) = (&device.geometry, device.precondition.fill.as_f64());
        let blocks = geometry.pages() / u64::from(geometry.pages_per_block);
        let mapped = touched.pages.max((geometry.pages() as f64 * filled) as u64);
        mapped * PER_FLASH_PAGE + blocks * PER_BLOCK
    });
    let index = touched.pages * PER_PAGE + touched.last / CHUNK as u64 * size_of::<u32>() as u64;
    frames * PER_FRAME + index + flash
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_device::config::EffectiveDevice;
    use destage_scheme::Expr;
    use destage_trace::Trace;
    use destage_types::{ByteSize, HostRequest, Nanos, RequestBatch};

    fn run(cache: u64) -> RunSpec {
        RunSpec::cache_only(Expr::parse("lru").unwrap(), ByteSize(cache))
    }

    #[test]
    fn memory_grows_with_cache_and_footprint() {
        let far = HostRequest::new(Nanos(0), Op::Write, 1 << 39, 8);
        let near = HostRequest::new(Nanos(0), Op::Write, 0, 8);
        let touched = |requests: &[HostRequest]| {
            let mut batch = RequestBatch::new();
            requests.iter().for_each(|r| batch.push(*r));
            let trace = Trace::generated("test", batch);
            Touched::by((&trace).into(), PageSize::KIB4).unwrap()
        };
        assert_eq!(run_bytes(&run(1 << 20), touched(&[near])), 96 + 8);
        let trim = HostRequest::new(Nanos(0), Op::Trim, 0, u32::MAX);
        assert_eq!(run_bytes(&run(1 << 20), touched(&[near, trim])), 96 + 8);
        let large = HostRequest::new(Nanos(0), Op::Write, 0, 8 * 300);
        assert_eq!(
            run_bytes(&run(1 << 20), touched(&[large])),
            256 * 96 + 300 * 8
        );
        let whole = run_bytes(&run(1 << 30), touched(&[near, far]));
        assert_eq!(whole, 2 * 96 + 16 + (1 << 36) / CHUNK as u64 * 4);
    }

    #[test]
    fn a_device_bounds_what_a_trace_can_touch() {
        let device = EffectiveDevice::from_preset("default", &[]).unwrap();
        let config = device.into_config();
        let pages = config.logical_pages();
        let timed = RunSpec {
            device: Some(config.into()),
            ..run(1 << 20)
        };
        let most = Touched::at_most(&[timed.clone(), timed.clone()]).unwrap();
        assert_eq!((most.pages, most.last), (pages, pages));
        assert!(Touched::at_most(&[timed, run(1 << 20)]).is_none());
        assert!(Touched::at_most(&[]).is_none());
    }

    #[test]
    fn much_memory_is_announced() {
        // 24 GiB.
        let all = HostRequest::new(Nanos(0), Op::Write, 0, 48 << 20);
        let mut batch = RequestBatch::new();
        batch.push(all);
        let trace = Trace::generated("test", batch);
        let note = |runs: &[RunSpec], jobs: usize| {
            let logs = &|_| RunLogs::default();
            memory_note(&Batch {
                workload: (&trace).into(),
                runs,
                jobs,
                logs,
            })
            .unwrap()
        };
        let large = [run(32 << 30), run(1 << 20), run(32 << 30)];
        assert_eq!(note(&large, 1), None, "one at a time is below 1 GiB");
        assert_eq!(
            note(&large, 2).as_deref(),
            Some(
                "note: needs about 1.2 GiB of memory: 0.0 GiB for the trace, 1.2 GiB for 2 runs \
                 at a time"
            ),
            "the two largest may run together"
        );
    }
}
