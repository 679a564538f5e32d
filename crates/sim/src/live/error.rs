//! Why a live device refuses.

use crate::RunError;
use destage_device::map::DeviceFull;

/// Why a live device does not take a request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// Time does not go back.
    #[error("a request at {at} ns comes after the device was at {now} ns")]
    Past {
        /// Arrival in ns.
        at: u64,
        /// Time of the device in ns.
        now: u64,
    },
    /// Half of the 64 bits of a time are left for what waits.
    #[error("a request at {at} ns comes too late: times must stay below 2^63 ns")]
    TooLate {
        /// Arrival in ns.
        at: u64,
    },
    /// The device has no such sectors.
    #[error("sectors {start} to {start} + {count} are beyond the {sectors} of the device")]
    Beyond {
        /// First sector.
        start: u64,
        /// Sectors.
        count: u32,
        /// Sectors of the device.
        sectors: u64,
    },
    /// All requests but FLUSH have sectors.
    #[error("a request has at least one sector, unless it is FLUSH")]
    Empty,
    /// Requests have one extent and no old addresses.
    #[error("a live device takes requests of one extent, without old addresses")]
    Sides,
    /// The host's side of the device would have to flush first.
    #[error("a request with a preflush comes to a device that expects none")]
    Preflush,
    /// The device ran out of space, and serves no request any more.
    #[error("the device cannot go on: {0}")]
    Full(Box<DeviceFull>),
    /// The new scheme cannot be.
    #[error("{0}")]
    Scheme(#[from] RunError),
    /// Another scheme follows as soon as the cache is written to flash.
    #[error(
        "the scheme changes: until the cache is written to flash, the device takes FLUSH alone"
    )]
    Changing,
    /// A new scheme cannot come with another device.
    #[error("the new scheme is for another device, page size or seed than this one")]
    OtherDevice,
}
