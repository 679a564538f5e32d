//! Erase blocks: how much of each is written and valid, and how worn it is.

use super::first_touch::FirstTouch;

/// No block.
pub(crate) const NONE: u32 = u32::MAX;

/// One block in 16 bytes. A block is in one list at most: that of free blocks while it is free,
/// that of its valid count while it is full. Where valid counts have no lists, a full block holds a
/// number in the place of its neighbours ([`BlockRow::changed`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockRow {
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

    /// Is a full block in the list of its valid count, or would it be if there were one? Not so
    /// while it is being collected.
    #[inline]
    pub fn is_listed(&self) -> bool {
        self.next != NONE
    }

    /// Number of the change that brought the block to its valid count.
    #[inline]
    pub fn changed(&self) -> u64 {
        u64::from(self.next) << 32 | u64::from(self.prev)
    }

    /// See [`BlockRow::changed`]; numbers stay below 2^63, so that the block counts as listed.
    #[inline]
    pub fn set_changed(&mut self, number: u64) {
        (self.next, self.prev) = ((number >> 32) as u32, number as u32);
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
pub(crate) struct BlockTable {
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

    /// So many data pages of `block` were written; says whether the block is full now.
    #[inline]
    pub fn wrote_data(&mut self, block: u32, count: u32) -> bool {
        let (pages, count) = (self.pages, count as u16);
        let block = self.at(block);
        block.written += count;
        block.valid += count;
        block.written == pages
    }

    /// A page of `block` that holds no host data was written; says whether the block is full now.
    pub fn wrote_meta(&mut self, block: u32) -> bool {
        let pages = self.pages;
        let block = self.at(block);
        block.written += 1;
        block.written == pages
    }

    /// A page of `block` becomes invalid. Gives the block, and whether it is full.
    #[inline]
    pub fn invalidated(&mut self, block: u32) -> (&mut BlockRow, bool) {
        let pages = self.pages;
        let block = self.at(block);
        block.valid -= 1;
        let full = block.written == pages;
        (block, full)
    }

    /// All data of the block are elsewhere now.
    pub fn emptied(&mut self, block: u32) {
        self.at(block).valid = 0;
    }

    /// Pages with wanted data.
    #[inline]
    pub fn valid(&self, block: u32) -> u32 {
        u32::from(self.get(block).valid)
    }

    /// Pages written since the last erase.
    #[inline]
    pub fn written(&self, block: u32) -> u32 {
        u32::from(self.get(block).written)
    }

    /// Times the block was erased.
    #[inline]
    pub fn erases(&self, block: u32) -> u32 {
        self.get(block).erases
    }

    /// Is every page written?
    #[inline]
    pub fn is_full(&self, block: u32) -> bool {
        self.get(block).written == self.pages
    }

    /// Erases a full block without valid pages, which is in no list, and gives its erases so far.
    ///
    /// # Panics
    /// If the block is not full or holds valid pages: erasing it would lose data.
    pub fn erase(&mut self, block: u32) -> u32 {
        assert!(self.is_full(block), "only full blocks are erased");
        assert_eq!(
            self.valid(block),
            0,
            "a block with valid pages is not erased"
        );
        let erased = self.at(block);
        let erases = erased.erases + 1;
        *erased = BlockRow {
            erases,
            ..UNTOUCHED
        };
        erases
    }

    /// Bytes taken so far.
    pub fn bytes(&self) -> u64 {
        self.table.bytes()
    }
}
