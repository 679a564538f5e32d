//! `destage trace convert` and `head`: writing traces.

use crate::args::ToFormat;
use destage_console::failure::Failure;
use destage_console::file::OutputFile;
use destage_console::identity;
use destage_console::progress::Progress;
use destage_console::terminal::{Warnings, say};
use destage_experiment::counting::MEMORY;
use destage_experiment::failures::trace_failure;
use destage_experiment::memory::MemoryLimit;
use destage_experiment::options::InputArgs;
use destage_experiment::run::{read, time_warning, trace_warnings};
use destage_trace::{
    BlockSummary, CompressedWriter, Container, RequestPasses, TraceError, TraceMeta, Volume,
    WriteSummary, write_bin, write_csv, write_disksim, write_fio, write_msr, write_oracle_general,
    write_ssdsim,
};
use destage_types::RequestRef;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// How a trace is written.
#[derive(Clone, Copy, Debug)]
pub struct Writing<'a> {
    /// File, compressed as its name says; `-` is standard output, which is plain.
    pub output: &'a Path,
    /// Its format.
    pub to: ToFormat,
    /// Memory that the command may take.
    pub limit: MemoryLimit,
}

/// Reads a trace and writes it.
///
/// # Errors
/// Bad input, an output that cannot be written, or a request that the format cannot hold.
pub fn run(path: &Path, input: &InputArgs, writing: Writing<'_>) -> Result<(), Failure> {
    let (output, limit) = (writing.output, writing.limit);
    if input.split() && output == Path::new("-") {
        return Err(Failure::usage(
            "--volumes split gives a trace per volume; --output FILE says where, only=VOLUME reads \
             one of them",
        ));
    }
    identity::refuse([path], output)?;
    writing.to.check_name(output)?;
    // The columns and the places of volumes depend on all requests, so the trace is read whole before
    // a line is written.
    let memory = match input.split() {
        true => limit.of_requests(), // Each volume is a pass over a temporary file.
        false => MEMORY,
    };
    let options = input.options(false);
    let trace = read(path, &options, memory).map_err(trace_failure)?;
    let mut warnings = Warnings::default();
    trace_warnings(trace.meta(), &mut warnings);
    warnings.extend(time_warning(trace.meta()));
    if !input.split() {
        return write_one(&trace.workload(), trace.meta(), writing);
    }
    check_outputs(&trace.meta().volumes, path, output)?;
    for part in trace.split(memory).map_err(trace_failure)? {
        let part = part.map_err(trace_failure)?;
        let output = &named(output, &part.meta().volumes[0].name);
        write_one(&part.workload(), part.meta(), Writing { output, ..writing })?;
    }
    Ok(())
}

/// Checks the files of single volumes before one is written.
///
/// # Errors
/// The names of two give the same file, or one is the input.
fn check_outputs(volumes: &[Volume], input: &Path, output: &Path) -> Result<(), Failure> {
    let mut seen: BTreeMap<PathBuf, &str> = BTreeMap::new();
    for volume in volumes {
        let (volume, file) = (&volume.name, named(output, &volume.name));
        identity::refuse([input], &file)?;
        if let Some(other) = seen.insert(file.clone(), volume) {
            return Err(Failure::usage(format!(
                "volumes {other} and {volume} would both be written to {}; convert them one by one \
                 (--volumes only=NAME)",
                file.display()
            )));
        }
    }
    Ok(())
}

/// `output` with the name of a volume before its extension, and before that of a compression.
fn named(output: &Path, volume: &str) -> PathBuf {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let volume: String = volume
        .chars()
        .map(|c| if plain(c) { c } else { '_' })
        .collect();
    let ending = |path: &Path| {
        let extension = path.extension();
        extension.map_or(String::new(), |e| format!(".{}", e.to_string_lossy()))
    };
    let (plain, compressed) = match Container::of_name(output) {
        Container::Plain => (output.to_owned(), String::new()),
        _ => (output.with_extension(""), ending(output)),
    };
    let stem = plain.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{stem}-{volume}{}{compressed}", ending(&plain));
    output.with_file_name(name)
}

