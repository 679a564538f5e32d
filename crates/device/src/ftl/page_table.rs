//! Page numbers by page number, in both directions of the mapping.

use super::piece_packing::{PLACES, PiecePacking, Put};
use super::piece_pool::PiecePool;
use std::sync::Arc;

/// No page.
pub(super) const NONE: u32 = u32::MAX;

/// A dense piece.
type Piece = [u32; PLACES];

/// Bytes of a dense piece.
const DENSE: u64 = size_of::<Piece>() as u64;

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
///
/// The dense pieces of a table that was frozen ([`PageTable::freeze`]) belong to all of its copies, and
/// a copy takes one for itself when it first changes a number there. That is found where there is no dense
/// piece: tables that were never frozen pay nothing for it.
#[derive(Clone, Debug)]
pub(super) struct PageTable {
    dense: Vec<Option<Box<Piece>>>,
    /// Those dense pieces that are not in `dense`, if the table was frozen.
    frozen: Option<Arc<Vec<Option<Box<Piece>>>>>,
    /// Pieces that are not dense.
    packed: PiecePool,
    packing: PiecePacking,
    spare: u64,
    /// Bytes of the dense pieces, those of all copies included.
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
            frozen: None,
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

    /// Makes copies cheap: they share the dense pieces.
    pub fn freeze(&mut self) {
        for at in 0..self.dense.len() {
            self.own(at);
        }
        let none = vec![None; self.dense.len()];
        self.frozen = Some(Arc::new(std::mem::replace(&mut self.dense, none)));
    }

    /// Takes the dense pieces back if there are no copies any more.
    pub fn thaw(&mut self) {
        let Some(frozen) = self.frozen.take() else {
            return;
        };
        match Arc::try_unwrap(frozen) {
            Ok(mut pieces) => {
                for (piece, changed) in pieces.iter_mut().zip(&mut self.dense) {
                    if changed.is_some() {
                        *piece = changed.take();
                    }
                }
                self.dense = pieces;
            }
            Err(frozen) => self.frozen = Some(frozen),
        }
    }

    /// The dense piece `at` that copies share, if this table has not changed it.
    fn frozen(&self, at: usize) -> Option<&Piece> {
        self.frozen.as_ref()?[at].as_deref()
    }

    /// The dense piece `at`, copied if it is shared.
    fn own(&mut self, at: usize) -> Option<&mut Piece> {
        let dense = &mut self.dense[at];
        if let (None, Some(frozen)) = (&dense, &self.frozen) {
            dense.clone_from(&frozen[at]);
        }
        dense.as_deref_mut()
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
            let at = index as usize / PLACES;
            match self.dense[at].as_deref().or_else(|| self.frozen(at)) {
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
        if let Some(piece) = self.own(at) {
            piece[place] = NONE;
        } else if let Some(piece) = self.packed.run_mut(at) {
            self.packing.remove(piece, place);
        }
    }

    #[cold]
    #[inline(never)]
    fn get_packed(&self, index: usize) -> u32 {
        let at = index / PLACES;
        if let Some(piece) = self.frozen(at) {
            return piece[index % PLACES];
        }
        let piece = self.packed.run(at);
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
        if let Some(piece) = self.own(at) {
            return std::mem::replace(&mut piece[place], number);
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

    fn make_dense(&mut self, at: usize) -> &mut Piece {
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
        let dense = self.dense.len() * size_of::<Option<Box<Piece>>>();
        self.dense_bytes + self.packed.bytes() + self.packed.list_bytes() + dense as u64
    }
}

#[cfg(test)]
mod tests;
