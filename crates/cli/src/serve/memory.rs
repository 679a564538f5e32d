//! How a server spends `--memory`. All that grows with an export counts: the tables of its device and
//! cache, data that are not on flash, data in memory, requests and replies on their way.

use crate::args::{DataArg, ExportArgs};
use crate::serve::persistence::cache_kind;
use destage_console::failure::Failure;
use destage_experiment::memory::{MemoryLimit, mib};
use destage_live::server::ServerLimits;
use destage_live::store::{CacheKind, MemoryBudget};
use destage_sim::{RunSpec, of_live};
use destage_types::ByteSize;
use std::sync::Arc;

/// Bytes of a server besides its exports and clients: figures, the pages of `--ui`, orders, buffers
/// of files.
const BASE: u64 = 40 << 20;
/// Data on their way from the cache to flash, beside those in the cache.
const ON_THEIR_WAY: u64 = 16 << 20;

/// The memory of a server.
pub struct ServerMemory {
    limit: MemoryLimit,
    /// Bytes that clients may have on their way.
    pub limits: ServerLimits,
    /// Bytes for data, and for devices and caches.
    pub budget: Arc<MemoryBudget>,
}

/// Bytes of one device, at most.
#[derive(Clone, Copy, Debug)]
pub struct DeviceMemory {
    /// Bytes of its tables.
    tables: u64,
    /// Bytes of data that are not on flash, where they are kept.
    data: u64,
    /// The same, whether they are kept or not.
    pub volatile: u64,
}

impl DeviceMemory {
    /// That of the device of `spec`. `keeps_volatile`: data in its cache are kept beside those on flash.
    pub fn of(spec: &RunSpec, keeps_volatile: bool) -> DeviceMemory {
        let page = spec.page.bytes();
        let device = spec.device.as_ref();
        let pages = device.map_or(0, |device| device.logical_pages());
        let frames = u64::from(spec.capacity().unwrap_or(0)).min(pages);
        let volatile = frames * page + ON_THEIR_WAY;
        DeviceMemory {
            tables: of_live(spec, volatile / page),
            data: if keeps_volatile { volatile } else { 0 },
            volatile,
        }
    }

    /// That of an export of `spec`.
    pub fn of_export(spec: &RunSpec, args: &ExportArgs) -> DeviceMemory {
        let pattern = args.backing.is_none() && args.data() == DataArg::None;
        DeviceMemory::of(
            spec,
            !pattern && cache_kind(args.cache_kind, spec) == CacheKind::Dram,
        )
    }

    /// All of it.
    pub fn bytes(self) -> u64 {
        self.tables.saturating_add(self.data)
    }
}

impl ServerMemory {
    /// That of a server with this limit.
    pub fn new(limit: MemoryLimit) -> ServerMemory {
        let limits = ServerLimits::within(limit.bytes());
        ServerMemory::beside(limit, limits, limits.bytes())
    }

    /// That of a device with this limit that no clients come to.
    #[cfg(feature = "lab")]
    pub fn without_clients(limit: MemoryLimit) -> ServerMemory {
        ServerMemory::beside(limit, ServerLimits::within(0), 0)
    }

    fn beside(limit: MemoryLimit, limits: ServerLimits, of_clients: u64) -> ServerMemory {
        let left = limit.bytes().saturating_sub(BASE + of_clients);
        ServerMemory {
            limit,
            limits,
            budget: MemoryBudget::new(left),
        }
    }

    /// Sets aside what a device takes, which `name` names.
    ///
    /// # Errors
    /// There is less.
    pub fn hold(&self, name: &str, device: DeviceMemory) -> Result<(), Failure> {
        match self.budget.hold(device.bytes()) {
            true => Ok(()),
            false => Err(Failure::usage(format!(
                "{name}: it may take {} of memory ({} for tables, {} for data in its cache and on their way), but \
                 of --memory {} only {} are left: give it more, or choose a smaller cache or device",
                mib(device.bytes()),
                mib(device.tables),
                mib(device.data),
                ByteSize(self.limit.bytes()),
                mib(self.budget.left()),
            ))),
        }
    }
}
