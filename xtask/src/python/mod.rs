//! `cargo xtask python`: builds the Python package, and tests it as it would be installed. `--wheels` makes
//! what is shipped.

mod wheels;

use crate::bench::output;
use crate::dist::does;
use crate::programs::{by_hand, target};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages that build: versions that are known to work.
const BUILD: &str = include_str!("../../../python/requirements-build.txt");
/// Further packages for wheels of all processors.
const WHEELS: &str = include_str!("../../../python/requirements-wheels.txt");
/// Packages that tests need.
const TEST: &str = include_str!("../../../python/requirements-test.txt");
/// Further packages, which notebooks and the tests of `cargo xtask full` need.
const FULL: &str = include_str!("../../../python/requirements-full.txt");
/// First steps of a user without any other package.
const BARE: &str = "import destage as ds
t = ds.read_trace({'op': ['W', 'R', 'W'], 'start_sector': [0, 0, 8], 'sectors': [8, 8, 8]})
assert ds.run(t, ['lru', ds.cac('arc')], cache='64KiB', host_fs='lfs')[0].counts.requests == 3";

/// Tasks of `xtask python`.
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
    let (tools, wanted) = if options.wheels {
        ("wheel-tools", format!("{BUILD}{WHEELS}"))
    } else {
        ("tools", BUILD.to_owned())
    };
    let (tests, needed) = match std::env::var_os("DESTAGE_FULL") {
        Some(_) => ("all-tests", format!("{TEST}{FULL}")),
        None => ("tests", TEST.to_owned()),
    };
    let package = Package {
        tools: environment(&folder, tools, &wanted, &options.python)?,
        tests: environment(&folder, tests, &needed, &options.python)?,
        python: options.python.clone(),
        root,
        folder,
    };
    let wheel = if options.wheels {
        package.shipped()?
    } else {
        package.wheel()?
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
    /// Builds a wheel as fast as that goes.
    fn wheel(&self) -> Result<PathBuf> {
        let mut maturin = self.maturin(&self.root, "build");
        maturin.args(["--profile", "dev", "--compatibility", "linux"]);
        maturin.args(["--features", "as-tests"]);
        self.audited(&mut maturin, "dev")
    }

    /// The wheel that `maturin` builds into the folder `out`, in which nothing is beyond the stable interface.
    fn audited(&self, maturin: &mut Command, out: &str) -> Result<PathBuf> {
        let out = self.folder.join(out);
        let _ = fs::remove_dir_all(&out);
        does(maturin.arg("--out").arg(&out))?;
        let wheel = only_file(&out)?;
        let mut abi3audit = Command::new(self.tools.join("bin/abi3audit"));
        does(abi3audit.arg("--strict").arg(&wheel))?;
        Ok(wheel)
    }

    fn maturin(&self, source: &Path, command: &str) -> Command {
        let mut maturin = by_hand(Command::new(self.tools.join("bin/maturin")));
        maturin
            .current_dir(source)
            .arg(command)
            .env("VIRTUAL_ENV", &self.tools)
            .env("PATH", self.path());
        maturin
    }

    /// Where programs are looked for: first among the tools.
    fn path(&self) -> String {
        let path = std::env::var("PATH").unwrap_or_default();
        format!("{}:{path}", self.tools.join("bin").display())
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
pub fn environment(
    folder: &Path,
    name: &str,
    requirements: &str,
    python: &Path,
) -> Result<PathBuf> {
    let environment = folder.join(name);
    let installed = environment.join("installed.txt");
    if fs::read_to_string(&installed).is_ok_and(|text| text == requirements) {
        return Ok(environment);
    }
    let _ = fs::remove_dir_all(&environment);
    does(Command::new(python).args(["-m", "venv"]).arg(&environment))?;
    let wanted = environment.join("requirements.txt");
    fs::write(&wanted, requirements)?;
    // Modules are compiled when they are imported, which is a fraction of all.
    install(&environment, &["--no-compile", "--requirement"], &wanted)?;
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
