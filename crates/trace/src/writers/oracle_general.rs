//! Writes libCacheSim's oracleGeneral binary (format `oracle-general`).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;

use destage_types::{Op, RequestFlags, RequestRef};

use super::passes::RequestPasses;
use super::text::{Ability, FLUSH_AT, WriteSummary, invalid};
use crate::spool::collect::failed;

const ABILITY: Ability = Ability {
    format: "oracle-general",
    ops: &[Op::Read, Op::Write],
    tick_ns: 1_000_000_000,
};

const BLOCK_SECTORS: u64 = 8;
const BLOCK_BYTES: u32 = 4096;
/// Marks an access whose next one is known. Numbers of blocks are far below.
const KNOWN: u64 = 1 << 63;
/// Bytes of an access in the temporary file.
const ACCESS: u64 = 8;
/// Accesses that are looked at together.
const CHUNK: u64 = 8192;
/// Memory per block whose next access is remembered: a table is at least 7/16 full, and has its half
/// beside it while it grows.
const PER_BLOCK: u64 = 64;
/// Blocks remembered at least, whatever the memory.
const LEAST_BLOCKS: u64 = 1024;

/// Counts of written requests, and of losses in the format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockSummary {
    /// Requests, and those whose time was rounded down to whole seconds.
    pub requests: WriteSummary,
    /// Records written: one per block that a request touches.
    pub records: u64,
    /// Requests that were writes; the records do not tell them from reads.
    pub writes: u64,
    /// Requests that began or ended within a block; it is written as a whole.
    pub partial: u64,
    /// Are there requests of several streams, which the records do not tell apart?
    pub several_streams: bool,
}

/// Writes one record per 4 KiB block that a request touches: whole seconds, the number of the block in
/// the address space of the requests, 4096 bytes, and the number (from 1) of the next record of the
/// block, -1 if there is none. Next records are found in a temporary file of 8 B per record, from its
/// end, in as many passes as `memory` bytes ask for.
///
/// # Errors
/// The format has no TRIM, FLUSH, several extents, old addresses, atomic writes or tags, and no times
/// of 2^32 s; or writing fails, or the requests or the temporary file cannot be read.
pub fn write_oracle_general(
    requests: &dyn RequestPasses,
    memory: u64,
    out: &mut dyn Write,
) -> io::Result<BlockSummary> {
    let (mut accesses, mut summary) = accesses_of(requests)?;
    let most = (memory / PER_BLOCK).max(LEAST_BLOCKS) as usize;
    while find_next(&accesses, summary.records, most).map_err(temporary)? {}
    accesses.rewind().map_err(temporary)?;
    let mut known = BufReader::new(accesses);
    let mut out = BufWriter::with_capacity(FLUSH_AT, out);
    requests.pass(&mut |request| {
        let ticks = request.head.arrival.0 / ABILITY.tick_ns;
        let number = summary.requests.requests;
        let late = || format!("request {number}: `oracle-general` has times below 2^32 s only");
        let time = u32::try_from(ticks).map_err(|_| invalid(late()))?;
        summary.requests.requests += 1;
        for block in blocks(request) {
            let mut next = [0; ACCESS as usize];
            known.read_exact(&mut next).map_err(temporary)?;
            out.write_all(&record(time, block, u64::from_le_bytes(next) ^ KNOWN))?;
        }
        Ok(())
    })?;
    out.flush()?;
    Ok(summary)
}

/// A record; `next` is the number of the next one of the block, 0 if there is none.
fn record(time: u32, block: u64, next: u64) -> [u8; 24] {
    let next = if next == 0 { -1 } else { next as i64 };
    let mut record = [0; 24];
    record[..4].copy_from_slice(&time.to_le_bytes());
    record[4..12].copy_from_slice(&block.to_le_bytes());
    record[12..16].copy_from_slice(&BLOCK_BYTES.to_le_bytes());
    record[16..].copy_from_slice(&next.to_le_bytes());
    record
}

/// The blocks of a read or a write.
fn blocks(request: RequestRef<'_>) -> RangeInclusive<u64> {
    let first = request.head.start_sector;
    let last = first + u64::from(request.head.sectors) - 1;
    first / BLOCK_SECTORS..=last / BLOCK_SECTORS
}

