//! The flash array: timing, queues, translation layer, and its policies.

pub mod config;
pub mod map;
pub mod nand;
