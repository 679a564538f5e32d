//! Values by number without hashing, for a few numbers out of very many.

/// Number -> value: a directory of chunks that are allocated on first touch.
///
/// No value is ever taken out. Where values name something that ends, whoever owns that checks it:
/// the value of a page that leaves is far away in memory, and processors write in order, so
/// clearing it would cost more than the check.
/// Memory: one chunk of 512 values per neighbourhood of as many numbers of which one was touched,
/// until [`PageIndex::keep_only`] takes back the chunks that are of no use any more.
#[derive(Clone, Debug)]
pub struct PageIndex<T> {
    /// Chunk number of `number >> CHUNK_SHIFT`; 0 is the chunk that stays blank for ever.
    directory: Vec<u32>,
    values: Vec<T>,
    /// The entry of the directory that names each chunk.
    named_by: Vec<u32>,
    /// Chunks that no entry names.
    free: Vec<u32>,
    /// Which chunks are kept, reused.
    keep: Vec<bool>,
    blank: T,
}

/// Where a value stands. Good until the table is tidied up ([`crate::Frames::tidy`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(u32);

impl Place {
    /// In the chunk that stays blank: the number was not touched when it was looked up.
    pub const BLANK: Place = Place(0);

    /// A number to keep it as.
    #[inline(always)]
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// The place that was kept as `number`.
    #[inline(always)]
    pub(crate) fn of(number: u32) -> Place {
        Place(number)
    }

    #[inline(always)]
    fn is_known(self) -> bool {
        self.0 >= CHUNK as u32
    }
}

const CHUNK_SHIFT: u32 = 9;
/// Page numbers that one entry of the directory stands for.
pub const CHUNK: usize = 1 << CHUNK_SHIFT;

impl<T: Copy> PageIndex<T> {
    /// Every number has the value `blank`.
    pub fn new(blank: T) -> PageIndex<T> {
        PageIndex {
            directory: Vec::new(),
            values: vec![blank; CHUNK],
            named_by: vec![u32::MAX],
            free: Vec::new(),
            keep: Vec::new(),
            blank,
        }
    }

    /// The value of `number`.
    #[inline(always)]
    pub fn get(&self, number: u64) -> T {
        let chunk = match self.directory.get((number >> CHUNK_SHIFT) as usize) {
            Some(&chunk) => chunk as usize,
            None => 0,
        };
        self.values[chunk * CHUNK + (number as usize & (CHUNK - 1))]
    }

    /// Where the value of `number` stands.
    #[inline(always)]
    pub fn place(&self, number: u64) -> Place {
        let chunk = match self.directory.get((number >> CHUNK_SHIFT) as usize) {
            Some(&chunk) => chunk,
            None => 0,
        };
        Place((chunk << CHUNK_SHIFT) | (number as u32 & (CHUNK as u32 - 1)))
    }

    /// The places of many numbers.
    #[inline(always)]
    pub fn places<const N: usize>(&self, numbers: impl Fn(usize) -> u64) -> [Place; N] {
        let mut places = [Place::BLANK; N];
        for (i, place) in places.iter_mut().enumerate() {
            *place = self.place(numbers(i));
        }
        places
    }

    /// The value of `number`, which stands at `place` unless it was touched since.
    #[inline(always)]
    pub fn get_at(&self, number: u64, place: Place) -> T {
        match place.is_known() {
            true => self.values[place.0 as usize],
            false => self.get(number),
        }
    }

    /// The place of `number`, which counts as touched from now on.
    #[inline(always)]
    pub fn at_place(&mut self, number: u64, place: Place) -> &mut T {
        match place.is_known() {
            true => &mut self.values[place.0 as usize],
            false => self.at(number),
        }
    }

    /// The place of `number`, which counts as touched from now on.
    #[inline(always)]
    pub fn touch_place(&mut self, number: u64) -> Place {
        let place = self.place(number);
        if place.is_known() {
            return place;
        }
        self.touch((number >> CHUNK_SHIFT) as usize);
        self.place(number)
    }

    /// What stands at a place: the value of its number, unless that was touched since.
    #[inline(always)]
    pub fn at_known(&self, place: Place) -> &T {
        &self.values[place.0 as usize]
    }

    /// What stands at a place that [`PageIndex::touch_place`] gave.
    #[inline(always)]
    pub fn at_known_mut(&mut self, place: Place) -> &mut T {
        &mut self.values[place.0 as usize]
    }

    /// What stands at many places.
    #[inline(always)]
    pub fn look_at<const N: usize>(&self, places: &[Place; N]) -> [T; N] {
        let mut values = [self.blank; N];
        for (value, place) in values.iter_mut().zip(places) {
            *value = self.values[place.0 as usize];
        }
        values
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
    #[inline(never)]
    fn touch(&mut self, at: usize) -> usize {
        if at >= self.directory.len() {
            self.directory.resize(at + 1, 0);
        }
        let chunk = self.free.pop().unwrap_or_else(|| self.add_chunk());
        self.directory[at] = chunk;
        self.named_by[chunk as usize] = at as u32;
        chunk as usize
    }

    fn add_chunk(&mut self) -> u32 {
        let chunk = self.values.len() / CHUNK;
        self.values.resize(self.values.len() + CHUNK, self.blank);
        assert!(
            chunk < 1 << (u32::BITS - CHUNK_SHIFT),
            "fewer than 2^32 values"
        );
        self.named_by.push(u32::MAX);
        chunk as u32
    }

    /// Chunks in use, those that [`PageIndex::keep_only`] took back not among them.
    #[inline]
    pub fn chunks(&self) -> usize {
        self.named_by.len() - self.free.len()
    }

    /// Takes back all chunks but those of `numbers`: the other numbers have the value `blank`
    /// again. No place that was looked up before may be used afterwards.
    #[cold]
    #[inline(never)]
    pub fn keep_only(&mut self, numbers: impl Iterator<Item = u64>) {
        let mut keep = std::mem::take(&mut self.keep);
        keep.clear();
        keep.resize(self.named_by.len(), false);
        for number in numbers {
            keep[self.place(number).0 as usize / CHUNK] = true;
        }
        for (chunk, &keep) in keep.iter().enumerate() {
            let entry = self.named_by[chunk];
            if !keep && entry != u32::MAX {
                self.values[chunk * CHUNK..][..CHUNK].fill(self.blank);
                self.directory[entry as usize] = 0;
                self.named_by[chunk] = u32::MAX;
                self.free.push(chunk as u32);
            }
        }
        self.keep = keep;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn values_agree_with_a_map_when_chunks_are_taken_back() {
        let mut index = PageIndex::new(u32::MAX);
        let mut model: HashMap<u64, u32> = HashMap::new();
        let mut x = 5u64;
        for step in 0..60_000u32 {
            x = x
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let number = ((x >> 40) % 300) * 401;
            *index.at(number) = step;
            model.insert(number, step);
            if step % 5_000 == 4_999 {
                let kept = |n: &u64| n / 512 % 7 == u64::from(step / 5_000) % 7;
                index.keep_only(model.keys().copied().filter(kept));
                model.retain(|n, _| kept(n));
                assert!(index.chunks() < 60, "{}", index.chunks());
            }
            for other in [number, number + 1, (x >> 20) % 300 * 401] {
                let known = model.get(&other).copied().unwrap_or(u32::MAX);
                let place = index.place(other);
                assert_eq!(
                    (index.get(other), index.get_at(other, place)),
                    (known, known)
                );
            }
        }
        assert!(index.values.len() <= 512 * 240, "chunks are used again");
    }
}
