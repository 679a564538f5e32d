//! One run from a decoded trace to a result record.

use crate::counts::{Counts, ratio};
use crate::device::{address_space, prepare};
use crate::engine::Completion;
use crate::flash::{CacheOnly, Flash};
use crate::future;
use crate::log::RequestLog;
use crate::observe::Observer;
use crate::record::{CountFields, Ratios, Reading, ResultRecord, RunInfo, SCHEMA, TraceInfo};
use crate::sample::{SAMPLE_EVERY, Samples};
use crate::spec::{RunError, RunSpec};
use crate::walk::{ReadFill, Walk, WalkOptions};
use destage_scheme::leaf::{Belady, Future, NextOf};
use destage_scheme::registry::{Build, Visit, build_any};
use destage_scheme::{Boxed, Env, Scheme};
use destage_trace::Trace;
use destage_types::{Nanos, StaticLayout};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a run tells while it runs and what it is told beside its settings.
#[derive(Default)]
pub struct Hooks<'a> {
    /// Requests served so far by all runs that share it.
    pub progress: Option<&'a AtomicU64>,
    /// Sees every event of the measured part.
    pub observer: Option<Box<dyn Observer + Send>>,
    /// Completed requests of the measured part go there, in request order. Needs a device.
    pub request_log: Option<Box<dyn Write + Send>>,
    /// Version of destage for the record.
    pub version: &'a str,
}

/// Requests whose pages are looked up together before they are served.
const LOOK_AHEAD: usize = 32;

/// Time between two passes over a trace, so that they do not overlap (spec 00, "Time").
const PASS_GAP: Nanos = Nanos(1_000_000);

/// Executes one run. [`RunSpec::check`] must have passed.
///
/// # Errors
/// The run cannot start.
pub fn execute(spec: &RunSpec, trace: &Trace, hooks: Hooks<'_>) -> Result<ResultRecord, RunError> {
    spec.check()?;
    let plan = Plan::new(spec, trace)?;
    let run = Execution {
        spec,
        trace,
        hooks,
        plan,
    };
    let env = run.env();
    if spec.expr.scheme().name == "belady" {
        let future = run.future(Belady::next_of(&spec.expr))?;
        let belady = Belady::from_expr(&spec.expr, &env, Arc::new(future));
        return match spec.boxed {
            true => run.visit(Boxed(Box::new(belady))),
            false => run.visit(belady),
        };
    }
    if spec.boxed {
        return run.visit(Boxed::build(&spec.expr, &env));
    }
    build_any(&spec.expr, &env, run)
}

#[derive(Clone, Copy)]
struct Plan {
    capacity: u32,
    warmup: u64,
    passes: u64,
}

impl Plan {
    fn new(spec: &RunSpec, trace: &Trace) -> Result<Plan, RunError> {
        let (warmup, passes) = spec.warmup.resolve(trace.requests.len() as u64)?;
        Ok(Plan {
            capacity: spec.capacity()?,
            warmup,
            passes,
        })
    }
}

struct Execution<'a> {
    spec: &'a RunSpec,
    trace: &'a Trace,
    hooks: Hooks<'a>,
    plan: Plan,
}

impl Execution<'_> {
    fn layout(&self) -> StaticLayout {
        match &self.spec.device {
            Some(device) => device.layout(),
            None => StaticLayout::flat(1, 1),
        }
    }

    /// Sectors of the address space that addresses are taken modulo of, if they are.
    fn wrap(&self) -> Option<u64> {
        match &self.spec.device {
            Some(device) if self.spec.wrap => Some(address_space(device)),
            _ => None,
        }
    }

    fn future(&self, next_of: NextOf) -> Result<Future, RunError> {
        let (requests, passes) = (&self.trace.requests, self.plan.passes);
        let future = future::collect(requests, self.spec.page, self.wrap(), passes, next_of);
        future.map_err(RunError::Future)
    }

    fn env(&self) -> Env {
        let mut env = Env::cache_only(self.plan.capacity);
        env.page = self.spec.page;
        env.layout = self.layout();
        env.read_alloc = self.spec.resolved_read_alloc();
        env.seed = self.spec.seed;
        env.background = self.spec.has_background();
        if let Some(device) = &self.spec.device {
            env.pages_per_block = device.geometry.pages_per_block;
        }
        env
    }
}

