//! `destage repro`: everything the papers measured, and a ledger of what they say and what comes out.
//!
//! `paper` has the data of a paper, `loads` what it is tried on, `judge` the verdicts, `ledger`,
//! `pages` and `figure` what is written of them.

mod figure;
mod judge;
mod ledger;
mod live;
mod loads;
mod measure;
mod pages;
mod paper;
mod twins;

use clap::{Args, ValueEnum};
use destage_console::failure::Failure;
use destage_console::file::write_file;
use destage_console::identity::{self, Output};
use destage_console::print::{print, unwritten};
use destage_console::terminal::{Warnings, say};
use destage_experiment::counting::counted;
use destage_experiment::folder::ResultsFolder;
use destage_experiment::journal::Journal;
use destage_experiment::options::{JobsArgs, LimitArgs, RunArgs};
use destage_experiment::progress::Stages;
use destage_experiment::run::{Executor, Keys, Plan, run_keys};
use destage_experiment::sinks::{KeptRecords, RecordSink, Sinks};
use destage_report::html as report;
use destage_trace::Stored;
use judge::{LedgerRow, LoadOutcome, judge, on_twins};
use loads::{PaperLoad, ScaledCache, WantedLoads, loads};
use pages::OVERVIEW;
use paper::{Experiment, Paper, PaperReading, papers};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use toml::Value;

/// Options of `repro`.
#[derive(Args, Debug)]
pub struct ReproArgs {
    /// Paper: req-block, prober, cac, ecr, procache, or all
    #[arg(default_value = "all")]
    pub paper: String,
    /// Only this figure, table, or section, as the ledger names it
    pub figure: Option<String>,
    /// How much of each trace is run
    #[arg(long, value_enum, default_value = "small")]
    pub scale: Scale,
    /// Folder of real traces. Traces with the published names are the originals; for other traces the
    /// cache is scaled to the data that they write [default: $DESTAGE_TRACES]
    #[arg(long, value_name = "DIR")]
    pub traces: Option<PathBuf>,
    /// Also run twins of the papers' traces: generated likenesses, shown in separate rows, which
    /// decide nothing
    #[arg(long)]
    pub twins: bool,
    /// Results of runs on a real file system, as fs-lab/algorithm2.sh writes them
    #[arg(long, value_name = "FILE")]
    pub live: Option<PathBuf>,
    /// Folder of ledgers, figures, and results; finished runs in it are not repeated
    #[arg(long, value_name = "DIR", default_value = "repro")]
    pub out: PathBuf,
    /// Self-contained HTML page with charts and claims [default: report.html in the folder of --out]
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Repeat finished runs
    #[arg(long)]
    pub fresh: bool,
    /// Memory of the program.
    #[command(flatten)]
    pub limit: LimitArgs,
    /// Threads.
    #[command(flatten)]
    pub threads: JobsArgs,
}

/// How much of the traces is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Scale {
    /// The first 20,000 requests of each trace; no trace counts as the paper's own.
    Small,
    /// Whole traces.
    Full,
}

impl Scale {
    /// Requests of a trace that are run.
    fn requests(self) -> Option<u64> {
        match self {
            Scale::Small => Some(20_000),
            Scale::Full => None,
        }
    }
}

/// A paper with what was measured.
pub struct Reproduction {
    paper: Paper,
    rows: Vec<LedgerRow>,
    /// The results of twins for each claim, if they were run.
    twins: Vec<Option<LedgerRow>>,
    outcomes: Vec<LoadOutcome>,
    /// Experiments, and a trace that could show nothing in them with the reason.
    left_out: Vec<(String, String)>,
    /// Changes to other traces that let them show something.
    warnings: BTreeSet<String>,
    scale: Scale,
}

impl Reproduction {
    /// A load says nothing in an experiment, for this reason.
    fn leave_out(&mut self, experiment: usize, why: &str) {
        let name = &self.paper.experiment[experiment].name;
        match self.left_out.iter_mut().find(|l| l.1 == why) {
            Some((experiments, _)) => *experiments += &format!(", {name}"),
            None => self.left_out.push((name.clone(), why.to_owned())),
        }
    }
}

