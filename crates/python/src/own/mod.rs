//! Schemes of one's own, at three speeds: classes of Python, decisions that were made in batches before the
//! run, and functions of C that score pages.
//!
//! A scheme ends its run by unwinding with a [`Fault`], as the calls of a policy give no errors; who started
//! the run catches it.

mod admission;
mod call;
mod class;
mod declare;
mod names;
mod score;
mod view;

pub use admission::{Decisions, with_decisions};
pub use declare::{OwnScheme, kind_of};
pub use view::CacheView;

use crate::errors::exception;
use destage_scheme::SchemeInfo;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The implementation of a scheme of one's own.
pub enum OwnKind {
    /// A class of Python, of which a run makes an instance.
    Class(Py<PyAny>),
    /// A function of C, and the object of Python that keeps it alive.
    Score(
        score::ScoreFunction,
        #[expect(dead_code, reason = "it is kept")] Py<PyAny>,
    ),
    /// Decisions for each request of a trace.
    Admission,
}

/// Why a scheme of one's own ended its run.
pub struct Fault {
    /// The exception, or the fault of its answer.
    pub why: FaultReason,
    /// The method that failed.
    pub hook: &'static str,
    /// Number of the request, from 0.
    pub request: u64,
    /// The scheme.
    pub scheme: String,
}

/// The fault of a scheme.
pub enum FaultReason {
    /// It raised.
    Raised(PyErr),
    /// It broke the contract.
    Said(String),
}

impl Fault {
    /// Ends the run.
    pub fn end(self) -> ! {
        resume_unwind(Box::new(self))
    }

    /// The exception that the caller of the run gets.
    pub fn into_error(self, py: Python<'_>) -> PyErr {
        let (why, cause) = match self.why {
            FaultReason::Said(text) => (text, None),
            FaultReason::Raised(error) => {
                // Ctrl-C and the end of the process are not about the scheme.
                if !error.is_instance_of::<pyo3::exceptions::PyException>(py) {
                    return error;
                }
                let raised = format!("{} raised {}", self.hook, shown(py, &error));
                (raised, Some(error))
            }
        };
        let text = format!(
            "{}: request {} of the trace (from 0, warm-up passes included): {why}",
            self.scheme, self.request
        );
        let error = exception(py, "SchemeError", text);
        let value = error.value(py);
        // An exception takes any attribute, so this does not fail.
        let _ = value.setattr("request", self.request);
        let _ = value.setattr("hook", self.hook);
        error.set_cause(py, cause);
        error
    }
}

/// An exception as the last line of its traceback.
fn shown(py: Python<'_>, error: &PyErr) -> String {
    let name = error.get_type(py).name().map(|name| name.to_string());
    let name = name.unwrap_or_else(|_| "an exception".to_owned());
    match error.value(py).str().map(|text| text.to_string()) {
        Ok(text) if text.is_empty() => name,
        Ok(text) => format!("{name}: {text}"),
        Err(_) => name,
    }
}

/// Does `work`; a scheme that ends it gives its fault.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Box<Fault>> {
    // State that the work leaves half done is dropped with it.
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast::<Fault>() {
        Ok(fault) => fault,
        Err(other) => resume_unwind(other),
    })
}

/// Is the scheme a class, whose methods need the lock of the interpreter?
pub fn is_class(info: &'static SchemeInfo) -> bool {
    matches!(kind_of(info).as_deref(), Some(OwnKind::Class(_)))
}
