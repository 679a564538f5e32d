//! Page numbers by page number, in both directions of the mapping.

use super::piece_packing::{PLACES, PiecePacking, Put};
use super::piece_pool::PiecePool;

/// No page.
pub(super) const NONE: u32 = u32::MAX;

/// Bytes of a dense piece.
const DENSE: u64 = size_of::<[u32; PLACES]>() as u64;

/// What a packed piece takes beyond 4 bytes a number at the most, for numbers of up to 29 bits (2 TiB
/// in pages of 4 KiB): that many near 186 numbers, the places of which take 11 bits each.
const PACKED: u64 = 256;

/// A table of 32-bit page numbers, all of which are none ([`NONE`]) at first.
///
/// Numbers are kept in pieces of 2,048 that exist from their first touch, and a piece has one of
/// two forms. A *dense* one is an array, found with one test and read with one load. A *packed*
/// one ([`PiecePacking`]) has the numbers that are not none, in 5 bytes or fewer each, and takes a
/// search. A piece is dense from its first touch, or from when a packed one is to grow, if then
/// the pieces of the table together take no more than 4 bytes for each number set, plus `spare`.
/// So tables that are small or filled by neighbourhoods are dense all over, and single pages all
/// over a large device do not take 8 KiB each.
///
/// Memory: at most 4 bytes for each number set, plus `spare`, plus 256 bytes for each piece and
/// 12 for its places in the lists of pieces, but for what the [`PiecePool`] cannot avoid (one segment,
/// and one in 64 bytes).
#[derive(Clone, Debug)]
pub(super) struct PageTable {
    dense: Vec<Option<Box<[u32; PLACES]>>>,
    /// Pieces that are not dense.
    packed: PiecePool,
    packing: PiecePacking,
    spare: u64,
    /// Bytes of the dense pieces.
    dense_bytes: u64,
}

impl PageTable {
    /// `len` places for numbers below `values`. The lists of pieces are memory that the operating
    /// system provides on first use.
    pub fn new(len: u64, values: u64, spare: u64) -> PageTable {
        let pieces = len.div_ceil(PLACES as u64);
        let pieces = usize::try_from(pieces).expect("tables fit the address space");
        PageTable {
            dense: vec![None; pieces],
            packed: PiecePool::new(pieces),
            packing: PiecePacking::new(values),
            spare,
            dense_bytes: 0,
        }
    }

    /// The part of `bytes` that is left as spare if every piece of a table of `len` places may be
    /// packed, but not less than a fifth.
    pub fn spare_of(bytes: u64, len: u64) -> u64 {
        let packed = len.div_ceil(PLACES as u64) * PACKED;
        bytes.saturating_sub(packed).max(bytes / 5)
    }

    /// Number `index`.
    ///
    /// # Panics
    /// If `index` lies beyond the last piece.
    #[inline]
    pub fn get(&self, index: u64) -> u32 {
        let index = index as usize;
        match &self.dense[index / PLACES] {
            Some(piece) => piece[index % PLACES],
            None => self.get_packed(index),
        }
    }

    /// Gives `count` numbers from `first` on to `f`, each with its index.
    ///
    /// # Panics
    /// If one of them lies beyond the last piece.
    #[inline]
    pub fn each(&self, first: u64, count: u32, mut f: impl FnMut(u64, u32)) {
        let (mut index, end) = (first, first + u64::from(count));
        while index < end {
            let place = index as usize % PLACES;
            let stop = end.min(index + (PLACES - place) as u64);
            match &self.dense[index as usize / PLACES] {
                Some(piece) => {
                    let run = &piece[place..place + (stop - index) as usize];
                    (index..stop)
                        .zip(run)
                        .for_each(|(at, &number)| f(at, number));
                }
                None => (index..stop).for_each(|at| f(at, self.get_packed(at as usize))),
            }
            index = stop;
        }
    }

