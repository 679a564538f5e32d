//! The handles of data (S-3).

use crate::config::DeviceConfig;
use crate::map::first_touch::FirstTouch;

/// What was counted of a handle (S-3.6), in mapping units and blocks of GC units.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct HandleCounts {
    /// Places that the host handed over, without padding.
    pub host_places: u64,
    /// Places collected out of its blocks.
    pub moved_places: u64,
    /// Blocks opened for it.
    pub units_opened: u64,
    /// Its blocks that were erased.
    pub units_erased: u64,
    /// Valid places of its blocks when their collection began.
    pub valid_at_erase: u64,
}

/// Handles, if there are several.
#[derive(Clone, Debug)]
pub(super) struct Handles {
    /// Those that requests have written with.
    pub written: Vec<bool>,
    /// Of the newest data of each mapping unit.
    pub of_unit: FirstTouch<u8, 4096>,
    /// Of the data in each block, [`Handles::nobody`] where collectors have one frontier for all.
    pub of_block: FirstTouch<u8, 256>,
    /// By handle, and of blocks that belong to nobody.
    pub counts: Vec<HandleCounts>,
}

impl Handles {
    pub fn new(config: &DeviceConfig, blocks: u64) -> Option<Handles> {
        let hosts = config.handles() as usize;
        let mut written = vec![false; hosts];
        // Data of the precondition have it.
        written[0] = true;
        (hosts > 1).then(|| Handles {
            written,
            of_unit: FirstTouch::new(config.logical_pages(), 0),
            of_block: FirstTouch::new(blocks, 0),
            counts: vec![HandleCounts::default(); hosts + 1],
        })
    }

    pub fn nobody(&self) -> u8 {
        self.written.len() as u8
    }

    pub fn bytes(&self) -> u64 {
        self.of_unit.bytes() + self.of_block.bytes()
    }
}
