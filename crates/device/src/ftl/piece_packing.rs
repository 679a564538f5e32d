//! Few values among many places, in about as many bits as it takes to say them.

/// Places of a piece.
pub(super) const PLACES: usize = 2048;
const PLACE_BITS: u32 = PLACES.trailing_zeros();
/// With more entries than this a bit for every place is less than a number for every entry.
const LISTED: usize = PLACES / PLACE_BITS as usize;

/// Words of the map of places, and of a quarter of it.
const MAP: usize = PLACES / 64;
const QUARTER: usize = MAP / 4;
/// Says in word 0 that there is a map.
const MAPPED: u64 = 1 << 15;
const COUNT: u64 = MAPPED - 1;

/// Reads and writes *pieces*: words that hold the values of some of 2,048 places, packed without
/// gaps and ordered by place.
///
/// Word 0 counts the entries in its lowest 15 bits. Up to 186 entries are numbers of `width + 11`
/// bits with the place above the value, found by bisection. With more the words 1 to 32 have a bit
/// for every place, and the entries that follow are values alone; the upper three quarters of word
/// 0 count the entries before each quarter of the map but the first.
///
/// Zeros are a piece without entries. An entry more moves all that follow; the longest piece has
/// some 8 KiB. Pieces do not shrink, so that what is taken out and comes back allocates nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct PiecePacking {
    /// Bits of a value: 1 to 32.
    width: u32,
}

/// What [`PiecePacking::put`] found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Put {
    /// Another value in that place.
    Replaced(u32),
    /// No value there, and room for one.
    Added,
    /// No value there and no room: nothing was changed, see [`PiecePacking::words`].
    Full,
}

impl PiecePacking {
    /// For values below `values`, of which there are at most 2^32.
    pub fn new(values: u64) -> PiecePacking {
        let width = u64::BITS - values.saturating_sub(1).leading_zeros();
        assert!(width <= u32::BITS, "values have 32 bits");
        PiecePacking {
            width: width.max(1),
        }
    }

    /// First word and bits of the entries of a piece.
    fn entries(self, piece: &[u64]) -> (usize, u32) {
        match is_mapped(piece) {
            true => (1 + MAP, self.width),
            false => (1, self.width + PLACE_BITS),
        }
    }

    /// Entry number `rank`: its value, below its place if there is no map.
    fn entry(self, piece: &[u64], rank: usize) -> u64 {
        let (first, width) = self.entries(piece);
        read(&piece[first..], rank * width as usize, width)
    }

    fn value(self, entry: u64) -> u32 {
        (entry & ones(self.width)) as u32
    }

    /// The number of the entry of `place`, or that of the first one behind it.
    fn find(self, piece: &[u64], place: usize) -> Result<usize, usize> {
        if is_mapped(piece) {
            let (word, bit) = (place / 64, place % 64);
            let before = (word & !(QUARTER - 1))..word;
            let map = &piece[1..1 + MAP];
            let counted = match word / QUARTER {
                0 => 0,
                quarter => piece[0] >> (16 * quarter) & 0xFFFF,
            };
            let ones = |word: u64| word.count_ones() as usize;
            let near: usize = map[before].iter().map(|&word| ones(word)).sum();
            let rank = counted as usize + near + ones(map[word] & ((1 << bit) - 1));
            return match map[word] >> bit & 1 {
                0 => Err(rank),
                _ => Ok(rank),
            };
        }
        let (mut from, mut to) = (0, count(piece));
        while from < to {
            let middle = (from + to) / 2;
            let at = (self.entry(piece, middle) >> self.width) as usize;
            match at.cmp(&place) {
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Greater => to = middle,
            }
        }
        Err(from)
    }

    /// The value in `place`.
    pub fn get(self, piece: &[u64], place: usize) -> Option<u32> {
        let rank = self.find(piece, place).ok()?;
        Some(self.value(self.entry(piece, rank)))
    }

