//! Slow, obvious models of schemes, cache and device, written apart from the product.
//!
//! Plain vectors, linear search, clones. Nothing here shares code with the schemes or the core it
//! judges; only `destage-types` is common ground.
//!
//! ```
//! use destage_conformance::reference::{SlowCache, SlowConfig, SlowRequest};
//! let config = SlowConfig::new(4, 8).read_alloc(true);
//! let mut cache = SlowCache::new("cac(lru)", config).expect("a legal expression");
//! let row = cache.step(&SlowRequest::write_pages(8, 1, 2));
//! assert_eq!((row.result.as_str(), row.state.as_str()), ("MM", "[2* 1*] ; ART{}"));
//! ```

pub mod admission;
pub mod arc;
pub mod background;
pub mod belady;
pub mod cache;
pub mod chips;
pub mod counters;
pub mod counts;
pub mod cqct;
pub mod device;
pub mod expr;
pub mod flash;
pub mod groups;
pub mod lirs;
pub mod lists;
pub mod mapping;
pub mod nand;
pub mod pagemap;
pub mod prober;
pub mod reqblock;
pub mod request;
mod request_path;
pub mod rings;
pub mod rng;
pub mod scheme;
pub mod store;
pub mod swarm;

pub use background::DeviceCounts;
pub use cache::{Evicted, ReadFill, Row, SlowCache, SlowConfig};
pub use counts::{Counts, Sum};
pub use device::{SlowCacheAccess, SlowDevice, SlowProgram};
pub use flash::{SlowCause, SlowFlash, SlowWrite, Still};
pub use request::{Access, SlowRequest, look_ahead, to_batch};
pub use scheme::SlowScheme;
pub use store::{Frame, Store};
pub use swarm::{Profile, swarm};