    /// Sets number `index` and gives the one before. `set` numbers are not none, at least.
    ///
    /// # Panics
    /// If `index` lies beyond the last piece.
    #[inline]
    pub fn replace(&mut self, index: u64, number: u32, set: u64) -> u32 {
        let index = index as usize;
        match &mut self.dense[index / PLACES] {
            Some(piece) => std::mem::replace(&mut piece[index % PLACES], number),
            None => self.replace_packed(index, number, set),
        }
    }

    /// Sets number `index` to none.
    ///
    /// # Panics
    /// If `index` lies beyond the last piece.
    pub fn clear(&mut self, index: u64) {
        let index = index as usize;
        let (at, place) = (index / PLACES, index % PLACES);
        if let Some(piece) = &mut self.dense[at] {
            piece[place] = NONE;
        } else if let Some(piece) = self.packed.run_mut(at) {
            self.packing.remove(piece, place);
        }
    }

    #[cold]
    #[inline(never)]
    fn get_packed(&self, index: usize) -> u32 {
        let piece = self.packed.run(index / PLACES);
        let number = piece.and_then(|piece| self.packing.get(piece, index % PLACES));
        number.unwrap_or(NONE)
    }

    #[cold]
    #[inline(never)]
    fn replace_packed(&mut self, index: usize, number: u32, set: u64) -> u32 {
        let (at, place) = (index / PLACES, index % PLACES);
        if number == NONE {
            let old = self.get_packed(index);
            self.clear(index as u64);
            return old;
        }
        if let Some(piece) = self.packed.run_mut(at) {
            match self.packing.put(piece, place, number) {
                Put::Replaced(old) => return old,
                Put::Added => return NONE,
                Put::Full => {}
            }
        }
        let taken = self.dense_bytes + self.packed.bytes();
        let room = 4 * set + self.spare;
        if taken + DENSE <= room {
            self.make_dense(at)[place] = number;
            return NONE;
        }
        let words = self.packing.words(self.packed.run(at));
        let tight = taken >= room + PACKED * self.dense.len() as u64;
        let piece = self.packed.grow(at, words, tight);
        self.packing.grown(piece);
        let put = self.packing.put(piece, place, number);
        debug_assert_eq!(put, Put::Added, "a piece that has grown has room");
        NONE
    }

    fn make_dense(&mut self, at: usize) -> &mut [u32; PLACES] {
        let dense = self.dense[at].insert(Box::new([NONE; PLACES]));
        if let Some(piece) = self.packed.run(at) {
            let each = |place: usize, number| dense[place] = number;
            self.packing.for_each(piece, each);
            self.packed.release(at);
        }
        self.dense_bytes += DENSE;
        dense
    }

