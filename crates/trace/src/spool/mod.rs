//! Traces too large for memory: decoded once into a temporary `destage-bin` file.

pub(crate) mod collect;
pub(crate) mod packing;
pub(crate) mod split;
pub(crate) mod workload;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use destage_types::{Nanos, RequestBatch};

use crate::bytes::source::Source;
use crate::error::TraceError;
use crate::load::{LoadOptions, Trace, TraceMeta};
use crate::reader::{Reader, open};
use crate::spool::collect::{SpoolFile, place};
use crate::spool::packing::AddressPacking;
use crate::spool::workload::{RequestSlice, Workload};
use crate::volume::{Picker, VolumeTable};

/// A trace that was read whole: decoded in memory, or decoded into a temporary file.
#[derive(Debug)]
pub enum Stored {
    /// In memory.
    Memory(Trace),
    /// In a temporary file, which is removed with this value.
    Spooled {
        /// Where the requests come from.
        meta: TraceMeta,
        /// The file.
        spool: Spool,
    },
}

/// A temporary file of requests.
#[derive(Debug)]
pub struct Spool {
    file: Arc<File>,
    requests: u64,
    last: Nanos,
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
    mut progress: impl FnMut(&Reader),
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
    let last = file.last;
    let spool = Spool {
        timed: meta.timed,
        places,
        ..Spool::made(file.finish(meta.timed)?, meta.requests, last)
    };
    Ok(Stored::Spooled { meta, spool })
}

impl Stored {
    /// Where the requests come from.
    pub fn meta(&self) -> &TraceMeta {
        match self {
            Stored::Memory(trace) => &trace.meta,
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

    /// Moves the parts of the address space that the trace touches together, and says what that
    /// did.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn pack(&mut self) -> Result<AddressPacking, TraceError> {
        let packing = AddressPacking::of(&self.workload())?;
        match self {
            Stored::Memory(trace) => packing.apply(&mut trace.requests),
            Stored::Spooled { spool, .. } => spool.packing = Some(packing.clone()),
        }
        Ok(packing)
    }
}

impl Spool {
    /// A file of so many timed requests, the last of which arrives at `last`.
    pub(crate) fn made(file: File, requests: u64, last: Nanos) -> Spool {
        Spool {
            file: Arc::new(file),
            requests,
            last,
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

    /// Arrival of the last request.
    pub(crate) fn last(&self) -> Nanos {
        self.last
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |m| m.len())
    }

    pub(crate) fn pass(&self) -> Result<SpoolPass<'_>, TraceError> {
        let options = LoadOptions {
            format: Some("destage-bin".to_owned()),
            hash: false,
            ..LoadOptions::default()
        };
        let file = FromStart {
            file: Arc::clone(&self.file),
            at: 0,
        };
        let source = Source::Stream(place(), Box::new(BufReader::new(file)));
        Ok(SpoolPass {
            spool: self,
            reader: open(source, &options)?,
            picker: Picker::default(),
            batch: RequestBatch::new(),
            scratch: RequestBatch::new(),
            next: 0,
        })
    }
}

/// Reads a file at a place of its own, whoever else reads it.
struct FromStart {
    file: Arc<File>,
    at: u64,
}

impl Read for FromStart {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
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
        let more = self.fill_from_file()?;
        #[cfg(test)]
        tests::READ.with(|read| {
            let batch = self.scratch.len().max(self.batch.len());
            read.set(read.get() + batch as u64);
        });
        Ok(more)
    }

    fn fill_from_file(&mut self) -> Result<bool, TraceError> {
        let Some(Picked { stream, start }) = self.spool.only else {
            let read = self.reader.next_batch(&mut self.batch)?;
            self.place()?;
            return Ok(read > 0);
        };
        self.scratch.clear();
        if self.reader.next_batch(&mut self.scratch)? == 0 {
            return Ok(false);
        }
        for i in 0..self.scratch.len() {
            if self.scratch.records()[i].stream == stream {
                let place = (self.spool.timed, start);
                self.picker.keep(&self.scratch, i, place, &mut self.batch);
            }
        }
        self.place()?;
        Ok(true)
    }

