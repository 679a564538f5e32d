//! Where records go: each sink takes the records of all runs.

use crate::folder::{ResultsFolder, RowsFile, form, forms, results_name};
use crate::journal::Journal;
use crate::options::{FormatOut, RunArgs};
use destage_console::failure::Failure;
use destage_console::file;
use destage_console::print::{print, print_exactly, unwritten};
use destage_console::terminal::{Screen, harmless, say};
use destage_record::{ResultRecord, RunCharts, Scene};
use destage_report::details::{self, ShownDetails};
use destage_report::html::HtmlReport;
use destage_report::rows::{Form, Rows};
use destage_report::run_table;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

/// A record, and what was collected for charts while its run went on.
pub type KeptRecord = (ResultRecord, Option<RunCharts>);

/// A run that has a record.
pub struct FinishedRun {
    /// The record.
    pub record: ResultRecord,
    /// Data of its charts.
    pub charts: Option<RunCharts>,
    /// The scene of a run that was watched.
    pub scene: Option<Scene>,
    /// Did it run just now? Else an earlier command did it.
    pub is_new: bool,
}

/// Takes records of runs.
pub trait RecordSink {
    /// Takes a record.
    ///
    /// # Errors
    /// It cannot be written.
    fn take(&mut self, run: &FinishedRun) -> Result<(), Failure>;

    /// Does it know runs by their keys?
    fn has_keys(&self) -> bool {
        false
    }

    /// The record of the run with this key, if an earlier command has done it.
    fn finished(&self, _key: &str) -> Option<&ResultRecord> {
        None
    }

    /// Does it draw charts?
    fn draws_charts(&self) -> bool {
        false
    }

    /// Ends the output. Files whose content is that of all runs are written only if there is a record of each
    /// (`complete`).
    ///
    /// # Errors
    /// It cannot be written.
    fn finish(self: Box<Self>, _complete: bool) -> Result<(), Failure> {
        Ok(())
    }
}

/// All outputs of a command.
pub type Sinks<'a> = Vec<Box<dyn RecordSink + 'a>>;

/// The outputs that the options of `run` ask for.
///
/// # Errors
/// Nothing can be written there, or another command writes there.
pub fn sinks_of(args: &RunArgs) -> Result<Sinks<'static>, Failure> {
    let format = args.form.format_out();
    let table = || TableSink {
        records: Vec::new(),
        columns: args.columns.clone(),
        sort: args.sort.clone(),
        details: args.details,
    };
    let (mut sinks, mut last): (Sinks<'_>, Sinks<'_>) = (Vec::new(), Vec::new());
    match (&args.out, format) {
        (None, FormatOut::Table) => last.push(Box::new(table())),
        (None, _) => sinks.push(standard_output(format)?),
        (Some(folder), _) => {
            sinks.push(Box::new(Journal::open(folder, args.fresh)?));
            if let Some(file) = ResultsFile::open(folder, format)? {
                sinks.push(Box::new(file));
            }
            last.push(Box::new(table()));
        }
    }
    if let Some(path) = &args.report {
        sinks.push(Box::new(HtmlReport::open("--report", path, "destage run")?));
    }
    sinks.extend(last);
    Ok(sinks)
}

/// Records on standard output.
///
/// # Errors
/// It takes nothing.
pub fn standard_output(format: FormatOut) -> Result<Box<dyn RecordSink>, Failure> {
    let Some(form) = form(format) else {
        return Ok(Box::new(TableSink::default()));
    };
    if form == Form::Parquet && io::stdout().is_terminal() {
        return Err(Failure::usage(
            "--format-out parquet is binary and not for a terminal; use --out DIR, or a pipe",
        ));
    }
    let rows = Rows::new(io::stdout(), form).map_err(Failure::stdout)?;
    Ok(Box::new(rows))
}

/// Shows records that no run of this command gave.
///
/// # Errors
/// They cannot be written.
pub fn show(
    format: FormatOut,
    records: impl IntoIterator<Item = ResultRecord>,
) -> Result<(), Failure> {
    let mut output = standard_output(format)?;
    for record in records {
        output.take(&FinishedRun {
            record,
            charts: None,
            scene: None,
            is_new: true,
        })?;
    }
    output.finish(true)
}

/// Ends all outputs.
///
/// # Errors
/// One cannot be written.
pub fn finish(sinks: Sinks<'_>, complete: bool) -> Result<(), Failure> {
    sinks.into_iter().try_for_each(|sink| sink.finish(complete))
}

