//! Columns that tell the rows of a table apart besides trace, scheme and cache size: the name of
//! their `[[run]]`, device, page size and settings. Each is shown where it differs between the
//! rows.

use crate::distinct;
use destage_record::ConfigEntry;
use destage_record::ResultRecord;
use destage_types::ByteSize;
use std::collections::BTreeMap;

/// Settings that have a column of their own, or that the name of the trace tells.
const ELSEWHERE: [&str; 4] = ["scheme", "cache", "page", "host_fs"];
/// Settings in which the runs of one section of a report may differ.
pub const VARIED: [&str; 4] = ["scheme", "cache", "read_alloc", "charge_metadata"];
/// Of rows that nothing else tells apart, the most settings that are shown.
const MOST_SETTINGS: usize = 4;

/// The distinctions of the rows of one table.
pub struct Distinctions {
    shown: Vec<Distinction>,
    /// In the order of the rows.
    rows: Vec<[String; 4]>,
}

/// One of the texts of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Distinction {
    Run,
    Device,
    Page,
    Settings,
}

impl Distinction {
    const ALL: [Distinction; 4] = [
        Distinction::Run,
        Distinction::Device,
        Distinction::Page,
        Distinction::Settings,
    ];

    fn head(self) -> &'static str {
        match self {
            Distinction::Run => "run",
            Distinction::Device => "device",
            Distinction::Page => "page",
            Distinction::Settings => "settings",
        }
    }
}

impl Distinctions {
    /// Those of rows of one run each.
    pub fn of_runs(records: &[&ResultRecord]) -> Distinctions {
        let row = |r: &ResultRecord| format!("{} {} {:?}", r.scheme, r.cache_bytes, r.reading);
        Distinctions::new(records, &["scheme", "cache"], &row)
    }

    /// Those of sections of runs, given the first run of each.
    pub fn of_sections(firsts: &[&ResultRecord]) -> Distinctions {
        Distinctions::new(firsts, &VARIED, &|_| String::new())
    }

    /// `row` has what is shown of a row beside its trace.
    fn new(
        records: &[&ResultRecord],
        varied: &[&str],
        row: &dyn Fn(&ResultRecord) -> String,
    ) -> Distinctions {
        let settings = given_settings(records, varied);
        let mut rows: Vec<[String; 4]> = records
            .iter()
            .zip(settings)
            .map(|(r, settings)| {
                let run = r.run_name.clone().unwrap_or_default();
                let page = ByteSize(r.page_bytes).to_string();
                [run, r.device.clone(), page, settings]
            })
            .collect();
        tell_apart(records, varied, &mut rows, row);
        let differs = |part: &Distinction| {
            rows.iter()
                .any(|r| r[*part as usize] != rows[0][*part as usize])
        };
        let shown = Distinction::ALL.into_iter().filter(differs).collect();
        Distinctions { shown, rows }
    }

    /// Heads of the columns: run, device, page and settings, where they differ.
    pub fn heads(&self) -> impl Iterator<Item = &str> {
        self.shown.iter().map(|part| part.head())
    }

    /// The cells of a row, one for each head.
    pub fn cells(&self, row: usize) -> impl Iterator<Item = &str> {
        self.shown
            .iter()
            .map(move |part| &*self.rows[row][*part as usize])
    }

    /// Are two rows alike in what was set?
    pub fn same_settings(&self, a: usize, b: usize) -> bool {
        self.rows[a][Distinction::Settings as usize] == self.rows[b][Distinction::Settings as usize]
    }

    /// Do rows differ in what was set?
    pub fn has_settings(&self) -> bool {
        self.shown.contains(&Distinction::Settings)
    }

    /// The distinctions of a row in one line, for titles and legends; empty where rows differ in none.
    pub fn label(&self, row: usize) -> String {
        let texts = self.shown.iter().zip(self.cells(row));
        let texts = texts.filter(|(_, text)| !text.is_empty());
        let texts = texts.map(|(part, text)| match part {
            Distinction::Settings => text.to_owned(),
            part => format!("{} {text}", part.head()),
        });
        texts.collect::<Vec<_>>().join(", ")
    }
}

/// The settings that were given to each run and are not the same for all.
fn given_settings(records: &[&ResultRecord], varied: &[&str]) -> Vec<String> {
    let names = distinct(records.iter().map(|r| &r.device));
    let given = |r: &ResultRecord| setting(r, "device");
    // The column of devices has their names; two files may have one name.
    let named = distinct(records.iter().map(|r| given(r))).len() <= names.len();
    let own = |record: &ResultRecord| -> Vec<(String, String)> {
        let all = record.config.iter().filter(|s| s.is_given());
        let all = all.filter(|s| {
            let key = s.key.as_str();
            !(ELSEWHERE.contains(&key) || varied.contains(&key) || named && key == "device")
        });
        all.map(|s| (s.key.clone(), s.value.clone())).collect()
    };
    let all: Vec<Vec<(String, String)>> = records.iter().map(|r| own(r)).collect();
    let common = |s: &(String, String)| all.iter().all(|given| given.contains(s));
    let text = |given: &Vec<(String, String)>| {
        let own = given.iter().filter(|s| !common(s));
        own.map(|(key, value)| shown(key, value))
            .collect::<Vec<_>>()
            .join(" ")
    };
    all.iter().map(text).collect()
}

