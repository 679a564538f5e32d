//! `--report`: one HTML file with charts and tables that needs nothing else to be shown.
//!
//! `chart` says what a chart shows, `page` makes the file of charts and tables; `run_charts`, `relative`, `heat`, `tables`
//! and `summary` are what is shown of runs, `group` which of them stand together. The scripts turn
//! charts into options of Apache ECharts (`vendor/echarts`), which is part of every page.

pub mod chart;
mod compared;
mod figures;
mod group;
mod heat;
pub mod page;
mod relative;
mod run_charts;
mod summary;
mod tables;
mod undrained;

use crate::readings::Readings;
use destage_console::failure::Failure;
use destage_console::print::unwritten;
use destage_console::terminal::say;
use destage_console::{file, suffix};
use destage_record::{ResultRecord, RunCharts};
use group::{ReportedRun, RunGroup, groups, shown_schemes};
use page::ReportPage;
use std::path::{Path, PathBuf};

/// A report that will be written.
pub struct HtmlReport {
    path: PathBuf,
    title: String,
    runs: Vec<ReportedRun>,
}

/// Makes sure that the report at `path`, which `option` names, can be written.
///
/// # Errors
/// It cannot.
pub fn check(option: &str, path: &Path) -> Result<(), Failure> {
    if path == Path::new("-") {
        return Err(Failure::usage(format!(
            "{option} needs a file: standard output is for results"
        )));
    }
    suffix::REPORT.check(option, path)?;
    file::check(path).map_err(|error| {
        let place = path.display();
        Failure::usage(format!("{option} {place}: cannot create it: {error}"))
    })
}

/// Writes a page, and says where it is.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, page: ReportPage) -> Result<(), Failure> {
    store(path, page)?;
    say(&format!("report: {}", path.display()));
    Ok(())
}

fn store(path: &Path, page: ReportPage) -> Result<(), Failure> {
    file::write_file(path, page.finish()).map_err(|error| unwritten(path, &error))
}

impl HtmlReport {
    /// Makes sure that `path`, which `option` names, can be written.
    ///
    /// # Errors
    /// It cannot.
    pub fn open(option: &str, path: &Path, title: &str) -> Result<HtmlReport, Failure> {
        check(option, path)?;
        Ok(HtmlReport {
            path: path.to_owned(),
            title: title.to_owned(),
            runs: Vec::new(),
        })
    }

    /// Takes the next record, with what was collected for its charts if the run was done just now.
    pub fn add(&mut self, record: &ResultRecord, charts: Option<RunCharts>) {
        self.runs.push(ReportedRun {
            record: record.clone(),
            charts,
        });
    }

    /// Writes the report, and says where it is.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(self) -> Result<(), Failure> {
        write(&self.path, page(&self.title, &self.runs))
    }

    /// Writes the report for a program, which knows where it is.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn store(self) -> Result<(), Failure> {
        store(&self.path, page(&self.title, &self.runs))
    }
}

/// The sentences that answer first about `records`, as a report has them: for each trace, device and cache size, named in
/// front if there are several.
pub fn answers_about(records: &[ResultRecord]) -> Vec<String> {
    let runs = records.iter().map(|record| ReportedRun {
        record: record.clone(),
        charts: None,
    });
    let runs: Vec<ReportedRun> = runs.collect();
    let schemes = shown_schemes(&runs);
    let groups = groups(&runs, &schemes);
    let several = groups.iter().map(|group| group.sizes.len()).sum::<usize>() > 1;
    let mut said = Vec::new();
    for group in &groups {
        for &size in &group.sizes {
            let place = match several {
                true => format!("{}, {}: ", group.title(), RunGroup::size_text(size)),
                false => String::new(),
            };
            let answers = summary::answers_at(group, size).into_iter();
            said.extend(answers.map(|answer| format!("{place}{answer}")));
        }
    }
    said
}

fn page(title: &str, runs: &[ReportedRun]) -> ReportPage {
    let mut page = ReportPage::new(title);
    let readings = Readings::of(runs.iter().map(|run| &run.record));
    let schemes = shown_schemes(runs);
    let groups = groups(runs, &schemes);
    let must: Vec<String> = groups.iter().map(|g| tables::main(g, &readings)).collect();
    let whence = tables::provenance(&groups, &readings);
    let all = must.iter().chain([&whence]).map(String::len).sum::<usize>();
    page.reserve(all + 4000 * (groups.len() + 1));
    let compared = compared::charts(&groups);
    if !compared.is_empty() {
        page.section("Side by side", &compared::about(&groups));
        let (first, others) = compared.split_at(compared.len().min(2));
        first.iter().for_each(|chart| page.chart(chart));
        page.folded_charts("Other figures", others);
        page.end_section();
    }
    if let Some(chart) = relative::over_traces(&groups) {
        page.section("All traces", &format!("{} runs", runs.len()));
        page.legend();
        page.chart(&chart);
        page.end_section();
    }
    for (group, table) in groups.iter().zip(&must) {
        let first = group.first();
        let about = format!(
            "{} requests, page {} B, device {}, {} runs",
            first.trace.requests,
            first.page_bytes,
            first.device,
            group.runs.len()
        );
        page.section(&group.title(), &about);
        page.html(&summary::of_group(group));
        page.legend();
        run_charts::draw(&mut page, group);
        page.html(table);
        tables::details(&mut page, group, &readings);
        page.end_section();
    }
    page.section("Readings, settings and provenance", "");
    page.html(&whence);
    tables::settings(&mut page, &groups);
    page.end_section();
    page
}
