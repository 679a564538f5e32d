//! Figures of a live device so far that are quick to make: for observers that look every second.

use super::LiveDevice;
use crate::device::DeviceCore;
use crate::device::latency::total_of;
use destage_record::CountFields;
use serde::Serialize;

/// Figures at one moment. Counters begin with the statistics.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LiveFigures {
    /// Requests of the device before the statistics began: another number, other statistics.
    pub begun_after: u64,
    /// Counters of the record.
    #[serde(flatten)]
    pub counts: CountFields,
    /// Completed reads and writes.
    pub responses: u64,
    /// Sum of their response times in ns.
    pub response_ns: u64,
    /// Frames of the cache.
    pub cache_pages: u64,
    /// Pages in the cache now.
    pub cached_pages: u64,
    /// Dirty ones among them.
    pub dirty_pages: u64,
    /// How much the scheme's own lists hold now.
    pub lists: Vec<(&'static str, u64)>,
    /// Operations of the host that wait or are served, by chip.
    pub queues: Vec<u32>,
}

impl LiveDevice {
    /// Pages that operations of the host move which wait or are served.
    pub fn pages_on_their_way(&self) -> u64 {
        self.served
            .state()
            .device()
            .map_or(0, DeviceCore::pages_on_their_way)
    }

    /// The figures now.
    pub fn figures(&self) -> LiveFigures {
        let parts = self.spec.count_parts(false);
        let responses = self.served.response_times();
        let responses = responses.map(total_of).unwrap_or_default();
        let (cached_pages, dirty_pages) = self.served.cache.held();
        LiveFigures {
            begun_after: self.measured_from,
            counts: CountFields::new(&self.served.state().counts(), 0, parts),
            responses: responses.count,
            response_ns: u64::try_from(responses.sum).unwrap_or(u64::MAX),
            cache_pages: u64::from(self.capacity.frames),
            cached_pages,
            dirty_pages,
            lists: self.served.cache.lists(),
            queues: match self.served.state().device() {
                Some(core) => core.host_operations().map(|(r, w)| r + w).collect(),
                None => Vec::new(),
            },
        }
    }
}
