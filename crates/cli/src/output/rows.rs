//! One row per record: JSON objects, CSV with the scalars of the record, or Parquet.

use super::columns::{self, Column, ParquetWriter};
use destage_sim::ResultRecord;
use serde_json::Value;
use std::io::{self, Write};

/// Form of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// The whole record as a JSON object.
    Jsonl,
    /// A header, then the scalars of the records; nested names are joined by a dot.
    Csv,
    /// Typed columns for every field of the record; nested names are joined by a dot.
    Parquet,
}

impl Form {
    /// Extension of a file of that form.
    pub fn extension(self) -> &'static str {
        match self {
            Form::Jsonl => "jsonl",
            Form::Csv => "csv",
            Form::Parquet => "parquet",
        }
    }
}

/// Writes records; a line is complete before the next one starts. The rows of Parquet are
/// written together at the end.
pub struct Rows<W: Write + Send> {
    out: Out<W>,
}

enum Out<W: Write + Send> {
    Jsonl(W),
    Csv(CsvRows<W>),
    Parquet(Vec<Column>, Box<ParquetWriter<W>>),
}

impl<W: Write + Send> Rows<W> {
    /// Rows on `out`.
    ///
    /// # Errors
    /// `out` takes nothing.
    pub fn new(out: W, form: Form) -> io::Result<Rows<W>> {
        let out = match form {
            Form::Jsonl => Out::Jsonl(out),
            Form::Csv => {
                let header = Vec::new();
                Out::Csv(CsvRows { out, header })
            }
            Form::Parquet => {
                let columns = columns::record_columns();
                let writer = ParquetWriter::new(out, columns.clone())?;
                Out::Parquet(columns, Box::new(writer))
            }
        };
        Ok(Rows { out })
    }

    /// Writes the row of `record`.
    ///
    /// # Errors
    /// The output takes no more.
    pub fn write(&mut self, record: &ResultRecord) -> io::Result<()> {
        match &mut self.out {
            Out::Jsonl(out) => {
                let line = serde_json::to_string(record)?;
                writeln!(out, "{line}")?;
                out.flush()
            }
            Out::Csv(rows) => rows.write(&scalars(&serde_json::to_value(record)?)),
            Out::Parquet(columns, writer) => {
                let record = serde_json::to_value(record)?;
                let cells = columns.iter().map(|c| columns::cell(&record, &c.name));
                writer.row(cells.collect())
            }
        }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The output takes no more.
    pub fn finish(self) -> io::Result<()> {
        match self.out {
            Out::Jsonl(mut out) | Out::Csv(CsvRows { mut out, .. }) => out.flush(),
            Out::Parquet(_, writer) => writer.finish(),
        }
    }
}

/// A header and lines of scalars.
struct CsvRows<W: Write> {
    out: W,
    header: Vec<String>,
}

impl<W: Write> CsvRows<W> {
    /// The columns are those of the first record; runs of one command have the same fields.
    fn write(&mut self, fields: &[(String, String)]) -> io::Result<()> {
        if self.header.is_empty() {
            self.header = fields.iter().map(|f| f.0.clone()).collect();
            writeln!(self.out, "{}", self.header.join(","))?;
        }
        let value = |name: &String| fields.iter().find(|f| f.0 == *name).map_or("", |f| &f.1);
        let line: Vec<&str> = self.header.iter().map(value).collect();
        writeln!(self.out, "{}", line.join(","))?;
        self.out.flush()
    }
}

/// Names and values of all scalars. Lists have no place in a table; what a scheme counts for
/// itself differs from scheme to scheme and is kept as JSON in one column.
fn scalars(record: &Value) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    collect("", record, &mut fields);
    fields
}

fn collect(path: &str, value: &Value, fields: &mut Vec<(String, String)>) {
    match value {
        Value::Object(object) if path != "scheme_stats" => {
            for (name, value) in object {
                let path = match path {
                    "" => name.clone(),
                    _ => format!("{path}.{name}"),
                };
                collect(&path, value, fields);
            }
        }
        Value::Array(_) => {}
        Value::Null => fields.push((path.to_owned(), String::new())),
        Value::String(text) => fields.push((path.to_owned(), quoted(text))),
        other => fields.push((path.to_owned(), quoted(&other.to_string()))),
    }
}

fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn scalars_are_flat() {
        let record = json!({
            "scheme": "procache(lru,p=0.5)",
            "counts": {"requests": 3, "page": {"hits": 1}},
            "ratios": {"waf": null},
            "cdf": [[1, 2]],
            "scheme_stats": {"moves": 7},
        });
        let fields = scalars(&record);
        let text = |s: &str| s.to_owned();
        assert_eq!(
            fields,
            [
                (text("scheme"), text("\"procache(lru,p=0.5)\"")),
                (text("counts.requests"), text("3")),
                (text("counts.page.hits"), text("1")),
                (text("ratios.waf"), text("")),
                (text("scheme_stats"), text("\"{\"\"moves\"\":7}\"")),
            ]
        );
    }
}
