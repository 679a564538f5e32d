//! Whole traces and streams of batches, with what a result record says about its trace.

use std::collections::BTreeMap;

use destage_types::RequestBatch;
use serde::{Deserialize, Deserializer, Serialize};

use crate::Container;
use crate::bytes::source::Source;
use crate::error::TraceError;
use crate::options::LoadOptions;
use crate::reader::open;
use crate::readers::{self, Raise, ReadCounts};
use crate::sink::Restarts;
use crate::time_unit::TimeUnit;
use crate::volume::{Picker, Volume, VolumeOrigin, streams_of};

/// How addresses beyond the device are made to fit it (FP-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressFit {
    /// [`Stored::pack`](crate::Stored::pack) moved the touched regions of so many sectors together.
    Regions(u64),
    /// More is touched than the device exports: runs take addresses modulo its size.
    Wrapped,
}

/// As a type of its own, since serde would borrow a reference from what it reads.
type FormatName = &'static str;

/// Facts about a trace that has been read.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TraceMeta {
    /// File name without directories and extensions, or `stdin`.
    pub name: String,
    /// Name of the format.
    #[serde(deserialize_with = "format_name")]
    pub format: FormatName,
    /// How the file is compressed.
    pub container: Container,
    /// Does the format have arrival times? If not, request i arrives at i us.
    pub timed: bool,
    /// The unit its times were read in; `None` without times.
    pub time_unit: Option<TimeUnit>,
    /// The mapping of a table, as a text; `None` for other formats.
    #[serde(default)]
    pub mapping: Option<String>,
    /// Another format that the trace may be in, as a sentence.
    pub format_doubt: Option<String>,
    /// Why its times may be in another unit, as a sentence.
    pub time_doubt: Option<String>,
    /// Requests of the trace as it is used, at most the limit.
    pub requests: u64,
    /// SHA-256 of the file as stored, in lower-case hexadecimal digits; `None` if not asked for.
    pub sha256: Option<String>,
    /// Requests whose time was before that of the request before, and was raised to it.
    pub arrival_corrections: u64,
    /// The request whose time most of them were raised to.
    pub most_raised: Raise,
    /// Times at which the clock of the trace starts again, the first request behind one (from 1), and whether the
    /// clock went on.
    #[serde(default)]
    pub restarts: u64,
    #[serde(default)]
    #[allow(missing_docs)]
    pub first_restart: u64,
    #[serde(default)]
    #[allow(missing_docs)]
    pub continued: bool,
    /// Requests whose bytes were rounded outward to whole sectors.
    pub unaligned_requests: u64,
    /// Bad lines that were skipped.
    pub skipped_lines: u64,
    /// The messages of the first of them, at most five.
    pub skipped_samples: Vec<String>,
    /// Further notes for users of the trace, a sentence each.
    pub notes: Vec<String>,
    /// Are the requests those of a modelled log-structured file system (`RequestOrigin`)?
    pub modelled: bool,
    /// How addresses beyond the device are made to fit it, if there are any.
    #[serde(skip)]
    pub fitted: Option<AddressFit>,
    /// The streams in order of first appearance, and where their addresses are.
    pub volumes: Vec<Volume>,
}

/// The format of requests that come from no file.
const GENERATED: FormatName = "generated";

/// The name of a format of this program.
fn format_name<'de, D: Deserializer<'de>>(from: D) -> Result<FormatName, D::Error> {
    let name = String::deserialize(from)?;
    if name == GENERATED {
        return Ok(GENERATED);
    }
    let format = readers::by_name(&name).map_err(serde::de::Error::custom)?;
    Ok(format.name)
}

/// A decoded trace.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The requests in trace order.
    pub requests: RequestBatch,
    /// Where they come from.
    pub meta: TraceMeta,
}

impl TraceMeta {
    /// The same of no volume.
    pub(crate) fn without_volumes(&self) -> TraceMeta {
        TraceMeta {
            volumes: Vec::new(),
            ..self.clone()
        }
    }

