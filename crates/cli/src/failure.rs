//! Why a command failed, and with which exit code.

use crate::terminal;
use destage_sim::RunError;
use destage_trace::TraceError;
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
        match faults.is_empty() {
            true => Ok(()),
            false => Err(Failure::Usage(faults)),
        }
    }

    /// The same, with each fault of usage as `f` puts it.
    pub fn map_faults(self, f: impl Fn(&str) -> String) -> Failure {
        match self {
            Failure::Usage(faults) => Failure::Usage(faults.iter().map(|fault| f(fault)).collect()),
            other => other,
        }
    }

    /// What went wrong, in one line.
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

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Failure {
        match error {
            TraceError::Spool { .. } => Failure::Run(error.to_string()),
            _ => Failure::usage(explained(&error)),
        }
    }
}

/// The message of `error`, with the option that helps.
pub fn explained(error: &TraceError) -> String {
    match error {
        TraceError::Line(_) => format!("{error} (--skip-bad-lines counts such lines and goes on)"),
        TraceError::Ambiguous { .. }
        | TraceError::Undetected { .. }
        | TraceError::OnlyComments { .. } => {
            format!("{error} (--format forces one)")
        }
        _ => error.to_string(),
    }
}

/// The message of `error`, with the options that help.
fn advised(error: &RunError) -> String {
    match error {
        RunError::Memory { .. } => format!(
            "{error}, the limit of --memory: fewer --jobs, a smaller --cache or a smaller \
             --trace-memory"
        ),
        RunError::CacheMemory { .. } => format!("{error}; a smaller --cache"),
        RunError::TimelineMemory { .. } => format!(
            "{error}, a quarter of --memory: a smaller window, which ends before that (--timeline-to) or \
             begins later (--timeline-from), or more --memory"
        ),
        RunError::IndexFull { .. } => format!("{error}; a larger --page, or --limit"),
        _ => error.to_string(),
    }
}

/// What `error` is to a command, in the words of `text`.
fn judged(error: &RunError, text: String) -> Failure {
    match error {
        RunError::Log(_)
        | RunError::Cancelled
        | RunError::DeviceFull { .. }
        | RunError::Memory { .. }
        | RunError::TimelineMemory { .. }
        | RunError::IndexFull { .. }
        | RunError::Trace(_) => Failure::Run(text),
        _ => Failure::usage(text),
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        judged(&error, advised(&error))
    }
}

impl Failure {
    /// Run `place`, whose name has the trace in it, failed. What concerns files names them already.
    pub fn of_run(place: &str, error: RunError) -> Failure {
        match error {
            RunError::Log(_) | RunError::Cancelled | RunError::Trace(_) => error.into(),
            _ => judged(&error, format!("{place}: {}", advised(&error))),
        }
    }
}
