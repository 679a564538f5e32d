//! `--series`: a row per interval, as CSV or Parquet.

use crate::output::columns::{self, ParquetWriter, TypedColumn};
use crate::output::csv_cell;
use destage_sim::series::{SeriesSink, row_schema};
use destage_sim::{Every, Series, SeriesRow};
use destage_types::{Nanos, Picos};
use std::io::{self, Write};
use std::path::Path;

/// Reads `10000` (requests) or `1s` (simulated time).
///
/// # Errors
/// What is wrong and what is allowed.
pub fn parse_every(text: &str) -> Result<Every, String> {
    let wrong = |why: &str| {
        format!(
            "`{text}` {why}; allowed: a number of requests, or a time with its unit, such as 1s"
        )
    };
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return match text.parse() {
            Ok(0) | Err(_) => Err(wrong("is no number of requests above 0")),
            Ok(requests) => Ok(Every::Requests(requests)),
        };
    }
    let time = Picos::parse(text).map_err(|error| wrong(&format!("is no interval: {error}")))?;
    match time.0 / 1000 {
        0 => Err(wrong("is shorter than 1 ns")),
        ns => Ok(Every::Time(Nanos(ns))),
    }
}

/// The series of one run on `out`, in the form that the name at `path` asks for: Parquet if it ends so, else
/// CSV.
pub fn to_file(every: Every, path: &Path, out: impl Write + Send + 'static) -> Series {
    let parquet = path.extension().is_some_and(|e| e == "parquet");
    Series::new(every, sink(parquet, out))
}

fn sink<W: Write + Send + 'static>(parquet: bool, out: W) -> SeriesSink {
    let (mut out, mut table) = (Some(out), None);
    Box::new(move |row| {
        if let Some(out) = out.take() {
            table = Some(Table::new(parquet, out)?);
        }
        match (table.take(), row) {
            (Some(open), Some(row)) => table = Some(open.row(row)?),
            (Some(open), None) => open.finish()?,
            (None, _) => {}
        }
        Ok(())
    })
}

enum Table<W: Write + Send> {
    Csv(W, Vec<TypedColumn>),
    Parquet(Box<ParquetWriter<W>>, Vec<TypedColumn>),
}

impl<W: Write + Send> Table<W> {
    fn new(parquet: bool, mut out: W) -> io::Result<Table<W>> {
        let columns = columns::columns_of(&row_schema());
        if parquet {
            let writer = ParquetWriter::new(out, columns.clone())?;
            return Ok(Table::Parquet(Box::new(writer), columns));
        }
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        writeln!(out, "{}", names.join(","))?;
        Ok(Table::Csv(out, columns))
    }

    fn row(mut self, row: &SeriesRow) -> io::Result<Table<W>> {
        let row = serde_json::to_value(row)?;
        match &mut self {
            Table::Csv(out, columns) => {
                let cells: Vec<String> = columns.iter().map(|c| csv_cell(&row[&c.name])).collect();
                writeln!(out, "{}", cells.join(","))?;
            }
            Table::Parquet(writer, columns) => {
                let cells = columns.iter().map(|c| row[&c.name].clone());
                writer.row(cells.collect())?;
            }
        }
        Ok(self)
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Table::Csv(mut out, _) => out.flush(),
            Table::Parquet(writer, _) => writer.finish().map(|_| ()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals() {
        assert_eq!(parse_every("10000"), Ok(Every::Requests(10_000)));
        assert_eq!(parse_every("1s"), Ok(Every::Time(Nanos(1_000_000_000))));
        assert_eq!(parse_every("2.5us"), Ok(Every::Time(Nanos(2_500))));
        for wrong in ["", "0", "-1", "1x", "0s", "0.1ns", "1 0"] {
            assert!(parse_every(wrong).is_err(), "{wrong}");
        }
    }
}
