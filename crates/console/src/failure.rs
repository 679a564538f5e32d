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
    /// Nothing ran. Standard error has all reasons already; this is the exit code.
    Said(u8),
}

/// A run that cannot run, while the others of its command can.
#[derive(Debug)]
pub struct RefusedRun {
    /// Its number among the runs over its trace.
    pub run: usize,
    /// Trace, scheme, size and reason.
    pub failure: Failure,
    /// Is this machine the reason, so that the run may succeed on another one?
    pub of_machine: bool,
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
        if faults.is_empty() {
            Ok(())
        } else {
            Err(Failure::Usage(faults))
        }
    }

    /// The same, with each fault of usage as `f` puts it.
    pub fn map_faults(self, f: impl Fn(&str) -> String) -> Failure {
        match self {
            Failure::Usage(faults) => Failure::Usage(faults.iter().map(|fault| f(fault)).collect()),
            other => other,
        }
    }

    /// The failure in one line.
    pub fn text(&self) -> String {
        match self {
            Failure::Usage(faults) => faults.join("; "),
            Failure::Run(message) => message.clone(),
            Failure::Closed => "nobody reads the output".to_owned(),
            Failure::Said(_) => "nothing ran".to_owned(),
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
        self.say();
        match self {
            Failure::Usage(_) => 2,
            Failure::Run(_) => 1,
            Failure::Closed => 0,
            Failure::Said(code) => code,
        }
    }

    /// Says what went wrong on standard error.
    pub fn say(&self) {
        let messages = match self {
            Failure::Usage(faults) => faults.as_slice(),
            Failure::Run(message) => std::slice::from_ref(message),
            Failure::Closed | Failure::Said(_) => &[],
        };
        for message in messages {
            terminal::say(&format!("error: {message}"));
        }
    }
}
