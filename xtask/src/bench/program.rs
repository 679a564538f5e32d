//! The programs that are measured: built once, then one process per measurement.

use crate::programs::{self, Build};
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use wait4::Wait4;

/// The result of one measurement.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Cost {
    /// How often the work was done.
    pub count: u64,
    /// Hits, where there are any.
    pub hits: Option<u64>,
    /// User and system time.
    pub cpu_s: f64,
    /// Memory of the process when the clock started.
    pub before_kib: Option<u64>,
    /// Most memory the process ever had.
    pub peak_kib: Option<u64>,
}

impl Cost {
    /// Millions per CPU-second.
    pub fn rate(&self) -> f64 {
        self.count as f64 / self.cpu_s / 1e6
    }

    /// Memory that came on top of what was there when the clock started, in MiB.
    pub fn extra_mib(&self) -> Option<f64> {
        Some((self.peak_kib? - self.before_kib?) as f64 / 1024.0)
    }
}

/// Measures `runs` times and gives the measurement with the median time. Hits must not differ.
pub fn median(runs: u32, mut measure: impl FnMut() -> Result<Cost>) -> Result<Cost> {
    let mut costs = (0..runs).map(|_| measure()).collect::<Result<Vec<_>>>()?;
    costs.sort_by(|a, b| a.cpu_s.total_cmp(&b.cpu_s));
    ensure!(
        costs.iter().all(|c| c.hits == costs[0].hits),
        "hits differ between two runs of the same"
    );
    Ok(costs[costs.len() / 2])
}

/// The built programs.
pub struct Program {
    folder: PathBuf,
}

impl Program {
    /// Builds them.
    pub fn build(how: Build) -> Result<Program> {
        let folder = programs::build(how)?;
        Ok(Program { folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder
            .join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }

    /// Runs a measurement and reads its figures.
    pub fn measure<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Cost> {
        let text = output(Command::new(self.path("destage-bench")).args(args))?;
        serde_json::from_str(&text).context("the figures of a measurement cannot be read")
    }

    /// Writes an input file.
    pub fn generate<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<()> {
        output(Command::new(self.path("destage-bench")).args(args)).map(|_| ())
    }

    /// The command line, to be given arguments.
    pub fn command(&self) -> Command {
        Command::new(self.path("destage"))
    }

    /// Runs the command line and measures the whole process. `count` is what its work counts as.
    pub fn whole_process<A: AsRef<OsStr>>(&self, args: &[A], count: u64) -> Result<Cost> {
        let mut command = self.command();
        command.args(args).stdout(Stdio::null());
        let child = command.spawn().context("cannot start destage")?;
        let end = child.wait4().context("cannot wait for destage")?;
        ensure!(end.status.success(), "destage failed: {}", end.status);
        let cpu: Duration = end.rusage.utime + end.rusage.stime;
        Ok(Cost {
            count,
            hits: None,
            cpu_s: cpu.as_secs_f64(),
            before_kib: Some(0),
            peak_kib: Some(end.rusage.maxrss / 1024),
        })
    }
}

/// Standard output of a command that succeeds.
pub fn output(command: &mut Command) -> Result<String> {
    let what = format!("{command:?}");
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot start {what}"))?;
    if !output.status.success() {
        bail!("{what} failed: {}", output.status);
    }
    String::from_utf8(output.stdout).context("a program did not answer in UTF-8")
}
