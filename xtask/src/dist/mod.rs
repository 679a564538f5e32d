//! `cargo xtask dist`: archives for people without a compiler, and the source with all that it needs to
//! be built offline. Everything is made of the last commit, and the same commit gives the same bytes.

mod archive;
mod elf;
pub mod licences;
pub mod source;

use crate::bench::output;
use crate::programs::target;
use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Targets of the programs, with what ELF calls their processors.
const TARGETS: [(&str, u16); 2] = [
    ("x86_64-unknown-linux-musl", elf::X86_64),
    ("aarch64-unknown-linux-musl", elf::AARCH64),
];
const SOURCE: &str = "source";
/// The compiler of C for all targets and what hands it to cargo: versions that are known to work.
const TOOLS: &str = include_str!("../../dist-tools.txt");

/// Choice of the packages that are made.
#[derive(clap::Args)]
pub struct Options {
    /// Only this: a target, or `source`; repeatable [default: all].
    #[arg(long, value_name = "TARGET|source")]
    only: Vec<String>,
}

/// Where things are.
struct Dist {
    /// The last commit, checked out.
    source: PathBuf,
    /// The archives.
    out: PathBuf,
    /// Their folders while they are packed.
    stage: PathBuf,
    tools: PathBuf,
    version: String,
    /// Seconds since 1970 of the commit, the time of all files.
    time: String,
}

/// Makes the archives in the folder `dist` of the target folder, and `SHA256SUMS` beside them.
///
/// # Errors
/// A check of optimised programs fails, a tool is missing or fails, a licence is not allowed, or a
/// program is not static or does not run.
pub fn run(options: &Options) -> Result<()> {
    let known = |name: &String| name == SOURCE || TARGETS.iter().any(|(target, _)| target == name);
    if let Some(other) = options.only.iter().find(|name| !known(name)) {
        anyhow::bail!("`{other}` is neither `{SOURCE}` nor one of {TARGETS:?}");
    }
    let wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|o| o == name);
    crate::instructions::optimised(false)?;
    let dist = Dist::new()?;
    for (target, machine) in TARGETS.into_iter().filter(|(target, _)| wanted(target)) {
        dist.program(target, machine)?;
    }
    if wanted(SOURCE) {
        dist.source()?;
    }
    dist.sums()
}

impl Dist {
    fn new() -> Result<Dist> {
        fs::create_dir_all(target())?;
        let target = target().canonicalize()?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let git =
            |arguments: &[&str]| output(Command::new("git").current_dir(&root).args(arguments));
        if !git(&["status", "--porcelain"])?.is_empty() {
            println!("note: changes that are not committed are left out");
        }
        // `dist` is the folder of the build profile of that name.
        let [source, out, stage] =
            ["dist-src", "archives", "dist-stage"].map(|name| target.join(name));
        for folder in [&source, &out, &stage] {
            let _ = fs::remove_dir_all(folder);
            fs::create_dir_all(folder)?;
        }
        source::check_out(&root, &source)?;
        Ok(Dist {
            source,
            out,
            stage,
            tools: target.join("dist-tools"),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            time: git(&["log", "-1", "--format=%ct"])?.trim().to_owned(),
        })
    }

    /// Builds, checks and packs the program for one target.
    fn program(&self, target: &str, machine: u16) -> Result<()> {
        println!("{target}");
        self.install_tools()?;
        does(
            Command::new("rustup")
                .current_dir(&self.source)
                .args(["target", "add", target]),
        )?;
        self.build(target)?;
        let program = self.source.join("../").join(target).join("dist/destage");
        elf::is_static(&fs::read(&program)?, machine)
            .with_context(|| format!("{}", program.display()))?;
        if target.starts_with(std::env::consts::ARCH) {
            // Nothing of this machine helps it.
            let empty = tempfile::tempdir()?;
            let mut demo = Command::new(&program);
            demo.arg("demo").env_clear().current_dir(empty.path());
            ensure!(
                output(&mut demo)?.contains("lru"),
                "the demo shows no table"
            );
        }
        let name = format!("destage-{}-{target}", self.version);
        let folder = self.stage.join(&name);
        fs::create_dir_all(&folder)?;
        fs::copy(&program, folder.join("destage"))?;
        for file in ["README.md", "LICENSE"] {
            fs::copy(self.source.join(file), folder.join(file))?;
        }
        copy_folder(&self.source.join("docs"), &folder.join("docs"))?;
        let python = self.tools.join("bin/python3");
        let licences = folder.join("licences");
        licences::write(&self.source, "destage-cli", target, &python, &licences)?;
        archive::pack(&self.stage, &name, &self.time, &self.out)
    }

    /// Packages of PyPI in a folder of their own: a C compiler for all targets needs no root there.
    fn install_tools(&self) -> Result<()> {
        let installed = self.tools.join("installed.txt");
        if fs::read_to_string(&installed).is_ok_and(|text| text == TOOLS) {
            return Ok(());
        }
        let wanted = self.stage.join("tools.txt");
        fs::write(&wanted, TOOLS)?;
        does(
            Command::new("python3")
                .args(["-m", "venv"])
                .arg(&self.tools),
        )?;
        let mut pip = Command::new(self.tools.join("bin/pip"));
        does(
            pip.args(["install", "--quiet", "--requirement"])
                .arg(&wanted),
        )?;
        fs::write(&installed, TOOLS)?;
        Ok(())
    }

    fn build(&self, target: &str) -> Result<()> {
        let path = std::env::var("PATH")?;
        let tools = self.tools.join("bin");
        let mut cargo = Command::new(tools.join("cargo-zigbuild"));
        cargo
            .current_dir(&self.source)
            .args(["zigbuild", "--locked", "--profile", "dist"])
            .args([
                "--package",
                "destage-cli",
                "--features",
                "full",
                "--target",
                target,
            ])
            .env("PATH", format!("{}:{path}", tools.display()))
            .env("CARGO_TARGET_DIR", self.source.join(".."))
            .env("CARGO_PROFILE_DIST_STRIP", "symbols")
            .env("RUSTFLAGS", source::without_paths(&self.source)?);
        does(&mut cargo)
    }

    /// The source with all packages that it needs, and the settings that make cargo take them.
    fn source(&self) -> Result<()> {
        println!("{SOURCE}");
        let name = format!("destage-{}-{SOURCE}", self.version);
        let folder = self.stage.join(&name);
        copy_folder(&self.source, &folder)?;
        source::vendor(&folder)?;
        archive::pack(&self.stage, &name, &self.time, &self.out)
    }

    /// The form of `sha256sum`, which checks it with `-c`.
    fn sums(&self) -> Result<()> {
        let files = fs::read_dir(&self.out)?.map(|entry| Ok(entry?.path()));
        let mut files = files.collect::<Result<Vec<_>>>()?;
        files.sort();
        let mut sums = String::new();
        for file in &files {
            let bytes = fs::read(file)?;
            let hash = Sha256::digest(&bytes);
            let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            sums += &format!("{hash}  {name}\n");
            println!("{} KiB  {}", bytes.len() >> 10, file.display());
        }
        fs::write(self.out.join("SHA256SUMS"), &sums)?;
        print!("{sums}");
        Ok(())
    }
}

/// Copies a folder with all in it to a place where there is none.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    does(Command::new("cp").arg("-r").arg(from).arg(to))
}

/// Runs a command that has to succeed.
pub fn does(command: &mut Command) -> Result<()> {
    let what = format!("{command:?}");
    let status = command
        .status()
        .with_context(|| format!("cannot start {what}"))?;
    ensure!(status.success(), "{what} failed: {status}");
    Ok(())
}
