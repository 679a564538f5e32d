//! The program's own binary: what a trace is spooled to, and the fastest to read.

pub(crate) mod hash;
pub(crate) mod layout;

use std::collections::BTreeMap;

use destage_types::{Nanos, RequestBatch};

use super::columns::columns;
use super::{FormatInfo, ReadCounts, ReaderFacts, Separator, TraceReader};
use crate::bytes::input::Input;
use crate::error::TraceError;
use crate::readers::record::le;
use crate::sink::LISTS;
use crate::volume::{MAX_VOLUMES, VolumeName};
use hash::Hash;
use layout::{CHUNK_HEADER, Chunk, ChunkTables, HEADER, Header, MAGIC, MAX_NAME, RECORD, VOLUME};

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "destage-bin",
    about: "Own binary, version 1: a header of 64 B, little-endian records of 32 B in chunks, \
            tables of further extents, old addresses and volume names, and a hash; keeps \
            everything that `destage` keeps.",
    source: "this program; docs/TRACES.md has the layout",
    separator: Separator::Record,
    columns: columns! {
        "arrival": OwnTime(TimeUnit::Nanoseconds), "ns, 64 bits";
        "start_sector": Own, "sector of 512 B, the extent ending at or below 256 TiB, 64 bits";
        "sectors": Own, "1 to 4294967295, 0 for a flush, 32 bits";
        "stream": Own, "number of the source, 32 bits";
        "op, flags, tag": Own, "one byte each";
    },
    volumes: false,
    example: EXAMPLE,
    example_requests: 2,
    detect: |_, sample| sample.bytes.starts_with(MAGIC),
    open: |_, input, _| Box::new(BinReader::new(input)),
    ..FormatInfo::BASE
};

/// A write of sectors 8 to 15 at 0 ns and a flush at 1000 ns, both of volume 3, `hm_0`.
const EXAMPLE: &[u8] =
    b"\x89DSTG\r\n\x1a\x01\0\0\0\0\x02\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\
    \x40\0\0\0\0\0\0\0\x58\0\0\0\0\0\0\0\xb8\0\0\0\0\0\0\0\xc1\x8f\x9f\x1c\xfb\x93\x8a\x33\
    \x03\0\0\0\x04\0\0\0\0\0\0\0\0\0\0\0hm_0\0\0\0\0\
    \x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x60\0\0\0\0\0\0\0\x60\0\0\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\x08\0\0\0\x03\0\0\0\x01\0\0\0\0\0\0\0\
    \xe8\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\x03\0\0\0\0\0\0\0";

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    /// Requests may follow.
    Chunks,
    End,
}

struct BinReader {
    input: Input,
    counts: ReadCounts,
    header: Header,
    hash: Hash,
    state: State,
    /// Bytes in front of the window.
    at: u64,
    chunk: Chunk,
    /// Records of the chunk that have been handed out.
    used: usize,
    tables: ChunkTables,
    last: Nanos,
    volumes: BTreeMap<u32, (String, u64)>,
}

impl BinReader {
    fn new(input: Input) -> BinReader {
        BinReader {
            input,
            counts: ReadCounts::default(),
            header: Header::default(),
            hash: Hash::new(),
            state: State::Start,
            at: 0,
            chunk: Chunk::default(),
            used: 0,
            tables: ChunkTables::default(),
            last: Nanos::ZERO,
            volumes: BTreeMap::new(),
        }
    }

    fn malformed(&self, reason: impl ToString) -> TraceError {
        self.input.malformed(INFO.name, reason)
    }

    /// Fills the window with `bytes` bytes.
    fn need(&mut self, bytes: usize) -> Result<(), TraceError> {
        while self.input.window().len() < bytes {
            if !self.input.fill()? {
                let (at, total) = (self.at, self.header.bytes);
                let end = at + self.input.window().len() as u64;
                let reason = format!("it is cut off: it ends after {end} of {total} bytes");
                return Err(self.malformed(reason));
            }
        }
        Ok(())
    }

    fn consume(&mut self, bytes: usize) {
        self.at += bytes as u64;
        self.input.consume(bytes);
    }

    fn start(&mut self) -> Result<(), TraceError> {
        while self.input.window().len() < HEADER && self.input.fill()? {}
        let header = Header::decode(self.input.window());
        self.header = header.map_err(|reason| self.malformed(reason))?;
        self.consume(HEADER);
        self.state = State::Chunks;
        if self.header.volumes_at < self.header.chunks_at || self.header.requests == 0 {
            self.read_volumes()?;
        }
        if self.at != self.header.chunks_at && self.header.requests > 0 {
            return Err(self.malformed("the first chunk is not where the header says"));
        }
        Ok(())
    }