/// Does what `args` say.
///
/// # Errors
/// Bad usage or input, or an output that cannot be written.
pub fn run(args: &ReproArgs) -> Result<(), Failure> {
    let papers = papers(&args.paper)?;
    if let Some(id) = &args.figure
        && !papers.iter().any(|p| p.claim.iter().any(|c| c.id == *id))
    {
        let mut all: Vec<&str> = papers
            .iter()
            .flat_map(|p| p.claim.iter().map(|c| c.id.as_str()))
            .collect();
        all.dedup();
        return Err(Failure::usage(format!(
            "no figure `{id}` of {}: allowed: {}",
            args.paper,
            all.join(", ")
        )));
    }
    // Nothing is run, or written, for what is refused.
    let live = papers.iter().map(|paper| match &args.live {
        Some(file) => live::outcomes(paper, file),
        None => Ok(Vec::new()),
    });
    let live: Vec<_> = live.collect::<Result<_, _>>()?;
    let documents = documents(&papers);
    let names: Vec<&str> = documents.iter().map(String::as_str).collect();
    ResultsFolder::existing(&args.out).require_own(&names)?;
    let report = report_path(args, &names)?;
    let traces = args.traces.clone().or_else(|| {
        let folder = std::env::var_os("DESTAGE_TRACES");
        folder.filter(|f| !f.is_empty()).map(PathBuf::from)
    });
    let mut work = Repro {
        args,
        traces: traces.as_deref(),
        executor: Executor::quiet(Stages::new(0), true, args.limit.limit()),
        stage: 1,
    };
    let stages: Vec<usize> = papers
        .iter()
        .map(|paper| work.stages_of(paper))
        .collect::<Result<_, _>>()?;
    work.executor.stages = Stages::new(stages.iter().sum());
    if traces.is_none() {
        say(
            "note: no folder of traces (--traces): claims that need real traces stay open; loads \
             that a paper describes are run",
        );
    }
    let mut all = Vec::new();
    for (paper, live) in papers.into_iter().zip(live) {
        all.push(work.reproduce(paper, live)?);
    }
    let place = |name: &str| args.out.join(name);
    write(&place(OVERVIEW), &pages::overview(&all))?;
    for of in &all {
        write(&place(&pages::page_of(of.paper.name)), &pages::page(of))?;
    }
    write(&place("claims.json"), &ledger::json(&all)?)?;
    report::write(&report, ledger::page(&all))?;
    for reproduction in &all {
        for (id, svg) in figure::all(reproduction)? {
            let folder = args.out.join(reproduction.paper.name);
            write(&folder.join(format!("{id}.svg")), &svg)?;
        }
    }
    print(&format!(
        "{}\n{}",
        ledger::text(&all),
        ledger::where_it_is(&args.out, &report)
    ))
}

/// Documents that the command writes, in the folder of `--out`.
fn documents(papers: &[Paper]) -> Vec<String> {
    let pages = papers.iter().map(|paper| pages::page_of(paper.name));
    let both = [OVERVIEW.to_owned(), "claims.json".to_owned()];
    both.into_iter().chain(pages).collect()
}

/// Writes a file into a folder that may not be there yet.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = folder.and_then(|()| write_file(path, text));
    written.map_err(|error| unwritten(path, &error))
}

/// Where the page of charts goes.
///
/// # Errors
/// It cannot be written, or is a file that is written anyway.
fn report_path(args: &ReproArgs, documents: &[&str]) -> Result<PathBuf, Failure> {
    let Some(report) = &args.report else {
        return Ok(args.out.join("report.html"));
    };
    // It may be meant for a folder that is made here.
    std::fs::create_dir_all(&args.out).map_err(|error| {
        let place = args.out.display();
        Failure::usage(format!("--out {place}: cannot create it: {error}"))
    })?;
    let ours: Vec<PathBuf> = documents.iter().map(|name| args.out.join(name)).collect();
    let ours = ours.iter().map(|path| Output::of("--out", path));
    let written: Vec<_> = ours.chain([Output::of("--report", report)]).collect();
    identity::check(&written)?;
    report::check("--report", report)?;
    Ok(report.clone())
}

