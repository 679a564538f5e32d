//! In place of `png` in a build without the feature of that name.

use std::io;

/// Refuses.
///
/// # Errors
/// Always.
pub fn draw(_: &str) -> io::Result<Vec<u8>> {
    Err(io::Error::other(
        "this destage was built without the feature `png`; build it with `--features png`, or write an .svg",
    ))
}

/// Refuses.
///
/// # Errors
/// Always.
pub fn check() -> io::Result<()> {
    draw("").map(drop)
}
