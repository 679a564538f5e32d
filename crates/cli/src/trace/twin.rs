//! `destage trace fit` and `trace synth --like`: twins of traces.

use crate::args::{FitArgs, SynthArgs, ToFormat};
use crate::trace::convert::{Writing, write_one};
use destage_console::failure::Failure;
use destage_console::file::write_file;
use destage_console::print::print_exactly;
use destage_console::progress::Progress;
use destage_console::terminal::{Warnings, say};
use destage_console::{identity, suffix};
use destage_device::config::toml_comment;
use destage_experiment::counting::{LOOK, MEMORY};
use destage_experiment::failures::trace_failure;
use destage_experiment::memory::MemoryLimit;
use destage_experiment::options::{InputArgs, KeyPlaces};
use destage_experiment::run::{read, time_warning, trace_warnings};
use destage_experiment::twins::{Stop, watched};
use destage_trace::{RequestCollector, RequestPasses, Stored};
use destage_twin::{Accuracy, Twin, TwinFile, TwinFit, TwinParameters};
use destage_types::{HostRequest, Nanos, Op, RequestRef};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes of a parameter file that are read: more than any can have.
const FILE_MOST: u64 = 4 << 20;
/// Points of error above which a twin is not a good one.
const GOOD: f64 = 3.0;

/// Does what `args` of `trace fit` say.
///
/// # Errors
/// Bad input, no read or write in it, too little memory, or an output that cannot be written.
pub fn fit(args: &FitArgs) -> Result<(), Failure> {
    let limit = args.memory.limit();
    identity::refuse([args.trace.as_path()], &args.output)?;
    suffix::TWIN.check("--output", &args.output)?;
    let trace = load(&args.trace, &args.input)?;
    let name = trace.meta().name.clone();
    let workload = trace.workload();
    let mut fit = TwinFit::new(workload.span().1);
    let progress = Progress::requests(&format!("counting {name}"), workload.len());
    each(&trace, limit, &mut |done, request| {
        fit.add(request);
        if done % LOOK == 0 {
            progress.set(done);
        }
    })?;
    drop(progress);
    let fitted = fit
        .finish()
        .map_err(|e| Failure::usage(format!("{name}: {e}")))?;
    let watched = |_, _| match limit.exceeded() {
        Some(bytes) => Err(limit.refused(&format!("{name}: calibrating a twin"), bytes)),
        None => Ok(()),
    };
    let (parameters, accuracy) = match args.plain {
        true => (fitted.parameters, None),
        false => {
            let (parameters, accuracy) = fitted.calibrate(watched)?;
            (parameters, Some(accuracy))
        }
    };
    accuracy.iter().for_each(|accuracy| report(&name, accuracy));
    let text = format!(
        "# A twin of {}: a likeness, not the trace.\n{}",
        toml_comment(&name),
        parameters.to_toml()
    );
    save(&args.output, &text)
}

/// Reads the one trace of `path`.
///
/// # Errors
/// Bad input.
pub fn load(path: &Path, input: &InputArgs) -> Result<Stored, Failure> {
    if input.split() {
        return Err(Failure::usage(
            "--volumes split is several traces; only=VOLUME takes one of them",
        ));
    }
    let trace = read(path, &input.options(false), MEMORY).map_err(trace_failure)?;
    let mut warnings = Warnings::default();
    trace_warnings(trace.meta(), &mut warnings);
    warnings.extend(time_warning(trace.meta()));
    Ok(trace)
}

/// Goes through the reads and writes of a trace as long as there is memory. An extent of a request
/// counts as a request. The first argument of `f` is how many requests there have been.
///
/// # Errors
/// Too little memory, or a temporary file that cannot be read.
pub fn each(
    trace: &Stored,
    limit: MemoryLimit,
    f: &mut dyn FnMut(u64, &HostRequest),
) -> Result<(), Failure> {
    let (mut done, mut pages) = (0, 0);
    let mut exceeded = None;
    let passed = RequestPasses::pass(&trace.workload(), &mut |request| {
        done += 1;
        if !matches!(request.head.op, Op::Read | Op::Write) {
            return Ok(());
        }
        for extent in request.extents() {
            let mut part = *request.head;
            (part.start_sector, part.sectors) = (extent.start_sector, extent.sectors);
            f(done, &part);
            pages += u64::from(extent.sectors).div_ceil(8);
        }
        if pages >= LOOK {
            pages = 0;
            exceeded = limit.exceeded();
        }
        match exceeded {
            Some(_) => Err(io::ErrorKind::OutOfMemory.into()),
            None => Ok(()),
        }
    });
    let name = &trace.meta().name;
    match (exceeded, passed) {
        (Some(bytes), _) => {
            let what = format!("{name}: counting its first {done} requests");
            Err(limit.refused(&what, bytes))
        }
        (None, passed) => passed.map_err(|error| Failure::Run(format!("{name}: {error}"))),
    }
}

