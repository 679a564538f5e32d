//! Page numbers by page number, in both directions of the mapping.

use super::fill::Filled;
use std::sync::Arc;

/// No page.
pub(super) const NONE: u32 = u32::MAX;

/// Numbers of a piece. A page on its own takes a whole piece, so pieces are small: a million single
/// pages all over 1 TiB (2^28 pages of 4 KiB) take 128 MB and a list of 34 MB.
pub const PIECE: usize = 32;

pub(super) type TablePiece = [u32; PIECE];

/// A table of 32-bit page numbers, which has none ([`NONE`]) at first, or those of a fill.
///
/// Numbers that were set are kept in pieces of 32 that exist from their first touch.
///
/// Memory: 128 bytes for each piece that was touched, and 4 bytes for each piece of the whole table, in a
/// list that the operating system provides on first use.
///
/// The pieces of a frozen table ([`PageTable::freeze`]) belong to all of its copies. A copy takes a
/// piece for itself when it first changes a number there.
#[derive(Clone, Debug)]
pub(super) struct PageTable {
    own: Pieces,
    /// Pieces shared with copies, if the table was frozen. Those in `own` replace them.
    frozen: Option<Arc<Pieces>>,
    initial: Option<Filled>,
}

impl PageTable {
    /// `len` places for numbers.
    pub fn new(len: u64) -> PageTable {
        let pieces = len.div_ceil(PIECE as u64);
        let pieces = usize::try_from(pieces).expect("tables fit the address space");
        PageTable {
            own: Pieces::new(pieces),
            frozen: None,
            initial: None,
        }
    }

    /// Gives the numbers of a fill to a table that has none.
    pub fn set_initial(&mut self, initial: Filled) {
        debug_assert!(self.own.pieces.is_empty() && self.frozen.is_none());
        self.initial = Some(initial);
    }

    #[inline(always)]
    fn initial(&self, index: u64) -> u32 {
        let initial = self.initial.as_ref();
        initial.map_or(NONE, |filled| filled.number(index))
    }

    /// Makes copies cheap: they share the pieces.
    pub fn freeze(&mut self) {
        self.merge();
        let none = Pieces::new(self.own.slots.len());
        self.frozen = Some(Arc::new(std::mem::replace(&mut self.own, none)));
    }

    /// Takes the shared pieces back if there are no copies any more.
    pub fn thaw(&mut self) {
        let shared = |frozen| Arc::strong_count(frozen) > 1;
        if !self.frozen.as_ref().is_some_and(shared) {
            self.merge();
        }
    }

    /// Makes all pieces this table's own.
    fn merge(&mut self) {
        let Some(frozen) = self.frozen.take() else {
            return;
        };
        let changed = std::mem::replace(&mut self.own, Arc::unwrap_or_clone(frozen));
        for at in 0..changed.slots.len() {
            if changed.is_emptied(at) {
                self.own.set_emptied(at);
            }
            let Some(piece) = changed.get(at) else {
                continue;
            };
            match self.own.get_mut(at) {
                Some(old) => *old = *piece,
                None => _ = self.own.add(at, *piece),
            }
        }
    }

    /// Piece `at` where the table has none of its own: the one of copies, or one that lost its last number.
    fn shared(&self, at: usize) -> Option<&TablePiece> {
        let emptied = |pieces: &Pieces| pieces.is_emptied(at);
        match emptied(&self.own) || self.frozen.as_deref().is_some_and(emptied) {
            true => Some(&EMPTIED_PIECE),
            false => self.frozen.as_ref()?.get(at),
        }
    }

    /// Number `index`.
    ///
    /// # Panics
    /// If `index` lies beyond the last piece.
    #[inline]
    pub fn get(&self, index: u64) -> u32 {
        let index = index as usize;
        match self.own.get(index / PIECE) {
            Some(piece) => piece[index % PIECE],
            None => self.get_shared(index),
        }
    }

    #[inline(never)]
    fn get_shared(&self, index: usize) -> u32 {
        match self.shared(index / PIECE) {
            Some(piece) => piece[index % PIECE],
            None => self.initial(index as u64),
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
            let (at, place) = (index as usize / PIECE, index as usize % PIECE);
            let stop = end.min(index + (PIECE - place) as u64);
            match self.own.get(at).or_else(|| self.shared(at)) {
                Some(piece) => (index..stop)
                    .zip(&piece[place..])
                    .for_each(|(at, &number)| f(at, number)),
                None => (index..stop).for_each(|at| f(at, self.initial(at))),
            }
            index = stop;
        }
    }

