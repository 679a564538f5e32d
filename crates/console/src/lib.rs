//! What a command needs that is about no cache: why it failed, what it says on the terminal, and files that are
//! written whole or not at all. Nothing here knows the simulator.

pub mod failure;
pub mod file;
pub mod identity;
pub mod interrupt;
pub mod print;
pub mod progress;
pub mod status_line;
pub mod suffix;
pub mod terminal;
pub mod text;

/// Version of the program with the commit it was built from.
pub const VERSION: &str = env!("DESTAGE_VERSION");
/// The version and a hash of the sources: it tells programs of one commit apart.
pub const PROGRAM: &str = concat!(env!("DESTAGE_VERSION"), " ", env!("DESTAGE_SOURCES"));