fn report(name: &str, accuracy: &Accuracy) {
    let Some(error) = accuracy.error() else {
        return say(&format!(
            "warning: {name}: the trace has no writes, so the error of its twin is unknown"
        ));
    };
    let plain = accuracy.plain.unwrap_or(error);
    let how = match accuracy.kept {
        true => format!("calibrated; {plain:.1} without"),
        false => "not calibrated, because calibration increases the error".to_owned(),
    };
    let more = match error > GOOD {
        true => format!("; more than {GOOD} points: not a good twin"),
        false => String::new(),
    };
    let warning = if error > GOOD { "warning: " } else { "" };
    say(&format!(
        "{warning}{name}: write hit ratios of LRU buffers of 1 to 64 MiB are off by {error:.1} points in \
         the mean ({how}){more}"
    ));
}

fn save(output: &Path, text: &str) -> Result<(), Failure> {
    if output == Path::new("-") {
        return print_exactly(text);
    }
    write_file(output, text).map_err(|error| {
        let place = output.display();
        Failure::usage(format!("--output {place}: cannot write it: {error}"))
    })
}

/// Writes a twin of what `like` says.
///
/// # Errors
/// No parameter file, too little memory, or an output that cannot be written.
pub fn synth(args: &SynthArgs, like: &Path) -> Result<(), Failure> {
    identity::refuse([like], &args.output)?;
    let parameters = parameters(like, args.requests, args.seed)?;
    let stem = like.file_stem().unwrap_or_default().to_string_lossy();
    let twin = Twin {
        name: format!("twin of {stem}"),
        parameters,
    };
    let limit = args.memory.limit();
    let made = Made::of(&twin, limit)?;
    let writing = Writing {
        output: &args.output,
        to: args.to.unwrap_or(ToFormat::Destage),
        limit,
    };
    write_one(&made, &twin.meta(), writing)
}

/// The requests of a twin, made once: most formats go through them twice.
struct Made<'a> {
    twin: &'a Twin,
    /// With times from the first request on.
    requests: Stored,
    first: Nanos,
}

impl Made<'_> {
    fn of(twin: &Twin, limit: MemoryLimit) -> Result<Made<'_>, Failure> {
        let mut out = RequestCollector::new(limit.of_requests(), None);
        let progress =
            Progress::requests(&format!("making {}", twin.name), twin.parameters.requests);
        let (mut first, mut done) = (None, 0);
        watched(twin, limit, |request| {
            first.get_or_insert(request.arrival);
            out.made.push(request);
            done += 1;
            if done % LOOK == 0 {
                progress.set(done);
            }
            out.part()
                .map_err(|error| Stop::Failed(trace_failure(error)))
        })
        .or_else(Stop::result)?;
        Ok(Made {
            twin,
            requests: out.finish(twin.meta()).map_err(trace_failure)?,
            first: first.unwrap_or_default(),
        })
    }
}

impl RequestPasses for Made<'_> {
    fn pass(&self, f: &mut dyn FnMut(RequestRef<'_>) -> io::Result<()>) -> io::Result<()> {
        RequestPasses::pass(&self.requests.workload(), &mut |request| {
            let mut head = *request.head;
            head.arrival = Nanos(head.arrival.0 + self.first.0);
            f(RequestRef {
                head: &head,
                ..request
            })
        })
    }

    fn note(&self) -> Option<&str> {
        self.twin.note()
    }
}

fn parameters(
    like: &Path,
    requests: Option<u64>,
    seed: Option<u64>,
) -> Result<TwinParameters, Failure> {
    let place = like.display();
    let fault = |why: String| Failure::usage(format!("--like {place}: {why}"));
    let no_file = |why: &str| {
        fault(format!(
            "is no parameter file of a twin ({}); `destage trace fit {place} -o FILE` makes one of a \
             trace",
            why.trim_end()
        ))
    };
    let mut bytes = Vec::new();
    let read = File::open(like).and_then(|file| file.take(FILE_MOST + 1).read_to_end(&mut bytes));
    read.map_err(|error| fault(format!("cannot read it: {error}")))?;
    if bytes.len() as u64 > FILE_MOST {
        return Err(no_file("it is too long"));
    }
    let text = String::from_utf8(bytes).map_err(|_| no_file("it is no text"))?;
    if let Err(error) = text.parse::<toml::Table>() {
        return Err(no_file(&error.to_string()));
    }
    let places = KeyPlaces::of(like, &text);
    // A fault begins with the key that it is about, if it is about one.
    let placed = |why: String| {
        let mut key = why.split(':').next();
        // A row that is not there has the line of its table.
        while let Some(inner) = key.filter(|key| !places.has(key)) {
            key = inner.rsplit_once('.').map(|(outer, _)| outer);
        }
        Failure::usage(format!("--like {}", places.fault("", key, &why)))
    };
    let file = TwinFile::parse(&text).map_err(placed)?;
    file.parameters(requests, seed).map_err(placed)
}
