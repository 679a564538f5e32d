//! Experiments and statements of a paper, as data: `papers/NAME/claims.toml`.

use destage_console::failure::Failure;
use destage_experiment::options::{InputArgs, OptionGroup};
use destage_scheme::Expr;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use toml::Value;

/// The papers, in the order of their year, with their files.
const FILES: [(&str, &str); 5] = [
    ("prober", include_str!("../../../papers/prober/claims.toml")),
    (
        "procache",
        include_str!("../../../papers/procache/claims.toml"),
    ),
    ("ecr", include_str!("../../../papers/ecr/claims.toml")),
    (
        "req-block",
        include_str!("../../../papers/req-block/claims.toml"),
    ),
    ("cac", include_str!("../../../papers/cac/claims.toml")),
];

/// One paper.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Paper {
    /// Its short name.
    #[serde(skip)]
    pub name: &'static str,
    /// Authors, title, place, year.
    pub title: String,
    /// Where the written footprints of its traces come from.
    pub footprints: String,
    /// Its traces.
    #[serde(default)]
    pub original: Vec<OriginalTrace>,
    /// Runs.
    #[serde(default)]
    pub experiment: Vec<Experiment>,
    /// Statements.
    pub claim: Vec<PaperClaim>,
    /// Figures.
    #[serde(default)]
    pub figure: Vec<PaperFigure>,
}

/// A trace that the paper measured.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OriginalTrace {
    /// Its published name, which is the name of its file up to the first dot.
    pub name: String,
    /// MiB of different pages that it writes.
    pub written_mib: f64,
}

/// Runs: loads x schemes x cache sizes, once for each reading.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub struct Experiment {
    /// Name in claims.
    pub name: String,
    /// Schemes.
    pub scheme: Vec<String>,
    /// Cache sizes of the paper.
    pub cache: Vec<String>,
    /// Generated loads that the paper describes; no other loads then.
    #[serde(default)]
    pub load: Vec<String>,
    /// Traces of the folder of traces that it needs; no other loads then, and the cache as it is.
    #[serde(default)]
    pub trace: Vec<String>,
    /// Is it run on a real file system and not here? Its records are those of `--live`, its schemes and cache
    /// sizes those of the records.
    #[serde(default)]
    pub live: bool,
    /// Does it measure time, so that traces without times are of no use?
    #[serde(default)]
    pub timed: bool,
    /// Readings of questions that the paper leaves open; each is run beside the first reading,
    /// which is `options` alone.
    #[serde(default)]
    pub reading: Vec<PaperReading>,
    /// Options of `run`.
    #[serde(flatten)]
    pub options: BTreeMap<String, Value>,
}

/// Another way to read what the paper leaves open.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub struct PaperReading {
    /// Name in the ledger.
    pub name: String,
    /// Schemes that stand in for those of the experiment.
    #[serde(default)]
    pub swap: BTreeMap<String, String>,
    /// Options of `run` that differ.
    #[serde(flatten)]
    pub options: BTreeMap<String, Value>,
}

/// A statement of a paper.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PaperClaim {
    /// Figure, table or section.
    pub id: String,
    /// The statement.
    pub what: String,
    /// The published figure as it is printed.
    pub paper: String,
    /// The same as a number to compare with: percent of change, or a value.
    pub value: Option<f64>,
    /// The test that holds a claim that follows from the rules alone.
    pub held_by: Option<String>,
    /// The missing requirement of a claim that nothing here can measure.
    pub needs: Option<String>,
    /// Where it is measured.
    pub measured: Option<Measured>,
    /// The explanation of the outcome.
    pub because: Option<String>,
}

