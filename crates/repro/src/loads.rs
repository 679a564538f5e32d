//! Loads on which a claim is tried, and how large the cache is there.

use crate::paper::{Experiment, Paper};
use crate::{Scale, twins};
use destage_console::failure::Failure;
use destage_experiment::failures::trace_failure;
use destage_experiment::memory::MemoryLimit;
use destage_experiment::run::read;
use destage_experiment::twins::first;
use destage_sim::summary::TraceSummary;
use destage_trace::synth::preset;
use destage_trace::{LoadOptions, Source, Stored, Workload, open};
use destage_types::{ByteSize, HostRequest};
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The strength of a result, the strongest first.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// The paper's own traces, whole.
    Original,
    /// A generated load that the paper describes.
    Printed,
    /// A load that the paper describes, run on a real file system on a device of a part of its size.
    Live,
    /// Other real traces, with the cache scaled to what they write.
    Cut,
    /// Generated likenesses of the paper's traces, which decide nothing.
    Twin,
}

/// Loads to try.
#[derive(Clone, Copy)]
pub struct WantedLoads<'a> {
    /// Folder of real traces.
    pub folder: Option<&'a Path>,
    /// How much of them is run.
    pub scale: Scale,
    /// Are twins run, too?
    pub twins: bool,
}

/// A load of an experiment.
pub struct PaperLoad {
    /// Its name.
    pub name: String,
    /// The strength of a result on it.
    pub evidence: Evidence,
    source: LoadSource,
}

enum LoadSource {
    File(PathBuf),
    /// A named workload of `trace synth`.
    Generated(String),
    /// The trace that a twin is like.
    Twin(String),
}

/// A cache of an experiment on one load.
pub struct ScaledCache {
    /// Size in the paper.
    pub paper: String,
    /// Size here.
    pub here: ByteSize,
    /// One over the other.
    pub factor: f64,
}

/// A smaller cache shows the size of its pages rather than a scheme.
const LEAST_CACHE: u64 = 256 << 10;
/// Caches are whole pages of every device.
const UNIT: u64 = 8 << 10;
/// Share of writes below which a trace says nothing of a write buffer.
const LEAST_WRITES: f64 = 0.1;
/// Mean time between two requests below which a trace was not timed.
const LEAST_GAP_NS: u64 = 1_000;

/// The loads of `experiment`.
///
/// # Errors
/// The folder cannot be read, or a workload is not known.
pub fn loads(
    paper: &Paper,
    experiment: &Experiment,
    wanted: WantedLoads<'_>,
) -> Result<Vec<PaperLoad>, Failure> {
    if experiment.live {
        return Ok(Vec::new());
    }
    if !experiment.load.is_empty() {
        let generated = |name: &String| PaperLoad {
            name: name.clone(),
            evidence: Evidence::Printed,
            source: LoadSource::Generated(name.clone()),
        };
        return Ok(experiment.load.iter().map(generated).collect());
    }
    let mut all = match wanted.folder {
        Some(folder) => traces(paper, experiment, folder, wanted.scale)?,
        None => Vec::new(),
    };
    if wanted.twins && experiment.trace.is_empty() {
        let names = paper.original.iter().map(|trace| &trace.name);
        let twins = names.filter(|name| twins::has(name));
        all.extend(twins.map(|name| PaperLoad {
            name: format!("twin of {name}"),
            evidence: Evidence::Twin,
            source: LoadSource::Twin(name.clone()),
        }));
    }
    Ok(all)
}

/// The real traces of `experiment`.
fn traces(
    paper: &Paper,
    experiment: &Experiment,
    folder: &Path,
    scale: Scale,
) -> Result<Vec<PaperLoad>, Failure> {
    let file = |path: PathBuf, evidence| PaperLoad {
        name: stem(&path),
        evidence,
        source: LoadSource::File(path),
    };
    if !experiment.trace.is_empty() {
        let paths = experiment.trace.iter().map(|name| folder.join(name));
        let there = paths.filter(|path| path.is_file());
        return Ok(there.map(|path| file(path, Evidence::Cut)).collect());
    }
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries
        .map_err(|error| Failure::usage(format!("--traces {}: {error}", folder.display())))?;
    let mut paths: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).collect();
    paths.retain(|path| path.is_file());
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        let name = stem(&path).to_lowercase();
        let original = paper.original.iter().any(|o| o.name.to_lowercase() == name);
        // A part of an original trace is a cut like any other.
        match original && scale == Scale::Full {
            true => found.push(file(path, Evidence::Original)),
            false if is_trace(&path) => found.push(file(path, Evidence::Cut)),
            false => {}
        }
    }
    Ok(found)
}

/// Is it a trace that a reader knows? A folder of traces has other files, too.
fn is_trace(path: &Path) -> bool {
    let options = LoadOptions {
        hash: false,
        ..LoadOptions::default()
    };
    open(Source::from_arg(path), &options).is_ok()
}

/// Name of a file up to its first dot.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

