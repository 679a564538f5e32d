//! Values by number without hashing, for a few numbers out of very many.

use std::collections::BTreeMap;

/// Number -> value: a directory of chunks that are allocated on first touch.
///
/// No value is ever taken out. Where values name something that ends, its owner checks it:
/// the value of a page that leaves is far away in memory, and processors write in order, so
/// clearing it would cost more than the check.
/// Memory: one chunk of 512 values per neighbourhood of as many numbers of which one was touched,
/// until [`PageIndex::keep_only`] takes back the chunks that are of no use any more. The directory has
/// 4 bytes for each neighbourhood up to the highest, as long as there are at most 256 of them for each
/// chunk; neighbourhoods farther away, which would cost more than what is in them, are in a map.
#[derive(Clone, Debug)]
pub struct PageIndex<T> {
    /// Chunk number of `number >> CHUNK_SHIFT`; 0 is the chunk that stays blank for ever.
    directory: Vec<u32>,
    /// The same for chunk numbers behind the directory.
    far: BTreeMap<u32, u32>,
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
    /// In the chunk that stays blank: the number was not touched when it was looked up, or is far away.
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
/// Neighbourhoods of [`CHUNK`] numbers that one index can know: places are numbers of 32 bits, and one
/// chunk stays blank. The owner of an index sees to it that there are no more.
pub const MOST_CHUNKS: u64 = (1 << (u32::BITS - CHUNK_SHIFT)) - 1;
/// Entries that the directory may always have.
const NEAR: usize = 1 << 16;
/// Entries that it may have for each chunk in use: 1 KiB beside the 2 KiB or more of the chunk.
const ENTRIES_OF_CHUNK: usize = 256;

impl<T: Copy> PageIndex<T> {
    /// Every number has the value `blank`.
    pub fn new(blank: T) -> PageIndex<T> {
        PageIndex {
            directory: Vec::new(),
            far: BTreeMap::new(),
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
        match self.directory.get((number >> CHUNK_SHIFT) as usize) {
            Some(&chunk) => self.values[chunk as usize * CHUNK + (number as usize & (CHUNK - 1))],
            None => self.get_far(number),
        }
    }

    #[cold]
    #[inline(never)]
    fn get_far(&self, number: u64) -> T {
        self.values[self.far_chunk(number) as usize * CHUNK + (number as usize & (CHUNK - 1))]
    }

    /// The chunk of a number behind the directory; 0 if it was not touched.
    fn far_chunk(&self, number: u64) -> u32 {
        let at = u32::try_from(number >> CHUNK_SHIFT).ok();
        at.and_then(|at| self.far.get(&at)).copied().unwrap_or(0)
    }

    /// Where the value of `number` stands; [`Place::BLANK`] also if it is far away, where the map that
    /// knows it is worth no look ahead.
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
        if place.is_known() {
            self.values[place.0 as usize]
        } else {
            self.get_unknown(number)
        }
    }

    /// Apart from [`PageIndex::get`], so that nothing of it burdens those who know the place.
    #[cold]
    #[inline(never)]
    fn get_unknown(&self, number: u64) -> T {
        self.get(number)
    }

    /// The place of `number`, which counts as touched from now on.
    #[inline(always)]
    pub fn at_place(&mut self, number: u64, place: Place) -> &mut T {
        if place.is_known() {
            &mut self.values[place.0 as usize]
        } else {
            self.at_unknown(number)
        }
    }

    /// Apart from [`PageIndex::at`], as [`PageIndex::get_unknown`].
    #[cold]
    #[inline(never)]
    fn at_unknown(&mut self, number: u64) -> &mut T {
        self.at(number)
    }

    /// The place of `number`, which counts as touched from now on.
    #[inline(always)]
    pub fn touch_place(&mut self, number: u64) -> Place {
        let place = self.place(number);
        if place.is_known() {
            return place;
        }
        let chunk = self.touch((number >> CHUNK_SHIFT) as usize);
        Place((chunk * CHUNK) as u32 | (number as u32 & (CHUNK as u32 - 1)))
    }

    /// As [`PageIndex::touch_place`], but [`Place::BLANK`] for a number that is far away.
    #[inline(always)]
    pub fn touch_near(&mut self, number: u64) -> Place {
        match self.directory.get((number >> CHUNK_SHIFT) as usize) {
            Some(_) => self.touch_place(number),
            None => Place::BLANK,
        }
    }

    /// The value at a place: that of its number, unless that was touched since or is far away.
    #[inline(always)]
    pub fn at_known(&self, place: Place) -> &T {
        &self.values[place.0 as usize]
    }

    /// The value at a place that [`PageIndex::touch_place`] gave.
    #[inline(always)]
    pub fn at_known_mut(&mut self, place: Place) -> &mut T {
        &mut self.values[place.0 as usize]
    }

    /// The values at many places.
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
        let near = self.directory.iter().enumerate();
        let far = self.far.iter().map(|(&at, chunk)| (at as usize, chunk));
        let chunks = near.filter(|&(_, &chunk)| chunk != 0).chain(far);
        let values = chunks.flat_map(|(at, &chunk)| {
            let first = chunk as usize * CHUNK;
            let values = self.values[first..first + CHUNK].iter().enumerate();
            values.map(move |(i, &value)| (((at << CHUNK_SHIFT) + i) as u64, value))
        });
        values.filter(|&(_, value)| value != self.blank)
    }

