//! What devices of pages and drives with units share: one object for each, with walls.
//!
//! - [`DeviceCore`]: the array with its clock, and the objects below;
//! - `view`: the device as schemes see it;
//! - `requests`: requests in flight, and when one is complete;
//! - `program_waits`: programs of host data, and requests that wait for their ends;
//! - `completed`, `latency`, `backlog`: what is measured of those that are;
//! - `measures`: busy times and counters of the measured part;
//! - `durability`: which version of a page is on flash;
//! - `timeline`: what each operation of the array was for;
//! - `debt`: how much collection moved lately.
//!
//! [`crate::engine`] and [`crate::drive`] differ in how data come to flash and in collection.

pub(crate) mod array;
pub mod backlog;
pub mod completed;
mod costs;
pub(crate) mod debt;
pub(crate) mod durability;
pub mod latency;
pub(crate) mod measures;
mod page_ends;
pub(crate) mod program_waits;
pub(crate) mod requests;
pub(crate) mod slab;
pub(crate) mod timeline;
mod view;

pub use measures::{BusyTimes, DeviceMeasures, FlashState};

use crate::device::costs::Costs;
use crate::device::debt::CollectionDebt;
use crate::device::durability::Durability;
use crate::device::latency::MeanTime;
use crate::device::measures::Before;
use crate::device::program_waits::ProgramWaits;
use crate::device::requests::Requests;
use crate::device::timeline::TimelineRecorder;
use destage_device::config::{Allocation, DeviceConfig};
use destage_device::map::{BlockStates, DeviceFull, FlashMap};
use destage_device::nand::{FlashCommand, Nand, OpKind};
use destage_record::Counts;
use destage_record::scene::SceneGeometry;
use destage_types::{ChannelId, ChipId, Lpn, Nanos, Op};
use smallvec::SmallVec;

/// Since when there is no command inside a device, as its host's side says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum HostRest {
    /// There is no host's side: commands are requests.
    #[default]
    OfRequests,
    /// There are some.
    Inside,
    /// Since then.
    Since(Nanos),
}

/// The part that all devices have, with their mapping.
pub struct DeviceCore<M: ?Sized = dyn FlashMap> {
    pub(crate) nand: Nand,
    pub(crate) requests: Requests,
    pub(crate) waits: ProgramWaits,
    /// The instant up to which time has passed.
    pub(crate) now: Nanos,
    /// The write that found no room.
    pub(crate) full: Option<Box<DeviceFull>>,
    /// Counters of the measured part that the array does not keep.
    pub(crate) traffic: Counts,
    /// Times of the programs of dirty evictions, if they are measured: until their start, until their end.
    pub(crate) evict_times: [MeanTime; 2],
    /// If writes pay for what is moved.
    pub(crate) debt: Option<CollectionDebt>,
    pub(crate) costs: Costs,
    /// Does every program go to the least busy chip?
    pub(crate) dynamic: bool,
    /// Which versions of pages are on flash.
    pub(crate) versions: Durability,
    pub(crate) host_rest: HostRest,
    /// Recorder of a timeline, if one is asked for.
    pub(crate) timeline: Option<Box<TimelineRecorder>>,
    /// Is only the result asked for, and nothing before the end?
    pub(crate) unobserved: bool,
    before: Before,
    pub(crate) map: M,
}

impl<M: FlashMap> DeviceCore<M> {
    /// At rest at time 0.
    pub fn new(config: &DeviceConfig, nand: Nand, map: M) -> DeviceCore<M> {
        DeviceCore {
            nand,
            requests: Requests::new(config),
            waits: ProgramWaits::default(),
            now: Nanos::ZERO,
            full: None,
            traffic: Counts::default(),
            evict_times: Default::default(),
            debt: CollectionDebt::new(config, map.collection().debt()),
            costs: Costs::new(config),
            dynamic: config.allocation == Allocation::Dynamic,
            versions: Durability::default(),
            host_rest: HostRest::default(),
            timeline: None,
            unobserved: false,
            before: Before::default(),
            map,
        }
    }
}

impl<M: ?Sized> DeviceCore<M> {
    /// # Panics
    /// If only the result of the run was to be asked for.
    pub(crate) fn assert_observable(&self) {
        assert!(
            !self.unobserved,
            "the promise of Engine::skip_unobserved_events is broken"
        );
    }

