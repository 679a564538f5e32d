//! Reads of requests: what one request misses in one page is one read (D-5).

use super::{Drive, Use};
use crate::device::timeline::Purpose;
use destage_device::config::{DeviceConfig, QueueOrder};
use destage_device::map::FlashMap;
use destage_device::nand::{Class, DriveOp, FlashCommand};
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

    /// Place of a mapping unit whose data are on flash alone, or will be when its program ends.
    pub(super) fn place_on_flash(&self, lpn: Lpn) -> Option<u64> {
        let place = self.core.map.place(lpn).filter(|_| !self.keeps(lpn))?;
        (!matches!(self.source(place), Source::Memory)).then_some(place)
    }

    /// The current request misses so many sectors of a mapping unit.
    pub(super) fn miss(&mut self, lpn: Lpn, sectors: u32) {
        let Some(place) = self.place_on_flash(lpn) else {
            return;
        };
        match &mut self.mapping {
            Some(table) => table.missed.push((lpn, sectors)),
            None => self.note_miss(lpn, sectors, place),
        }
        if self.reads.rules.at_once {
            self.read_misses();
        }
        self.start_at_once();
    }

    /// So many sectors of a mapping unit are read from its place.
    pub(super) fn note_miss(&mut self, lpn: Lpn, sectors: u32, place: u64) {
        let after = match self.source(place) {
            Source::Unit(unit) => Some(unit),
            Source::Memory | Source::Flash => None,
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
    }

    /// What was submitted starts, where operations do so when they are asked for.
    pub(super) fn start_at_once(&mut self) {
        if self.reads.rules.at_once {
            self.settle();
        }
    }

    /// All that the current request misses is known.
    pub(super) fn read_misses(&mut self) {
        self.translate();
        if let Some(request) = self.core.requests.current() {
            self.read_noted(request);
        }
    }

    /// One read for each page of what a request misses, in its order.
    pub(super) fn read_noted(&mut self, request: u32) {
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
            let what = Use::Read { request };
            self.read_page_as(Class::Host, what, place, miss.sectors, miss.after, purpose);
        }
        self.reads.misses = misses;
    }

    /// Are the old data in a place not in memory?
    pub(super) fn is_on_flash(&self, old: u64) -> bool {
        !matches!(self.source(old), Source::Memory)
    }

    /// The old data of a mapping unit in `unit` are read.
    pub(super) fn read_before_program(&mut self, unit: u32, old: u64) {
        let after = match self.source(old) {
            Source::Unit(before) => Some(before),
            Source::Memory | Source::Flash => None,
        };
        let purpose = Purpose {
            page: Some(self.core.map.put_at(old)),
            ..Purpose::of("read before program")
        };
        let (what, sectors) = (Use::Before { unit }, self.core.costs.unit_sectors);
        self.read_page_as(Class::Host, what, old, sectors, after, purpose);
    }

    /// Reads sectors of the page of a place, after the program of a unit if there is one.
    pub(super) fn read_page_as(
        &mut self,
        class: Class,
        what: Use,
        place: u64,
        sectors: u32,
        after: Option<u32>,
        purpose: Purpose,
    ) {
        let grants = [self.core.costs.transfer(sectors).0];
        let command = FlashCommand {
            after: after.and_then(|unit| self.units[unit].program),
            in_order: self.reads.fifo && class == Class::Host,
            class,
            ..self.read_command(place, &grants, sectors)
        };
        let op = DriveOp {
            reads_once: self.core.map.is_slc(self.core.map.shape().block(place)),
            ..DriveOp::default()
        };
        self.submit(what, command, &op, |_| purpose);
    }
}