    /// Bytes of the pieces so far, and of the lists of pieces.
    pub fn bytes(&self) -> u64 {
        let dense = self.dense.len() * size_of::<Option<Box<[u32; PLACES]>>>();
        self.dense_bytes + self.packed.bytes() + self.packed.list_bytes() + dense as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::rng::SplitMix64;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// A segment of the pool.
    const SEGMENT: u64 = 256 << 10;

    struct Checked {
        table: PageTable,
        model: BTreeMap<u64, u32>,
        len: u64,
    }

    impl Checked {
        fn new(pieces: u64, values: u64, spare: u64) -> Checked {
            let len = pieces * PLACES as u64;
            Checked {
                table: PageTable::new(len, values, spare),
                model: BTreeMap::new(),
                len,
            }
        }

        fn replace(&mut self, index: u64, number: u32) {
            let set = self.model.len() as u64;
            let old = match number {
                NONE => self.model.remove(&index),
                _ => self.model.insert(index, number),
            };
            let replaced = self.table.replace(index, number, set);
            assert_eq!(replaced, old.unwrap_or(NONE), "{index}");
        }

        fn clear(&mut self, index: u64) {
            self.model.remove(&index);
            self.table.clear(index);
        }

        fn check(&self) {
            for index in 0..self.len {
                let number = self.model.get(&index).copied().unwrap_or(NONE);
                assert_eq!(self.table.get(index), number, "{index}");
            }
            let dense = self.table.dense.iter().flatten().count() as u64;
            assert_eq!(self.table.dense_bytes, dense * DENSE);
        }
    }

    /// From one number to all of them, in several orders: what [`PageTable`] promises.
    fn assert_bounded(order: impl Iterator<Item = u64>, len: u64, values: u64, spare: u64) {
        let mut table = PageTable::new(len, values, spare);
        let pieces = len / PLACES as u64;
        let number = |index: u64| (index.wrapping_mul(0x9E37_79B9_7F4A_7C15) % values) as u32;
        let mut given = 0;
        for (set, index) in (0..).zip(order) {
            assert_eq!(table.replace(index, number(index), set), NONE);
            let most = 4 * (set + 1) + spare + pieces * (PACKED + 12) + SEGMENT;
            let bytes = table.bytes();
            assert!(bytes <= most + bytes / 64, "{bytes} of {most} for {set}");
            given = set + 1;
        }
        assert_eq!(given, len);
        assert!((0..len).all(|index| table.get(index) == number(index)));
    }

    #[test]
    fn bytes_stay_bounded_at_every_density() {
        // A piece is an eighth of a segment when full, so this is some 1,000 pieces of each size.
        let pieces = 1024;
        let len = pieces * PLACES as u64;
        let values = [(1 << 28, 0), (5 << 26, 64 * DENSE)];
        for (seed, (values, spare)) in (1..).zip(values) {
            let (mut rng, mut all) = (SplitMix64::new(seed), (0..len).collect::<Vec<_>>());
            for i in (1..all.len()).rev() {
                all.swap(i, rng.below(i as u64 + 1) as usize);
            }
            assert_bounded(all.into_iter(), len, values, spare);
            for stride in [2048, 11, 2, 1] {
                let turns = (0..stride).flat_map(|first| (first..len).step_by(stride as usize));
                assert_bounded(turns, len, values, spare);
            }
        }
    }

    #[test]
    fn neighbourhoods_are_dense_and_single_pages_are_packed() {
        let (len, spare) = (64 * PLACES as u64, 2 * DENSE);
        let mut table = PageTable::new(len, 1 << 28, spare);
        let empty = table.bytes();
        assert_eq!((table.get(0), table.get(len - 1)), (NONE, NONE));
        table.clear(5);
        assert_eq!(table.bytes(), empty, "reading and clearing take nothing");
        for (set, piece) in (0..10).enumerate() {
            assert_eq!(table.replace(piece * PLACES as u64, 7, set as u64), NONE);
        }
        assert_eq!(table.bytes(), empty + spare + SEGMENT);
        let mut filled = PageTable::new(len, 1 << 28, spare);
        (0..len).for_each(|index| _ = filled.replace(index, 1, index));
        assert_eq!(
            filled.bytes(),
            empty + 4 * len,
            "filled in order all is dense"
        );
    }

    proptest! {
        #[test]
        fn a_table_is_a_map(
            seed: u64,
            spare in 0..16 * DENSE,
            width in 1..33u32,
            phases in prop::collection::vec((1..PLACES as u64, 0..10u64, 1..4000u32), 1..6),
        ) {
            let values = 1u64 << width;
            let (mut rng, mut checked) = (SplitMix64::new(seed), Checked::new(16, values, spare));
            for (span, clears, steps) in phases {
                for _ in 0..steps {
                    // Some pieces are filled, others get single pages.
                    let piece = rng.below(16);
                    let within = match piece % 4 {
                        0 => rng.below(PLACES as u64),
                        _ => rng.below(span),
                    };
                    let index = piece * PLACES as u64 + within;
                    match rng.below(20) {
                        n if n < clears => checked.clear(index),
                        19 => checked.replace(index, NONE),
                        _ => checked.replace(index, rng.below(values) as u32),
                    }
                }
                checked.check();
            }
        }
    }
}
