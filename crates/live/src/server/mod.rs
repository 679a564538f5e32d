//! Threads, sockets and the clock.
//!
//! Each connection has a thread that reads requests and one that writes replies; each export has one
//! thread, which owns its device and keeps its time (`driver`).

mod budget;
mod connection;
mod driver;
mod lateness;
mod link;
mod listener;
mod pace;
mod tls;

pub use driver::{Export, ExportReport, PowerCutAt};
pub use lateness::Lateness;
pub use listener::{ListenAt, Server, ServerError};
pub use pace::Pace;
pub use tls::{ServerTls, TlsError};
