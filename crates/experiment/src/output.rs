//! Results: a table for people, lines for programs.

use crate::journal::{JOURNAL, Journal, LOCK};
use crate::options::FormatOut;
use crate::ownership;
use destage_console::failure::Failure;
use destage_console::file::{self, OutputFile};
use destage_console::print::{print, print_exactly, unwritten};
use destage_console::terminal::{Screen, harmless, say};
use destage_record::ResultRecord;
use destage_record::RunCharts;
use destage_report::html::HtmlReport;
use destage_report::rows::{Form, Rows};
use destage_report::{details, run_table};
use std::io::{self, BufWriter, IsTerminal};
use std::path::{Path, PathBuf};

/// Where the results of a command go.
///
/// Without a folder, standard output takes the form asked for. With a folder, `results.jsonl` there is a
/// journal of all runs, the records of this command also go to `results.csv` or `results.parquet` if that
/// form is asked for, and the table goes to standard output.
#[derive(Default)]
pub struct Output {
    /// For the table, shown at the end.
    table: Option<Vec<ResultRecord>>,
    stdout: Option<Rows<io::Stdout>>,
    journal: Option<Journal>,
    file: Option<ResultsFile>,
    report: Option<HtmlReport>,
    details: bool,
    /// Columns of the table, if not the usual ones.
    columns: Vec<String>,
    /// Nobody is told which runs were done before.
    quiet: bool,
    /// For a program, which takes them.
    kept: Option<Vec<KeptRecord>>,
    /// Are charts collected without a report?
    charts: bool,
    /// Has it taken a record?
    any: bool,
}

/// A record, and what was collected for charts while it ran.
pub type KeptRecord = (ResultRecord, Option<RunCharts>);

/// Results beside the journal, written when all are there.
struct ResultsFile {
    path: PathBuf,
    form: Form,
    records: Vec<ResultRecord>,
}

/// The files of results that `--out` may write.
pub fn results_files(folder: &Path, format: FormatOut) -> Vec<PathBuf> {
    let other = form(format).filter(|form| *form != Form::Jsonl);
    let other = other.map(|form| format!("results.{}", form.extension()));
    let names = [JOURNAL.to_owned()].into_iter().chain(other);
    names.map(|name| folder.join(name)).collect()
}

/// All files that the format of such a folder knows: no other output of the command may be one of them.
pub fn folder_files(folder: &Path) -> Vec<PathBuf> {
    let forms = [Form::Jsonl, Form::Csv, Form::Parquet];
    let results = forms.map(|form| format!("results.{}", form.extension()));
    let others = [LOCK, crate::sweep::MANIFEST, "costs.csv", "batches"];
    let names = results.iter().map(String::as_str).chain(others);
    names.map(|name| folder.join(name)).collect()
}

/// The form of rows that is asked for, if it is one.
pub fn form(format: FormatOut) -> Option<Form> {
    match format {
        FormatOut::Table => None,
        FormatOut::Jsonl => Some(Form::Jsonl),
        FormatOut::Csv => Some(Form::Csv),
        FormatOut::Parquet => Some(Form::Parquet),
    }
}

impl Output {
    /// Results on standard output.
    ///
    /// # Errors
    /// It takes nothing.
    pub fn stdout(format: FormatOut) -> Result<Output, Failure> {
        let form = form(format);
        if form == Some(Form::Parquet) && io::stdout().is_terminal() {
            return Err(Failure::usage(
                "--format-out parquet is binary and not for a terminal; use --out DIR, or a pipe",
            ));
        }
        let rows = form.map(|form| Rows::new(io::stdout(), form));
        Ok(Output {
            table: form.is_none().then(Vec::new),
            stdout: rows.transpose().map_err(Failure::stdout)?,
            ..Output::default()
        })
    }

    /// Results for a program that has called the runs; nothing is written. `charts`: are they collected?
    pub fn in_memory(charts: bool) -> Output {
        Output {
            quiet: true,
            kept: Some(Vec::new()),
            charts,
            ..Output::default()
        }
    }

    /// The results that were kept.
    pub fn into_kept(self) -> Vec<KeptRecord> {
        self.kept.unwrap_or_default()
    }

