//! `cargo xtask python`: builds the Python package, and tests it as it would be installed. `--wheels` makes
//! what is shipped.

use crate::bench::output;
use crate::dist::does;
use crate::programs::target;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What builds: versions that are known to work.
const BUILD: &str = include_str!("../../python/requirements-build.txt");
/// What tests and notebooks need.
const TEST: &str = include_str!("../../python/requirements-test.txt");
/// Targets of wheels; the oldest C library that they run with is that of manylinux_2_28.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];
const PLATFORM: &str = "manylinux_2_28";
/// What somebody without any other package does first.
const BARE: &str = "import destage as ds
t = ds.read_trace({'op': ['W', 'R', 'W'], 'start_sector': [0, 0, 8], 'sectors': [8, 8, 8]})
assert ds.run(t, ['lru', ds.cac('arc')], cache='64KiB', host_fs='lfs')[0].counts.requests == 3";

/// What is done.
#[derive(clap::Args)]
pub struct Options {
    /// Make wheels for x86-64 and arm64 and the source that builds offline, in target/wheels, and test the wheel
    /// of this machine.
    #[arg(long)]
    wheels: bool,
    /// Only tests whose name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Python that the environments are made with, 3.10 or later.
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: PathBuf,
}

/// Builds and tests the package.
///
/// # Errors
/// No Python, no network where packages are not there yet, or a check fails.
pub fn run(options: &Options) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()?;
    fs::create_dir_all(target())?;
    let folder = target().canonicalize()?.join("python");
    let package = Package {
        tools: environment(&folder, "tools", BUILD, &options.python)?,
        tests: environment(&folder, "tests", TEST, &options.python)?,
        python: options.python.clone(),
        root,
        folder,
    };
    let wheel = match options.wheels {
        true => package.shipped()?,
        false => package.wheel("dev", None, "dev")?,
    };
    package.bare(&wheel)?;
    package.test(&wheel, options.only.as_deref())
}

struct Package {
    root: PathBuf,
    folder: PathBuf,
    tools: PathBuf,
    tests: PathBuf,
    python: PathBuf,
}

impl Package {
    /// Builds a wheel and looks for what is not in the stable interface.
    fn wheel(&self, profile: &str, target: Option<&str>, out: &str) -> Result<PathBuf> {
        let out = self.folder.join(out);
        let _ = fs::remove_dir_all(&out);
        let mut maturin = self.maturin("build");
        maturin.args(["--profile", profile, "--out"]).arg(&out);
        match target {
            Some(target) => {
                does(
                    Command::new("rustup")
                        .current_dir(&self.root)
                        .args(["target", "add", target]),
                )?;
                maturin.args(["--zig", "--target", target, "--compatibility", PLATFORM]);
            }
            None => _ = maturin.args(["--compatibility", "linux", "--features", "as-tests"]),
        }
        does(&mut maturin)?;
        let wheel = only_file(&out)?;
        does(
            Command::new(self.tools.join("bin/abi3audit"))
                .arg("--strict")
                .arg(&wheel),
        )?;
        Ok(wheel)
    }

    fn maturin(&self, command: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut maturin = Command::new(self.tools.join("bin/maturin"));
        maturin
            .current_dir(&self.root)
            .arg(command)
            .env("VIRTUAL_ENV", &self.tools)
            .env(
                "PATH",
                format!("{}:{path}", self.tools.join("bin").display()),
            );
        maturin
    }

    /// Wheels of all targets and the source, in `target/wheels`; the wheel of this machine.
    fn shipped(&self) -> Result<PathBuf> {
        let wheels = target().canonicalize()?.join("wheels");
        let _ = fs::remove_dir_all(&wheels);
        fs::create_dir_all(&wheels)?;
        let mut own = None;
        for target in TARGETS {
            println!("{target}");
            let wheel = self.wheel("dist", Some(target), target)?;
            let kept = wheels.join(wheel.file_name().context("a wheel without a name")?);
            fs::copy(&wheel, &kept)?;
            if target.starts_with(std::env::consts::ARCH) {
                own = Some(kept);
            }
        }
        self.source(&wheels)?;
        own.context("no wheel is for this machine")
    }

