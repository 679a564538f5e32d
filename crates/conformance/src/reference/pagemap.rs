//! A page-level mapping without tables. (DEVICE_MODEL.md, "Where a page is programmed")

mod collect;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::blocks::{SlowBlocks, SlowPlace};

use destage_device::config::{
    DeviceConfig, FlashUnit, GcMode, GcPolicy, GcStop, GcTrigger, Ratio, ThresholdBase,
    ThresholdUnit, WearLevelling,
};
use destage_types::{Axis, QueuePer};

pub use collect::{Collection, SlowStep, Work};

/// Number of a block: planes one after the other.
pub type BlockId = usize;

/// Where a program goes.
#[derive(Clone, Copy, Debug)]
pub struct WrittenPage {
    /// The page.
    pub spot: Spot,
    /// Queue unit.
    pub chip: usize,
    /// Is a summary page due behind it?
    pub summary: bool,
}

/// Where the data of a page are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spot {
    /// Plane of the device.
    pub plane: u64,
    /// Block of the plane.
    pub block: u64,
    /// Page of the block.
    pub page: usize,
}

/// Where pages are, and how far every block is.
#[derive(Clone, Debug)]
pub struct SlowMap {
    config: DeviceConfig,
    counts: [u64; 4],
    order: [usize; 4],
    pages_per_block: u64,
    data_per_block: u64,
    blocks: SlowBlocks,
    /// Block that each frontier fills.
    open: BTreeMap<u64, BlockId>,
    /// Plane that each frontier filled last, as a position in its unit.
    last_turn: BTreeMap<u64, u64>,
    /// Blocks whose background erase has not ended, in order of collection.
    awaiting: Vec<BlockId>,
    /// GC units that came to their threshold in the background and have not collected enough.
    collecting: BTreeSet<u64>,
    /// Was a page placed elsewhere than its address says?
    displaced: bool,
    /// Chip that dynamic allocation took last, and how often it took each.
    last_chip: Option<usize>,
    turns: BTreeMap<usize, usize>,
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

const BILLION: u128 = 1_000_000_000;

/// A share in whole numbers.
fn billionths(share: Ratio) -> u128 {
    (share.as_f64() * BILLION as f64).round() as u128
}

/// What a share leaves of so many.
pub(super) fn share_left(share: Ratio, of: u64) -> u64 {
    (u128::from(of) * (BILLION - billionths(share)) / BILLION) as u64
}

/// Digits of a plane: channel, chip, die, plane.
type Place = [u64; 4];

const fn digits(unit: FlashUnit) -> usize {
    match unit {
        FlashUnit::Drive => 0,
        FlashUnit::Chip => 2,
        FlashUnit::Die => 3,
        FlashUnit::Plane => 4,
    }
}

impl SlowMap {
    /// An empty device.
    pub fn new(config: &DeviceConfig, seed: u64) -> SlowMap {
        let g = &config.geometry;
        let counts = [
            g.channels,
            g.chips_per_channel,
            g.dies_per_chip,
            g.planes_per_die,
        ];
        let pages_per_block = u64::from(g.pages_per_block);
        SlowMap {
            config: config.clone(),
            counts: counts.map(u64::from),
            order: config.allocation_order.map(index_of),
            pages_per_block,
            data_per_block: pages_per_block - u64::from(config.summary_page),
            blocks: SlowBlocks::new(pages_per_block as usize, seed),
            open: BTreeMap::new(),
            last_turn: BTreeMap::new(),
            awaiting: Vec::new(),
            collecting: BTreeSet::new(),
            displaced: false,
            last_chip: None,
            turns: BTreeMap::new(),
        }
    }

    /// Pages the host can address: what the pages leave beside the over-provisioning.
    pub fn logical_pages(&self) -> u64 {
        let blocks = self.planes() * u64::from(self.config.geometry.blocks_per_plane);
        share_left(self.config.op, blocks * self.pages_per_block)
    }

    /// Is there garbage collection?
    pub fn collects(&self) -> bool {
        self.config.gc_policy != GcPolicy::None && self.config.gc_mode != GcMode::Off
    }

