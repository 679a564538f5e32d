//! Doing batches of a sweep.

use crate::options::{KeyPlaces, RunArgs};
use crate::progress::{Follower, Stages};
use crate::run::key::{identity, run_key};
use crate::run::{Executor, Plan, StreamRuns, model_host_fs, with_host_fs};
use crate::sinks::{KeptRecords, Sinks};
use crate::sweep::grid::{Grid, SweepDescription};
use crate::sweep::line::{BatchLine, RefusedLine};
use crate::sweep::manifest::Manifest;
use crate::sweep::planning::{batch_key, context, recorded_name};
use crate::sweep::traces::TraceSources;
use destage_console::failure::Failure;
use destage_trace::Stored;
use std::borrow::Cow;
use std::sync::Arc;

/// Does batches of one sweep, one after the other.
pub struct Worker {
    manifest: Arc<Manifest>,
    grid: Grid,
    sources: TraceSources,
    /// Executes its runs and keeps their warnings.
    pub executor: Executor,
    /// The stream of requests that was made last, by trace and context.
    stream: Option<(StreamContext, Stored)>,
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
        let sweep = SweepDescription {
            text: head.text.clone(),
            name: head.name.clone(),
            places: KeyPlaces::without_file(&head.name),
        };
        let executor = Executor::new(batches, true, given.limit.limit());
        let grid = Grid::new(&sweep, &sources.folder, given)?;
        Ok(Worker {
            executor,
            manifest,
            grid,
            sources,
            stream: None,
            plan: None,
        })
    }

    /// Tells `follower` how far the next batches have come, and lets it end them.
    pub fn follow(&mut self, follower: Arc<Follower>) {
        self.executor.stages = Stages::followed(follower);
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
            let fs = plan.host_fs.first().map(|fs| &*fs.text);
            let name = recorded_name(trace, fs);
            shares.extend_from_slice(&plan.shares[range.clone()]);
            for (run, share) in runs.iter().zip(&plan.shares[range]) {
                keys.push(run_key(&name, &trace.sha256, &identity(&plan, run, *share)));
                specs.push(match plan.host_fs.first() {
                    Some(fs) => with_host_fs(run, fs, &plan.host_fs_origin),
                    None => run.clone(),
                });
            }
            first.get_or_insert(plan);
        }
        let first = first.filter(|_| batch_key(keys.iter().map(String::as_str)) == batch.key);
        let first = first.ok_or_else(|| changed(number))?;
        self.executor.stages.begin_next();
        let context = self.make_stream(batch.trace, &first)?;
        let stream = self.stream.take().expect("it was made just now").1;
        let runs = StreamRuns {
            specs: &specs,
            shares: &shares,
            host_fs: first.host_fs.first(),
            keys: Some(&keys),
            several: true,
        };
        let (mut kept, mut stream) = (KeptRecords::default(), Cow::Owned(stream));
        let mut sinks: Sinks<'_> = vec![Box::new(&mut kept)];
        let done = (self.executor).execute_stream(&first, &runs, &mut stream, &mut sinks);
        drop(sinks);
        self.stream = Some((context, stream.into_owned()));
        match done {
            // The trace does not suit any of the runs, wherever they are tried.
            Err(Failure::Usage(faults)) => {
                let why = || Failure::Usage(faults.clone());
                Ok(keys.iter().map(|key| refused(why(), key)).collect())
            }
            Err(other) => Err(other),
            Ok(()) => self.lines(kept, &keys),
        }
    }

    /// The lines of the runs with these keys, which have `kept` their records or were refused.
    fn lines(&mut self, kept: KeptRecords, keys: &[String]) -> Result<Vec<BatchLine>, Failure> {
        let mut lines: Vec<Option<BatchLine>> = keys.iter().map(|_| None).collect();
        for run in std::mem::take(&mut self.executor.refused) {
            // Another machine may have the memory for a run that this one refuses.
            if run.of_machine {
                return Err(run.failure);
            }
            lines[run.run] = Some(refused(run.failure, &keys[run.run]));
        }
        let records = kept.records.into_iter().map(|kept| Box::new(kept.0));
        let mut records = records.map(BatchLine::Record);
        let lines = lines
            .into_iter()
            .map(|line| line.or_else(|| records.next()));
        let lines: Option<Vec<BatchLine>> = lines.collect();
        Ok(lines.expect("a run has a record, or is refused"))
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

    /// Reads the trace as `plan` says, unless that is what was read last, and gives what tells it from others.
    fn make_stream(&mut self, number: usize, plan: &Plan) -> Result<StreamContext, Failure> {
        let key = (number, context(plan));
        if self.stream.as_ref().is_some_and(|known| known.0 == key) {
            return Ok(key);
        }
        // The old one goes before the new one takes its memory.
        self.stream = None;
        let trace = &self.manifest.head.traces[number];
        let (memory, warnings) = (plan.machine.trace_memory, &mut self.executor.warnings);
        let mut stored = self.sources.load(trace, &plan.load, memory, warnings)?;
        stored.meta_mut().name.clone_from(&trace.name);
        if let Some(fs) = plan.host_fs.first() {
            stored = model_host_fs(stored.workload(), fs, plan)?;
        }
        self.stream = Some((key.clone(), stored));
        Ok(key)
    }
}

/// Number of a trace, and what runs over one stream have in common.
type StreamContext = (usize, String);

fn refused(failure: Failure, key: &str) -> BatchLine {
    BatchLine::Refused(RefusedLine::new(failure.text(), key.to_owned()))
}

fn changed(batch: usize) -> Failure {
    Failure::usage(format!(
        "batch {batch} differs from the planned sweep: a device file was changed, or this machine has another \
         version of it"
    ))
}