    fn place(&mut self) -> Result<(), TraceError> {
        if let Some(places) = &self.spool.places {
            let placed = places.apply(self.batch.records_mut());
            placed.map_err(|reason| TraceError::Stack {
                file: place(),
                reason,
            })?;
        }
        if let Some(packing) = &self.spool.packing {
            packing.apply(&mut self.batch);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::load;
    use std::cell::Cell;

    thread_local! {
        /// Requests read from temporary files.
        pub static READ: Cell<u64> = const { Cell::new(0) };
    }

    const MSR: &str = "0,hm,0,Write,4096,8192,7\n10,hm,1,Read,0,4096,7\n30,hm,0,Write,8192,4096,7\n\
                       40,hm,1,Write,1048576000,4096,7\n45,hm,1,Write,4096,4096,7\n";

    fn both(options: &LoadOptions) -> [Stored; 2] {
        let source = || Source::bytes("hm.csv", MSR);
        let trace = load(source(), options).unwrap();
        let spooled = load_bounded(source(), options, 0, |_| {}).unwrap();
        assert!(matches!(spooled, Stored::Spooled { .. }));
        [Stored::Memory(trace), spooled]
    }

    fn requests(stored: &Stored) -> Vec<String> {
        let mut all = Vec::new();
        let workload = stored.workload();
        let kept = workload.try_each(|number, r| {
            let h = r.head;
            all.push(format!(
                "{number} {} {:?} {}+{} {}",
                h.arrival, h.op, h.start_sector, h.sectors, h.stream
            ));
            Ok::<(), TraceError>(())
        });
        kept.unwrap();
        assert_eq!(workload.len(), all.len() as u64);
        all
    }

    #[test]
    fn a_spooled_trace_is_the_trace() {
        for volumes in ["stack", "overlay", "only=hm_1"] {
            let options = LoadOptions {
                volumes: volumes.parse().unwrap(),
                ..LoadOptions::default()
            };
            let [memory, spooled] = both(&options);
            assert_eq!(memory.meta(), spooled.meta(), "{volumes}");
            assert_eq!(requests(&memory), requests(&spooled), "{volumes}");
            assert_eq!(memory.workload().span(), spooled.workload().span());
            assert_eq!(spooled.workload().memory(), 0);
        }
    }

    #[test]
    fn volumes_of_a_spooled_trace_are_those_of_the_trace() {
        for memory in [0, 64, 128, 300, 1000, u64::MAX] {
            let [plain, spooled] = both(&LoadOptions::default()).map(|s| volumes_of(s, memory));
            assert_eq!(plain.len(), 2);
            same_volumes(&plain, &spooled);
        }
    }

    fn volumes_of(stored: Stored, memory: u64) -> Vec<Stored> {
        let volumes: Result<_, TraceError> = stored.split(memory).unwrap().collect();
        volumes.unwrap()
    }

    fn same_volumes(plain: &[Stored], spooled: &[Stored]) {
        assert_eq!(plain.len(), spooled.len());
        for (plain, spooled) in plain.iter().zip(spooled) {
            assert_eq!(plain.meta(), spooled.meta());
            assert_eq!(requests(plain), requests(spooled));
            assert_eq!(plain.workload().span(), spooled.workload().span());
        }
    }

    /// Volumes whose places the file knows are at those, and have their own addresses when split.
    #[test]
    fn volumes_with_places_are_split_likewise() {
        let [stacked, _] = both(&LoadOptions::default());
        let Stored::Memory(trace) = stacked else {
            panic!("in memory")
        };
        let mut bytes = Vec::new();
        let volumes = &trace.meta.volumes;
        crate::write_bin(&trace.requests, volumes, true, &mut bytes).unwrap();
        let source = || Source::bytes("hm.bin", bytes.clone());
        let options = LoadOptions::default();
        let plain = Stored::Memory(load(source(), &options).unwrap());
        let plain = volumes_of(plain, 0);
        assert_eq!(requests(&plain[1])[0], "0 0 Read 0+8 1");
        for memory in [0, u64::MAX] {
            let spooled = load_bounded(source(), &options, 0, |_| {}).unwrap();
            same_volumes(&plain, &volumes_of(spooled, memory));
        }
    }

    /// Every request is read a few times, not once for every volume.
    #[test]
    fn the_work_of_a_split_does_not_grow_with_the_number_of_volumes() {
        let count = 3000;
        let line = |i: u64| format!("{i},h,{},Write,{},4096,7\n", i * 7 % count, i * 4096);
        let text: String = (0..4 * count).map(line).collect();
        let source = || Source::bytes("h.csv", text.clone());
        let options = LoadOptions::default();
        let plain = volumes_of(Stored::Memory(load(source(), &options).unwrap()), 0);
        assert_eq!(plain.len() as u64, count);
        // All volumes at once, files of some of them, a file for each.
        for (memory, levels) in [(u64::MAX, 0), (40_000, 1), (2_000, 3), (0, 3)] {
            let spooled = load_bounded(source(), &options, 0, |_| {}).unwrap();
            let before = READ.with(Cell::get);
            let volumes = volumes_of(spooled, memory);
            let read = READ.with(Cell::get) - before;
            // To measure them, to distribute them, to load them.
            let most = (levels + 2) * 4 * count;
            assert!(read <= most, "{memory}: {read} requests of {most}");
            same_volumes(&plain, &volumes);
        }
    }

    #[test]
    fn packed_addresses_are_the_same_in_memory_and_in_the_file() {
        let [mut memory, mut spooled] = both(&LoadOptions::default());
        let packing = memory.pack().unwrap();
        assert_eq!(packing, spooled.pack().unwrap());
        // hm_0 within its first MiB, hm_1 within its first and its 1001st.
        assert_eq!(packing.end_sector(), 3 * 2048);
        assert_eq!(requests(&memory), requests(&spooled));
        assert_eq!(requests(&memory)[3], "3 4000 Write 4096+8 1");
    }
}