    /// Does it wait for chips with nothing to do?
    pub fn collects_in_background(&self) -> bool {
        self.collects() && self.config.gc_mode == GcMode::Background
    }

    /// Free pages of `planes` planes below which they are collected: a share of all their pages, or
    /// of those that are not exported, rounded up. Or the pages of as many free blocks as make them
    /// collect: the same share of the blocks, rounded down.
    fn threshold_of(&self, planes: u64) -> u64 {
        let share = billionths(self.config.gc_threshold);
        let (share, whole) = match self.config.gc_threshold_base {
            ThresholdBase::Total => (share, BILLION),
            ThresholdBase::Spare => (share * billionths(self.config.op), BILLION * BILLION),
        };
        let blocks = u128::from(planes) * u128::from(self.config.geometry.blocks_per_plane);
        let pages = u128::from(self.pages_per_block);
        match self.config.gc_threshold_unit {
            ThresholdUnit::Pages => (blocks * pages * share).div_ceil(whole) as u64,
            ThresholdUnit::Blocks => (blocks * share / whole * pages) as u64,
        }
    }

    fn planes_in(&self, unit: FlashUnit) -> u64 {
        self.counts[digits(unit)..].iter().product()
    }

    /// Threshold of a GC unit.
    fn threshold(&self) -> u64 {
        self.threshold_of(self.planes_in(self.config.gc_unit))
    }

    /// Threshold of a chip (N_mfp of ECR Eq. 2): that of all its GC units, or its own if it is a part
    /// of one.
    pub fn threshold_of_chip(&self) -> u64 {
        let (chip, unit) = (
            self.planes() / self.chips() as u64,
            self.planes_in(self.config.gc_unit),
        );
        match chip < unit {
            true => self.threshold_of(chip),
            false => self.threshold() * (chip / unit),
        }
    }

    /// The plane that dynamic allocation sends a program to: chips of the least load, in turn from
    /// the one after the last, and their frontiers in turn.
    pub fn least_busy(&mut self, load: impl Fn(usize) -> u64) -> u64 {
        let chips = self.chips();
        let first = self.last_chip.map_or(0, |last| last + 1);
        let order = (0..chips).map(|step| (first + step) % chips);
        let least = (0..chips).map(&load).min();
        let mut order = order.filter(|&chip| Some(load(chip)) == least);
        let chip = order.next().expect("a device has a chip");
        self.last_chip = Some(chip);
        let turn = self.turns.entry(chip).or_default();
        let at = *turn;
        *turn += 1;
        let frontiers = self.frontiers(chip);
        let mut planes = frontiers.values().cycle().skip(at % frontiers.len());
        planes.next().expect("a chip has a frontier")[0]
    }

    /// Number of chips (units with their own queue).
    pub fn chips(&self) -> usize {
        let [channels, chips, dies, _] = self.counts;
        let dies = if self.queue_per_die() { dies } else { 1 };
        (channels * chips * dies) as usize
    }

    fn queue_per_die(&self) -> bool {
        self.config.queue_per == QueuePer::Die
    }

    /// Planes of the device.
    pub fn planes(&self) -> u64 {
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
        let digits = if self.queue_per_die() { 3 } else { 2 };
        self.number(&place[..digits]) as usize
    }

    fn unit_at(&self, unit: FlashUnit, place: Place) -> u64 {
        self.number(&place[..digits(unit)])
    }

    fn unit_of(&self, unit: FlashUnit, plane: u64) -> u64 {
        self.unit_at(unit, self.place_of_plane(plane))
    }

    /// Planes of a unit, ascending.
    fn planes_of(&self, unit: FlashUnit, number: u64) -> Vec<u64> {
        let planes = 0..self.planes();
        planes
            .filter(|&plane| self.unit_of(unit, plane) == number)
            .collect()
    }

    /// Chip of a plane.
    pub fn chip_of_plane(&self, plane: u64) -> usize {
        self.chip_at(self.place_of_plane(plane))
    }

