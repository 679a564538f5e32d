//! Who writes units (S-0.2).

use crate::config::{DeviceConfig, Isolation};

/// The writer of a unit, which has frontiers of its own (S-0.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnitStream {
    /// The host, with this handle (S-3).
    Host(u8),
    /// The collector: one for all, or for data of this handle.
    Collector(u8),
    /// Translation pages (S-2).
    Map,
}

/// Who writes units, in order: the host with each handle, collectors, translation pages.
#[derive(Clone, Copy, Debug)]
pub struct Writers {
    hosts: u8,
    pub(super) collectors: u8,
    map: bool,
}

impl Writers {
    /// Those of a drive.
    pub fn new(config: &DeviceConfig) -> Writers {
        let hosts = config.handles() as u8;
        Writers {
            hosts,
            collectors: match config.isolation() {
                Isolation::Initial => 1,
                Isolation::Persistent => hosts,
            },
            map: config.has_cached_mapping(),
        }
    }

    /// How many they are.
    pub fn count(&self) -> usize {
        usize::from(self.hosts + self.collectors) + usize::from(self.map)
    }

    /// The number of one.
    #[inline]
    pub fn number(&self, stream: UnitStream) -> usize {
        match stream {
            UnitStream::Host(handle) => handle.into(),
            UnitStream::Collector(handle) => usize::from(self.hosts) + usize::from(handle),
            UnitStream::Map => usize::from(self.hosts + self.collectors),
        }
    }

    /// The host with each handle.
    pub fn hosts(&self) -> impl Iterator<Item = UnitStream> + use<> {
        (0..self.hosts).map(UnitStream::Host)
    }

    /// The collectors.
    pub fn collectors(&self) -> impl Iterator<Item = UnitStream> + use<> {
        (0..self.collectors).map(UnitStream::Collector)
    }

    /// All.
    pub fn all(&self) -> impl Iterator<Item = UnitStream> + use<> {
        let map = self.map.then_some(UnitStream::Map);
        self.hosts().chain(self.collectors()).chain(map)
    }
}
