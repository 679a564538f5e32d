//! The curves of schemes, drawn by the commands that their pages show.

use destage_scheme::info::{Role, SchemeInfo};
use destage_scheme::registry::SCHEMES;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::iter;
use std::path::Path;

/// The workload: half of that of docs/COMMANDS.md, so that a check draws all curves in seconds.
pub const WORKLOAD: &str = "trace synth --requests 60000 --part weight=8,at='zipf(1.1)',space=96MiB,writes=0.7 \
                            --part weight=1,at=sequential,start=1GiB,space=4GiB,size=32KiB -o mixed.csv";
const SIZES: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

/// How a scheme is written, with LRU in a layer.
pub fn expression(info: &SchemeInfo) -> String {
    match info.role.is_layer() {
        true => format!("{}(lru)", info.name),
        false => info.name.to_owned(),
    }
}

/// Does the scheme change hits where there is no device?
pub fn is_drawn(info: &SchemeInfo) -> bool {
    info.without_device.is_none() && info.role != Role::None
}

/// The command that draws the curve of a scheme, as a shell takes it.
pub fn command(info: &SchemeInfo) -> String {
    let own = match info.name {
        "lru" | "belady" => String::new(),
        _ if info.role.is_layer() => format!(" --scheme '{}'", expression(info)),
        _ => format!(" --scheme {}", expression(info)),
    };
    let sizes = SIZES.map(|size| format!(" --cache {size}MiB")).concat();
    format!(
        "mrc mixed.csv --read-alloc off --scheme lru{own} --scheme belady{sizes} --plot {}.svg",
        info.name
    )
}

/// Draws the curves of all schemes into `folder`.
///
/// # Errors
/// A command fails.
pub fn draw(folder: &Path) -> io::Result<()> {
    destage(WORKLOAD, folder)?;
    for info in SCHEMES.iter().filter(|info| is_drawn(info)) {
        destage(&command(info), folder)?;
    }
    fs::remove_file(folder.join("mixed.csv"))
}

/// Runs a command without blanks inside words. Its files are in `folder`.
fn destage(command: &str, folder: &Path) -> io::Result<()> {
    let words = command.split_whitespace().map(|word| {
        let word = word.replace('\'', "");
        match word.ends_with(".csv") || word.ends_with(".svg") {
            true => folder.join(word).into_os_string(),
            false => OsString::from(word),
        }
    });
    match destage_cli::command(iter::once("destage".into()).chain(words), false) {
        0 => Ok(()),
        code => Err(io::Error::other(format!(
            "destage {command}: exit code {code}"
        ))),
    }
}
