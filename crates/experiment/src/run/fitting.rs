//! How many runs go on at a time in the memory there is, and whether they share prepared devices.

use crate::failures::run_failure_at;
use crate::failures::trace_failure;
use crate::memory::mib;
use crate::run::threads::{ParallelRuns, run_label};
use destage_console::failure::{Failure, RefusedRun};
use destage_console::terminal::say;
use destage_sim::{RunSpec, Touched};
use destage_types::ByteSize;

/// Memory from which on a user wants to know before it is taken.
const LARGE: u64 = 1 << 30;

/// How runs go on.
#[derive(Debug)]
pub struct Fitting {
    /// So many at a time.
    pub jobs: usize,
    /// Do they share prepared devices?
    pub shares: bool,
    /// Runs that need more than the memory by themselves, which the others do without.
    pub refused: Vec<RefusedRun>,
}

/// As many runs as there are threads, or as fit the memory. They share prepared devices unless there is room
/// for one run only without a device beside it. Says what they will need if that is more than 1 GiB.
///
/// # Errors
/// No run fits the memory.
pub fn fitting(of: &ParallelRuns<'_>) -> Result<Fitting, Failure> {
    let as_asked = Fitting {
        jobs: of.jobs,
        shares: true,
        refused: Vec::new(),
    };
    let Some(first) = of.runs.first() else {
        return Ok(as_asked);
    };
    let (trace, limit) = (of.workload.memory(), of.limit.bytes());
    let together = of.jobs.min(of.runs.len());
    let sum = |needs: &[(u64, usize)]| needs.iter().fold(trace, |all, n| all.saturating_add(n.0));
    let beside = |touched: Touched| of.devices.bytes_beside(of.runs, touched);
    // Mostly it is little whatever the trace touches on the devices, and need not be read for it.
    let little = LARGE.min(limit);
    let is_little = |most| sum(&needs(of.runs, most)[..together]) + beside(most) <= little;
    if Touched::at_most(of.runs).is_some_and(is_little) {
        return Ok(as_asked);
    }
    // All runs of a command have the same page.
    let touched = Touched::by(of.workload, first.page).map_err(trace_failure)?;
    let (too_large, needs): (Vec<_>, Vec<_>) = needs(of.runs, touched)
        .into_iter()
        .partition(|need| trace.saturating_add(need.0) > limit);
    let mut refused = too_large.into_iter().map(|need| {
        let what = format!("{}: this run with its trace", run_label(of, need.1));
        RefusedRun {
            run: need.1,
            failure: of.limit.refused(&what, sum(&[need])),
            of_machine: true,
        }
    });
    if needs.is_empty()
        && let Some(largest) = refused.next()
    {
        return Err(largest.failure);
    }
    let refused = refused.collect();
    let together = together.min(needs.len());
    let fit = |beside: u64| {
        let fits = |n: &usize| sum(&needs[..*n]).saturating_add(beside) <= limit;
        (1..=together).rev().find(fits)
    };
    let mut held = beside(touched);
    let mut jobs = fit(held);
    if jobs < Some(together) {
        // Memory for runs goes before prepared devices that later runs may share.
        of.devices.clear();
        held = beside(touched);
        jobs = fit(held);
    }
    let shares = jobs.is_some();
    if !shares {
        (held, jobs) = (0, fit(0));
    }
    let jobs = jobs.expect("each run fits the memory by itself");
    let indexed = touched.fits_index();
    indexed.map_err(|error| run_failure_at(&of.workload.meta.name, error))?;
    let caches = sum(&needs[..jobs]) - trace;
    if jobs < together {
        let allowed = ByteSize(limit);
        say(&format!(
            "note: {jobs} of {together} runs at a time, as {together} would take {} of memory and \
             --memory is {allowed}",
            mib(sum(&needs[..together]) + held)
        ));
    } else if trace + held + caches > LARGE {
        say(&note(trace, held, caches, jobs));
    }
    Ok(Fitting {
        jobs,
        shares,
        refused,
    })
}

/// Memory of each run with its number, the largest first.
fn needs(runs: &[RunSpec], touched: Touched) -> Vec<(u64, usize)> {
    let each = runs.iter().enumerate();
    let mut each: Vec<(u64, usize)> = each.map(|(i, r)| (touched.of_run(r), i)).collect();
    each.sort_unstable_by(|a, b| b.cmp(a));
    each
}