    /// Chip that static allocation gives a page.
    pub fn static_chip(&self, lpn: u64) -> usize {
        self.chip_at(self.static_place(lpn))
    }

    /// GC unit that static allocation gives a page.
    pub fn static_gc_unit(&self, lpn: u64) -> u64 {
        self.unit_at(self.config.gc_unit, self.static_place(lpn))
    }

    /// Does flash hold the page?
    pub fn is_mapped(&self, lpn: u64) -> bool {
        self.blocks.at.contains_key(&lpn)
    }

    /// Chip of a mapped page.
    pub fn place(&self, lpn: u64) -> usize {
        self.chip_of_plane(self.spot(lpn).plane)
    }

    /// Where a mapped page is.
    pub fn spot(&self, lpn: u64) -> Spot {
        let SlowPlace { block, page } = self.blocks.at[&lpn];
        let (plane, block) = (self.plane_of(block), block as u64 % self.blocks_per_plane());
        Spot { plane, block, page }
    }

    /// Valid pages, written pages and erases of a block.
    pub fn block_counts(&self, id: BlockId) -> (u64, u64, u64) {
        let (valid, block) = (self.valid(id), self.blocks.block(id));
        (valid, block.pages.len() as u64, block.erases)
    }

    /// How often each block that was ever written was erased, those that were collected and wait for their erase included.
    pub fn wear(&self) -> impl Iterator<Item = u64> + '_ {
        let waits = |id| u64::from(self.awaiting.contains(&id));
        let blocks = self.blocks.written.iter();
        blocks.map(move |(&id, block)| block.erases + waits(id))
    }

    /// The logical page whose data a page holds.
    pub fn owner(&self, spot: Spot) -> Option<u64> {
        let block = (spot.plane * self.blocks_per_plane() + spot.block) as usize;
        let valid = self.blocks.valid(block).into_iter();
        let mut here = valid.filter(|(_, place)| place.page == spot.page);
        here.next().map(|(lpn, _)| lpn)
    }

    /// Mapped pages.
    pub fn mapped_pages(&self) -> u64 {
        self.blocks.at.len() as u64
    }

    /// Number of the die of a plane.
    pub fn die_number(&self, plane: u64) -> u64 {
        self.unit_of(FlashUnit::Die, plane)
    }

    /// The page holds no data any more.
    pub fn unmap(&mut self, lpn: u64) {
        self.blocks.lose(lpn);
    }

    fn blocks_per_plane(&self) -> u64 {
        self.config.geometry.blocks_per_plane.into()
    }

    fn plane_of(&self, block: BlockId) -> u64 {
        block as u64 / self.blocks_per_plane()
    }

    fn own_blocks(&self, plane: u64) -> Range<BlockId> {
        let each = self.blocks_per_plane();
        (plane * each) as usize..((plane + 1) * each) as usize
    }

    /// Blocks of some planes that were ever written: the first ones of each plane.
    fn written(&self, planes: &[u64]) -> Vec<BlockId> {
        let of = |&plane: &u64| {
            let own = self.blocks.written.range(self.own_blocks(plane));
            own.map(|(&block, _)| block)
        };
        planes.iter().flat_map(of).collect()
    }

    /// Valid pages of a block.
    fn valid(&self, block: BlockId) -> u64 {
        self.blocks.valid(block).len() as u64
    }

    /// Free blocks of a plane.
    pub fn free_blocks(&self, plane: u64) -> u64 {
        let own = self.blocks.written.range(self.own_blocks(plane));
        let used = own.filter(|(_, block)| !block.pages.is_empty());
        self.blocks_per_plane() - used.count() as u64
    }

    /// Pages of some planes that can be written.
    fn free_in(&self, planes: &[u64]) -> u64 {
        let blocks: u64 = planes.iter().map(|&plane| self.free_blocks(plane)).sum();
        let open = self.open.values();
        let open = open.filter(|&&b| planes.contains(&self.plane_of(b)));
        let left = open.map(|&b| self.blocks.left(b) as u64);
        blocks * self.pages_per_block + left.sum::<u64>()
    }

