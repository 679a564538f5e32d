//! The simulated SSD as a block device: an NBD server that stores data and answers in simulated time.
//!
//! Reading order: [`protocol`] (bytes in, bytes out), [`store`] (what is durable and what is not),
//! [`device`] (one request from its submission to its answer, and power cuts), [`server`] (threads,
//! sockets, the clock), [`control`] (orders to a server that runs), [`shadow`] (devices that only watch), [`ui`] (figures
//! while it runs).

pub mod control;
pub mod device;
pub mod fuzz;
pub mod protocol;
pub mod server;
pub mod shadow;
pub mod store;
pub mod ui;
