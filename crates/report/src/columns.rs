//! Tables of typed columns, written as Parquet.

use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{
    SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter,
};
use parquet::schema::types::{Type, TypePtr};
use serde_json::Value;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows that are kept in memory before they are written.
const GROUP: usize = 1 << 16;

/// The type of a column's cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellType {
    /// Whole numbers below 2^64.
    Integer,
    /// Real numbers.
    Number,
    /// Text.
    Text,
    /// True or false.
    Flag,
    /// Lists and objects, as JSON text.
    Json,
}

/// A column. Every cell may be absent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypedColumn {
    /// Name; that of a nested field is its path, joined by dots.
    pub name: String,
    /// The type of its cells.
    pub kind: CellType,
}

/// Writes rows of JSON values as Parquet, all columns at the top level and optional.
///
/// It encodes into memory and hands each group of rows over, so that the encoders are built once, not for
/// each kind of output.
pub struct ParquetWriter {
    columns: Vec<TypedColumn>,
    writer: SerializedFileWriter<Vec<u8>>,
    rows: Vec<Vec<Value>>,
}

impl ParquetWriter {
    /// Starts a file of `columns`.
    ///
    /// # Errors
    /// The columns cannot be in one file.
    pub fn new(columns: Vec<TypedColumn>) -> io::Result<ParquetWriter> {
        let properties = WriterProperties::builder()
            .set_created_by(format!("destage {}", destage_console::VERSION))
            .build();
        let schema = schema(&columns).map_err(failed)?;
        let writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties));
        Ok(ParquetWriter {
            columns,
            writer: writer.map_err(failed)?,
            rows: Vec::new(),
        })
    }

    /// Appends a row: one value per column, `Null` where there is none. Whole groups go to `out`.
    ///
    /// # Errors
    /// The rows so far cannot be written.
    pub fn row(&mut self, row: Vec<Value>, out: &mut dyn Write) -> io::Result<()> {
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
        if self.rows.len() == GROUP {
            self.group().map_err(failed)?;
            let encoded = self.writer.inner_mut();
            out.write_all(encoded)?;
            encoded.clear();
        }
        Ok(())
    }

    /// Writes to `out` what is left, and the end of the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self, out: &mut dyn Write) -> io::Result<()> {
        if !self.rows.is_empty() {
            self.group().map_err(failed)?;
        }
        out.write_all(&self.writer.into_inner().map_err(failed)?)?;
        out.flush()
    }

    fn group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for (i, column) in self.columns.iter().enumerate() {
            let cells = self.rows.iter().map(|row| &row[i]);
            write_column(&mut group, column.kind, cells)?;
        }
        group.close()?;
        self.rows.clear();
        Ok(())
    }
}

fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

fn schema(columns: &[TypedColumn]) -> Result<TypePtr, ParquetError> {
    let mut fields = Vec::new();
    for column in columns {
        let (physical, converted) = match column.kind {
            CellType::Integer => (Physical::INT64, ConvertedType::UINT_64),
            CellType::Number => (Physical::DOUBLE, ConvertedType::NONE),
            CellType::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
            CellType::Json => (Physical::BYTE_ARRAY, ConvertedType::JSON),
            CellType::Flag => (Physical::BOOLEAN, ConvertedType::NONE),
        };
        let field = Type::primitive_type_builder(&column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_converted_type(converted)
            .build()?;
        fields.push(Arc::new(field));
    }
    let root = Type::group_type_builder("destage").with_fields(fields);
    Ok(Arc::new(root.build()?))
}

fn write_column<'a>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    kind: CellType,
    cells: impl Iterator<Item = &'a Value>,
) -> Result<(), ParquetError> {
    /// Writes the cells that are there, and for every cell whether it is.
    fn write<'a, T: DataType>(
        column: &mut SerializedColumnWriter<'_>,
        cells: impl Iterator<Item = &'a Value>,
        of: impl Fn(&Value) -> Option<T::T>,
    ) -> Result<usize, ParquetError> {
        let cells: Vec<Option<T::T>> = cells.map(of).collect();
        let there: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
        let values: Vec<T::T> = cells.into_iter().flatten().collect();
        column.typed::<T>().write_batch(&values, Some(&there), None)
    }
    let bytes = |v: &Value| ByteArray::from(v.to_string().as_str());
    let mut column = group
        .next_column()?
        .expect("the schema has as many columns as the table");
    let to = &mut column;
    match kind {
        // Parquet keeps unsigned numbers in the bits of signed ones.
        CellType::Integer => write::<Int64Type>(to, cells, |v| {
            v.as_i64().or_else(|| v.as_u64().map(|n| n as i64))
        }),
        CellType::Number => write::<DoubleType>(to, cells, Value::as_f64),
        CellType::Flag => write::<BoolType>(to, cells, Value::as_bool),
        CellType::Text => write::<ByteArrayType>(to, cells, |v| v.as_str().map(ByteArray::from)),
        CellType::Json => write::<ByteArrayType>(to, cells, |v| (!v.is_null()).then(|| bytes(v))),
    }?;
    column.close()
}

