//! Values by number without hashing, for a few numbers out of very many.

/// Number -> value: a directory of chunks that are allocated on first touch.
///
/// Nothing is ever taken out. Where values name something that ends, whoever owns that checks it:
/// the value of a page that leaves is far away in memory, and processors write in order, so
/// clearing it would cost more than the check.
/// Memory: one chunk of 2,048 values per neighbourhood of as many numbers of which one was
/// touched.
#[derive(Clone, Debug)]
pub(crate) struct Sparse<T> {
    /// Chunk number of `number >> CHUNK_SHIFT`; 0 is the chunk that stays blank for ever.
    directory: Vec<u32>,
    values: Vec<T>,
    blank: T,
}

const CHUNK_SHIFT: u32 = 11;
const CHUNK: usize = 1 << CHUNK_SHIFT;

impl<T: Copy> Sparse<T> {
    /// Every number has the value `blank`.
    pub fn new(blank: T) -> Sparse<T> {
        Sparse {
            directory: Vec::new(),
            values: vec![blank; CHUNK],
            blank,
        }
    }

    /// The value of `number`.
    #[inline]
    pub fn get(&self, number: u64) -> T {
        let chunk = match self.directory.get((number >> CHUNK_SHIFT) as usize) {
            Some(&chunk) => chunk as usize,
            None => 0,
        };
        self.values[chunk * CHUNK + (number as usize & (CHUNK - 1))]
    }

    /// The place of `number`, which counts as touched from now on.
    #[inline]
    pub fn at(&mut self, number: u64) -> &mut T {
        let at = (number >> CHUNK_SHIFT) as usize;
        let chunk = match self.directory.get(at) {
            Some(&chunk) if chunk != 0 => chunk as usize,
            _ => self.touch(at),
        };
        &mut self.values[chunk * CHUNK + (number as usize & (CHUNK - 1))]
    }

    /// Numbers with values other than `blank`, ascending, and these values.
    #[cfg(feature = "conformance")]
    pub fn touched(&self) -> impl Iterator<Item = (u64, T)>
    where
        T: PartialEq,
    {
        let chunks = self.directory.iter().enumerate();
        let chunks = chunks.filter(|&(_, &chunk)| chunk != 0);
        let values = chunks.flat_map(|(at, &chunk)| {
            let first = chunk as usize * CHUNK;
            let values = self.values[first..first + CHUNK].iter().enumerate();
            values.map(move |(i, &value)| (((at << CHUNK_SHIFT) + i) as u64, value))
        });
        values.filter(|&(_, value)| value != self.blank)
    }

    #[cold]
    fn touch(&mut self, at: usize) -> usize {
        if at >= self.directory.len() {
            self.directory.resize(at + 1, 0);
        }
        let chunk = self.values.len() / CHUNK;
        self.values.resize(self.values.len() + CHUNK, self.blank);
        self.directory[at] = u32::try_from(chunk).expect("more than 2^32 chunks touched");
        chunk
    }
}
