//! Layers around another scheme.

pub mod awb;
pub mod cac;
pub mod eager;
pub mod ecr;
mod filter;
pub mod gcar;
mod ldr;
pub mod lwrs;
pub mod multihash;
pub mod prober;
pub mod procache;
mod recency;
pub mod refcount;
mod sets;
mod sweep;

#[cfg(feature = "conformance")]
pub(crate) use ecr::print_chips;
pub use ldr::{LargeWrite, LargeWrites};
pub(crate) use recency::Recency;

use crate::Expr;

/// The scheme inside the layer `expr`.
fn layer_below(expr: &Expr) -> &Expr {
    expr.inner().expect("a checked layer has a scheme inside")
}