    /// The next plane of a frontier that has a free block, as a position in its unit.
    fn next_turn(&self, frontier: u64, planes: &[u64]) -> Option<u64> {
        let count = planes.len() as u64;
        let first = self.last_turn.get(&frontier).map_or(0, |last| last + 1);
        let mut turns = (0..count).map(|step| (first + step) % count);
        turns.find(|&turn| self.free_blocks(planes[turn as usize]) > 0)
    }

    /// Blocks that were never written go first, in order.
    fn next_block(&self, plane: u64) -> BlockId {
        let (own, each) = (self.written(&[plane]), self.blocks_per_plane());
        if (own.len() as u64) < each {
            return (plane * each) as usize + own.len();
        }
        let free = own
            .into_iter()
            .filter(|&b| self.blocks.block(b).pages.is_empty());
        let key = |&b: &BlockId| {
            let block = self.blocks.block(b);
            match self.config.wear_levelling {
                WearLevelling::Off => (block.freed, b),
                _ => (block.erases, b),
            }
        };
        let taken = free.min_by_key(key);
        taken.expect("the plane has a free block")
    }

    /// Puts the data of `lpn` at a frontier. Is the summary page of the block due?
    fn append(&mut self, frontier: u64, lpn: u64) -> bool {
        if !self.open.contains_key(&frontier) {
            let planes = self.planes_of(self.config.frontier, frontier);
            let turn = self.next_turn(frontier, &planes);
            let turn = turn.expect("the frontier has a free block");
            self.last_turn.insert(frontier, turn);
            let id = self.next_block(planes[turn as usize]);
            self.open.insert(frontier, id);
        }
        let id = self.open[&frontier];
        self.blocks.put(id, Some(lpn));
        let written = self.blocks.block(id).pages.len() as u64;
        let summary = written == self.data_per_block && written < self.pages_per_block;
        if summary {
            self.blocks.put(id, None);
        }
        if self.blocks.is_full(id) {
            self.open.remove(&frontier);
        }
        summary
    }

    /// Writes a page to a plane or to its own, and collects before if that is due. Nothing is written
    /// where no room can be made.
    pub fn write(&mut self, lpn: u64, plane: Option<u64>) -> (Option<WrittenPage>, Work) {
        let own = self.number(&self.static_place(lpn));
        let (plane, work) = self.make_room(plane.unwrap_or(own), plane.is_some());
        let written = plane.map(|plane| self.put(lpn, plane));
        (written, work)
    }

    fn put(&mut self, lpn: u64, plane: u64) -> WrittenPage {
        let frontier = self.unit_of(self.config.frontier, plane);
        self.blocks.lose(lpn);
        let summary = self.append(frontier, lpn);
        let spot = self.spot(lpn);
        let chip = self.chip_of_plane(spot.plane);
        WrittenPage {
            spot,
            chip,
            summary,
        }
    }

    /// Frontiers of a chip, ascending, each with its planes.
    fn frontiers(&self, chip: usize) -> BTreeMap<u64, Vec<u64>> {
        let mut frontiers: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for plane in 0..self.planes() {
            if self.chip_of_plane(plane) == chip {
                let frontier = self.unit_of(self.config.frontier, plane);
                frontiers.entry(frontier).or_default().push(plane);
            }
        }
        frontiers
    }

    /// Free pages of a chip (N_fp of ECR).
    pub fn free_pages(&self, chip: usize) -> u64 {
        let planes: Vec<u64> = self.frontiers(chip).into_values().flatten().collect();
        self.free_in(&planes)
    }

    /// Free pages of the block that the next program of a chip uses (N_fpb): with several
    /// frontiers that of the fullest one, the first of equals.
    pub fn frontier_free_pages(&self, chip: usize) -> u64 {
        let frontiers = self.frontiers(chip);
        let fullest = frontiers.iter().min_by_key(|f| self.free_in(f.1));
        let (frontier, planes) = fullest.expect("a chip has a plane");
        match self.open.get(frontier) {
            Some(&block) => self.blocks.left(block) as u64,
            None => self.free_in(planes).min(self.pages_per_block),
        }
    }
}