/// A temporary file of the blocks that the requests touch, in their order, and what is known of the
/// requests after a first pass: all but their number.
fn accesses_of(requests: &dyn RequestPasses) -> io::Result<(File, BlockSummary)> {
    let mut accesses = BufWriter::new(tempfile::tempfile().map_err(temporary)?);
    let mut summary = BlockSummary::default();
    let (mut number, mut stream) = (0, None);
    requests.pass(&mut |request| {
        ABILITY.check(request, number)?;
        number += 1;
        let head = request.head;
        let whole = |sectors: u64| sectors.is_multiple_of(BLOCK_SECTORS);
        let partial = !whole(head.start_sector) || !whole(u64::from(head.sectors));
        let rounded = !head.arrival.0.is_multiple_of(ABILITY.tick_ns);
        summary.requests.flags_left_out += u64::from(head.flags.any(RequestFlags::OF_WRITES));
        summary.requests.rounded_times += u64::from(rounded);
        summary.writes += u64::from(head.op == Op::Write);
        summary.partial += u64::from(partial);
        summary.several_streams |= *stream.get_or_insert(head.stream) != head.stream;
        for block in blocks(request) {
            let written = accesses.write_all(&block.to_le_bytes());
            written.map_err(temporary)?;
            summary.records += 1;
        }
        Ok(())
    })?;
    let file = accesses.into_inner();
    let file = file.map_err(|e| temporary(e.into_error()))?;
    Ok((file, summary))
}

/// Goes through the accesses from their end and replaces the numbers of the last `most` blocks that are
/// still there by the next access to each. Are there more of them?
fn find_next(accesses: &File, records: u64, most: usize) -> io::Result<bool> {
    // Number (from 1) of the access that comes next.
    let mut next: HashMap<u64, u64> = HashMap::new();
    let mut more = false;
    let mut chunk = Vec::new();
    let mut end = records;
    while end > 0 {
        let start = end.saturating_sub(CHUNK);
        chunk.resize(((end - start) * ACCESS) as usize, 0);
        accesses.read_exact_at(&mut chunk, start * ACCESS)?;
        for (i, entry) in chunk.as_chunks_mut().0.iter_mut().enumerate().rev() {
            let block = u64::from_le_bytes(*entry);
            let room = next.len() < most;
            if block & KNOWN != 0 {
                continue;
            }
            let number = start + i as u64 + 1;
            let later = match next.entry(block) {
                Entry::Occupied(mut later) => later.insert(number),
                Entry::Vacant(none) if room => {
                    none.insert(number);
                    0
                }
                // All accesses to this block wait for another pass.
                Entry::Vacant(_) => {
                    more = true;
                    continue;
                }
            };
            *entry = (KNOWN | later).to_le_bytes();
        }
        accesses.write_all_at(&chunk, start * ACCESS)?;
        end = start;
    }
    Ok(more)
}

fn temporary(error: io::Error) -> io::Error {
    io::Error::other(failed(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However few blocks are remembered at a time, the next accesses are the same.
    #[test]
    fn more_passes_find_the_same() {
        let blocks = [5u64, 7, 5, 9, 9, 7, 5, 11, 7, 1];
        let next = |i| {
            let later = (i + 1..blocks.len()).find(|&j| blocks[j] == blocks[i]);
            later.map_or(0, |j| j as u64 + 1)
        };
        let wanted: Vec<u64> = (0..blocks.len()).map(next).collect();
        for (most, passes) in [(1, 5), (2, 3), (4, 2), (5, 1), (100, 1)] {
            let mut file = tempfile::tempfile().unwrap();
            for block in blocks {
                file.write_all(&block.to_le_bytes()).unwrap();
            }
            let mut done = 1;
            while find_next(&file, blocks.len() as u64, most).unwrap() {
                done += 1;
            }
            assert_eq!(done, passes, "{most}");
            let mut bytes = vec![0; blocks.len() * 8];
            file.read_exact_at(&mut bytes, 0).unwrap();
            let (found, _) = bytes.as_chunks();
            let found = found.iter().map(|b| u64::from_le_bytes(*b) ^ KNOWN);
            let found: Vec<u64> = found.collect();
            assert_eq!(found, wanted);
        }
    }
}