    fn read_volumes(&mut self) -> Result<(), TraceError> {
        if self.at != self.header.volumes_at {
            return Err(self.malformed("the volume table is not where the header says"));
        }
        if self.header.volumes > MAX_VOLUMES as u64 {
            return Err(self.malformed("it has more than 1048576 volumes"));
        }
        for _ in 0..self.header.volumes {
            self.need(VOLUME)?;
            let row = &self.input.window()[..VOLUME];
            let (stream, start) = (le::<4>(row, 0) as u32, le::<8>(row, 8));
            let len = le::<4>(row, 4) as usize;
            if len > MAX_NAME || start > crate::MAX_BYTES / 512 {
                return Err(self.malformed("the volume table is damaged"));
            }
            let bytes = VOLUME + len.next_multiple_of(8);
            self.need(bytes)?;
            let row = &self.input.window()[..bytes];
            self.hash.update(row);
            let name = String::from_utf8_lossy(&row[VOLUME..VOLUME + len]);
            self.volumes.insert(stream, (name.into_owned(), start));
            self.consume(bytes);
        }
        Ok(())
    }

    /// Buffers the next chunk. False behind the last one, all of the file being checked.
    fn next_chunk(&mut self) -> Result<bool, TraceError> {
        if self.chunk.records > 0 {
            if !self.tables.is_done() {
                return Err(self.malformed("the tables of a chunk are longer than its requests"));
            }
            self.consume(self.chunk.places()[3]);
            self.chunk = Chunk::default();
        }
        if self.counts.requests == self.header.requests {
            self.finish()?;
            return Ok(false);
        }
        self.need(CHUNK_HEADER)?;
        let chunk = Chunk::decode(&self.input.window()[..CHUNK_HEADER]);
        let chunk = chunk.map_err(|reason| self.malformed(reason))?;
        if chunk.records as u64 > self.header.requests - self.counts.requests {
            return Err(self.malformed("it has more requests than the header says"));
        }
        let end = chunk.places()[3];
        self.need(end)?;
        self.hash.update(&self.input.window()[..end]);
        self.tables.start(&chunk);
        (self.chunk, self.used) = (chunk, 0);
        Ok(true)
    }

    fn finish(&mut self) -> Result<(), TraceError> {
        if self.header.volumes_at >= self.at && self.header.requests > 0 {
            self.read_volumes()?;
        }
        if self.at != self.header.bytes || !self.input.window().is_empty() || self.input.fill()? {
            return Err(self.malformed("its length is not what the header says"));
        }
        if self.hash.finish(&self.header) != self.header.hash {
            return Err(self.malformed("its hash is wrong: the file is damaged"));
        }
        self.state = State::End;
        Ok(())
    }

    /// Hands out records of the chunk until `out` holds `goal`.
    fn records(&mut self, out: &mut RequestBatch, goal: usize) -> Result<(), TraceError> {
        let chunk = &self.input.window()[..self.chunk.places()[3]];
        let n = (self.chunk.records - self.used).min(goal - out.len());
        let from = CHUNK_HEADER + self.used * RECORD;
        let (records, _) = chunk[from..from + n * RECORD].as_chunks::<RECORD>();
        let (before, mut last, mut bad) = (out.len(), self.last, None);
        for bytes in records {
            let pushed = layout::decode_record(bytes).and_then(|(request, listed)| {
                let forward = request.arrival >= last;
                forward
                    .then_some(())
                    .ok_or("it arrives before the request before")?;
                match listed {
                    true => self.tables.push(chunk, request, out)?,
                    false => out.push(request),
                }
                Ok(request.arrival)
            });
            match pushed {
                Ok(arrival) => last = arrival,
                Err(why) => {
                    bad = Some(why);
                    break;
                }
            }
        }
        self.last = last;
        let read = out.len() - before;
        self.used += read;
        if self.counts.requests == 0 && read > 0 && out.records()[before].arrival > Nanos::ZERO {
            out.truncate(before);
            return Err(self.malformed("request 1: it does not arrive at 0"));
        }
        self.counts.requests += read as u64;
        self.counts.lines = self.counts.requests;
        let number = self.counts.requests + 1;
        bad.map_or(Ok(()), |why| {
            Err(self.malformed(format!("request {number}: {why}")))
        })
    }

    fn read(&mut self, out: &mut RequestBatch, goal: usize) -> Result<(), TraceError> {
        if self.state == State::Start {
            self.start()?;
        }
        let lists = out.side_memory() + LISTS;
        while out.len() < goal && out.side_memory() <= lists && self.state == State::Chunks {
            if self.used < self.chunk.records {
                self.records(out, goal)?;
            }
            // The end is checked with the last request, not with a batch that nobody asks for.
            if self.used == self.chunk.records && !self.next_chunk()? {
                break;
            }
        }
        Ok(())
    }
}

impl TraceReader for BinReader {
    fn next_batch(&mut self, out: &mut RequestBatch, max: usize) -> Result<usize, TraceError> {
        let before = out.len();
        let result = self.read(out, before.saturating_add(max));
        if result.is_err() {
            self.state = State::End;
        }
        result.map(|()| out.len() - before)
    }

    fn counts(&self) -> &ReadCounts {
        &self.counts
    }

    fn facts(&self) -> &dyn ReaderFacts {
        self
    }
}

impl ReaderFacts for BinReader {
    fn timed(&self) -> bool {
        self.header.timed
    }

    fn volume(&self, stream: u32) -> Option<VolumeName> {
        let (name, start) = self.volumes.get(&stream)?;
        Some(VolumeName {
            name: name.clone(),
            start_sector: *start,
        })
    }
}
