//! Options of `destage trace`.

use crate::args::examples;
use clap::{Args, Subcommand, ValueEnum};
use destage_console::failure::Failure;
use destage_console::suffix::FileKind;
use destage_experiment::options::command_line::words;
use destage_experiment::options::readers::{OptionWords, share, whole};
use destage_experiment::options::{InputArgs, LimitArgs};
use destage_fsmodel::ftrace::{DeviceSpec, RequestEvent};
use destage_trace::synth::{Arrival, SynthPart};
use destage_types::{Nanos, Picos};
use std::path::{Path, PathBuf};

/// Options of `trace`.
#[derive(Args, Debug)]
pub struct TraceArgs {
    /// The command on the trace.
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// Commands on traces.
#[derive(Subcommand, Debug)]
pub enum TraceCommand {
    /// Count requests, sizes, footprint, reuse, updates, frequent pages, large sequential writes and
    /// volumes
    #[command(after_help = examples::TRACE_INFO)]
    Info {
        /// Trace files; `-` is standard input, `demo` the built-in workload
        #[arg(value_name = "TRACE", required = true)]
        traces: Vec<PathBuf>,
        #[command(flatten)]
        input: InputArgs,
        #[command(flatten)]
        memory: LimitArgs,
        /// Print one JSON object per trace instead of text
        #[arg(long)]
        json: bool,
        /// Write an HTML page with charts of sizes, times between requests, reuse and footprint
        #[arg(long, value_name = "FILE")]
        report: Option<PathBuf>,
    },
    /// Write a trace in another format
    ///
    /// A request that the format cannot hold is an error, which gives the number of the request.
    /// Rounded times, and requests that oracle-general changes, are counted on standard error.
    #[command(after_help = examples::TRACE_CONVERT)]
    Convert {
        /// Trace file; `-` is standard input, `demo` the built-in workload
        trace: PathBuf,
        #[command(flatten)]
        input: InputArgs,
        #[command(flatten)]
        memory: LimitArgs,
        /// File to write, compressed if it ends in .zst, .gz or .xz; `-` is standard output. With
        /// `--volumes split` the name of the volume goes before the extensions
        #[arg(short, long, value_name = "FILE", default_value = "-")]
        output: PathBuf,
        /// Format to write [default: destage, its own CSV]
        #[arg(long, value_name = "FORMAT")]
        to: Option<ToFormat>,
    },
    /// Make a trace with old addresses from kernel event text (ftrace)
    ///
    /// Reads the block_* and f2fs_* events of kernels 6.1 and later, and matches the pages that F2FS
    /// submits with the requests that reach the device. A summary of the matches goes to standard
    /// error.
    #[command(after_help = examples::TRACE_IMPORT)]
    ImportFtrace(ImportArgs),
    /// Generate a workload; the same seed gives the same bytes on every machine
    #[command(after_help = examples::TRACE_SYNTH)]
    Synth(Box<SynthArgs>),
    /// Measure the parameters of a twin of a trace, for `trace synth --like`
    ///
    /// A twin is a likeness, not the trace. Its LRU hit ratios, updates, and sequentiality are close
    /// to those of the trace; its error goes to standard error. A twin keeps only in part which of
    /// two schemes is better: do not use it to support or refute that Req-block beats LRU, nor for
    /// schemes that keep whole blocks. The file has counts and no addresses. Memory: about 250 B for
    /// each page of 4 KiB that the trace touches.
    #[command(after_help = examples::TRACE_FIT)]
    Fit(FitArgs),
    /// Compare a trace with its twin: hit ratios, updates, large writes, times
    ///
    /// Hit ratios are those of LRU with pages of 4 KiB; the write buffer inserts no pages on reads.
    /// The error is that of the second trace, in percentage points. Memory: about 50 B for each page
    /// that a trace touches.
    #[command(after_help = examples::TRACE_COMPARE)]
    Compare {
        /// The trace; `-` is standard input, `demo` the built-in workload
        #[arg(value_name = "TRACE")]
        a: PathBuf,
        /// Its twin, or another trace
        #[arg(value_name = "TWIN")]
        b: PathBuf,
        #[command(flatten)]
        input: InputArgs,
        #[command(flatten)]
        memory: LimitArgs,
        /// Print a JSON object instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Print the first requests as destage CSV
    #[command(after_help = examples::TRACE_HEAD)]
    Head {
        /// Trace file; `-` is standard input, `demo` the built-in workload
        trace: PathBuf,
        #[command(flatten)]
        input: InputArgs,
        /// Requests to print
        #[arg(short = 'n', long, value_name = "N", default_value_t = 10,
              value_parser = whole(1..=u64::MAX))]
        requests: u64,
    },
}