    /// Sets number `index` and gives the one before.
    ///
    /// # Panics
    /// If `index` lies beyond the last piece.
    #[inline]
    pub fn replace(&mut self, index: u64, number: u32) -> u32 {
        let index = index as usize;
        let piece = match self.own.get_mut(index / PIECE) {
            Some(piece) => piece,
            None => self.add_piece(index / PIECE),
        };
        std::mem::replace(&mut piece[index % PIECE], number)
    }

    /// Gives the table its own piece `at`: a copy of the shared one, or the numbers from before.
    #[cold]
    #[inline(never)]
    fn add_piece(&mut self, at: usize) -> &mut TablePiece {
        let first = (at * PIECE) as u64;
        let initial = |filled: &Filled| filled.piece(first);
        let initial = || self.initial.as_ref().map_or(EMPTIED_PIECE, initial);
        let piece = self.shared(at).copied().unwrap_or_else(initial);
        self.own.add(at, piece)
    }

    /// Sets number `index` to none. That takes no memory where there was none, nor for a range that is cleared in order.
    ///
    /// # Panics
    /// If `index` lies beyond the last piece.
    pub fn clear(&mut self, index: u64) {
        if self.get(index) != NONE {
            self.replace(index, NONE);
        }
        if (index + 1).is_multiple_of(PIECE as u64) {
            self.own.give_back(index as usize / PIECE);
        }
    }

    /// Bytes of the pieces so far, those shared with copies included, and of the lists of pieces.
    pub fn bytes(&self) -> u64 {
        self.own.bytes() + self.frozen.as_ref().map_or(0, |frozen| frozen.bytes())
    }
}

/// Pieces for which addresses are reserved from the start, 256 MiB at most. The operating system provides
/// memory for them on first use, and until then a table never moves: a list that is copied to grow exists
/// twice meanwhile. A page in a browser has no addresses without memory.
const RESERVED: usize = if cfg!(target_family = "wasm") {
    0
} else {
    1 << 21
};

/// Pieces in the order of their first touch.
#[derive(Debug)]
struct Pieces {
    /// For each piece of the table its number in `pieces`, counted from 1; 0 if it does not exist, or [`EMPTIED`].
    slots: Vec<u32>,
    pieces: Vec<TablePiece>,
    /// Is one [`EMPTIED`]?
    has_emptied: bool,
}

/// The slot of a piece that lost its last number and takes no memory.
const EMPTIED: u32 = u32::MAX;
static EMPTIED_PIECE: TablePiece = [NONE; PIECE];

impl Pieces {
    fn new(count: usize) -> Pieces {
        Pieces {
            slots: vec![0; count],
            pieces: Vec::with_capacity(count.min(RESERVED)),
            has_emptied: false,
        }
    }

    fn is_emptied(&self, at: usize) -> bool {
        self.slots[at] == EMPTIED
    }

    fn set_emptied(&mut self, at: usize) {
        self.slots[at] = EMPTIED;
        self.has_emptied = true;
    }

    /// Takes the memory of a piece without numbers, if it is the newest.
    fn give_back(&mut self, at: usize) {
        let is_newest = self.slots[at] as usize == self.pieces.len();
        if is_newest && self.pieces.last() == Some(&EMPTIED_PIECE) {
            self.pieces.pop();
            self.set_emptied(at);
        }
    }

    #[inline]
    fn get(&self, at: usize) -> Option<&TablePiece> {
        self.pieces.get((self.slots[at] as usize).wrapping_sub(1))
    }

    #[inline]
    fn get_mut(&mut self, at: usize) -> Option<&mut TablePiece> {
        let slot = (self.slots[at] as usize).wrapping_sub(1);
        self.pieces.get_mut(slot)
    }

    /// Adds a piece that does not exist yet.
    fn add(&mut self, at: usize, piece: TablePiece) -> &mut TablePiece {
        let slot = self.pieces.len();
        self.pieces.push(piece);
        self.slots[at] = slot as u32 + 1;
        &mut self.pieces[slot]
    }

    fn bytes(&self) -> u64 {
        (size_of_val(&self.slots[..]) + size_of_val(&self.pieces[..])) as u64
    }
}

impl Clone for Pieces {
    /// Copies of an empty list write nothing, so that they take no memory.
    fn clone(&self) -> Pieces {
        let mut copy = Pieces::new(self.slots.len());
        copy.has_emptied = self.has_emptied;
        if self.has_emptied || !self.pieces.is_empty() {
            copy.slots.copy_from_slice(&self.slots);
            copy.pieces.extend_from_slice(&self.pieces);
        }
        copy
    }
}

#[cfg(test)]
mod tests;
