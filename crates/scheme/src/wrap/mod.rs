//! Layers around another scheme.

mod awb;
mod cac;
mod ecr;
mod gcar;
mod ldr;
mod lwrs;
mod prober;
mod procache;
mod recency;
mod sets;

pub use awb::{Awb, AwbOptions, CancelOn, Partial};
pub use cac::{Cac, CacParams};
#[cfg(feature = "conformance")]
pub(crate) use ecr::print_chips;
pub use ecr::{Ecr, EcrOptions, InnerCapacity, Tie};
pub use gcar::{Gcar, GcarOptions, Protect};
pub use lwrs::{Grown, Lwrs, Set};
pub use prober::{
    AsnCounts, CacUpdates, LdrEvict, LdrMode, LdrReadHit, Prober, ProberOptions, RipCmp,
};
pub use procache::{HitRule, ProCache, ProCacheParams};
pub(crate) use recency::Recency;

use crate::Expr;

/// The layer inside wrapper `expr`.
fn layer_below(expr: &Expr) -> &Expr {
    expr.inner().expect("a checked wrapper has a scheme inside")
}
