//! Where a case runs: a folder, the program, and the limits of time and memory that no run may need.

use crate::case::Case;
use crate::requests;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A run that takes longer is endless.
const LIMIT: Duration = Duration::from_secs(60);
/// A run with more address space has none in mind, in KiB.
const MEMORY_KIB: u64 = 4 << 20;
/// Statuses that the program documents for a run that nobody interrupts.
const STATUSES: [i32; 3] = [0, 1, 2];

/// The kind of a finding: a shrunk case must show the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The program panicked.
    Panic,
    /// It took longer than any run may.
    Endless,
    /// It ended in a way that is not documented.
    Status,
    /// Two results contradict each other.
    Law,
    /// The lab itself failed, which is no finding about the program.
    Lab,
}

/// A finding.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Its kind.
    pub kind: Kind,
    /// In words.
    pub message: String,
}

impl Fault {
    /// The law does not hold.
    pub fn law(message: impl Into<String>) -> Fault {
        Fault {
            kind: Kind::Law,
            message: message.into(),
        }
    }
}

impl<E: std::error::Error> From<E> for Fault {
    fn from(error: E) -> Fault {
        Fault {
            kind: Kind::Lab,
            message: format!("the lab: {error}"),
        }
    }
}

/// Did the law speak about the case? Not if the program refused it.
pub type Verdict = Result<bool, Fault>;

/// The outcome of a run.
#[derive(Debug)]
pub struct Ran {
    /// Its status.
    pub code: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
}

/// A folder in which the program runs.
pub struct Lab {
    program: PathBuf,
    folder: PathBuf,
    commands: RefCell<Vec<String>>,
    runs: Cell<u64>,
}

impl Lab {
    /// Runs `program` in `folder`, which is empty.
    pub fn new(program: &Path, folder: &Path) -> Lab {
        Lab {
            program: program.to_owned(),
            folder: folder.to_owned(),
            commands: RefCell::default(),
            runs: Cell::default(),
        }
    }

    /// A file of the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes the trace of a case.
    ///
    /// # Errors
    /// The lab has no room.
    pub fn write(&self, case: &Case, name: &str) -> Result<(), Fault> {
        Ok(fs::write(self.path(name), requests::csv(&case.requests))?)
    }

    /// The text of a file that a run wrote.
    ///
    /// # Errors
    /// It did not.
    pub fn read(&self, name: &str) -> Result<String, Fault> {
        fs::read_to_string(self.path(name)).map_err(|e| Fault::law(format!("{name}: {e}")))
    }

    /// All commands so far, as a shell takes them.
    pub fn commands(&self) -> Vec<String> {
        self.commands.borrow().clone()
    }

    /// How many there were.
    pub fn runs(&self) -> u64 {
        self.runs.get()
    }

    /// Starts the program.
    ///
    /// # Errors
    /// It cannot be.
    pub fn start(&self, words: &[String]) -> Result<Child, Fault> {
        self.runs.set(self.runs.get() + 1);
        let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
        let command = format!("destage {}", quoted.join(" "));
        self.commands.borrow_mut().push(command);
        let limited = format!("ulimit -v {MEMORY_KIB} && exec \"$0\" \"$@\"");
        let child = Command::new("sh")
            .args(["-c", &limited])
            .arg(&self.program)
            .args(words)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(File::create(self.path(".stdout"))?)
            .stderr(File::create(self.path(".stderr"))?)
            .spawn()?;
        Ok(child)
    }

