//! When layers that write back are asked, and schemes shown the dies (DR-7, DR-10).
//! (DEVICE_MODEL.md, "Drives with units", Schemes)

use destage_types::ChannelId;

use super::model::DriveModel;

impl DriveModel {
    /// Asks the layer, and goes on with what its pages made room for, until nothing is left to do.
    pub(super) fn ask_until_done(&mut self) {
        while self.ask_layer() {
            self.serve_flushes();
            self.serve_waiters();
            self.progress();
        }
    }

    /// Schemes that choose by the chips, and layers, see the dies as they are.
    pub(super) fn show_dies(&mut self) {
        if self.buffer.looks_at_dies() {
            let dies = self.dies();
            self.buffer.sees_dies(dies);
        }
    }

    /// A layer is asked on each idle channel, and what it names is handed over as far as units can take it (DR-7). Was
    /// anything?
    fn ask_layer(&mut self) -> bool {
        let before = self.ftl.counters.host;
        if !self.buffer.has_layer() {
            return false;
        }
        for channel in 0..self.device.geometry.channels as usize {
            let idle = self.array.is_channel_idle(ChannelId(channel as u32));
            while idle && self.hand_over_named(channel) {}
        }
        self.ftl.counters.host > before
    }

    /// Hands over the pages that the layer names next on a channel. Were there any, and room for all of them?
    fn hand_over_named(&mut self, channel: usize) -> bool {
        if !self.has_room() {
            return false;
        }
        self.show_dies();
        let mut passed = self.buffer.dirty_pages();
        passed.retain(|&lpn| !self.can_take(lpn));
        let named = self.buffer.names(channel, &|lpn| passed.contains(&lpn));
        for &lpn in &named {
            if self.hand_over(lpn).is_none() {
                return false;
            }
            let place = self.ftl.map[lpn] as usize;
            self.buffer.begin_flight(lpn, place, channel);
        }
        !named.is_empty()
    }
}
