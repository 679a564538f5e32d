//! Sentences that answer first: which scheme answers fastest, hits most, and writes least to flash. Reports, `demo`, the
//! playground and Python have them from here.
//!
//! Runs that are compared have one trace, one device, and one cache size. Hit ratios are compared among runs that read the
//! same way. Dirty pages that are left in the cache count as the flash writes that they will cost. Schemes with the same value
//! are all named or counted, and the order of the runs changes nothing.

use crate::distinctions::MIB;
use crate::style::{alloc_note, is_bound};
use destage_record::ResultRecord;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The scheme that others are compared with.
const BASE: &str = "lru";
/// A share of hits below which a cache is of no use.
const NO_HITS: f64 = 0.001;
/// A lead in the share of hits below which another scheme is hardly worth it.
const LEAD: f64 = 0.005;

/// A run as sentences see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedRun {
    scheme: String,
    /// Does it know the future?
    bound: bool,
    /// Do reads that miss enter the cache, and which sectors? A run without a cache has no such thing.
    reading: Option<(bool, String)>,
    hits: Option<f64>,
    mean_ns: Option<f64>,
    p99_ns: Option<f64>,
    /// Bytes programmed for any cause, and those of dirty pages that are left.
    flash_bytes: f64,
    left_bytes: f64,
}

impl From<&ResultRecord> for ComparedRun {
    fn from(r: &ResultRecord) -> ComparedRun {
        let bytes = |pages: u64| (pages * r.page_bytes) as f64;
        let latency = r.latency_ns.as_ref().map(|l| l.all);
        ComparedRun {
            scheme: r.scheme.clone(),
            bound: is_bound(&r.scheme),
            reading: (r.cache_pages > 0)
                .then(|| (r.reading.read_alloc, r.reading.read_fill.clone())),
            hits: r.ratios.page_hit_ratio,
            mean_ns: latency.and_then(|l| l.mean),
            p99_ns: latency.and_then(|l| l.p99).map(|p99| p99 as f64),
            flash_bytes: bytes(flash_pages(r)),
            left_bytes: bytes(r.dirty_pages_left),
        }
    }
}

/// Pages programmed for any cause, and dirty pages that are left and will be.
pub fn flash_pages(r: &ResultRecord) -> u64 {
    r.counts.flash_programs() + r.dirty_pages_left
}

/// What a sentence is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topic {
    /// Mean response time.
    Response,
    /// 99th percentile of the response time.
    Slowest,
    /// Hit pages / accessed pages.
    Hits,
    /// Bytes written to flash, those of pages that are left included.
    Flash,
}

impl Topic {
    const ALL: [Topic; 4] = [Topic::Response, Topic::Slowest, Topic::Hits, Topic::Flash];

    fn value(self, run: &ComparedRun) -> Option<f64> {
        match self {
            Topic::Response => run.mean_ns,
            Topic::Slowest => run.p99_ns,
            Topic::Hits => run.reading.as_ref().and(run.hits),
            Topic::Flash => Some(run.flash_bytes),
        }
    }

    /// Is `a` better than `b`?
    fn beats(self, a: f64, b: f64) -> bool {
        match self {
            Topic::Hits => a > b,
            _ => a < b,
        }
    }