    /// Waits for a program until it has taken too long.
    ///
    /// # Errors
    /// It is endless.
    pub fn end(&self, mut child: Child) -> Result<ExitStatus, Fault> {
        let start = Instant::now();
        let mut pause = Duration::from_micros(300);
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if start.elapsed() > LIMIT {
                child.kill()?;
                child.wait()?;
                let message = format!("it still runs after {} s", LIMIT.as_secs());
                return Err(Fault {
                    kind: Kind::Endless,
                    message,
                });
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }

    /// Runs the program to its end: no panic, no endless loop, no status that is not documented, no
    /// refusal without a word.
    ///
    /// # Errors
    /// One of these.
    pub fn run(&self, words: &[String]) -> Result<Ran, Fault> {
        let status = self.end(self.start(words)?)?;
        let stdout = fs::read(self.path(".stdout"))?;
        let stderr = String::from_utf8_lossy(&fs::read(self.path(".stderr"))?).into_owned();
        let fault = |kind, message: String| {
            let message = format!("{message}\n{}", stderr.trim());
            Err(Fault { kind, message })
        };
        if stderr.contains("panicked") || status.code() == Some(101) {
            return fault(Kind::Panic, format!("{status}: it panicked"));
        }
        match status.code().filter(|code| STATUSES.contains(code)) {
            None => fault(Kind::Status, format!("it ended with {status}")),
            Some(1 | 2) if !stderr.contains("error: ") => {
                fault(Kind::Status, format!("{status} without an error message"))
            }
            Some(code) => Ok(Ran {
                code,
                stdout,
                stderr,
            }),
        }
    }

    /// Runs the program, which must not refuse.
    ///
    /// # Errors
    /// It does, or as [`Lab::run`].
    pub fn must(&self, words: &[String]) -> Result<Ran, Fault> {
        let ran = self.run(words)?;
        match ran.code {
            0 => Ok(ran),
            code => Err(Fault::law(format!(
                "refused with {code}: {}",
                ran.stderr.trim()
            ))),
        }
    }

    /// The records of a run, or `None` if it is refused.
    ///
    /// # Errors
    /// They are no records, or as [`Lab::run`].
    pub fn records(&self, words: &[String]) -> Result<Option<Vec<Value>>, Fault> {
        let mut words = words.to_vec();
        words.extend(["--format-out".to_owned(), "jsonl".to_owned()]);
        let ran = self.run(&words)?;
        if ran.code != 0 {
            return Ok(None);
        }
        records(&ran.stdout).map(Some)
    }

    /// The record of a case over the file `trace`, or `None` if it is refused.
    ///
    /// # Errors
    /// As [`Lab::records`].
    pub fn record(&self, case: &Case, trace: &str) -> Result<Option<Value>, Fault> {
        let Some(mut records) = self.records(&case.run(trace))? else {
            return Ok(None);
        };
        match records.len() {
            1 => Ok(records.pop()),
            n => Err(Fault::law(format!("{n} records of one run"))),
        }
    }
}

/// One JSON object a line.
///
/// # Errors
/// A line is none.
pub fn records(text: &[u8]) -> Result<Vec<Value>, Fault> {
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    let read = |line| {
        serde_json::from_slice(line).map_err(|error| {
            let line = String::from_utf8_lossy(line);
            Fault::law(format!("no JSON: {error}: {line}"))
        })
    };
    lines.map(read).collect()
}

/// A word as a shell takes it.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.=/,%:+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A program that does what the script says.
    fn lab(script: &str) -> (tempfile::TempDir, Lab) {
        let temp = tempfile::tempdir().unwrap();
        let program = temp.path().join("program");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let lab = Lab::new(&program, temp.path());
        (temp, lab)
    }

    fn kind(script: &str) -> Option<Kind> {
        lab(script).1.run(&[]).err().map(|fault| fault.kind)
    }

    #[test]
    fn findings_of_a_single_run() {
        assert_eq!(kind("echo fine"), None);
        assert_eq!(kind("echo 'error: no' >&2; exit 2"), None);
        assert_eq!(kind("exit 2"), Some(Kind::Status));
        assert_eq!(kind("echo 'error: no' >&2; exit 3"), Some(Kind::Status));
        assert_eq!(kind("kill -SEGV $$"), Some(Kind::Status));
        assert_eq!(kind("exit 101"), Some(Kind::Panic));
        assert_eq!(kind("echo thread panicked at >&2"), Some(Kind::Panic));
    }

    #[test]
    fn commands_are_those_of_a_shell() {
        let (_temp, lab) = lab("echo '{}'");
        let words = ["run", "cac(lru)", "it's"].map(str::to_owned);
        assert_eq!(lab.records(&words).unwrap().unwrap().len(), 1);
        let command = "destage run 'cac(lru)' 'it'\\''s' --format-out jsonl";
        assert_eq!(lab.commands(), [command]);
        assert_eq!(lab.runs(), 1);
    }
}
