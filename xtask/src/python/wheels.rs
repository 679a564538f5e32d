//! Packages to ship, made of the last commit: wheels, and the source that builds without the
//! network.

use super::{Package, only_file};
use crate::bench::output;
use crate::dist::{does, licences, source};
use crate::programs::target;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Targets of wheels; the oldest C library that they run with is that of manylinux_2_28.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];
const PLATFORM: &str = "manylinux_2_28";
/// The crate of the extension.
const CRATE: &str = "destage-python";
/// How files begin that `license-files` of pyproject.toml takes along. They are in no folder, as maturin makes none
/// when it writes the description of a package.
const LICENCE: &str = "LICENSE";

impl Package {
    /// Wheels of all targets and the source, in `target/wheels`; the wheel of this machine.
    pub(super) fn shipped(&self) -> Result<PathBuf> {
        let wheels = target().canonicalize()?.join("wheels");
        let _ = fs::remove_dir_all(&wheels);
        fs::create_dir_all(&wheels)?;
        let git = ["status", "--porcelain"];
        if !output(Command::new("git").current_dir(&self.root).args(git))?.is_empty() {
            println!("note: changes that are not committed are left out");
        }
        let stage = self.folder.join("source");
        source::check_out(&self.root, &stage)?;
        let mut own = None;
        for target in TARGETS {
            println!("{target}");
            let wheel = self.wheel_of(&stage, target)?;
            let kept = wheels.join(wheel.file_name().context("a wheel without a name")?);
            fs::copy(&wheel, &kept)?;
            if target.starts_with(std::env::consts::ARCH) {
                own = Some(kept);
            }
        }
        self.source(&stage, &wheels)?;
        own.context("no wheel is for this machine")
    }

    /// An optimised wheel for `target`, with the licences of all that is linked.
    fn wheel_of(&self, stage: &Path, target: &str) -> Result<PathBuf> {
        let mut rustup = Command::new("rustup");
        does(rustup.current_dir(stage).args(["target", "add", target]))?;
        let python = self.tools.join("bin/python");
        let licences = self.folder.join("licences");
        let _ = fs::remove_dir_all(&licences);
        licences::write(stage, CRATE, target, &python, &licences)?;
        for file in fs::read_dir(&licences)? {
            let (path, name) = file.map(|file| (file.path(), file.file_name()))?;
            let name = format!("{LICENCE}-{}", name.to_string_lossy());
            fs::copy(path, stage.join(name))?;
        }
        let mut maturin = self.maturin(stage, "build");
        maturin
            .args(["--profile", "dist", "--zig", "--target", target])
            .args(["--compatibility", PLATFORM])
            .env("RUSTFLAGS", source::without_paths(stage)?);
        let wheel = self.audited(&mut maturin, target)?;
        let list = ["-m", "zipfile", "--list"];
        let files = output(Command::new(&python).args(list).arg(&wheel))?;
        for file in [LICENCE.to_owned(), format!("{LICENCE}-packages.txt")] {
            let file = format!(".dist-info/licenses/{file}");
            ensure!(files.contains(&file), "{} has no {file}", wheel.display());
        }
        Ok(wheel)
    }

    /// The source with all packages that it needs, which is built without the network to show that it can be.
    fn source(&self, stage: &Path, wheels: &Path) -> Result<()> {
        println!("source");
        // Without what wheels were built of and with.
        source::check_out(&self.root, stage)?;
        source::vendor(stage)?;
        // maturin takes what git knows, and here that is everything.
        for git in [&["init", "--quiet"][..], &["add", "--all", "--force"]] {
            let quiet = [
                "-c",
                "advice.addEmbeddedRepo=false",
                "-c",
                "core.safecrlf=false",
            ];
            does(Command::new("git").current_dir(stage).args(quiet).args(git))?;
        }
        let out = self.folder.join("sdist");
        let _ = fs::remove_dir_all(&out);
        does(self.maturin(stage, "sdist").arg("--out").arg(&out))?;
        let made = only_file(&out)?;
        let list = ["-m", "tarfile", "--list"];
        let python = self.tools.join("bin/python");
        let files = output(Command::new(&python).args(list).arg(&made))?;
        let built = files
            .lines()
            .find(|file| file.split('/').nth(1) == Some("target"));
        ensure!(built.is_none(), "the source has what was built: {built:?}");
        let kept = wheels.join(made.file_name().context("a source without a name")?);
        fs::copy(&made, &kept)?;
        self.builds_offline(&kept)
    }

    /// Builds the archive of the source where cargo has no packages but those that it brings along.
    fn builds_offline(&self, source: &Path) -> Result<()> {
        let [home, built, out] = ["home", "target", "wheel"].map(|name| {
            let folder = self.folder.join("offline").join(name);
            let _ = fs::remove_dir_all(&folder);
            folder
        });
        let mut pip = Command::new(self.tools.join("bin/python"));
        pip.args(["-m", "pip", "wheel", "--no-index", "--no-deps"])
            .args(["--no-cache-dir", "--no-build-isolation", "--wheel-dir"])
            .arg(&out)
            .arg(source)
            .env("PATH", self.path())
            .env("CARGO_HOME", &home)
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_TARGET_DIR", &built)
            .env("MATURIN_PEP517_ARGS", "--profile dev --compatibility linux");
        does(&mut pip)?;
        only_file(&out)?;
        Ok(fs::remove_dir_all(&built)?)
    }
}