/// Options of `trace synth`.
#[derive(Args, Debug)]
pub struct SynthArgs {
    /// Named workload to start from [default: 100000 whole-page writes, uniform over 1 GiB]
    #[arg(value_name = "WORKLOAD")]
    pub workload: Option<String>,
    /// List the named workloads and their parts
    #[arg(long, conflicts_with_all = ["workload", "output", "to", "like"])]
    pub list: bool,
    /// Parameter file of a twin, from `trace fit` or with the figures that a paper prints
    /// (papers/twins). With `--requests` the request rate does not change. A twin is a likeness, not
    /// the trace: do not use it to support or refute that Req-block beats LRU, nor for schemes that
    /// keep whole blocks
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["workload", "parts", "arrival", "gap", "writes"])]
    pub like: Option<PathBuf>,
    /// One part of the mix, in place of those of the named workload; repeatable. Keys, each with its
    /// default: weight=1, at=uniform (or normal(SIGMA), zipf(THETA), sequential), start=0B,
    /// space=1GiB, unit=4KiB, inside=UNIT, streams=1, run=SIZE (never ends), writes=1, fua=0 and
    /// preflush=0 (shares of the writes), size=4KiB (or several with weights, 4KiB:3+64KiB:1), rate=N (none). With rate=, which all parts need, each
    /// part sends N requests a second as a Poisson process of its own, in place of weight=,
    /// `--arrival` and `--gap`. The number of the part, from 0 on, is then the stream of its requests
    #[arg(long = "part", value_name = "KEY=VALUE,...", value_parser = SynthPart::parse)]
    pub parts: Vec<SynthPart>,
    /// Number of requests of all parts together
    #[arg(long, value_name = "N", value_parser = whole(1..=1u64 << 32))]
    pub requests: Option<u64>,
    /// When requests arrive
    #[arg(long, value_name = "constant|poisson|bursts(N,TIME)", value_parser = Arrival::parse)]
    pub arrival: Option<Arrival>,
    /// Mean time between two requests, with a unit
    #[arg(long, value_name = "TIME", value_parser = gap)]
    pub gap: Option<Nanos>,
    /// Share of writes in every part, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub writes: Option<f64>,
    /// Seed of all random numbers [default: 1]
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX))]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub memory: LimitArgs,
    /// File to write, compressed if it ends in .zst, .gz or .xz; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// Format to write [default: destage, its own CSV]
    #[arg(long, value_name = "FORMAT")]
    pub to: Option<ToFormat>,
}

/// Options of `trace fit`.
#[derive(Args, Debug)]
pub struct FitArgs {
    /// Trace file; `-` is standard input, `demo` the built-in workload
    pub trace: PathBuf,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub memory: LimitArgs,
    /// Skip the calibration, which generates the twin up to 65 times
    #[arg(long)]
    pub plain: bool,
    /// Parameter file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

/// Options of `trace import-ftrace`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// Files of one capture in order, plain or compressed; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Device whose requests are imported; repeatable, each is a separate stream. `fs` is the
    /// partition in the events of the file system, `start` its first sector [default: the only
    /// device]
    #[arg(long = "device", value_name = "MAJ,MIN[:fs=MAJ,MIN][:start=SECTOR]",
          value_parser = import_device)]
    pub devices: Vec<DeviceSpec>,
    /// File system of the capture [default: detected from its events]
    #[arg(long, value_name = "NAME", value_parser = words(IMPORT_FS))]
    pub fs: Option<bool>,
    /// Block events that count as requests: `block_rq_issue` or `block_bio_queue` [default: issue]
    #[arg(long, value_name = "EVENTS", value_parser = words(IMPORT_STREAM))]
    pub stream: Option<RequestEvent>,
    /// Blocks of a file before the capture, as `filefrag -v` prints them; repeatable. Needed for the
    /// first O_DIRECT write of a block
    #[arg(long = "fiemap", value_name = "INODE=FILE", value_parser = fiemap)]
    pub fiemaps: Vec<(u64, PathBuf)>,
    /// Continue although the kernel lost events
    #[arg(long)]
    pub allow_lost: bool,
    /// Stop at the first old address that contradicts earlier events
    #[arg(long)]
    pub strict: bool,
    /// Count lines that are no events and continue, instead of stopping at the first
    #[arg(long)]
    pub skip_bad_lines: bool,
    #[command(flatten)]
    pub memory: LimitArgs,
    /// File to write as destage CSV, compressed if it ends in .zst, .gz or .xz; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

/// `--fs` of an import: is it F2FS?
const IMPORT_FS: &OptionWords<bool> = &[
    (true, "f2fs", "Page events contain old addresses"),
    (false, "ext4", "Writes are in place"),
];

/// `--stream` of an import.
const IMPORT_STREAM: &OptionWords<RequestEvent> = &[
    (
        RequestEvent::Issue,
        "issue",
        "Requests that the driver gets",
    ),
    (
        RequestEvent::Queue,
        "queue",
        "Requests that the file system sends",
    ),
];

fn again(part: &str) -> String {
    format!("`{part}`: it is given twice; leave out one of them")
}

