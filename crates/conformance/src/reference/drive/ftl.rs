//! Which place holds which logical unit, what blocks are free, and which is collected next.

use destage_device::config::{Allocation, DeviceConfig, GcPolicy, GcStreams};

use super::config::SlcKeys;
use super::geometry::Geometry;
use super::handles::{Handles, Writer};
use super::slc::Mode;

/// No logical unit, place or program unit.
pub const NONE: u32 = u32::MAX;

/// Life of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockState {
    /// Erased.
    Free,
    /// A frontier fills it.
    Open,
    /// Its last unit has been queued (S-0.7).
    Closed,
    /// The collector reads it.
    Victim,
    /// Collected whole; programs of its data have not ended.
    Waiting,
    /// Its erase is queued or running.
    Erasing,
}

/// A block, or blocks that are erased together.
#[derive(Clone, Debug)]
pub struct Block {
    /// Where it is in its life.
    pub state: BlockState,
    /// How it was opened, and the frontier that filled it.
    pub mode: Mode,
    pub writer: Writer,
    /// When its last unit was queued, and when it was erased last.
    pub closed: u64,
    pub freed: u64,
    /// Units opened in each part.
    pub opened: Vec<usize>,
    /// Valid places.
    pub valid: usize,
    /// Units whose programs have not ended.
    pub unfinished: usize,
    /// Places moved out whose programs have not ended.
    pub moving: usize,
    /// When it came to its number of valid places, and places handed over by then.
    pub counted: (u64, u64),
    /// Erases so far, and those of them in SLC mode.
    pub erases: u64,
    pub slc_erases: u64,
    /// Parts whose erase has not ended.
    pub erasing: usize,
}

/// A program unit that is open, queued or running.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Its block.
    pub block: usize,
    /// Part of the block.
    pub part: usize,
    /// Where in `Geometry::sites` it was opened.
    pub site: usize,
    /// First place.
    pub first: usize,
    /// Places.
    pub places: usize,
    /// Whose frontier fills it.
    pub writer: Writer,
    /// Logical units handed over, in order.
    pub lpns: Vec<u32>,
    /// For the collector: block that each came from.
    pub sources: Vec<usize>,
    /// Takes more data.
    pub open: bool,
    /// Its program has ended.
    pub ended: bool,
}

/// Sums since the precondition.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Logical units handed over by the buffer.
    pub host: u64,
    /// Logical units moved by collection of native blocks.
    pub moved: u64,
    /// Logical units moved out of SLC blocks.
    pub folded: u64,
    /// Logical units handed over by the buffer to SLC blocks.
    pub slc_host: u64,
    /// Translation pages handed over by the map cache and for the collector, and those moved.
    pub map: u64,
    pub map_moved: u64,
    /// Places left empty in closed units.
    pub padded: u64,
    /// Units queued.
    pub units: u64,
}

/// The mapping.
#[derive(Clone, Debug)]
pub struct Ftl {
    /// Sizes.
    pub geometry: Geometry,
    shared: bool,
    pub(super) gc_low: usize,
    /// S-1.
    pub(super) slc: SlcKeys,
    /// May the host open SLC blocks? Not before the run (S-1.3/1).
    pub(super) slc_open: bool,
    pub(super) static_allocation: bool,
    /// Place of each logical unit.
    pub map: Vec<u32>,
    /// Logical unit written to each place since its erase.
    back: Vec<u32>,
    /// Unit under way at each place.
    under_way: Vec<u32>,
    /// All blocks.
    pub blocks: Vec<Block>,
    /// S-3.
    pub(super) handles: Handles,
    /// Block that each stream of each GC unit fills.
    pub(super) filling: Vec<Vec<Option<usize>>>,
    /// Pool that each stream of each GC unit took a block from last.
    pub(super) last_pool: Vec<Vec<usize>>,
    /// All units since the start.
    pub units: Vec<Unit>,
    /// Numbers of units that may be used again.
    pub spare: Vec<usize>,
    /// Open unit of each writer and site. With dynamic allocation a writer of the host has at most one.
    pub(super) open: Vec<Vec<Option<usize>>>,
    /// Site chosen last, by writer.
    last_site: Vec<usize>,
    pub(super) time: u64,
    /// Places handed over.
    placed: u64,
    by_benefit: bool,
    /// Sums.
    pub counters: Counters,
}