    /// The same of one volume of so many requests, at its own addresses.
    pub(crate) fn of_volume(&self, volume: Volume, requests: u64) -> TraceMeta {
        TraceMeta {
            name: format!("{}:{}", self.name, volume.name),
            requests,
            volumes: vec![Volume {
                start_sector: 0,
                requests,
                ..volume
            }],
            ..self.clone()
        }
    }

    /// Facts about requests that come from no file.
    pub fn generated(name: &str, requests: u64, volumes: Vec<Volume>) -> TraceMeta {
        TraceMeta {
            name: name.to_owned(),
            format: GENERATED,
            timed: true,
            requests,
            volumes,
            ..TraceMeta::default()
        }
    }

    /// With what a reader counted.
    pub(crate) fn counted(self, counts: &ReadCounts, restarts: Restarts) -> TraceMeta {
        let skipped = counts.skipped_samples.iter();
        TraceMeta {
            arrival_corrections: counts.arrival_corrections,
            most_raised: counts.most_raised,
            restarts: counts.restarts,
            first_restart: counts.first_restart,
            continued: restarts == Restarts::Continue,
            unaligned_requests: counts.unaligned_requests,
            skipped_lines: counts.skipped_lines,
            skipped_samples: skipped.map(ToString::to_string).collect(),
            ..self
        }
    }
}

impl Trace {
    /// Requests that come from no file.
    pub fn generated(name: &str, requests: RequestBatch) -> Trace {
        let volumes = crate::volume::streams_of(&requests);
        let meta = TraceMeta::generated(name, requests.len() as u64, volumes);
        Trace { requests, meta }
    }
}

/// Reads a whole trace into memory, 32 B per request.
///
/// # Errors
/// Those of [`open`], [`Reader::next_batch`](crate::Reader::next_batch) and
/// [`Reader::finish`](crate::Reader::finish).
pub fn load(source: Source, options: &LoadOptions) -> Result<Trace, TraceError> {
    let mut reader = open(source, options)?;
    reader.place_later();
    let mut requests = RequestBatch::new();
    while reader.next_batch(&mut requests)? > 0 {}
    reader.place_all(&mut requests)?;
    let meta = reader.finish()?;
    Ok(Trace { requests, meta })
}

/// One trace per volume, in order of first appearance: named `TRACE:VOLUME`, at the volume's own
/// addresses, its first request arriving at 0; the same as reading with [`Volumes::Only`]. The
/// hash and the counters of faults stay those of the file.
pub fn split(trace: &Trace) -> Vec<Trace> {
    let named = trace.meta.volumes.iter().map(|v| (v.stream, v));
    let named: BTreeMap<u32, &Volume> = named.collect();
    let part = |volume: Volume| {
        let named = named.get(&volume.stream).copied().cloned();
        let (picker, requests) = (Picker::default(), RequestBatch::new());
        (named.unwrap_or(volume), picker, requests)
    };
    let mut parts: Vec<_> = streams_of(&trace.requests).into_iter().map(part).collect();
    let index = parts.iter().enumerate().map(|(i, part)| (part.0.stream, i));
    let index: BTreeMap<u32, usize> = index.collect();
    for (i, head) in trace.requests.records().iter().enumerate() {
        let (volume, picker, requests) = &mut parts[index[&head.stream]];
        let origin = VolumeOrigin {
            timed: trace.meta.timed,
            start: volume.start_sector,
        };
        picker.keep(&trace.requests, i, origin, requests);
    }
    // Its list of volumes is as long as there are parts.
    let all = trace.meta.without_volumes();
    let trace_of = |(volume, _, requests): (Volume, Picker, RequestBatch)| {
        let meta = all.of_volume(volume, requests.len() as u64);
        Trace { requests, meta }
    };
    parts.into_iter().map(trace_of).collect()
}
