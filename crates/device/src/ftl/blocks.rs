//! Erase blocks: how much of each is written and valid, and which are free.

use super::table::FirstTouch;

/// No block follows.
const NONE: u32 = u32::MAX;

/// What one block is good for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockState {
    /// Erased; nothing is written.
    Free,
    /// A write frontier is in it.
    Open,
    /// Every page is written.
    Full,
}

/// One block in 16 bytes.
#[derive(Clone, Copy, Debug)]
struct Block {
    valid: u16,
    written: u16,
    erases: u32,
    /// Neighbours in the list of the plane's free blocks, as numbers within the plane.
    next: u32,
    prev: u32,
}

const UNTOUCHED: Block = Block {
    valid: 0,
    written: 0,
    erases: 0,
    next: NONE,
    prev: NONE,
};

/// The free blocks of one plane: those never used, from `fresh` on, and a list of erased ones.
#[derive(Clone, Copy, Debug)]
struct PlaneBlocks {
    fresh: u32,
    head: u32,
    tail: u32,
    free: u32,
}

/// All blocks of the device, numbered plane by plane.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    table: FirstTouch<Block, 256>,
    planes: Vec<PlaneBlocks>,
    per_plane: u32,
    pages: u16,
}

impl Blocks {
    /// All blocks free. `pages` per block.
    pub fn new(planes: u32, per_plane: u32, pages: u16) -> Blocks {
        let unused = PlaneBlocks {
            fresh: 0,
            head: NONE,
            tail: NONE,
            free: per_plane,
        };
        Blocks {
            table: FirstTouch::new(u64::from(planes) * u64::from(per_plane), UNTOUCHED),
            planes: vec![unused; planes as usize],
            per_plane,
            pages,
        }
    }

    /// Takes a free block of `plane`: one that was never used while there is one (it has the
    /// least wear), then the one erased longest ago.
    pub fn take(&mut self, plane: u32) -> Option<u64> {
        let base = u64::from(plane) * u64::from(self.per_plane);
        let own = &mut self.planes[plane as usize];
        if own.free == 0 {
            return None;
        }
        own.free -= 1;
        if own.fresh < self.per_plane {
            own.fresh += 1;
            return Some(base + u64::from(own.fresh - 1));
        }
        let taken = own.head;
        let next = self.table.get(base + u64::from(taken)).next;
        own.head = next;
        match next {
            NONE => own.tail = NONE,
            _ => self.table.at(base + u64::from(next)).prev = NONE,
        }
        self.table.at(base + u64::from(taken)).next = NONE;
        Some(base + u64::from(taken))
    }

    /// Blocks of `plane` that can be taken.
    pub fn free(&self, plane: u32) -> u32 {
        self.planes[plane as usize].free
    }

    /// A data page of `block` was written.
    #[inline]
    pub fn wrote_data(&mut self, block: u64) {
        let block = self.table.at(block);
        block.written += 1;
        block.valid += 1;
    }

    /// A page of `block` that holds no host data was written.
    pub fn wrote_meta(&mut self, block: u64) {
        self.table.at(block).written += 1;
    }

    /// A page of `block` holds data that nobody wants any more.
    #[inline]
    pub fn invalidated(&mut self, block: u64) {
        self.table.at(block).valid -= 1;
    }

    /// Pages with wanted data.
    pub fn valid(&self, block: u64) -> u32 {
        u32::from(self.table.get(block).valid)
    }

    /// Pages written since the last erase.
    pub fn written(&self, block: u64) -> u32 {
        u32::from(self.table.get(block).written)
    }

    /// Times the block was erased.
    pub fn erases(&self, block: u64) -> u32 {
        self.table.get(block).erases
    }

    /// What the block is good for.
    pub fn state(&self, block: u64) -> BlockState {
        match self.table.get(block).written {
            0 => BlockState::Free,
            n if n == self.pages => BlockState::Full,
            _ => BlockState::Open,
        }
    }

    /// Erases a full block without valid pages; it becomes the last of the plane's free blocks.
    ///
    /// # Panics
    /// If the block is not full or holds valid pages: erasing it would lose data.
    pub fn erase(&mut self, block: u64) {
        assert_eq!(
            self.state(block),
            BlockState::Full,
            "only full blocks are erased"
        );
        assert_eq!(
            self.valid(block),
            0,
            "a block with valid pages is not erased"
        );
        let plane = block / u64::from(self.per_plane);
        let base = plane * u64::from(self.per_plane);
        let within = (block - base) as u32;
        let own = &mut self.planes[plane as usize];
        let last = own.tail;
        own.tail = within;
        own.free += 1;
        match last {
            NONE => own.head = within,
            _ => self.table.at(base + u64::from(last)).next = within,
        }
        let erased = self.table.at(block);
        *erased = Block {
            erases: erased.erases + 1,
            prev: last,
            ..UNTOUCHED
        };
    }

    /// Bytes taken so far.
    pub fn bytes(&self) -> u64 {
        self.table.bytes() + (self.planes.len() * size_of::<PlaneBlocks>()) as u64
    }
}
