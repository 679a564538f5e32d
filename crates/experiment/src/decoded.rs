//! A decoded trace as bytes, for other processes of the same program.

use crate::hash::hexadecimal;
use destage_trace::{BinWriter, RequestPasses, Stored, TraceMeta};
use sha2::{Digest, Sha256};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, Write};

/// Writes a line of JSON about the trace, with its checksum in front, and the requests as `destage-bin`.
pub fn write<W: Write + Seek>(stored: &Stored, mut out: W) -> io::Result<W> {
    let meta = serde_json::to_string(stored.meta())?;
    writeln!(out, "{} {meta}", checksum(&meta))?;
    let mut writer = BinWriter::new(out)?;
    RequestPasses::pass(&stored.workload(), &mut |request| writer.write(request))?;
    writer.finish(&[], stored.meta().timed)
}

/// Reads the trace in `file`, which is called `name`. At most `memory` bytes of requests are kept in memory.
///
/// # Errors
/// Why it holds none.
pub fn read(mut file: File, name: &str, memory: u64) -> Result<Stored, String> {
    let damaged = |why: &dyn Display| format!("{name}: {why}");
    let mut line = Vec::new();
    let read = BufReader::new(&mut file).read_until(b'\n', &mut line);
    let start = read.map_err(|error| damaged(&error))? as u64;
    let line = String::from_utf8_lossy(&line);
    let parts = line.trim_end_matches('\n').split_once(' ');
    let meta = parts.filter(|(sum, meta)| *sum == checksum(meta));
    let (_, meta) = meta.ok_or_else(|| damaged(&"its first line was changed"))?;
    let meta: TraceMeta = serde_json::from_str(meta).map_err(|error| damaged(&error))?;
    Stored::from_file(file, name, start, meta, memory).map_err(|error| error.to_string())
}

fn checksum(text: &str) -> String {
    hexadecimal(Sha256::new_with_prefix(text))
}