    /// Results in a folder. `fresh`: what was done before counts for nothing.
    ///
    /// # Errors
    /// Nothing can be written there, or another command writes there.
    pub fn folder(format: FormatOut, folder: &Path, fresh: bool) -> Result<Output, Failure> {
        let journal = Journal::open(folder, fresh)?;
        let mut file = None;
        if let [_, path] = &results_files(folder, format)[..] {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let place = folder.display();
            ownership::require_own(folder, &[&*name])
                .map_err(|why| Failure::usage(format!("--out {place}: {why}")))?;
            file::check(path).map_err(|error| {
                Failure::usage(format!(
                    "--out {place}: cannot write there: {name}: {error}"
                ))
            })?;
            file = form(format).map(|form| ResultsFile {
                path: path.clone(),
                form,
                records: Vec::new(),
            });
        }
        Ok(Output {
            table: Some(Vec::new()),
            journal: Some(journal),
            file,
            ..Output::default()
        })
    }

    /// Writes a report, too.
    pub fn report(&mut self, report: HtmlReport) {
        self.report = Some(report);
    }

    /// Is a report written, for which charts are collected?
    pub fn has_report(&self) -> bool {
        self.report.is_some() || self.charts
    }

    /// Shows what else was measured below the table, if there is one.
    pub fn details(&mut self) {
        self.details = true;
    }

    /// Shows these columns in the table.
    pub fn columns(&mut self, names: &[String]) {
        self.columns = names.to_vec();
    }

    /// Says nothing of runs that were done before.
    pub fn quiet(&mut self) {
        self.quiet = true;
    }

    /// Is that so?
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Is there a journal, so that runs need keys?
    pub fn has_journal(&self) -> bool {
        self.journal.is_some()
    }

    /// The record of a run that an earlier command finished in the same folder.
    pub fn finished(&self, key: &str) -> Option<ResultRecord> {
        self.journal.as_ref()?.finished(key).cloned()
    }

    /// Takes the record of a run that was finished just now, and what was collected for charts.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, record: ResultRecord, charts: Option<RunCharts>) -> Result<(), Failure> {
        if let Some(journal) = &mut self.journal {
            journal.add(&record).map_err(journal_unwritten)?;
        }
        self.show(record, charts)
    }

    /// Takes a record that the journal has.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn show(&mut self, record: ResultRecord, charts: Option<RunCharts>) -> Result<(), Failure> {
        self.any = true;
        if let Some(rows) = &mut self.stdout {
            rows.write(&record).map_err(Failure::stdout)?;
        }
        if let Some(kept) = &mut self.kept {
            kept.push((record, charts));
            return Ok(());
        }
        if let Some(report) = &mut self.report {
            report.add(&record, charts);
        }
        if let Some(file) = &mut self.file {
            file.records.push(record.clone());
        }
        if let Some(table) = &mut self.table {
            table.push(record);
        }
        Ok(())
    }

    /// Has it taken a record?
    pub fn has_records(&self) -> bool {
        self.any
    }

    /// The records since the last call.
    pub fn take_shown(&mut self) -> Vec<ResultRecord> {
        self.table.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Ends a folder of results of which no table is shown.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn close(mut self) -> Result<(), Failure> {
        self.take_shown();
        self.finish(true)
    }

    /// Ends the outputs and shows the table if there is one. Files whose content is that of all runs are
    /// written only if there is one of each (`complete`).
    ///
    /// # Errors
    /// They cannot be written.
    pub fn finish(self, complete: bool) -> Result<(), Failure> {
        if let Some(rows) = self.stdout {
            rows.finish().map_err(Failure::stdout)?;
        }
        if let Some(journal) = self.journal {
            journal.finish().map_err(journal_unwritten)?;
        }
        if let Some(file) = self.file.filter(|_| complete) {
            file.write()
                .map_err(|error| unwritten(&file.path, &error))?;
        }
        if let Some(report) = self.report.filter(|_| complete) {
            report.finish()?;
        }
        match self.table {
            Some(records) if !records.is_empty() => {
                let details = match self.details {
                    true => details::text(&records),
                    false => String::new(),
                };
                // Names in it are harmless already, and colours are to be obeyed.
                let table = run_table::text(&records, &self.columns, &Screen::of_stdout());
                print_exactly(&(table + &harmless(&details)))
            }
            _ => Ok(()),
        }
    }
}

impl ResultsFile {
    fn write(&self) -> io::Result<()> {
        let mut rows = Rows::new(BufWriter::new(OutputFile::create(&self.path)?), self.form)?;
        for record in &self.records {
            rows.write(record)?;
        }
        file::complete(rows.finish()?)
    }
}

fn journal_unwritten(error: io::Error) -> Failure {
    Failure::Run(format!("cannot write the results: {error}"))
}

/// Tells people what is no result: where results go, if these are for people, else on standard error.
///
/// # Errors
/// It cannot be written.
pub fn tell(format: FormatOut, text: &str) -> Result<(), Failure> {
    match format {
        FormatOut::Table => print(text),
        _ => {
            say(text.trim_end_matches('\n'));
            Ok(())
        }
    }
}