fn note(trace: u64, devices: u64, caches: u64, together: usize) -> String {
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / LARGE as f64);
    let runs = match together {
        1 => "the run".to_owned(),
        n => format!("{n} runs at a time"),
    };
    let shared = match devices {
        0 => String::new(),
        bytes => format!("{} for prepared devices, ", gib(bytes)),
    };
    let (all, trace, caches) = (gib(trace + devices + caches), gib(trace), gib(caches));
    format!("note: needs about {all} of memory: {trace} for the trace, {shared}{caches} for {runs}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryLimit;
    use crate::progress::Stages;
    use crate::run::logs::RunLogs;
    use destage_device::config::EffectiveDevice;
    use destage_scheme::Expr;
    use destage_sim::{PreparedDevices, RunSpec};
    use destage_trace::Trace;
    use destage_types::{HostRequest, Nanos, Op, RequestBatch};

    fn run(cache: u64) -> RunSpec {
        RunSpec::cache_only(Expr::parse("lru").unwrap(), ByteSize(cache))
    }

    /// One request of so many sectors.
    fn one_write(sectors: u32) -> Trace {
        let mut batch = RequestBatch::new();
        batch.push(HostRequest::new(Nanos(0), Op::Write, 0, sectors));
        Trace::generated("test", batch)
    }

    /// How `runs` over `trace` go on under so many bytes of memory.
    fn fitted(
        trace: &Trace,
        runs: &[RunSpec],
        jobs: usize,
        memory: u64,
    ) -> Result<Fitting, Failure> {
        fitting(&ParallelRuns {
            workload: trace.into(),
            runs,
            several: runs.len() > 1,
            jobs,
            limit: MemoryLimit::new(Some(ByteSize(memory))),
            devices: &PreparedDevices::new(0),
            stages: &Stages::new(1),
            logs: &|_| RunLogs::default(),
        })
    }

    #[test]
    fn runs_go_on_together_as_far_as_they_fit() {
        // 24 GiB: 6291456 pages.
        let trace = one_write(48 << 20);
        let jobs = |runs: &[RunSpec], jobs: usize, memory: u64| {
            fitted(&trace, runs, jobs, memory).map(|fitting| fitting.jobs)
        };
        // 660 MiB, 84 MiB, 660 MiB.
        let large = [run(32 << 30), run(1 << 20), run(32 << 30)];
        assert_eq!(jobs(&large, 8, 2 << 30).unwrap(), 3);
        assert_eq!(jobs(&large, 8, 1410 << 20).unwrap(), 3);
        assert_eq!(jobs(&large, 8, 1350 << 20).unwrap(), 2);
        assert_eq!(jobs(&large, 8, 1 << 30).unwrap(), 1);
        let two = [large[0].clone(), large[2].clone()];
        let Err(Failure::Run(refused)) = jobs(&two, 1, 256 << 20) else {
            panic!("neither fits")
        };
        let expected = "test, lru, 32GiB: this run with its trace takes 661MiB of memory, \
                        more than the 256MiB of --memory";
        assert_eq!(refused, expected);
        // The small one goes on without the others.
        let part = fitted(&trace, &large, 8, 256 << 20).unwrap();
        let texts = part.refused.iter().map(|r| (r.run, r.failure.text()));
        let both = [2, 0].map(|run| (run, expected.to_owned()));
        assert_eq!((part.jobs, texts.collect::<Vec<_>>()), (1, both.to_vec()));
        assert_eq!(
            note(0, 0, 1_300_000_000, 2),
            "note: needs about 1.2 GiB of memory: 0.0 GiB for the trace, 1.2 GiB for 2 runs at a time"
        );
    }

    #[test]
    fn devices_are_shared_where_there_is_room_for_one_more() {
        let device = EffectiveDevice::from_preset("ecr-64g", &[]).unwrap();
        let device = std::sync::Arc::new(device.into_config());
        let timed = RunSpec {
            device: Some(device),
            wrap: true,
            ..run(1 << 20)
        };
        let trace = one_write(8);
        let runs = [timed.clone(), timed.clone(), timed];
        let one = Touched::by((&trace).into(), runs[0].page)
            .unwrap()
            .of_run(&runs[0]);
        let fits = |runs: &[RunSpec], bytes: u64| {
            let found = fitted(&trace, runs, 3, bytes);
            found.map(|fitting| (fitting.jobs, fitting.shares)).ok()
        };
        assert_eq!(fits(&runs, 5 * one), Some((3, true)));
        assert_eq!(fits(&runs, 3 * one + one / 2), Some((2, true)));
        assert_eq!(fits(&runs, 2 * one + one / 2), Some((1, true)));
        assert_eq!(fits(&runs, one + one / 2), Some((1, false)));
        assert_eq!(fits(&runs, one / 2), None);
        // Nothing is held beside a run that is the only one, however many could run.
        let alone = fits(&runs[..1], one + one / 2);
        assert!(
            alone.is_some_and(|(jobs, shares)| jobs >= 1 && shares),
            "{alone:?}"
        );
    }
}
