//! One row per record: JSON objects, CSV with the scalars of the record, or Parquet.

use crate::columns;
use crate::columns::{CellType, ParquetWriter, TypedColumn};
use destage_console::terminal::harmless;
use serde::Serialize;
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
    Csv(Vec<TypedColumn>, W),
    Parquet(Vec<TypedColumn>, Box<ParquetWriter>, W),
}

impl<W: Write + Send> Rows<W> {
    /// Rows of result records on `out`.
    ///
    /// # Errors
    /// `out` takes nothing.
    pub fn new(out: W, form: Form) -> io::Result<Rows<W>> {
        let mut columns = columns::record_columns();
        // The columns are the same whatever a run measured; lists have no place in a table, and what a scheme
        // counts for itself differs from scheme to scheme and is kept as JSON in one column.
        if form == Form::Csv {
            columns.retain(|c| c.kind != CellType::Json || c.name == "scheme_stats");
        }
        Rows::of(out, form, columns)
    }

    /// Rows on `out`; unless they are JSON, with these columns.
    ///
    /// # Errors
    /// `out` takes nothing.
    pub fn of(mut out: W, form: Form, columns: Vec<TypedColumn>) -> io::Result<Rows<W>> {
        let out = match form {
            Form::Jsonl => Out::Jsonl(out),
            Form::Csv => {
                let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
                writeln!(out, "{}", names.join(","))?;
                Out::Csv(columns, out)
            }
            Form::Parquet => {
                let writer = ParquetWriter::new(columns.clone())?;
                Out::Parquet(columns, Box::new(writer), out)
            }
        };
        Ok(Rows { out })
    }

    /// Writes the row of `record`.
    ///
    /// # Errors
    /// The output takes no more.
    pub fn write(&mut self, record: &impl Serialize) -> io::Result<()> {
        match &mut self.out {
            Out::Jsonl(out) => writeln!(out, "{}", serde_json::to_string(record)?),
            Out::Csv(columns, out) => {
                let record = serde_json::to_value(record)?;
                let cells = columns.iter().map(|c| columns::cell(&record, &c.name));
                let line: Vec<String> = cells.map(|cell| csv_cell(&cell)).collect();
                writeln!(out, "{}", line.join(","))
            }
            Out::Parquet(columns, writer, out) => {
                let record = serde_json::to_value(record)?;
                let cells = columns.iter().map(|c| columns::cell(&record, &c.name));
                writer.row(cells.collect(), out)
            }
        }
    }

    /// Writes what is left, and gives the output back.
    ///
    /// # Errors
    /// The output takes no more.
    pub fn finish(self) -> io::Result<W> {
        match self.out {
            Out::Jsonl(mut out) | Out::Csv(_, mut out) => {
                out.flush()?;
                Ok(out)
            }
            Out::Parquet(_, writer, mut out) => {
                writer.finish(&mut out)?;
                Ok(out)
            }
        }
    }
}

/// A value as a cell of CSV: nothing if there is none, in quotes if it would end the cell. Text that a
/// spreadsheet would run as a formula has a `'` before it.
pub fn csv_cell(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => {
            format!("'{}", harmless(text))
        }
        Value::String(text) => harmless(text).into_owned(),
        other => other.to_string(),
    };
    if text.contains([',', '"', '\n', '\'']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cells_are_text_to_spreadsheets_and_terminals() {
        for (text, cell) in [
            ("=1+1", "\"'=1+1\""),
            ("@a", "\"'@a\""),
            ("-x", "\"'-x\""),
            ("a-b", "a-b"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("a,b", "\"a,b\""),
        ] {
            assert_eq!(csv_cell(&json!(text)), cell);
        }
        assert_eq!(csv_cell(&json!(-5)), "-5");
    }

    #[test]
    fn cells_are_found_by_their_path() {
        let record = json!({
            "scheme": "procache(lru,p=0.5)",
            "counts": {"requests": 3, "page": {"hits": 1}},
            "ratios": {"waf": null},
            "scheme_stats": {"moves": 7},
        });
        let names = [
            "scheme",
            "counts.page.hits",
            "ratios.waf",
            "no.such",
            "scheme_stats",
        ];
        let columns = names.map(|name| TypedColumn {
            name: name.to_owned(),
            kind: CellType::Text,
        });
        let mut rows = Rows::of(Vec::new(), Form::Csv, columns.to_vec()).unwrap();
        rows.write(&record).unwrap();
        assert_eq!(
            String::from_utf8(rows.finish().unwrap()).unwrap(),
            "scheme,counts.page.hits,ratios.waf,no.such,scheme_stats\n\
             \"procache(lru,p=0.5)\",1,,,\"{\"\"moves\"\":7}\"\n"
        );
    }
}
