//! Executing plans: each trace becomes one or several streams of requests, and the runs over each stream go on
//! together. Every command, sweep, and program executes its runs here.

use crate::failures::{run_failure, trace_failure};
use crate::memory::MemoryLimit;
use crate::options::{FootprintShare, HostFsArg};
use crate::progress::Stages;
use crate::run::charts::ChartCollector;
use crate::run::input::{self, check_workload};
use crate::run::key::{identity, run_key};
use crate::run::logs::RunLogs;
use crate::run::overload::Overloads;
use crate::run::plan::Plan;
use crate::run::scene_collector::SceneCollector;
use crate::run::shares::sized;
use crate::run::threads::{ParallelRuns, simulate};
use crate::sinks::{FinishedRun, Sinks};
use destage_console::failure::{Failure, RefusedRun};
use destage_console::terminal::{Warnings, say};
use destage_record::ResultRecord;
use destage_sim::{PreparedDevices, RunSpec};
use destage_trace::{Stored, TraceMeta};
use std::borrow::Cow;

/// Executes the runs of one command.
pub struct Executor {
    /// Prepared devices, which runs share.
    devices: PreparedDevices,
    /// The traces of the command.
    pub stages: Stages,
    /// Warnings, and runs that were left out.
    pub warnings: Warnings,
    /// Nobody is told which runs were done before.
    pub quiet: bool,
    /// Has a run a record?
    pub any: bool,
    /// Runs over the last stream that cannot run.
    pub refused: Vec<RefusedRun>,
}

/// Runs over one stream of requests.
pub struct StreamRuns<'a> {
    /// The runs.
    pub specs: &'a [RunSpec],
    /// Of each run, the share of the footprint that its cache is, if it is one.
    pub shares: &'a [Option<FootprintShare>],
    /// The file system that made the requests.
    pub host_fs: Option<&'a HostFsArg>,
    /// Keys of the runs, where they are known before their sizes are.
    pub keys: Option<&'a [String]>,
    /// Has the command other runs over the trace, so that a failure names its scheme and size?
    pub several: bool,
}

impl Executor {
    /// That of a command over so many traces. Where `several` streams follow each other, some prepared devices
    /// are kept in a part of the memory.
    pub fn new(traces: usize, several: bool, limit: MemoryLimit) -> Executor {
        Executor {
            devices: PreparedDevices::new(if several { limit.bytes() / 8 } else { 0 }),
            stages: Stages::new(traces),
            warnings: Warnings::default(),
            quiet: false,
            any: false,
            refused: Vec::new(),
        }
    }

    /// That of a program: nothing is said, and `stages` tell it how far runs have come.
    pub fn quiet(stages: Stages, several: bool, limit: MemoryLimit) -> Executor {
        Executor {
            stages,
            warnings: Warnings::unsaid(),
            quiet: true,
            ..Executor::new(1, several, limit)
        }
    }

    /// Executes the runs of `plan` over a trace, once for each file system. Addresses that `--addresses fit` moves
    /// stay moved.
    ///
    /// # Errors
    /// The trace does not suit the runs, or one of them failed.
    pub fn execute(
        &mut self,
        plan: &Plan,
        trace: &mut Cow<'_, Stored>,
        sinks: &mut Sinks<'_>,
    ) -> Result<(), Failure> {
        let plain = StreamRuns {
            specs: &plan.runs,
            shares: &plan.shares,
            host_fs: None,
            keys: None,
            several: plan.runs.len() > 1 || !plan.refused.is_empty(),
        };
        if plan.host_fs.is_empty() {
            let done = self.execute_stream(plan, &plain, trace, sinks);
            self.tell_refused();
            return done;
        }
        for fs in &plan.host_fs {
            let modelled = input::model_host_fs(trace.workload(), fs, plan)?;
            let runs = plan.runs.iter();
            let runs: Vec<RunSpec> = runs
                .map(|run| input::with_host_fs(run, fs, &plan.host_fs_origin))
                .collect();
            let runs = StreamRuns {
                specs: &runs,
                host_fs: Some(fs),
                ..plain
            };
            let done = self.execute_stream(plan, &runs, &mut Cow::Owned(modelled), sinks);
            self.tell_refused();
            done?;
        }
        Ok(())
    }

    /// Says which runs over the last stream were left out.
    fn tell_refused(&mut self) {
        for run in std::mem::take(&mut self.refused) {
            self.warnings.leave_out(run.failure);
        }
    }