/// The columns of the result record, from its JSON Schema: the same whatever a run measured.
/// Nested objects become columns with dotted names; lists, and what a scheme counts for itself,
/// are JSON text.
pub fn record_columns() -> Vec<TypedColumn> {
    columns_of(&destage_record::result::json_schema())
}

/// The columns of whatever `schema`, a JSON Schema, describes.
pub fn columns_of(schema: &str) -> Vec<TypedColumn> {
    let schema: Value = serde_json::from_str(schema).expect("a schema is plain JSON");
    let mut columns = Vec::new();
    collect("", &schema, &schema, &mut columns);
    columns
}

/// The cell of column `name` in `record`: the value at the dotted path.
pub fn cell(record: &Value, name: &str) -> Value {
    let found = name
        .split('.')
        .try_fold(record, |value, part| value.get(part));
    found.cloned().unwrap_or(Value::Null)
}

fn collect(path: &str, node: &Value, root: &Value, columns: &mut Vec<TypedColumn>) {
    let node = resolved(node, root);
    if let Some(properties) = node.get("properties").and_then(Value::as_object) {
        for (name, field) in properties {
            let path = match path {
                "" => name.clone(),
                _ => format!("{path}.{name}"),
            };
            collect(&path, field, root, columns);
        }
        return;
    }
    let kind = match type_word(node) {
        "integer" => CellType::Integer,
        "number" => CellType::Number,
        "string" => CellType::Text,
        "boolean" => CellType::Flag,
        _ => CellType::Json,
    };
    let name = path.to_owned();
    columns.push(TypedColumn { name, kind });
}

/// The word of a schema for what a field is when it is there; empty if there is none.
pub fn type_word(node: &Value) -> &str {
    let words = match &node["type"] {
        Value::Array(words) => &words[..],
        word => std::slice::from_ref(word),
    };
    let mut words = words.iter().filter_map(Value::as_str);
    words.find(|word| *word != "null").unwrap_or_default()
}

/// Follows references, and takes the part of an optional field that is not null.
pub fn resolved<'a>(node: &'a Value, root: &'a Value) -> &'a Value {
    if let Some(reference) = node["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#'));
        return resolved(target.expect("references stay inside the schema"), root);
    }
    let parts = node["anyOf"].as_array().into_iter().flatten();
    match parts.into_iter().find(|part| part["type"] != "null") {
        Some(part) => resolved(part, root),
        None => node,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use serde_json::json;

    #[test]
    fn cells_survive() {
        let columns = [
            ("n", CellType::Integer),
            ("x", CellType::Number),
            ("t", CellType::Text),
            ("f", CellType::Flag),
            ("j", CellType::Json),
        ];
        let columns = columns.map(|(name, kind)| TypedColumn {
            name: name.to_owned(),
            kind,
        });
        let rows = [
            json!([u64::MAX, 0.5, "a,b", true, [1, [2]]]),
            json!([null, null, null, null, null]),
            json!([0, 3, "", false, {"k": 1}]),
        ];
        let mut file = tempfile::tempfile().unwrap();
        let mut writer = ParquetWriter::new(columns.into()).unwrap();
        for row in &rows {
            writer
                .row(row.as_array().unwrap().clone(), &mut file)
                .unwrap();
        }
        writer.finish(&mut file).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let text: Vec<String> = reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().to_string())
            .collect();
        assert_eq!(
            text,
            [
                r#"{n: 18446744073709551615, x: 0.5, t: "a,b", f: true, j: "[1,[2]]"}"#,
                "{n: null, x: null, t: null, f: null, j: null}",
                r#"{n: 0, x: 3.0, t: "", f: false, j: "{"k":1}"}"#,
            ]
        );
    }

    #[test]
    fn columns_of_the_record_are_typed() {
        let columns = record_columns();
        let kind = |name: &str| columns.iter().find(|c| c.name == name).map(|c| c.kind);
        assert_eq!(kind("scheme"), Some(CellType::Text));
        assert_eq!(kind("trace.sha256"), Some(CellType::Text));
        assert_eq!(kind("counts.page_hits"), Some(CellType::Integer));
        assert_eq!(kind("counts.erases"), Some(CellType::Integer));
        assert_eq!(kind("ratios.waf"), Some(CellType::Number));
        assert_eq!(kind("latency_ns.all.p99"), Some(CellType::Integer));
        assert_eq!(kind("latency_ns.read.mean"), Some(CellType::Number));
        assert_eq!(kind("reading.read_alloc"), Some(CellType::Flag));
        for json in [
            "config",
            "scheme_stats",
            "list_pages",
            "evict_pages_histogram",
        ] {
            assert_eq!(kind(json), Some(CellType::Json), "{json}");
        }
    }
}
