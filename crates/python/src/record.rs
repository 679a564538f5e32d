//! Records: results of runs, and what is made of them.

use crate::errors::{exception, raised};
use arrow_array::builder::{BooleanBuilder, Float64Builder, StringBuilder, UInt64Builder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use destage_cli::api::{self, CellType, KeptRecord, TypedColumn};
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

/// The table that the command prints of these records.
#[pyfunction]
pub fn table(all: Vec<PyRef<'_, Record>>) -> String {
    api::table(&records(&all))
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
    let batch = batch(&records(&all));
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
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for column in api::record_columns() {
        let cells: Vec<Value> = values.iter().map(|v| api::cell(v, &column.name)).collect();
        let (kind, array) = array(&column, &cells);
        fields.push(Field::new(column.name, kind, true));
        columns.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

fn array(column: &TypedColumn, cells: &[Value]) -> (DataType, ArrayRef) {
    let texts = |text: &dyn Fn(&Value) -> Option<String>| {
        let mut all = StringBuilder::new();
        cells.iter().for_each(|cell| all.append_option(text(cell)));
        (DataType::Utf8, Arc::new(all.finish()) as ArrayRef)
    };
    match column.kind {
        CellType::Integer => {
            let mut all = UInt64Builder::with_capacity(cells.len());
            cells
                .iter()
                .for_each(|cell| all.append_option(cell.as_u64()));
            (DataType::UInt64, Arc::new(all.finish()))
        }
        CellType::Number => {
            let mut all = Float64Builder::with_capacity(cells.len());
            cells
                .iter()
                .for_each(|cell| all.append_option(cell.as_f64()));
            (DataType::Float64, Arc::new(all.finish()))
        }
        CellType::Flag => {
            let mut all = BooleanBuilder::with_capacity(cells.len());
            cells
                .iter()
                .for_each(|cell| all.append_option(cell.as_bool()));
            (DataType::Boolean, Arc::new(all.finish()))
        }
        CellType::Text => texts(&|cell| cell.as_str().map(str::to_owned)),
        CellType::Json => texts(&|cell| (!cell.is_null()).then(|| cell.to_string())),
    }
}
