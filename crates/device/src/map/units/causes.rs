//! A cause decides where a unit goes (S-0.2, S-0.3): writers, the handles of their data, translation pages, and parity.

use super::handles::HandleCounts;
use super::{NO_BLOCK, UnitMap, UnitPlace, UnitStream, Writers};
use destage_types::Lpn;

impl UnitMap {
    /// Who writes units.
    pub fn writers(&self) -> Writers {
        self.writers
    }

    /// A request writes a mapping unit with a handle. Is it the first with that handle?
    #[inline]
    pub fn note_handle(&mut self, lpn: Lpn, handle: u8) -> bool {
        let Some(handles) = &mut self.handles else {
            return false;
        };
        *handles.of_unit.at(lpn.0) = handle;
        !std::mem::replace(&mut handles.written[usize::from(handle)], true)
    }

    /// The writer of a mapping unit of the host.
    #[inline]
    pub fn host_of(&self, lpn: Lpn) -> UnitStream {
        let handles = self.handles.as_ref();
        UnitStream::Host(handles.map_or(0, |handles| handles.of_unit.get(lpn.0)))
    }

    /// The writer of what is collected from a block.
    pub fn collector_of(&self, block: u32) -> UnitStream {
        let handles = self.handles.as_ref();
        let handles = handles.filter(|_| self.writers.collectors > 1);
        UnitStream::Collector(handles.map_or(0, |handles| handles.of_block.get(block.into())))
    }

    /// The host with each handle that was written with.
    pub(super) fn hosts_at_work(&self) -> impl Iterator<Item = UnitStream> + '_ {
        let written = |stream: &UnitStream| match (&self.handles, stream) {
            (Some(handles), UnitStream::Host(handle)) => handles.written[usize::from(*handle)],
            _ => true,
        };
        self.writers.hosts().filter(written)
    }

    /// A block is opened for a writer.
    pub(super) fn opened_for(&mut self, block: u32, stream: UnitStream) {
        let persistent = self.writers.collectors > 1;
        if let Some(handles) = &mut self.handles {
            let of = match stream {
                UnitStream::Host(handle) => handle,
                UnitStream::Collector(handle) if persistent => handle,
                UnitStream::Collector(_) | UnitStream::Map => handles.nobody(),
            };
            *handles.of_block.at(block.into()) = of;
            handles.counts[usize::from(of)].units_opened += 1;
        }
    }

    /// Counts what happens to data of the handle of a block.
    pub fn count_of_block(&mut self, block: u32, add: impl FnOnce(&mut HandleCounts)) {
        if let Some(handles) = &mut self.handles {
            let of = handles.of_block.get(block.into());
            add(&mut handles.counts[usize::from(of)]);
        }
    }

    /// Counts a place that the host hands over.
    pub fn count_host_place(&mut self, stream: UnitStream) {
        if let (Some(handles), UnitStream::Host(handle)) = (&mut self.handles, stream) {
            handles.counts[usize::from(handle)].host_places += 1;
        }
    }

    /// Is a block being filled by this writer on a frontier?
    pub(super) fn has_open_block(&self, stream: UnitStream, frontier: u32) -> bool {
        self.open_blocks[self.open_block_of(stream, frontier)].block != NO_BLOCK
    }

    /// The mapping unit that a translation page is.
    pub fn translation_page(&self, number: u64) -> Lpn {
        Lpn(self.places.logical() + number)
    }

    /// Is a mapping unit a translation page?
    #[inline]
    pub fn is_translation_page(&self, lpn: Lpn) -> bool {
        lpn.0 >= self.places.logical()
    }

    /// Is there parity?
    pub(super) fn has_parity(&self) -> bool {
        self.parity.is_some()
    }

    /// Must a unit of parity come before the next unit of a writer?
    pub(super) fn owes_parity(&self, stream: UnitStream) -> bool {
        let writer = self.writers.number(stream);
        let parity = self.parity.as_ref();
        parity.is_some_and(|parity| parity.stripes[writer].due.is_some())
    }

    /// A unit of data of a writer is queued on a frontier.
    pub fn add_to_stripe(&mut self, stream: UnitStream, frontier: u32) {
        let (writer, die) = (self.writers.number(stream), self.die_of(frontier));
        if let Some(parity) = &mut self.parity {
            let stripe = &mut parity.stripes[writer];
            stripe.dies.push(die);
            if stripe.dies.len() >= parity.units && stripe.due.is_none() {
                stripe.due = Some(std::mem::take(&mut stripe.dies));
            }
        }
    }

    /// The unit of parity that a writer owes takes places, if there is room: on the die with the least load, not one of the stripe if
    /// there is another.
    pub fn put_parity(
        &mut self,
        stream: UnitStream,
        load: impl Fn(u32) -> u32,
    ) -> Option<(u32, UnitPlace)> {
        let writer = self.writers.number(stream);
        let due = self.parity.as_ref()?.stripes[writer].due.as_ref()?;
        let apart = |frontier| !due.contains(&self.die_of(frontier));
        let can =
            |frontier| !self.is_open(stream, frontier) && self.can_open_next(stream, frontier);
        let frontier = self
            .next_frontier_that(stream, &load, |frontier| can(frontier) && apart(frontier))
            .or_else(|| self.next_frontier_that(stream, &load, can))?;
        self.open_unit(stream, frontier);
        let (place, _) = self.close(stream, frontier)?;
        if let Some(parity) = &mut self.parity {
            parity.stripes[writer].due = None;
        }
        Some((frontier, place))
    }
}
