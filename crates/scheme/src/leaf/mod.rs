//! Schemes that wrap nothing.

mod fifo;
mod lru;
mod none;

pub use fifo::Fifo;
pub use lru::Lru;
pub use none::NoCache;