    /// Puts `value` in `place`, if it is there already or there is room.
    pub fn put(self, piece: &mut [u64], place: usize, value: u32) -> Put {
        let (first, width) = self.entries(piece);
        let mapped = is_mapped(piece);
        let entry = match mapped {
            true => u64::from(value),
            false => (place as u64) << self.width | u64::from(value),
        };
        let (rank, old) = match self.find(piece, place) {
            Ok(rank) => (rank, Some(self.value(self.entry(piece, rank)))),
            Err(rank) => (rank, None),
        };
        let at = rank * width as usize;
        if old.is_none() {
            let bits = (count(piece) + 1) * width as usize;
            if first + bits.div_ceil(64) > piece.len() || !mapped && count(piece) == LISTED {
                return Put::Full;
            }
            open(&mut piece[first..], at, width);
            note(piece, place, u64::wrapping_add);
        }
        write(&mut piece[first..], at, width, entry);
        old.map_or(Put::Added, Put::Replaced)
    }

    /// Empties `place`.
    pub fn remove(self, piece: &mut [u64], place: usize) -> Option<u32> {
        let rank = self.find(piece, place).ok()?;
        let old = self.value(self.entry(piece, rank));
        let (first, width) = self.entries(piece);
        close(&mut piece[first..], rank * width as usize, width);
        note(piece, place, u64::wrapping_sub);
        Some(old)
    }

    /// Words of a piece with room for one entry more, `None` standing for one without entries.
    ///
    /// A sixteenth, at most 8 words, is left free, so that most entries move no memory.
    pub fn words(self, piece: Option<&[u64]>) -> usize {
        let entries = 1 + piece.map_or(0, count);
        let mapped = entries > LISTED || piece.is_some_and(is_mapped);
        let (first, width) = match mapped {
            true => (1 + MAP, self.width),
            false => (1, self.width + PLACE_BITS),
        };
        let needed = first + (entries * width as usize).div_ceil(64);
        needed + (needed / 16).min(8)
    }

    /// Makes use of the words that were added to a piece: it gets a map when that is shorter.
    pub fn grown(self, piece: &mut [u64]) {
        if count(piece) < LISTED || is_mapped(piece) {
            return;
        }
        let listed = piece.to_vec();
        piece.fill(0);
        piece[0] = MAPPED;
        let mut at = 0;
        self.for_each(&listed, |place, value| {
            note(piece, place, u64::wrapping_add);
            write(&mut piece[1 + MAP..], at, self.width, u64::from(value));
            at += self.width as usize;
        });
    }

    /// All places with values, ascending.
    pub fn for_each(self, piece: &[u64], mut each: impl FnMut(usize, u32)) {
        if !is_mapped(piece) {
            for rank in 0..count(piece) {
                let entry = self.entry(piece, rank);
                each((entry >> self.width) as usize, self.value(entry));
            }
            return;
        }
        let mut rank = 0;
        for (word, &map) in piece[1..1 + MAP].iter().enumerate() {
            let mut left = map;
            while left != 0 {
                let place = 64 * word + left.trailing_zeros() as usize;
                each(place, self.value(self.entry(piece, rank)));
                rank += 1;
                left &= left - 1;
            }
        }
    }
}

/// Has a piece a map of its places?
fn is_mapped(piece: &[u64]) -> bool {
    piece[0] & MAPPED != 0
}

/// Entries of a piece.
fn count(piece: &[u64]) -> usize {
    (piece[0] & COUNT) as usize
}

/// An entry of `place` was added to all counts, or taken off.
fn note(piece: &mut [u64], place: usize, change: fn(u64, u64) -> u64) {
    piece[0] = change(piece[0], 1);
    if is_mapped(piece) {
        let word = place / 64;
        piece[1 + word] ^= 1 << (place % 64);
        for quarter in word / QUARTER + 1..4 {
            piece[0] = change(piece[0], 1 << (16 * quarter));
        }
    }
}

/// The lowest `width` bits, fewer than 64.
fn ones(width: u32) -> u64 {
    (1 << width) - 1
}

/// `width` bits from bit `at` on.
fn read(words: &[u64], at: usize, width: u32) -> u64 {
    let (word, bit) = (at / 64, at as u32 % 64);
    let low = words[word] >> bit;
    let high = match bit + width > 64 {
        true => words[word + 1] << (64 - bit),
        false => 0,
    };
    (low | high) & ones(width)
}

