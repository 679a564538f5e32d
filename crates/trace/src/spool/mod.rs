//! Traces too large for memory: decoded once into a temporary `destage-bin` file, or into one that processes share.

pub(crate) mod collect;
pub(crate) mod packing;
pub(crate) mod split;
pub(crate) mod workload;

use std::fs::File;
use std::io::{self, BufReader, Read};
#[cfg(unix)]
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use destage_types::{Nanos, RequestBatch, RequestFlags};

use crate::bytes::source::Source;
use crate::error::TraceError;
use crate::load::{AddressFit, Trace, TraceMeta};
use crate::options::LoadOptions;
use crate::reader::{Reader, open};
use crate::spool::collect::{SpoolFile, place};
use crate::spool::packing::AddressPacking;
use crate::spool::workload::{RequestSlice, Workload};
use crate::volume::{Picker, VolumeOrigin, VolumeTable};

/// A trace that was read whole: decoded in memory, or decoded into a temporary file.
#[derive(Clone, Debug)]
pub enum Stored {
    /// In memory.
    Memory(Trace),
    /// In a file. A temporary one is removed with the last copy of this value.
    Spooled {
        /// Where the requests come from.
        meta: TraceMeta,
        /// The file.
        spool: Spool,
    },
}

/// A file of requests, which copies share.
#[derive(Clone, Debug)]
pub struct Spool {
    file: Arc<File>,
    /// Name of the file in errors.
    name: Arc<str>,
    /// Where the requests begin in the file.
    start: u64,
    requests: u64,
    last: Nanos,
    /// The flags that some requests have.
    flags: RequestFlags,
    timed: bool,
    /// Where the volumes go, if the file has them at their own addresses.
    places: Option<VolumeTable>,
    /// The only stream that is read.
    only: Option<Picked>,
    packing: Option<AddressPacking>,
}

/// A stream of a file as a trace of its own.
#[derive(Clone, Copy, Debug)]
struct Picked {
    stream: u32,
    /// Address in the file of its sector 0.
    start: u64,
}

/// Reads a trace into memory, 32 B per request, or, once it takes more than `memory` bytes there,
/// into a file in the system's folder for temporary files. Calls `progress` after each batch.
///
/// # Errors
/// Those of [`load`](fn@crate::load), and the temporary file cannot be written.
pub fn load_bounded(
    source: Source,
    options: &LoadOptions,
    memory: u64,
    progress: &mut dyn FnMut(&Reader),
) -> Result<Stored, TraceError> {
    let mut reader = open(source, options)?;
    reader.place_later();
    let mut requests = RequestBatch::new();
    while requests.memory() <= memory {
        if reader.next_batch(&mut requests)? == 0 {
            reader.place_all(&mut requests)?;
            let meta = reader.finish()?;
            return Ok(Stored::Memory(Trace { requests, meta }));
        }
        progress(&reader);
    }
    let mut file = SpoolFile::create()?;
    loop {
        file.write(&requests)?;
        // The memory of the first part is worth giving back.
        requests = RequestBatch::new();
        if reader.next_batch(&mut requests)? == 0 {
            break;
        }
        progress(&reader);
    }
    let places = reader.take_places()?;
    let meta = reader.finish()?;
    let spool = Spool {
        places,
        ..file.finish(meta.requests, meta.timed)?
    };
    Ok(Stored::Spooled { meta, spool })
}

impl Stored {
    /// The requests of a `destage-bin` file that is called `name` and has `start` other bytes in front: in memory
    /// if they take at most `memory` bytes, or else in that file. All of the file is read and checked.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or has not as many requests as `meta` says.
    pub fn from_file(
        file: File,
        name: &str,
        start: u64,
        meta: TraceMeta,
        memory: u64,
    ) -> Result<Stored, TraceError> {
        let mut spool = Spool {
            name: name.into(),
            start,
            timed: meta.timed,
            ..Spool::made(file, meta.requests, Nanos::ZERO, RequestFlags::NONE)
        };
        let (mut reader, mut requests) = (spool.reader()?, RequestBatch::new());
        let (mut number, mut fits) = (0, true);
        loop {
            let read = reader.next_batch(&mut requests).map_err(unreadable)?;
            let Some(last) = requests.records().last().filter(|_| read > 0) else {
                break;
            };
            (number, spool.last) = (number + read as u64, last.arrival);
            let new = &requests.records()[requests.len() - read..];
            spool.flags = spool.flags.and(RequestFlags::of(new));
            if fits && requests.memory() > memory {
                (fits, requests) = (false, RequestBatch::new());
            } else if !fits {
                requests.clear();
            }
        }
        if number != meta.requests {
            return Err(unreadable(TraceError::Malformed {
                file: name.to_owned(),
                format: "destage-bin",
                reason: format!("it has {number} requests instead of {}", meta.requests),
            }));
        }
        Ok(match fits {
            true => Stored::Memory(Trace { requests, meta }),
            false => Stored::Spooled { meta, spool },
        })
    }

    /// Where the requests come from.
    pub fn meta(&self) -> &TraceMeta {
        match self {
            Stored::Memory(trace) => &trace.meta,
            Stored::Spooled { meta, .. } => meta,
        }
    }

