//! Doing batches of a sweep.

use crate::failures::trace_failure;
use crate::options::{FootprintShare, KeyPlaces, RunArgs};
use crate::progress::{Follower, Stages};
use crate::run::{
    Batch, CommandState, Overloads, Plan, RunLogs, check_workload, execute, fit, load,
    model_host_fs, reuse_warning, sized, with_fit_recorded, with_host_fs,
};
use crate::sweep::grid::Grid;
use crate::sweep::line::{BatchLine, RefusedLine};
use crate::sweep::manifest::Manifest;
use crate::sweep::planning::{batch_key, context, identity, run_key};
use crate::sweep::traces::{TraceSources, same};
use destage_console::failure::{Failure, RefusedRun};
use destage_console::terminal::Warnings;
use destage_sim::RunSpec;
use destage_trace::{Stored, Workload};
use std::sync::Arc;

/// Does batches of one sweep, one after the other.
pub struct Worker {
    manifest: Arc<Manifest>,
    grid: Grid,
    sources: TraceSources,
    given: RunArgs,
    state: CommandState,
    /// What was said of its runs.
    pub warnings: Warnings,
    /// The stream of requests that was made last, by trace and context.
    stream: Option<((usize, String), Stored)>,
    /// The plan that was made last: batches mostly go on with it.
    plan: Option<(usize, Arc<Plan>)>,
}

impl Worker {
    /// A worker of the sweep of `manifest` under options of this machine, with batches to do in it.
    ///
    /// # Errors
    /// The manifest has no sweep in it.
    pub fn new(
        manifest: Arc<Manifest>,
        sources: TraceSources,
        given: RunArgs,
        batches: usize,
    ) -> Result<Worker, Failure> {
        let head = &manifest.head;
        // The file may be elsewhere, and its faults were found when the sweep was planned.
        let places = KeyPlaces::without_file(&head.name);
        let name = (head.name.as_str(), &places);
        let grid = Grid::new(&head.text, name, &sources.folder, given.clone())?;
        Ok(Worker {
            state: CommandState::new(batches, true, given.limit.limit()),
            manifest,
            grid,
            sources,
            given,
            warnings: Warnings::default(),
            stream: None,
            plan: None,
        })
    }

    /// Tells `follower` how far the next batches have come, and lets it end them.
    pub fn follow(&mut self, follower: Arc<Follower>) {
        self.state.stages = Stages::followed(follower);
    }

    /// Makes sure that the traces of these batches are here, and copies them to the cache of the machine if it
    /// has one.
    ///
    /// # Errors
    /// All faults.
    pub fn look_for_traces(&self, batches: &[usize]) -> Result<(), Failure> {
        let mut traces: Vec<usize> = batches
            .iter()
            .map(|&b| self.manifest.batches[b].trace)
            .collect();
        traces.sort_unstable();
        traces.dedup();
        let mut faults = Vec::new();
        for trace in traces {
            match self.sources.file(&self.manifest.head.traces[trace]) {
                Err(Failure::Usage(found)) => faults.extend(found),
                found => _ = found?,
            }
        }
        Failure::unless_none(faults)
    }

    /// The lines of batch number `number`, in the order of its runs.
    ///
    /// # Errors
    /// All runs failed, or one for a reason of this machine; its trace is not here, or the batch is not what it was when the sweep was planned.
    pub fn batch(&mut self, number: usize) -> Result<Vec<BatchLine>, Failure> {
        let manifest = Arc::clone(&self.manifest);
        let batch = &manifest.batches[number];
        let trace = &manifest.head.traces[batch.trace];
        let (mut specs, mut keys) = (Vec::new(), Vec::new());
        let (mut shares, mut first) = (Vec::new(), None);
        for &(plan, from, runs) in &batch.runs {
            let plan = self.plan(plan)?;
            let range = from..from + runs;
            let Some(runs) = plan.runs.get(range.clone()) else {
                return Err(changed(number));
            };
            shares.extend_from_slice(&plan.shares[range]);
            for run in runs {
                keys.push(run_key(trace, &identity(&plan, run)));
                specs.push(match plan.args.host_fs.first() {
                    Some(fs) => with_host_fs(run, fs, &plan.host_fs_origin),
                    None => run.clone(),
                });
            }
            first.get_or_insert(plan);
        }
        let first = first.filter(|_| batch_key(keys.iter().map(String::as_str)) == batch.key);
        let first = first.ok_or_else(|| changed(number))?;
        self.state.stages.begin_next();
        self.make_stream(batch.trace, &first)?;
        match self.over_stream(&first, &specs, &shares, &keys) {
            // The trace does not suit any of the runs, wherever they are tried.
            Err(Failure::Usage(faults)) => {
                let why = || Failure::Usage(faults.clone());
                Ok(keys.iter().map(|key| refused(why(), key)).collect())
            }
            done => done,
        }
    }

