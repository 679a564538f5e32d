//! One trace per volume, of traces that are in a temporary file.
//!
//! A volume of its own is a file of its own, or a part of memory. Of many volumes neither is made at
//! once: their requests are distributed over a few files, each of which is split in turn when its
//! volumes are asked for. Every request is so copied a logarithm of times, whatever the number of
//! volumes, and the memory asked for and a few files at a time are enough.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::vec;

use destage_types::{Extent, HostRequest, Nanos, RequestBatch, RequestRef};

use crate::error::TraceError;
use crate::load::split;
use crate::load::{Trace, TraceMeta};
use crate::sink::UNTIMED_NS;
use crate::spool::collect::SpoolFile;
use crate::spool::workload::Workload;
use crate::spool::{Picked, Spool, Stored};
use crate::volume::Volume;

/// A file is distributed over twice as many at most.
const FILES: u64 = 16;
/// Requests for one file that are kept before they are written.
const KEPT: usize = 1024;

/// The traces of single volumes, in order of first appearance: named `TRACE:VOLUME`, at the volume's
/// own addresses, its first request arriving at 0.
pub struct SplitTraces {
    /// The description of the trace without its volumes.
    meta: Rc<TraceMeta>,
    memory: u64,
    ready: vec::IntoIter<Trace>,
    parts: VecDeque<VolumesPart>,
}

/// Some volumes in a file of their own.
struct VolumesPart {
    spool: Spool,
    volumes: Vec<SpooledVolume>,
}

/// One volume, and what is known of its requests.
struct SpooledVolume {
    volume: Volume,
    /// Address in the file of its sector 0.
    start: u64,
    requests: VolumeRequests,
}

/// Counts of the requests of a volume.
#[derive(Clone, Copy)]
struct VolumeRequests {
    /// Arrival of the first one.
    first: Nanos,
    /// Arrival of the last one.
    last: Nanos,
    /// Bytes that they take in memory.
    bytes: u64,
}

impl Stored {
    /// One trace per volume, as [`split`] makes them: in at most `memory` bytes, those that need more
    /// in temporary files.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn split(self, memory: u64) -> Result<SplitTraces, TraceError> {
        let (meta, part) = match self {
            Stored::Memory(trace) => {
                let meta = trace.meta.without_volumes();
                return Ok(SplitTraces::new(meta, memory, split(&trace), None));
            }
            Stored::Spooled { meta, spool } => in_one_part(meta, spool)?,
        };
        Ok(SplitTraces::new(meta, memory, Vec::new(), Some(part)))
    }

    /// The same traces, all at once: in memory if this one is, else in a few temporary files that they share.
    ///
    /// # Errors
    /// The temporary file cannot be read, or others cannot be written.
    pub fn split_at_once(self) -> Result<Vec<Stored>, TraceError> {
        let (meta, part) = match self {
            Stored::Memory(trace) => {
                return Ok(split(&trace).into_iter().map(Stored::Memory).collect());
            }
            Stored::Spooled { meta, spool } => in_one_part(meta, spool)?,
        };
        let most = part.bytes().div_ceil(FILES);
        let whole = SplitTraces::new(meta, 0, Vec::new(), None);
        let mut volumes = Vec::new();
        for part in whole.distribute(part, most)? {
            let alone = |volume| whole.alone(part.spool.clone(), volume);
            volumes.extend(part.volumes.into_iter().map(alone));
        }
        Ok(volumes)
    }
}

impl VolumesPart {
    /// Bytes that its requests would take in memory.
    fn bytes(&self) -> u64 {
        self.volumes
            .iter()
            .map(|volume| volume.requests.bytes)
            .sum()
    }
}

/// All volumes of a trace, and the description without them.
fn in_one_part(
    mut meta: TraceMeta,
    mut spool: Spool,
) -> Result<(TraceMeta, VolumesPart), TraceError> {
    let volumes = std::mem::take(&mut meta.volumes);
    let places = spool.places.take();
    let placed = |v: &Volume| places.as_ref().map_or(0, |p| p.start_of(v.stream));
    let found = measure(&meta, &spool)?;
    let volumes = volumes.into_iter().filter_map(|volume| {
        Some(SpooledVolume {
            start: volume.start_sector - placed(&volume),
            requests: *found.get(&volume.stream)?,
            volume,
        })
    });
    let volumes = volumes.collect();
    Ok((meta, VolumesPart { spool, volumes }))
}

/// Goes through the file once, for what is known of the requests of each volume in it, by stream.
fn measure(meta: &TraceMeta, spool: &Spool) -> Result<BTreeMap<u32, VolumeRequests>, TraceError> {
    let mut found = BTreeMap::new();
    Workload::spooled(meta, spool).try_each(|_, request| {
        let at = request.head.arrival;
        let stream = found.entry(request.head.stream);
        let of: &mut VolumeRequests = stream.or_insert(VolumeRequests {
            first: at,
            last: at,
            bytes: 0,
        });
        of.last = at;
        of.bytes += memory_of(request);
        Ok::<(), TraceError>(())
    })?;
    Ok(found)
}

