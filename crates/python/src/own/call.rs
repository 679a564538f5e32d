//! Calling Python often. With the stable interface pyo3 makes a tuple for every call, which takes as long as a
//! short method; `PyObject_CallFunctionObjArgs` takes the arguments as they are.
#![expect(unsafe_code, reason = "a function of C with any number of arguments")]

use pyo3::ffi::{PyObject, PyObject_CallFunctionObjArgs};
use pyo3::prelude::*;
use std::ptr::null_mut;

/// Calls `callable` with one argument.
///
/// # Errors
/// The exception that it raises.
#[inline]
pub fn call1<'py>(
    py: Python<'py>,
    callable: &Py<PyAny>,
    a: &Py<PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let end: *mut PyObject = null_mut();
    // SAFETY: the interpreter is attached, the objects are alive while they are borrowed, and a null pointer
    // ends the arguments; what comes back is a new reference, or null with an exception set.
    unsafe {
        let result = PyObject_CallFunctionObjArgs(callable.as_ptr(), a.as_ptr(), end);
        Bound::from_owned_ptr_or_err(py, result)
    }
}

/// Calls `callable` with two arguments.
///
/// # Errors
/// The exception that it raises.
#[inline]
pub fn call2<'py>(
    py: Python<'py>,
    callable: &Py<PyAny>,
    a: &Py<PyAny>,
    b: &Py<PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let end: *mut PyObject = null_mut();
    // SAFETY: as in `call1`.
    unsafe {
        let result = PyObject_CallFunctionObjArgs(callable.as_ptr(), a.as_ptr(), b.as_ptr(), end);
        Bound::from_owned_ptr_or_err(py, result)
    }
}
