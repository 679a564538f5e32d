//! Policies: what is cached, and what leaves next.

pub mod arc;
pub mod belady;
pub mod bplru;
pub mod cflru;
pub mod cflru_eps;
pub mod clock;
pub mod ecr_eps;
pub mod fifo;
mod future;
pub mod lfu;
pub mod lirs;
pub mod lru;
pub mod none;
pub mod req_block;
pub mod two_q;
pub mod vbbms;

pub use future::{Future, FutureBuilder, FutureTooLong, NextOf};
