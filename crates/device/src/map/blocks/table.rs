//! Erase blocks: how much of each is written and valid, and how worn it is.

use crate::map::first_touch::FirstTouch;

/// No block.
pub(crate) const NONE: u32 = u32::MAX;

/// One block in 16 bytes. A block is in one list at most: that of free blocks while it is free, by its neighbour
/// before alone, and that of its valid count while it is full.
#[derive(Clone, Copy, Debug)]
pub(in crate::map) struct BlockRow {
    valid: u16,
    written: u16,
    erases: u32,
    /// Neighbours in its list.
    pub next: u32,
    pub prev: u32,
}

impl BlockRow {
    /// Pages with wanted data.
    #[inline]
    pub fn valid(&self) -> u32 {
        u32::from(self.valid)
    }

    /// Pages written since the last erase.
    #[inline]
    pub fn written(&self) -> u32 {
        u32::from(self.written)
    }

    /// Times the block was erased.
    #[inline]
    pub fn erases(&self) -> u32 {
        self.erases
    }

    /// Is a full block in the list of its valid count? Not so while it is being collected.
    #[inline]
    pub fn is_listed(&self) -> bool {
        self.next != NONE
    }
}

const UNTOUCHED: BlockRow = BlockRow {
    valid: 0,
    written: 0,
    erases: 0,
    next: NONE,
    prev: NONE,
};

/// All blocks of the device, numbered plane by plane.
#[derive(Clone, Debug)]
pub(super) struct BlockTable {
    table: FirstTouch<BlockRow, 256>,
    pages: u16,
}

impl BlockTable {
    /// All blocks free. `pages` per block.
    pub fn new(blocks: u64, pages: u16) -> BlockTable {
        BlockTable {
            table: FirstTouch::new(blocks, UNTOUCHED),
            pages,
        }
    }

    #[inline]
    pub fn get(&self, block: u32) -> BlockRow {
        self.table.get(u64::from(block))
    }

    #[inline]
    pub fn at(&mut self, block: u32) -> &mut BlockRow {
        self.table.at(u64::from(block))
    }

    /// So many pages of `block` were written with data, and others with none; says whether the block is full now.
    #[inline]
    pub fn wrote(&mut self, block: u32, data: u32, others: u32) -> bool {
        let pages = self.pages;
        let block = self.at(block);
        block.written += (data + others) as u16;
        block.valid += data as u16;
        block.written == pages
    }

    /// A page of `block` becomes invalid. Gives the block.
    #[inline]
    pub fn invalidated(&mut self, block: u32) -> &mut BlockRow {
        let block = self.at(block);
        block.valid -= 1;
        block
    }

    /// All data of the block are elsewhere now.
    pub fn emptied(&mut self, block: u32) {
        self.at(block).valid = 0;
    }

    /// Erases a full block without valid pages, which is in no list, and gives its erases so far.
    ///
    /// # Panics
    /// If the block is not full or holds valid pages: erasing it would lose data.
    pub fn erase(&mut self, block: u32) -> u32 {
        let pages = self.pages;
        let erased = self.at(block);
        assert_eq!(erased.written, pages, "only full blocks are erased");
        assert_eq!(erased.valid, 0, "a block with valid pages is not erased");
        *erased = BlockRow {
            erases: erased.erases + 1,
            ..UNTOUCHED
        };
        erased.erases
    }

    /// Bytes taken so far.
    pub fn bytes(&self) -> u64 {
        self.table.bytes()
    }
}
