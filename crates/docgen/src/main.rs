//! Writes the generated documents, or with `--check` says which ones are stale. It is what
//! `cargo xtask docs` runs.

use destage_docgen::DOCUMENTS;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let check = std::env::args().any(|arg| arg == "--check");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut failed = false;
    for document in DOCUMENTS {
        let (path, text) = (root.join(document.path), (document.text)());
        let fresh = std::fs::read_to_string(&path).is_ok_and(|old| old == text);
        if fresh {
            continue;
        }
        if check {
            eprintln!("{} is stale; `cargo xtask docs` writes it", document.path);
            failed = true;
        } else if let Err(error) = std::fs::write(&path, text) {
            eprintln!("cannot write {}: {error}", document.path);
            failed = true;
        } else {
            println!("wrote {}", document.path);
        }
    }
    if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
