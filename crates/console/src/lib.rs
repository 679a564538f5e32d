//! Parts of a command that are about no cache: why it failed, what it says on the terminal, and
//! files that are written whole or not at all. Nothing here knows the simulator.

pub mod failure;
pub mod file;
pub mod identity;
pub mod interrupt;
mod platform;
pub mod print;
pub mod progress;
pub mod status_line;
pub mod suffix;
pub mod terminal;
pub mod text;

use std::sync::OnceLock;

/// Version of the program with the commit it was built from.
pub const VERSION: &str = env!("DESTAGE_VERSION");
/// The version and a hash of the sources: it tells programs of one commit apart.
const SOURCES: &str = concat!(env!("DESTAGE_VERSION"), " ", env!("DESTAGE_SOURCES"));

static PROGRAM: OnceLock<String> = OnceLock::new();

/// An identity of this program and of all that may change its results: its version, a hash of its
/// sources, and what [`extended_by`] was given.
pub fn program() -> &'static str {
    PROGRAM.get().map_or(SOURCES, String::as_str)
}

/// This program does more than the sources here say, and `digest` stands for that. To be called once, first of all.
pub fn extended_by(digest: &str) {
    PROGRAM.get_or_init(|| format!("{SOURCES} {digest}"));
}
