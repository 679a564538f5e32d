//! Layers around another scheme.

mod procache;

pub use procache::{HitRule, ProCache, ProCacheParams};
