//! Numbers by LPN without hashing.

use destage_types::Lpn;

/// LPN -> number: a directory of chunks that are allocated on first touch.
///
/// Nothing is ever taken out. Whoever owns what the numbers name checks that it still belongs to
/// the page: the entry of a page that leaves is far away in memory, and processors write in order,
/// so clearing it would cost more than the check. Memory: 8 KiB per 2,048 neighbouring pages of
/// which one was ever entered.
#[derive(Clone, Debug)]
pub(crate) struct LpnIndex {
    /// Chunk number of `lpn >> CHUNK_SHIFT`; 0 is the chunk that stays empty for ever.
    directory: Vec<u32>,
    numbers: Vec<u32>,
}

const CHUNK_SHIFT: u32 = 11;
const CHUNK: usize = 1 << CHUNK_SHIFT;

impl LpnIndex {
    /// What pages have that were never entered.
    pub const NONE: u32 = u32::MAX;

    /// No page is entered.
    pub fn new() -> LpnIndex {
        LpnIndex {
            directory: Vec::new(),
            numbers: vec![LpnIndex::NONE; CHUNK],
        }
    }

    /// The number that was entered last for `lpn`.
    #[inline]
    pub fn get(&self, lpn: Lpn) -> u32 {
        let chunk = match self.directory.get((lpn.0 >> CHUNK_SHIFT) as usize) {
            Some(&chunk) => chunk as usize,
            None => 0,
        };
        self.numbers[chunk * CHUNK + (lpn.0 as usize & (CHUNK - 1))]
    }

    /// Enters `number` for `lpn`.
    #[inline]
    pub fn set(&mut self, lpn: Lpn, number: u32) {
        let at = (lpn.0 >> CHUNK_SHIFT) as usize;
        let chunk = match self.directory.get(at) {
            Some(&chunk) if chunk != 0 => chunk as usize,
            _ => self.touch(at),
        };
        self.numbers[chunk * CHUNK + (lpn.0 as usize & (CHUNK - 1))] = number;
    }

    #[cold]
    fn touch(&mut self, at: usize) -> usize {
        if at >= self.directory.len() {
            self.directory.resize(at + 1, 0);
        }
        let chunk = self.numbers.len() / CHUNK;
        self.numbers
            .resize(self.numbers.len() + CHUNK, LpnIndex::NONE);
        self.directory[at] = u32::try_from(chunk).expect("more than 2^32 chunks of pages touched");
        chunk
    }
}