/// The command while it works.
struct Repro<'a> {
    args: &'a ReproArgs,
    traces: Option<&'a Path>,
    executor: Executor,
    /// Number of the first reading of the load under way: each reading of each load is a stage.
    stage: usize,
}

impl Repro<'_> {
    /// Is `experiment` needed for what was asked?
    fn wanted(&self, paper: &Paper, experiment: &Experiment) -> bool {
        let Some(id) = &self.args.figure else {
            return true;
        };
        let of_claim = paper.claim.iter().filter(|c| c.id == *id);
        let mut of_claim = of_claim.filter_map(|c| c.measured.as_ref());
        of_claim.any(|m| m.experiment == experiment.name)
    }

    /// Readings of loads, over all experiments that are wanted.
    fn stages_of(&self, paper: &Paper) -> Result<usize, Failure> {
        let wanted = paper.experiment.iter().filter(|e| self.wanted(paper, e));
        let counts = wanted.map(|e| {
            let loads = loads(paper, e, self.wanted_loads())?.len();
            Ok(loads * (1 + e.reading.len()))
        });
        counts.sum()
    }

    /// With the runs of `live` beside those that are run here.
    fn reproduce(&mut self, paper: Paper, live: Vec<LoadOutcome>) -> Result<Reproduction, Failure> {
        let folder = self.args.out.join(paper.name);
        let mut journal = Journal::open(&folder, self.args.fresh)?;
        let mut done = Reproduction {
            rows: Vec::new(),
            twins: Vec::new(),
            outcomes: Vec::new(),
            left_out: Vec::new(),
            warnings: BTreeSet::new(),
            scale: self.args.scale,
            paper,
        };
        for number in 0..done.paper.experiment.len() {
            if self.wanted(&done.paper, &done.paper.experiment[number]) {
                self.experiment(number, &mut done, &mut journal)?;
            }
        }
        Box::new(journal).finish(true)?;
        done.outcomes.extend(live);
        let wanted = |id: &str| self.args.figure.as_deref().is_none_or(|asked| asked == id);
        let claims = done.paper.claim.iter().filter(|claim| wanted(&claim.id));
        let rows = claims.map(|claim| {
            let row = judge(&done.paper, claim, &done.outcomes);
            (row, on_twins(&done.paper, claim, &done.outcomes))
        });
        (done.rows, done.twins) = rows.unzip();
        Ok(done)
    }

    fn wanted_loads(&self) -> WantedLoads<'_> {
        WantedLoads {
            folder: self.traces,
            scale: self.args.scale,
            twins: self.args.twins,
        }
    }

    fn experiment(
        &mut self,
        number: usize,
        to: &mut Reproduction,
        journal: &mut Journal,
    ) -> Result<(), Failure> {
        let paper = &to.paper;
        let experiment = &paper.experiment[number];
        let all = loads(paper, experiment, self.wanted_loads())?;
        let limit = self.args.limit.limit();
        let input = self.plan(paper, experiment, None, &experiment.cache)?.load;
        for load in all {
            let paper = &to.paper;
            let experiment = &paper.experiment[number];
            let stored = load.read(experiment, &input, self.args.scale, limit)?;
            let summary = counted(&stored, limit)?;
            let scale = self.args.scale;
            let caches = load.caches(paper, experiment, scale, stored.workload(), &summary)?;
            match caches {
                Err(why) => to.leave_out(number, &format!("{}: {why}", load.name)),
                Ok(caches) => match self.readings(
                    LoadedExperiment {
                        number,
                        load: &load,
                        caches: &caches,
                        figures: loads::figures(&summary),
                    },
                    &mut Cow::Owned(stored),
                    to,
                    journal,
                ) {
                    // The trace does not suit the device: what the plan says was checked before.
                    Err(Failure::Usage(faults)) => to.leave_out(number, &faults.join("; ")),
                    done => done?,
                },
            }
            self.stage += 1 + to.paper.experiment[number].reading.len();
        }
        Ok(())
    }

    /// All readings of an experiment on one load.
    fn readings(
        &mut self,
        of: LoadedExperiment<'_>,
        stored: &mut Cow<'_, Stored>,
        to: &mut Reproduction,
        journal: &mut Journal,
    ) -> Result<(), Failure> {
        let sizes: Vec<String> = of.caches.iter().map(|c| c.here.to_string()).collect();
        let experiment = &to.paper.experiment[of.number];
        let readings = experiment.reading.iter().map(Some);
        for (reading, open) in [None].into_iter().chain(readings).enumerate() {
            let plan = self.plan(&to.paper, experiment, open, &sizes)?;
            let title = format!("{}, {}, {}", to.paper.name, experiment.name, of.load.name);
            self.executor.stages.begin(self.stage + reading, &title);
            self.executor.warnings = Warnings::unsaid();
            let mut kept = KeptRecords::default();
            let mut sinks: Sinks<'_> = vec![Box::new(&mut *journal), Box::new(&mut kept)];
            self.executor.execute(&plan, stored, &mut sinks)?;
            drop(sinks);
            let mut warnings = std::mem::take(&mut self.executor.warnings);
            // A claim compares runs, and needs all of them.
            if let Some(why) = warnings.take_left_out().into_iter().next() {
                return Err(why);
            }
            to.warnings.extend(warnings.into_all());
            for (record, _) in &kept.records {
                to.outcomes.push(of.outcome(reading, record)?);
            }
        }
        Ok(())
    }

    /// The runs of one reading of an experiment.
    fn plan(
        &self,
        paper: &Paper,
        experiment: &Experiment,
        reading: Option<&PaperReading>,
        sizes: &[String],
    ) -> Result<Plan, Failure> {
        let mut keys: Keys = experiment.options.clone();
        let mut schemes = experiment.scheme.clone();
        if let Some(reading) = reading {
            keys.extend(reading.options.clone());
            for scheme in &mut schemes {
                if let Some(other) = reading.swap.get(scheme) {
                    scheme.clone_from(other);
                }
            }
        }
        let texts =
            |texts: &[String]| Value::Array(texts.iter().cloned().map(Value::String).collect());
        keys.insert("scheme".to_owned(), texts(&schemes));
        keys.insert("cache".to_owned(), texts(sizes));
        let file = format!("papers/{}/claims.toml", paper.name);
        let mut given = RunArgs {
            traces: vec![PathBuf::from("-")],
            ..RunArgs::default()
        };
        given.threads = self.args.threads.clone();
        given.limit = self.args.limit.clone();
        let place = reading.map_or("as run", |reading| &reading.name);
        let plan = run_keys(&keys, &given, &file).and_then(|run| {
            let plan = Plan::new(&run.args, run.filed)?;
            plan.check_all_run()?;
            Ok(plan)
        });
        plan.map_err(|failure| match failure {
            Failure::Usage(faults) => {
                let place = format!("{}, {place}", experiment.name);
                let faults = faults.iter().map(|fault| format!("{place}: {fault}"));
                Failure::Usage(faults.collect())
            }
            other => other,
        })
    }
}

