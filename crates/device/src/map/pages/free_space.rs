//! Free space: which chips have more free pages than the GC threshold and the next program take.

use destage_types::ChipId;
use std::cell::Cell;

/// Two bits for each of 64 chips: whether it has free space, and whether that has to be found anew.
type Word = Cell<(u64, u64)>;

/// Chips with free space, cached: a chip is computed again when it is asked for after pages of it were
/// programmed or erased. Schemes that ask at all ask for every chip at every eviction.
#[derive(Clone, Debug)]
pub(super) struct FreeSpace(Vec<Word>);

impl FreeSpace {
    pub fn new(chips: u32) -> FreeSpace {
        let words = chips.div_ceil(u64::BITS);
        FreeSpace((0..words).map(|_| Cell::new((0, u64::MAX))).collect())
    }

    /// Pages of `chip` were programmed or erased. No frontier belongs to two chips.
    #[inline]
    pub fn changed(&mut self, chip: ChipId) {
        let word = self.0[chip.index() / 64].get_mut();
        word.1 |= 1 << (chip.0 % 64);
    }

    /// Word `number` for chips below `chips`, with `look` at those that have changed.
    #[inline]
    fn word(&self, number: usize, chips: u32, look: impl Fn(ChipId) -> bool) -> u64 {
        let Some(word) = self.0.get(number) else {
            return 0;
        };
        let (mut room, mut changed) = word.get();
        if changed == 0 {
            return room;
        }
        while changed != 0 {
            let bit = changed.trailing_zeros();
            let chip = 64 * number as u32 + bit;
            let has = chip < chips && look(ChipId(chip));
            room = room & !(1 << bit) | u64::from(has) << bit;
            changed &= changed - 1;
        }
        word.set((room, 0));
        room
    }

    /// Bits of `count` chips from `first` on, of `chips`, with `look` at those that have changed.
    #[inline]
    pub fn of(&self, first: ChipId, count: u32, chips: u32, look: impl Fn(ChipId) -> bool) -> u64 {
        assert!(count <= u64::BITS, "a chip has a bit");
        let (number, shift) = (first.index() / 64, first.0 % 64);
        let low = self.word(number, chips, &look) >> shift;
        let high = match shift {
            0 => 0,
            _ => self.word(number + 1, chips, &look) << (u64::BITS - shift),
        };
        let wanted = 1u64.checked_shl(count).map_or(u64::MAX, |bit| bit - 1);
        (low | high) & wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn a_chip_is_looked_at_once_after_each_change() {
        let mut room = FreeSpace::new(130);
        let asked = RefCell::new(Vec::new());
        let ask = |room: &FreeSpace, number| {
            let bits = room.word(number, 130, |chip| {
                asked.borrow_mut().push(chip.0);
                chip.0 % 3 == 0
            });
            (bits, asked.take().len())
        };
        assert_eq!(ask(&room, 2), (0b10, 2), "chips 128 and 129");
        assert_eq!(ask(&room, 2), (0b10, 0));
        assert_eq!(ask(&room, 3), (0, 0), "beyond all chips");
        room.changed(ChipId(129));
        room.changed(ChipId(129));
        assert_eq!(ask(&room, 2), (0b10, 1));
        assert_eq!(ask(&room, 1).1, 64);
    }
}
