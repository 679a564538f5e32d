//! Data frames as tables, whose columns are converted when they are first asked for.

use crate::errors::{exception, raised};
use crate::options::keys;
use crate::trace::{Trace, traces_read};
use destage_experiment::api;
use destage_trace::{Cell, Frame, TimeUnit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::cell::OnceCell;

/// Values of 8 bytes each, in the order of the machine; or texts, and the number of that of each row.
struct Values<'py> {
    kind: Kind,
    data: Bound<'py, PyBytes>,
    texts: Vec<Vec<u8>>,
}

#[derive(Clone, Copy)]
enum Kind {
    Integers,
    Unsigned,
    Reals,
    Texts,
}

impl Values<'_> {
    fn cell(&self, row: usize) -> Cell<'_> {
        let Some(&bytes) = self.data.as_bytes().as_chunks::<8>().0.get(row) else {
            return Cell::Null;
        };
        match self.kind {
            Kind::Integers => Cell::Integer(i64::from_ne_bytes(bytes).into()),
            Kind::Unsigned => Cell::Integer(u64::from_ne_bytes(bytes).into()),
            Kind::Reals => match f64::from_ne_bytes(bytes) {
                nan if nan.is_nan() => Cell::Null,
                real => Cell::Real(real),
            },
            Kind::Texts => {
                let number = usize::try_from(i64::from_ne_bytes(bytes)).ok();
                let text = number.and_then(|number| self.texts.get(number));
                text.map_or(Cell::Null, |text| Cell::Text(text))
            }
        }
    }
}

struct Column<'py> {
    name: String,
    is_time: bool,
    /// A function that gives the values.
    convert: Bound<'py, PyAny>,
    values: OnceCell<Option<Values<'py>>>,
}

struct PyFrame<'py> {
    columns: Vec<Column<'py>>,
    rows: usize,
    /// Of the first column that could not be converted.
    fault: OnceCell<PyErr>,
}

impl<'py> PyFrame<'py> {
    fn converted(&self, column: &Column<'py>) -> PyResult<Values<'py>> {
        let made: (String, Bound<'py, PyBytes>, Vec<Vec<u8>>) =
            column.convert.call0()?.extract()?;
        let (kind, data, texts) = made;
        let kind = match kind.as_str() {
            "i" => Kind::Integers,
            "u" => Kind::Unsigned,
            "f" => Kind::Reals,
            _ => Kind::Texts,
        };
        if data.as_bytes().len() / 8 != self.rows {
            let text = "columns of different lengths".to_owned();
            return Err(exception(data.py(), "UsageError", text));
        }
        Ok(Values { kind, data, texts })
    }
}

impl Frame for PyFrame<'_> {
    fn columns(&self) -> Vec<(String, Option<TimeUnit>)> {
        let columns = self.columns.iter();
        let unit = |column: &Column<'_>| column.is_time.then_some(TimeUnit::Nanoseconds);
        columns
            .map(|column| (column.name.clone(), unit(column)))
            .collect()
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        let column = &self.columns[column];
        let values = column.values.get_or_init(|| {
            let made = self.converted(column);
            made.map_err(|error| _ = self.fault.set(error)).ok()
        });
        values
            .as_ref()
            .map_or(Cell::Null, |values| values.cell(row))
    }
}

/// Reads a data frame: for each column its name, whether its type says that it holds times, and a function that gives
/// its values, as their kind (`i` and `u`: whole, `f`: real, `t`: texts), 8 bytes for each row, and the texts that the
/// bytes number (from 0; below it there is none). Times are in ns. The second part is what is to be warned of.
#[pyfunction]
pub fn read_frame(
    py: Python<'_>,
    name: &str,
    columns: Vec<(String, bool, Bound<'_, PyAny>)>,
    rows: usize,
    options: &Bound<'_, PyDict>,
) -> PyResult<(Vec<Trace>, Vec<String>)> {
    let keys = keys(options)?;
    let columns = columns.into_iter().map(|(name, is_time, convert)| Column {
        name,
        is_time,
        convert,
        values: OnceCell::new(),
    });
    let frame = PyFrame {
        columns: columns.collect(),
        rows,
        fault: OnceCell::new(),
    };
    let read = api::read_frame(name, &frame, &keys);
    if let Some(fault) = frame.fault.into_inner() {
        return Err(fault);
    }
    let (traces, warnings) = read.map_err(|failure| raised(py, failure))?;
    Ok((traces_read(traces, None, keys), warnings))
}
