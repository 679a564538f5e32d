//! Schemes that wrap nothing.

mod fifo;
mod lru;
mod none;
mod req_block;

pub use fifo::Fifo;
pub use lru::Lru;
pub use none::NoCache;
pub use req_block::{
    AccessUnit, Merge, OriginRule, ReqBlock, ReqBlockParams, SizeBasis, SplitAccess,
    SplitInsertTime, TimeBasis,
};