impl Visit for Execution<'_> {
    type Out = Result<ResultRecord, RunError>;

    fn visit<S: Scheme + Send + 'static>(self, scheme: S) -> Self::Out {
        let options = WalkOptions {
            read_alloc: self.spec.resolved_read_alloc(),
            read_fill: self.spec.read_fill,
            rmw: self.spec.rmw,
            wrap: self.wrap(),
        };
        let (capacity, page, layout) = (self.plan.capacity, self.spec.page, self.layout());
        let Some(device) = &self.spec.device else {
            return self.drive(Walk::new(
                scheme, CacheOnly, capacity, page, layout, options,
            ));
        };
        let background = self.spec.has_background();
        let engine = prepare(device, self.trace, self.spec.wrap, background)?;
        let mut walk = Walk::new(scheme, engine, capacity, page, layout, options);
        if background {
            walk.enable_background();
        }
        self.drive(walk)
    }
}

impl Execution<'_> {
    /// Replays the trace, warm-up first, and makes the record.
    fn drive<S: Scheme, F: Flash>(
        mut self,
        mut walk: Walk<S, F>,
    ) -> Result<ResultRecord, RunError> {
        let requests = self.trace.requests.len() as u64;
        let end = requests * self.plan.passes;
        let mut samples = Samples::default();
        let mut log = None;
        let mut at = 0;
        if self.plan.warmup == 0 {
            log = self.start_measuring(&mut walk)?;
        }
        while at < end {
            // The next point where something besides serving happens.
            let measured = at >= self.plan.warmup;
            let pause = if measured {
                at + SAMPLE_EVERY
            } else {
                self.plan.warmup
            };
            let next = pause.min((at / requests + 1) * requests).min(end);
            self.serve(&mut walk, at, next)?;
            if let Some(progress) = self.hooks.progress {
                progress.fetch_add(next - at, Ordering::Relaxed);
            }
            at = next;
            if at == self.plan.warmup {
                log = self.start_measuring(&mut walk)?;
            } else if measured {
                samples.take(walk.scheme(), at - self.plan.warmup);
            }
            log_completions(&mut walk, &mut log)?;
        }
        // What ends after the last arrival belongs to response times, not to the counters.
        let counts = walk.counts().clone();
        if let Some(mut observer) = walk.unobserve() {
            observer.finish()?;
        }
        walk.drain();
        log_completions(&mut walk, &mut log)?;
        if let Some(log) = &mut log {
            log.finish()?;
        }
        Ok(self.record(&walk, counts, samples))
    }

    fn start_measuring<S: Scheme, F: Flash>(
        &mut self,
        walk: &mut Walk<S, F>,
    ) -> Result<Option<RequestLog<Box<dyn Write + Send>>>, RunError> {
        walk.reset_counts();
        if let Some(observer) = self.hooks.observer.take() {
            walk.observe(observer);
        }
        let Some(out) = self.hooks.request_log.take() else {
            return Ok(None);
        };
        walk.flash_mut().keep_completions();
        let first = self.plan.warmup % self.trace.requests.len() as u64;
        Ok(Some(RequestLog::new(out, first)?))
    }

    /// Serves requests `from..to` of the stream; they lie in one pass.
    fn serve<S: Scheme, F: Flash>(
        &self,
        walk: &mut Walk<S, F>,
        from: u64,
        to: u64,
    ) -> Result<(), RunError> {
        let batch = &self.trace.requests;
        let scale = self.spec.time_scale;
        let arrival = |i: u64| scale.apply(batch.records()[i as usize].arrival);
        let requests = batch.len() as u64;
        let span = arrival(requests - 1) - arrival(0) + PASS_GAP;
        let pass = from / requests;
        let shift = Nanos(span.0 * pass);
        let (first, last) = (from - pass * requests, to - pass * requests);
        let mut index = first;
        for block in batch.records()[first as usize..last as usize].chunks(LOOK_AHEAD) {
            walk.look_ahead(block);
            for head in block {
                walk.serve(
                    batch.with_sides(head),
                    index,
                    scale.apply(head.arrival) + shift,
                );
                if F::TIMED
                    && let Some(full) = walk.flash().fault()
                {
                    return Err(RunError::DeviceFull {
                        request: index + pass * requests,
                        full: Box::new(*full),
                    });
                }
                index += 1;
            }
        }
        Ok(())
    }

    fn record<S: Scheme, F: Flash>(
        &self,
        walk: &Walk<S, F>,
        mut counts: Counts,
        samples: Samples,
    ) -> ResultRecord {
        let measures = walk.flash().measures();
        counts.flash_writes_meta = measures.map_or(0, |m| m.summary_programs);
        let (spec, c) = (self.spec, &counts);
        let meta = samples.meta_bytes_mean();
        let cache_bytes = if spec.is_cached() { spec.cache.0 } else { 0 };
        let meta_ratio = meta.and_then(|m| ratio(m, cache_bytes as f64));
        let mut stats = serde_json::Map::new();
        walk.scheme().stats(&mut |name, value| {
            stats.insert(name.to_owned(), value.into());
        });
        ResultRecord {
            schema: SCHEMA.to_owned(),
            trace: TraceInfo {
                name: self.trace.meta.name.clone(),
                requests: self.trace.requests.len() as u64,
                sha256: self.trace.meta.sha256.clone(),
            },
            scheme: spec.expr.to_string(),
            cache_bytes,
            cache_pages: u64::from(self.plan.capacity),
            page_bytes: spec.page.bytes(),
            device: spec
                .device
                .as_ref()
                .map_or("none".to_owned(), |d| d.name.clone()),
            seed: spec.seed,
            version: self.hooks.version.to_owned(),
            reading: Reading {
                read_alloc: spec.resolved_read_alloc(),
                read_fill: match spec.read_fill {
                    ReadFill::Page => "page".to_owned(),
                    ReadFill::Requested => "requested".to_owned(),
                },
                evict_wait: spec.device.as_ref().map(|d| d.evict_wait.to_string()),
                warmup_requests: self.plan.warmup,
                unmapped_reads: spec.device.as_ref().map(|d| match d.precondition.trace {
                    true => "precondition=trace".to_owned(),
                    false => "counted".to_owned(),
                }),
            },
            counts: CountFields::new(c, self.trace.meta.arrival_corrections, F::TIMED),
            ratios: Ratios::new(c, meta_ratio, F::TIMED),
            latency_ns: measures.map(|m| m.latency),
            evict_wait_ns: measures.map(|m| m.evict_wait),
            evict_turnaround_ns: measures.map(|m| m.evict_turnaround),
            evict_pages_mean: ratio(c.evicted_pages as f64, c.evictions as f64),
            evict_flush_mean: ratio(c.flushed_pages as f64, c.evictions as f64),
            evict_pages_histogram: walk.evict_pages().rows(),
            unbalance: None,
            meta_bytes_mean: meta,
            list_pages: (!samples.list_pages.is_empty()).then_some(samples.list_pages),
            scheme_stats: stats,
            config: spec.settings.clone(),
            run: RunInfo::default(),
        }
    }
}

/// Writes the requests that were completed since the last call to the log.
fn log_completions<S: Scheme, F: Flash>(
    walk: &mut Walk<S, F>,
    log: &mut Option<RequestLog<Box<dyn Write + Send>>>,
) -> Result<(), RunError> {
    let Some(log) = log else { return Ok(()) };
    let mut done: Vec<Completion> = Vec::new();
    walk.flash_mut().take_completions(&mut done);
    for completion in done.into_iter().filter(|c| c.measured) {
        log.add(completion)?;
    }
    Ok(())
}
