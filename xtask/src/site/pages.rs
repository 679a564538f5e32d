//! The pages of the site. `destage-docgen` writes them as Markdown, and a generator makes HTML of them.
//!
//! The generator is Zensical (MIT), by the authors of Material for MkDocs, which is kept until 2027 only. One wheel
//! installs it, and it builds the site in seconds. Pages are readable without JavaScript, and the search needs no
//! server. mdBook would have to be compiled for minutes. Zensical 0.0.73 is the last version in a single package.

use crate::dist::does;
use crate::programs::{Build, build, target};
use crate::python::environment;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const GENERATOR: &str = include_str!("../../../python/requirements-site.txt");
const CONFIGURATION: &str = include_str!("zensical.toml");
const STYLE: &str = include_str!("extra.css");
/// The script that the search needs in a folder of files, and the address where the generator takes
/// it from.
const SHIM: &str = include_str!("vendor/iframe-worker/shim.js");
const SHIM_ELSEWHERE: &str = "https://unpkg.com/iframe-worker/shim";

/// Makes the pages in `target/site`, which is emptied, and gives its path.
///
/// # Errors
/// The generator cannot be installed, or a page cannot be made.
pub fn make() -> Result<PathBuf> {
    fs::create_dir_all(target())?;
    let target = target().canonicalize()?;
    let source = target.join("site-source");
    let _ = fs::remove_dir_all(&source);
    let docgen = build(Build::Tests)?.join("destage-docgen");
    // Commands that draw curves print tables.
    does(
        Command::new(docgen)
            .arg("--site")
            .arg(&source)
            .stdout(Stdio::null()),
    )?;
    fs::write(source.join("extra.css"), STYLE)?;
    fs::write(source.join("shim.js"), SHIM)?;
    let configuration = target.join("site.toml");
    fs::write(&configuration, CONFIGURATION)?;
    let tools = environment(
        &target.join("python"),
        "site",
        GENERATOR,
        Path::new("python3"),
    )?;
    let mut zensical = Command::new(tools.join("bin/zensical"));
    does(
        zensical
            .args(["build", "--clean", "--config-file"])
            .arg(configuration),
    )
    .context("the pages cannot be made")?;
    let site = target.join("site");
    bring_along(&site, "")?;
    Ok(site)
}

/// Pages load nothing from elsewhere.
fn bring_along(folder: &Path, up: &str) -> Result<()> {
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        if path.is_dir() {
            bring_along(&path, &format!("../{up}"))?;
        } else if path.extension().is_some_and(|end| end == "html") {
            let page = fs::read_to_string(&path)?;
            fs::write(path, page.replace(SHIM_ELSEWHERE, &format!("{up}shim.js")))?;
        }
    }
    Ok(())
}
