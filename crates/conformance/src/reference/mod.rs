//! Slow, obvious models of schemes, cache and device, written apart from the product.
//!
//! Plain vectors, linear search, clones. Nothing here shares code with the schemes or the core it
//! judges; only `destage-types` is common ground.
//!
//! ```
//! use destage_conformance::reference::{SlowCache, SlowConfig, SlowRequest};
//! let config = SlowConfig { read_alloc: Some(true), ..SlowConfig::new(4, 8) };
//! let mut cache = SlowCache::new("cac(lru)", config).expect("a legal expression");
//! let row = cache.step(&SlowRequest::write_pages(8, 1, 2));
//! assert_eq!((row.result.as_str(), cache.state().as_str()), ("MM", "[2* 1*] ; ART{}"));
//! ```

mod address_order;
mod admission;
mod admission_layers;
mod ahead;
mod arc;
pub mod array;
mod background;
mod belady;
mod best_of;
mod blocks;
mod cache;
mod chips;
mod choosing;
mod clusters;
mod co_active;
mod counters;
mod counts;
pub mod cqct;
pub mod device;
pub mod drive;
pub mod expr;
mod filters;
pub mod flash;
mod frd;
mod group_circle;
mod groups;
mod histories;
mod identifiers;
pub mod invariants;
mod lirs;
mod lists;
mod mapping;
mod occasions;
pub mod pagemap;
pub mod pool;
mod prober;
mod registry;
mod reqblock;
mod request;
mod reserve;
mod rings;
pub mod rng;
mod s3_fifo;
mod scheme;
mod second_chance;
mod store;
mod swarm;
mod update_distance;
mod w_tinylfu;
mod windows;

pub use background::DeviceCounts;
pub use cache::{Evicted, Row, SlowCache, SlowConfig, SlowReadFill};
pub use counts::{SlowCounts, Sum};
pub use device::{SlowDevice, SlowOperation};
pub use flash::{SlowCause, SlowFlash, SlowWrite};
pub use request::{SlowAccess, SlowRequest, look_ahead, to_batch};
pub use scheme::SlowScheme;
pub use store::{Frame, Store};
pub use swarm::{Profile, swarm};
