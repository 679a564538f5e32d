//! FLUSH and FUA: what they wait for (D-4).

use super::Drive;
use super::waiting::Waiting;
use super::writes::ProgramUnit;
use destage_device::drive::map::UnitStream;
use destage_types::Lpn;

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
        let unit_of = |&lpn: &Lpn| self.unit_of(lpn);
        let units: Option<Vec<u32>> = of.map(|of| of.iter().filter_map(unit_of).collect());
        self.close_and_wait(request, units.as_deref());
        self.requests.ended(request, self.now);
    }

    /// The unit that has the newest data of a mapping unit that were handed over, unless they are on flash.
    fn unit_of(&self, lpn: Lpn) -> Option<u32> {
        let place = self.map.place(lpn);
        let place = place.filter(|&place| !self.map.is_programmed(place))?;
        let shape = self.map.shape();
        let is_in = |unit: &ProgramUnit| {
            let first = shape.first(unit.place.block) + u64::from(unit.place.first);
            shape.unit_of(first) == shape.unit_of(place)
        };
        let mut units = self.units.rows();
        units.find_map(|(number, unit)| is_in(unit).then_some(number))
    }

    /// A request waits for these units of the host, `None` for all. Those that are open are closed, lowest
    /// frontier first.
    fn close_and_wait(&mut self, request: u32, of: Option<&[u32]>) {
        let waits_for = |unit| of.is_none_or(|of| of.contains(&unit));
        for frontier in 0..self.map.frontier_count() {
            if self
                .open
                .slot(UnitStream::Host, frontier)
                .is_some_and(waits_for)
            {
                self.close_host(frontier);
            }
        }
        for (number, unit) in self.units.rows_mut() {
            let waits = unit.stream == UnitStream::Host && unit.queued && waits_for(number);
            if waits {
                unit.flushes.push(request);
                self.requests.wait(request);
            }
        }
    }
}
