//! Bursts of collection, during which programs of the host wait (`gc_hold`, D-11).

use super::Drive;
use destage_device::map::UnitStream;

impl Drive {
    /// With `gc_hold`: may the collector read? A burst goes on up to its limit. The next begins when all programs of the
    /// host have started that waited at its end; those that the debt holds cannot, so they are not waited for (D-11/11).
    pub(super) fn may_go_on(&mut self, gc: u32) -> bool {
        let Some(most) = self.pace.hold else {
            return true;
        };
        if (self.collectors[gc as usize].burst).is_some_and(|places| places >= most) {
            self.end_burst(gc);
        }
        let collector = &mut self.collectors[gc as usize];
        if !collector.must_start.is_empty() && !self.pace.exceeds_credit(collector.owed) {
            return false;
        }
        collector.burst.get_or_insert(0);
        true
    }

    /// With `gc_hold`: programs of the host may start again.
    pub(super) fn end_burst(&mut self, gc: u32) {
        let collector = &mut self.collectors[gc as usize];
        if collector.burst.take().is_some() {
            collector.must_start = match self.pace.exceeds_credit(collector.owed) {
                true => Vec::new(),
                false => self.core.nand.waiting_programs(gc),
            };
        }
    }

    /// With `gc_hold`, a program of the host that has started is not waited for.
    pub(in crate::drive) fn program_started(&mut self, token: u32, unit: u32) {
        if self.pace.hold.is_none() || self.units[unit].stream != UnitStream::Host {
            return;
        }
        let gc = self.core.map.gc_of(self.units[unit].frontier);
        let collector = &mut self.collectors[gc as usize];
        collector.must_start.retain(|&waited| waited != token);
        self.look_at(gc);
    }
}
