//! The exceptions of the package, which are declared in Python.

use destage_console::failure::Failure;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// The exception `name` of `destage` with this text.
pub fn exception(py: Python<'_>, name: &str, text: String) -> PyErr {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("destage._errors")?.unbind())
    });
    let class =
        module.and_then(|module| Ok(module.bind(py).getattr(name)?.cast_into::<PyType>()?));
    match class {
        Ok(class) => PyErr::from_type(class, (text,)),
        Err(error) => error,
    }
}

/// `failure` as an exception: exit code 2 is a `UsageError`, 1 a `RunError`.
pub fn raised(py: Python<'_>, failure: Failure) -> PyErr {
    let name = match &failure {
        Failure::Usage(_) => "UsageError",
        Failure::Run(_) | Failure::Closed | Failure::Said(_) => "RunError",
    };
    exception(py, name, failure.text())
}