fn import_device(text: &str) -> Result<DeviceSpec, String> {
    let mut parts = text.split(':');
    let dev = parts.next().unwrap_or("").parse()?;
    let mut spec = DeviceSpec {
        dev,
        fs: None,
        start: None,
    };
    for part in parts {
        match part.split_once('=') {
            Some(("fs", _)) if spec.fs.is_some() => return Err(again(part)),
            Some(("start", _)) if spec.start.is_some() => return Err(again(part)),
            Some(("fs", dev)) => spec.fs = Some(dev.parse()?),
            Some(("start", n)) if n.parse::<u64>().is_ok() => spec.start = n.parse().ok(),
            _ => {
                return Err(format!(
                    "`{part}` is neither fs=MAJOR,MINOR nor start=SECTOR"
                ));
            }
        }
    }
    Ok(spec)
}

fn fiemap(text: &str) -> Result<(u64, PathBuf), String> {
    let pair = text.split_once('=').filter(|pair| !pair.1.is_empty());
    pair.and_then(|(ino, file)| Some((ino.parse().ok()?, PathBuf::from(file))))
        .ok_or_else(|| format!("`{text}` is not INODE=FILE"))
}

/// Formats that are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ToFormat {
    /// CSV of destage, with every field.
    Destage,
    /// Binary format of destage, with every field; fastest to read.
    DestageBin,
    /// MSR Cambridge CSV.
    Msr,
    /// A fio log, version 3.
    #[value(alias = "iolog")]
    Fio,
    /// The ASCII format of SSDsim and MQSim.
    #[value(alias = "mqsim")]
    Ssdsim,
    /// The ASCII format of DiskSim.
    Disksim,
    /// libCacheSim's oracleGeneral: blocks of 4 KiB without the kind of request.
    OracleGeneral,
}

impl ToFormat {
    /// Its name, if it is no text.
    pub fn binary(self) -> Option<&'static str> {
        match self {
            ToFormat::DestageBin => Some("destage-bin"),
            ToFormat::OracleGeneral => Some("oracle-general"),
            _ => None,
        }
    }
}

fn gap(text: &str) -> Result<Nanos, String> {
    Picos::parse(text)
        .map(|time| time.times(1))
        .map_err(|e| e.to_string())
}

impl ToFormat {
    /// The content of a file of the format, and its suffixes.
    fn file_kind(self) -> FileKind {
        // Lines of columns are often called .csv, whatever stands between the columns.
        let (what, suffixes): (_, &[&str]) = match self {
            ToFormat::Destage => ("a trace as destage CSV", &["csv"]),
            ToFormat::DestageBin => ("a trace of the format destage-bin", &["bin"]),
            ToFormat::Msr => ("a trace as MSR CSV", &["csv", "msr"]),
            ToFormat::Fio => ("a trace as fio log", &["fio", "iolog", "csv"]),
            ToFormat::Ssdsim => ("a trace of the format ssdsim", &["ssdsim", "mqsim", "csv"]),
            ToFormat::Disksim => ("a trace of the format disksim", &["disksim", "csv"]),
            ToFormat::OracleGeneral => ("a trace of the format oracle-general", &["bin"]),
        };
        FileKind { what, suffixes }
    }

    /// Makes sure that the name of a file of this format says no other one.
    ///
    /// # Errors
    /// It does.
    pub fn check_name(self, path: &Path) -> Result<(), Failure> {
        let is_other =
            |suffix: &str| ToFormat::from_str(suffix, false).is_ok_and(|other| other != self);
        self.file_kind().check_trace(path, is_other)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn traces_are_called_what_they_are() {
        use super::ToFormat::{Destage, DestageBin, Fio, Msr, OracleGeneral, Ssdsim};
        for (to, right, wrong) in [
            (
                Destage,
                &["a.csv", "a.csv.zst", "a.gz", "a.trace", "a", "-"][..],
                &["a.bin", "a.msr", "a.csv.bz2"][..],
            ),
            (
                DestageBin,
                &["a.bin", "a.bin.xz"],
                &["a.csv", "a.csv.zst", "a.parquet"],
            ),
            (Msr, &["a.csv", "a.msr"], &["a.fio", "a.json"]),
            (
                Fio,
                &["a.fio", "a.iolog.gz", "a.log"],
                &["a.bin", "a.disksim"],
            ),
            (
                Ssdsim,
                &["a.ssdsim", "a.mqsim", "a.csv.zst"],
                &["a.bin", "a.fio"],
            ),
            (OracleGeneral, &["a.bin", "a.oracleGeneral.zst"], &["a.csv"]),
        ] {
            let is_right = |path: &&&str| to.check_name(Path::new(path)).is_ok();
            right
                .iter()
                .for_each(|path| assert!(is_right(&path), "{path}"));
            wrong
                .iter()
                .for_each(|path| assert!(!is_right(&path), "{path}"));
        }
    }
}
