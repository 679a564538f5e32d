//! Results: a table for people, lines for programs.

pub mod columns;
pub mod details;
mod reading;
mod rows;
pub mod table;

pub use reading::Readings;
pub use rows::csv_cell;

use crate::args::FormatOut;
use crate::failure::Failure;
use crate::report::HtmlReport;
use destage_sim::ResultRecord;
use rows::{Form, Rows};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

/// Where the results of a command go.
///
/// Without a folder, standard output takes the form asked for. With a folder, the records go to
/// `results.jsonl`, `results.csv` or `results.parquet` there, and the table to standard output.
pub struct Output<'a> {
    /// For the table, shown at the end.
    table: Option<Vec<ResultRecord>>,
    stdout: Option<Rows<io::Stdout>>,
    file: Option<Rows<BufWriter<File>>>,
    report: Option<HtmlReport>,
    details: bool,
    below: Option<Below<'a>>,
}

/// What stands below a table.
type Below<'a> = Box<dyn Fn(&[ResultRecord]) -> String + 'a>;

impl<'a> Output<'a> {
    /// Creates folder and file if there is to be one.
    ///
    /// # Errors
    /// They cannot be created.
    pub fn open(format: FormatOut, folder: Option<&Path>) -> Result<Output<'a>, Failure> {
        let form = match format {
            FormatOut::Table => None,
            FormatOut::Jsonl => Some(Form::Jsonl),
            FormatOut::Csv => Some(Form::Csv),
            FormatOut::Parquet => Some(Form::Parquet),
        };
        let Some(folder) = folder else {
            if form == Some(Form::Parquet) && io::stdout().is_terminal() {
                return Err(Failure::usage(
                    "--format-out parquet is no text for a terminal; --out DIR writes a file",
                ));
            }
            let rows = form.map(|form| Rows::new(io::stdout(), form));
            return Ok(Output {
                table: form.is_none().then(Vec::new),
                stdout: rows.transpose().map_err(Failure::stdout)?,
                file: None,
                report: None,
                details: false,
                below: None,
            });
        };
        let form = form.unwrap_or(Form::Jsonl);
        let refused = |error| {
            Failure::usage(format!(
                "--out {}: cannot write there: {error}",
                folder.display()
            ))
        };
        std::fs::create_dir_all(folder).map_err(refused)?;
        let path = folder.join(format!("results.{}", form.extension()));
        let file = File::create(path).map_err(refused)?;
        let rows = Rows::new(BufWriter::new(file), form).map_err(refused)?;
        Ok(Output {
            table: Some(Vec::new()),
            stdout: None,
            file: Some(rows),
            report: None,
            details: false,
            below: None,
        })
    }

    /// Writes a report, too.
    pub fn report(&mut self, report: HtmlReport) {
        self.report = Some(report);
    }

    /// Shows what else was measured below the table, if there is one.
    pub fn details(&mut self) {
        self.details = true;
    }

    /// Shows `text` of all records below the table, if there is one.
    pub fn below(&mut self, text: impl Fn(&[ResultRecord]) -> String + 'a) {
        self.below = Some(Box::new(text));
    }

    /// Takes the next record.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, record: ResultRecord) -> Result<(), Failure> {
        if let Some(rows) = &mut self.stdout {
            rows.write(&record).map_err(Failure::stdout)?;
        }
        if let Some(rows) = &mut self.file {
            rows.write(&record).map_err(unwritten)?;
        }
        if let Some(report) = &mut self.report {
            report.add(&record);
        }
        if let Some(table) = &mut self.table {
            table.push(record);
        }
        Ok(())
    }

    /// Ends the files and shows the table if there is one.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn finish(self) -> Result<(), Failure> {
        if let Some(rows) = self.stdout {
            rows.finish().map_err(Failure::stdout)?;
        }
        if let Some(rows) = self.file {
            rows.finish().map_err(unwritten)?;
        }
        if let Some(report) = self.report {
            report.finish()?;
        }
        match self.table {
            Some(records) if !records.is_empty() => {
                let below = self
                    .below
                    .map_or_else(String::new, |below| format!("\n{}", below(&records)));
                let details = match self.details {
                    true => details::text(&records),
                    false => String::new(),
                };
                print(&(table::text(&records) + &details + &below))
            }
            _ => Ok(()),
        }
    }
}

fn unwritten(error: io::Error) -> Failure {
    Failure::Run(format!("cannot write the results: {error}"))
}

/// Writes `text` to standard output.
///
/// # Errors
/// It cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let done = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    done.map_err(Failure::stdout)
}
