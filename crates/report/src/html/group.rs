//! Runs that stand in one section of a report, because they differ in scheme and cache size alone.

use crate::distinctions::VARIED;
use crate::distinctions::{DataUnit, Distinctions};
use crate::html::figures::ReportFigure;
use crate::style::{SeriesLook, alloc_note, is_bound, shown_name};
use crate::{distinct, table};
use destage_record::ResultRecord;
use destage_record::RunCharts;
use destage_types::ByteSize;

/// A run of a report.
pub struct ReportedRun {
    /// The result record.
    pub record: ResultRecord,
    /// Data collected for charts; a run that an earlier command did has none.
    pub charts: Option<RunCharts>,
}

/// A scheme as the charts show it.
#[derive(Clone, PartialEq, Debug)]
pub struct ShownScheme {
    /// Its name in legends.
    pub name: String,
    /// The look of its series in charts.
    pub look: SeriesLook,
    scheme: String,
    /// Said in the name, if the scheme is there with and without.
    read_alloc: Option<bool>,
}

impl ShownScheme {
    fn is_of(&self, record: &ResultRecord) -> bool {
        let alloc = self
            .read_alloc
            .is_none_or(|on| record.reading.read_alloc == on);
        self.scheme == record.scheme && alloc
    }
}

/// The schemes of `runs` in their order.
pub fn shown_schemes(runs: &[ReportedRun]) -> Vec<ShownScheme> {
    let records = runs.iter().map(|run| &run.record);
    let found = distinct(records.map(|r| (r.scheme.as_str(), r.reading.read_alloc)));
    let looks = SeriesLook::of_all(found.iter().map(|f| is_bound(f.0)));
    let shown = found.iter().zip(looks).map(|(&(scheme, alloc), look)| {
        let both = found.contains(&(scheme, !alloc));
        ShownScheme {
            name: shown_name(scheme) + alloc_note(both, alloc),
            look,
            scheme: scheme.to_owned(),
            read_alloc: both.then_some(alloc),
        }
    });
    shown.collect()
}

/// Runs of one trace with the same settings, but for scheme and cache size.
pub struct RunGroup<'a> {
    /// The runs.
    pub runs: Vec<&'a ReportedRun>,
    /// Its schemes.
    pub schemes: Vec<&'a ShownScheme>,
    /// Its cache sizes in bytes, ascending; 0 alone if no run has a cache.
    pub sizes: Vec<u64>,
    /// In what it differs from other groups: run, device, page and settings.
    pub label: String,
    /// The unit of amounts of data in the report.
    pub unit: DataUnit,
}

fn same_group(a: &ResultRecord, b: &ResultRecord) -> bool {
    let fixed = |r: &ResultRecord| {
        let entries = r
            .config
            .iter()
            .filter(|e| !VARIED.contains(&e.key.as_str()));
        let entries: Vec<_> = entries.map(|e| (e.key.clone(), e.value.clone())).collect();
        (
            r.trace.clone(),
            r.run_name.clone(),
            r.device.clone(),
            r.page_bytes,
            r.seed,
            entries,
        )
    };
    fixed(a) == fixed(b)
}

/// The groups of `runs` in their order.
pub fn groups<'a>(runs: &'a [ReportedRun], schemes: &'a [ShownScheme]) -> Vec<RunGroup<'a>> {
    let unit = DataUnit::of(runs.iter().map(|run| &run.record));
    let mut all: Vec<RunGroup<'a>> = Vec::new();
    for run in runs {
        match all
            .iter_mut()
            .find(|g| same_group(&g.runs[0].record, &run.record))
        {
            Some(group) => group.runs.push(run),
            None => all.push(RunGroup {
                runs: vec![run],
                schemes: Vec::new(),
                sizes: Vec::new(),
                label: String::new(),
                unit,
            }),
        }
    }
    for group in &mut all {
        let has = |s: &&ShownScheme| group.runs.iter().any(|run| s.is_of(&run.record));
        group.schemes = schemes.iter().filter(has).collect();
        let sizes = group.runs.iter().filter(|r| r.record.cache_pages > 0);
        group.sizes = sizes.map(|r| r.record.cache_bytes).collect();
        group.sizes.sort_unstable();
        group.sizes.dedup();
        if group.sizes.is_empty() {
            group.sizes.push(0);
        }
    }
    let firsts: Vec<&ResultRecord> = all.iter().map(RunGroup::first).collect();
    let distinctions = Distinctions::of_sections(&firsts);
    for (i, group) in all.iter_mut().enumerate() {
        group.label = distinctions.label(i);
    }
    all
}

impl<'a> RunGroup<'a> {
    /// The record that all runs agree with in trace and device.
    pub fn first(&self) -> &'a ResultRecord {
        &self.runs[0].record
    }

    /// The title of the section.
    pub fn title(&self) -> String {
        if self.label.is_empty() {
            self.first().trace.name.clone()
        } else {
            format!("{} ({})", self.first().trace.name, self.label)
        }
    }

    /// A cache size as text.
    pub fn size_text(size: u64) -> String {
        match size {
            0 => "no cache".to_owned(),
            size => ByteSize(size).to_string(),
        }
    }

    /// Its cache sizes as text.
    pub fn size_labels(&self) -> Vec<String> {
        let sizes = self.sizes.iter();
        sizes.map(|&size| RunGroup::size_text(size)).collect()
    }

    /// The run of a scheme at a size; one without a cache is the same at every size.
    pub fn run(&self, scheme: &ShownScheme, size: u64) -> Option<&'a ReportedRun> {
        let mut runs = self
            .runs
            .iter()
            .copied()
            .filter(|r| scheme.is_of(&r.record));
        runs.find(|r| r.record.cache_bytes == size || r.record.cache_pages == 0)
    }

    /// A figure of the run of a scheme at a size, with amounts of data in the unit of the report.
    pub fn value(&self, scheme: &ShownScheme, size: u64, figure: &ReportFigure) -> Option<f64> {
        figure.value(&self.run(scheme, size)?.record, self.unit)
    }

    /// The scheme that others are compared with: `lru`, or the first that is no bound.
    pub fn base(&self) -> Option<&'a ShownScheme> {
        let contestants = || self.contestants();
        contestants()
            .find(|s| s.scheme == "lru")
            .or_else(|| contestants().next())
    }

    /// The schemes that are no bounds.
    pub fn contestants(&self) -> impl Iterator<Item = &'a ShownScheme> {
        let all = self.schemes.iter().copied();
        all.filter(|s| s.look != SeriesLook::Bound)
    }

    /// Name of a run in a list of runs.
    pub fn run_name(&self, run: &ReportedRun) -> String {
        let scheme = self.schemes.iter().find(|s| s.is_of(&run.record));
        let name = scheme.map_or(run.record.scheme.as_str(), |s| &s.name);
        match run.record.cache_pages {
            0 => name.to_owned(),
            _ => format!("{name}, {}", table::cache(&run.record)),
        }
    }
}