/// How a claim is measured.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Measured {
    /// The experiment.
    pub experiment: String,
    /// Field of the result record.
    pub field: String,
    /// The runs that the claim is about.
    pub of: MeasuredRun,
    /// The runs that they are compared with.
    pub against: Option<MeasuredRun>,
    /// Another change, in whose place the claim is about the difference of both, in points.
    pub more_than: Option<OtherChange>,
    /// Schemes of which that of `of` is to be the best or among the best.
    #[serde(default)]
    pub among: Vec<String>,
    /// The base of a relative change.
    #[serde(default)]
    pub share_of: BaseOfChange,
    /// Only this cache size of the experiment.
    pub cache: Option<String>,
    /// Only this load.
    pub load: Option<String>,
    /// The condition under which the claim holds at a point.
    pub expect: Expected,
}

/// A change that another one is compared with.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OtherChange {
    /// The runs that it is about.
    pub of: MeasuredRun,
    /// The runs that they are compared with.
    pub against: MeasuredRun,
}

/// A run of an experiment.
#[derive(Deserialize, Debug, Clone)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MeasuredRun {
    /// The scheme.
    pub scheme: String,
    /// The file system in front of the device, as `--host-fs` has it.
    #[serde(default)]
    pub host_fs: String,
    /// Its experiment, if that is another one: as that stands, without its readings.
    pub experiment: Option<String>,
}

/// The denominator of a change.
#[derive(Deserialize, Debug, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum BaseOfChange {
    /// The runs compared with.
    #[default]
    Against,
    /// The runs that the claim is about.
    Of,
}

/// A condition under which a claim holds at a point.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// A change above 0.
    Higher,
    /// A change below 0.
    Lower,
    /// A change of at most so many percent either way.
    Within(f64),
    /// A value in this range.
    Between(f64, f64),
    /// The largest of the schemes in `among`.
    Largest,
    /// The smallest of them.
    Smallest,
}

/// Bars of several schemes over the loads.
#[derive(Deserialize, Serialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PaperFigure {
    /// Its name, that of the paper's figure.
    pub id: String,
    /// The title.
    pub title: String,
    /// The experiment.
    pub experiment: String,
    /// Field of the result record.
    pub field: String,
    /// The scheme that all are relative to; absolute values without one.
    pub relative_to: Option<String>,
    /// The schemes drawn.
    pub scheme: Vec<String>,
}

/// The papers that `name` stands for.
///
/// # Errors
/// No paper has the name, or a file has a fault.
pub fn papers(name: &str) -> Result<Vec<Paper>, Failure> {
    let chosen = FILES.iter().filter(|f| name == "all" || f.0 == name);
    let papers = chosen.map(|(name, text)| read(name, text));
    let papers: Vec<Paper> = papers.collect::<Result<_, _>>()?;
    match papers.is_empty() {
        true => {
            let names = FILES.map(|f| f.0).join(", ");
            Err(Failure::usage(format!(
                "no paper `{name}`: allowed: all, {names}"
            )))
        }
        false => Ok(papers),
    }
}

fn read(name: &'static str, text: &str) -> Result<Paper, Failure> {
    let fault = |fault: &dyn std::fmt::Display| {
        Failure::usage(format!("papers/{name}/claims.toml: {fault}"))
    };
    let mut paper: Paper = toml::from_str(text).map_err(|error| fault(&error))?;
    paper.name = name;
    for experiment in &mut paper.experiment {
        for scheme in &mut experiment.scheme {
            *scheme = canonical(scheme).map_err(|error| fault(&error))?;
        }
        for reading in &mut experiment.reading {
            let swap = std::mem::take(&mut reading.swap).into_iter();
            let swap = swap.map(|(from, to)| Ok((canonical(&from)?, canonical(&to)?)));
            let swap: Result<_, String> = swap.collect();
            reading.swap = swap.map_err(|error| fault(&error))?;
        }
    }
    for measured in paper.claim.iter_mut().filter_map(|c| c.measured.as_mut()) {
        let other = measured.more_than.iter_mut();
        let other = other.flat_map(|other| [&mut other.of, &mut other.against]);
        let runs = [&mut measured.of].into_iter().chain(&mut measured.against);
        let named = runs.chain(other).map(|run| &mut run.scheme);
        for scheme in named.chain(&mut measured.among) {
            *scheme = canonical(scheme).map_err(|error| fault(&error))?;
        }
    }
    for figure in &mut paper.figure {
        for scheme in figure.scheme.iter_mut().chain(&mut figure.relative_to) {
            *scheme = canonical(scheme).map_err(|error| fault(&error))?;
        }
    }
    paper.check().map_err(|text| fault(&text))?;
    Ok(paper)
}

