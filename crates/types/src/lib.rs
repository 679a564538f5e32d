//! Units, addresses and requests that every other crate of destage speaks in.
//!
//! No logic beyond arithmetic on these types lives here, and no other crate of destage is known.
//!
//! | word | meaning |
//! |--|--|
//! | sector | 512 B, the unit of host addresses |
//! | page | the unit of the cache and of the flash array, 2-64 KiB |
//! | LPN | logical page number: start sector / sectors per page |
//! | slot | a frame of the cache |
//! | chip | the unit of flash with its own queue (`queue_per` of a device says die or package) |

pub mod geometry;
pub mod ids;
pub mod nearest;
pub mod number_map;
pub mod operation;
pub mod request;
pub mod rng;
pub mod sectors;
pub mod units;

pub use geometry::{Axis, Geometry, PageSize, PlaneAddress, QueuePer, StaticLayout};
pub use ids::{ChannelId, ChipId, Lpn, Nanos, PlaneId, Ppn, Slot};
pub use nearest::nearest;
pub use number_map::NumberMap;
pub use operation::{Class, OpActivity, OpKind, OpPhase, PhaseKind};
pub use request::{
    Extent, HostRequest, Op, RequestBatch, RequestFlags, RequestOrigin, RequestRef, Tag,
};
pub use sectors::{SECTOR_BYTES, SectorMask};
pub use units::{ByteSize, Energy, Picos, UnitError};
