//! `--ui`: what can be seen of the server while it runs.

use crate::args::ServerArgs;
use crate::serve::exports::ServedExport;
use destage_console::failure::Failure;
use destage_live::server::{ListenAt, SideDoor};
use destage_live::ui::{Monitor, MonitoredExport, serve};
use std::time::Duration;

/// Between two looks at the exports.
const EVERY: Duration = Duration::from_secs(1);

/// Serves the figures of `exports` at the address that was asked for, if one was.
///
/// # Errors
/// The address cannot be had, or is open to others without a word.
pub fn open(args: &ServerArgs, exports: &[ServedExport]) -> Result<Option<SideDoor>, Failure> {
    let Some(address) = args.ui else {
        return match args.ui_public {
            true => Err(Failure::usage("--ui-public needs --ui ADDRESS:PORT")),
            false => Ok(None),
        };
    };
    if !address.ip().is_loopback() && !args.ui_public {
        return Err(Failure::usage(format!(
            "--ui {address} can be reached from other machines: --ui-public allows that; without it only \
             loopback addresses such as 127.0.0.1 are served"
        )));
    }
    let failed = |error| Failure::usage(format!("--ui {address}: {error}"));
    let monitored = exports.iter().map(|export| MonitoredExport {
        handle: export.handle.clone(),
        shadows: export.shadows.clone(),
    });
    let monitor = Monitor::start(monitored.collect(), EVERY).map_err(failed)?;
    serve(address, monitor).map(Some).map_err(failed)
}

/// Where a browser finds it.
pub fn url(door: &SideDoor) -> String {
    match door.address() {
        ListenAt::Tcp(address) => format!("http://{address}/"),
        ListenAt::Unix(path) => path.display().to_string(),
    }
}
