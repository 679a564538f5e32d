//! Runs that stand in one section of a report, because they differ in scheme and cache size alone.

use crate::style::{SeriesLook, alloc_note, is_bound, shown_name};
use crate::{distinct, table};
use destage_record::ResultRecord;
use destage_record::RunCharts;
use destage_types::ByteSize;

/// A run of a report.
pub struct ReportedRun {
    /// What came out.
    pub record: ResultRecord,
    /// What was collected for charts; a run that an earlier command did has none.
    pub charts: Option<RunCharts>,
}

/// A scheme as the charts show it.
#[derive(Clone, PartialEq, Debug)]
pub struct ShownScheme {
    /// Its name in legends.
    pub name: String,
    /// What it looks like.
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
    /// The settings that tell it from other groups of the same trace.
    pub differs: String,
}

/// Settings in which runs of one group may differ.
const VARIED: [&str; 4] = ["scheme", "cache", "read_alloc", "charge_metadata"];

fn same_group(a: &ResultRecord, b: &ResultRecord) -> bool {
    let fixed = |r: &ResultRecord| {
        let entries = r
            .config
            .iter()
            .filter(|e| !VARIED.contains(&e.key.as_str()));
        let entries: Vec<_> = entries.map(|e| (e.key.clone(), e.value.clone())).collect();
        (
            r.trace.clone(),
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
                differs: String::new(),
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
    let differs: Vec<String> = all.iter().map(|group| differs(group, &all)).collect();
    for (group, differs) in all.iter_mut().zip(differs) {
        group.differs = differs;
    }
    all
}

fn differs(group: &RunGroup<'_>, all: &[RunGroup<'_>]) -> String {
    let first = &group.runs[0].record;
    let others: Vec<&ResultRecord> = all
        .iter()
        .map(|g| &g.runs[0].record)
        .filter(|r| r.trace == first.trace)
        .collect();
    let own = first.config.iter().filter(|e| {
        let same = |r: &&ResultRecord| {
            r.config
                .iter()
                .any(|o| o.key == e.key && o.value == e.value)
        };
        !VARIED.contains(&e.key.as_str()) && !others.iter().all(same)
    });
    let own: Vec<String> = own.map(|e| format!("{}={}", e.key, e.value)).collect();
    own.join(", ")
}

impl<'a> RunGroup<'a> {
    /// The record that all runs agree with in trace and device.
    pub fn first(&self) -> &'a ResultRecord {
        &self.runs[0].record
    }

    /// What the section is called.
    pub fn title(&self) -> String {
        match self.differs.is_empty() {
            true => self.first().trace.name.clone(),
            false => format!("{} ({})", self.first().trace.name, self.differs),
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

    /// A value of the run of a scheme at a size.
    pub fn value(
        &self,
        scheme: &ShownScheme,
        size: u64,
        of: fn(&ResultRecord) -> Option<f64>,
    ) -> Option<f64> {
        of(&self.run(scheme, size)?.record)
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