/// Writes the requests that `meta` describes.
///
/// # Errors
/// The output cannot be written, or a request that the format cannot hold.
pub fn write_one(
    requests: &dyn RequestPasses,
    meta: &TraceMeta,
    writing: Writing<'_>,
) -> Result<(), Failure> {
    let output = writing.output;
    if output == Path::new("-") {
        if let Some(name) = writing.to.binary()
            && io::stdout().is_terminal()
        {
            return Err(Failure::usage(format!(
                "--to {name} is no text for a terminal"
            )));
        }
        let written = write(requests, meta, writing, &mut io::stdout().lock());
        return written
            .map_err(|error| refused(meta, &error).unwrap_or_else(|| Failure::stdout(error)));
    }
    let place = output.display();
    let mut file = OutputFile::create(output)
        .map_err(|error| Failure::usage(format!("--output {place}: cannot create it: {error}")))?;
    let compressed = CompressedWriter::new(Container::of_name(output), BufWriter::new(&mut file));
    let written = compressed.and_then(|mut out| {
        write(requests, meta, writing, &mut out)?;
        out.finish()
    });
    written.and_then(|()| file.commit()).map_err(|error| {
        let unwritten = || Failure::Run(format!("cannot write {place}: {error}"));
        refused(meta, &error).unwrap_or_else(unwritten)
    })
}

/// A failure that is not that of the output: a request that the format cannot hold, or requests
/// that cannot be read again.
fn refused(meta: &TraceMeta, error: &io::Error) -> Option<Failure> {
    if error.kind() == io::ErrorKind::InvalidInput {
        return Some(Failure::usage(format!("{}: {error}", meta.name)));
    }
    let inner = error.get_ref()?.downcast_ref::<TraceError>()?;
    Some(Failure::Run(inner.to_string()))
}

/// Requests with a line that says how many were written; each pass over them has its own.
struct Watched<'a> {
    requests: &'a dyn RequestPasses,
    meta: &'a TraceMeta,
}

/// Requests between two looks at the clock.
const LOOK: u64 = 1 << 10;

impl RequestPasses for Watched<'_> {
    fn pass(&self, f: &mut dyn FnMut(RequestRef<'_>) -> io::Result<()>) -> io::Result<()> {
        let label = format!("writing {}", self.meta.name);
        let progress = Progress::requests(&label, self.meta.requests);
        let mut done = 0;
        self.requests.pass(&mut |request| {
            done += 1;
            if done % LOOK == 0 {
                progress.set(done);
            }
            f(request)
        })
    }

    fn note(&self) -> Option<&str> {
        self.requests.note()
    }
}

fn write(
    requests: &dyn RequestPasses,
    meta: &TraceMeta,
    writing: Writing<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let requests = &Watched { requests, meta };
    let volumes = &meta.volumes[..];
    let written = match writing.to {
        ToFormat::Destage => return write_csv(requests, out),
        ToFormat::DestageBin => return write_bin(requests, volumes, meta.timed, out),
        ToFormat::Msr => write_msr(requests, volumes, out)?,
        ToFormat::Fio => write_fio(requests, volumes, out)?,
        ToFormat::Ssdsim => write_ssdsim(requests, volumes, out)?,
        ToFormat::Disksim => write_disksim(requests, volumes, out)?,
        ToFormat::OracleGeneral => {
            let memory = writing.limit.of_requests();
            let blocks = write_oracle_general(requests, memory, out)?;
            say(&format!(
                "note: {}: {}",
                meta.name,
                what_blocks_lose(&blocks)
            ));
            blocks.requests
        }
    };
    let WriteSummary {
        requests,
        rounded_times,
        flags_left_out,
    } = written;
    if flags_left_out > 0 {
        say(&format!(
            "warning: {}: the format cannot say FUA and preflush, which {flags_left_out} of {requests} requests \
             lost; `destage` and `destage-bin` can",
            meta.name
        ));
    }
    if rounded_times > 0 {
        say(&format!(
            "warning: {}: {rounded_times} of {requests} times were rounded down to the unit of the \
             format",
            meta.name
        ));
    }
    Ok(())
}

/// The facts about requests that `oracle-general` loses.
fn what_blocks_lose(blocks: &BlockSummary) -> String {
    let requests = blocks.requests.requests;
    let mut text = format!(
        "oracle-general has blocks of 4 KiB, not requests: {requests} requests became {} records, \
         and whether one is a read or a write is lost ({} writes)",
        blocks.records, blocks.writes
    );
    if blocks.partial > 0 {
        text += &format!(
            "; {} requests began or ended within a block, which is written as a whole",
            blocks.partial
        );
    }
    if blocks.several_streams {
        text += "; records do not say of which volume or stream they are";
    }
    text
}
