//! A measured cell: a load on a drive, and the rates and latencies that the drive reached under it.

use super::pattern_table::PatternRun;
use std::fmt;
use std::path::PathBuf;

/// Requests up to this size take the time of one command.
const SMALL_BYTES: u64 = 16 << 10;

/// Everything that was read from the files of one drive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    /// The cells, in the order of the files.
    pub cells: Vec<DriveCell>,
    /// Rates under patterns of writes.
    pub patterns: Vec<PatternRun>,
    /// Values of the files that cannot be believed or used, one sentence each. No cell has it.
    pub doubts: Vec<String>,
}

impl Measurements {
    /// Name of the drive.
    #[must_use]
    pub fn drive(&self) -> &str {
        let cells = self.cells.iter().map(|cell| cell.drive.as_str());
        let mut all = cells.chain(self.patterns.iter().map(|run| run.drive.as_str()));
        all.next().unwrap_or_default()
    }
}

/// One load and what the drive did under it.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveCell {
    /// Name of the drive.
    pub drive: String,
    /// The load of the drive.
    pub load: CellLoad,
    /// The measurements of the drive.
    pub measured: CellResult,
    /// Where the cell stands.
    pub place: MeasuredPlace,
}

impl DriveCell {
    /// The same in the time of the drive, a second of which took `factor` seconds of the measurement.
    pub fn quicken(&mut self, factor: f64) {
        for stream in &mut self.load.streams {
            match &mut stream.arrivals {
                LoadArrivals::Poisson { per_s } | LoadArrivals::Paced { per_s } => *per_s *= factor,
                LoadArrivals::Closed => {}
                LoadArrivals::Bursts { idle_s, .. } => *idle_s /= factor,
            }
        }
        self.load.seconds = self.load.seconds.map(|seconds| seconds / factor);
        let result = &mut self.measured;
        for rate in [&mut result.writes_per_s, &mut result.reads_per_s] {
            *rate = rate.map(|per_s| per_s * factor);
        }
        for table in [&mut result.write, &mut result.read] {
            table.mean_us = table.mean_us.map(|us| us / factor);
            table.quantiles.iter_mut().for_each(|q| q.us /= factor);
        }
    }
}

/// A load: what was written before it, and streams of requests that run at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct CellLoad {
    /// Streams that run at the same time; at least one.
    pub streams: Vec<LoadStream>,
    /// Share of the drive that was written sequentially before, from its beginning: 0 to 1.
    pub fill: f64,
    /// Random writes of 4 KiB after that, in capacities of the drive.
    pub overwrites: f64,
    /// Seconds for which the load ran; `None` if nobody says.
    pub seconds: Option<f64>,
}

impl CellLoad {
    /// Are all requests of a page or so, so that times are those of one command?
    #[must_use]
    pub fn is_small(&self) -> bool {
        self.streams.iter().all(|s| s.bytes <= SMALL_BYTES)
    }
}

/// Requests of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadStream {
    /// Threads that send the same kind of requests; at least 1.
    pub threads: u32,
    /// Share of reads among the requests: 0 to 1. The others are writes.
    pub reads: f64,
    /// Bytes of a request.
    pub bytes: u64,
    /// Where the requests lie.
    pub pattern: LoadPattern,
    /// When requests are sent.
    pub arrivals: LoadArrivals,
    /// Requests that each thread has outstanding at most; at least 1.
    pub depth: u32,
    /// Whether the latencies of the cell include those of this stream.
    pub measured: bool,
}

/// Where the requests of a stream lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadPattern {
    /// Uniformly over the whole drive, aligned to their size.
    Random,
    /// One after another. Each thread has a position of its own.
    Sequential,
}

/// When the requests of a stream are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadArrivals {
    /// At random times (a Poisson process), `per_s` requests a second of all threads together.
    Poisson {
        /// Requests a second.
        per_s: f64,
    },
    /// At equal distances, `per_s` requests a second of all threads together.
    Paced {
        /// Requests a second.
        per_s: f64,
    },
    /// As soon as an earlier request has completed: each thread keeps `depth` requests outstanding.
    Closed,
    /// Bursts in a closed loop. A thread sends `requests`, waits until all have completed, and then for `idle_s`.
    Bursts {
        /// Requests of a burst, of each thread.
        requests: u64,
        /// Seconds between the end of a burst and the next one.
        idle_s: f64,
    },
}

/// Measurements of a drive under a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellResult {
    /// Writes a second that completed, of all streams; `None` without writes.
    pub writes_per_s: Option<f64>,
    /// Reads a second that completed, of all streams; `None` without reads, or where nobody says.
    pub reads_per_s: Option<f64>,
    /// Latencies of writes of the measured streams.
    pub write: LatencyTable,
    /// Latencies of reads of the measured streams.
    pub read: LatencyTable,
}

/// Latencies in us, from the time at which the host sends a request (not from its arrival).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyTable {
    /// Mean, if it is known.
    pub mean_us: Option<f64>,
    /// Quantiles by rising share; empty if none is known.
    pub quantiles: Vec<Quantile>,
}

/// A latency that a share of the requests does not exceed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// Share of the requests: above 0, below 1.
    pub share: f64,
    /// Latency in us.
    pub us: f64,
}

impl LatencyTable {
    /// Is nothing known?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.mean_us.is_none() && self.quantiles.is_empty()
    }

    /// The latency at `share`, if it was measured.
    #[must_use]
    pub fn at(&self, share: f64) -> Option<f64> {
        let near = |q: &&Quantile| (q.share - share).abs() < 1e-9;
        self.quantiles.iter().find(near).map(|q| q.us)
    }
}

/// Where a cell stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredPlace {
    /// File.
    pub file: PathBuf,
    /// Line of a table, from 1, or job of fio output.
    pub part: PlacePart,
}

/// The part of a file in which a cell is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacePart {
    /// Line, from 1.
    Line(u64),
    /// Names of the fio jobs that ran at the same time.
    Jobs(Vec<String>),
    /// Key of a data sheet.
    Key(&'static str),
}

impl fmt::Display for MeasuredPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match &self.part {
            PlacePart::Line(line) => write!(f, "{file}:{line}"),
            PlacePart::Key(key) => write!(f, "{file}: `{key}`"),
            PlacePart::Jobs(names) => write!(f, "{file}: job {}", names.join(" + ")),
        }
    }
}
