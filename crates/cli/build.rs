//! Lists the files of the picture that `destage watch` shows, and those of the playground for a program with a copy of it
//! (feature `playground`).

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

const FOLDER: &str = "DESTAGE_SITE";
/// The pages of the browser.
const WEB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../playground/web");

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo gives no OUT_DIR")?);
    fs::write(out.join("web.rs"), list(Path::new(WEB), WEB)?)?;
    if env::var_os("CARGO_FEATURE_PLAYGROUND").is_none() {
        return Ok(());
    }
    println!("cargo::rerun-if-env-changed={FOLDER}");
    let folder = env::var(FOLDER).map_err(|_| {
        format!("the feature `playground` needs {FOLDER}: the folder that `cargo xtask site` makes, target/site/playground")
    })?;
    let from = format!("{FOLDER}={folder}");
    fs::write(out.join("playground.rs"), list(Path::new(&folder), &from)?)?;
    Ok(())
}

/// A constant with the name and the content of each file in `folder`, which errors call `from`.
fn list(folder: &Path, from: &str) -> Result<String, Box<dyn Error>> {
    let refused = |error| format!("{from}: {error}");
    let folder = folder.canonicalize().map_err(refused)?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder)? {
        files.push(entry?.path());
    }
    files.sort();
    let mut text = "const FILES: &[(&str, &[u8])] = &[\n".to_owned();
    for path in files.iter().filter(|path| path.is_file()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        println!("cargo::rerun-if-changed={}", path.display());
        writeln!(text, "    ({name:?}, include_bytes!({path:?})),")?;
    }
    text.push_str("];\n");
    Ok(text)
}
