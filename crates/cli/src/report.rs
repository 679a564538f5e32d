//! `destage report`: the page of charts and tables of runs that were done before.

use crate::args::ReportArgs;
use destage_console::failure::Failure;
use destage_experiment::records::read_records;
use destage_report::html::HtmlReport;

/// Writes the report of the records that `args` names.
///
/// # Errors
/// There are none, or the page cannot be written.
pub fn run(args: &ReportArgs) -> Result<(), Failure> {
    let mut report = HtmlReport::open("--output", &args.output, "destage report")?;
    for path in &args.results {
        read_records(path)?
            .iter()
            .for_each(|record| report.add(record, None));
    }
    report.finish()
}
