//! libCacheSim, installed from the Python package index into an environment of its own.

use super::cache::{LRU_2, OPT, S3_FIFO};
use super::program::{Cost, output};
use crate::programs::target;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

const REQUIREMENT: &str = "libcachesim==0.3.5";
const SCRIPT: &str = include_str!("peer.py");

/// The class of libCacheSim that implements a scheme of ours.
pub fn class(scheme: &str) -> Option<&'static str> {
    Some(match scheme {
        "lru" => "LRU",
        "fifo" => "FIFO",
        "lfu" => "LFU",
        "clock" => "Clock",
        "arc" => "ARC",
        "lirs" => "LIRS",
        "2q" => "TwoQ",
        LRU_2 => "LRUK",
        "sieve" => "Sieve",
        S3_FIFO => "S3FIFO",
        "w-tinylfu" => "WTinyLFU",
        OPT => "Belady",
        _ => return None,
    })
}

/// A Python that has libCacheSim.
pub struct Peer {
    python: PathBuf,
    script: PathBuf,
}

impl Peer {
    /// Makes the environment in the target folder, unless it is there, and checks that it works.
    ///
    /// # Errors
    /// No Python, no network, no package for this platform.
    pub fn new(python: &Path, folder: &Path) -> Result<Peer> {
        let environment = target().join("bench-venv");
        let inside = if cfg!(windows) {
            environment.join("Scripts").join("python.exe")
        } else {
            environment.join("bin").join("python")
        };
        let works = || output(Command::new(&inside).args(["-c", "import libcachesim"]));
        if !inside.exists() || works().is_err() {
            eprintln!("   installing {REQUIREMENT}");
            output(Command::new(python).args(["-m", "venv"]).arg(&environment))?;
            let install = ["-m", "pip", "install", "--quiet", REQUIREMENT];
            output(Command::new(&inside).args(install))?;
            works()?;
        }
        let script = folder.join("peer.py");
        std::fs::write(&script, SCRIPT)?;
        let python = inside;
        Ok(Peer { python, script })
    }

    /// Runs one policy over that share of the objects of an `oracleGeneral` trace.
    pub fn measure(&self, class: &str, pages: u64, trace: &Path, rate: f64) -> Result<Cost> {
        let mut command = Command::new(&self.python);
        command
            .arg(&self.script)
            .arg(class)
            .arg(pages.to_string())
            .arg(trace)
            .arg(rate.to_string());
        let text = output(&mut command)?;
        // Its sampler prints a line of its own.
        let mut lines = text.lines();
        let figures = lines.find(|line| line.starts_with('{'));
        let figures = figures.context("libCacheSim gave no figures")?;
        serde_json::from_str(figures).context("the figures of libCacheSim cannot be read")
    }
}
