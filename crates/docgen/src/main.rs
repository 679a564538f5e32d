//! Writes the generated documents, or with `--check` says which ones are stale. It is what
//! `cargo xtask docs` runs. `--site DIR` writes the pages of the site, for `cargo xtask site`.

use destage_docgen::{DOCUMENTS, site};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [option, folder] = &arguments[..]
        && option == "--site"
    {
        return match site::write(&root, Path::new(folder)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("the site cannot be written: {error}");
                ExitCode::FAILURE
            }
        };
    }
    let check = arguments.iter().any(|arg| arg == "--check");
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
