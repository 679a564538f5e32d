//! Layers around another scheme.

pub mod awb;
pub mod cac;
mod dirty_set;
pub mod drain;
pub mod eager;
pub mod ecr;
mod filter;
pub mod gcar;
mod hashes;
pub mod idle_clean;
mod ldr;
pub mod lwrs;
pub mod mbf;
pub mod multihash;
pub mod prober;
pub mod procache;
mod recency;
pub mod refcount;
mod sets;
mod sweep;
pub mod twolevel;

#[cfg(feature = "conformance")]
pub(crate) use ecr::print_chips;
pub(crate) use recency::Recency;

use crate::Expr;

/// The scheme inside the layer `expr`.
///
/// # Panics
/// `expr` is no layer of an expression that was checked.
pub fn layer_below(expr: &Expr) -> &Expr {
    expr.inner().expect("a checked layer has a scheme inside")
}
