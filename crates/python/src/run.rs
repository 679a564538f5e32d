//! Runs over a trace.

use crate::errors::{exception, raised};
use crate::options::keys;
use crate::own::{Decisions, Fault, OwnScheme, caught, is_class, kind_of, with_decisions};
use crate::record::Record;
use crate::trace::Trace;
use crate::wait::wait_for;
use destage_experiment::api::{CheckedRuns, Executed, Failure, Follower, KeptRecord};
use destage_scheme::{Expr, SchemeInfo};
use destage_trace::Stored;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Checks a scheme expression as far as that is possible without a run; `own` are the schemes of one's own in it.
#[pyfunction]
pub fn check_scheme(py: Python<'_>, text: &str, own: Vec<PyRef<'_, OwnScheme>>) -> PyResult<()> {
    let infos: Vec<&'static SchemeInfo> = own.iter().map(|own| own.info).collect();
    let parsed = Expr::parse_with(text, &infos).map(drop);
    parsed.map_err(|refusal| exception(py, "UsageError", refusal.to_string()))
}

/// Which thread runs what.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Schemes that come along: threads of their own, as many as there are processors.
    Native,
    /// Functions of C and decisions: one thread of its own, without the lock of the interpreter.
    Apart,
    /// Classes: the thread of the caller, which has the lock; their exceptions have its stack, and debuggers work.
    Here,
}

const PLACES: [Place; 3] = [Place::Native, Place::Apart, Place::Here];