/// Bytes that a request takes in memory.
fn memory_of(request: RequestRef<'_>) -> u64 {
    let bytes = size_of::<HostRequest>() + size_of_val(request.more) + size_of_val(request.prev);
    // And a row that says where they are.
    let has_sides = !(request.more.is_empty() && request.prev.is_empty());
    bytes as u64 + u64::from(has_sides) * size_of::<Extent>() as u64
}

impl Iterator for SplitTraces {
    type Item = Result<Stored, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(trace) = self.ready.next() {
                return Some(Ok(Stored::Memory(trace)));
            }
            let part = self.parts.pop_front()?;
            match self.open(part) {
                Ok(None) => {}
                Ok(Some(volume)) => return Some(Ok(volume)),
                Err(error) => {
                    self.parts.clear();
                    return Some(Err(error));
                }
            }
        }
    }
}

impl SplitTraces {
    fn new(
        meta: TraceMeta,
        memory: u64,
        ready: Vec<Trace>,
        part: Option<VolumesPart>,
    ) -> SplitTraces {
        SplitTraces {
            meta: Rc::new(meta),
            memory,
            ready: ready.into_iter(),
            parts: part.into_iter().collect(),
        }
    }

    /// Gives the only volume of a part, or makes its volumes ready, or distributes them.
    fn open(&mut self, mut part: VolumesPart) -> Result<Option<Stored>, TraceError> {
        if part.volumes.len() == 1 {
            let volume = part.volumes.remove(0);
            return Ok(Some(self.alone(part.spool, volume)));
        }
        let bytes = part.bytes();
        // A trace and its volumes are in memory at once.
        if bytes <= self.memory / 2 {
            self.ready = split(&self.load(&part)?).into_iter();
            return Ok(None);
        }
        let most = bytes.div_ceil(FILES).max(self.memory / 2);
        for part in self.distribute(part, most)?.into_iter().rev() {
            self.parts.push_front(part);
        }
        Ok(None)
    }

    fn alone(&self, spool: Spool, of: SpooledVolume) -> Stored {
        let VolumeRequests { first, last, .. } = of.requests;
        let (requests, stream) = (of.volume.requests, of.volume.stream);
        let meta = self.meta.of_volume(of.volume, requests);
        let last = match spool.timed {
            true => Nanos(last.0 - first.0),
            false => Nanos((requests - 1) * UNTIMED_NS),
        };
        let start = of.start;
        let spool = Spool {
            requests,
            last,
            only: Some(Picked { stream, start }),
            ..spool
        };
        Stored::Spooled { meta, spool }
    }

    fn load(&self, part: &VolumesPart) -> Result<Trace, TraceError> {
        let mut meta = (*self.meta).clone();
        let volume = |of: &SpooledVolume| Volume {
            start_sector: of.start,
            ..of.volume.clone()
        };
        meta.volumes = part.volumes.iter().map(volume).collect();
        let mut requests = RequestBatch::new();
        Workload::spooled(&meta, &part.spool).try_each(|_, request| {
            requests.push_with(*request.head, request.more, request.prev);
            Ok::<(), TraceError>(())
        })?;
        Ok(Trace { requests, meta })
    }

    /// Writes the requests of each volume to one of several files, in each of which volumes that
    /// follow each other have `most` bytes, if they are several.
    fn distribute(&self, part: VolumesPart, most: u64) -> Result<Vec<VolumesPart>, TraceError> {
        let mut of_stream: BTreeMap<u32, usize> = BTreeMap::new();
        let mut groups: Vec<Vec<SpooledVolume>> = Vec::new();
        let mut bytes = 0;
        for volume in part.volumes {
            if groups.is_empty() || bytes + volume.requests.bytes > most {
                groups.push(Vec::new());
                bytes = 0;
            }
            bytes += volume.requests.bytes;
            of_stream.insert(volume.volume.stream, groups.len() - 1);
            groups.last_mut().expect("a group was made").push(volume);
        }
        let mut files = Vec::new();
        for _ in &groups {
            files.push((SpoolFile::create()?, RequestBatch::new()));
        }
        Workload::spooled(&self.meta, &part.spool).try_each(|_, request| {
            let Some(&group) = of_stream.get(&request.head.stream) else {
                return Ok(());
            };
            let (file, kept) = &mut files[group];
            kept.push_with(*request.head, request.more, request.prev);
            if kept.len() == KEPT {
                file.write(kept)?;
                kept.clear();
            }
            Ok::<(), TraceError>(())
        })?;
        let timed = part.spool.timed;
        let parts = files
            .into_iter()
            .zip(groups)
            .map(|((mut file, kept), volumes)| {
                file.write(&kept)?;
                let requests = volumes.iter().map(|v| v.volume.requests).sum();
                let spool = file.finish(requests, timed)?;
                Ok(VolumesPart { spool, volumes })
            });
        parts.collect()
    }
}
