//! `destage playground`: the page that runs the simulator in the browser, served on loopback.

use crate::args::PlaygroundArgs;
use destage_console::failure::Failure;
use destage_console::file::require_regular;
use destage_console::interrupt;
use destage_console::print::print;
use destage_live::server::ListenAt;
use destage_live::ui::{Response, serve_files};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};

/// Ends of the names of files that a page has, and what they hold.
const KINDS: [(&str, &str); 5] = [
    ("html", "text/html; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("wasm", "application/wasm"),
    ("json", "application/json"),
];
/// The engine, without which the page is nothing.
const ENGINE: &str = "destage.wasm";

/// Serves the page until SIGINT or SIGTERM.
///
/// # Errors
/// There is no page, or its port cannot be had.
pub fn run(args: &PlaygroundArgs) -> Result<(), Failure> {
    let files = match &args.folder {
        Some(folder) => files_in(folder)?,
        None => inside::files()?,
    };
    serve(files, args.port, args.no_open)
}

/// Serves the files of a page on this machine alone until SIGINT or SIGTERM, and shows it unless `no_open`.
///
/// # Errors
/// The port cannot be had.
pub fn serve(
    files: BTreeMap<String, Response>,
    port: Option<u16>,
    no_open: bool,
) -> Result<(), Failure> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or(0)));
    let refused = |error| Failure::usage(format!("--port {}: {error}", address.port()));
    let (_ender, ended) = interrupt::ends_itself();
    let door = serve_files(address, files).map_err(refused)?;
    let ListenAt::Tcp(address) = door.address() else {
        return Err(Failure::Run("the page has no address".to_owned()));
    };
    let url = format!("http://{address}/");
    print(&format!("{url}\n"))?;
    if !no_open {
        open_browser(&url);
    }
    // Whichever way it ends, there is nothing left to serve.
    let _ = ended.recv();
    Ok(())
}

/// Starts the browser of the desktop. The address is printed, so a machine without one misses nothing.
fn open_browser(url: &str) {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(program);
    command
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _ = command.spawn();
}

/// The files of the page in `folder`; others there are not served.
fn files_in(folder: &Path) -> Result<BTreeMap<String, Response>, Failure> {
    let refused =
        |path: &Path, error| Failure::usage(format!("playground: {}: {error}", path.display()));
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(|error| refused(folder, error))? {
        let path = entry.map_err(|error| refused(folder, error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(kind) = kind_of(&name) {
            // A pipe would be waited for.
            let content = require_regular(&path).and_then(|()| std::fs::read(&path));
            let content = content.map_err(|error| refused(&path, error))?;
            files.insert(name.into_owned(), Response::new(kind, content));
        }
    }
    with_engine(files, &folder.display().to_string())
}

/// The files of the page in `place`, if the engine is there.
fn with_engine(
    files: BTreeMap<String, Response>,
    place: &str,
) -> Result<BTreeMap<String, Response>, Failure> {
    match files.contains_key(ENGINE) {
        true => Ok(files),
        false => Err(Failure::usage(format!(
            "playground: {place} has no {ENGINE}; `cargo xtask site` makes such a folder, target/site/playground"
        ))),
    }
}

/// The kind of a file, if a page has such files.
pub fn kind_of(name: &str) -> Option<&'static str> {
    let end = name.rsplit_once('.')?.1;
    KINDS.iter().find(|kind| kind.0 == end).map(|kind| kind.1)
}

/// The copy in the program.
#[cfg(feature = "playground")]
mod inside {
    use super::{Failure, Response, kind_of, with_engine};
    use std::collections::BTreeMap;

    // `FILES`: name and content of all files in the folder that DESTAGE_SITE names.
    include!(concat!(env!("OUT_DIR"), "/playground.rs"));

    pub fn files() -> Result<BTreeMap<String, Response>, Failure> {
        let files = FILES.iter().filter_map(|&(name, content)| {
            Some((name.to_owned(), Response::new(kind_of(name)?, content)))
        });
        with_engine(files.collect(), "the copy in this destage")
    }
}

/// A build without the feature has no copy.
#[cfg(not(feature = "playground"))]
mod inside {
    use super::{Failure, Response};
    use std::collections::BTreeMap;

    pub fn files() -> Result<BTreeMap<String, Response>, Failure> {
        Err(Failure::usage(
            "playground: this destage was built without a copy of the page; name a folder that has it, such as \
             target/site/playground after `cargo xtask site`",
        ))
    }
}
