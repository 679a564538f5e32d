//! Traces: read from files, or made of columns.

use crate::columns::{Column, batch_of};
use crate::errors::{exception, raised};
use crate::options::keys;
use crate::wait::wait_for;
use destage_experiment::api::{self, Keys};
use destage_trace::{Stored, Trace as Decoded, TraceMeta};
use destage_types::RequestFlags;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A decoded trace. It does not change, and runs share it.
#[pyclass(frozen, module = "destage._destage")]
pub struct Trace {
    pub stored: Arc<Stored>,
    pub path: Option<PathBuf>,
    /// The options it was read with, which are settings of its runs.
    pub reading: Keys,
}

impl Trace {
    fn meta(&self) -> &TraceMeta {
        self.stored.meta()
    }
}

#[pymethods]
impl Trace {
    #[getter]
    fn name(&self) -> &str {
        &self.meta().name
    }

    #[getter]
    fn format(&self) -> &str {
        self.meta().format
    }

    #[getter]
    fn sha256(&self) -> Option<&str> {
        self.meta().sha256.as_deref()
    }

    #[getter]
    fn path(&self) -> Option<&PathBuf> {
        self.path.as_ref()
    }

    #[getter]
    fn duration_ns(&self) -> u64 {
        let (first, last) = self.stored.workload().span();
        last.0 - first.0
    }

    fn __len__(&self) -> usize {
        self.stored.workload().len() as usize
    }

    /// Is it too large for its memory, so that every column is read from a file?
    #[getter]
    fn is_streamed(&self) -> bool {
        matches!(*self.stored, Stored::Spooled { .. })
    }

    /// The column `name` of the requests `from..to`: `arrival_ns`, `op` (letters), `start_sector`, `sectors` (of all
    /// extents), `stream`, `fua` or `preflush`; 8 bytes each, but 1 for letters and flags.
    fn column<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        from: u64,
        to: u64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let failed = |text: String| exception(py, "RunError", text);
        let column =
            Column::named(name).ok_or_else(|| failed(format!("there is no column {name}")))?;
        let range = from..to.min(self.stored.workload().len());
        let bytes = range.end.saturating_sub(range.start) as usize * column.width();
        PyBytes::new_with(py, bytes, |out| {
            let written = py.detach(|| column.write(self.stored.workload(), range, out));
            written.map_err(|error| failed(error.to_string()))
        })
    }

    /// What [`trace_of_bytes`] makes the same trace of.
    fn to_bytes<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyBytes>, Option<PathBuf>, String)> {
        let bytes = py.detach(|| api::bytes_of_trace(&self.stored));
        let bytes = bytes.map_err(|failure| raised(py, failure))?;
        let reading = serde_json::to_string(&self.reading);
        let reading = reading
            .map_err(|error| exception(py, "RunError", format!("{}: {error}", self.name())))?;
        Ok((PyBytes::new(py, &bytes), self.path.clone(), reading))
    }

    /// Writes the requests to a file of `destage-bin`.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let written = py.detach(|| api::write_trace(&self.stored, &path));
        written.map_err(|failure| raised(py, failure))
    }

    /// Pages of `page` bytes that reads and writes touch.
    fn footprint_pages(&self, py: Python<'_>, page: u64) -> PyResult<u64> {
        let stored = Arc::clone(&self.stored);
        let pages = py.detach(move || api::footprint_pages(stored.workload(), page));
        pages.map_err(|failure| raised(py, failure))
    }
}

/// Reads the trace at `path`: one, or where the options split volumes one of each. `progress` is called with the
/// bytes read and, if that is known, their number. The second part is what is to be warned of.
#[pyfunction]
pub fn read_traces(
    py: Python<'_>,
    path: PathBuf,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<Trace>, Vec<String>)> {
    let keys = keys(options)?;
    let seen = Arc::new((AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false)));
    let (told, cancelled) = (Arc::clone(&seen), Arc::clone(&seen));
    let (given, file) = (keys.clone(), path.clone());
    let work = move || {
        api::read_traces(&file, &given, &mut |reader| {
            let (read, total) = reader.progress();
            told.0.store(read, Ordering::Relaxed);
            told.1.store(total.unwrap_or(0), Ordering::Relaxed);
            if told.2.load(Ordering::Relaxed) {
                // Nobody waits for the trace: the thread ends here.
                std::panic::resume_unwind(Box::new(()));
            }
        })
    };
    let tick = |py: Python<'_>| match &progress {
        None => Ok(()),
        Some(progress) => {
            let (read, total) = (
                seen.0.load(Ordering::Relaxed),
                seen.1.load(Ordering::Relaxed),
            );
            progress.call1(py, (read, total)).map(drop)
        }
    };
    let cancel = || cancelled.2.store(true, Ordering::Relaxed);
    let read = wait_for(py, tick, cancel, work)?;
    let (traces, warnings) = read.map_err(|failure| raised(py, failure))?;
    Ok((traces_read(traces, Some(&path), keys), warnings))
}

/// Traces that were read with these options.
pub fn traces_read(traces: Vec<Stored>, path: Option<&PathBuf>, keys: Keys) -> Vec<Trace> {
    let reading = keys.into_iter().filter(|(key, _)| api::is_reading(key));
    let reading: Keys = reading.collect();
    let read = traces.into_iter().map(|stored| Trace {
        stored: Arc::new(stored),
        path: path.cloned(),
        reading: reading.clone(),
    });
    read.collect()
}

/// The trace that [`Trace::to_bytes`] gave this of.
#[pyfunction]
pub fn trace_of_bytes(
    py: Python<'_>,
    bytes: &Bound<'_, PyBytes>,
    path: Option<PathBuf>,
    reading: &str,
) -> PyResult<Trace> {
    let bytes = bytes.as_bytes();
    let stored = py.detach(|| api::trace_of_bytes(bytes));
    let stored = stored.map_err(|failure| raised(py, failure))?;
    let reading = serde_json::from_str(reading);
    let reading = reading.map_err(|error| exception(py, "UsageError", error.to_string()))?;
    Ok(Trace {
        stored: Arc::new(stored),
        path,
        reading,
    })
}

/// A trace of columns: arrivals in ns (8 bytes each), letters R, W, T or F (1 byte each), first sectors (8
/// bytes), sectors (8 bytes) and, unless empty, sources (8 bytes), all signed in the order of the machine; and,
/// unless empty, FUA and preflush (1 byte each).
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "a column each")]
pub fn from_columns(
    py: Python<'_>,
    name: &str,
    arrival_ns: &Bound<'_, PyBytes>,
    op: &Bound<'_, PyBytes>,
    start_sector: &Bound<'_, PyBytes>,
    sectors: &Bound<'_, PyBytes>,
    stream: &Bound<'_, PyBytes>,
    fua: &Bound<'_, PyBytes>,
    preflush: &Bound<'_, PyBytes>,
) -> PyResult<Trace> {
    let columns = [arrival_ns, start_sector, sectors, stream].map(|column| column.as_bytes());
    let flags = [
        (fua.as_bytes(), RequestFlags::FUA),
        (preflush.as_bytes(), RequestFlags::PREFLUSH),
    ];
    let batch = batch_of(columns, op.as_bytes(), flags);
    let batch = batch.map_err(|text| exception(py, "UsageError", format!("{name}: {text}")))?;
    Ok(Trace {
        stored: Arc::new(Stored::Memory(Decoded::generated(name, batch))),
        path: None,
        reading: Keys::new(),
    })
}