/// An experiment on one load.
struct LoadedExperiment<'a> {
    /// Number of the experiment.
    number: usize,
    load: &'a PaperLoad,
    caches: &'a [ScaledCache],
    /// Figures of the load itself.
    figures: serde_json::Value,
}

impl LoadedExperiment<'_> {
    /// The outcome of `reading` for a run.
    fn outcome(
        &self,
        reading: usize,
        record: &destage_sim::ResultRecord,
    ) -> Result<LoadOutcome, Failure> {
        let mut json = serde_json::to_value(record)
            .map_err(|error| Failure::Run(format!("a record is no JSON: {error}")))?;
        json["load"] = self.figures.clone();
        let cache = self.caches.iter().find(|c| c.here.0 == record.cache_bytes);
        // A run without a cache has none of the sizes.
        let cache = cache.or(self.caches.first()).expect("a run has a cache");
        let fs = record.trace.name.rsplit_once('+').filter(|_| {
            json["config"]
                .as_array()
                .is_some_and(|all| all.iter().any(|entry| entry["key"] == "host_fs"))
        });
        Ok(LoadOutcome {
            experiment: self.number,
            reading,
            load: self.load.name.clone(),
            evidence: self.load.evidence,
            host_fs: fs.map_or(String::new(), |fs| fs.1.to_owned()),
            cache: cache.paper.clone(),
            factor: cache.factor,
            record: json,
        })
    }
}