    /// The source with all packages that it needs, which is built without the network to show that it can be.
    fn source(&self, wheels: &Path) -> Result<()> {
        println!("source");
        let stage = self.folder.join("source");
        let _ = fs::remove_dir_all(&stage);
        fs::create_dir_all(&stage)?;
        let tar = self.folder.join("source.tar");
        let git = [
            "archive",
            "--output",
            tar.to_str().context("a path that is no text")?,
            "HEAD",
        ];
        does(Command::new("git").current_dir(&self.root).args(git))?;
        does(
            Command::new("tar")
                .arg("-xf")
                .arg(&tar)
                .arg("-C")
                .arg(&stage),
        )?;
        let vendor = [
            "vendor",
            "--quiet",
            "--locked",
            "--versioned-dirs",
            "vendor",
        ];
        let settings = output(Command::new("cargo").current_dir(&stage).args(vendor))?;
        let config = stage.join(".cargo/config.toml");
        let before = fs::read_to_string(&config)?;
        fs::write(&config, format!("{before}\n{settings}"))?;
        let mut sdist = self.maturin("sdist");
        does(sdist.current_dir(&stage).arg("--out").arg(wheels))?;
        let source = fs::read_dir(wheels)?.filter_map(|entry| Some(entry.ok()?.path()));
        let source = source
            .into_iter()
            .find(|path| path.extension().is_some_and(|e| e == "gz"));
        let source = source.context("maturin made no source")?;
        let mut pip = Command::new(self.tools.join("bin/python"));
        pip.args([
            "-m",
            "pip",
            "wheel",
            "--no-index",
            "--no-deps",
            "--no-build-isolation",
            "--wheel-dir",
        ])
        .arg(self.folder.join("offline"))
        .arg(&source)
        .env("CARGO_NET_OFFLINE", "true")
        .env("MATURIN_PEP517_ARGS", "--profile dev --compatibility linux")
        .env("CARGO_TARGET_DIR", target().canonicalize()?);
        does(&mut pip)
    }

    /// In an environment with nothing else, the package works, and the command is there.
    fn bare(&self, wheel: &Path) -> Result<()> {
        let bare = self.folder.join("bare");
        let _ = fs::remove_dir_all(&bare);
        does(Command::new(&self.python).args(["-m", "venv"]).arg(&bare))?;
        install(&bare, &["--no-index"], wheel)?;
        let empty = tempfile::tempdir()?;
        let python = |arguments: &[&str]| {
            let mut python = Command::new(bare.join("bin/python"));
            output(python.current_dir(empty.path()).args(arguments))
        };
        python(&["-c", BARE])?;
        let version = output(Command::new(bare.join("bin/destage")).arg("--version"))?;
        ensure!(
            version == python(&["-m", "destage", "--version"])?,
            "the command and the module differ"
        );
        Ok(())
    }

    /// All tests, on the installed package: its own, the examples of its documentation, types and notebooks.
    fn test(&self, wheel: &Path, only: Option<&str>) -> Result<()> {
        install(&self.tests, &["--no-deps", "--force-reinstall"], wheel)?;
        let python = || {
            let mut python = Command::new(self.tests.join("bin/python"));
            python.current_dir(&self.root);
            python
        };
        let mut pytest = python();
        pytest.args(["-m", "pytest", "python/tests", "--pyargs", "destage"]);
        only.iter().for_each(|text| _ = pytest.args(["-k", text]));
        does(&mut pytest)?;
        if only.is_some() {
            return Ok(());
        }
        does(python().args(["-m", "mypy"]))?;
        does(python().args(["-m", "mypy.stubtest", "--concise", "destage._destage"]))?;
        does(python().args(["python/reference.py", "--check"]))
    }
}

/// An environment of Python that has what `requirements` says; it is made once.
fn environment(folder: &Path, name: &str, requirements: &str, python: &Path) -> Result<PathBuf> {
    let environment = folder.join(name);
    let installed = environment.join("installed.txt");
    if fs::read_to_string(&installed).is_ok_and(|text| text == requirements) {
        return Ok(environment);
    }
    let _ = fs::remove_dir_all(&environment);
    does(Command::new(python).args(["-m", "venv"]).arg(&environment))?;
    let wanted = environment.join("requirements.txt");
    fs::write(&wanted, requirements)?;
    install(&environment, &["--requirement"], &wanted)?;
    fs::write(&installed, requirements)?;
    Ok(environment)
}

fn install(environment: &Path, options: &[&str], what: &Path) -> Result<()> {
    let mut pip = Command::new(environment.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    does(pip.args(options).arg(what))
}

fn only_file(folder: &Path) -> Result<PathBuf> {
    let mut files = fs::read_dir(folder)?;
    let file = files.next().context("nothing was built")??.path();
    ensure!(files.next().is_none(), "several wheels were built");
    Ok(file)
}
