//! FLUSH and FUA: what they wait for (D-4).

use super::Drive;
use super::open_units::ProgramUnit;
use super::waiting::Waiting;
use destage_device::map::FlashMap;
use destage_types::Lpn;
use std::ops::Range;

impl Drive {
    /// All data that a FLUSH covers have come here, or the mapping units `of` that a FUA covers.
    /// The request waits for the data that wait for room.
    pub(super) fn flush(&mut self, request: u32, of: Option<&[Lpn]>) {
        match self.waiting.is_empty() {
            true => self.close_flushed(request, of),
            false => self.waiting.push_back(Waiting::Flush {
                request,
                of: of.map(<[Lpn]>::to_vec),
            }),
        }
    }

    /// All that a FLUSH or FUA covers is in units: it waits for their programs (D-4).
    pub(super) fn close_flushed(&mut self, request: u32, of: Option<&[Lpn]>) {
        let units: Option<Vec<u32>> = of.map(|of| self.units_of(of));
        self.close_units(units.as_deref());
        let of_host = |unit: &u32| self.units[*unit].is_of_host();
        let units = units.map(|units| units.into_iter().filter(of_host).collect());
        self.core.end_flush(request, of, units);
    }

    /// The units under way that have data of these mapping units, ascending, wanted or not.
    fn units_of(&self, of: &[Lpn]) -> Vec<u32> {
        let has = |place| of.binary_search(&self.core.map.put_at(place)).is_ok();
        let units = self.units.rows();
        let units = units.filter(|(_, unit)| self.places_of(unit).any(has));
        units.map(|(number, _)| number).collect()
    }

    /// The places of a unit that have data.
    pub(super) fn places_of(&self, unit: &ProgramUnit) -> Range<u64> {
        let shape = self.core.map.shape();
        let first = shape.first(unit.place.block) + u64::from(unit.place.first);
        let taken = match unit.queued {
            true => self.core.map.unit_of_block(unit.place.block) - unit.padded,
            false => self.core.map.taken(unit.stream, unit.frontier),
        };
        first..first + u64::from(taken)
    }

    /// Those of these units of the host that are open are closed, `None` for all, lowest handle and frontier first.
    fn close_units(&mut self, of: Option<&[u32]>) {
        let waits_for = |unit: &u32| of.is_none_or(|of| of.contains(unit));
        for (stream, frontier) in self.frontiers_of_hosts() {
            let open = *self.open.slot(stream, frontier);
            if open.as_ref().is_some_and(waits_for) {
                self.close(stream, frontier);
            }
        }
    }
}
