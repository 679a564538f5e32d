//! What a chip-aware scheme sees of the flash, and what the cache asks of it.

use std::cell::RefCell;
use std::rc::Rc;

use destage_types::Op;

use super::device::SlowDevice;

/// Why a page is programmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlowCause {
    /// It was dirty and was evicted.
    Eviction,
    /// It was not dirty and completes an evicted block.
    Padding,
    /// It is data of the request itself.
    Own,
    /// FLUSH.
    Flush,
}

/// One program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlowWrite {
    /// The page.
    pub lpn: u64,
    /// Why.
    pub cause: SlowCause,
    /// Unit whose pages go to one plane (D6, `single_block`).
    pub unit: Option<u64>,
    /// The old page is read before.
    pub read_first: bool,
    /// The data come from the cache.
    pub cached: bool,
}

/// The flash below the model: chip states for `ecr` and `gcar`, and a place to note operations.
pub trait SlowFlash {
    /// Number of chips; a page belongs to chip `lpn mod chips` (ECR-6).
    fn chips(&self) -> usize;
    /// Chip that static allocation gives a page.
    fn chip(&self, lpn: u64) -> usize {
        (lpn % self.chips() as u64) as usize
    }
    /// Chip of the plane to which a unit goes that stays together (D6).
    fn chip_of_unit(&self, unit: u64) -> usize {
        (unit % self.chips() as u64) as usize
    }
    /// Queue complete time of a chip (ECR section 3.1).
    fn cqct(&self, chip: usize) -> u64;
    /// Is the chip in GC state (GC-1)?
    fn in_gc(&self, chip: usize) -> bool;
    /// Array time of a read and of a program, ns; 0 without a device.
    fn times(&self) -> (u64, u64) {
        (0, 0)
    }
    /// Time moves to `now`.
    fn advance(&mut self, _now: u64) {}
    /// A page is read.
    fn read(&mut self, _lpn: u64) {}
    /// A page is programmed; the time the program waits for its chip, where time is modelled.
    fn program(&mut self, _lpn: u64) -> Option<u64> {
        None
    }
    /// A request begins; what follows up to `end` is done for it.
    fn begin(&mut self, _index: u64, _op: Op) {}
    /// The request had that many page accesses.
    fn end(&mut self, _pages: u64) {}
    /// Does flash hold data of the page?
    fn mapped(&self, _lpn: u64) -> bool {
        true
    }
    /// Logical pages.
    fn pages(&self) -> u64 {
        u64::MAX
    }
    /// Sectors of a page are read for the host.
    fn fetch(&mut self, lpn: u64, _sectors: u32) {
        self.read(lpn);
    }
    /// The host reads sectors of a page from the cache.
    fn cache_read(&mut self, _lpn: u64, _sectors: u32) {}
    /// The host writes to a page of the cache.
    fn cache_write(&mut self, _lpn: u64) {}
    /// A page that was just read, if flash had it, enters the cache.
    fn cache_fill(&mut self, _lpn: u64, _read: bool) {}
    /// A page is programmed; as `program` where nothing but the page matters.
    fn write(&mut self, write: &SlowWrite) -> Option<u64> {
        if write.read_first {
            self.read(write.lpn);
        }
        self.program(write.lpn)
    }
    /// The page holds no data any more.
    fn unmap(&mut self, _lpn: u64) {}
    /// The flash, if it is the device with time.
    fn device(&mut self) -> Option<&mut SlowDevice> {
        None
    }
    /// What a state string says of the chips.
    fn note(&self) -> Option<String> {
        None
    }
}

/// Chips whose states only the caller changes. Default: one idle chip, that is no device.
#[derive(Clone, Debug)]
pub struct Still {
    /// Queue complete time per chip.
    pub cqct: Vec<u64>,
    /// GC state per chip.
    pub gc: Vec<bool>,
}

impl Still {
    /// `chips` idle chips.
    pub fn idle(chips: usize) -> Still {
        Still {
            cqct: vec![0; chips],
            gc: vec![false; chips],
        }
    }
}

impl Default for Still {
    fn default() -> Still {
        Still::idle(1)
    }
}

impl SlowFlash for Still {
    fn chips(&self) -> usize {
        self.cqct.len()
    }
    fn cqct(&self, chip: usize) -> u64 {
        self.cqct[chip]
    }
    fn in_gc(&self, chip: usize) -> bool {
        self.gc[chip]
    }
}

/// Lets a test keep a handle on the flash it gave away.
impl<F: SlowFlash> SlowFlash for Rc<RefCell<F>> {
    fn chips(&self) -> usize {
        self.borrow().chips()
    }
    fn cqct(&self, chip: usize) -> u64 {
        self.borrow().cqct(chip)
    }
    fn in_gc(&self, chip: usize) -> bool {
        self.borrow().in_gc(chip)
    }
    fn times(&self) -> (u64, u64) {
        self.borrow().times()
    }
    fn advance(&mut self, now: u64) {
        self.borrow_mut().advance(now);
    }
    fn read(&mut self, lpn: u64) {
        self.borrow_mut().read(lpn);
    }
    fn program(&mut self, lpn: u64) -> Option<u64> {
        self.borrow_mut().program(lpn)
    }
    fn note(&self) -> Option<String> {
        self.borrow().note()
    }
}
