//! Page numbers by page number, in both directions of the mapping.

use std::sync::Arc;

/// No page.
pub(crate) const NONE: u32 = u32::MAX;

/// Numbers of a piece. A page on its own takes a whole piece, so pieces are small: a million single
/// pages all over 1 TiB (2^28 pages of 4 KiB) take 128 MB and a list of 34 MB.
pub const PIECE: usize = 32;

type Piece = [u32; PIECE];

/// A table of 32-bit page numbers, all of which are none ([`NONE`]) at first.
///
/// Numbers are kept in pieces of 32 that exist from their first touch.
///
/// Memory: 128 bytes for each piece that was touched, and 4 bytes for each piece of the whole table, in a
/// list that the operating system provides on first use.
///
/// The pieces of a frozen table ([`PageTable::freeze`]) belong to all of its copies. A copy takes a
/// piece for itself when it first changes a number there.
#[derive(Clone, Debug)]
pub(crate) struct PageTable {
    own: Pieces,
    /// Pieces shared with copies, if the table was frozen. Those in `own` replace them.
    frozen: Option<Arc<Pieces>>,
}

impl PageTable {
    /// `len` places for numbers.
    pub fn new(len: u64) -> PageTable {
        let pieces = len.div_ceil(PIECE as u64);
        let pieces = usize::try_from(pieces).expect("tables fit the address space");
        PageTable {
            own: Pieces::new(pieces),
            frozen: None,
        }
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
            let Some(piece) = changed.get(at) else {
                continue;
            };
            match self.own.get_mut(at) {
                Some(old) => *old = *piece,
                None => _ = self.own.add(at, *piece),
            }
        }
    }

    /// The shared piece `at`.
    fn frozen(&self, at: usize) -> Option<&Piece> {
        self.frozen.as_ref()?.get(at)
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
            None => self.get_frozen(index),
        }
    }

    #[cold]
    #[inline(never)]
    fn get_frozen(&self, index: usize) -> u32 {
        let piece = self.frozen(index / PIECE);
        piece.map_or(NONE, |piece| piece[index % PIECE])
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
            match self.own.get(at).or_else(|| self.frozen(at)) {
                Some(piece) => (index..stop)
                    .zip(&piece[place..])
                    .for_each(|(at, &number)| f(at, number)),
                None => (index..stop).for_each(|at| f(at, NONE)),
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
            None => add_piece(&mut self.own, self.frozen.as_deref(), index / PIECE),
        };
        std::mem::replace(&mut piece[index % PIECE], number)
    }

    /// Sets number `index` to none, which takes no memory where there was none.
    ///
    /// # Panics
    /// If `index` lies beyond the last piece.
    pub fn clear(&mut self, index: u64) {
        if self.get(index) != NONE {
            self.replace(index, NONE);
        }
    }

    /// Bytes of the pieces so far, those shared with copies included, and of the lists of pieces.
    pub fn bytes(&self) -> u64 {
        self.own.bytes() + self.frozen.as_ref().map_or(0, |frozen| frozen.bytes())
    }
}

/// Gives a table its own piece `at`: a copy of the shared one, or one without numbers.
#[cold]
#[inline(never)]
fn add_piece<'a>(own: &'a mut Pieces, frozen: Option<&Pieces>, at: usize) -> &'a mut Piece {
    let shared = frozen.and_then(|frozen| frozen.get(at));
    own.add(at, shared.copied().unwrap_or([NONE; PIECE]))
}

/// Pieces for which addresses are reserved from the start, 256 MiB at most. The operating system provides
/// memory for them on first use, and until then a table never moves: a list that is copied to grow exists
/// twice meanwhile.
const RESERVED: usize = 1 << 21;

/// Pieces in the order of their first touch.
#[derive(Debug)]
struct Pieces {
    /// For each piece of the table its number in `pieces`, counted from 1; 0 if it does not exist.
    slots: Vec<u32>,
    pieces: Vec<Piece>,
}

impl Pieces {
    fn new(count: usize) -> Pieces {
        Pieces {
            slots: vec![0; count],
            pieces: Vec::with_capacity(count.min(RESERVED)),
        }
    }

    #[inline]
    fn get(&self, at: usize) -> Option<&Piece> {
        self.pieces.get((self.slots[at] as usize).wrapping_sub(1))
    }

    #[inline]
    fn get_mut(&mut self, at: usize) -> Option<&mut Piece> {
        let slot = (self.slots[at] as usize).wrapping_sub(1);
        self.pieces.get_mut(slot)
    }

    /// Adds a piece that does not exist yet.
    fn add(&mut self, at: usize, piece: Piece) -> &mut Piece {
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
        if !self.pieces.is_empty() {
            copy.slots.copy_from_slice(&self.slots);
            copy.pieces.extend_from_slice(&self.pieces);
        }
        copy
    }
}

#[cfg(test)]
mod tests;
