//! Running the real binary in a folder of its own.
#![allow(dead_code)] // each test file uses a part of it

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What a command left behind.
pub struct Done {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    /// The command succeeded.
    #[track_caller]
    pub fn ok(self) -> Done {
        assert_eq!(self.code, 0, "stderr: {}", self.stderr);
        self
    }

    /// The command ended with `code`, said all of `parts` on standard error, and gave no result.
    #[track_caller]
    pub fn fails(self, code: i32, parts: &[&str]) -> Done {
        assert_eq!(self.code, code, "stderr: {}", self.stderr);
        // Warnings may stand before it.
        let error = self.stderr.lines().any(|l| l.starts_with("error: "));
        assert!(error, "{}", self.stderr);
        for part in parts {
            assert!(
                self.stderr.contains(part),
                "no `{part}` in: {}",
                self.stderr
            );
        }
        assert_eq!(self.stdout, "", "nothing but results on standard output");
        self
    }

    /// The records on standard output.
    #[track_caller]
    pub fn records(&self) -> Vec<Value> {
        let lines = self.stdout.lines();
        lines.map(|l| serde_json::from_str(l).expect(l)).collect()
    }
}

/// A folder in which commands run.
pub struct Bench {
    pub dir: TempDir,
}

impl Bench {
    pub fn new() -> Bench {
        Bench {
            dir: TempDir::new().unwrap(),
        }
    }

    /// Writes a file and gives its path.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub fn read(&self, name: impl AsRef<Path>) -> String {
        std::fs::read_to_string(self.dir.path().join(name)).unwrap()
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = cargo_bin_cmd!("destage");
        command.args(args).current_dir(self.dir.path());
        command
    }

    pub fn destage(&self, args: &[&str]) -> Done {
        self.with_stdin(args, "")
    }

    pub fn with_stdin(&self, args: &[&str], stdin: &str) -> Done {
        let output = self.command(args).write_stdin(stdin).output().unwrap();
        Done {
            code: output.status.code().expect("not killed by a signal"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A trace of 4 KiB requests: one line per `W3` (write page 3) or `R3`.
pub fn csv(requests: &str) -> String {
    let mut text = String::from("arrival_ns,op,start_sector,sectors,stream,prev,atomic\n");
    for (i, word) in requests.split_whitespace().enumerate() {
        let (op, page) = word.split_at(1);
        let start = 8 * page.parse::<u64>().unwrap();
        text += &format!("{},{op},{start},8,0,,0\n", 1000 * i);
    }
    text
}

/// Reads and writes over some hundred pages, a few of them often.
pub fn mixed(requests: u64) -> String {
    let mut words = Vec::new();
    let mut x = 1u64;
    for _ in 0..requests {
        x = x
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let op = if x >> 62 == 0 { 'R' } else { 'W' };
        let page = if (x >> 40) % 10 < 7 {
            (x >> 33) % 20
        } else {
            (x >> 33) % 400
        };
        words.push(format!("{op}{page}"));
    }
    csv(&words.join(" "))
}

/// The expressions that tests run: every scheme that is available, wrappers around lru.
pub fn available_schemes(bench: &Bench) -> Vec<String> {
    let listed = bench.destage(&["schemes", "--json"]).ok();
    let schemes: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap();
    schemes
        .iter()
        .filter(|s| s["available"] == true)
        .map(|s| s["name"].as_str().unwrap().to_owned())
        .collect()
}
