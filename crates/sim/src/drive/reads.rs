//! Reads of requests: what one request misses in one page is one read (D-5).

use super::{Drive, Use};
use crate::device::timeline::Purpose;
use destage_device::config::{DeviceConfig, QueueOrder};
use destage_device::map::FlashMap;
use destage_device::nand::{DriveOp, FlashCommand};
use destage_types::Lpn;

/// The two rules by which devices of pages read in another way than drives with units.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DriveReads {
    /// Each operation of a request starts when it is asked for, if it can. Else a read waits until all is known that
    /// the request misses, and has all of it that lies in one page.
    pub at_once: bool,
    /// Data whose program has not ended are read from flash after it. Else they are read from memory.
    pub after_program: bool,
}

/// Reads of the current request, and how reads are made.
#[derive(Clone, Debug)]
pub(super) struct Reads {
    rules: DriveReads,
    /// Do reads keep their place among programs?
    fifo: bool,
    /// By page.
    misses: Vec<PageMiss>,
}

impl Reads {
    pub fn new(config: &DeviceConfig) -> Reads {
        Reads {
            rules: DriveReads::default(),
            fifo: config.queue == QueueOrder::Fifo,
            misses: Vec::new(),
        }
    }
}

/// Where data are read.
#[derive(Clone, Copy, Debug)]
enum Source {
    Memory,
    Flash,
    /// From flash, after the program of this unit.
    Unit(u32),
}

/// The sectors that a request misses in one page.
#[derive(Clone, Copy, Debug)]
struct PageMiss {
    page: u64,
    sectors: u32,
    /// The unit whose program ends before.
    after: Option<u32>,
    /// The first mapping unit, and how many there are.
    first: Lpn,
    units: u32,
}

impl Drive {
    /// Reads by these rules from now on.
    pub fn set_reads(&mut self, rules: DriveReads) {
        self.reads.rules = rules;
    }

    fn source(&self, place: u64) -> Source {
        if self.core.map.is_programmed(place) {
            return Source::Flash;
        }
        if !self.reads.rules.after_program {
            return Source::Memory;
        }
        let mut units = self.units.rows();
        let unit = units.find(|(_, unit)| unit.queued && self.places_of(unit).contains(&place));
        unit.map_or(Source::Memory, |(unit, _)| Source::Unit(unit))
    }

    /// The current request misses so many sectors of a mapping unit.
    pub(super) fn miss(&mut self, lpn: Lpn, sectors: u32) {
        if self.keeps(lpn) {
            return;
        }
        let place = self
            .core
            .map
            .place(lpn)
            .expect("the cache asks for mapped pages only");
        let after = match self.source(place) {
            Source::Memory => return,
            Source::Flash => None,
            Source::Unit(unit) => Some(unit),
        };
        let page = self.core.map.shape().page(place);
        match self.reads.misses.iter_mut().find(|miss| miss.page == page) {
            Some(miss) => {
                miss.sectors += sectors;
                miss.units += 1;
            }
            None => self.reads.misses.push(PageMiss {
                page,
                sectors,
                after,
                first: lpn,
                units: 1,
            }),
        }
        if self.reads.rules.at_once {
            self.read_misses();
        }
        self.start_at_once();
    }

    /// What was submitted starts, where operations do so when they are asked for.
    pub(super) fn start_at_once(&mut self) {
        if self.reads.rules.at_once {
            self.settle();
        }
    }

    /// All that the current request misses is known: one read for each page, in the order of the request.
    pub(super) fn read_misses(&mut self) {
        let Some(request) = self.core.requests.current() else {
            return;
        };
        let mut misses = std::mem::take(&mut self.reads.misses);
        let shape = *self.core.map.shape();
        for miss in misses.drain(..) {
            let place = miss.page * u64::from(shape.per_page);
            self.core.requests.wait(request, 1);
            let purpose = Purpose {
                page: Some(miss.first),
                pages: miss.units,
                request: Some(self.core.requests.index(request)),
                ..Purpose::of("read")
            };
            self.read_page(
                Use::Read { request },
                place,
                miss.sectors,
                miss.after,
                purpose,
            );
        }
        self.reads.misses = misses;
    }

    /// The old data of a mapping unit in `unit` are read, unless they are in memory.
    pub(super) fn read_old(&mut self, unit: u32, old: u64, lpn: Lpn) {
        let after = match self.source(old) {
            Source::Memory => return,
            Source::Flash => None,
            Source::Unit(before) => Some(before),
        };
        self.units[unit].reads += 1;
        let purpose = Purpose {
            page: Some(lpn),
            ..Purpose::of("read before program")
        };
        let sectors = self.core.costs.unit_sectors;
        self.read_page(Use::Before { unit }, old, sectors, after, purpose);
    }

    /// Reads sectors of the page of a place, after the program of a unit if there is one.
    fn read_page(
        &mut self,
        what: Use,
        place: u64,
        sectors: u32,
        after: Option<u32>,
        purpose: Purpose,
    ) {
        let grants = [self.core.costs.transfer(sectors).0];
        let command = FlashCommand {
            after: after.and_then(|unit| self.units[unit].program),
            in_order: self.reads.fifo,
            ..self.read_command(place, &grants, sectors)
        };
        let op = DriveOp {
            reads_once: self.core.map.is_slc(self.core.map.shape().block(place)),
            ..DriveOp::default()
        };
        self.submit(what, command, &op, |_| purpose);
    }
}
