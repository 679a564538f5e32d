//! Executing the runs over one trace: threads, clocks, progress, memory, logs.

use super::logs::RunLogs;
use crate::failure::Failure;
use crate::memory::{MemoryLimit, MemoryWatch, mib};
use crate::terminal::{Progress, say};
use cpu_time::ThreadTime;
use destage_sim::record::RunInfo;
use destage_sim::{MemoryExcess, Meter, ResultRecord, RunSpec, Sweep, Touched};
use destage_trace::Workload;
use destage_types::ByteSize;
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
    /// What all of it may take.
    pub limit: MemoryLimit,
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
    let jobs = jobs_that_fit(batch)?;
    let requests = batch.workload.len();
    let passes = |run: &RunSpec| run.warmup.resolve(requests).map_or(1, |r| r.1);
    let total = batch.runs.iter().map(passes).sum::<u64>() * requests;
    let progress = Progress::requests(&batch.workload.meta.name, total);
    let counter = AtomicU64::new(0);
    let sweep = Sweep {
        trace: batch.workload,
        runs: batch.runs,
        jobs,
        version: crate::VERSION,
        progress: &counter,
        meter: &Clocks::new(batch.limit),
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

/// Wall clock and CPU time of the calling thread, and the memory of the program.
pub struct Clocks {
    memory: MemoryWatch,
}

impl Clocks {
    /// Clocks of a command that may take so much memory.
    pub fn new(limit: MemoryLimit) -> Clocks {
        Clocks {
            memory: MemoryWatch::new(limit),
        }
    }
}

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

    fn excess(&self) -> Option<MemoryExcess> {
        let (bytes, limit) = (self.memory.exceeded()?, self.memory.limit.bytes());
        Some(MemoryExcess { bytes, limit })
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

/// How many of the runs go on at a time: as many as there are threads, or as fit the memory. Says what
/// they will need if that is more than 1 GiB.
///
/// # Errors
/// A run does not fit the memory.
fn jobs_that_fit(batch: &Batch<'_>) -> Result<usize, Failure> {
    let trace = batch.workload.memory();
    let Some(first) = batch.runs.first() else {
        return Ok(batch.jobs);
    };
    let together = batch.jobs.min(batch.runs.len());
    let needs = |touched: Touched| {
        let runs = batch.runs.iter().enumerate();
        let mut each: Vec<(u64, usize)> = runs.map(|(i, r)| (touched.of_run(r), i)).collect();
        each.sort_unstable_by(|a, b| b.cmp(a));
        each
    };
    let sum = |needs: &[(u64, usize)]| needs.iter().fold(trace, |all, n| all.saturating_add(n.0));
    // Mostly it is little whatever the trace touches on the devices, and need not be read for it.
    let little = LARGE.min(batch.limit.bytes());
    let most = Touched::at_most(batch.runs);
    if most.is_some_and(|most| sum(&needs(most)[..together]) <= little) {
        return Ok(batch.jobs);
    }
    // All runs of a command have the same page.
    let touched = Touched::by(batch.workload, first.page)?;
    let needs = needs(touched);
    let fit = (1..=together)
        .rev()
        .find(|&n| sum(&needs[..n]) <= batch.limit.bytes());
    let Some(fit) = fit else {
        let what = format!("{}: this run with its trace", place(batch, needs[0].1));
        return Err(batch.limit.refused(&what, sum(&needs[..1])));
    };
    let indexed = touched.fits_index();
    indexed.map_err(|error| Failure::of_run(&batch.workload.meta.name, error))?;
    if fit < together {
        let allowed = ByteSize(batch.limit.bytes());
        say(&format!(
            "note: {fit} of {together} runs at a time, as {together} would take {} of memory and \
             --memory is {allowed}",
            mib(sum(&needs[..together]))
        ));
    } else if sum(&needs[..fit]) > LARGE {
        say(&note(trace, sum(&needs[..fit]) - trace, fit));
    }
    Ok(fit)
}

fn note(trace: u64, caches: u64, together: usize) -> String {
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / LARGE as f64);
    let runs = match together {
        1 => "the run".to_owned(),
        n => format!("{n} runs at a time"),
    };
    let (all, trace, caches) = (gib(trace + caches), gib(trace), gib(caches));
    format!("note: needs about {all} of memory: {trace} for the trace, {caches} for {runs}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_scheme::Expr;
    use destage_trace::Trace;
    use destage_types::{HostRequest, Nanos, Op, RequestBatch};

    fn run(cache: u64) -> RunSpec {
        RunSpec::cache_only(Expr::parse("lru").unwrap(), ByteSize(cache))
    }

    #[test]
    fn runs_go_on_together_as_far_as_they_fit() {
        // 24 GiB: 6291456 pages.
        let all = HostRequest::new(Nanos(0), Op::Write, 0, 48 << 20);
        let mut batch = RequestBatch::new();
        batch.push(all);
        let trace = Trace::generated("test", batch);
        let jobs = |runs: &[RunSpec], jobs: usize, memory: u64| {
            let limit = MemoryLimit::new(Some(ByteSize(memory)));
            jobs_that_fit(&Batch {
                workload: (&trace).into(),
                runs,
                jobs,
                limit,
                logs: &|_| RunLogs::default(),
            })
        };
        // 660 MiB, 84 MiB, 660 MiB.
        let large = [run(32 << 30), run(1 << 20), run(32 << 30)];
        assert_eq!(jobs(&large, 8, 2 << 30).unwrap(), 3);
        assert_eq!(jobs(&large, 8, 1410 << 20).unwrap(), 3);
        assert_eq!(jobs(&large, 8, 1350 << 20).unwrap(), 2);
        assert_eq!(jobs(&large, 8, 1 << 30).unwrap(), 1);
        let Err(Failure::Run(refused)) = jobs(&large, 1, 256 << 20) else {
            panic!("it does not fit")
        };
        let expected = "test, lru, 32GiB: this run with its trace takes 661MiB of memory, \
                        more than the 256MiB of --memory";
        assert_eq!(refused, expected);
        assert_eq!(
            note(0, 1_300_000_000, 2),
            "note: needs about 1.2 GiB of memory: 0.0 GiB for the trace, 1.2 GiB for 2 runs at a time"
        );
    }
}