    /// The same, the requests being dropped.
    pub fn into_meta(self) -> TraceMeta {
        match self {
            Stored::Memory(trace) => trace.meta,
            Stored::Spooled { meta, .. } => meta,
        }
    }

    /// The same, to be changed.
    pub fn meta_mut(&mut self) -> &mut TraceMeta {
        match self {
            Stored::Memory(trace) => &mut trace.meta,
            Stored::Spooled { meta, .. } => meta,
        }
    }

    /// The trace as runs see it.
    pub fn workload(&self) -> Workload<'_> {
        match self {
            Stored::Memory(trace) => trace.into(),
            Stored::Spooled { meta, spool } => Workload::spooled(meta, spool),
        }
    }

    /// Moves the parts of `part` sectors that the trace touches together, and says what that did;
    /// `None`, and nothing is moved, if they are more than `space` sectors. A part is a power of two
    /// from [`AddressPacking::SMALLEST`] to [`AddressPacking::LARGEST`].
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn pack(&mut self, part: u64, space: u64) -> Result<Option<AddressPacking>, TraceError> {
        let packing = AddressPacking::of(&self.workload(), part, space)?;
        if let Some(packing) = &packing {
            match self {
                Stored::Memory(trace) => packing.apply(&mut trace.requests),
                Stored::Spooled { spool, .. } => spool.packing = Some(packing.clone()),
            }
            self.meta_mut().fitted = Some(AddressFit::Regions(part));
        }
        Ok(packing)
    }
}

impl Spool {
    /// A file of so many timed requests, the last of which arrives at `last`; some of them have `flags`.
    pub(crate) fn made(file: File, requests: u64, last: Nanos, flags: RequestFlags) -> Spool {
        Spool {
            file: Arc::new(file),
            name: place().into(),
            start: 0,
            requests,
            last,
            flags,
            timed: true,
            places: None,
            only: None,
            packing: None,
        }
    }

    /// Number of requests.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |m| m.len())
    }

    /// Reads the file from its first request on.
    fn reader(&self) -> Result<Reader, TraceError> {
        let options = LoadOptions {
            format: Some("destage-bin".to_owned()),
            hash: false,
            ..LoadOptions::default()
        };
        let file = FromStart {
            file: Arc::clone(&self.file),
            at: self.start,
        };
        let source = Source::Stream(self.name.to_string(), Box::new(BufReader::new(file)));
        open(source, &options).map_err(unreadable)
    }

    pub(crate) fn pass(&self) -> Result<SpoolPass<'_>, TraceError> {
        Ok(SpoolPass {
            spool: self,
            reader: self.reader()?,
            picker: Picker::default(),
            batch: RequestBatch::new(),
            scratch: RequestBatch::new(),
            next: 0,
        })
    }
}

/// A file of requests was whole when it was written, so its fault is none of the trace.
fn unreadable(error: TraceError) -> TraceError {
    TraceError::Reread(Box::new(error))
}

/// Reads a file at a place of its own, whoever else reads it.
struct FromStart {
    file: Arc<File>,
    at: u64,
}

impl Read for FromStart {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = read_at(&self.file, buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    file.read_at(buffer, at)
}

/// A browser has no files: [`SpoolFile::create`] has failed before.
#[cfg(target_family = "wasm")]
fn read_at(_: &File, _: &mut [u8], _: u64) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

/// One way through the requests of a [`Spool`].
pub(crate) struct SpoolPass<'a> {
    spool: &'a Spool,
    reader: Reader,
    picker: Picker,
    batch: RequestBatch,
    scratch: RequestBatch,
    next: usize,
}

impl SpoolPass<'_> {
    pub fn next(&mut self, max: u64) -> Result<Option<RequestSlice<'_>>, TraceError> {
        while self.next == self.batch.len() {
            self.batch.clear();
            self.next = 0;
            if !self.fill()? {
                return Ok(None);
            }
        }
        let rest = self.batch.len() - self.next;
        let n = usize::try_from(max).map_or(rest, |max| max.min(rest));
        let records = &self.batch.records()[self.next..self.next + n];
        self.next += n;
        let batch = &self.batch;
        Ok((n > 0).then_some(RequestSlice { batch, records }))
    }

    /// Reads the next requests; false at the end.
    fn fill(&mut self) -> Result<bool, TraceError> {
        let spool = self.spool;
        self.scratch.clear();
        let read = match spool.only {
            Some(_) => self.reader.next_batch(&mut self.scratch),
            None => self.reader.next_batch(&mut self.batch),
        };
        let read = read.map_err(unreadable)?;
        #[cfg(test)]
        tests::count(read);
        if let Some(Picked { stream, start }) = spool.only {
            let timed = spool.timed;
            for i in 0..self.scratch.len() {
                if self.scratch.records()[i].stream == stream {
                    let origin = VolumeOrigin { timed, start };
                    self.picker.keep(&self.scratch, i, origin, &mut self.batch);
                }
            }
        }
        if let Some(places) = &spool.places {
            let placed = places.apply(self.batch.records_mut());
            placed.map_err(|why| TraceError::stack(&spool.name, why))?;
        }
        if let Some(packing) = &spool.packing {
            packing.apply(&mut self.batch);
        }
        Ok(read > 0)
    }
}

#[cfg(test)]
mod tests;
