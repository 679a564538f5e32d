//! Records: results of runs, and what is made of them.

use crate::errors::{exception, raised};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchIterator, StringArray,
    UInt64Array,
};
use arrow_schema::ArrowError;
use destage_experiment::api::{self, CellType, KeptRecord};
use destage_sim::ResultRecord;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// The record of a run.
#[pyclass(frozen, module = "destage._destage")]
pub struct Record {
    pub kept: KeptRecord,
}

#[pymethods]
impl Record {
    /// The record as a line of JSON, as the command writes it.
    fn json(&self) -> PyResult<String> {
        let text = serde_json::to_string(&self.kept.0);
        text.map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))
    }

    /// The record of a line of JSON.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Record> {
        let record = serde_json::from_str(text);
        let record = record
            .map_err(|error| exception(py, "UsageError", format!("no result record: {error}")))?;
        Ok(Record {
            kept: (record, None),
        })
    }
}

fn records(all: &[PyRef<'_, Record>]) -> Vec<ResultRecord> {
    all.iter().map(|record| record.kept.0.clone()).collect()
}

/// The sentences that answer first about these records.
#[pyfunction]
pub fn answers(all: Vec<PyRef<'_, Record>>) -> Vec<String> {
    api::answers(&records(&all))
}

/// The table that the command prints of these records.
#[pyfunction]
pub fn table(all: Vec<PyRef<'_, Record>>) -> String {
    api::table(&records(&all))
}

/// Columns that tell these records apart in a table: heads, cells of each row, and whether amounts
/// of data stand in bytes, because page sizes differ.
#[pyfunction]
pub fn distinctions(all: Vec<PyRef<'_, Record>>) -> (Vec<String>, Vec<Vec<String>>, bool) {
    api::distinctions(&records(&all))
}

/// Writes the report of these records.
#[pyfunction]
pub fn write_report(
    py: Python<'_>,
    path: PathBuf,
    title: &str,
    all: Vec<PyRef<'_, Record>>,
) -> PyResult<()> {
    let kept = all.iter().map(|record| record.kept.clone()).collect();
    api::write_report(&path, title, kept).map_err(|failure| raised(py, failure))
}

/// The records as a stream of Arrow: a column for each field, nested names joined by dots.
#[pyfunction]
pub fn arrow_stream<'py>(
    py: Python<'py>,
    all: Vec<PyRef<'py, Record>>,
) -> PyResult<Bound<'py, PyCapsule>> {
    stream(py, batch(&records(&all)))
}

/// The names of the columns of a record.
#[pyfunction]
pub fn record_columns() -> Vec<String> {
    let columns = api::record_columns().into_iter();
    columns.map(|column| column.name).collect()
}

/// Rows, a list of objects in JSON, as a stream of Arrow with the columns `names`; what is no number, text or flag in
/// all of them is JSON.
#[pyfunction]
pub fn arrow_of_rows<'py>(
    py: Python<'py>,
    rows: &str,
    names: Vec<String>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let rows: Result<Vec<Value>, _> = serde_json::from_str(rows);
    let rows = rows.map_err(|error| exception(py, "DestageError", format!("no rows: {error}")))?;
    let columns = names.into_iter().map(|name| {
        let cells = || {
            rows.iter()
                .map(|row| row.get(&name).unwrap_or(&Value::Null))
        };
        let all = |is: fn(&Value) -> bool| cells().all(|cell| cell.is_null() || is(cell));
        let kind = if all(Value::is_u64) {
            CellType::Integer
        } else if all(Value::is_number) {
            CellType::Number
        } else if all(Value::is_boolean) {
            CellType::Flag
        } else if all(Value::is_string) {
            CellType::Text
        } else {
            CellType::Json
        };
        let cells = array(kind, cells().cloned());
        (name, cells, true)
    });
    stream(
        py,
        RecordBatch::try_from_iter_with_nullable(columns.collect::<Vec<_>>()),
    )
}

fn stream(
    py: Python<'_>,
    batch: Result<RecordBatch, ArrowError>,
) -> PyResult<Bound<'_, PyCapsule>> {
    let batch =
        batch.map_err(|error| exception(py, "DestageError", format!("no Arrow table: {error}")))?;
    let schema = batch.schema();
    let stream = RecordBatchIterator::new([Ok(batch)], schema);
    let stream = FFI_ArrowArrayStream::new(Box::new(stream));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

fn batch(records: &[ResultRecord]) -> Result<RecordBatch, ArrowError> {
    let values: Result<Vec<Value>, _> = records.iter().map(serde_json::to_value).collect();
    let values = values.map_err(|error| ArrowError::JsonError(error.to_string()))?;
    let columns = api::record_columns().into_iter().map(|column| {
        let cells = values.iter().map(|v| api::cell(v, &column.name));
        let array = array(column.kind, cells);
        (column.name, array, true)
    });
    RecordBatch::try_from_iter_with_nullable(columns)
}

fn array(kind: CellType, cells: impl Iterator<Item = Value>) -> ArrayRef {
    let json = |cell: Value| (!cell.is_null()).then(|| cell.to_string());
    match kind {
        CellType::Integer => Arc::new(cells.map(|c| c.as_u64()).collect::<UInt64Array>()),
        CellType::Number => Arc::new(cells.map(|c| c.as_f64()).collect::<Float64Array>()),
        CellType::Flag => Arc::new(cells.map(|c| c.as_bool()).collect::<BooleanArray>()),
        CellType::Text => Arc::new(
            cells
                .map(|c| c.as_str().map(str::to_owned))
                .collect::<StringArray>(),
        ),
        CellType::Json => Arc::new(cells.map(json).collect::<StringArray>()),
    }
}
