//! What can be seen of a server that runs: figures for Prometheus, JSON, and a page that draws them.
//!
//! `monitor` looks at the exports once a second; whoever asks by HTTP (`http`) is given what it saw,
//! and never keeps an export from its work.

mod http;
mod metrics;
mod monitor;
mod page;

pub use monitor::{Monitor, MonitoredExport};

use crate::server::{ListenAt, SideDoor};
use http::{HttpGuests, Response};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// Serves `/`, `/stats` and `/metrics` at `address`, until what is given back is dropped.
///
/// # Errors
/// The address cannot be had.
pub fn serve(address: SocketAddr, monitor: Arc<Monitor>) -> io::Result<SideDoor> {
    let page = page::page();
    let answer = move |path: &str| match path {
        "/" => Some(Response::new("text/html; charset=utf-8", page.clone())),
        "/stats" => Some(Response::new("application/json", monitor.json())),
        "/metrics" => {
            let text = metrics::encode(&monitor.latest());
            Some(Response::new(metrics::CONTENT_TYPE, text))
        }
        _ => None,
    };
    SideDoor::open(&ListenAt::Tcp(address), HttpGuests::new(answer))
}
