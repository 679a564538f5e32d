//! Sweeps: planning and merging, and workers that do batches in any process.

use crate::errors::{exception, raised};
use crate::options::keys;
use crate::wait::wait_for;
use destage_experiment::api::{self, Follower, SweepPlace};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

fn place(
    folder: PathBuf,
    trace_cache: Option<PathBuf>,
    options: &Bound<'_, PyDict>,
) -> PyResult<SweepPlace> {
    Ok(SweepPlace {
        folder,
        trace_cache,
        options: keys(options)?,
    })
}

/// The keys of a sweep file as JSON, and its name.
#[pyfunction]
pub fn sweep_file(py: Python<'_>, path: PathBuf) -> PyResult<(String, String)> {
    api::sweep_file(&path).map_err(|failure| raised(py, failure))
}

/// A sweep that is planned, held alone until it goes.
#[pyclass(frozen, module = "destage._destage")]
pub struct SweepJob {
    job: api::SweepJob,
}

/// Plans the sweep that `json` describes in the folder `out`, or goes on with it. The second part is what is to
/// be warned of.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn sweep_job(
    py: Python<'_>,
    json: String,
    name: String,
    out: PathBuf,
    folder: PathBuf,
    trace_cache: Option<PathBuf>,
    options: &Bound<'_, PyDict>,
    batch: Option<String>,
    fresh: bool,
) -> PyResult<(SweepJob, Vec<String>)> {
    let place = place(folder, trace_cache, options)?;
    let work = move || api::SweepJob::new(&json, &name, &out, &place, batch.as_deref(), fresh);
    let planned = wait_for(py, |_| Ok(()), || (), work)?;
    let (job, warnings) = planned.map_err(|failure| raised(py, failure))?;
    Ok((SweepJob { job }, warnings))
}

#[pymethods]
impl SweepJob {
    /// Number of runs in each batch.
    fn batches(&self) -> Vec<usize> {
        self.job.batches()
    }

    /// A key that tells this sweep from others that may come to be in its folder.
    fn key(&self) -> String {
        self.job.key()
    }

    /// Numbers of the batches that are not done.
    fn open_batches(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        let open = py.detach(|| self.job.open_batches());
        open.map_err(|failure| raised(py, failure))
    }

    /// Lets others work in the folder.
    fn release(&self) {
        self.job.release();
    }

    /// Merges the batches, all of which are done, and gives the file of results, and runs that cannot run, a
    /// line each.
    fn merge(&self, py: Python<'_>) -> PyResult<(PathBuf, Vec<String>)> {
        let merged = py.detach(|| self.job.merge());
        merged.map_err(|failure| raised(py, failure))
    }
}

/// Does batches of the sweep in a folder.
#[pyclass(frozen, module = "destage._destage")]
pub struct SweepWorker {
    worker: Arc<Mutex<api::SweepWorker>>,
}

#[pymethods]
impl SweepWorker {
    #[new]
    fn new(
        py: Python<'_>,
        out: PathBuf,
        key: &str,
        folder: PathBuf,
        trace_cache: Option<PathBuf>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<SweepWorker> {
        let place = place(folder, trace_cache, options)?;
        let worker = py.detach(|| api::SweepWorker::new(Path::new(&out), key, &place));
        let worker = worker.map_err(|failure| raised(py, failure))?;
        Ok(SweepWorker {
            worker: Arc::new(Mutex::new(worker)),
        })
    }

    /// The trace of a batch: what the sweep calls it, and its hash.
    fn trace(&self, py: Python<'_>, batch: usize) -> PyResult<(String, String)> {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let trace = worker.trace(batch);
        let trace = trace.map(|(path, hash)| (path.to_owned(), hash.to_owned()));
        trace.ok_or_else(|| exception(py, "UsageError", format!("the sweep has no batch {batch}")))
    }

    /// Does a batch, and gives what is to be warned of. After an exception of a signal the worker is not to be
    /// used any more.
    fn work(&self, py: Python<'_>, batch: usize) -> PyResult<Vec<String>> {
        let follower = Arc::new(Follower::default());
        let (worker, followed) = (Arc::clone(&self.worker), Arc::clone(&follower));
        let work = move || {
            let mut worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
            worker.work(batch, followed)
        };
        let done = wait_for(py, |_| Ok(()), || follower.cancel(), work)?;
        done.map_err(|failure| raised(py, failure))
    }
}
