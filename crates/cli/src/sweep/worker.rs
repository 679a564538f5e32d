//! Doing batches of a sweep.

use super::grid::Grid;
use super::manifest::Manifest;
use super::planning::{batch_key, context, identity, run_key};
use super::traces::{TraceSources, same};
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::progress::{Follower, Stages};
use crate::run::{
    Batch, CommandState, Overloads, Plan, RunLogs, behind, execute, fit, load, reuse_warning,
    sized, suits, through_host_fs,
};
use crate::terminal::Warnings;
use destage_sim::{ResultRecord, RunSpec};
use destage_trace::Stored;
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
        let grid = Grid::new(&head.text, &head.name, &sources.folder, given.clone())?;
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

    /// The records of batch number `number`, in the order of its runs.
    ///
    /// # Errors
    /// A run failed, its trace is not here, or the batch is not what it was when the sweep was planned.
    pub fn batch(&mut self, number: usize) -> Result<Vec<ResultRecord>, Failure> {
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
                    Some(fs) => behind(run, fs, &plan.host_fs_origin),
                    None => run.clone(),
                });
            }
            first.get_or_insert(plan);
        }
        let first = first.filter(|_| batch_key(keys.iter().map(String::as_str)) == batch.key);
        let first = first.ok_or_else(|| changed(number))?;
        self.state.stages.begin_next();
        self.make_stream(batch.trace, &first)?;
        let Some((_, stream)) = &self.stream else {
            unreachable!("it was made just now");
        };
        let workload = stream.workload();
        let limit = self.given.limit.limit();
        let specs = sized((workload, &specs), &shares, limit, &mut self.warnings)?;
        suits(workload, &specs, &mut self.warnings)?;
        if let Some(fs) = first.args.host_fs.first() {
            self.warnings.extend(reuse_warning(workload, fs, &specs)?);
        }
        let records = self.runs(stream, &specs, keys)?;
        let mut overloads = Overloads::default();
        records.iter().for_each(|record| overloads.add(record));
        self.warnings.extend(overloads.warning(stream.meta()));
        Ok(records)
    }

    fn runs(
        &self,
        stream: &Stored,
        specs: &[RunSpec],
        keys: Vec<String>,
    ) -> Result<Vec<ResultRecord>, Failure> {
        let work = Batch {
            workload: stream.workload(),
            runs: specs,
            jobs: self.given.threads.resolve(),
            limit: self.given.limit.limit(),
            devices: &self.state.devices,
            stages: &self.state.stages,
            logs: &|_| RunLogs::default(),
        };
        let (mut records, mut keys) = (Vec::new(), keys.into_iter());
        execute(&work, &mut |mut record| {
            record.run.key = keys.next().expect("a key for each run");
            records.push(record);
            Ok(())
        })?;
        Ok(records)
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
        if plan.args.fit
            && let Some(run) = plan.runs.first()
        {
            fit(&mut stored, run, limit, &mut self.warnings)?;
        }
        if let Some(fs) = plan.args.host_fs.first() {
            stored = through_host_fs(stored.workload(), fs, &plan.args)?;
        }
        self.stream = Some((key, stored));
        Ok(())
    }
}

fn changed(batch: usize) -> Failure {
    Failure::usage(format!(
        "batch {batch} is not what it was when the sweep was planned: a device file was changed, or is another one \
         on this machine"
    ))
}
