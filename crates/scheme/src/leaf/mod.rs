//! Schemes that wrap nothing.

mod fifo;
mod lru;

pub use fifo::Fifo;
pub use lru::Lru;
