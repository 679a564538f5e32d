//! Threads, sockets and the clock.
//!
//! Each connection has a thread that reads requests and one that writes replies; each export has one
//! thread, which owns its device and keeps its time (`driver`).

mod budget;
mod connection;
mod driver;
mod export;
mod hall;
mod lateness;
mod link;
mod listener;
mod pace;
mod pieces;
mod place;
mod queue;
mod replies;
mod responses;
mod side_door;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
mod tls;

pub use budget::ServerLimits;
pub use driver::Routed;
pub use export::{Export, ExportHandle, ExportMoment, ExportReport, PowerCutAt};
pub use hall::{Guests, OpenConnection};
pub use lateness::Lateness;
pub use link::Socket;
pub use listener::{Server, ServerError};
pub use pace::Pace;
pub use place::ListenAt;
pub use responses::ResponseTimes;
pub use side_door::SideDoor;
pub use tls::{ServerTls, TlsError};