impl Ftl {
    /// An erased drive.
    pub fn new(c: &DeviceConfig) -> Ftl {
        let geometry = Geometry::new(c);
        let handles = Handles::new(c);
        let (writers, sites) = (handles.writers(), geometry.sites.len());
        let block = Block {
            state: BlockState::Free,
            mode: Mode::Native,
            writer: Writer::Host(0),
            closed: 0,
            freed: 0,
            opened: vec![0; geometry.parts],
            valid: 0,
            unfinished: 0,
            moving: 0,
            counted: (0, 0),
            erases: 0,
            slc_erases: 0,
            erasing: 0,
        };
        Ftl {
            shared: c.gc_streams == Some(GcStreams::Shared),
            gc_low: c.gc_low.unwrap_or(0) as usize,
            static_allocation: c.allocation == Allocation::Static,
            slc: SlcKeys::new(c),
            slc_open: false,
            map: vec![NONE; geometry.exported + geometry.translation_pages()],
            back: vec![NONE; geometry.places()],
            under_way: vec![NONE; geometry.places()],
            blocks: vec![block; geometry.blocks],
            filling: vec![vec![None; writers]; geometry.gc_units],
            last_pool: vec![vec![usize::MAX; writers]; geometry.gc_units],
            units: Vec::new(),
            spare: Vec::new(),
            open: vec![vec![None; sites]; writers],
            last_site: vec![sites - 1; writers],
            handles,
            time: 0,
            placed: 0,
            by_benefit: c.gc_policy == GcPolicy::CostBenefit,
            counters: Counters::default(),
            geometry,
        }
    }

    /// B: native blocks that are free, or collected whole and not erased yet.
    pub fn free_blocks(&self, gc_unit: usize) -> usize {
        use BlockState::{Erasing, Free, Waiting};
        self.count(gc_unit, &[Free, Waiting, Erasing])
    }

    fn count(&self, gc_unit: usize, states: &[BlockState]) -> usize {
        let mut native: Vec<usize> = self.geometry.blocks_of(gc_unit).collect();
        native.retain(|&b| !self.geometry.is_static(b));
        let is_in = |&&b: &&usize| states.contains(&self.blocks[b].state);
        native.iter().filter(is_in).count()
    }

    /// Native blocks that are erased.
    pub fn erased_blocks(&self, gc_unit: usize) -> usize {
        self.count(gc_unit, &[BlockState::Free])
    }

    /// Where the block of a writer stands: host and collector may share one.
    pub(super) fn stream(&self, writer: Writer) -> usize {
        match writer {
            Writer::Gc(_) if self.shared => 0,
            writer => self.handles.index(writer),
        }
    }

    /// Does the frontier's block have a unit left on this site?
    pub fn has_room(&self, site: usize, writer: Writer) -> bool {
        let s = self.geometry.sites[site];
        let block = self.filling[s.gc_unit][self.stream(writer)];
        block.is_some_and(|b| self.blocks[b].opened[s.part] < self.units_per_part(b))
    }

    /// Must the frontier of this GC unit take a new block before it can open a unit?
    pub fn needs_block(&self, gc_unit: usize, writer: Writer) -> bool {
        self.filling[gc_unit][self.stream(writer)].is_none()
    }

    /// Can a unit be opened here?
    pub fn can_open(&self, site: usize, writer: Writer) -> bool {
        let gc_unit = self.geometry.sites[site].gc_unit;
        if writer.is_host() && self.is_stuck(gc_unit, writer) {
            return false;
        }
        match (self.needs_block(gc_unit, writer), writer) {
            (true, Writer::Host(_)) => self.next_of_host(gc_unit).is_some(),
            (true, _) => self.erased_blocks(gc_unit) > 0,
            (false, _) => self.has_room(site, writer),
        }
    }

    /// May a handle that has been written with open no unit before more has been collected (S-3.2/2)?
    pub fn is_host_stuck(&self, gc_unit: usize) -> bool {
        let mut used = self.handles.used();
        used.any(|writer| self.is_stuck(gc_unit, writer))
    }

    /// The same of one handle. Of a shared block it leaves the rest to the collector while the reserve is broken into.
    fn is_stuck(&self, gc_unit: usize, writer: Writer) -> bool {
        match self.needs_block(gc_unit, writer) {
            // A frontier that has to wait for folding alone is not stuck (S-1.5/5).
            true => {
                self.next_of_host(gc_unit).is_none()
                    && (self.free_blocks(gc_unit) <= self.gc_low
                        || self.erased_blocks(gc_unit) == 0)
            }
            false => self.shared && self.free_blocks(gc_unit) < self.gc_low,
        }
    }

    /// The site with the least load that can take a unit; ties in turn after the last chosen.
    pub fn choose_site(&self, writer: Writer, from: &[usize], load: &[u64]) -> Option<usize> {
        let count = self.geometry.sites.len();
        let last = self.last_site[self.handles.index(writer)];
        let turn = |site: usize| (site + count - 1 - last) % count;
        let fits = from.iter().copied().filter(|&s| self.can_open(s, writer));
        fits.min_by_key(|&s| (load[self.geometry.sites[s].die], turn(s)))
    }

