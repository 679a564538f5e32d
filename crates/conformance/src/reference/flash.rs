//! The flash as a chip-aware scheme and the cache see it.

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

/// Channels and their chips, as layers that write back see them.
pub trait SlowChannels {
    /// How many there are.
    fn channels(&self) -> usize;
    /// May a page go to any channel?
    fn is_dynamic(&self) -> bool;
    /// Channel of a page's address.
    fn channel(&self, lpn: u64) -> usize;
    /// Channel of the plane of a unit (D6, `single_block`).
    fn channel_of_unit(&self, unit: u64) -> usize;
    /// Chips of a channel, ascending.
    fn chips_of(&self, channel: usize) -> Vec<usize>;
    /// Has the chip no work of any kind?
    fn is_chip_idle(&self, chip: usize) -> bool;
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
    /// Do the pages of such a unit go where their addresses say all the same (DR-11)?
    fn spreads_groups(&self) -> bool {
        false
    }
    /// Queue complete time of a chip (ECR section 3.1).
    fn cqct(&self, chip: usize) -> u64;
    /// Is the chip in GC state (GC-1)?
    fn in_gc(&self, chip: usize) -> bool;
    /// Array time of a read and of a program, ns; 0 without a device.
    fn times(&self) -> (u64, u64) {
        (0, 0)
    }
    /// The same chips, for another store to look at.
    fn boxed(&self) -> Box<dyn SlowFlash> {
        Box::default()
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
    /// The request is done when the programs of these pages have ended that are under way.
    fn force(&mut self, _pages: &[u64]) {}
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
    /// Its channels, where they can be idle.
    fn by_channel(&self) -> Option<&dyn SlowChannels> {
        None
    }
    /// The flash, if it is the device with time.
    fn device(&mut self) -> Option<&mut SlowDevice> {
        None
    }
    /// The text about the chips in a state string.
    fn note(&self) -> Option<String> {
        None
    }
}

/// One idle chip, that is no device.
#[derive(Clone, Copy, Debug)]
pub struct Still;

impl Default for Box<dyn SlowFlash> {
    fn default() -> Box<dyn SlowFlash> {
        Box::new(Still)
    }
}

impl SlowFlash for Still {
    fn chips(&self) -> usize {
        1
    }
    fn cqct(&self, _chip: usize) -> u64 {
        0
    }
    fn in_gc(&self, _chip: usize) -> bool {
        false
    }
}