    /// The chunk of entry `at`, a new one unless it is known to the map.
    #[cold]
    #[inline(never)]
    fn touch(&mut self, at: usize) -> usize {
        let entry = u32::try_from(at).expect("numbers of pages are below 2^41");
        if let Some(&chunk) = self.far.get(&entry) {
            return chunk as usize;
        }
        let chunk = self.free.pop().unwrap_or_else(|| self.add_chunk());
        if at >= self.directory.len() && at < NEAR + ENTRIES_OF_CHUNK * self.chunks() {
            self.extend(at);
        }
        match self.directory.get_mut(at) {
            Some(near) => *near = chunk,
            None => drop(self.far.insert(entry, chunk)),
        }
        self.named_by[chunk as usize] = entry;
        chunk as usize
    }

    /// Lets the directory reach up to entry `last`.
    fn extend(&mut self, last: usize) {
        self.directory.resize(last + 1, 0);
        while let Some(first) = self.far.first_entry()
            && *first.key() as usize <= last
        {
            let (at, chunk) = first.remove_entry();
            self.directory[at as usize] = chunk;
        }
    }

    fn add_chunk(&mut self) -> u32 {
        let chunk = self.values.len() / CHUNK;
        assert!(chunk as u64 <= MOST_CHUNKS, "fewer than 2^32 values");
        self.values.resize(self.values.len() + CHUNK, self.blank);
        self.named_by.push(u32::MAX);
        chunk as u32
    }

    /// Chunks in use, those that [`PageIndex::keep_only`] took back not among them.
    #[inline]
    pub fn chunks(&self) -> usize {
        self.named_by.len() - self.free.len()
    }

    /// Takes back all chunks but those of `numbers`. Chunks are used again as they are: from now on, any other number
    /// may have the value of a number whose chunk was taken back. No place that was looked up before may be used
    /// afterwards.
    #[cold]
    #[inline(never)]
    pub fn keep_only(&mut self, numbers: impl Iterator<Item = u64>) {
        let mut keep = std::mem::take(&mut self.keep);
        keep.clear();
        keep.resize(self.named_by.len(), false);
        for number in numbers {
            let near = self.directory.get((number >> CHUNK_SHIFT) as usize);
            let chunk = near.map_or_else(|| self.far_chunk(number), |&chunk| chunk);
            keep[chunk as usize] = true;
        }
        for (chunk, &keep) in keep.iter().enumerate() {
            let entry = self.named_by[chunk];
            if !keep && entry != u32::MAX {
                match self.directory.get_mut(entry as usize) {
                    Some(near) => *near = 0,
                    None => drop(self.far.remove(&entry)),
                }
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
    use crate::rng::SplitMix64;
    use std::collections::HashMap;

    #[test]
    fn values_agree_with_a_map_when_chunks_are_taken_back() {
        let mut index = PageIndex::new(u32::MAX);
        let mut model: HashMap<u64, u32> = HashMap::new();
        let mut rng = SplitMix64::new(5);
        for step in 0..60_000u32 {
            let x = rng.next_u64();
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
                let found = index.get(other);
                assert_eq!(index.get_at(other, index.place(other)), found);
                match model.get(&other) {
                    Some(&known) => assert_eq!(found, known),
                    // Nobody has touched it, or what was there may be left.
                    None => assert!(found == u32::MAX || found <= step),
                }
            }
        }
        assert!(index.values.len() <= 512 * 240, "chunks are used again");
    }

    /// Numbers as far apart as addresses can be.
    const LAST: u64 = (1 << 39) - 1;

    #[test]
    fn two_numbers_far_apart_take_two_chunks() {
        let mut index = PageIndex::new(0);
        for number in [0, LAST, 1 << 36, LAST - 512] {
            *index.at(number) = number as u32 | 1;
        }
        assert!(index.directory.len() <= 1, "{}", index.directory.len());
        for (number, value) in [(0, 1), (LAST, u32::MAX), (1 << 36, 1), (LAST - 1, 0)] {
            assert_eq!(index.get(number), value, "{number}");
        }
        assert_eq!(index.get(u64::MAX), 0, "no number at all");
        let place = index.touch_place(LAST);
        assert_eq!(*index.at_known(place), u32::MAX);
        assert_eq!(index.get_at(LAST, index.place(LAST)), u32::MAX);
        let chunks = index.chunks();
        assert_eq!(index.touch_near(1 << 37), Place::BLANK, "far away");
        assert_eq!(index.chunks(), chunks);
        let near = index.touch_near(1);
        assert_eq!(near, index.place(1));
        assert_ne!(near, Place::BLANK);
        index.keep_only([1 << 36].into_iter());
        assert_eq!((index.get(LAST), index.get(1 << 36)), (0, 1));
        assert_eq!((index.chunks(), index.far.len()), (2, 1));
    }

    #[test]
    fn the_directory_takes_over_what_was_far() {
        let mut index = PageIndex::new(0u32);
        let numbers = |i: u64| (400 - i) * (1 << 17);
        for i in 0..400 {
            *index.at(numbers(i)) = i as u32 + 1;
            assert!(index.directory.len() <= NEAR + ENTRIES_OF_CHUNK * index.chunks());
        }
        assert!(index.directory.len() > NEAR, "{}", index.directory.len());
        assert!(
            index
                .far
                .keys()
                .all(|&at| at as usize >= index.directory.len())
        );
        for i in 0..400 {
            assert_eq!(index.get(numbers(i)), i as u32 + 1);
            assert_eq!(index.get(numbers(i) + 512), 0);
        }
    }
}