    /// Its name above a number.
    pub fn title(self) -> &'static str {
        match self {
            Topic::Response => "shortest mean response time",
            Topic::Slowest => "shortest 99th percentile of the response time",
            Topic::Hits => "highest page hit ratio",
            Topic::Flash => "fewest bytes to flash, pages left included",
        }
    }

    fn shown(self, value: f64) -> String {
        match self {
            Topic::Response | Topic::Slowest => time(value),
            Topic::Hits => format!("{:.2} %", 100.0 * value),
            Topic::Flash => bytes(value),
        }
    }

    /// The value of the best, with a verb for `one` scheme or several.
    fn best(self, one: bool, value: &str) -> String {
        let s = if one { "s" } else { "" };
        let have = if one { "has" } else { "have" };
        match self {
            Topic::Response => format!("answer{s} fastest: in {value} on average"),
            Topic::Slowest => format!("{have} the shortest 99th percentile: {value}"),
            Topic::Hits => format!("hit{s} most: {value} of all pages"),
            Topic::Flash => format!("write{s} least to flash: {value}"),
        }
    }

    /// All have this value; `one`: there is a single scheme.
    fn same(self, one: bool, value: &str) -> String {
        match (self, one) {
            (Topic::Response, true) => format!("answers in {value} on average"),
            (Topic::Response, false) => format!("answer equally fast: in {value} on average"),
            (Topic::Slowest, true) => format!("has a 99th percentile of {value}"),
            (Topic::Slowest, false) => format!("have the same 99th percentile: {value}"),
            (Topic::Hits, true) => format!("hits {value} of all pages"),
            (Topic::Hits, false) => format!("hit equally often: {value} of all pages"),
            (Topic::Flash, true) => format!("writes {value} to flash"),
            (Topic::Flash, false) => format!("write equally much to flash: {value}"),
        }
    }
}

/// A sentence: who, and what of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What it is about.
    pub topic: Topic,
    /// Schemes with the best value, in the order of their names. None if the value says nothing for any.
    pub schemes: Vec<String>,
    /// Begin of the sentence: those who have the value.
    pub who: String,
    /// Rest of the sentence.
    pub text: String,
    /// The value.
    pub value: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.who, self.text)
    }
}

/// The sentences about runs that compare, in the order of [`Topic`]: one for each, hits one for each way of reading.
pub fn answers(runs: &[ComparedRun]) -> Vec<Finding> {
    let runs: Vec<&ComparedRun> = runs.iter().filter(|run| !run.bound).collect();
    let mut readings: Vec<&(bool, String)> =
        runs.iter().filter_map(|r| r.reading.as_ref()).collect();
    readings.sort_unstable();
    readings.reverse();
    readings.dedup();
    let mut found = Vec::new();
    for topic in Topic::ALL {
        if topic != Topic::Hits || readings.len() < 2 {
            found.extend(answer(topic, &runs, &runs, ""));
            continue;
        }
        for reading in &readings {
            let alike: Vec<&ComparedRun> = runs
                .iter()
                .copied()
                .filter(|run| run.reading.as_ref() == Some(*reading))
                .collect();
            found.extend(answer(topic, &runs, &alike, &words(reading, &readings)));
        }
        if let Some(last) = found.last_mut() {
            last.text += " Hit ratios of different readings do not compare.";
        }
    }
    found
}

/// A way of reading, in words that tell it from the others.
fn words((alloc, fill): &(bool, String), all: &[&(bool, String)]) -> String {
    let on = if *alloc { "with" } else { "without" };
    let fills = all.iter().any(|other| other.1 != *fill);
    let fill = match fills {
        true => format!(", read fill {fill}"),
        false => String::new(),
    };
    format!(" {on} read allocation{fill}")
}

/// The sentence about `alike`, some of `all` runs, that read in the way `reading`.
fn answer(
    topic: Topic,
    all: &[&ComparedRun],
    alike: &[&ComparedRun],
    reading: &str,
) -> Option<Finding> {
    let valued = alike
        .iter()
        .filter_map(|run| Some((*run, topic.value(run)?)));
    let mut valued: Vec<(&ComparedRun, f64)> = valued.collect();
    valued.sort_by_key(|(run, _)| name(run, all));
    let values = valued.iter().map(|of| of.1);
    let value = values.reduce(|a, b| if topic.beats(b, a) { b } else { a })?;
    let best: Vec<&ComparedRun> = valued
        .iter()
        .filter(|of| of.1 == value)
        .map(|of| of.0)
        .collect();
    let mut schemes: Vec<String> = best.iter().map(|run| name(run, all)).collect();
    schemes.dedup();
    let shown = topic.shown(value);
    if topic == Topic::Hits && value < NO_HITS && valued.len() > 1 {
        return Some(Finding {
            topic,
            schemes: Vec::new(),
            who: format!("No scheme{reading}"),
            text: "hits more than one page in a thousand: the trace hardly ever comes back to a page in time."
                .to_owned(),
            value: shown,
        });
    }
    let one = schemes.len() == 1;
    let none_is_better = best.len() == valued.len();
    let who = match (none_is_better, one) {
        (true, false) => match schemes.len() {
            2 => "Both schemes".to_owned(),
            n => format!("All {n} schemes"),
        },
        _ => enumerated(&schemes),
    };
    let mut text = match none_is_better {
        true => topic.same(one, &shown),
        false => topic.best(one, &shown),
    };
    text += reading;
    text += &lead(topic, value, &valued).unwrap_or_default();
    if topic == Topic::Flash {
        text += &left(&best);
    }
    Some(Finding {
        topic,
        schemes,
        who,
        text: text + ".",
        value: shown,
    })
}

