//! Bursts of collection, during which programs of the host wait (`gc_hold`, D-11).

use super::Collectors;
use destage_device::nand::Nand;

impl Collectors {
    /// With `gc_hold`: may the collector read? A burst goes on up to its limit. The next begins when all programs of the
    /// host have started that waited at its end; those that the debt holds cannot, so they are not waited for (D-11/11).
    pub(super) fn may_go_on(&mut self, gc: u32, nand: &Nand) -> bool {
        let Some(most) = self.pace.hold else {
            return true;
        };
        if self.of(gc).burst.is_some_and(|places| places >= most) {
            self.end_burst(gc, nand);
        }
        let owes_too_much = self.owes_too_much(gc);
        let collector = self.of(gc);
        if !collector.must_start.is_empty() && !owes_too_much {
            return false;
        }
        collector.burst.get_or_insert(0);
        true
    }

    /// With `gc_hold`: programs of the host may start again.
    pub(super) fn end_burst(&mut self, gc: u32, nand: &Nand) {
        let owes_too_much = self.owes_too_much(gc);
        let collector = self.of(gc);
        if collector.burst.take().is_some() {
            collector.must_start = match owes_too_much {
                true => Vec::new(),
                false => nand.waiting_programs(gc),
            };
        }
    }

    /// With `gc_hold`, a program of the host that has started is not waited for.
    pub(in crate::drive) fn program_started(&mut self, gc: u32, token: u32) {
        if self.pace.hold.is_some() {
            self.of(gc).must_start.retain(|&waited| waited != token);
            self.look_at(gc);
        }
    }
}
