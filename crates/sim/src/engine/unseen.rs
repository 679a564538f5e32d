//! Runs of which nothing but the result is asked.

use super::Engine;
use destage_scheme::FlashCosts;
use destage_types::Nanos;

impl Engine {
    /// Nobody will look at channels or at results before the end, nor ask when an end became known:
    /// the array is free to know earlier what will run when, which changes no time
    /// ([`destage_device::nand::Nand::grant_ahead`]). Says whether it takes the offer, which devices
    /// that look themselves do not, nor those on which something takes no time.
    ///
    /// # Panics
    /// Later, if somebody looks.
    pub fn work_unseen(&mut self) -> bool {
        let FlashCosts {
            read,
            program,
            erase,
            ..
        } = self.costs;
        let times = [read, program, erase, self.transfer.sectors(1)];
        self.unseen = !self.reads_first
            && !self.dynamic
            && self.groups.is_none()
            && self.region.is_none()
            && !self.book.options.background
            && !self.gc.background
            && times.iter().all(|&time| time > Nanos::ZERO);
        if self.unseen {
            self.nand.grant_ahead();
        }
        self.unseen
    }

    pub(super) fn assert_seen(&self) {
        assert!(!self.unseen, "a run that is looked at says so before");
    }
}