    /// The least worn erased native block of the pools in turn; ties by number.
    pub(super) fn take_block(&mut self, gc_unit: usize, writer: Writer) -> usize {
        let stream = self.stream(writer);
        let per_pool = self.geometry.blocks_per_pool;
        let all = self.geometry.blocks_of(gc_unit);
        let pools = (all.len() / per_pool).max(1);
        let last = self.last_pool[gc_unit][stream];
        let mut best: Option<(usize, u64, usize)> = None;
        for b in all.clone() {
            let turn = match last {
                usize::MAX => (b - all.start) / per_pool,
                last => ((b - all.start) / per_pool + pools - 1 - last) % pools,
            };
            let key = (turn, self.blocks[b].erases, b);
            let free = self.blocks[b].state == BlockState::Free && !self.geometry.is_static(b);
            if free && best.is_none_or(|best| key < best) {
                best = Some(key);
            }
        }
        let block = best.expect("an erased block was there").2;
        self.last_pool[gc_unit][stream] = (block - all.start) / per_pool;
        self.fill(gc_unit, block, writer);
        block
    }

    /// A frontier fills this block from now on.
    pub(super) fn fill(&mut self, gc_unit: usize, block: usize, writer: Writer) {
        let stream = self.stream(writer);
        self.blocks[block].state = BlockState::Open;
        self.blocks[block].writer = writer;
        self.handles.row(writer).units_opened += 1;
        self.filling[gc_unit][stream] = Some(block);
    }

    /// Opens a unit where `can_open` says so.
    pub fn open(&mut self, site: usize, writer: Writer) -> usize {
        let s = self.geometry.sites[site];
        let stream = self.stream(writer);
        match (self.needs_block(s.gc_unit, writer), writer) {
            (true, Writer::Host(_)) => self.take_for_host(s.gc_unit, writer),
            (true, _) => {
                self.take_block(s.gc_unit, writer);
            }
            _ => {}
        }
        let b = self.filling[s.gc_unit][stream].expect("it has been taken");
        let places = self.unit_places(b);
        let block = &mut self.blocks[b];
        let first = (self.geometry).first_place(b, s.part, block.opened[s.part], places);
        block.opened[s.part] += 1;
        block.unfinished += 1;
        if self.is_opened_whole(b) {
            self.filling[s.gc_unit][stream] = None;
        }
        let fresh = Unit {
            block: b,
            part: s.part,
            site,
            first,
            places,
            writer,
            lpns: Vec::new(),
            sources: Vec::new(),
            open: true,
            ended: false,
        };
        let unit = self.spare.pop().unwrap_or(self.units.len());
        self.units
            .resize(self.units.len().max(unit + 1), fresh.clone());
        self.units[unit] = fresh;
        self.under_way[first..first + places].fill(unit as u32);
        let index = self.handles.index(writer);
        self.last_site[index] = site;
        self.open[index][site] = Some(unit);
        unit
    }

    /// Sites where a logical unit of the host may go.
    pub fn sites_for(&self, lpn: usize) -> Vec<usize> {
        match self.static_allocation {
            true => vec![self.geometry.site_of(lpn)],
            false => (0..self.geometry.sites.len()).collect(),
        }
    }

    /// Hands a logical unit over to an open unit; its old place becomes invalid. Says where it is
    /// and whether the unit is full.
    pub fn assign(&mut self, unit: usize, lpn: usize, source: Option<usize>) -> (usize, bool) {
        self.unmap(lpn);
        self.placed += 1;
        let u = &mut self.units[unit];
        assert!(u.open, "only an open unit takes data");
        let place = u.first + u.lpns.len();
        u.lpns.push(lpn as u32);
        let writer = u.writer;
        if let Some(block) = source {
            u.sources.push(block);
            self.blocks[block].moving += 1;
            let from = self.blocks[block].writer;
            self.handles.row(from).moved += u64::from(writer != Writer::Map);
        }
        let counters = &mut self.counters;
        match source.map(|block| self.blocks[block].mode) {
            Some(_) if writer == Writer::Map => counters.map_moved += 1,
            Some(Mode::Native) => counters.moved += 1,
            Some(Mode::Slc) => counters.folded += 1,
            None if writer == Writer::Map => counters.map += 1,
            None => {
                self.handles.row(writer).host += 1;
                counters.host += 1;
                counters.slc_host += u64::from(self.blocks[u.block].mode == Mode::Slc);
            }
        }
        self.map[lpn] = place as u32;
        self.back[place] = lpn as u32;
        let full = u.lpns.len() == u.places;
        let block = u.block;
        self.blocks[block].valid += 1;
        self.note_count(block);
        (place, full)
    }

