//! Writes the program's own binary (format `destage-bin`).

use std::io::{self, Seek, SeekFrom, Write};

use destage_types::{Nanos, RequestRef};

use super::passes::RequestPasses;
use super::text::invalid;
use crate::readers::destage_bin::hash::Hash;
use crate::readers::destage_bin::layout::{ChunkBuffer, HEADER, Header, encode_volumes};
use crate::volume::Volume;

/// Makes chunks of requests and keeps count of them.
struct Encoder {
    chunk: ChunkBuffer,
    /// Whole chunks that are to be written.
    out: Vec<u8>,
    hash: Hash,
    bytes: u64,
    requests: u64,
    first: Nanos,
    last: Nanos,
}

impl Encoder {
    fn new() -> Encoder {
        Encoder {
            chunk: ChunkBuffer::default(),
            out: Vec::new(),
            hash: Hash::new(),
            bytes: HEADER as u64,
            requests: 0,
            first: Nanos::ZERO,
            last: Nanos::ZERO,
        }
    }

    fn push(&mut self, request: RequestRef<'_>) -> io::Result<()> {
        let mut head = *request.head;
        if self.requests == 0 {
            (self.first, self.last) = (head.arrival, head.arrival);
        }
        if head.arrival < self.last {
            let number = self.requests;
            let why = format!("request {number}: it arrives before the last one");
            return Err(invalid(why));
        }
        if self.chunk.is_full() {
            self.end_chunk();
        }
        self.last = head.arrival;
        head.arrival = Nanos(head.arrival.0 - self.first.0);
        let moved = RequestRef {
            head: &head,
            ..request
        };
        let number = self.requests;
        let pushed = self.chunk.push(moved);
        pushed.map_err(|why| invalid(format!("request {number}: {why}")))?;
        self.requests += 1;
        Ok(())
    }

    fn end_chunk(&mut self) {
        if self.chunk.len() > 0 {
            let from = self.out.len();
            self.chunk.take(&mut self.out);
            self.count(from);
        }
    }

    fn volumes(&mut self, volumes: &[Volume]) -> io::Result<()> {
        let from = self.out.len();
        encode_volumes(volumes, &mut self.out).map_err(invalid)?;
        self.count(from);
        Ok(())
    }

    fn count(&mut self, from: usize) {
        self.hash.update(&self.out[from..]);
        self.bytes += (self.out.len() - from) as u64;
    }

    fn header(&self, volumes: &[Volume], timed: bool, volumes_at: u64, chunks_at: u64) -> Header {
        let mut header = Header {
            requests: self.requests,
            volumes: volumes.len() as u64,
            timed,
            volumes_at,
            chunks_at,
            bytes: self.bytes,
            hash: 0,
        };
        header.hash = self.hash.finish(&header);
        header
    }
}

/// Writes requests one after the other to a file; memory does not grow with their number. The
/// header is written last: a file that was not finished is not taken for a trace.
pub struct BinWriter<W: Write + Seek> {
    out: W,
    start: u64,
    encoder: Encoder,
}

impl<W: Write + Seek> BinWriter<W> {
    /// Starts a file at the position of `out`.
    ///
    /// # Errors
    /// Writing fails.
    pub fn new(mut out: W) -> io::Result<BinWriter<W>> {
        let start = out.stream_position()?;
        out.write_all(&[0; HEADER])?;
        let encoder = Encoder::new();
        Ok(BinWriter {
            out,
            start,
            encoder,
        })
    }

    /// Writes one request. Times are counted from the first request.
    ///
    /// # Errors
    /// The request arrives before the last one, `prev` does not match its extents, its lists are
    /// longer than 14 MiB, or writing fails.
    pub fn write(&mut self, request: RequestRef<'_>) -> io::Result<()> {
        self.encoder.push(request)?;
        self.drain()
    }

    fn drain(&mut self) -> io::Result<()> {
        if !self.encoder.out.is_empty() {
            self.out.write_all(&self.encoder.out)?;
            self.encoder.out.clear();
        }
        Ok(())
    }

    /// Ends the file with the names and places of its streams; `timed`: the arrivals are those
    /// of a clock. Gives the output back.
    ///
    /// # Errors
    /// The name of a volume is longer than 4096 bytes, or writing fails.
    pub fn finish(mut self, volumes: &[Volume], timed: bool) -> io::Result<W> {
        self.encoder.end_chunk();
        self.drain()?;
        let volumes_at = self.encoder.bytes;
        self.encoder.volumes(volumes)?;
        self.drain()?;
        let encoder = &self.encoder;
        let header = encoder.header(volumes, timed, volumes_at, HEADER as u64);
        self.out.seek(SeekFrom::Start(self.start))?;
        self.out.write_all(&header.encode())?;
        self.out.seek(SeekFrom::Start(self.start + header.bytes))?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Writes all requests to any output, a pipe included, with the names and places of its streams
/// in front; `timed`: the arrivals are those of a clock. Times are counted from the first request.
///
/// # Errors
/// Those of [`BinWriter`]; the requests cannot be read.
pub fn write_bin(
    requests: &dyn RequestPasses,
    volumes: &[Volume],
    timed: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    // The header holds the hash of all that follows, so everything is encoded twice.
    let mut header = Header::default();
    for pass in 0..2 {
        let mut encoder = Encoder::new();
        if pass > 0 {
            out.write_all(&header.encode())?;
        }
        encoder.volumes(volumes)?;
        let chunks_at = encoder.bytes;
        requests.pass(&mut |request| {
            encoder.push(request)?;
            if pass > 0 && !encoder.out.is_empty() {
                out.write_all(&encoder.out)?;
            }
            encoder.out.clear();
            Ok(())
        })?;
        encoder.end_chunk();
        if pass > 0 {
            out.write_all(&encoder.out)?;
        }
        header = encoder.header(volumes, timed, HEADER as u64, chunks_at);
    }
    out.flush()
}
