//! `--series`: a row per interval, as CSV or Parquet.

use crate::output::columns::{self, ParquetWriter, TypedColumn};
use crate::output::csv_cell;
use destage_sim::series::{SeriesSink, row_schema};
use destage_sim::{Every, Series, SeriesRow};
use destage_types::{Nanos, Picos};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

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

/// The series of one run at `path`: Parquet if the name ends so, else CSV.
pub fn to_file(every: Every, path: PathBuf) -> Series {
    Series::new(every, sink(path))
}

fn sink(path: PathBuf) -> SeriesSink {
    let mut table = None;
    Box::new(move |row| {
        let named = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
        let open = match table.take() {
            Some(table) => table,
            None => Table::open(&path).map_err(named)?,
        };
        match row {
            Some(row) => table = Some(open.row(row).map_err(named)?),
            None => open.finish().map_err(named)?,
        }
        Ok(())
    })
}

enum Table {
    Csv(BufWriter<File>, Vec<TypedColumn>),
    Parquet(Box<ParquetWriter<BufWriter<File>>>, Vec<TypedColumn>),
}

impl Table {
    fn open(path: &Path) -> io::Result<Table> {
        let columns = columns::columns_of(&row_schema());
        let mut out = BufWriter::new(File::create(path)?);
        if path.extension().is_some_and(|e| e == "parquet") {
            let writer = ParquetWriter::new(out, columns.clone())?;
            return Ok(Table::Parquet(Box::new(writer), columns));
        }
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        writeln!(out, "{}", names.join(","))?;
        Ok(Table::Csv(out, columns))
    }

    fn row(mut self, row: &SeriesRow) -> io::Result<Table> {
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
            Table::Parquet(writer, _) => writer.finish(),
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