/// The name of a scheme; of one that is there with read allocation and without, with which.
fn name(run: &ComparedRun, all: &[&ComparedRun]) -> String {
    let alloc = |run: &ComparedRun| run.reading.as_ref().is_some_and(|reading| reading.0);
    let is_other = |other: &&&ComparedRun| other.scheme == run.scheme && alloc(other) != alloc(run);
    let both = all.iter().any(|other| is_other(&other));
    run.scheme.clone() + alloc_note(both, alloc(run))
}

/// By how much the best value leads that of the base, if that is another one.
fn lead(topic: Topic, value: f64, valued: &[(&ComparedRun, f64)]) -> Option<String> {
    let of_base = valued.iter().filter(|of| of.0.scheme == BASE);
    let base = of_base.map(|of| of.1);
    let base = base.reduce(|a, b| if topic.beats(b, a) { b } else { a })?;
    if base == value {
        return None;
    }
    let shown = topic.shown(base);
    Some(match topic {
        Topic::Hits => {
            let only = if value - base < LEAD { "only " } else { "" };
            let points = 100.0 * (value - base);
            format!(", {only}{points:.2} points more than {BASE} ({shown})")
        }
        Topic::Response => format!(", {BASE} in {shown}"),
        Topic::Slowest => format!(", {BASE} {shown}"),
        Topic::Flash => match 100.0 * (1.0 - value / base) {
            percent if percent < 0.05 => format!(", less than 0.1 % less than {BASE}"),
            percent => format!(", {percent:.1} % less than {BASE}"),
        },
    })
}

/// How much of the least flash traffic is still to come.
fn left(best: &[&ComparedRun]) -> String {
    let left: Vec<f64> = best.iter().map(|run| run.left_bytes).collect();
    match &left[..] {
        all if all.iter().all(|&bytes| bytes == 0.0) => String::new(),
        [first, others @ ..] if others.iter().all(|other| other == first) => {
            format!("; {} of it are still in the cache", bytes(*first))
        }
        _ => "; part of it is still in the cache".to_owned(),
    }
}

/// Names as a sentence has them: of many, the first ones and how many others.
pub fn enumerated(names: &[String]) -> String {
    match names {
        [all @ .., last] if (1..3).contains(&all.len()) => {
            format!("{} and {last}", all.join(", "))
        }
        [first, second, others @ ..] => format!("{first}, {second} and {} others", others.len()),
        _ => names.concat(),
    }
}

pub(crate) fn time(ns: f64) -> String {
    match ns {
        _ if ns < 1e3 => format!("{ns:.0} ns"),
        _ if ns < 1e6 => format!("{:.1} us", ns / 1e3),
        _ if ns < 1e9 => format!("{:.3} ms", ns / 1e6),
        _ => format!("{:.3} s", ns / 1e9),
    }
}

pub(crate) fn bytes(bytes: f64) -> String {
    match bytes {
        _ if bytes < MIB => format!("{:.1} KiB", bytes / 1024.0),
        _ if bytes < 1024.0 * MIB => format!("{:.1} MiB", bytes / MIB),
        _ => format!("{:.2} GiB", bytes / (1024.0 * MIB)),
    }
}

#[cfg(test)]
mod tests;