    /// An operation of the host that moves so many sectors of a page.
    #[inline]
    pub(crate) fn command(
        &self,
        kind: OpKind,
        chip: ChipId,
        sectors: u32,
        token: u32,
    ) -> FlashCommand {
        let transfer = self.costs.transfer(sectors);
        FlashCommand::new(kind, chip, transfer, token).bytes(self.costs.bytes(sectors))
    }

    /// A request begins.
    pub(crate) fn begin(&mut self, index: u64, op: Op, now: Nanos) {
        self.now = now;
        self.requests.begin(index, op, now);
        self.waits.advance(now);
    }

    /// Since when there is no command inside the device, if there is none.
    pub(crate) fn at_rest_since(&self) -> Option<Nanos> {
        match self.host_rest {
            HostRest::OfRequests => self.requests.at_rest_since(),
            HostRest::Inside => None,
            HostRest::Since(time) => Some(time),
        }
    }

    /// Writes with FUA come, which wait for programs of their pages.
    pub fn expect_fua(&mut self) {
        self.waits.expect_pages();
    }

    /// A FLUSH or FUA waits for the programs under way, or for those `of` these names, which are the ones of `pages`. It
    /// waited for this.
    pub(crate) fn end_flush(
        &mut self,
        request: u32,
        pages: Option<&[Lpn]>,
        of: Option<SmallVec<[u32; 1]>>,
    ) {
        self.requests.extend(request, self.waits.known_end(pages));
        self.waits.wait(&mut self.requests, request, of);
        self.requests.ended(request, self.now);
    }

    /// The device ran out of space, and what was to be programmed since then is lost.
    pub fn fault(&self) -> Option<&DeviceFull> {
        self.full.as_deref()
    }

    /// Mapping units that collection moves for each of the host, as the admission of writes sees it (D-17): in units of 2^-16.
    pub(crate) fn collection_debt(&self) -> u64 {
        self.debt.as_ref().map_or(0, CollectionDebt::mean)
    }

    /// Is a channel idle, as the cache sees it?
    pub(crate) fn is_channel_idle(&self, channel: ChannelId) -> bool {
        self.assert_observable();
        self.nand.is_channel_idle(channel)
    }

    /// Keeps which version of a page is on flash from now on.
    pub(crate) fn keep_versions(&mut self) {
        self.assert_observable();
        self.versions.on = true;
    }

    /// The current request writes a page, or a part of it, to the cache.
    #[inline]
    pub(crate) fn version_is_written(&mut self, lpn: Lpn) {
        if self.versions.on
            && let Some(request) = self.requests.current_index()
        {
            self.versions.written(lpn, request);
        }
    }

    /// The current request replaces the data of a page that was handed over.
    pub(crate) fn version_is_replaced(&mut self, lpn: Lpn) {
        if self.versions.on
            && let Some(request) = self.requests.current_index()
        {
            self.versions.replaced(lpn, request);
        }
    }

    /// Reads and programs of the host that wait or are served, by chip.
    pub(crate) fn host_operations(&self) -> impl Iterator<Item = (u32, u32)> {
        let of = |chip| (self.nand.host_reads(chip), self.nand.host_writes(chip));
        (0..self.nand.chips()).map(move |chip| of(ChipId(chip)))
    }

    /// Pages that these operations move.
    pub(crate) fn pages_on_their_way(&self) -> u64 {
        let of = |(reads, programs)| {
            u64::from(reads) + u64::from(programs) * self.costs.flash.pages_per_program
        };
        self.host_operations().map(of).sum()
    }
}

impl<M: FlashMap + ?Sized> DeviceCore<M> {
    /// Logical pages that the host can address.
    pub fn logical_pages(&self) -> u64 {
        self.map.logical_pages()
    }

    /// Writes how full all blocks are to `out`.
    pub(crate) fn block_states(&self, out: &mut BlockStates) {
        self.map.block_states(out);
    }

    /// Channels, dies and blocks. A queue unit counts as a chip, as in a timeline.
    pub(crate) fn scene_geometry(&self) -> SceneGeometry {
        let (nand, shape) = (&self.nand, self.map.shape());
        SceneGeometry {
            channels: nand.channels(),
            chips_per_channel: nand.chips() / nand.channels(),
            dies: nand.chips(),
            planes_per_die: shape.groups / nand.chips(),
            blocks_per_plane: shape.blocks,
            units_per_block: shape.places,
            ..SceneGeometry::default()
        }
    }
}
