//! The array script of docs/CLUSTER.md on a Slurm of this machine, if its programs are here.
//!
//! `DESTAGE_SLURM_RUNS=2000` runs more than the default.

use crate::common::{Bench, mixed, root};
use std::path::Path;
use std::process::{Command, Output};

/// A Slurm of one node, as long as it is kept.
struct Slurm {
    script: String,
    folder: String,
}

impl Slurm {
    /// Starts one below `folder`; `None`, with the reason on standard error, where that cannot be.
    fn start(folder: &Path) -> Option<Slurm> {
        let script = root()
            .join("cluster/one-node-slurm.sh")
            .display()
            .to_string();
        let folder = folder.join("slurm").display().to_string();
        let started = Command::new(&script)
            .args(["start", &folder])
            .output()
            .unwrap();
        let slurm = Slurm { script, folder };
        match started.status.code() {
            Some(0) => Some(slurm),
            Some(77) => {
                eprintln!("SKIPPED: {}", String::from_utf8_lossy(&started.stderr));
                None
            }
            _ => panic!("{started:?}"),
        }
    }

    fn command(&self, bench: &Bench, words: &str) -> Output {
        let programs = Path::new(env!("CARGO_BIN_EXE_destage")).parent().unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let mut words = words.split_whitespace();
        let mut command = Command::new(words.next().unwrap());
        command
            .args(words)
            .current_dir(bench.dir.path())
            .env("PATH", path);
        command.env("SLURM_CONF", format!("{}/slurm.conf", self.folder));
        // Programs that `sbatch` starts have the folder of temporary files of this test.
        command.env("TMPDIR", bench.dir.path()).output().unwrap()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        let _ = Command::new(&self.script)
            .args(["stop", &self.folder])
            .status();
    }
}

#[test]
fn an_array_of_slurm_gives_the_same_bytes() {
    let runs = std::env::var("DESTAGE_SLURM_RUNS").ok();
    let runs: usize = runs.map_or(60, |n| n.parse().expect("DESTAGE_SLURM_RUNS: a number"));
    let bench = Bench::with(mixed(300));
    let Some(slurm) = Slurm::start(bench.dir.path()) else {
        return;
    };
    let seeds: Vec<String> = (0..runs.div_ceil(4)).map(|seed| seed.to_string()).collect();
    let grid = format!(
        "trace = 't.csv'\nscheme = ['lru', 'arc']\ncache = ['40KiB', '80KiB']\nseed = [{}]\n",
        seeds.join(", ")
    );
    bench.file("s.toml", grid);
    bench.destage("sweep s.toml --out whole").ok();
    bench.destage("sweep s.toml --out o --batch 3 --plan").ok();
    let script = root().join("cluster/sweep.sbatch").display().to_string();
    let array = |elements: &str, shards: u32| {
        let line = format!("sbatch --wait --array={elements} {script} s.toml o {shards}");
        let output = slurm.command(&bench, &line);
        let ended = slurm.command(&bench, "scontrol show job");
        assert!(
            output.status.success(),
            "{output:?}\n{}",
            String::from_utf8_lossy(&ended.stdout)
        );
    };
    // One share is left out, and comes later, as one that failed would.
    array("1,3,4", 4);
    let early = bench.destage("sweep --out o --merge");
    early.fails(1, &["are not done"]);
    array("2", 4);
    bench.destage("sweep --out o --merge").ok();
    assert!(bench.read("o/results.jsonl") == bench.read("whole/results.jsonl"));
    assert_eq!(
        bench.read("o/results.jsonl").lines().count(),
        4 * seeds.len()
    );
}