/// Sets `width` bits from bit `at` on.
fn write(words: &mut [u64], at: usize, width: u32, value: u64) {
    let (word, bit) = (at / 64, at as u32 % 64);
    words[word] = words[word] & !(ones(width) << bit) | value << bit;
    if bit + width > 64 {
        let written = 64 - bit;
        words[word + 1] = words[word + 1] & !(ones(width) >> written) | value >> written;
    }
}

/// Moves everything from bit `at` on up by `width`. The gap holds anything.
fn open(words: &mut [u64], at: usize, width: u32) {
    let (word, below) = (at / 64, ones(at as u32 % 64));
    for i in (word + 1..words.len()).rev() {
        words[i] = words[i] << width | words[i - 1] >> (64 - width);
    }
    words[word] = words[word] & below | (words[word] & !below) << width;
}

/// Moves everything down to bit `at` from `width` bits above.
fn close(words: &mut [u64], at: usize, width: u32) {
    let (word, below) = (at / 64, ones(at as u32 % 64));
    let kept = words[word] & below;
    for i in word..words.len() {
        let next = words.get(i + 1).map_or(0, |next| next << (64 - width));
        words[i] = words[i] >> width | next;
    }
    words[word] = words[word] & !below | kept;
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::rng::SplitMix64;
    use std::collections::BTreeMap;

    struct Checked {
        packing: PiecePacking,
        piece: Vec<u64>,
        model: BTreeMap<usize, u32>,
    }

    impl Checked {
        fn new(values: u64) -> Checked {
            Checked {
                packing: PiecePacking::new(values),
                piece: vec![0],
                model: BTreeMap::new(),
            }
        }

        fn put(&mut self, place: usize, value: u32) {
            let old = self.model.insert(place, value);
            let mut put = self.packing.put(&mut self.piece, place, value);
            if put == Put::Full {
                let words = self.packing.words(Some(&self.piece));
                self.piece.resize(words, 0);
                self.packing.grown(&mut self.piece);
                put = self.packing.put(&mut self.piece, place, value);
            }
            assert_eq!(put, old.map_or(Put::Added, Put::Replaced));
        }

        fn remove(&mut self, place: usize) {
            let removed = self.packing.remove(&mut self.piece, place);
            assert_eq!(removed, self.model.remove(&place));
        }

        fn check(&self) {
            for place in 0..PLACES {
                let value = self.model.get(&place).copied();
                assert_eq!(self.packing.get(&self.piece, place), value, "{place}");
            }
            let mut all = Vec::new();
            self.packing.for_each(&self.piece, |p, v| all.push((p, v)));
            assert!(all.into_iter().eq(self.model.iter().map(|(&p, &v)| (p, v))));
        }
    }

    /// Widths of values: the edges, those of common devices, and all bits.
    const VALUES: [u64; 7] = [1, 2, 1000, 1 << 28, 5 << 26, u32::MAX as u64, 1 << 32];

    #[test]
    fn a_piece_is_a_map_of_its_places_at_every_size() {
        for (run, &values) in VALUES.iter().cycle().take(21).enumerate() {
            let (mut rng, mut checked) = (SplitMix64::new(run as u64), Checked::new(values));
            // Grows, shrinks and grows again, past the number where the map comes in.
            for (puts, steps) in [(9, 300), (5, 300), (9, 1200), (1, 2500), (10, 6000)] {
                for step in 0..steps {
                    let place = rng.below(PLACES as u64) as usize;
                    match rng.below(10) < puts {
                        true => checked.put(place, rng.below(values) as u32),
                        false => checked.remove(place),
                    }
                    if step % 97 == 0 {
                        checked.check();
                    }
                }
                checked.check();
            }
        }
    }

    #[test]
    fn every_place_can_be_filled_in_order_and_emptied() {
        for values in VALUES {
            let mut checked = Checked::new(values);
            let value = |place: usize| (place as u64 * 77_777_777 % values) as u32;
            (0..PLACES).for_each(|place| checked.put(place, value(place)));
            checked.check();
            (0..PLACES).for_each(|place| checked.remove(place));
            checked.check();
            let words = checked.piece.len();
            let backwards = (0..PLACES).rev();
            backwards.for_each(|place| checked.put(place, value(place)));
            checked.check();
            assert_eq!(checked.piece.len(), words, "room is kept");
        }
    }
}
