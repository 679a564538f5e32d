//! Writers of units and the handles of their data (S-0.2, S-3): who fills a block decides what lies in it together.

use super::{NO_BLOCK, UnitMap, UnitStream};
use crate::config::{DeviceConfig, Isolation};
use crate::map::first_touch::FirstTouch;
use destage_types::Lpn;

/// Who writes units, in order: the host with each handle, collectors, translation pages.
#[derive(Clone, Copy, Debug)]
pub struct Writers {
    hosts: u8,
    collectors: u8,
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

/// What was counted of a handle (S-3.6), in mapping units and blocks of GC units.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct HandleCounts {
    /// Places that the host handed over, without padding.
    pub host_places: u64,
    /// Places collected out of its blocks.
    pub moved_places: u64,
    /// Blocks opened for it.
    pub units_opened: u64,
    /// Its blocks that were erased.
    pub units_erased: u64,
    /// Valid places of its blocks when their collection began.
    pub valid_at_erase: u64,
}

/// Handles, if there are several.
#[derive(Clone, Debug)]
pub(super) struct Handles {
    /// Those that requests have written with.
    written: Vec<bool>,
    /// Of the newest data of each mapping unit.
    of_unit: FirstTouch<u8, 4096>,
    /// Of the data in each block, [`Handles::nobody`] where collectors have one frontier for all.
    of_block: FirstTouch<u8, 256>,
    /// By handle, and of blocks that belong to nobody.
    pub counts: Vec<HandleCounts>,
}

impl Handles {
    pub fn new(config: &DeviceConfig, blocks: u64) -> Option<Handles> {
        let hosts = config.handles() as usize;
        let mut written = vec![false; hosts];
        // Data of the precondition have it.
        written[0] = true;
        (hosts > 1).then(|| Handles {
            written,
            of_unit: FirstTouch::new(config.logical_pages(), 0),
            of_block: FirstTouch::new(blocks, 0),
            counts: vec![HandleCounts::default(); hosts + 1],
        })
    }

    fn nobody(&self) -> u8 {
        self.written.len() as u8
    }

    pub fn bytes(&self) -> u64 {
        self.of_unit.bytes() + self.of_block.bytes()
    }
}

impl UnitMap {
    /// Who writes units.
    pub fn writers(&self) -> Writers {
        self.writers
    }

    /// A request writes a mapping unit with a handle.
    #[inline]
    pub fn note_handle(&mut self, lpn: Lpn, handle: u8) {
        if let Some(handles) = &mut self.handles {
            handles.written[usize::from(handle)] = true;
            *handles.of_unit.at(lpn.0) = handle;
        }
    }

    /// The writer of a mapping unit of the host.
    #[inline]
    pub fn host_of(&self, lpn: Lpn) -> UnitStream {
        let handles = self.handles.as_ref();
        UnitStream::Host(handles.map_or(0, |handles| handles.of_unit.get(lpn.0)))
    }

    /// The writer of what is collected from a block.
    pub fn collector_of(&self, block: u32) -> UnitStream {
        let handles = self.handles.as_ref();
        let handles = handles.filter(|_| self.writers.collectors > 1);
        UnitStream::Collector(handles.map_or(0, |handles| handles.of_block.get(block.into())))
    }

    /// The host with each handle that was written with.
    pub(super) fn hosts_at_work(&self) -> impl Iterator<Item = UnitStream> + '_ {
        let written = |stream: &UnitStream| match (&self.handles, stream) {
            (Some(handles), UnitStream::Host(handle)) => handles.written[usize::from(*handle)],
            _ => true,
        };
        self.writers.hosts().filter(written)
    }

    /// A block is opened for a writer.
    pub(super) fn opened_for(&mut self, block: u32, stream: UnitStream) {
        let persistent = self.writers.collectors > 1;
        if let Some(handles) = &mut self.handles {
            let of = match stream {
                UnitStream::Host(handle) => handle,
                UnitStream::Collector(handle) if persistent => handle,
                UnitStream::Collector(_) | UnitStream::Map => handles.nobody(),
            };
            *handles.of_block.at(block.into()) = of;
            handles.counts[usize::from(of)].units_opened += 1;
        }
    }

    /// Counts what happens to data of the handle of a block.
    pub fn count_of_block(&mut self, block: u32, add: impl FnOnce(&mut HandleCounts)) {
        if let Some(handles) = &mut self.handles {
            let of = handles.of_block.get(block.into());
            add(&mut handles.counts[usize::from(of)]);
        }
    }

    /// Counts a place that the host hands over.
    pub fn count_host_place(&mut self, stream: UnitStream) {
        if let (Some(handles), UnitStream::Host(handle)) = (&mut self.handles, stream) {
            handles.counts[usize::from(handle)].host_places += 1;
        }
    }

    /// Is a block being filled by this writer on a frontier?
    pub(super) fn has_open_block(&self, stream: UnitStream, frontier: u32) -> bool {
        self.open_blocks[self.open_block_of(stream, frontier)].block != NO_BLOCK
    }
}
