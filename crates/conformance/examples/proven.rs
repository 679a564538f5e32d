//! Writes what has been shown of each scheme, and the states that the site draws; a part of `cargo xtask docs`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::write(
        crates.join("scheme/src/proven.txt"),
        destage_conformance::proof::proven(),
    )?;
    std::fs::write(
        crates.join("docgen/src/site/states.txt"),
        destage_conformance::figures::states(),
    )
}