    /// A logical unit holds no data any more. The block that held them.
    pub fn unmap(&mut self, lpn: usize) -> Option<usize> {
        let old = std::mem::replace(&mut self.map[lpn], NONE);
        (old != NONE).then(|| {
            let block = self.geometry.block_of(old as usize);
            self.blocks[block].valid -= 1;
            self.note_count(block);
            block
        })
    }

    /// Closes a unit: its rest is padding.
    pub fn close(&mut self, unit: usize) {
        let u = &mut self.units[unit];
        u.open = false;
        self.counters.padded += (u.places - u.lpns.len()) as u64;
        let block = u.block;
        self.counters.units += 1;
        self.open[self.handles.index(u.writer)][u.site] = None;
        let mut units = self.units.iter();
        if self.is_opened_whole(block) && !units.any(|u| u.open && u.block == block) {
            self.time += 1;
            self.blocks[block].closed = self.time;
            self.blocks[block].state = BlockState::Closed;
        }
    }

    /// The program of a unit has ended. The blocks that may be erased now, in order.
    pub fn end(&mut self, unit: usize) -> Vec<usize> {
        let u = &mut self.units[unit];
        u.ended = true;
        let (block, places) = (u.block, u.first..u.first + u.places);
        let sources = std::mem::take(&mut u.sources);
        self.under_way[places].fill(NONE);
        self.blocks[block].unfinished -= 1;
        if self.blocks[block].unfinished == 0 && self.blocks[block].state == BlockState::Closed {
            // It is a candidate from now on, behind those that have had its count before.
            self.note_count(block);
        }
        let mut ready = Vec::new();
        for source in sources {
            self.blocks[source].moving -= 1;
            let done = self.blocks[source].state == BlockState::Waiting;
            if done && self.blocks[source].moving == 0 {
                ready.push(source);
            }
        }
        ready
    }

    /// GC unit of a program unit.
    pub fn gc_unit_of(&self, unit: usize) -> usize {
        self.geometry.sites[self.units[unit].site].gc_unit
    }

    /// Unit under way that holds a place.
    pub fn unit_at(&self, place: usize) -> Option<usize> {
        let unit = self.under_way[place];
        (unit != NONE).then_some(unit as usize)
    }

    /// The logical unit whose data a place holds, if they are valid.
    pub fn valid_at(&self, place: usize) -> Option<usize> {
        let lpn = self.back[place];
        (lpn != NONE && self.map[lpn as usize] == place as u32).then_some(lpn as usize)
    }

    fn note_count(&mut self, block: usize) {
        self.time += 1;
        self.blocks[block].counted = (self.time, self.placed);
    }

    /// The next victim of collection. Greedy: fewest valid places, then longest at that number; with an SLC cache
    /// as S-1.7 says. Cost-benefit: the largest age x (1 - u) / 2u, then as greedy.
    pub fn victim(&self, gc_unit: usize) -> Option<usize> {
        if self.slc.on {
            return self.victim_with_slc(gc_unit, false);
        }
        let n = self.geometry.places_per_block();
        let may = |b: &usize| {
            let block = &self.blocks[*b];
            block.state == BlockState::Closed && block.unfinished == 0 && block.valid < n
        };
        let key = |&b: &usize| (self.blocks[b].valid, self.blocks[b].counted);
        let mut blocks: Vec<usize> = self.geometry.blocks_of(gc_unit).filter(may).collect();
        let first = blocks.iter().copied().min_by_key(key)?;
        if !self.by_benefit || self.blocks[first].valid == 0 {
            return Some(first);
        }
        blocks.sort_by_key(key);
        let terms = |b: usize| {
            let block = &self.blocks[b];
            let age = (self.placed - block.counted.1) as u128;
            (age * (n - block.valid) as u128, block.valid as u128)
        };
        let better = |best: usize, b: usize| {
            let ((gain, cost), (most, least)) = (terms(b), terms(best));
            if gain * least > most * cost { b } else { best }
        };
        Some(blocks.into_iter().fold(first, better))
    }

    /// A block has been erased.
    pub fn erased(&mut self, b: usize) {
        assert_eq!(self.blocks[b].valid, 0, "nothing valid is erased");
        let places = self.geometry.places_per_block();
        self.back[b * places..(b + 1) * places].fill(NONE);
        self.time += 1;
        self.handles.row(self.blocks[b].writer).units_erased += 1;
        let block = &mut self.blocks[b];
        block.state = BlockState::Free;
        block.opened.fill(0);
        block.erases += 1;
        block.slc_erases += u64::from(block.mode == Mode::Slc);
        (block.mode, block.freed) = (Mode::Native, self.time);
    }
}
