//! The extension of the Python package `destage`: traces, runs and records. The Python side is in
//! `python/destage`, which turns this into classes with documentation.

mod columns;
mod errors;
mod frame;
mod options;
mod own;
mod record;
mod run;
mod sweep;
mod trace;
mod wait;

use pyo3::prelude::*;

/// The native part of the package; its users see `destage`.
#[pymodule]
mod _destage {
    #[pymodule_export]
    use super::frame::read_frame;
    #[pymodule_export]
    use super::own::{CacheView, OwnScheme};
    #[pymodule_export]
    use super::record::{
        Record, answers, arrow_of_rows, arrow_stream, distinctions, record_columns, table,
        write_report,
    };
    #[pymodule_export]
    use super::run::{check_scheme, run};
    #[pymodule_export]
    use super::sweep::{SweepJob, SweepWorker, sweep_file, sweep_job};
    #[pymodule_export]
    use super::trace::{Trace, from_columns, read_traces, trace_of_bytes};
    #[pymodule_export]
    use super::{command, preset_names, schemes};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("version", destage_console::VERSION)
    }
}

/// The `destage` command: does what `words` say, the first of which is the name of the program, and gives
/// the exit code.
#[pyfunction]
fn command(py: Python<'_>, words: Vec<std::ffi::OsString>, stdout_is_closed: bool) -> u8 {
    py.detach(|| {
        let code = destage_cli::command(words.into_iter(), stdout_is_closed);
        // The process of Python ends without that of Rust, which would do it.
        let _ = std::io::Write::flush(&mut std::io::stdout());
        code
    })
}

/// All schemes, as `destage schemes --json` has them.
#[pyfunction]
fn schemes(py: Python<'_>) -> PyResult<String> {
    destage_experiment::api::schemes_json().map_err(|failure| errors::raised(py, failure))
}

/// Names of the devices that come along.
#[pyfunction]
fn preset_names() -> Vec<&'static str> {
    destage_experiment::api::preset_names()
}
