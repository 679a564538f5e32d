//! Why a command failed, and with which exit code.

use crate::terminal;
use std::io;

/// The end of a command that did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// Bad usage or input: all faults that were found. Exit code 2.
    Usage(Vec<String>),
    /// Something that started did not end well. Exit code 1.
    Run(String),
    /// Nobody reads standard output any more, as with `| head`: no failure at all.
    Closed,
}

impl Failure {
    /// One fault of usage or input.
    pub fn usage(fault: impl Into<String>) -> Failure {
        Failure::Usage(vec![fault.into()])
    }

    /// Nothing, if there are no faults.
    ///
    /// # Errors
    /// All faults.
    pub fn unless_none(faults: Vec<String>) -> Result<(), Failure> {
        match faults.is_empty() {
            true => Ok(()),
            false => Err(Failure::Usage(faults)),
        }
    }

    /// What went wrong, in one line.
    pub fn text(self) -> String {
        match self {
            Failure::Usage(faults) => faults.join("; "),
            Failure::Run(message) => message,
            Failure::Closed => "nobody reads the output".to_owned(),
        }
    }

    /// Standard output took no more.
    pub fn stdout(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Run(format!("cannot write to standard output: {error}")),
        }
    }

    /// Says what went wrong on standard error, and gives the exit code.
    pub fn report(self) -> u8 {
        let (messages, code) = match self {
            Failure::Usage(faults) => (faults, 2),
            Failure::Run(message) => (vec![message], 1),
            Failure::Closed => return 0,
        };
        for message in messages {
            terminal::say(&format!("error: {message}"));
        }
        code
    }
}