impl PaperLoad {
    /// Its requests, read as `input` says.
    ///
    /// # Errors
    /// It cannot be read, or takes too much memory.
    pub fn read(
        &self,
        experiment: &Experiment,
        input: &LoadOptions,
        scale: Scale,
        limit: MemoryLimit,
    ) -> Result<Stored, Failure> {
        match &self.source {
            LoadSource::File(path) => {
                // A capture is short and its whole is meant.
                let scaled = scale.requests().filter(|_| experiment.trace.is_empty());
                let options = LoadOptions {
                    limit: scaled.or(input.limit),
                    ..input.clone()
                };
                Ok(read(path, &options, limit.of_requests()).map_err(trace_failure)?)
            }
            LoadSource::Generated(name) => {
                let synth = preset(name).map_err(Failure::usage)?.synth(1);
                let needs = synth.memory() + synth.requests * size_of::<HostRequest>() as u64;
                if needs > limit.bytes() {
                    return Err(limit.refused(&format!("the load {name}"), needs));
                }
                Ok(Stored::Memory(synth.generate()))
            }
            LoadSource::Twin(name) => {
                let twin = twins::twin(name).map_err(Failure::usage)?;
                first(&twin, scale.requests(), limit).map(Stored::Memory)
            }
        }
    }

    /// Why `experiment` can say nothing on it, if that is so; else the caches to run it with.
    ///
    /// # Errors
    /// It cannot be read again.
    pub fn caches(
        &self,
        paper: &Paper,
        experiment: &Experiment,
        scale: Scale,
        workload: Workload<'_>,
        summary: &TraceSummary,
    ) -> Result<Result<Vec<ScaledCache>, String>, Failure> {
        let sizes = experiment.cache.iter().map(|text| {
            let size = ByteSize::parse(text);
            let size = size.map_err(|e| Failure::usage(format!("{}: {e}", paper.name)))?;
            Ok((text.clone(), size))
        });
        let sizes: Vec<(String, ByteSize)> = sizes.collect::<Result<_, Failure>>()?;
        let as_printed = match self.evidence {
            Evidence::Original | Evidence::Printed | Evidence::Live => true,
            Evidence::Cut => !experiment.trace.is_empty(),
            // The first requests of a twin are a cut like those of any trace.
            Evidence::Twin => scale == Scale::Full,
        };
        if as_printed {
            let same = |(paper, here)| ScaledCache {
                paper,
                here,
                factor: 1.0,
            };
            return Ok(Ok(sizes.into_iter().map(same).collect()));
        }
        if let Some(why) = useless(experiment, workload, summary) {
            return Ok(Err(why));
        }
        let factor = written_mib(summary) / median_written_mib(paper);
        let scaled = sizes.into_iter().map(|(paper, size)| ScaledCache {
            paper,
            here: ByteSize((size.0 as f64 * factor) as u64 / UNIT * UNIT),
            factor,
        });
        let caches: Vec<ScaledCache> = scaled.filter(|c| c.here.0 >= LEAST_CACHE).collect();
        Ok(match caches.is_empty() {
            true => Err(format!(
                "writes {:.1} MiB, for which every cache is below {}",
                written_mib(summary),
                ByteSize(LEAST_CACHE)
            )),
            false => Ok(caches),
        })
    }
}

/// Largest request that is small to ProCache (5.2: the best cut-off), as a class of sizes: 512 B << 4.
const SMALL: usize = 4;

/// Figures of the load itself, which claims find under `load` in the records of its runs.
pub fn figures(summary: &TraceSummary) -> Value {
    let [reads, writes, ..] = summary.requests;
    let sizes = &summary.sizes[1];
    let sum = |classes: &[u64]| classes[..=SMALL].iter().sum::<u64>() as f64;
    let share = |part: f64, all: u64| (all > 0).then(|| part / all as f64);
    json!({
        "small_request_share": share(sum(&sizes.classes), reads + writes),
        "small_volume_share": share(sum(&sizes.class_bytes), sizes.bytes),
    })
}

fn written_mib(summary: &TraceSummary) -> f64 {
    summary.pages.written as f64 / 256.0
}

/// Why a trace cannot show what a write buffer does.
fn useless(
    experiment: &Experiment,
    workload: Workload<'_>,
    summary: &TraceSummary,
) -> Option<String> {
    let [reads, writes, ..] = summary.requests;
    if (writes as f64) < LEAST_WRITES * (reads + writes) as f64 {
        return Some(format!("{writes} writes among {} requests", reads + writes));
    }
    let gap = summary.last.0 / workload.len().max(1);
    let untimed = !workload.meta.timed || gap < LEAST_GAP_NS;
    (experiment.timed && untimed).then(|| "its arrivals carry no time".to_owned())
}

/// Median of what the traces of the paper write, MiB of different pages.
pub fn median_written_mib(paper: &Paper) -> f64 {
    let mut all: Vec<f64> = paper.original.iter().map(|o| o.written_mib).collect();
    all.sort_by(f64::total_cmp);
    match all.len() {
        0 => f64::NAN,
        n => (all[(n - 1) / 2] + all[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_at_the_first_dot() {
        assert_eq!(stem(Path::new("/a/hm_0.csv.gz")), "hm_0");
        assert_eq!(
            stem(Path::new("msr-cut-w80-10k.replay.zst")),
            "msr-cut-w80-10k"
        );
    }

    #[test]
    fn evidence_is_ordered_by_its_weight() {
        let all = [
            Evidence::Twin,
            Evidence::Cut,
            Evidence::Live,
            Evidence::Printed,
            Evidence::Original,
        ];
        assert_eq!(all.into_iter().min(), Some(Evidence::Original));
    }
}
