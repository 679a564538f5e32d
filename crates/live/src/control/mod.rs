//! Orders to a server that runs: a Unix socket that takes a JSON object per line and answers each with one.

mod request;
mod socket;

pub use request::{ControlCommand, ControlReply, ControlRequest, ask};
pub use socket::{ControlSocket, MAX_LINE_BYTES};