    /// Executes runs over one stream of requests, and hands the records of all to `sinks`, in the order of the
    /// runs: also those of runs that a sink knows to be done. Runs that cannot run are in `refused` then.
    ///
    /// # Errors
    /// A fault of all runs, or a record cannot be written.
    pub fn execute_stream(
        &mut self,
        plan: &Plan,
        of: &StreamRuns<'_>,
        stream: &mut Cow<'_, Stored>,
        sinks: &mut Sinks<'_>,
    ) -> Result<(), Failure> {
        self.refused.clear();
        let memory = plan.machine.memory;
        let sized = sized(stream.workload(), of, memory, &mut self.warnings)
            .map_err(|failure| plan.filed.placed(failure))?;
        self.refused = sized.refused;
        let is_open = |run: &usize| self.refused.iter().all(|refused| refused.run != *run);
        let numbers: Vec<usize> = (0..of.specs.len()).filter(is_open).collect();
        if let Some(fs) = of.host_fs {
            let found = input::reuse_warning(stream.workload(), fs, &sized.runs);
            self.warnings.extend(found.map_err(trace_failure)?);
        }
        input::fit_shared(stream, plan, &mut self.warnings)?;
        let workload = stream.workload();
        let specs = input::with_fit_recorded(workload.meta, sized.runs);
        check_workload(workload, &specs, &mut self.warnings)
            .map_err(|failure| plan.filed.placed(failure))?;
        let keys = match of.keys {
            Some(keys) => numbers.iter().map(|&run| keys[run].clone()).collect(),
            None if sinks.iter().any(|sink| sink.has_keys()) => keys(plan, workload.meta, &specs),
            None => vec![String::new(); specs.len()],
        };
        let logs = |run: usize| plan.logs.logs(&workload.meta.name, &specs[run], &keys[run]);
        let finished = |run: usize| sinks.iter().find_map(|sink| sink.finished(&keys[run]));
        let earlier = |run: usize| finished(run).filter(|_| logs(run).are_there()).cloned();
        let earlier: Vec<Option<ResultRecord>> = (0..specs.len()).map(earlier).collect();
        let open: Vec<usize> = (0..specs.len())
            .filter(|&run| earlier[run].is_none())
            .collect();
        if open.len() < specs.len() && !self.quiet {
            let (name, all) = (&workload.meta.name, specs.len());
            let done = all - open.len();
            say(&format!(
                "{name}: {done} of {all} runs are done already (--fresh repeats them)"
            ));
        }
        let open_specs: Vec<RunSpec> = open.iter().map(|&run| specs[run].clone()).collect();
        let drawn = sinks.iter().any(|sink| sink.draws_charts());
        let collector = |spec| drawn.then(|| ChartCollector::new(spec, workload.len()));
        let charts: Vec<Option<ChartCollector>> = open_specs.iter().map(collector).collect();
        let limit = plan.machine.memory.of_timeline();
        let scene = |spec| match plan.watch {
            Some(ask) => SceneCollector::new(ask, spec, workload, limit).map(Some),
            None => Ok(None),
        };
        let scenes: Result<Vec<Option<SceneCollector>>, _> = open_specs.iter().map(scene).collect();
        let scenes = scenes.map_err(run_failure)?;
        let runs = ParallelRuns {
            workload,
            runs: &open_specs,
            several: of.several,
            jobs: plan.machine.jobs,
            limit: plan.machine.memory,
            devices: &self.devices,
            stages: &self.stages,
            logs: &|i| RunLogs {
                charts: charts[i].clone(),
                scene: scenes[i].clone(),
                ..logs(open[i])
            },
        };
        let mut records = StreamRecords {
            sinks,
            earlier,
            overloads: Overloads::default(),
        };
        let failed = simulate(&runs, &mut |i, mut record| {
            record.run.key.clone_from(&keys[open[i]]);
            let new = FinishedRun {
                record,
                charts: charts[i].as_ref().map(ChartCollector::take_charts),
                scene: scenes[i].as_ref().and_then(SceneCollector::take),
                is_new: true,
            };
            records.hand_over(open[i], Some(new))
        })?;
        records.hand_over(specs.len(), None)?;
        self.any |= failed.len() < specs.len();
        self.warnings
            .extend(records.overloads.warnings(workload.meta));
        self.refused
            .extend(failed.into_iter().map(|failed| RefusedRun {
                run: numbers[open[failed.run]],
                ..failed
            }));
        Ok(())
    }
}

/// The keys of runs over a trace.
fn keys(plan: &Plan, trace: &TraceMeta, runs: &[RunSpec]) -> Vec<String> {
    let sha256 = trace.sha256.as_deref().unwrap_or_default();
    let key = |run: &RunSpec| run_key(&trace.name, sha256, &identity(plan, run, None));
    runs.iter().map(key).collect()
}

/// Records of runs over one stream, on their way to the sinks.
struct StreamRecords<'a, 'b> {
    sinks: &'a mut Sinks<'b>,
    /// Those of runs that were done before.
    earlier: Vec<Option<ResultRecord>>,
    overloads: Overloads,
}

impl StreamRecords<'_, '_> {
    /// Hands over the records of runs before number `run` that were done before, then a `new` one.
    fn hand_over(&mut self, run: usize, new: Option<FinishedRun>) -> Result<(), Failure> {
        let earlier = self.earlier[..run].iter_mut().filter_map(Option::take);
        let earlier = earlier.map(|record| FinishedRun {
            record,
            charts: None,
            scene: None,
            is_new: false,
        });
        for run in earlier.chain(new) {
            self.overloads.add(&run.record);
            self.sinks.iter_mut().try_for_each(|sink| sink.take(&run))?;
        }
        Ok(())
    }
}
