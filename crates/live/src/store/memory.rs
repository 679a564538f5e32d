//! Data in memory, which take space only where something was written.

use super::Medium;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes of a chunk, which takes memory as a whole: small enough for scattered pages, large enough
/// for few entries.
const CHUNK: u64 = 16 << 10;
/// Bytes of a chunk with its place in the map.
const CHUNK_TAKES: u64 = CHUNK + 128;

/// Memory that several media share.
#[derive(Debug)]
pub struct MemoryBudget {
    /// Chunks that there may be.
    most: u64,
    taken: AtomicU64,
}

impl MemoryBudget {
    /// A budget of `bytes`.
    pub fn new(bytes: u64) -> Arc<MemoryBudget> {
        Arc::new(MemoryBudget {
            most: bytes / CHUNK_TAKES,
            taken: AtomicU64::new(0),
        })
    }

    /// Bytes that are left.
    pub fn left(&self) -> u64 {
        (self.most - self.taken.load(Relaxed)).saturating_mul(CHUNK_TAKES)
    }

    /// Sets `bytes` aside for something else; false: fewer are left.
    #[must_use]
    pub fn hold(&self, bytes: u64) -> bool {
        self.take(bytes.div_ceil(CHUNK_TAKES)).is_ok()
    }

    /// Gives back what [`MemoryBudget::hold`] has set aside.
    pub fn let_go(&self, bytes: u64) {
        self.give_back(bytes.div_ceil(CHUNK_TAKES) as usize);
    }

    fn give_back(&self, chunks: usize) {
        self.taken.fetch_sub(chunks as u64, Relaxed);
    }

    /// Takes so many chunks, if they are left.
    fn take(&self, chunks: u64) -> io::Result<()> {
        let more = |taken: u64| Some(taken.checked_add(chunks)?).filter(|&all| all <= self.most);
        match self.taken.fetch_update(Relaxed, Relaxed, more) {
            Ok(_) => Ok(()),
            Err(_) => {
                let most = self.most * CHUNK / 1024;
                let text = format!("data in memory take more than the {most} KiB that they may");
                Err(io::Error::new(io::ErrorKind::StorageFull, text))
            }
        }
    }
}

/// Bytes in memory, by chunks.
pub struct MemoryMedium {
    chunks: BTreeMap<u64, Box<[u8]>>,
    /// Chunks that are set aside: in the budget, and not written yet.
    reserved: BTreeSet<u64>,
    budget: Arc<MemoryBudget>,
}

impl Default for MemoryMedium {
    /// As much as there is.
    fn default() -> MemoryMedium {
        MemoryMedium::new(MemoryBudget::new(u64::MAX))
    }
}

impl MemoryMedium {
    /// Nothing yet; a write that would take more than is left of `budget` fails.
    pub fn new(budget: Arc<MemoryBudget>) -> MemoryMedium {
        MemoryMedium {
            chunks: BTreeMap::new(),
            reserved: BTreeSet::new(),
            budget,
        }
    }
}

/// The part of each chunk that lies in a range: its number, and from where to where.
fn parts(offset: u64, bytes: u64) -> impl Iterator<Item = (u64, usize, usize)> {
    let end = offset + bytes;
    (offset / CHUNK..end.div_ceil(CHUNK)).map(move |chunk| {
        let start = chunk * CHUNK;
        let from = offset.max(start) - start;
        let to = end.min(start + CHUNK) - start;
        (chunk, from as usize, to as usize)
    })
}

impl Medium for MemoryMedium {
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut rest = out;
        for (chunk, from, to) in parts(offset, rest.len() as u64) {
            let (piece, behind) = rest.split_at_mut(to - from);
            match self.chunks.get(&chunk) {
                Some(data) => piece.copy_from_slice(&data[from..to]),
                None => piece.fill(0),
            }
            rest = behind;
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut rest = data;
        for (chunk, from, to) in parts(offset, data.len() as u64) {
            let (piece, behind) = rest.split_at(to - from);
            let chunk = match self.chunks.entry(chunk) {
                Entry::Occupied(there) => there.into_mut(),
                Entry::Vacant(empty) => {
                    if !self.reserved.remove(&chunk) {
                        self.budget.take(1)?;
                    }
                    empty.insert(vec![0; CHUNK as usize].into_boxed_slice())
                }
            };
            chunk[from..to].copy_from_slice(piece);
            rest = behind;
        }
        Ok(())
    }

    fn discard(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        let end = offset + bytes;
        let whole = offset.div_ceil(CHUNK)..(end / CHUNK).max(offset.div_ceil(CHUNK));
        for (edge, from, to) in edges(offset, bytes) {
            if let Some(data) = self.chunks.get_mut(&edge) {
                data[from..to].fill(0);
            }
        }
        let mut from = self.chunks.split_off(&whole.start);
        self.chunks.append(&mut from.split_off(&whole.end));
        let mut reserved = self.reserved.split_off(&whole.start);
        self.reserved.append(&mut reserved.split_off(&whole.end));
        self.budget.give_back(from.len() + reserved.len());
        Ok(())
    }

    fn reserve(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        let is_new = |n: &u64| !self.chunks.contains_key(n) && !self.reserved.contains(n);
        let new: Vec<u64> = parts(offset, bytes)
            .map(|part| part.0)
            .filter(is_new)
            .collect();
        self.budget.take(new.len() as u64)?;
        self.reserved.extend(new);
        Ok(())
    }

    fn release(&mut self) {
        self.budget.give_back(self.reserved.len());
        self.reserved.clear();
    }

    fn allocation(&self, offset: u64, bytes: u64) -> io::Result<(bool, u64)> {
        let (end, first) = (offset + bytes, offset / CHUNK);
        let mut behind = first;
        for (&chunk, _) in self.chunks.range(first..end.div_ceil(CHUNK)) {
            if behind == first && chunk > first {
                return Ok((false, chunk * CHUNK - offset));
            }
            if chunk > behind {
                break;
            }
            behind = chunk + 1;
        }
        let data = behind > first;
        let until = if data { (behind * CHUNK).min(end) } else { end };
        Ok((data, until - offset))
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The chunks that a range covers in part.
fn edges(offset: u64, bytes: u64) -> impl Iterator<Item = (u64, usize, usize)> {
    let last = (offset + bytes).saturating_sub(1);
    let heads = parts(offset, bytes).next();
    let tail_start = offset.max(last / CHUNK * CHUNK);
    let tails = parts(tail_start, offset + bytes - tail_start).next();
    heads
        .into_iter()
        .chain(tails)
        .filter(|&(_, from, to)| to - from < CHUNK as usize)
}