/// The table, which is shown at the end.
#[derive(Default)]
struct TableSink {
    records: Vec<ResultRecord>,
    /// Its columns, if not the usual ones.
    columns: Vec<String>,
    /// The column by which its rows are sorted, if one was asked for.
    sort: Option<String>,
    /// Is everything else that was measured shown below?
    details: bool,
}

impl RecordSink for TableSink {
    fn take(&mut self, run: &FinishedRun) -> Result<(), Failure> {
        self.records.push(run.record.clone());
        Ok(())
    }

    fn finish(mut self: Box<Self>, _: bool) -> Result<(), Failure> {
        if self.records.is_empty() {
            return Ok(());
        }
        if let Some(column) = &self.sort {
            run_table::sort(&mut self.records, column);
        }
        let shown = match self.details {
            true => ShownDetails::All,
            false => ShownDetails::Asked,
        };
        let details = details::text(&self.records, shown);
        // Names in it are harmless already, and colours are to be obeyed.
        let table = run_table::text(&self.records, &self.columns, &Screen::of_stdout());
        print_exactly(&(table + &harmless(&details)))
    }
}

impl RecordSink for Rows<io::Stdout> {
    fn take(&mut self, run: &FinishedRun) -> Result<(), Failure> {
        self.write(&run.record).map_err(Failure::stdout)
    }

    fn finish(self: Box<Self>, _: bool) -> Result<(), Failure> {
        Rows::finish(*self).map_err(Failure::stdout).map(drop)
    }
}

/// Results beside the journal, which are there once all runs are done.
struct ResultsFile {
    path: PathBuf,
    rows: RowsFile,
}

impl ResultsFile {
    /// The file in `folder` that `format` asks for, if it does.
    fn open(folder: &Path, format: FormatOut) -> Result<Option<ResultsFile>, Failure> {
        let Some(form) = forms(format).nth(1) else {
            return Ok(None);
        };
        let (folder, name) = (ResultsFolder::existing(folder), results_name(form));
        folder.require_own(&[&*name])?;
        let rows = folder.writable(&name, folder.rows(form))?;
        let path = folder.path().join(name);
        Ok(Some(ResultsFile { path, rows }))
    }
}

impl RecordSink for ResultsFile {
    fn take(&mut self, run: &FinishedRun) -> Result<(), Failure> {
        let written = self.rows.write(&run.record);
        written.map_err(|error| unwritten(&self.path, &error))
    }

    fn finish(self: Box<Self>, complete: bool) -> Result<(), Failure> {
        if !complete {
            return Ok(());
        }
        let written = self.rows.finish().and_then(file::complete);
        written.map_err(|error| unwritten(&self.path, &error))
    }
}

impl RecordSink for HtmlReport {
    fn take(&mut self, run: &FinishedRun) -> Result<(), Failure> {
        self.add(&run.record, run.charts.clone());
        Ok(())
    }

    fn draws_charts(&self) -> bool {
        true
    }

    fn finish(self: Box<Self>, complete: bool) -> Result<(), Failure> {
        match complete {
            true => HtmlReport::finish(*self),
            false => Ok(()),
        }
    }
}

/// Keeps records for the program.
#[derive(Default)]
pub struct KeptRecords {
    /// Those taken.
    pub records: Vec<KeptRecord>,
    /// Are charts collected, too?
    pub charts: bool,
}

impl RecordSink for KeptRecords {
    fn take(&mut self, run: &FinishedRun) -> Result<(), Failure> {
        self.records.push((run.record.clone(), run.charts.clone()));
        Ok(())
    }

    fn draws_charts(&self) -> bool {
        self.charts
    }
}

/// A folder of results that other commands may go on with.
impl RecordSink for Journal {
    fn take(&mut self, run: &FinishedRun) -> Result<(), Failure> {
        match run.is_new {
            true => self.add(&run.record).map_err(unjournalled),
            false => Ok(()),
        }
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn finished(&self, key: &str) -> Option<&ResultRecord> {
        Journal::finished(self, key)
    }

    fn finish(self: Box<Self>, _: bool) -> Result<(), Failure> {
        Journal::finish(*self).map_err(unjournalled)
    }
}

/// A sink that stays open.
impl<S: RecordSink> RecordSink for &mut S {
    fn take(&mut self, run: &FinishedRun) -> Result<(), Failure> {
        S::take(self, run)
    }

    fn has_keys(&self) -> bool {
        S::has_keys(self)
    }

    fn finished(&self, key: &str) -> Option<&ResultRecord> {
        S::finished(self, key)
    }

    fn draws_charts(&self) -> bool {
        S::draws_charts(self)
    }
}

fn unjournalled(error: io::Error) -> Failure {
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
