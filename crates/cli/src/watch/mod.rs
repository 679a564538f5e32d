//! `destage watch`: a window of several runs as a picture that moves.

mod page;

use crate::args::WatchArgs;
use crate::playground;
use destage_console::failure::Failure;
use destage_console::file;
use destage_console::identity::{self, Output};
use destage_console::terminal::Warnings;
use destage_experiment::options::RunArgs;
use destage_experiment::run::load;
use destage_experiment::run::watch::{WatchedRun, watch};
use destage_experiment::stories::Story;
use destage_record::Scene;
use destage_sim::{WatchAsk, WatchFrom};
use serde::Serialize;
use std::path::Path;

/// Schemes that `watch` compares unless some are given.
const SCHEMES: [&str; 2] = ["lru", "idle-clean(lru)"];
/// The device where nobody says it.
const DEVICE: &str = "default";

/// Scenes of runs over the same requests.
#[derive(Serialize)]
struct Scenes {
    format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    story: Option<StoryWords>,
    scenes: Vec<Scene>,
}

/// The text above the picture.
#[derive(Serialize)]
struct StoryWords {
    name: String,
    title: String,
    about: String,
    promise: String,
    /// The time of the promise, in ns.
    at: u64,
    /// Pages that the promise names.
    pages: Vec<u64>,
}

/// Does what `args` say.
///
/// # Errors
/// Bad usage or input, a run failed, or the scenes cannot be written.
pub fn run(args: &WatchArgs) -> Result<(), Failure> {
    if let Some(path) = &args.export {
        if !["html", "json"].iter().any(|end| has_ending(path, end)) {
            return Err(Failure::usage(format!(
                "--export {}: a name ending in .html gets the page, one ending in .json the scenes alone",
                path.display()
            )));
        }
        let outputs = Output::of("--export", path);
        identity::check(&[outputs])?;
        file::check(path).map_err(|error| unwritten(path, error))?;
    }
    let mut warnings = Warnings::default();
    let (story, runs) = match &args.story {
        Some(name) => {
            let story = Story::find(name)?;
            // The story of its runs stands above the picture.
            let runs = story.watch(&mut Warnings::unsaid())?;
            (Some(words_of(story)), runs)
        }
        None => (None, runs_of_trace(args, &mut warnings)?),
    };
    let any = !runs.is_empty();
    warnings.unless_left_out(any)?;
    let scenes = Scenes {
        format: "destage-scenes-1",
        story,
        scenes: runs.into_iter().map(|run| run.scene).collect(),
    };
    let failed = |error| Failure::Run(format!("the scenes are no JSON: {error}"));
    let json = serde_json::to_string(&scenes).map_err(failed)?;
    match args.export.as_deref() {
        None => playground::serve(page::files(&json)?, args.port, args.no_open),
        Some(path) => {
            let content = match has_ending(path, "html") {
                true => page::in_one_file(&json)?,
                false => json + "\n",
            };
            file::write_file(path, content).map_err(|error| unwritten(path, error))
        }
    }
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|end| end == ending)
}

fn unwritten(path: &Path, error: std::io::Error) -> Failure {
    Failure::Run(format!("cannot write {}: {error}", path.display()))
}

fn words_of(story: Story) -> StoryWords {
    StoryWords {
        name: story.name,
        title: story.title,
        about: story.text,
        promise: story.promise,
        at: story.at,
        pages: story.pages,
    }
}

fn runs_of_trace(args: &WatchArgs, warnings: &mut Warnings) -> Result<Vec<WatchedRun>, Failure> {
    let Some(path) = args.trace.as_deref() else {
        return Err(Failure::usage(
            "name a trace, or a story with --story, such as `destage watch --story why-lru-waits`",
        ));
    };
    let mut run_args = RunArgs {
        traces: vec![path.to_owned()],
        host_fs: args.host_fs.iter().cloned().collect(),
        input: args.input.clone(),
        caches: args.caches.clone(),
        hits: args.hits.clone(),
        random: args.random.clone(),
        memory: args.memory.clone(),
        limit: args.limit.clone(),
        threads: args.threads.clone(),
        device: Some(args.device.clone().unwrap_or_else(|| DEVICE.to_owned())),
        set: args.set.clone(),
        addresses: args.addresses,
        ..RunArgs::default()
    };
    if run_args.caches.scheme.is_empty() {
        run_args.caches.scheme = SCHEMES.map(str::to_owned).to_vec();
    }
    let from = match args.from {
        Some(from) => WatchFrom::Time(from),
        None => WatchFrom::Request(args.request.unwrap_or(0)),
    };
    identity::protect(path);
    let memory = args.memory.of_requests(args.limit.limit());
    let trace = load(path, &args.input.options(true), memory, warnings)?;
    watch(&run_args, WatchAsk { from, to: args.to }, trace, warnings)
}