/// A scheme as records write it.
fn canonical(scheme: &str) -> Result<String, String> {
    let expr = Expr::parse(scheme).map_err(|refusal| refusal.to_string())?;
    Ok(expr.to_string())
}

impl Experiment {
    /// It runs each of `schemes`, as `place` says.
    fn runs<'a>(
        &self,
        mut schemes: impl Iterator<Item = &'a String>,
        place: &str,
    ) -> Result<(), String> {
        match schemes.find(|scheme| !self.scheme.contains(scheme)) {
            Some(scheme) => Err(format!("{place}: {scheme} is not run in `{}`", self.name)),
            None => Ok(()),
        }
    }
}

impl Paper {
    /// The experiment called `name`.
    pub fn experiment(&self, name: &str) -> Option<usize> {
        self.experiment.iter().position(|e| e.name == name)
    }

    /// Everything that a claim or a figure names is there, and every claim is measured, held or open.
    fn check(&self) -> Result<(), String> {
        for claim in &self.claim {
            let place = format!("claim {} ({})", claim.id, claim.what);
            let ways = [
                claim.measured.is_some(),
                claim.held_by.is_some(),
                claim.needs.is_some(),
            ];
            if ways.iter().filter(|way| **way).count() != 1 {
                return Err(format!(
                    "{place}: exactly one of `measured`, `held-by` and `needs` says where it stands"
                ));
            }
            let Some(measured) = &claim.measured else {
                continue;
            };
            let Some(number) = self.experiment(&measured.experiment) else {
                return Err(format!("{place}: no experiment `{}`", measured.experiment));
            };
            let experiment = &self.experiment[number];
            let other = measured.more_than.iter().flat_map(|o| [&o.of, &o.against]);
            let runs = [&measured.of].into_iter().chain(&measured.against);
            for run in runs.chain(other) {
                let name = run.experiment.as_ref().unwrap_or(&measured.experiment);
                let Some(number) = self.experiment(name) else {
                    return Err(format!("{place}: no experiment `{name}`"));
                };
                self.experiment[number].runs([&run.scheme].into_iter(), &place)?;
            }
            experiment.runs(measured.among.iter(), &place)?;
            if let Some(cache) = measured
                .cache
                .as_ref()
                .filter(|c| !experiment.cache.contains(c))
            {
                return Err(format!(
                    "{place}: no cache of {cache} in `{}`",
                    experiment.name
                ));
            }
            let unknown = |load: &&String| !experiment.load.contains(load);
            let loads = measured.load.iter().filter(|_| !experiment.load.is_empty());
            if let Some(load) = loads.clone().find(unknown) {
                return Err(format!(
                    "{place}: no load `{load}` in `{}`",
                    experiment.name
                ));
            }
            let compared = measured.against.is_some();
            if measured.more_than.is_some() && !compared {
                return Err(format!("{place}: `more-than` needs `against`"));
            }
            let fits = match measured.expect {
                Expected::Higher | Expected::Lower | Expected::Within(_) => compared,
                Expected::Between(..) => true,
                Expected::Largest | Expected::Smallest => !measured.among.is_empty(),
            };
            if !fits {
                return Err(format!(
                    "{place}: what is expected needs `against`, or `among` for the best of several"
                ));
            }
        }
        for figure in &self.figure {
            let place = format!("figure {}", figure.id);
            let Some(number) = self.experiment(&figure.experiment) else {
                return Err(format!("{place}: no experiment `{}`", figure.experiment));
            };
            let named = figure.scheme.iter().chain(&figure.relative_to);
            self.experiment[number].runs(named, &place)?;
        }
        for experiment in &self.experiment {
            for reading in &experiment.reading {
                let place = format!("reading `{}`", reading.name);
                experiment.runs(reading.swap.keys(), &place)?;
                let of_input = |key: &&String| {
                    let mut inputs = InputArgs::declared().iter();
                    inputs.any(|option| option.key == **key)
                };
                if let Some(key) = reading.options.keys().find(of_input) {
                    return Err(format!(
                        "{place}: `{key}` is about what is read, which all readings share"
                    ));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_papers_are_read() {
        let all = papers("all").unwrap();
        assert_eq!(all.len(), FILES.len());
        for paper in &all {
            assert!(paper.claim.len() >= 8, "{}", paper.name);
        }
        assert!(matches!(papers("arc"), Err(Failure::Usage(_))));
    }

    /// Every figure with measurements, and tables and sections with numbers that the paper measured.
    const MEASURED: [(&str, &str, &[u32], &[&str]); 5] = [
        ("prober", "pr-fig", &[9, 10, 11, 12, 13, 14, 15, 16], &[]),
        (
            "procache",
            "pc-fig",
            &[2, 3, 4, 5, 6, 8, 9, 10, 11],
            &["pc-tab1", "pc-txt"],
        ),
        (
            "ecr",
            "ecr-fig",
            &[2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
            &["ecr-tab4"],
        ),
        ("req-block", "rb-fig", &[2, 3, 7, 8, 9, 10, 11, 12, 13], &[]),
        (
            "cac",
            "cac-fig",
            &[5, 7, 8, 9, 10],
            &[
                "cac-fig3a",
                "cac-fig3b",
                "cac-fig4a",
                "cac-fig4b",
                "cac-ovh",
            ],
        ),
    ];

    #[test]
    fn every_figure_with_measurements_has_a_claim() {
        for (paper, figure, numbers, others) in MEASURED {
            let claims = papers(paper).unwrap().remove(0).claim;
            let figures = numbers.iter().map(|number| format!("{figure}{number}"));
            for id in figures.chain(others.iter().map(ToString::to_string)) {
                assert!(claims.iter().any(|claim| claim.id == id), "{id}");
            }
        }
    }

    #[test]
    fn a_claim_is_measured_or_held_or_open() {
        let text = "title = \"t\"\nfootprints = \"f\"\n[[claim]]\nid = \"1\"\nwhat = \"w\"\npaper = \"1 %\"\n";
        let paper: Paper = toml::from_str(text).unwrap();
        assert!(paper.check().unwrap_err().contains("exactly one of"));
        let paper: Paper = toml::from_str(&format!("{text}needs = \"a trace\"\n")).unwrap();
        paper.check().unwrap();
    }

    #[test]
    fn what_is_not_run_is_not_named() {
        let head = "title = \"t\"\nfootprints = \"f\"\nclaim = []\n[[experiment]]\nname = \"main\"\n\
                    scheme = [\"lru\"]\ncache = [\"1MiB\"]\n";
        for (more, fault) in [
            (
                "reading = [{ name = \"r\", swap = { fifo = \"clock\" } }]\n",
                "reading `r`: fifo",
            ),
            (
                "[[figure]]\nid = \"1\"\ntitle = \"t\"\nexperiment = \"main\"\nfield = \"x\"\nscheme = [\"arc\"]\n",
                "figure 1: arc is not run in `main`",
            ),
        ] {
            let paper: Paper = toml::from_str(&format!("{head}{more}")).unwrap();
            let found = paper.check().unwrap_err();
            assert!(found.starts_with(fault), "{found}");
        }
    }
}