    /// The lines of `specs`, which have these shares and keys, over the stream that was made last.
    fn over_stream(
        &mut self,
        plan: &Plan,
        specs: &[RunSpec],
        shares: &[Option<FootprintShare>],
        keys: &[String],
    ) -> Result<Vec<BatchLine>, Failure> {
        if let Some((_, stream)) = &mut self.stream {
            fit(stream, plan, &mut self.warnings)?;
        }
        let Some((_, stream)) = &self.stream else {
            unreachable!("it was made just now");
        };
        let workload = stream.workload();
        let limit = self.given.limit.limit();
        let sized = sized((workload, specs), shares, limit, &mut self.warnings)?;
        let mut lines: Vec<Option<BatchLine>> = keys.iter().map(|_| None).collect();
        for RefusedRun { run, failure, .. } in sized.refused {
            lines[run] = Some(refused(failure, &keys[run]));
        }
        let open: Vec<usize> = (0..keys.len()).filter(|&i| lines[i].is_none()).collect();
        let specs = with_fit_recorded(workload.meta, sized.runs);
        check_workload(workload, &specs, &mut self.warnings)?;
        if let Some(fs) = plan.args.host_fs.first() {
            self.warnings
                .extend(reuse_warning(workload, fs, &specs).map_err(trace_failure)?);
        }
        let open_keys: Vec<&str> = open.iter().map(|&i| &*keys[i]).collect();
        let mut overloads = Overloads::default();
        for (run, line) in self.runs(workload, &specs, &open_keys)? {
            if let BatchLine::Record(record) = &line {
                overloads.add(record);
            }
            lines[open[run]] = Some(line);
        }
        self.warnings.extend(overloads.warning(workload.meta));
        Ok(lines.into_iter().flatten().collect())
    }

    /// The lines of runs over `workload`, with their numbers.
    fn runs(
        &self,
        workload: Workload<'_>,
        specs: &[RunSpec],
        keys: &[&str],
    ) -> Result<Vec<(usize, BatchLine)>, Failure> {
        let work = Batch {
            workload,
            runs: specs,
            several: true,
            jobs: self.given.threads.resolve(),
            limit: self.given.limit.limit(),
            devices: &self.state.devices,
            stages: &self.state.stages,
            logs: &|_| RunLogs::default(),
        };
        let mut lines = Vec::with_capacity(specs.len());
        let failed = execute(&work, &mut |run, mut record| {
            keys[run].clone_into(&mut record.run.key);
            lines.push((run, BatchLine::Record(Box::new(record))));
            Ok(())
        })?;
        for refusal in failed {
            // What this machine has no memory for another one may run.
            if refusal.of_machine {
                return Err(refusal.failure);
            }
            let run = refusal.run;
            lines.push((run, refused(refusal.failure, keys[run])));
        }
        Ok(lines)
    }

    fn plan(&mut self, number: usize) -> Result<Arc<Plan>, Failure> {
        if let Some((known, plan)) = &self.plan
            && *known == number
        {
            return Ok(Arc::clone(plan));
        }
        let plan = Arc::new(self.grid.plan(number)?);
        self.plan = Some((number, Arc::clone(&plan)));
        Ok(plan)
    }

    /// Reads the trace as `plan` says, unless that is what was read last.
    fn make_stream(&mut self, number: usize, plan: &Plan) -> Result<(), Failure> {
        let key = (number, context(plan));
        if self.stream.as_ref().is_some_and(|known| known.0 == key) {
            return Ok(());
        }
        // The old one goes before the new one takes its memory.
        self.stream = None;
        let trace = &self.manifest.head.traces[number];
        let file = self.sources.file(trace)?;
        let limit = self.given.limit.limit();
        let memory = self.given.memory.of_requests(limit);
        let mut stored = load(&file, &plan.load, memory, &mut self.warnings)?;
        let sha256 = stored.meta().sha256.clone();
        same(trace, &file, &sha256.unwrap_or_default())?;
        stored.meta_mut().name.clone_from(&trace.name);
        if let Some(fs) = plan.args.host_fs.first() {
            stored = model_host_fs(stored.workload(), fs, &plan.args)?;
        }
        self.stream = Some((key, stored));
        Ok(())
    }
}

fn refused(failure: Failure, key: &str) -> BatchLine {
    BatchLine::Refused(RefusedLine::new(failure.text(), key.to_owned()))
}

fn changed(batch: usize) -> Failure {
    Failure::usage(format!(
        "batch {batch} differs from the planned sweep: a device file was changed, or this machine has another \
         version of it"
    ))
}
