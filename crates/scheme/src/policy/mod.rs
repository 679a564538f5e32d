//! Schemes that wrap nothing.

mod arc;
mod belady;
pub(crate) mod bplru;
mod cflru;
mod cflru_eps;
mod clock;
mod ecr_eps;
mod fifo;
mod future;
pub(crate) mod lfu;
pub(crate) mod lirs;
mod lru;
mod none;
pub(crate) mod req_block;
#[cfg(test)]
mod testing;
pub(crate) mod two_q;
pub(crate) mod vbbms;

pub use arc::Arc;
pub use belady::Belady;
pub use bplru::{Bplru, BplruParams, Compensation};
pub use cflru::Cflru;
pub use cflru_eps::CflruEps;
pub use clock::Clock;
pub use ecr_eps::EcrEps;
pub use fifo::Fifo;
pub use future::{Future, FutureBuilder, FutureTooLong, NextOf};
pub use lfu::Lfu;
pub use lirs::{Lirs, LirsOptions, LirsVariant};
pub use lru::Lru;
pub(crate) use lru::PAGE_NODE_BYTES;
pub use none::NoCache;
pub use req_block::{
    AccessUnit, Merge, OriginRule, ReqBlock, ReqBlockParams, SizeBasis, SplitAccess,
    SplitInsertTime, TimeBasis,
};
pub use two_q::TwoQ;
pub use vbbms::{Classify, Vbbms, VbbmsParams};
