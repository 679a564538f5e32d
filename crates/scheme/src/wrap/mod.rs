//! Layers around another scheme.

mod cac;
mod procache;

pub use cac::{Cac, CacParams};
pub use procache::{HitRule, ProCache, ProCacheParams};
