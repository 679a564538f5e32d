//! Units of parity (S-6). FLUSH does not wait for them: the running parity is in protected memory.
//!
//! What the specification leaves open:
//! - A stripe has the units of one writer in the order in which they are queued, padded ones too. Parity follows at once, on a
//!   frontier where the writer has no open unit. It waits if there is none, and the writer opens no unit meanwhile. It is
//!   tried again when the next unit of the writer is queued, when a block is collected whole, and when an erase ends.
//! - Parity is no unit under way of D-8 and D-9. It counts as load of its die, for pauses, and for the debt; that of collectors
//!   owes nothing, like their units.
//! - Before the run parity follows data as well, so a fill is written unit by unit.

use super::Drive;
use destage_device::map::{FlashMap, UnitStream};
use destage_types::Lpn;

impl Drive {
    /// A unit of data of a writer was queued on a frontier: parity may follow.
    pub(super) fn add_to_stripe(&mut self, stream: UnitStream, frontier: u32) {
        self.core.map.add_to_stripe(stream, frontier);
        self.queue_parity(stream);
    }

    /// Queues the unit of parity that a writer owes, if it does and there is room.
    fn queue_parity(&mut self, stream: UnitStream) {
        let load = |die: u32| match stream {
            UnitStream::Host(_) => self.open.load(stream, die),
            UnitStream::Collector(_) | UnitStream::Map => 0,
        };
        let Some((frontier, place)) = self.core.map.put_parity(stream, load) else {
            return;
        };
        let first = self.core.map.shape().first(place.block) + u64::from(place.first);
        // No mapping unit has its data.
        let unit = self.begin_unit(stream, frontier, first, Lpn(u64::MAX));
        let places = self.core.map.unit_of_block(place.block);
        self.core.traffic.parity_places += u64::from(places);
        let row = &mut self.units[unit];
        (row.queued, row.is_parity, row.padded) = (true, true, places);
        self.queue_program(unit);
    }

    /// There may be room for parity that is owed.
    pub(super) fn retry_parity(&mut self) {
        for stream in self.core.map.writers().all() {
            self.queue_parity(stream);
        }
    }
}
