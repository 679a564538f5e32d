//! Where pages are that were accessed, found by their numbers.

use destage_types::NumberMap;

/// Where a page is: in which stack, 0 or 1, and in which of its slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackSlot {
    pub stack: u8,
    pub slot: u32,
}

/// Pages of a block.
pub const BLOCK: usize = 64;

/// No page.
const NONE: u32 = u32::MAX;

/// The place of a page in a word, if it has one; a stack has fewer than 2^31 slots.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PackedSlot(u32);

impl From<StackSlot> for PackedSlot {
    fn from(place: StackSlot) -> PackedSlot {
        PackedSlot(place.slot << 1 | u32::from(place.stack))
    }
}

impl PackedSlot {
    pub fn get(self) -> Option<StackSlot> {
        let place = StackSlot {
            stack: (self.0 & 1) as u8,
            slot: self.0 >> 1,
        };
        (self.0 != NONE).then_some(place)
    }
}

/// The place of each page that was accessed.
#[derive(Default)]
pub struct TouchedPages {
    /// Where in `places` the pages of a block are, of which at least one was accessed.
    blocks: NumberMap<u64, u32>,
    places: Vec<[PackedSlot; BLOCK]>,
}

impl TouchedPages {
    /// Place of the page with this number.
    pub fn place(&self, number: u64) -> Option<StackSlot> {
        let block = self.blocks.get(&block_of(number))?;
        self.place_in(*block, number)
    }

    /// Place of the page with this number, which is in this block.
    pub fn place_in(&self, block: u32, number: u64) -> Option<StackSlot> {
        self.places[block as usize][in_block(number)].get()
    }

    /// The block of the page with this number, which is about to be accessed.
    pub fn block(&mut self, number: u64) -> u32 {
        *self.blocks.entry(block_of(number)).or_insert_with(|| {
            self.places.push([PackedSlot(NONE); BLOCK]);
            self.places.len() as u32 - 1
        })
    }

    /// Places of the page with this number and of those after it in their block.
    pub fn places_from(&mut self, block: u32, number: u64) -> &mut [PackedSlot] {
        &mut self.places[block as usize][in_block(number)..]
    }

    /// Was a page of the block accessed that has page `number`?
    pub fn has_block(&self, number: u64) -> bool {
        self.blocks.contains_key(&block_of(number))
    }
}

/// Number of the block of a page.
pub fn block_of(number: u64) -> u64 {
    number / BLOCK as u64
}

fn in_block(number: u64) -> usize {
    (number % BLOCK as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_types::rng::SplitMix64;
    use std::collections::BTreeMap;

    #[test]
    fn it_is_a_map_of_pages() {
        let (mut touched, mut known) = (TouchedPages::default(), BTreeMap::new());
        let mut random = SplitMix64::new(5);
        for _ in 0..20_000 {
            let number = match random.below(3) {
                0 => random.next_u64() >> 3,
                _ => random.below(1 << 14) * 3,
            };
            assert_eq!(touched.place(number), known.get(&number).copied());
            let block = number / 64 * 64;
            let has_block = known.range(block..block + 64).next().is_some();
            assert_eq!(touched.has_block(number), has_block);
            let place = StackSlot {
                stack: random.below(2) as u8,
                slot: random.below(1 << 30) as u32,
            };
            known.insert(number, place);
            let block = touched.block(number);
            touched.places_from(block, number)[0] = place.into();
            assert_eq!(touched.place_in(block, number), Some(place));
        }
    }
}
