//! Views of a server that runs: figures for Prometheus, JSON, and a page that draws them.
//!
//! `monitor` looks at the exports once a second; whoever asks by HTTP (`http`) is given what it saw,
//! and never keeps an export from its work.

mod http;
mod metrics;
mod monitor;
mod page;

pub use monitor::{Monitor, MonitoredExport};

use crate::server::{ListenAt, SideDoor};
pub use http::Response;
use http::{HttpGuests, SCRIPTS_BESIDE, SCRIPTS_INSIDE};
use std::collections::BTreeMap;
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
    let guests = HttpGuests::new(answer, SCRIPTS_INSIDE, "there are /, /stats and /metrics");
    SideDoor::open(&ListenAt::Tcp(address), guests)
}

/// Serves a page of several files at `address`, until what is given back is dropped. `files` has each file by its
/// name; `index.html` is also at `/`.
///
/// # Errors
/// The address cannot be had.
pub fn serve_files(address: SocketAddr, files: BTreeMap<String, Response>) -> io::Result<SideDoor> {
    let answer = move |path: &str| {
        let name = path.strip_prefix('/')?;
        let name = if name.is_empty() { "index.html" } else { name };
        files.get(name).cloned()
    };
    let guests = HttpGuests::new(answer, SCRIPTS_BESIDE, "there is / and what it names");
    SideDoor::open(&ListenAt::Tcp(address), guests)
}
