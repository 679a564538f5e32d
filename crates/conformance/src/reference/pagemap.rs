//! A page-level mapping without tables: pages counted per frontier, places in a sorted map.
//!
//! Blocks are only ever filled, never erased, so a frontier is a number of pages written.

use std::collections::BTreeMap;

use destage_device::config::{DeviceConfig, Unit};
use destage_types::{Axis, QueuePer};

/// Where pages are, and how far every frontier is.
#[derive(Clone, Debug)]
pub struct SlowMap {
    /// Chip of every mapped page.
    pub chip_of_page: BTreeMap<u64, usize>,
    counts: [u64; 4],
    order: [usize; 4],
    queue_per_die: bool,
    frontier: Unit,
    pages_per_block: u64,
    data_per_block: u64,
    pages_per_plane: u64,
    /// Data pages written per frontier, by number of the frontier.
    written: BTreeMap<u64, u64>,
}

/// Where an axis stands in the arrays of this model: channel, chip, die, plane.
const fn index_of(axis: Axis) -> usize {
    match axis {
        Axis::Channel => 0,
        Axis::Chip => 1,
        Axis::Die => 2,
        Axis::Plane => 3,
    }
}

/// Digits of a plane: channel, chip, die, plane.
type Place = [u64; 4];

impl SlowMap {
    /// An empty device.
    pub fn new(config: &DeviceConfig) -> SlowMap {
        let g = &config.geometry;
        let counts = [
            g.channels,
            g.chips_per_channel,
            g.dies_per_chip,
            g.planes_per_die,
        ];
        let pages_per_block = u64::from(g.pages_per_block);
        SlowMap {
            chip_of_page: BTreeMap::new(),
            counts: counts.map(u64::from),
            order: config.allocation_order.map(index_of),
            queue_per_die: config.queue_per == QueuePer::Die,
            frontier: config.frontier,
            pages_per_block,
            data_per_block: pages_per_block - u64::from(config.summary_page),
            pages_per_plane: pages_per_block * u64::from(g.blocks_per_plane),
            written: BTreeMap::new(),
        }
    }

    /// Number of chips (units with their own queue).
    pub fn chips(&self) -> usize {
        let [channels, chips, dies, _] = self.counts;
        let dies = if self.queue_per_die { dies } else { 1 };
        (channels * chips * dies) as usize
    }

    fn planes(&self) -> u64 {
        self.counts.iter().product()
    }

    /// Static allocation: consecutive pages go round the first axis, then the second, and so on.
    fn static_place(&self, lpn: u64) -> Place {
        let (mut place, mut rest) = ([0; 4], lpn);
        for axis in self.order {
            place[axis] = rest % self.counts[axis];
            rest /= self.counts[axis];
        }
        place
    }

    /// The place of a plane by its number, channels counted fastest.
    fn place_of_plane(&self, plane: u64) -> Place {
        let (mut place, mut rest) = ([0; 4], plane);
        for (digit, count) in place.iter_mut().zip(self.counts) {
            *digit = rest % count;
            rest /= count;
        }
        place
    }

    fn number(&self, digits: &[u64]) -> u64 {
        let counts = self.counts.iter().zip(digits).rev();
        counts.fold(0, |n, (count, digit)| n * count + digit)
    }

    fn chip_at(&self, place: Place) -> usize {
        let digits = if self.queue_per_die { 3 } else { 2 };
        self.number(&place[..digits]) as usize
    }

    fn frontier_at(&self, place: Place) -> u64 {
        let digits = match self.frontier {
            Unit::Chip => 2,
            Unit::Die => 3,
            Unit::Plane => 4,
        };
        self.number(&place[..digits])
    }

    /// Chip that static allocation gives a page.
    pub fn static_chip(&self, lpn: u64) -> usize {
        self.chip_at(self.static_place(lpn))
    }

    /// Writes a page, to the plane that is unit number `unit` modulo the planes or to its own. The
    /// chip, and whether a summary page is due on it.
    pub fn write(&mut self, lpn: u64, unit: Option<u64>) -> (usize, bool) {
        let place = match unit {
            Some(unit) => self.place_of_plane(unit % self.planes()),
            None => self.static_place(lpn),
        };
        let written = self.written.entry(self.frontier_at(place)).or_default();
        *written += 1;
        let last = written.is_multiple_of(self.data_per_block);
        let chip = self.chip_at(place);
        self.chip_of_page.insert(lpn, chip);
        (chip, last && self.data_per_block < self.pages_per_block)
    }

    /// The frontiers of a chip in ascending order: free pages, and pages of the block that the
    /// next write goes to.
    fn frontiers(&self, chip: usize) -> BTreeMap<u64, (u64, u64)> {
        let mut planes: BTreeMap<u64, u64> = BTreeMap::new();
        for plane in 0..self.planes() {
            let place = self.place_of_plane(plane);
            if self.chip_at(place) == chip {
                *planes.entry(self.frontier_at(place)).or_default() += 1;
            }
        }
        let state = |(frontier, planes): (u64, u64)| {
            let written = self.written.get(&frontier).copied().unwrap_or(0);
            let (full, open) = (written / self.data_per_block, written % self.data_per_block);
            let free = planes * self.pages_per_plane - full * self.pages_per_block - open;
            let block = free.min(self.pages_per_block - open);
            (frontier, (free, block))
        };
        planes.into_iter().map(state).collect()
    }

    /// Free pages of a chip (N_fp of spec 40).
    pub fn free_pages(&self, chip: usize) -> u64 {
        self.frontiers(chip).values().map(|f| f.0).sum()
    }

    /// Free pages of the block that the next program of a chip uses (N_fpb): with several
    /// frontiers that of the fullest one, the first of equals.
    pub fn frontier_free_pages(&self, chip: usize) -> u64 {
        let frontiers = self.frontiers(chip);
        let fullest = frontiers.values().min_by_key(|f| f.0);
        fullest.expect("a chip has a plane").1
    }
}
