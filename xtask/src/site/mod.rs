//! `cargo xtask site`: pages and playground as a folder of files, which any web server serves, and a look at the
//! playground in a browser.

mod check;
mod links;
mod pages;

use crate::bench::output;
use crate::programs::{Build, build, cargo_by_hand, target};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The target that the browser runs.
const TARGET: &str = "wasm32-unknown-unknown";
/// The profile of the engine, which is also the name of the folder of what is built.
const PROFILE: &str = "web";
const ENGINE: &str = "destage.wasm";
const STORIES: &str = include_str!("../../../papers/stories.toml");
/// The most that the engine may have on its way, compressed by gzip.
const MOST_BYTES: usize = 1_500_000;

/// How the site is made.
#[derive(clap::Args)]
pub struct Options {
    /// Open the playground in a browser without a window, and hold its records against those of the command.
    #[arg(long)]
    check: bool,
    /// Take the engine that was built last.
    #[arg(long)]
    built: bool,
    /// Leave the engine out: the playground does not run then.
    #[arg(long, conflicts_with_all = ["check", "built"])]
    pages: bool,
}

/// Makes `target/site`.
///
/// # Errors
/// The engine or the pages do not build, a link is dead, or the playground does not do what it should.
pub fn run(options: &Options) -> Result<()> {
    if !options.pages && !options.built {
        require_target()?;
    }
    let site = pages::make()?;
    let playground = site.join("playground");
    copy_page(&playground)?;
    add_stories(&playground)?;
    if !options.pages {
        add_engine(&playground, options.built)?;
    }
    links::check(&site)?;
    println!("{}", site.join("index.html").display());
    if options.check {
        check::run(&playground)?;
    }
    Ok(())
}

/// Is there what the engine is built with? The pages take long, and the engine comes after them.
fn require_target() -> Result<()> {
    let library =
        output(Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]))?;
    ensure!(
        Path::new(library.trim()).is_dir(),
        "the target {TARGET} of the engine is not installed; `rustup target add {TARGET}` installs it, and \
         `cargo xtask site --pages` leaves the engine out"
    );
    Ok(())
}

/// Copies the files of the playground that are not compiled.
fn copy_page(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/playground/web");
    for file in fs::read_dir(&web).with_context(|| web.display().to_string())? {
        let path = file?.path();
        fs::copy(&path, folder.join(path.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

/// Puts the scenes of each story beside the picture, which shows them at `watch.html?scenes=NAME.json`.
fn add_stories(folder: &Path) -> Result<()> {
    let program = build(Build::Tests)?.join("destage");
    let names = STORIES
        .lines()
        .filter_map(|line| line.strip_prefix("name = "));
    for name in names.map(|name| name.trim_matches('"')) {
        let mut command = Command::new(&program);
        command.args(["watch", "--story", name, "--export"]);
        command.arg(folder.join(format!("{name}.json")));
        ensure!(command.status()?.success(), "story {name} cannot be told");
    }
    Ok(())
}

/// Builds the engine and puts it beside the page.
fn add_engine(folder: &Path, built: bool) -> Result<()> {
    if !built {
        let arguments = format!(
            "rustc -p destage-playground --lib --profile {PROFILE} --target {TARGET} --crate-type cdylib"
        );
        let status = cargo_by_hand().args(arguments.split(' ')).status()?;
        ensure!(status.success(), "the engine does not build");
    }
    let engine = target()
        .join(TARGET)
        .join(PROFILE)
        .join("destage_playground.wasm");
    let place = folder.join(ENGINE);
    fs::copy(&engine, &place).with_context(|| engine.display().to_string())?;
    make_smaller(&place)?;
    let bytes = compressed_bytes(&place)?;
    println!("{ENGINE}: {bytes} bytes compressed by gzip");
    ensure!(bytes <= MOST_BYTES, "{ENGINE} may have {MOST_BYTES} bytes");
    Ok(())
}

/// Optimises the engine once more where `wasm-opt` of binaryen is installed.
fn make_smaller(place: &Path) -> Result<()> {
    let mut command = Command::new("wasm-opt");
    command
        .args(["-O2", "--all-features", "-o"])
        .arg(place)
        .arg(place);
    match command.status() {
        Ok(status) => ensure!(status.success(), "wasm-opt fails"),
        Err(_) => println!("note: wasm-opt is not installed, and the engine is a little larger"),
    }
    Ok(())
}

fn compressed_bytes(file: &Path) -> Result<usize> {
    let mut command = Command::new("gzip");
    let output = command
        .arg("-9c")
        .arg(file)
        .stderr(Stdio::inherit())
        .output();
    let output = output.context("gzip cannot be started")?;
    ensure!(output.status.success(), "gzip fails");
    Ok(output.stdout.len())
}
