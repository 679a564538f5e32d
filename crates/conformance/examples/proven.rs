//! Writes what has been shown of each scheme; a part of `cargo xtask docs`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let scheme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scheme/src");
    std::fs::write(
        scheme.join("proven.txt"),
        destage_conformance::proof::proven(),
    )
}