/// A device gives text as its file does.
fn shown(key: &str, value: &str) -> String {
    format!("{key}={}", value.trim_matches('"'))
}

/// The setting called `key`.
pub(crate) fn setting(record: &ResultRecord, key: &str) -> Option<String> {
    let entry = record.config.iter().find(|s| s.key == key)?;
    Some(entry.value.clone())
}

/// The settings that all runs have in common; a run file may give each its own.
pub fn common_settings<'a>(
    records: impl IntoIterator<Item = &'a ResultRecord>,
) -> Vec<ConfigEntry> {
    let mut records = records.into_iter();
    let mut common = records.next().map_or(Vec::new(), |r| r.config.clone());
    records.for_each(|r| common.retain(|s| r.config.contains(s)));
    common
}

/// Adds to rows that look like each other, but are not the same run, in what they differ: a device file that was
/// changed, another trace of the same name, another version.
fn tell_apart(
    records: &[&ResultRecord],
    varied: &[&str],
    rows: &mut [[String; 4]],
    row: &dyn Fn(&ResultRecord) -> String,
) {
    let mut alike: BTreeMap<(String, String, [String; 4]), Vec<usize>> = BTreeMap::new();
    for (i, record) in records.iter().enumerate() {
        let key = (record.trace.name.clone(), row(record), rows[i].clone());
        alike.entry(key).or_default().push(i);
    }
    for group in alike.into_values().filter(|group| group.len() > 1) {
        let conditions: Vec<_> = group
            .iter()
            .map(|&i| conditions(records[i], varied))
            .collect();
        for (at, &i) in group.iter().enumerate() {
            let own = conditions[at]
                .iter()
                .filter(|c| conditions.iter().any(|other| !other.contains(c)));
            let mut texts: Vec<String> = own.map(|(key, value)| shown(key, value)).collect();
            if texts.len() > MOST_SETTINGS {
                texts.truncate(MOST_SETTINGS);
                texts.push("...".to_owned());
            }
            let settings = &mut rows[i][Distinction::Settings as usize];
            let known = Some(settings.clone()).filter(|known| !known.is_empty());
            *settings = known.into_iter().chain(texts).collect::<Vec<_>>().join(" ");
        }
    }
}

/// Everything that decides what comes out of a run.
fn conditions(record: &ResultRecord, varied: &[&str]) -> Vec<(String, String)> {
    let entry = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let mut all = vec![
        entry("requests", &record.trace.requests.to_string()),
        entry("format", &record.trace.format),
    ];
    if let Some(sha256) = &record.trace.sha256 {
        all.push(entry("sha256", sha256.get(..12).unwrap_or(sha256)));
    }
    let settings = record
        .config
        .iter()
        .filter(|s| !varied.contains(&s.key.as_str()));
    all.extend(settings.map(|s| entry(&s.key, &s.value)));
    all.push(entry("seed", &record.seed.to_string()));
    all.push(entry("version", &record.version));
    all.dedup();
    all
}

/// How numbers of pages are shown: as they are, or in bytes where the rows have pages of several sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DataUnit {
    /// Pages of the one size of all rows.
    #[default]
    Pages,
    /// Bytes.
    Bytes,
}

impl DataUnit {
    /// The unit that is the same for all of `records`.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a ResultRecord>) -> DataUnit {
        match distinct(records.into_iter().map(|r| r.page_bytes)).len() {
            0 | 1 => DataUnit::Pages,
            _ => DataUnit::Bytes,
        }
    }

    /// An amount of `pages` in this unit.
    pub fn amount(self, record: &ResultRecord, pages: f64) -> f64 {
        match self {
            DataUnit::Pages => pages,
            DataUnit::Bytes => pages * record.page_bytes as f64,
        }
    }

    /// An amount of `pages` as a cell, in pages or MiB.
    pub fn cell(self, record: &ResultRecord, pages: u64) -> String {
        match self {
            DataUnit::Pages => pages.to_string(),
            DataUnit::Bytes => format!("{:.3}", self.amount(record, pages as f64) / MIB),
        }
    }
}

/// Bytes of the unit of amounts in tables.
pub const MIB: f64 = 1_048_576.0;
