//! Rows of a CSV table with a header, and values that are named when they are wrong.

use destage_console::failure::Failure;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

/// A row of a table.
pub struct TableRow<'a> {
    file: &'a Path,
    /// Line in the file, from 1.
    pub line: u64,
    /// Values by column; a value that is missing or empty is left out.
    values: BTreeMap<&'a str, &'a str>,
}

/// The columns of a CSV table and its rows.
pub struct CsvTable {
    columns: Vec<String>,
    rows: Vec<(u64, csv::StringRecord)>,
}

impl CsvTable {
    /// Reads a whole table.
    ///
    /// # Errors
    /// A row has another number of values than the header, or a column stands twice.
    pub fn parse(file: &Path, text: &str) -> Result<CsvTable, Failure> {
        let refused = |error: csv::Error| Failure::usage(format!("{}: {error}", file.display()));
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .comment(Some(b'#'))
            .from_reader(text.as_bytes());
        let header = reader.headers().map_err(refused)?;
        let columns: Vec<String> = header.iter().map(str::to_owned).collect();
        for (i, column) in columns.iter().enumerate() {
            if columns[..i].contains(column) {
                let file = file.display();
                let fault =
                    format!("{file}:1: column `{column}` stands twice. Remove one of them.");
                return Err(Failure::usage(fault));
            }
        }
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(refused)?;
            let line = record.position().map_or(0, csv::Position::line);
            rows.push((line, record));
        }
        Ok(CsvTable { columns, rows })
    }

    /// Names of the columns, in their order.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The rows, in their order.
    pub fn rows<'a>(&'a self, file: &'a Path) -> impl Iterator<Item = TableRow<'a>> {
        self.rows.iter().map(move |(line, record)| {
            let columns = self.columns.iter().map(String::as_str);
            let pairs = columns.zip(record.iter());
            TableRow {
                file,
                line: *line,
                values: pairs.filter(|(_, value)| !value.is_empty()).collect(),
            }
        })
    }
}

impl TableRow<'_> {
    /// A fault of this row.
    pub fn fault(&self, what: impl Display) -> Failure {
        Failure::usage(format!("{}:{}: {what}", self.file.display(), self.line))
    }

    /// A fault of one value, with what is allowed.
    pub fn refused(&self, column: &str, allowed: &str) -> Failure {
        let value = self.text(column).unwrap_or_default();
        self.fault(format!("`{column}` is `{value}`. Allowed: {allowed}."))
    }

    /// The value of a column, if there is one.
    pub fn text(&self, column: &str) -> Option<&str> {
        self.values.get(column).copied()
    }

    /// The value of a column that must have one.
    pub fn required(&self, column: &str, allowed: &str) -> Result<&str, Failure> {
        let missing = || self.fault(format!("`{column}` is missing. Allowed: {allowed}."));
        self.text(column).ok_or_else(missing)
    }

    /// A number in `[least, most]`, if the column has a value.
    pub fn number(&self, column: &str, least: f64, most: f64) -> Result<Option<f64>, Failure> {
        let Some(text) = self.text(column) else {
            return Ok(None);
        };
        let value = text.parse::<f64>().ok();
        let value = value.filter(|value| (least..=most).contains(value) && value.is_finite());
        let refused = || self.refused(column, &number_range(least, most));
        value.map(Some).ok_or_else(refused)
    }

    /// A number in `[least, most]` that must be there.
    pub fn required_number(&self, column: &str, least: f64, most: f64) -> Result<f64, Failure> {
        self.required(column, &number_range(least, most))?;
        Ok(self.number(column, least, most)?.unwrap_or_default())
    }

    /// A whole number from 1, if the column has a value.
    pub fn count<T: std::str::FromStr + PartialOrd + From<u8>>(
        &self,
        column: &str,
    ) -> Result<Option<T>, Failure> {
        let Some(text) = self.text(column) else {
            return Ok(None);
        };
        let value = text.parse::<T>().ok().filter(|value| *value >= T::from(1));
        let refused = || self.refused(column, "a whole number from 1");
        value.map(Some).ok_or_else(refused)
    }
}

/// A range of numbers in words.
fn number_range(least: f64, most: f64) -> String {
    let start = match least == f64::MIN_POSITIVE {
        true => "above 0".to_owned(),
        false => format!("from {least}"),
    };
    match most.is_finite() {
        true => format!("a number {start} to {most}"),
        false => format!("a number {start}"),
    }
}
