//! Layers around another scheme.

mod awb;
pub(crate) mod cac;
mod eager;
pub(crate) mod ecr;
mod filter;
mod gcar;
mod ldr;
pub(crate) mod lwrs;
mod multihash;
mod prober;
mod procache;
mod recency;
mod refcount;
mod sets;
mod sweep;

pub use awb::{Awb, AwbOptions, CancelOn, Partial};
pub use cac::{Cac, CacParams};
pub use eager::Eager;
#[cfg(feature = "conformance")]
pub(crate) use ecr::print_chips;
pub use ecr::{Ecr, EcrOptions, InnerCapacity, Tie};
pub use filter::{Filter, Identifier};
pub use gcar::{Gcar, GcarOptions, Protect};
pub use lwrs::{Grown, Lwrs, Set};
pub use multihash::{HashCounters, MultiHash, MultiHashParams};
pub use prober::{
    AsnCounts, CacUpdates, LdrEvict, LdrMode, LdrReadHit, Prober, ProberOptions, RipCmp,
};
pub use procache::{HitRule, ProCache, ProCacheParams};
pub(crate) use recency::Recency;
pub use refcount::{DecayPeriod, RefCount, RefCountParams, RefCounters};

use crate::Expr;

/// The layer inside wrapper `expr`.
fn layer_below(expr: &Expr) -> &Expr {
    expr.inner().expect("a checked wrapper has a scheme inside")
}
