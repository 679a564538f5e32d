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
mod place;
mod responses;
mod side_door;
mod tls;

pub use driver::Routed;
pub use export::{Export, ExportHandle, ExportMoment, ExportReport, PowerCutAt};
pub use hall::Guests;
pub use lateness::Lateness;
pub use link::Socket;
pub use listener::{Server, ServerError};
pub use pace::Pace;
pub use place::ListenAt;
pub use responses::ResponseTimes;
pub use side_door::SideDoor;
pub use tls::{ServerTls, TlsError};