fn place_of(expr: &Expr) -> Place {
    let has =
        |kind: fn(&'static SchemeInfo) -> bool| expr.schemes().any(|layer| kind(layer.scheme()));
    match (has(is_class), has(|info| kind_of(info).is_some())) {
        (true, _) => Place::Here,
        (false, true) => Place::Apart,
        (false, false) => Place::Native,
    }
}

/// Executes runs over `trace` with the options of the command; `own` are the schemes of one's own that stand in
/// them, and their decisions for each request if they make any. `progress` is called with the requests
/// served, those to serve, and the runs that ended. The second part is what is to be warned of, the third part
/// the runs that cannot run, a line each.
#[pyfunction]
pub fn run(
    py: Python<'_>,
    trace: &Trace,
    options: &Bound<'_, PyDict>,
    own: Vec<(PyRef<'_, OwnScheme>, Option<Bound<'_, PyBytes>>)>,
    charts: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<Record>, Vec<String>, Vec<String>)> {
    let mut keys = keys(options)?;
    for (key, value) in &trace.reading {
        if keys.insert(key.clone(), value.clone()).is_some() {
            let text = format!("destage.run: `{key}` is said where the trace is read");
            return Err(exception(py, "UsageError", text));
        }
    }
    let infos: Vec<&'static SchemeInfo> = own.iter().map(|(own, _)| own.info).collect();
    let decisions = own.iter().filter_map(|(own, decided)| {
        let decided = decided.as_ref()?.as_bytes().iter().map(|&byte| byte != 0);
        Some((
            std::ptr::from_ref(own.info) as usize,
            Arc::new(decided.collect()),
        ))
    });
    let decisions: Decisions = decisions.collect();
    let checked = CheckedRuns::new(trace.path.as_deref(), &keys, &infos);
    let (runs, mut warnings) = checked.map_err(|failure| raised(py, failure))?;
    if !decisions.is_empty() && keys.contains_key("host-fs") {
        let text = "decisions are about the requests of the trace, and a file system (host_fs) makes others of them";
        return Err(exception(py, "UsageError", text.to_owned()));
    }
    let mut refused: Vec<Failure> = runs.refusals().into_iter().map(Failure::usage).collect();
    let mut parts = Vec::new();
    for place in PLACES {
        let part = runs.only(|expr| place_of(expr) == place);
        let mut kept = Vec::new();
        if part.schemes().next().is_some() {
            let work = Work {
                stored: Arc::clone(&trace.stored),
                runs: part,
                charts,
                decisions: decisions.clone(),
            };
            let done = match place {
                Place::Here => work.here(py, progress.as_ref())?,
                _ => work.apart(py, place == Place::Apart, progress.as_ref())?,
            };
            let new = done.warnings.into_iter();
            let new: Vec<String> = new.filter(|said| !warnings.contains(said)).collect();
            warnings.extend(new);
            refused.extend(done.refused);
            kept = done.records;
        }
        parts.push(kept);
    }
    let records = in_order(&runs, parts);
    match (records.is_empty(), all_of(&refused)) {
        (true, Some(why)) => Err(raised(py, why)),
        _ => {
            let refused = refused.iter().map(Failure::text).collect();
            Ok((records, warnings, refused))
        }
    }
}

/// The records of the parts, one for each of [`PLACES`]: stream by stream, each in the order of the runs. Those
/// of runs that cannot run are missing.
fn in_order(runs: &CheckedRuns, parts: Vec<Vec<KeptRecord>>) -> Vec<Record> {
    let mut parts: Vec<_> = parts
        .into_iter()
        .map(|p| p.into_iter().peekable())
        .collect();
    let mut records = Vec::new();
    for _ in 0..runs.streams() {
        for expr in runs.schemes() {
            let place = place_of(expr);
            let part = PLACES.iter().position(|p| *p == place).unwrap_or(0);
            let scheme = expr.to_string();
            let kept = parts[part].next_if(|kept| kept.0.scheme == scheme);
            records.extend(kept.map(|kept| Record { kept }));
        }
    }
    let left = parts.into_iter().flatten();
    records.extend(left.map(|kept| Record { kept }));
    records
}

/// All failures in one.
fn all_of(failures: &[Failure]) -> Option<Failure> {
    let usage = failures.iter().all(|why| matches!(why, Failure::Usage(_)));
    let texts: Vec<String> = failures.iter().map(Failure::text).collect();
    match (texts.is_empty(), usage) {
        (true, _) => None,
        (_, true) => Some(Failure::Usage(texts)),
        (_, false) => Some(Failure::Run(texts.join("; "))),
    }
}

/// Runs that have one place.
struct Work {
    stored: Arc<Stored>,
    runs: CheckedRuns,
    charts: bool,
    decisions: Decisions,
}

type Done = PyResult<Executed>;
type Finished = Result<Executed, Failure>;

impl Work {
    fn execute(self, follower: Arc<Follower>) -> Result<Finished, Box<Fault>> {
        caught(|| {
            with_decisions(self.decisions, || {
                self.runs.execute(&self.stored, self.charts, follower)
            })
        })
    }

    /// On threads of their own; `one`: on a single one.
    fn apart(self, py: Python<'_>, one: bool, progress: Option<&Py<PyAny>>) -> Done {
        let follower = Arc::new(match one {
            true => Follower::on_this_thread(),
            false => Follower::default(),
        });
        let (followed, told) = (Arc::clone(&follower), Arc::clone(&follower));
        let tick = |py: Python<'_>| match progress {
            None => Ok(()),
            Some(progress) => progress.call1(py, seen(&told)).map(drop),
        };
        let done = wait_for(
            py,
            tick,
            || follower.cancel(),
            move || self.execute(followed),
        )?;
        let done = given(py, done)?;
        if let Some(progress) = progress {
            progress.call1(py, seen(&told))?;
        }
        Ok(done)
    }

    /// On the thread of the caller, which hears of signals between requests, too.
    fn here(self, py: Python<'_>, progress: Option<&Py<PyAny>>) -> Done {
        let stopped: Arc<Mutex<Option<PyErr>>> = Arc::default();
        let (stop, progress) = (Arc::clone(&stopped), progress.map(|p| p.clone_ref(py)));
        let next = Mutex::new(Instant::now() + LOOK);
        let look = move |follower: &Follower| {
            let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
            if Instant::now() < *next {
                return false;
            }
            *next = Instant::now() + LOOK;
            let looked = Python::attach(|py| {
                py.check_signals()?;
                match &progress {
                    None => Ok(()),
                    Some(progress) => progress.call1(py, seen(follower)).map(drop),
                }
            });
            let failed = looked.err();
            let stops = failed.is_some();
            *stop.lock().unwrap_or_else(PoisonError::into_inner) = failed;
            stops
        };
        let follower = Arc::new(Follower::on_this_thread().looking(Box::new(look)));
        let done = self.execute(follower);
        match stopped
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
        {
            Some(error) => Err(error),
            None => given(py, done),
        }
    }
}

/// Time between two looks at signals.
const LOOK: Duration = Duration::from_millis(50);

fn given(py: Python<'_>, done: Result<Finished, Box<Fault>>) -> Done {
    match done {
        Ok(done) => done.map_err(|failure| raised(py, failure)),
        Err(fault) => Err(fault.into_error(py)),
    }
}

/// Requests served, those to serve, and runs that ended.
fn seen(follower: &Follower) -> (u64, u64, u64) {
    let progress = &follower.progress;
    let done = progress.requests.load(Ordering::Relaxed);
    let of = follower.requests.load(Ordering::Relaxed);
    (done, of, progress.runs.load(Ordering::Relaxed))
}
