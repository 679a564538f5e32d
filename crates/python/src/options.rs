//! Options: a dictionary of Python as the keys of a run file.

use crate::errors::exception;
use destage_experiment::api::Keys;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use toml::Value;

/// The options in `given`, whose names have `_` where the command has `-`.
///
/// # Errors
/// A value is of no type that options have.
pub fn keys(given: &Bound<'_, PyDict>) -> PyResult<Keys> {
    let mut keys = Keys::new();
    for (key, value) in given {
        let key: String = key.extract()?;
        let key = key.replace('_', "-");
        let value = value_of(&key, &value)?;
        keys.insert(key, value);
    }
    Ok(keys)
}

fn value_of(key: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Value::Boolean(flag.is_true()));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Value::String(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() {
        // Seeds may be larger than what TOML has for numbers.
        return Ok(Value::String(value.str()?.extract()?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(value.extract()?));
    }
    if let Ok(list) = value.cast::<PyList>() {
        let values = list.iter().map(|value| value_of(key, &value));
        return values.collect::<PyResult<Vec<_>>>().map(Value::Array);
    }
    let kind = value.get_type().name()?;
    let text = format!(
        "destage: option `{key}` is a {kind}; allowed: text, numbers, True, False and lists"
    );
    Err(exception(value.py(), "UsageError", text))
}
