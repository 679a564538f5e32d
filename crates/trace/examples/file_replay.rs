//! Replays a block trace as operations on one file: `fs-lab/replay.sh` runs it inside its guest.
//!
//! `file_replay prepare FILE TRACE` writes the file full, `file_replay run FILE TRACE MODE` replays
//! in order, whole 4 KiB pages at a time, without waiting for the times of the trace. MODE says
//! when data must be durable: `fdatasync`, `fsync` (after every write), `dsync` (O_DSYNC),
//! `direct` (O_DIRECT), `buffered` (at the end). Addresses keep their order, but pieces of 1 MiB
//! that the trace never touches are left out, so that a small file is enough.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use destage_trace::{LoadOptions, Source, Trace, load};
use destage_types::Op;

const PAGE: u64 = 4096;
const PIECE: u64 = 1 << 20;
/// Longest single operation.
const LONGEST: usize = 4 << 20;
/// Flags of open(2) on Linux, the same on x86-64 and most other processors.
const O_DSYNC: i32 = 0o10_000;
const O_DIRECT: i32 = 0o40_000;

/// Where each touched piece of the trace is in the file.
struct Pieces(BTreeMap<u64, u64>);

impl Pieces {
    fn of(trace: &Trace) -> Pieces {
        let mut all = BTreeMap::new();
        for extent in trace.requests.iter().flat_map(|r| r.extents()) {
            let (first, end) = (extent.start_sector * 512 / PIECE, extent.end() * 512);
            (first..end.div_ceil(PIECE)).for_each(|piece| {
                all.insert(piece, 0);
            });
        }
        let places = all.values_mut().enumerate();
        places.for_each(|(i, place)| *place = i as u64 * PIECE);
        Pieces(all)
    }

    fn bytes(&self) -> u64 {
        self.0.len() as u64 * PIECE
    }

    /// Offset in the file of a byte of the trace.
    fn at(&self, byte: u64) -> u64 {
        self.0[&(byte / PIECE)] + byte % PIECE
    }
}

/// A buffer that O_DIRECT accepts: it starts at a multiple of the page.
struct Aligned {
    bytes: Vec<u8>,
    start: usize,
}

impl Aligned {
    fn new() -> Aligned {
        let bytes = vec![0x5a; LONGEST + PAGE as usize];
        let start = bytes.as_ptr().align_offset(PAGE as usize);
        Aligned { bytes, start }
    }

    fn slice(&mut self, len: usize) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + len]
    }
}

fn prepare(path: &str, pieces: &Pieces) -> Result<(), Box<dyn Error>> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)?;
    let piece = vec![0x5a; PIECE as usize];
    for at in (0..pieces.bytes()).step_by(PIECE as usize) {
        file.write_all_at(&piece, at)?;
    }
    file.sync_all()?;
    println!("prepared {} bytes", pieces.bytes());
    Ok(())
}

fn open(path: &str, mode: &str) -> Result<File, Box<dyn Error>> {
    let flags = match mode {
        "direct" => O_DIRECT,
        "dsync" => O_DSYNC,
        "fdatasync" | "fsync" | "buffered" => 0,
        _ => return Err(format!("no mode `{mode}`").into()),
    };
    Ok(OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(flags)
        .open(path)?)
}

fn run(path: &str, trace: &Trace, mode: &str) -> Result<(), Box<dyn Error>> {
    let (pieces, file, mut buffer) = (Pieces::of(trace), open(path, mode)?, Aligned::new());
    let (mut reads, mut writes, mut left_out) = (0u64, 0u64, 0u64);
    for request in trace.requests.iter() {
        for extent in request.extents() {
            let first = extent.start_sector * 512 / PAGE * PAGE;
            let end = (extent.end() * 512).next_multiple_of(PAGE);
            let len = usize::try_from(end - first)?.min(LONGEST);
            let at = pieces.at(first).min(pieces.bytes() - len as u64);
            match request.head.op {
                Op::Write => {
                    writes += 1;
                    let data = buffer.slice(len);
                    data[..8].copy_from_slice(&writes.to_le_bytes());
                    file.write_all_at(data, at)?;
                    match mode {
                        "fdatasync" => file.sync_data()?,
                        "fsync" => file.sync_all()?,
                        _ => {}
                    }
                }
                Op::Read => {
                    reads += 1;
                    file.read_exact_at(buffer.slice(len), at)?;
                }
                Op::Trim | Op::Flush => left_out += 1,
            }
        }
    }
    file.sync_all()?;
    println!("replayed {reads} reads, {writes} writes, {left_out} others left out");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let read = |path: &str| load(Source::from_arg(path), &LoadOptions::default());
    match args[..] {
        ["prepare", file, trace] => prepare(file, &Pieces::of(&read(trace)?)),
        ["run", file, trace, mode] => run(file, &read(trace)?, mode),
        _ => Err("usage: file_replay prepare FILE TRACE | run FILE TRACE MODE".into()),
    }
}
