//! Handles (S-3 of the specification): whose frontiers there are, and counts by handle.
//! (DEVICE_MODEL.md, "Drives with units")

use destage_device::config::{DeviceConfig, Isolation};

use super::config::MapKeys;

/// Whose data a frontier takes (S-0.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writer {
    /// Those of the host with this handle.
    Host(usize),
    /// Those that the collector moves. With `isolation = persistent` those of this handle.
    Gc(usize),
    /// Translation pages.
    Map,
}

impl Writer {
    /// Row of `DriveModel::load` that its programs count in (S-0.2).
    pub(super) fn load(self) -> usize {
        usize::from(matches!(self, Writer::Gc(_)))
    }

    /// Is it the host?
    pub fn is_host(self) -> bool {
        matches!(self, Writer::Host(_))
    }
}

/// Counts of a handle (S-3.6).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HandleCounts {
    /// Places that the host handed over.
    pub host: u64,
    /// Places that left its blocks.
    pub moved: u64,
    /// Blocks opened.
    pub units_opened: u64,
    /// Blocks erased.
    pub units_erased: u64,
    /// Valid places of its blocks when their collection began.
    pub valid_at_erase: u64,
}

/// The handles of a drive.
#[derive(Clone, Debug)]
pub struct Handles {
    /// H.
    pub count: usize,
    /// Is there a frontier of the collector for each?
    persistent: bool,
    /// Is there one of translation pages?
    map: bool,
    /// Has a request written with it? (S-3.2/2)
    pub(super) used: Vec<bool>,
    /// By handle; the last row is nobody's.
    pub counts: Vec<HandleCounts>,
}

impl Handles {
    pub(super) fn new(c: &DeviceConfig) -> Handles {
        let count = c.handles.unwrap_or(1) as usize;
        let mut used = vec![false; count];
        used[0] = true;
        Handles {
            count,
            persistent: c.isolation == Some(Isolation::Persistent),
            map: MapKeys::new(c).is_some(),
            used,
            counts: vec![HandleCounts::default(); count + 1],
        }
    }

    /// Frontiers of the collector.
    fn collectors(&self) -> usize {
        if self.persistent { self.count } else { 1 }
    }

    /// All frontiers.
    pub(super) fn writers(&self) -> usize {
        self.count + self.collectors() + usize::from(self.map)
    }

    /// Number of a frontier: host, collector, map.
    pub(super) fn index(&self, writer: Writer) -> usize {
        match writer {
            Writer::Host(handle) => handle,
            Writer::Gc(handle) => self.count + handle,
            Writer::Map => self.count + self.collectors(),
        }
    }

    /// The frontiers of the host.
    pub(super) fn hosts(&self) -> impl Iterator<Item = Writer> + use<> {
        (0..self.count).map(Writer::Host)
    }

    /// Those of the host that have been written with.
    pub(super) fn used(&self) -> impl Iterator<Item = Writer> {
        let used = self.used.iter().enumerate().filter(|(_, used)| **used);
        used.map(|(handle, _)| Writer::Host(handle))
    }

    /// The frontiers of the collector.
    pub(super) fn gcs(&self) -> impl Iterator<Item = Writer> + use<> {
        (0..self.collectors()).map(Writer::Gc)
    }

    /// The handle that blocks of a frontier belong to, if they do.
    fn owner(&self, writer: Writer) -> Option<usize> {
        match writer {
            Writer::Host(handle) => Some(handle),
            Writer::Gc(handle) => self.persistent.then_some(handle),
            Writer::Map => None,
        }
    }

    /// Counts of the handle that blocks of a frontier belong to.
    pub(super) fn row(&mut self, writer: Writer) -> &mut HandleCounts {
        let row = self.owner(writer).unwrap_or(self.count);
        &mut self.counts[row]
    }

    /// Where data go that are moved out of a block of this frontier (S-3.4).
    pub(super) fn goes_to(&self, from: Writer) -> Writer {
        let handle = self.owner(from).filter(|_| self.persistent);
        Writer::Gc(handle.unwrap_or(0))
    }
}
