//! The flash array: timing, queues, translation layer and its policies.

pub mod config;
pub mod drive;
pub mod ftl;
pub mod nand;
